//! What this host has seen of a repository: the newest snapshot of each chain (writer and job), so that a repository that
//! went back, or lost snapshots, is noticed.

use super::{Marks, NamedSnapshot, RepoError, Repository, SnapshotList};
use crate::format::Mark;
use crate::format::limits::MARK_NAMES_MAX;
use crate::storage::ObjectName;
use std::collections::{BTreeMap, HashSet};

/// Chains that are remembered of a repository.
const CHAINS_MAX: usize = 100_000;
/// Bytes of a text.
const TEXT_MAX: usize = 4_096;

/// A chain of snapshots: those of one writer and job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Chain {
    writer: [u8; 16],
    /// Empty for none.
    job: String,
}

/// The newest snapshot of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its Lamport number.
    pub lamport: u64,
    /// Its sequence number.
    pub sequence: u64,
    /// Its name.
    pub name: [u8; 32],
    /// Its host.
    pub host: String,
}

/// The newest snapshots of all chains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen(BTreeMap<Chain, Head>);

/// A snapshot that this host has seen and that is neither there nor known to be removed on purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vanished {
    /// What was seen.
    pub seen: Head,
    /// Its job, empty for none.
    pub job: String,
    /// The newest sequence number of the chain that is there.
    pub present: Option<u64>,
}

impl Seen {
    /// What `snapshots` show.
    #[must_use]
    pub fn of<'s>(snapshots: impl IntoIterator<Item = &'s NamedSnapshot>) -> Self {
        let mut seen = Self::default();
        for named in snapshots {
            let snapshot = &named.snapshot;
            let chain = Chain { writer: snapshot.writer, job: snapshot.job.clone().unwrap_or_default() };
            let host = cut(&snapshot.host);
            seen.take(chain, Head { lamport: snapshot.lamport, sequence: snapshot.sequence, name: named.name, host });
        }
        seen
    }

    fn take(&mut self, chain: Chain, head: Head) {
        let newer = |known: &Head| (known.lamport, known.sequence) <= (head.lamport, head.sequence);
        if self.0.get(&chain).is_none_or(newer) && (self.0.len() < CHAINS_MAX || self.0.contains_key(&chain)) {
            self.0.insert(chain, head);
        }
    }

    /// Adds what another has seen; what is known never gets older by that.
    pub fn merge(&mut self, other: &Self) {
        for (chain, head) in &other.0 {
            self.take(chain.clone(), head.clone());
        }
    }

    /// The highest Lamport number.
    #[must_use]
    pub fn lamport(&self) -> u64 {
        self.0.values().map(|head| head.lamport).max().unwrap_or(0)
    }

    /// What was seen and is neither among the snapshots of `list` nor known to be removed on purpose.
    ///
    /// # Errors
    /// The storage.
    pub fn vanished(&self, repository: &Repository, list: &SnapshotList) -> Result<Vec<Vanished>, RepoError> {
        let present: HashSet<[u8; 32]> = list.snapshots.iter().map(|named| named.name).collect();
        if self.0.values().all(|head| present.contains(&head.name)) {
            return Ok(Vec::new());
        }
        let known = accounted_for(repository, list)?;
        let there = Self::of(&list.snapshots);
        let gone = self.0.iter().filter(|(_, head)| !known.contains(&head.name));
        let vanished = gone.map(|(chain, head)| Vanished {
            seen: head.clone(),
            job: chain.job.clone(),
            present: there.0.get(chain).map(|head| head.sequence),
        });
        Ok(vanished.collect())
    }

    /// A short code of what there is, for two people to compare.
    #[must_use]
    pub fn code(&self, repository: &Repository) -> String {
        const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let mut hasher = blake3::Hasher::new_derive_key("nightjar v1 2026-12 state code");
        hasher.update(&repository.config().repository);
        hasher.update(&self.to_bytes());
        let hash = hasher.finalize();
        let digit = |at: usize| {
            let byte = hash.as_bytes()[at];
            char::from(DIGITS[usize::from(byte % 32)])
        };
        let groups = (0..4).map(|group| (0..4).map(|n| digit(group * 4 + n)).collect::<String>());
        groups.collect::<Vec<_>>().join("-")
    }

    /// The bytes in which it is remembered.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (chain, head) in &self.0 {
            bytes.extend_from_slice(&chain.writer);
            bytes.extend_from_slice(&head.name);
            bytes.extend_from_slice(&head.lamport.to_le_bytes());
            bytes.extend_from_slice(&head.sequence.to_le_bytes());
            for text in [&chain.job, &head.host] {
                let length = u16::try_from(text.len()).unwrap_or(0);
                bytes.extend_from_slice(&length.to_le_bytes());
                bytes.extend_from_slice(&text.as_bytes()[..usize::from(length)]);
            }
        }
        bytes
    }

    /// The inverse; `None` for anything else.
    #[must_use]
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut seen = Self::default();
        while !bytes.is_empty() {
            let (writer, rest) = bytes.split_first_chunk::<16>()?;
            let (name, rest) = rest.split_first_chunk::<32>()?;
            let (lamport, rest) = rest.split_first_chunk::<8>()?;
            let (sequence, rest) = rest.split_first_chunk::<8>()?;
            let (job, rest) = text(rest)?;
            let (host, rest) = text(rest)?;
            let (lamport, sequence) = (u64::from_le_bytes(*lamport), u64::from_le_bytes(*sequence));
            seen.0.insert(Chain { writer: *writer, job }, Head { lamport, sequence, name: *name, host });
            if seen.0.len() > CHAINS_MAX {
                return None;
            }
            bytes = rest;
        }
        Some(seen)
    }
}

fn text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_le_bytes(*length));
    let (text, rest) = rest.split_at_checked(length).filter(|_| length <= TEXT_MAX)?;
    Some((std::str::from_utf8(text).ok()?.to_owned(), rest))
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_MAX)].to_owned()
}

/// Names of snapshots that are there, that can be brought back, that were removed on purpose, that others stand for, and
/// that are damaged, which is said elsewhere.
///
/// # Errors
/// The storage.
pub fn accounted_for(repository: &Repository, list: &SnapshotList) -> Result<HashSet<[u8; 32]>, RepoError> {
    let forgotten = repository.forgotten()?;
    let marks = Marks::load(repository)?;
    let mut names = HashSet::new();
    for named in list.snapshots.iter().chain(&forgotten.snapshots) {
        names.extend([Some(named.name), named.snapshot.original].into_iter().flatten());
    }
    names.extend(marks.standing.iter().flat_map(|mark| mark.mark.gone.iter().chain(&mark.mark.forgotten)));
    for error in list.damaged.iter().chain(&forgotten.damaged) {
        let object = match error {
            RepoError::Damaged { object, .. } => object,
            RepoError::Storage(error) => &error.object,
            _ => continue,
        };
        names.extend(ObjectName::from_path(object).and_then(|name| name.hash()));
    }
    Ok(names)
}

/// Snapshots that name one before them which is neither there nor known to be removed on purpose: something is missing in
/// between. Each with the name that is missing.
///
/// # Errors
/// The storage.
pub fn gaps(repository: &Repository, list: &SnapshotList) -> Result<Vec<(NamedSnapshot, [u8; 32])>, RepoError> {
    let present: HashSet<[u8; 32]> = list.snapshots.iter().map(|named| named.name).collect();
    let open = |known: &HashSet<[u8; 32]>| {
        let missing = |named: &NamedSnapshot| named.snapshot.previous.filter(|name| !known.contains(name));
        list.snapshots.iter().filter_map(|named| Some((named.clone(), missing(named)?))).collect::<Vec<_>>()
    };
    if open(&present).is_empty() {
        return Ok(Vec::new());
    }
    Ok(open(&accounted_for(repository, list)?))
}

impl Repository {
    /// Writes down that these snapshots are gone and that somebody has seen it, so that nobody misses them any more.
    ///
    /// # Errors
    /// The storage, or no randomness.
    pub fn accept_gaps(&self, names: &[[u8; 32]]) -> Result<(), RepoError> {
        for piece in names.chunks(MARK_NAMES_MAX) {
            let created = self.env().now();
            self.put_mark(&Mark { created, packs: Vec::new(), forgotten: Vec::new(), gone: piece.to_vec() })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Chain, Head, Seen};
    use proptest::prelude::*;

    fn seen() -> impl Strategy<Value = Seen> {
        let head = (0_u64..20, 0_u64..20, any::<[u8; 32]>(), "[a-zäß]{0,6}");
        let chain = (0_u8..4, "[jk]?");
        proptest::collection::vec((chain, head), 0..12).prop_map(|heads| {
            let mut seen = Seen::default();
            for ((writer, job), (lamport, sequence, name, host)) in heads {
                seen.take(Chain { writer: [writer; 16], job }, Head { lamport, sequence, name, host });
            }
            seen
        })
    }

    proptest! {
        #[test]
        fn what_was_seen_survives_its_bytes_and_never_gets_older(a in seen(), b in seen()) {
            prop_assert_eq!(Seen::from_bytes(&a.to_bytes()), Some(a.clone()));
            let mut both = a.clone();
            both.merge(&b);
            for (chain, head) in a.0.iter().chain(&b.0) {
                let known = &both.0[chain];
                prop_assert!((known.lamport, known.sequence) >= (head.lamport, head.sequence));
            }
            let mut again = both.clone();
            again.merge(&a);
            prop_assert_eq!(again.lamport(), both.lamport());
        }

        #[test]
        fn any_bytes_end_in_something_seen_or_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Some(seen) = Seen::from_bytes(&bytes) {
                prop_assert!(Seen::from_bytes(&seen.to_bytes()) == Some(seen));
            }
        }
    }
}
