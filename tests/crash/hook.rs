//! A storage in which the world goes on while a call is under way: before or after the nth call something else happens.

use bytes::Bytes;
use nightjar::storage::{Capabilities, Folder, MemoryStorage, ObjectMeta, ObjectName, PutMode, Storage, StorageError};
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// The storage; what happens meanwhile is `hook`.
pub(crate) struct HookStorage {
    inner: MemoryStorage,
    calls: AtomicU64,
    nth: u64,
    after: bool,
    hook: Box<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for HookStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookStorage")
    }
}

impl HookStorage {
    /// Lets `hook` happen at the `nth` call, before its effect or after it.
    pub(crate) fn new(inner: MemoryStorage, nth: u64, after: bool, hook: impl Fn() + Send + Sync + 'static) -> Self {
        Self { inner, calls: AtomicU64::new(0), nth, after, hook: Box::new(hook) }
    }

    /// Calls so far.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    fn call<T>(&self, effect: impl FnOnce() -> T) -> T {
        let due = self.calls.fetch_add(1, Ordering::SeqCst) + 1 == self.nth;
        if due && !self.after {
            (self.hook)();
        }
        let result = effect();
        if due && self.after {
            (self.hook)();
        }
        result
    }
}

impl Storage for HookStorage {
    fn location(&self) -> &str {
        self.inner.location()
    }
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    fn prepare(&self) -> Result<(), StorageError> {
        self.call(|| self.inner.prepare())
    }
    fn put(&self, name: &ObjectName, parts: &[Bytes], mode: PutMode) -> Result<(), StorageError> {
        self.call(|| self.inner.put(name, parts, mode))
    }
    fn get(&self, name: &ObjectName) -> Result<Bytes, StorageError> {
        self.call(|| self.inner.get(name))
    }
    fn get_range(&self, name: &ObjectName, range: Range<u64>) -> Result<Bytes, StorageError> {
        self.call(|| self.inner.get_range(name, range))
    }
    fn head(&self, name: &ObjectName) -> Result<ObjectMeta, StorageError> {
        self.call(|| self.inner.head(name))
    }
    fn put_time(&self, name: &ObjectName) -> Result<Option<SystemTime>, StorageError> {
        self.call(|| self.inner.put_time(name))
    }
    fn list(&self, folder: Folder, each: &mut dyn FnMut(ObjectMeta) -> ControlFlow<()>) -> Result<(), StorageError> {
        self.call(|| self.inner.list(folder, each))
    }
    fn delete(&self, name: &ObjectName) -> Result<(), StorageError> {
        self.call(|| self.inner.delete(name))
    }
}
