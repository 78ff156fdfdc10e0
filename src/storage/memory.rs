//! Objects in memory, for tests and drills; nothing survives the process.

use super::range;
use super::{Capabilities, Folder, ObjectMeta, ObjectName, PutMode, Storage, StorageError};
use bytes::Bytes;
use std::collections::HashMap;
use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

const LOCATION: &str = "memory";

/// A storage in memory; clones share the objects.
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage {
    objects: Arc<Mutex<HashMap<ObjectName, Bytes>>>,
}

impl MemoryStorage {
    /// A storage without objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A storage of its own that holds what this one holds now: what a disk image would be.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        let objects = self.objects().clone();
        Self { objects: Arc::new(Mutex::new(objects)) }
    }

    fn objects(&self) -> MutexGuard<'_, HashMap<ObjectName, Bytes>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, action: &'static str, name: &ObjectName) -> Result<Bytes, StorageError> {
        let found = self.objects().get(name).cloned();
        found.ok_or_else(|| error(action, name, io::ErrorKind::NotFound.into()))
    }
}

fn error(action: &'static str, name: &ObjectName, source: io::Error) -> StorageError {
    StorageError::new(action, name, LOCATION, source)
}

impl Storage for MemoryStorage {
    fn location(&self) -> &str {
        LOCATION
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { parallelism: 4, exclusive_create: true, durable_put: false, largest_object: u64::MAX }
    }

    fn prepare(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn put(&self, name: &ObjectName, parts: &[Bytes], mode: PutMode) -> Result<(), StorageError> {
        let bytes = Bytes::from(parts.concat());
        let mut objects = self.objects();
        let there = objects.get(name).map(Bytes::len);
        match mode {
            PutMode::Exclusive if there.is_some() => Err(error("write", name, io::ErrorKind::AlreadyExists.into())),
            PutMode::Keep if there == Some(bytes.len()) => Ok(()),
            PutMode::Keep | PutMode::Exclusive => {
                objects.insert(name.clone(), bytes);
                Ok(())
            }
        }
    }

    fn get(&self, name: &ObjectName) -> Result<Bytes, StorageError> {
        self.find("read", name)
    }

    fn get_range(&self, name: &ObjectName, range: Range<u64>) -> Result<Bytes, StorageError> {
        let bytes = self.find("read", name)?;
        let part = range::span(&range, bytes.len() as u64).and_then(|span| {
            let start = usize::try_from(range.start).map_err(io::Error::other)?;
            Ok(bytes.slice(start..start + span))
        });
        part.map_err(|e| error("read", name, e))
    }

    fn head(&self, name: &ObjectName) -> Result<ObjectMeta, StorageError> {
        let length = self.find("look up", name)?.len() as u64;
        Ok(ObjectMeta { name: name.clone(), length })
    }

    fn put_time(&self, name: &ObjectName) -> Result<Option<SystemTime>, StorageError> {
        self.find("look up", name).map(|_| None)
    }

    fn list(&self, folder: Folder, each: &mut dyn FnMut(ObjectMeta) -> ControlFlow<()>) -> Result<(), StorageError> {
        // Copied first, so that `each` may call this storage.
        let found: Vec<ObjectMeta> = self
            .objects()
            .iter()
            .filter(|(name, _)| name.folder() == folder)
            .map(|(name, bytes)| ObjectMeta { name: name.clone(), length: bytes.len() as u64 })
            .collect();
        for meta in found {
            if each(meta).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn delete(&self, name: &ObjectName) -> Result<(), StorageError> {
        self.objects().remove(name);
        Ok(())
    }
}
