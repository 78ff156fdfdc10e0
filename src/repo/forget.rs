//! Taking snapshots away, and bringing them back until they are swept (`repo-format.md`, chapter 15).

use super::snapshots::open_snapshot;
use super::{HeldLease, NamedSnapshot, RepoError, Repository, Settled, marks, object};
use crate::base::hex;
use crate::format::Mark;
use crate::storage::{Folder, ObjectName, PutMode};

/// Snapshots that were forgotten and can still be brought back.
#[derive(Debug, Default)]
pub struct Forgotten {
    /// Those that could be read, oldest first.
    pub snapshots: Vec<NamedSnapshot>,
    /// Those that could not.
    pub damaged: Vec<RepoError>,
}

impl Repository {
    /// Takes a snapshot away. Nothing of what it needs is removed before a sweep, and until then it can be brought back.
    ///
    /// # Errors
    /// The storage. The snapshot may then stand in both places; it is forgotten when it is asked for again.
    pub fn forget(&self, snapshot: &[u8; 32]) -> Result<(), RepoError> {
        let name = ObjectName::hashed(Folder::Snapshots, snapshot);
        let bytes = object::load_record(&**self.storage(), &name)?;
        let kept = ObjectName::hashed(Folder::Forgotten, snapshot);
        let put = || self.storage().put(&kept, std::slice::from_ref(&bytes), PutMode::Keep).map_err(RepoError::from);
        match put() {
            // On a full disk this is where making room begins; the next prune makes the reserve again.
            Err(error) if error.is_full() && self.release_reserve()? > 0 => put()?,
            other => other?,
        }
        Ok(self.storage().delete(&name)?)
    }

    /// All forgotten snapshots.
    ///
    /// # Errors
    /// The storage; a snapshot of a newer format. A damaged one is no error.
    pub fn forgotten(&self) -> Result<Forgotten, RepoError> {
        let mut found = Forgotten::default();
        for meta in object::list(&**self.storage(), Folder::Forgotten)? {
            match open_snapshot(self, &meta.name) {
                Ok(snapshot) => found.snapshots.push(snapshot),
                // It was swept, or brought back, since it was listed.
                Err(error) if error.is_not_found() => {}
                Err(error) if error.is_damage() => found.damaged.push(error),
                Err(error) => return Err(error),
            }
        }
        let settled = Settled::load(&**self.storage(), &mut found.damaged)?;
        found.snapshots.retain(|named| settled.counts(&named.snapshot.lease, &named.name));
        found.snapshots.sort_by_key(|named| (named.snapshot.lamport, named.snapshot.time, named.name));
        Ok(found)
    }

    /// Brings the forgotten snapshot whose name begins with `prefix` (lower-case hexadecimal) back. It gets a new name,
    /// because it is put under a lease of its own: a sweep either waits for that or takes it for lost, and then the
    /// snapshot does not count.
    ///
    /// # Errors
    /// [`RepoError::NoSnapshot`] when it is not there or was swept meanwhile, [`RepoError::Ambiguous`],
    /// [`RepoError::LeaseLost`], the storage.
    pub fn bring_back(&self, prefix: &str) -> Result<NamedSnapshot, RepoError> {
        let lease = HeldLease::take(self, "undo")?;
        // After the lease stands: a sweep that does not see the lease has taken the snapshot away already.
        let forgotten = self.forgotten()?;
        let mut fit = forgotten.snapshots.iter().filter(|named| hex::encode(&named.name).starts_with(prefix));
        let found = fit.next().ok_or_else(|| RepoError::NoSnapshot(prefix.to_owned()))?;
        if fit.next().is_some() {
            return Err(RepoError::Ambiguous(prefix.to_owned()));
        }
        let mut snapshot = found.snapshot.clone();
        snapshot.lease = lease.id();
        snapshot.original = Some(found.name);
        let back = self.put_snapshot(&snapshot)?;
        if !marks::confirm(&**self.storage(), &lease.id(), &back.name)? {
            return Err(RepoError::LeaseLost);
        }
        if let Some(first) = found.snapshot.original {
            // Nobody names it from now on, but the snapshot after it does.
            let created = self.env().now();
            self.put_mark(&Mark { created, packs: Vec::new(), forgotten: Vec::new(), gone: vec![first] })?;
        }
        self.storage().delete(&ObjectName::hashed(Folder::Forgotten, &found.name))?;
        lease.end()?;
        Ok(back)
    }
}
