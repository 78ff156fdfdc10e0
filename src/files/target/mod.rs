//! A directory that entries are restored into, and that nothing is ever written outside of.

mod content;
mod error;
mod metadata;
mod place;
mod special;
mod table;

#[cfg(test)]
mod tests;

pub use content::write_sparse_at;
pub use error::TargetError;
pub use place::{FileHandle, Part};
pub use table::DirId;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, unlinkat};

use crate::base::entropy::Entropy;
use crate::base::hex;
use crate::format::Node;
use table::Table;

/// The directory entries are restored into. All methods may be called from many threads.
///
/// Everything is made under a temporary name and renamed over the final one: what stood there is replaced, never
/// followed, except that a directory is only ever replaced by itself. A method that gives a list of errors has put the
/// entry in its place; they tell what of its metadata could not be set.
#[derive(Debug)]
pub struct Target {
    is_root: bool,
    table: Mutex<Table>,
    /// Temporary files not finished yet, removed with the target.
    unfinished: Mutex<BTreeMap<Vec<u8>, DirId>>,
    /// Metadata of directories, set at the end.
    waiting: Mutex<BTreeMap<DirId, Node>>,
    counter: AtomicU64,
    random: String,
}

impl Target {
    /// Creates `dir` (and the directories above it) if missing and holds on to it; a link at its end is followed.
    ///
    /// # Errors
    /// When it cannot be created or opened, or there is no randomness for temporary names.
    pub fn create(dir: &Path, entropy: &dyn Entropy) -> Result<Self, TargetError> {
        let table = Table::create(dir)?;
        let mut random = [0; 8];
        entropy.fill(&mut random).map_err(|source| TargetError {
            path: table.path(DirId::TOP, b""),
            action: "choose a temporary name",
            source,
        })?;
        Ok(Self {
            is_root: rustix::process::geteuid().is_root(),
            table: Mutex::new(table),
            unfinished: Mutex::default(),
            waiting: Mutex::default(),
            counter: AtomicU64::new(0),
            random: hex::encode(&random),
        })
    }

    /// Registers the directory `name` in `parent`, creating it (mode 0700) if missing; an existing one is used.
    ///
    /// # Errors
    /// When the name is not valid, something else than a directory stands there (a link too), or it cannot be made.
    pub fn add_directory(&self, parent: DirId, name: &[u8]) -> Result<DirId, TargetError> {
        self.table().add(parent, name)
    }

    /// Keeps `node` as the metadata of a directory until [`Target::finish_directories`].
    pub fn describe_directory(&self, dir: DirId, node: Node) {
        locked(&self.waiting).insert(dir, node);
    }

    /// Sets the metadata of all described directories, the deepest first. Call it when all else is in place.
    pub fn finish_directories(&self) -> Vec<TargetError> {
        let mut errors = Vec::new();
        // Ids grow downwards: a directory is registered after the one it stands in.
        while let Some((dir, node)) = { locked(&self.waiting).pop_last() } {
            match self.handle(dir) {
                Ok(handle) => self.describe_open(&handle, &node, |action, source| {
                    errors.push(TargetError { path: self.path(dir, b""), action, source });
                }),
                Err(error) => errors.push(error),
            }
        }
        errors
    }

    /// Makes all that was restored durable.
    ///
    /// # Errors
    /// When something could not be written after all.
    pub fn sync(&self) -> std::io::Result<()> {
        let top = self.table().handle(DirId::TOP).map_err(|error| error.source)?;
        Ok(rustix::fs::syncfs(&*top)?)
    }

    /// The path of `name` in `dir` (of `dir` itself when empty), for messages.
    #[must_use]
    pub fn path(&self, dir: DirId, name: &[u8]) -> Vec<u8> {
        self.table().path(dir, name)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        locked(&self.table)
    }

    fn handle(&self, dir: DirId) -> Result<Arc<OwnedFd>, TargetError> {
        self.table().handle(dir)
    }

    fn temporary_name(&self) -> Vec<u8> {
        let count = self.counter.fetch_add(1, Ordering::Relaxed);
        format!(".nightjar-{count}-{}.part", self.random).into_bytes()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        for (name, dir) in std::mem::take(&mut *locked(&self.unfinished)) {
            if let Ok(handle) = self.handle(dir) {
                // Nobody is left to be told.
                let _ = unlinkat(&*handle, &name, AtFlags::empty());
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
