//! Where a repository is.

use super::CommandError;
use crate::storage::LocalStorage;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

/// A place that may hold a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A folder.
    Local(PathBuf),
}

impl Location {
    /// Reads a location: a path, or `local:` and a path.
    ///
    /// # Errors
    /// [`CommandError::Usage`] for another kind of place, and for nothing.
    pub fn parse(text: &OsStr) -> Result<Self, CommandError> {
        let bytes = text.as_bytes();
        let scheme = bytes.iter().position(|b| *b == b':').map(|colon| &bytes[..colon]);
        let is_scheme = |s: &[u8]| !s.is_empty() && s.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'+');
        let path = match scheme {
            Some(b"local") => &bytes[b"local:".len()..],
            Some(scheme) if is_scheme(scheme) => return Err(other_scheme(&String::from_utf8_lossy(scheme))),
            _ => bytes,
        };
        if path.is_empty() {
            return Err(CommandError::usage(
                "the repository location is empty",
                "neither a path nor `local:` and a path was given",
                "write a path, such as `/srv/backup/repo`",
            ));
        }
        Ok(Self::Local(PathBuf::from(OsString::from_vec(path.to_vec()))))
    }

    /// The folder that this host sees it in.
    pub(super) fn folder(&self) -> &std::path::Path {
        let Self::Local(path) = self;
        path
    }

    /// Device and inode number of the folder, if it is one of this host.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        let Self::Local(path) = self;
        std::fs::metadata(path).ok().map(|folder| (folder.dev(), folder.ino()))
    }

    /// The storage there; touches nothing.
    #[must_use]
    pub fn storage(&self) -> Arc<LocalStorage> {
        match self {
            Self::Local(path) => Arc::new(LocalStorage::open(path)),
        }
    }
}

fn other_scheme(scheme: &str) -> CommandError {
    CommandError::usage(
        format!("`{scheme}:` is no place for a repository"),
        "this version keeps repositories in local folders",
        "give the path of a folder (a mounted share will do); `./` in front makes any name a path",
    )
}

#[cfg(test)]
mod tests {
    use super::Location;
    use std::ffi::OsStr;
    use std::path::PathBuf;

    #[test]
    fn paths_are_local_and_other_places_are_refused() {
        for (text, path) in [
            ("/srv/repo", "/srv/repo"),
            ("local:/srv/repo", "/srv/repo"),
            ("local:repo", "repo"),
            ("repo", "repo"),
            ("./s3:x", "./s3:x"),
            ("/srv/a:b", "/srv/a:b"),
        ] {
            let location = Location::parse(OsStr::new(text)).unwrap();
            assert_eq!(location, Location::Local(PathBuf::from(path)), "{text}");
        }
        for text in ["", "local:", "sftp:user@host:/x", "sftp://user@host/x", "s3:https://host/bucket", "x:y"] {
            assert!(Location::parse(OsStr::new(text)).is_err(), "{text}");
        }
    }
}
