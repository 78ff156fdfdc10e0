//! One prune at a time, and what is known of other leases.

use super::{PruneError, PruneRequest};
use crate::base::cancel::Cancel;
use crate::base::host::start_of;
use crate::repo::{HeldLease, LeaseId, LeaseState, Repository, lease, leases};
use crate::storage::ObjectName;
use std::sync::Arc;
use std::time::Duration;

/// What a prune says that it does.
const OPERATION: &str = "prune";
/// How often it is looked whether another prune has ended.
const LOOK: Duration = Duration::from_secs(1);

/// A lease of this prune, once no other prune is at work.
pub(super) fn wait(
    repository: &Arc<Repository>,
    request: &PruneRequest,
    cancel: &Cancel,
) -> Result<HeldLease, PruneError> {
    let clock = &repository.env().clock;
    let until = clock.monotonic() + request.wait;
    loop {
        let own = HeldLease::take(repository, OPERATION)?;
        let Some(other) = other(repository, &own.id(), request)? else {
            return Ok(own);
        };
        // Two that begin at once see each other, and both step back, for different times.
        own.end()?;
        if clock.monotonic() >= until {
            return Err(PruneError::Busy(other));
        }
        let mut random = [0; 1];
        repository.env().entropy.fill(&mut random).map_err(crate::repo::RepoError::from)?;
        let pause = LOOK + Duration::from_millis(u64::from(random[0]) * 8);
        std::thread::sleep(pause.min(until.saturating_sub(clock.monotonic())));
        if let Some(signal) = cancel.requested() {
            return Err(PruneError::Cancelled(signal));
        }
    }
}

/// Another prune that may be at work, in words.
fn other(repository: &Repository, own: &LeaseId, request: &PruneRequest) -> Result<Option<String>, PruneError> {
    let storage = &**repository.storage();
    for (id, state) in leases(storage)?.into_iter().filter(|(id, state)| id != own && state.is_live()) {
        let Some(counter) = state.counter else { continue };
        let Some(record) = lease(storage, &id, counter)? else { continue };
        if record.operation != OPERATION || is_dead(repository, &id, &state)? {
            continue;
        }
        // By the store's clock alone: it has not been renewed for the whole grace.
        let times = [storage.put_time(&ObjectName::lease(own, 0)), storage.put_time(&ObjectName::lease(&id, counter))];
        if let [Ok(Some(now)), Ok(Some(then))] = times
            && now.duration_since(then).is_ok_and(|age| age > request.grace.max(Duration::from_hours(1)))
        {
            continue;
        }
        return Ok(Some(describe(repository, &id, &state)?));
    }
    Ok(None)
}

/// Whether the holder of a lease is known to be gone: a process of this host, in the same namespace, that is no more.
pub(super) fn is_dead(repository: &Repository, id: &LeaseId, state: &LeaseState) -> Result<bool, PruneError> {
    let Some(counter) = state.counter else { return Ok(false) };
    let Some(record) = lease(&**repository.storage(), id, counter)? else { return Ok(false) };
    let own = &repository.env().host;
    let here = record.boot == own.boot && record.namespace == own.namespace && record.host == own.name;
    // Without these nothing is known: what is not told apart could be another process.
    let known = !own.boot.is_empty() && own.namespace != 0 && record.started != 0;
    Ok(here && known && start_of(&record.pid.to_string()) != Some(record.started))
}

/// A lease in words.
pub(super) fn describe(repository: &Repository, id: &LeaseId, state: &LeaseState) -> Result<String, PruneError> {
    let record = match state.counter {
        Some(counter) => lease(&**repository.storage(), id, counter)?,
        None => None,
    };
    let short = crate::base::hex::encode(&id[..4]);
    Ok(record.map_or(format!("lease {short}"), |lease| {
        format!("`{}` on `{}`, process {}, lease {short}", lease.operation, lease.host, lease.pid)
    }))
}
