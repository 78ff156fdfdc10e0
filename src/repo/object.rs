//! Whole objects: read and checked against their names, or made of a sealed record.

use super::{RepoError, Repository};
use crate::crypto::KeyTable;
use crate::format::limits::{HEADER_LEN, RECORD_LEN_MAX};
use crate::format::{Class, Header, Part};
use crate::storage::{Folder, ObjectMeta, ObjectName, Storage};
use bytes::Bytes;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// How often a folder is listed at most when objects vanish between the listing and the read.
const LISTINGS: usize = 5;

/// Reads an object of at most `limit` bytes and checks that its bytes have the hash that is its name.
pub(super) fn load(storage: &dyn Storage, name: &ObjectName, limit: u64) -> Result<Bytes, RepoError> {
    let length = storage.head(name)?.length;
    if length > limit {
        return Err(RepoError::damaged(name, format!("it has {length} bytes, limit is {limit}")));
    }
    let bytes = storage.get(name)?;
    if name.hash().is_some() && !name.is_of(&bytes) {
        return Err(RepoError::damaged(name, "its bytes do not have the hash that is its name"));
    }
    Ok(bytes)
}

/// As [`load`], from the cache where it is there; for objects that were just listed.
pub(super) fn load_cached(repository: &Repository, name: &ObjectName, limit: u64) -> Result<Bytes, RepoError> {
    let fetch = || load(&**repository.storage(), name, limit);
    let key = format!("{}-{}", name.folder().as_str(), name.base());
    repository.cached(&key, fetch, |bytes| {
        if name.is_of(bytes) { Ok(bytes.clone()) } else { Err(RepoError::damaged(name, "it is damaged")) }
    })
}

/// Bytes of the sum behind a record in clear.
const SUM_LEN: usize = 8;

/// The bytes of an object that is in clear and not named by its hash: the record, and a sum over it.
pub(super) fn with_sum(record: &[u8]) -> Bytes {
    Bytes::from([record, &blake3::hash(record).as_bytes()[..SUM_LEN]].concat())
}

/// The record in the bytes of such an object.
///
/// # Errors
/// When the sum is not that of the record.
pub fn without_sum<'b>(name: &ObjectName, bytes: &'b [u8]) -> Result<&'b [u8], RepoError> {
    let (record, sum) = bytes.split_at(bytes.len().saturating_sub(SUM_LEN));
    if blake3::hash(record).as_bytes()[..SUM_LEN] != *sum {
        return Err(RepoError::damaged(name, "its sum is not that of what is in it"));
    }
    Ok(record)
}

/// The header of an object, which must be of `class`.
pub(super) fn header(name: &ObjectName, object: &[u8], class: Class) -> Result<Header, RepoError> {
    let header = Header::from_bytes(object).map_err(|error| RepoError::format(name, &error))?;
    if header.class != class {
        let reason = format!("it is a {}, not a {}", header.class.as_str(), class.as_str());
        return Err(RepoError::damaged(name, reason));
    }
    Ok(header)
}

/// Opens the one sealed record of an object.
pub(super) fn open_record(
    keys: &KeyTable,
    name: &ObjectName,
    object: &[u8],
    class: Class,
) -> Result<Vec<u8>, RepoError> {
    let header = header(name, object, class)?;
    let key = keys.find(&header).map_err(|error| RepoError::damaged(name, error))?;
    let mut record = object[HEADER_LEN..].to_vec();
    key.open(part(class), 0, &mut record).map_err(|error| RepoError::damaged(name, error))?;
    Ok(record)
}

/// The names and lengths of all objects of a folder, sorted by name.
///
/// # Errors
/// The storage.
pub fn list(storage: &dyn Storage, folder: Folder) -> Result<Vec<ObjectMeta>, RepoError> {
    let mut found = Vec::new();
    storage.list(folder, &mut |meta| {
        found.push(meta);
        ControlFlow::Continue(())
    })?;
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The same; nothing where the folder is not there.
///
/// # Errors
/// As [`list`].
pub fn list_if_there(storage: &dyn Storage, folder: Folder) -> Result<Vec<ObjectMeta>, RepoError> {
    match list(storage, folder) {
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        other => other,
    }
}

/// Lengths of the packs that are there, by name.
///
/// # Errors
/// As [`list`].
pub fn list_packs(storage: &dyn Storage) -> Result<HashMap<[u8; 32], u64>, RepoError> {
    let packs = list(storage, Folder::Packs)?.into_iter();
    Ok(packs.filter_map(|meta| Some((meta.name.hash()?, meta.length))).collect())
}

/// An object that was listed, and its bytes or why there are none.
pub(super) type Loaded = (ObjectName, Result<Bytes, RepoError>);

/// Reads every object that `list` gives, each of one record. One that vanished after it was listed is being replaced by
/// another, so the listing is made again, a few times.
pub(super) fn load_all(
    storage: &dyn Storage,
    list: impl Fn() -> Result<Vec<ObjectMeta>, RepoError>,
) -> Result<Vec<Loaded>, RepoError> {
    let mut attempts = 1;
    loop {
        let load = |meta: ObjectMeta| {
            let bytes = load_record(storage, &meta.name);
            (meta.name, bytes)
        };
        let loaded: Vec<Loaded> = list()?.into_iter().map(load).collect();
        let vanished = |(_, bytes): &Loaded| bytes.as_ref().is_err_and(RepoError::is_not_found);
        if attempts == LISTINGS || !loaded.iter().any(vanished) {
            return Ok(loaded);
        }
        attempts += 1;
    }
}

/// The config objects; none where not even a place for them is.
pub(super) fn configs(storage: &dyn Storage) -> Result<Vec<ObjectMeta>, RepoError> {
    list_if_there(storage, Folder::Config)
}

/// Whether snapshots or index objects stand where no config does: a repository that has lost it.
pub(super) fn has_lost_config(storage: &dyn Storage) -> Result<bool, RepoError> {
    for folder in [Folder::Snapshots, Folder::Index] {
        if !list_if_there(storage, folder)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads an object that holds one record.
pub(super) fn load_record(storage: &dyn Storage, name: &ObjectName) -> Result<Bytes, RepoError> {
    load(storage, name, RECORD_LEN_MAX)
}

/// The nonce part of the one record of a class.
pub(super) fn part(class: Class) -> Part {
    match class {
        Class::Snapshot => Part::Snapshot,
        Class::Config => Part::Config,
        Class::KeySlot => Part::KeySlot,
        Class::Mark => Part::Mark,
        Class::Index | Class::Pack => unreachable!("objects of several parts have no single record"),
    }
}
