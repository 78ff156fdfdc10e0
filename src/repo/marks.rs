//! Marks and leases as those read them who have to heed them (`repo-format.md`, chapter 12).

use super::{RepoError, Repository, object};
use crate::base::hex;
use crate::format::limits::{LEASE_LEN_MAX, RECORD_LEN_MAX};
use crate::format::{Census, Class, Honoured, Lease, Mark};
use crate::storage::{Folder, ObjectName, Storage};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Id of a lease.
pub type LeaseId = [u8; 16];

/// A mark that stands, with its census if that stands too.
#[derive(Clone, Debug)]
pub struct StandingMark {
    /// Its name.
    pub name: ObjectName,
    /// What it says.
    pub mark: Mark,
    /// The leases that stood after it.
    pub census: Option<Census>,
}

/// All marks.
#[derive(Debug, Default)]
pub struct Marks {
    /// Those that could be read.
    pub standing: Vec<StandingMark>,
    /// Those that are damaged. No prune removes anything by them either.
    pub damaged: Vec<RepoError>,
}

impl Marks {
    /// Reads all marks.
    ///
    /// # Errors
    /// The storage; a mark of a newer format. A damaged mark is no error.
    pub fn load(repository: &Repository) -> Result<Self, RepoError> {
        let storage = &**repository.storage();
        let mut marks = Self::default();
        for meta in object::list(storage, Folder::Marks)? {
            match load_one(repository, &meta.name) {
                Ok(mark) => marks.standing.push(mark),
                // It was swept since it was listed.
                Err(error) if error.is_not_found() => {}
                Err(error) if error.is_damage() => marks.damaged.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(marks)
    }

    /// Packs that the holder of `lease` must not build on: those of marks whose census does not name it.
    #[must_use]
    pub fn avoided_by(&self, lease: &LeaseId) -> HashSet<[u8; 32]> {
        let knows = |mark: &&StandingMark| mark.census.as_ref().is_some_and(|census| census.counter(lease).is_some());
        self.standing.iter().filter(|mark| !knows(mark)).flat_map(|mark| mark.mark.packs.iter().copied()).collect()
    }
}

fn load_one(repository: &Repository, name: &ObjectName) -> Result<StandingMark, RepoError> {
    let storage = &**repository.storage();
    let bytes = object::load(storage, name, RECORD_LEN_MAX)?;
    let record = object::open_record(repository.keys(), name, &bytes, Class::Mark)?;
    let mark = Mark::from_bytes(&record).map_err(|error| RepoError::format(name, &error))?;
    let census = match object::load(storage, &name.census(), RECORD_LEN_MAX) {
        // One that is damaged says nothing about who is at work, and its mark is void.
        Ok(bytes) => object::without_sum(&name.census(), &bytes)
            .ok()
            .and_then(|record| Census::from_bytes(record).ok())
            .filter(|census| name.hash() == Some(census.mark)),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error),
    };
    Ok(StandingMark { name: name.clone(), mark, census })
}

/// What stands of one lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaseState {
    /// The highest counter that stands.
    pub counter: Option<u64>,
    /// Whether its end stands.
    pub ended: bool,
    /// Whether a sweep made it void.
    pub void: bool,
    /// Whether it is written down which of its snapshots count.
    pub honoured: bool,
}

impl LeaseState {
    /// Whether its holder may still be at work.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.counter.is_some() && !self.ended && !(self.void && self.honoured)
    }
}

/// All leases.
///
/// # Errors
/// The storage.
pub fn leases(storage: &dyn Storage) -> Result<BTreeMap<LeaseId, LeaseState>, RepoError> {
    let mut found: BTreeMap<LeaseId, LeaseState> = BTreeMap::new();
    for meta in object::list(storage, Folder::Leases)? {
        let Some((id, rest)) = meta.name.base().split_once('-') else { continue };
        let Some(id) = hex::decode(id) else { continue };
        let state = found.entry(id).or_default();
        match rest {
            "end" => state.ended = true,
            "void" => state.void = true,
            "honoured" => state.honoured = true,
            counter => state.counter = state.counter.max(counter.parse().ok()),
        }
    }
    Ok(found)
}

/// What a lease says of its holder; `None` when it is gone.
///
/// # Errors
/// The storage, or damage.
pub fn lease(storage: &dyn Storage, id: &LeaseId, counter: u64) -> Result<Option<Lease>, RepoError> {
    let name = ObjectName::lease(id, counter);
    match object::load(storage, &name, LEASE_LEN_MAX) {
        Ok(bytes) => {
            let record = object::without_sum(&name, &bytes)?;
            Lease::from_bytes(record).map(Some).map_err(|error| RepoError::format(&name, &error))
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Leases that a sweep settled, each with the snapshots of it that count; any other snapshot of such a lease does not.
#[derive(Clone, Debug, Default)]
pub struct Settled(HashMap<LeaseId, HashSet<[u8; 32]>>);

impl Settled {
    /// Reads what was settled; to be read after the snapshots were listed. Of a lease whose record is damaged no
    /// snapshot counts: it may be one that lacks something.
    ///
    /// # Errors
    /// The storage. A damaged record is no error, and goes to `damaged`.
    pub fn load(storage: &dyn Storage, damaged: &mut Vec<RepoError>) -> Result<Self, RepoError> {
        let mut settled = HashMap::new();
        for (id, _) in leases(storage)?.into_iter().filter(|(_, state)| state.honoured) {
            match honoured(storage, &id) {
                Ok(Some(snapshots)) => _ = settled.insert(id, snapshots),
                Ok(None) => {}
                Err(error) if error.is_damage() => {
                    damaged.push(error);
                    settled.insert(id, HashSet::new());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Self(settled))
    }

    /// Whether a snapshot of `lease` counts.
    #[must_use]
    pub fn counts(&self, lease: &LeaseId, snapshot: &[u8; 32]) -> bool {
        self.0.get(lease).is_none_or(|honoured| honoured.contains(snapshot))
    }
}

/// The snapshots of a settled lease that count; `None` when it was not settled.
fn honoured(storage: &dyn Storage, id: &LeaseId) -> Result<Option<HashSet<[u8; 32]>>, RepoError> {
    let name = ObjectName::lease_honoured(id);
    let bytes = match object::load(storage, &name, RECORD_LEN_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error),
    };
    let record = object::without_sum(&name, &bytes)?;
    let record = Honoured::from_bytes(record).map_err(|error| RepoError::format(&name, &error))?;
    Ok(Some(record.snapshots.into_iter().collect()))
}

/// Whether a sweep took the lease for lost.
pub(super) fn is_void(storage: &dyn Storage, id: &LeaseId) -> Result<bool, RepoError> {
    match storage.head(&ObjectName::lease_void(id)) {
        Err(error) if error.is_not_found() => Ok(false),
        other => other.map(|_| true).map_err(RepoError::from),
    }
}

/// Whether a snapshot that was just put under `lease` counts: no sweep made the lease void before it stood.
///
/// # Errors
/// The storage, or damage.
pub(super) fn confirm(storage: &dyn Storage, id: &LeaseId, snapshot: &[u8; 32]) -> Result<bool, RepoError> {
    // Void and not settled: whether it will count is not decided, so it must not be promised.
    Ok(!is_void(storage, id)? || honoured(storage, id)?.is_some_and(|honoured| honoured.contains(snapshot)))
}
