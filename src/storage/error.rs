//! What can go wrong in a storage.

use std::io;
use thiserror::Error;

/// Why a call failed, as far as callers decide by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageFault {
    /// There is no such object.
    NotFound,
    /// The object exists and was not to be replaced.
    Exists,
    /// The object ends before the wanted range does.
    ShortRead,
    /// The store is full, or a quota is used up.
    NoSpace,
    /// The store refuses: permissions, or a read-only file system.
    Denied,
    /// The store could not be reached or did not answer; trying again may help.
    Transient,
    /// Anything else.
    Other,
}

/// A call to a storage that failed: what was tried, on which object or folder, and why.
#[derive(Debug, Error)]
#[error("could not {action} `{object}` in {location}: {source}")]
pub struct StorageError {
    /// What kind of failure it is.
    pub fault: StorageFault,
    /// The verb: `read`, `write`, `list`, `delete`, …
    pub action: &'static str,
    /// The object or folder.
    pub object: String,
    /// The storage's location.
    pub location: String,
    /// The cause.
    pub source: io::Error,
}

impl StorageError {
    /// Whether the object simply is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.fault == StorageFault::NotFound
    }
}
