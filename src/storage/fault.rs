//! A storage that fails on command: the storage for tests and drills.
//!
//! It wraps any other one. Errors, lost acknowledgements, a full disk, flipped bits and power cuts are scripted; every
//! call is recorded. Clones share the script. Calls that change something run one at a time, so that "the third
//! change" is one moment, and nothing takes effect after a power cut.

mod script;

use super::{Capabilities, Folder, ObjectMeta, ObjectName, PutMode, Storage, StorageError, StorageFault};
use bytes::Bytes;
use script::{Outcome, Script};
use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// The methods of [`Storage`] that reach the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// [`Storage::prepare`]
    Prepare,
    /// [`Storage::put`]
    Put,
    /// [`Storage::get`]
    Get,
    /// [`Storage::get_range`]
    GetRange,
    /// [`Storage::head`]
    Head,
    /// [`Storage::list`]
    List,
    /// [`Storage::delete`]
    Delete,
}

impl Verb {
    /// Whether the call changes what is stored.
    #[must_use]
    pub fn is_change(self) -> bool {
        matches!(self, Self::Prepare | Self::Put | Self::Delete)
    }

    fn action(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Put => "write",
            Self::Get | Self::GetRange => "read",
            Self::Head => "look up",
            Self::List => "list",
            Self::Delete => "delete",
        }
    }
}

/// On which side of a call's effect something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The call has no effect.
    Before,
    /// The call has its effect, and only its answer is lost.
    After,
}

/// A call that was made, whether or not it succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The method.
    pub verb: Verb,
    /// The path of the object, the folder listed, or `folders` for [`Verb::Prepare`].
    pub object: String,
}

/// A storage around `S` that fails as scripted.
#[derive(Clone, Debug)]
pub struct FaultStorage<S> {
    inner: S,
    script: Arc<Mutex<Script>>,
    /// Held during a change.
    changing: Arc<Mutex<()>>,
}

impl<S: Storage> FaultStorage<S> {
    /// A storage that does what `inner` does, until told otherwise.
    #[must_use]
    pub fn new(inner: S) -> Self {
        Self { inner, script: Arc::default(), changing: Arc::default() }
    }

    /// The storage inside, for looking at it past all faults.
    #[must_use]
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Makes the `nth` call of `verb` from now (the next one is the first) fail with `fault`, without effect.
    pub fn fail(&self, verb: Verb, nth: u64, fault: StorageFault) {
        self.script().add_rule(verb, nth, (Moment::Before, fault));
    }

    /// Lets the `nth` call of `verb` from now have its effect and fail with `fault` nevertheless.
    pub fn lose_acknowledgement(&self, verb: Verb, nth: u64, fault: StorageFault) {
        self.script().add_rule(verb, nth, (Moment::After, fault));
    }

    /// Lets `put` store `bytes` more bytes in all; a `put` that needs more fails with [`StorageFault::NoSpace`] and
    /// stores nothing. `None` is no limit. Deleting gives the bytes back.
    pub fn limit_space(&self, bytes: Option<u64>) {
        self.script().space = bytes;
    }

    /// Flips the bits of `mask` in the byte at `offset` whenever that byte of `name` is read; the stored bytes stay.
    pub fn flip(&self, name: &ObjectName, offset: u64, mask: u8) {
        self.script().flips.push((name.clone(), offset, mask));
    }

    /// Forgets all rules, limits and flips that were asked for; recorded calls and a power cut that happened stay.
    pub fn clear_faults(&self) {
        self.script().clear_faults();
    }

    /// Cuts the power at the `nth` changing call from now (the next one is the first): that call and all calls after
    /// it fail, reading ones too, until [`Self::restore_power`].
    pub fn cut_power(&self, nth: u64, moment: Moment) {
        self.script().cut = Some((nth, moment));
    }

    /// Whether the power is cut.
    #[must_use]
    pub fn is_dark(&self) -> bool {
        self.script().dark
    }

    /// Ends a power cut, and forgets one that was planned.
    pub fn restore_power(&self) {
        let mut script = self.script();
        script.dark = false;
        script.cut = None;
    }

    /// All calls since the start or [`Self::clear_calls`], in the order in which they began.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.script().calls.clone()
    }

    /// How many of [`Self::calls`] were changing ones: the number of places at which the power can be cut.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.script().calls.iter().filter(|call| call.verb.is_change()).count() as u64
    }

    /// Forgets the recorded calls.
    pub fn clear_calls(&self) {
        self.script().calls.clear();
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the call `effect` of the storage inside, unless the script says otherwise.
    fn call<T>(
        &self,
        verb: Verb,
        object: &str,
        effect: impl FnOnce() -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let _one_change_at_a_time =
            verb.is_change().then(|| self.changing.lock().unwrap_or_else(PoisonError::into_inner));
        let outcome = self.script().begin(verb, object);
        match outcome {
            Outcome::Done => {}
            Outcome::Fails(Moment::Before, fault) => return Err(self.failure(verb, object, fault, "scripted fault")),
            Outcome::Fails(Moment::After, fault) => {
                effect()?;
                return Err(self.failure(verb, object, fault, "scripted loss of the answer"));
            }
            Outcome::Dark(Moment::Before) => return Err(self.power_cut(verb, object)),
            Outcome::Dark(Moment::After) => {
                // Failed or not, nobody learns of it.
                let _ = effect();
                return Err(self.power_cut(verb, object));
            }
        }
        let result = effect();
        // A reading call that was under way when the power went does not answer either.
        if self.script().dark {
            return Err(self.power_cut(verb, object));
        }
        result
    }

    fn power_cut(&self, verb: Verb, object: &str) -> StorageError {
        self.failure(verb, object, StorageFault::Other, "power cut")
    }

    fn failure(&self, verb: Verb, object: &str, fault: StorageFault, text: &str) -> StorageError {
        let source = io::Error::other(text);
        let mut error = StorageError::new(verb.action(), object, self.inner.location(), source);
        error.fault = fault;
        error
    }
}

impl<S: Storage> Storage for FaultStorage<S> {
    fn location(&self) -> &str {
        self.inner.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn prepare(&self) -> Result<(), StorageError> {
        self.call(Verb::Prepare, "folders", || self.inner.prepare())
    }

    fn put(&self, name: &ObjectName, parts: &[Bytes], mode: PutMode) -> Result<(), StorageError> {
        let path = name.path();
        let length = parts.iter().map(|part| part.len() as u64).sum();
        self.call(Verb::Put, &path, || {
            if !self.script().take_space(length) {
                return Err(self.failure(Verb::Put, &path, StorageFault::NoSpace, "scripted end of space"));
            }
            self.inner.put(name, parts, mode)
        })
    }

    fn get(&self, name: &ObjectName) -> Result<Bytes, StorageError> {
        let bytes = self.call(Verb::Get, &name.path(), || self.inner.get(name))?;
        Ok(self.script().flipped(name, 0, bytes))
    }

    fn get_range(&self, name: &ObjectName, range: Range<u64>) -> Result<Bytes, StorageError> {
        let start = range.start;
        let bytes = self.call(Verb::GetRange, &name.path(), || self.inner.get_range(name, range))?;
        Ok(self.script().flipped(name, start, bytes))
    }

    fn head(&self, name: &ObjectName) -> Result<ObjectMeta, StorageError> {
        self.call(Verb::Head, &name.path(), || self.inner.head(name))
    }

    fn put_time(&self, name: &ObjectName) -> Result<Option<SystemTime>, StorageError> {
        self.call(Verb::Head, &name.path(), || self.inner.put_time(name))
    }

    fn list(&self, folder: Folder, each: &mut dyn FnMut(ObjectMeta) -> ControlFlow<()>) -> Result<(), StorageError> {
        self.call(Verb::List, folder.as_str(), || self.inner.list(folder, each))
    }

    fn delete(&self, name: &ObjectName) -> Result<(), StorageError> {
        self.call(Verb::Delete, &name.path(), || {
            let length = self.inner.head(name).map_or(0, |meta| meta.length);
            self.inner.delete(name)?;
            self.script().give_space(length);
            Ok(())
        })
    }
}
