//! What went wrong with one entry.

use std::io;

use super::{DirId, Target};

/// One thing that could not be done; the rest goes on.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{}`: {source}", display(path))]
pub struct TargetError {
    /// Path of the entry: the target directory as it was named, and the names below it.
    pub path: Vec<u8>,
    /// What was tried, to be read after "cannot".
    pub action: &'static str,
    /// Why it failed.
    pub source: io::Error,
}

/// A path for people; control characters cannot reach a terminal this way.
pub(super) fn display(path: &[u8]) -> String {
    String::from_utf8_lossy(path).chars().flat_map(|c| if c.is_control() { escaped(c) } else { vec![c] }).collect()
}

fn escaped(c: char) -> Vec<char> {
    c.escape_default().collect()
}

/// Refuses names that could lead anywhere else than to an entry of a directory.
pub(super) fn check_name(name: &[u8]) -> io::Result<()> {
    let refused = |_| io::Error::new(io::ErrorKind::InvalidInput, "not a valid name for an entry");
    crate::format::check_name(name).map_err(refused)
}

/// Says of an error which entry it is about.
pub(super) trait At<T> {
    /// The entry `name` in `dir`, and what was tried with it.
    fn at(self, target: &Target, dir: DirId, name: &[u8], action: &'static str) -> Result<T, TargetError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, target: &Target, dir: DirId, name: &[u8], action: &'static str) -> Result<T, TargetError> {
        self.map_err(|source| TargetError { path: target.path(dir, name), action, source })
    }
}
