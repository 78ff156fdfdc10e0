//! The lease of a writer: put before anything is listed, renewed while it works, ended when it is done
//! (`repo-format.md`, chapter 12).

use super::object::with_sum;
use super::{RepoError, Repository};
use crate::format::Lease;
use crate::storage::{ObjectName, PutMode, Storage};
use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a lease is renewed.
const RENEWAL: Duration = Duration::from_mins(5);

/// A lease that is in force until it is ended or dropped.
#[derive(Debug)]
pub struct HeldLease {
    id: [u8; 16],
    stop: Option<Sender<()>>,
    renewer: Option<JoinHandle<(Lease, Vec<u64>)>>,
    storage: Arc<dyn Storage>,
}

impl HeldLease {
    /// Puts a new lease for `operation`.
    ///
    /// # Errors
    /// The storage, no randomness, or no thread.
    pub fn take(repository: &Repository, operation: &str) -> Result<Self, RepoError> {
        let host = &repository.env().host;
        let lease = Lease {
            id: repository.salts().random()?,
            counter: 0,
            host: host.name.clone(),
            pid: host.pid,
            boot: host.boot.clone(),
            started: host.started,
            operation: operation.to_owned(),
            namespace: host.namespace,
        };
        let storage = Arc::clone(repository.storage());
        put(&*storage, &lease)?;
        let (stop, stopped) = bounded::<()>(0);
        let (id, store) = (lease.id, Arc::clone(&storage));
        let renew = move || {
            let mut lease = lease;
            let mut standing = vec![lease.counter];
            while stopped.recv_timeout(RENEWAL) == Err(RecvTimeoutError::Timeout) {
                lease.counter += 1;
                // A renewal that fails is tried again with the next; prune waits much longer than that.
                if put(&*store, &lease).is_ok() {
                    clear(&*store, &lease.id, &mut standing);
                }
                // Also after an error: it may stand there all the same.
                standing.push(lease.counter);
            }
            (lease, standing)
        };
        let renewer = std::thread::Builder::new().name("lease".to_owned()).spawn(renew)?;
        Ok(Self { id, stop: Some(stop), renewer: Some(renewer), storage })
    }

    /// The lease's id.
    #[must_use]
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// Ends the lease, then clears what it left where the store lets it.
    ///
    /// # Errors
    /// When the end cannot be put; the lease then goes stale by itself.
    pub fn end(mut self) -> Result<(), RepoError> {
        self.stop()
    }

    fn stop(&mut self) -> Result<(), RepoError> {
        self.stop = None;
        let Some((lease, mut standing)) = self.renewer.take().and_then(|renewer| renewer.join().ok()) else {
            return Ok(());
        };
        let end = ObjectName::lease_end(&self.id);
        let put = self.storage.put(&end, &[with_sum(&lease.to_bytes())], PutMode::Keep);
        if let Err(error) = put {
            // Where there is no room for it: a lease of which nothing is left has ended too.
            clear(&*self.storage, &self.id, &mut standing);
            return if standing.is_empty() { Ok(()) } else { Err(error.into()) };
        }
        clear(&*self.storage, &self.id, &mut standing);
        if standing.is_empty() {
            let _ = self.storage.delete(&end);
        }
        Ok(())
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        // A lease that cannot be ended goes stale by itself.
        let _ = self.stop();
    }
}

/// Removes objects of the lease; what the storage does not let go stays in `standing`.
fn clear(storage: &dyn Storage, id: &[u8; 16], standing: &mut Vec<u64>) {
    standing.retain(|counter| storage.delete(&ObjectName::lease(id, *counter)).is_err());
}

fn put(storage: &dyn Storage, lease: &Lease) -> Result<(), RepoError> {
    let name = ObjectName::lease(&lease.id, lease.counter);
    Ok(storage.put(&name, &[with_sum(&lease.to_bytes())], PutMode::Keep)?)
}
