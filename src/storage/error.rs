//! What can go wrong in a storage.

use rustix::io::Errno;
use std::fmt::Display;
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

impl StorageFault {
    /// The fault that an error of the operating system stands for.
    ///
    /// EIO counts as transient: soft NFS and SMB mounts report a lost server with it, and on a dying disk a few more
    /// tries do no harm.
    #[must_use]
    pub fn of(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        if Errno::from_io_error(error) == Some(Errno::IO) {
            return Self::Transient;
        }
        match error.kind() {
            Kind::NotFound => Self::NotFound,
            Kind::AlreadyExists => Self::Exists,
            Kind::UnexpectedEof => Self::ShortRead,
            Kind::StorageFull | Kind::QuotaExceeded => Self::NoSpace,
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Self::Denied,
            Kind::TimedOut
            | Kind::WouldBlock
            | Kind::Interrupted
            | Kind::ResourceBusy
            | Kind::StaleNetworkFileHandle
            | Kind::NotConnected
            | Kind::BrokenPipe
            | Kind::ConnectionReset
            | Kind::ConnectionRefused
            | Kind::ConnectionAborted
            | Kind::NetworkDown
            | Kind::NetworkUnreachable
            | Kind::HostUnreachable => Self::Transient,
            _ => Self::Other,
        }
    }
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
    /// The failure of `action` on `object` in the storage at `location`; the fault follows from `source`.
    #[must_use]
    pub fn new(action: &'static str, object: impl Display, location: &str, source: io::Error) -> Self {
        Self {
            fault: StorageFault::of(&source),
            action,
            object: object.to_string(),
            location: location.to_owned(),
            source,
        }
    }

    /// Whether the object simply is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.fault == StorageFault::NotFound
    }
}

#[cfg(test)]
mod tests {
    use super::StorageFault;
    use rustix::io::Errno;

    #[test]
    fn errors_of_the_operating_system_become_faults() {
        for (errno, fault) in [
            (Errno::NOSPC, StorageFault::NoSpace),
            (Errno::DQUOT, StorageFault::NoSpace),
            (Errno::ACCESS, StorageFault::Denied),
            (Errno::PERM, StorageFault::Denied),
            (Errno::ROFS, StorageFault::Denied),
            (Errno::NOENT, StorageFault::NotFound),
            (Errno::EXIST, StorageFault::Exists),
            (Errno::STALE, StorageFault::Transient),
            (Errno::TIMEDOUT, StorageFault::Transient),
            (Errno::AGAIN, StorageFault::Transient),
            (Errno::IO, StorageFault::Transient),
            (Errno::HOSTUNREACH, StorageFault::Transient),
            (Errno::ISDIR, StorageFault::Other),
            (Errno::INVAL, StorageFault::Other),
        ] {
            assert_eq!(StorageFault::of(&errno.into()), fault, "{errno}");
        }
    }
}
