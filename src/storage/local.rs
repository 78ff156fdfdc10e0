//! Objects as files in a folder: a local disk, or an NFS or SMB mount.
//!
//! No locks of the file system, and nothing is written by a verb that reads, so that a read-only medium serves.
//! Objects are regular files only; links and pipes under an object's name are refused. Writing is in `local/write.rs`.

mod calls;
mod temporary;
#[cfg(test)]
mod tests;
mod write;

use super::range;
use super::{Capabilities, Folder, ObjectMeta, ObjectName, PutMode, Storage, StorageError, StorageFault};
use bytes::Bytes;
use calls::{Calls, SystemCalls, reopening};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, OnceLock};
use std::time::SystemTime;
use temporary::Writer;

/// The folder of partial writes (`repo-format.md`, chapter 2).
const TEMPORARY: &str = "tmp";

/// A folder of the file system that holds a repository.
#[derive(Debug)]
pub struct LocalStorage {
    root: PathBuf,
    location: String,
    calls: Box<dyn Calls>,
    writer: OnceLock<Writer>,
    /// Whether what was left in `tmp/` by writers that have ended was cleared: once, with the first put. Those are
    /// writers that ran on this computer since its boot, in the same namespaces, and are gone for certain; and files
    /// of any writer that have not grown for a week.
    swept: Once,
    /// Folders whose own names are known to be durable.
    durable: Mutex<HashSet<PathBuf>>,
    /// Whether an exclusive `put` holds against other processes; false once the file system was seen to lack it.
    exclusive: AtomicBool,
}

impl LocalStorage {
    /// The storage in the folder `path`, which need not exist: reading then reports that nothing is found, and
    /// [`Storage::prepare`] makes it. Touches nothing.
    #[must_use]
    pub fn open(path: impl Into<PathBuf>) -> Self {
        Self::with_calls(path.into(), Box::new(SystemCalls))
    }

    fn with_calls(path: PathBuf, calls: Box<dyn Calls>) -> Self {
        let root = std::path::absolute(&path).unwrap_or(path);
        Self {
            location: root.display().to_string(),
            root,
            calls,
            writer: OnceLock::new(),
            swept: Once::new(),
            durable: Mutex::default(),
            exclusive: AtomicBool::new(true),
        }
    }

    fn path(&self, name: &ObjectName) -> PathBuf {
        self.root.join(name.path())
    }

    fn error(&self, action: &'static str, name: &ObjectName, source: io::Error) -> StorageError {
        StorageError::new(action, name, &self.location, source)
    }

    /// The object's file and its length.
    fn file(&self, name: &ObjectName) -> io::Result<(File, u64)> {
        let file = self.calls.open(&self.path(name))?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("this is not a regular file"));
        }
        Ok((file, metadata.len()))
    }

    fn read(&self, name: &ObjectName) -> io::Result<Bytes> {
        let (mut file, length) = self.file(name)?;
        let mut bytes = room(usize::try_from(length).map_err(io::Error::other)?)?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }

    fn read_range(&self, name: &ObjectName, range: &Range<u64>) -> io::Result<Bytes> {
        let (file, length) = self.file(name)?;
        let span = range::span(range, length)?;
        let mut bytes = room(span)?;
        bytes.resize(span, 0);
        file.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes.into())
    }

    /// The folders in which the objects of `folder` lie, each with the digits that their names start with.
    fn places(&self, folder: Folder) -> Vec<(PathBuf, String)> {
        let top = self.root.join(folder.as_str());
        match folder {
            Folder::Packs => pack_folders().map(|digits| (top.join(&digits), digits)).collect(),
            _ => vec![(top, String::new())],
        }
    }
}

/// The names of the folders that packs are spread over.
fn pack_folders() -> impl Iterator<Item = String> {
    (0..=u8::MAX).map(|first| format!("{first:02x}"))
}

/// The length of the regular file at `path`; `None` when nothing is there.
fn length_of(path: &Path) -> io::Result<Option<u64>> {
    match reopening(|| fs::symlink_metadata(path)) {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata.len())),
        Ok(_) => Err(io::Error::other("this is not a regular file")),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// The objects in the folder at `path`, whose last parts start with `digits`; none when it is missing.
fn objects_in(folder: Folder, path: &Path, digits: &str) -> io::Result<Vec<ObjectMeta>> {
    let entries = match fs::read_dir(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let base = name.to_str().filter(|base| base.starts_with(digits));
        let Some(name) = base.and_then(|base| ObjectName::parse(folder, base)) else {
            continue;
        };
        match entry.metadata() {
            Ok(metadata) if metadata.is_file() => found.push(ObjectMeta { name, length: metadata.len() }),
            Ok(_) => {}
            // Deleted since the folder was read.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    Ok(found)
}

/// An empty buffer with room for `length` bytes; a length that is a lie (a sparse file) is an error, not an abort.
fn room(length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(io::Error::other)?;
    Ok(bytes)
}

impl Storage for LocalStorage {
    fn location(&self) -> &str {
        &self.location
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            // More streams than this make spinning disks seek.
            parallelism: 4,
            exclusive_create: self.exclusive.load(Ordering::Relaxed),
            durable_put: true,
            largest_object: u64::MAX,
        }
    }

    fn prepare(&self) -> Result<(), StorageError> {
        self.make_folders().map_err(|e| StorageError::new("prepare", "folders", &self.location, e))
    }

    fn put(&self, name: &ObjectName, parts: &[Bytes], mode: PutMode) -> Result<(), StorageError> {
        self.write(name, parts, mode).map_err(|e| {
            let mut error = self.error("write", name, e);
            // A folder is missing, not the object.
            if error.fault == StorageFault::NotFound {
                error.fault = StorageFault::Other;
            }
            error
        })
    }

    fn get(&self, name: &ObjectName) -> Result<Bytes, StorageError> {
        reopening(|| self.read(name)).map_err(|e| self.error("read", name, e))
    }

    fn get_range(&self, name: &ObjectName, range: Range<u64>) -> Result<Bytes, StorageError> {
        reopening(|| self.read_range(name, &range)).map_err(|e| self.error("read", name, e))
    }

    fn head(&self, name: &ObjectName) -> Result<ObjectMeta, StorageError> {
        let found = length_of(&self.path(name)).and_then(|length| length.ok_or(io::ErrorKind::NotFound.into()));
        match found {
            Ok(length) => Ok(ObjectMeta { name: name.clone(), length }),
            Err(e) => Err(self.error("look up", name, e)),
        }
    }

    fn put_time(&self, name: &ObjectName) -> Result<Option<SystemTime>, StorageError> {
        let path = self.path(name);
        let found = reopening(|| fs::symlink_metadata(&path)).and_then(|metadata| metadata.modified());
        found.map(Some).map_err(|e| self.error("look up", name, e))
    }

    fn list(&self, folder: Folder, each: &mut dyn FnMut(ObjectMeta) -> ControlFlow<()>) -> Result<(), StorageError> {
        let error = |e| StorageError::new("list", folder.as_str(), &self.location, e);
        // Without the top there is no repository to be empty: "not found", lest that pass for "not needed".
        reopening(|| fs::metadata(&self.root)).map_err(error)?;
        // Nor has it lost a folder that every repository has something in without being damaged.
        if matches!(folder, Folder::Config | Folder::Keys | Folder::Packs | Folder::Index | Folder::Snapshots) {
            reopening(|| fs::metadata(self.root.join(folder.as_str()))).map_err(error)?;
        }
        for (path, digits) in self.places(folder) {
            for meta in reopening(|| objects_in(folder, &path, &digits)).map_err(error)? {
                if each(meta).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn delete(&self, name: &ObjectName) -> Result<(), StorageError> {
        self.remove(&self.path(name)).map_err(|e| self.error("delete", name, e))
    }
}
