//! Snapshots: listed, found by what people call them, and put (`repo-format.md`, chapter 11).

use super::index::only_some_failed;
use super::{RepoError, Repository, Settled, object};
use crate::base::hex;
use crate::format::limits::RECORD_LEN_MAX;
use crate::format::{Class, Snapshot};
use crate::storage::{Folder, ObjectName, PutMode};
use bytes::Bytes;

/// A snapshot with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSnapshot {
    /// BLAKE3 of the object.
    pub name: [u8; 32],
    /// What it says.
    pub snapshot: Snapshot,
}

impl NamedSnapshot {
    /// The first eight digits of the name, as people see it.
    #[must_use]
    pub fn short(&self) -> String {
        hex::encode(&self.name[..4])
    }
}

/// How people name a snapshot: `latest`, `latest~N` or the beginning of its name, each with an optional `:/sub/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRef {
    text: String,
    base: Base,
    /// What was behind the colon.
    pub path: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Base {
    Latest(usize),
    Prefix(String),
}

impl SnapshotRef {
    /// Reads a reference as people write it.
    ///
    /// # Errors
    /// [`RepoError::Option`] when it is none.
    pub fn parse(text: &[u8]) -> Result<Self, RepoError> {
        let (name, path) = match text.iter().position(|b| *b == b':') {
            Some(colon) => (&text[..colon], Some(text[colon + 1..].to_vec())),
            None => (text, None),
        };
        let wrong = || RepoError::Option(format!("`{}` is no snapshot", String::from_utf8_lossy(text)));
        let name = std::str::from_utf8(name).map_err(|_| wrong())?;
        let base = match name.strip_prefix("latest") {
            Some("") => Base::Latest(0),
            Some(rest) => {
                let back = rest.strip_prefix('~').filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
                Base::Latest(back.and_then(|n| n.parse().ok()).ok_or_else(wrong)?)
            }
            None if (1..=64).contains(&name.len()) && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) => {
                Base::Prefix(name.to_owned())
            }
            None => return Err(wrong()),
        };
        Ok(Self { text: name.to_owned(), base, path })
    }
}

/// All snapshots of a repository.
#[derive(Debug, Default)]
pub struct SnapshotList {
    /// Those that could be read, oldest first.
    pub snapshots: Vec<NamedSnapshot>,
    /// Those that could not.
    pub damaged: Vec<RepoError>,
}

impl SnapshotList {
    /// Reads all snapshots of `repository`.
    ///
    /// # Errors
    /// When the listing fails, no snapshot can be read, or a snapshot has a newer format.
    pub fn load(repository: &Repository) -> Result<Self, RepoError> {
        let mut list = Self::default();
        for meta in object::list(&**repository.storage(), Folder::Snapshots)? {
            match open_snapshot(repository, &meta.name) {
                Ok(snapshot) => list.snapshots.push(snapshot),
                // It was forgotten since it was listed.
                Err(error) if error.is_not_found() => {}
                Err(error) if error.is_of_one_object() => list.damaged.push(error),
                Err(error) => return Err(error),
            }
        }
        only_some_failed(list.snapshots.len(), &mut list.damaged)?;
        // After the listing: what was settled before a snapshot appeared is seen.
        let settled = Settled::load(&**repository.storage(), &mut list.damaged)?;
        list.snapshots.retain(|named| settled.counts(&named.snapshot.lease, &named.name));
        list.snapshots.sort_by_key(|named| (named.snapshot.lamport, named.snapshot.time, named.name));
        Ok(list)
    }

    /// The snapshot that `wanted` names.
    ///
    /// # Errors
    /// [`RepoError::NoSnapshot`] or [`RepoError::Ambiguous`].
    pub fn find(&self, wanted: &SnapshotRef) -> Result<&NamedSnapshot, RepoError> {
        let none = || RepoError::NoSnapshot(wanted.text.clone());
        match &wanted.base {
            Base::Latest(back) => self.snapshots.iter().rev().nth(*back).ok_or_else(none),
            Base::Prefix(prefix) => {
                let mut fit =
                    self.snapshots.iter().filter(|named| hex::encode(&named.name).starts_with(prefix.as_str()));
                let first = fit.next().ok_or_else(none)?;
                if fit.next().is_some() { Err(RepoError::Ambiguous(prefix.clone())) } else { Ok(first) }
            }
        }
    }
}

/// Reads one snapshot, forgotten or not.
pub(super) fn open_snapshot(repository: &Repository, name: &ObjectName) -> Result<NamedSnapshot, RepoError> {
    let bytes = object::load_cached(repository, name, RECORD_LEN_MAX)?;
    let record = object::open_record(repository.keys(), name, &bytes, Class::Snapshot)?;
    let snapshot = Snapshot::from_bytes(&record).map_err(|error| RepoError::format(name, &error))?;
    let hash = name.hash().ok_or_else(|| RepoError::damaged(name, "it is not named by a hash"))?;
    Ok(NamedSnapshot { name: hash, snapshot })
}

impl Repository {
    /// Puts a snapshot: the commit of a backup. Everything it needs must be durable.
    ///
    /// # Errors
    /// The storage; [`RepoError::Option`] when a field is beyond what a snapshot can hold.
    pub fn put_snapshot(&self, snapshot: &Snapshot) -> Result<NamedSnapshot, RepoError> {
        // What is acknowledged must be readable, so it is read before it is put.
        let beyond = |reason: String| RepoError::Option(format!("the snapshot cannot hold this: {reason}"));
        let mut record = snapshot.to_bytes();
        let again = Snapshot::from_bytes(&record).map_err(|error| beyond(error.to_string()))?;
        if again != *snapshot || record.len() as u64 + 256 > RECORD_LEN_MAX {
            return Err(beyond("it does not read as it was written".to_owned()));
        }
        let (header, key) = self.keys().begin(Class::Snapshot, None, self.suite(), self.salts().next(&[])?);
        key.seal(object::part(Class::Snapshot), 0, &mut record);
        let bytes = [&header.to_bytes()[..], &record].concat();
        let name = *blake3::hash(&bytes).as_bytes();
        self.storage().put(&ObjectName::hashed(Folder::Snapshots, &name), &[Bytes::from(bytes)], PutMode::Keep)?;
        Ok(NamedSnapshot { name, snapshot: snapshot.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::SnapshotRef;

    #[test]
    fn references_parse_as_people_write_them() {
        for good in ["latest", "latest~3", "0af", "latest:/home", "0af:", "latest~0:/a:b"] {
            assert!(SnapshotRef::parse(good.as_bytes()).is_ok(), "{good}");
        }
        for bad in ["", ":/x", "latest~", "latest~x", "latest~+1", "latest3", "0AF", "xyz", "-1"] {
            assert!(SnapshotRef::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert_eq!(SnapshotRef::parse(b"latest:/a:\xff").unwrap().path, Some(b"/a:\xff".to_vec()));
    }
}
