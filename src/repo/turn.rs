//! One at a time of those who remove things, and what is known of other leases.

use super::{HeldLease, LeaseId, LeaseState, RepoError, Repository, lease, leases};
use crate::base::cancel::Cancel;
use crate::base::host::start_of;
use crate::format::Lease;
use crate::storage::{ObjectName, Storage};
use std::time::Duration;

/// Operations that exclude one another.
const EXCLUSIVE: [&str; 2] = ["prune", "repair"];
/// How often it is looked whether another has ended.
const LOOK: Duration = Duration::from_secs(1);

/// What became of waiting for a turn.
#[derive(Debug)]
pub enum Turn {
    /// Nobody else is at work.
    Mine(HeldLease),
    /// Somebody else is, in words.
    Busy(String),
    /// A signal asked to stop.
    Cancelled(usize),
}

/// Waits up to `wait` until no prune and no repair is at work, and takes a lease for `operation`, which is one of these.
/// One whose lease has not been renewed for `grace` by the store's own clock is no longer at work.
///
/// # Errors
/// The storage.
pub fn take_turn(
    repository: &Repository,
    operation: &str,
    (wait, grace): (Duration, Duration),
    cancel: &Cancel,
) -> Result<Turn, RepoError> {
    let clock = &repository.env().clock;
    let until = clock.monotonic() + wait;
    loop {
        let own = HeldLease::take(repository, operation)?;
        let Some(other) = other(repository, &own.id(), grace)? else {
            return Ok(Turn::Mine(own));
        };
        // Two that begin at once see each other, and both step back, for different times.
        own.end()?;
        if clock.monotonic() >= until {
            return Ok(Turn::Busy(other));
        }
        let mut random = [0; 1];
        repository.env().entropy.fill(&mut random)?;
        let pause = LOOK + Duration::from_millis(u64::from(random[0]) * 8);
        std::thread::sleep(pause.min(until.saturating_sub(clock.monotonic())));
        if let Some(signal) = cancel.requested() {
            return Ok(Turn::Cancelled(signal));
        }
    }
}

/// Another one that may be at work, in words.
fn other(repository: &Repository, own: &LeaseId, grace: Duration) -> Result<Option<String>, RepoError> {
    let storage = &**repository.storage();
    for (id, state) in leases(storage)?.into_iter().filter(|(id, state)| id != own && state.is_live()) {
        let Some(counter) = state.counter else { continue };
        let Some(record) = readable(storage, &id, counter)? else { continue };
        if !EXCLUSIVE.contains(&record.operation.as_str()) || is_dead(repository, &id, &state)? {
            continue;
        }
        // By the store's clock alone: it has not been renewed for the whole grace.
        let times = [storage.put_time(&ObjectName::lease(own, 0)), storage.put_time(&ObjectName::lease(&id, counter))];
        if let [Ok(Some(now)), Ok(Some(then))] = times
            && now.duration_since(then).is_ok_and(|age| age > grace.max(Duration::from_hours(1)))
        {
            continue;
        }
        return Ok(Some(describe(repository, &id, &state)?));
    }
    Ok(None)
}

/// What a lease says of its holder; `None` when it is gone or damaged: then nothing is known of its holder.
fn readable(storage: &dyn Storage, id: &LeaseId, counter: u64) -> Result<Option<Lease>, RepoError> {
    match lease(storage, id, counter) {
        Err(error) if error.is_damage() => Ok(None),
        other => other,
    }
}

/// Whether the holder of a lease is known to be gone: a process of this host, in the same namespace, that is no more.
///
/// # Errors
/// The storage, or a damaged lease.
pub fn is_dead(repository: &Repository, id: &LeaseId, state: &LeaseState) -> Result<bool, RepoError> {
    let Some(counter) = state.counter else { return Ok(false) };
    let Some(record) = readable(&**repository.storage(), id, counter)? else { return Ok(false) };
    let own = &repository.env().host;
    let here = record.boot == own.boot && record.namespace == own.namespace && record.host == own.name;
    // Without these nothing is known: what is not told apart could be another process.
    let known = !own.boot.is_empty() && own.namespace != 0 && record.started != 0;
    Ok(here && known && start_of(&record.pid.to_string()) != Some(record.started))
}

/// A lease in words.
///
/// # Errors
/// The storage, or a damaged lease.
pub fn describe(repository: &Repository, id: &LeaseId, state: &LeaseState) -> Result<String, RepoError> {
    let record = match state.counter {
        Some(counter) => readable(&**repository.storage(), id, counter)?,
        None => None,
    };
    let short = crate::base::hex::encode(&id[..4]);
    Ok(record.map_or(format!("lease {short}"), |lease| {
        format!("`{}` on `{}`, process {}, lease {short}", lease.operation, lease.host, lease.pid)
    }))
}
