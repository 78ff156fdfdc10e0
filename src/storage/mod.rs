//! Floor 2: places that keep immutable objects under names (`repo-format.md`, chapter 2).
//!
//! A storage knows nothing of what is inside an object. The contract below is tested for every
//! implementation by `tests/storage.rs`:
//! 1. `put` is all or nothing: no reader ever sees a part of an object.
//! 2. When `put` returns `Ok`, a power cut does not undo it.
//! 3. `list`, `head` and `get` see every `put` that returned before.
//! 4. Every method may be called from many threads.
//! 5. Names that are not object names are ignored in listings.

mod error;
mod fault;
mod local;
mod memory;
mod name;
mod range;

pub use error::{StorageError, StorageFault};
pub use fault::{Call, FaultStorage, Moment, Verb};
pub use local::LocalStorage;
pub use memory::MemoryStorage;
pub use name::{Folder, ObjectName};

use bytes::Bytes;
use std::fmt::Debug;
use std::ops::{ControlFlow, Range};
use std::time::SystemTime;

/// What a storage found about an object without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMeta {
    /// The object's name.
    pub name: ObjectName,
    /// Its length in bytes.
    pub length: u64,
}

/// What `put` does when the name exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutMode {
    /// An existing object stays as it is, and that counts as success (names are hashes of contents).
    Keep,
    /// An existing object is an error ([`StorageFault::Exists`]).
    Exclusive,
}

/// What a storage can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// How many calls at once are useful.
    pub parallelism: usize,
    /// Whether [`PutMode::Exclusive`] holds against other processes too.
    pub exclusive_create: bool,
    /// Whether `put` survives a power cut.
    pub durable_put: bool,
    /// The largest object in bytes.
    pub largest_object: u64,
}

/// A place that keeps objects.
pub trait Storage: Debug + Send + Sync {
    /// Where this is, for messages; holds no secrets.
    fn location(&self) -> &str;

    /// What this storage can do.
    fn capabilities(&self) -> Capabilities;

    /// Makes the folders that a new repository needs; harmless when they are there.
    ///
    /// # Errors
    /// As the store reports.
    fn prepare(&self) -> Result<(), StorageError>;

    /// Stores the concatenation of `parts` under `name`, atomically and durably.
    ///
    /// # Errors
    /// [`StorageFault::Exists`] with [`PutMode::Exclusive`]; [`StorageFault::NoSpace`]; others as the store reports.
    fn put(&self, name: &ObjectName, parts: &[Bytes], mode: PutMode) -> Result<(), StorageError>;

    /// The whole object.
    ///
    /// # Errors
    /// [`StorageFault::NotFound`] when there is none.
    fn get(&self, name: &ObjectName) -> Result<Bytes, StorageError>;

    /// Exactly the bytes of `range`.
    ///
    /// # Errors
    /// [`StorageFault::ShortRead`] when the object ends before the range does.
    fn get_range(&self, name: &ObjectName, range: Range<u64>) -> Result<Bytes, StorageError>;

    /// Length of an object.
    ///
    /// # Errors
    /// [`StorageFault::NotFound`] when there is none.
    fn head(&self, name: &ObjectName) -> Result<ObjectMeta, StorageError>;

    /// When an object was put, by the store's own clock; `None` where the store does not say.
    ///
    /// # Errors
    /// [`StorageFault::NotFound`] when there is none.
    fn put_time(&self, name: &ObjectName) -> Result<Option<SystemTime>, StorageError>;

    /// Calls `each` for every object of `folder`, in no particular order, until it breaks.
    ///
    /// # Errors
    /// When the listing could not be completed; what was passed to `each` until then is true but not all.
    fn list(&self, folder: Folder, each: &mut dyn FnMut(ObjectMeta) -> ControlFlow<()>) -> Result<(), StorageError>;

    /// Removes an object; the absence of it is success.
    ///
    /// # Errors
    /// When the object is still there.
    fn delete(&self, name: &ObjectName) -> Result<(), StorageError>;
}
