//! The key slots of a repository: listed, added, removed, and put in the place of others (`repo-format.md`, chapter 5).
//!
//! A new slot is put, read again from the storage and opened before anything goes, so a cut at any moment leaves the old
//! or the new password working. The last slot stays. What only a slot's own secret can tell is told of no other slot.

use super::slots::{self, Slot, SlotSecret};
use super::{Environment, RepoError, Repository, object};
use crate::crypto::{RecoveryKey, Secret};
use crate::format::{Kdf, Keyring, Suite, Time};
use crate::storage::{Folder, ObjectName, PutMode, Storage};
use bytes::Bytes;
use std::sync::Arc;
use zeroize::Zeroizing;

/// What is known of a key slot without its secret.
#[derive(Debug)]
pub enum SlotState {
    /// It belongs to the repository and is whole as far as one can see.
    Usable {
        /// How its key comes from its secret.
        kdf: Kdf,
        /// Its cipher.
        suite: Suite,
    },
    /// Its header names another repository.
    Foreign,
    /// It cannot be read.
    Unreadable(RepoError),
}

/// A key slot in the storage.
#[derive(Debug)]
pub struct SlotInfo {
    /// Its name.
    pub name: ObjectName,
    /// What it is.
    pub state: SlotState,
    /// Whether it is the one that was opened.
    pub is_own: bool,
}

impl SlotInfo {
    /// Whether a secret may open it.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        matches!(self.state, SlotState::Usable { .. })
    }
}

/// A slot that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedSlot {
    /// Its name.
    pub name: ObjectName,
    /// Whether it was the one that was opened.
    pub was_own: bool,
    /// Usable slots that are left.
    pub left: usize,
}

/// A password that was changed.
#[derive(Debug)]
pub struct ReplacedSlots {
    /// The slot of the new password.
    pub slot: ObjectName,
    /// The slots of the old password, which are gone.
    pub removed: Vec<ObjectName>,
    /// Those that could not be deleted, and why: the old password still opens them.
    pub kept: Vec<(ObjectName, RepoError)>,
    /// Why slots could not be tried: the old password might open them.
    pub untried: Vec<RepoError>,
}

/// The key slots of a repository that one of them has opened.
#[derive(Debug)]
pub struct KeySlots {
    repository: Repository,
    keyring: Keyring,
    own: Slot,
    secret: Secret,
}

type ReadSlot = (ObjectName, Result<Option<Slot>, RepoError>);

#[derive(Debug)]
struct OpenedSlot {
    name: ObjectName,
    kdf: Kdf,
    /// Whether the same secrets lie in it as in the slot that opened the repository.
    is_same: bool,
}

/// What came of one secret and all slots.
#[derive(Debug, Default)]
struct Tried {
    opened: Vec<OpenedSlot>,
    untried: Vec<RepoError>,
}

impl KeySlots {
    /// Opens the repository in `storage` with a password or key; reads, never writes.
    ///
    /// # Errors
    /// As [`Repository::open`].
    pub fn open(storage: Arc<dyn Storage>, env: Environment, secret: &Secret) -> Result<Self, RepoError> {
        let (repository, own, keyring) = Repository::unlock(storage, env, secret)?;
        Ok(Self { repository, keyring, own, secret: secret.clone() })
    }

    /// The repository.
    #[must_use]
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The slot that was opened.
    #[must_use]
    pub fn own(&self) -> &ObjectName {
        &self.own.name
    }

    /// How the key of the opened slot comes from its secret.
    #[must_use]
    pub fn own_kdf(&self) -> Kdf {
        self.own.kdf
    }

    /// What the opened slot is called.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.keyring.label
    }

    /// When the opened slot was made.
    #[must_use]
    pub fn created(&self) -> Time {
        self.keyring.created
    }

    /// All slots, by name.
    ///
    /// # Errors
    /// When the listing fails. A slot that cannot be read is no error.
    pub fn list(&self) -> Result<Vec<SlotInfo>, RepoError> {
        let info = |(name, slot): ReadSlot| SlotInfo {
            is_own: name == self.own.name,
            name,
            state: match slot {
                Ok(Some(slot)) => SlotState::Usable { kdf: slot.kdf, suite: slot.header.suite },
                Ok(None) => SlotState::Foreign,
                Err(error) => SlotState::Unreadable(error),
            },
        };
        Ok(self.read_all()?.into_iter().map(info).collect())
    }

    /// A random key for a new slot.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn new_key(&self) -> Result<RecoveryKey, RepoError> {
        Ok(RecoveryKey::new(Zeroizing::new(self.repository.salts().random()?)))
    }

    /// Adds a slot; when this returns, it was read from the storage and opened.
    ///
    /// # Errors
    /// [`RepoError::SlotExists`] when the password opens a slot already; the storage.
    pub fn add(&self, slot: &SlotSecret) -> Result<ObjectName, RepoError> {
        // A random key is nobody's yet.
        if slot.kdf != Kdf::Key
            && let Some(opened) = self.try_all(&slot.secret)?.opened.first()
        {
            return Err(RepoError::SlotExists(opened.name.base().to_owned()));
        }
        self.put(slot)
    }

    /// Removes the one slot whose name begins with `prefix`, never the last usable one.
    ///
    /// # Errors
    /// [`RepoError::NoSlot`], [`RepoError::AmbiguousSlot`], [`RepoError::LastSlot`]; a slot of a newer format; the storage.
    pub fn remove(&self, prefix: &str) -> Result<RemovedSlot, RepoError> {
        let storage = &**self.repository.storage();
        let (slot, others) = find(self.list()?, prefix)?;
        let mut bytes = None;
        match slot.state {
            SlotState::Usable { .. } if !others.iter().any(SlotInfo::is_usable) => return Err(RepoError::LastSlot),
            SlotState::Usable { .. } => bytes = Some(object::load_record(storage, &slot.name)?),
            SlotState::Unreadable(error) if !error.is_damage() => return Err(error),
            SlotState::Unreadable(_) | SlotState::Foreign => {}
        }
        storage.delete(&slot.name)?;
        let left = self.list()?.iter().filter(|other| other.is_usable()).count();
        if let Some(bytes) = bytes
            && left == 0
        {
            // Somebody removed the others meanwhile.
            storage.put(&slot.name, &[bytes], PutMode::Keep)?;
            return Err(RepoError::LastSlot);
        }
        Ok(RemovedSlot { name: slot.name, was_own: slot.is_own, left })
    }

    /// Changes the password that opened the repository: puts a slot for the new one, then removes every slot that the old
    /// one opens. Run again after a cut it goes on where it was: a slot that the new password opens is not made twice.
    ///
    /// # Errors
    /// [`RepoError::NoPassword`] when a key opened the repository; the storage. The old password then still works.
    pub fn replace(&self, new: &SlotSecret) -> Result<ReplacedSlots, RepoError> {
        if self.own.kdf == Kdf::Key {
            return Err(RepoError::NoPassword);
        }
        let tried = self.try_all(&self.secret)?;
        let passwords = tried.opened.into_iter().filter(|slot| slot.kdf != Kdf::Key).map(|slot| slot.name);
        let mut old: Vec<ObjectName> = passwords.filter(|name| *name != self.own.name).collect();
        old.push(self.own.name.clone());
        let mut ready = self.try_all(&new.secret)?.opened.into_iter();
        let slot = match ready.find(|slot| slot.is_same && slot.kdf == new.kdf && !old.contains(&slot.name)) {
            Some(ready) => ready.name,
            None => self.put(new)?,
        };
        let mut replaced = ReplacedSlots { slot, removed: Vec::new(), kept: Vec::new(), untried: tried.untried };
        for name in old {
            match self.repository.storage().delete(&name) {
                Ok(()) => replaced.removed.push(name),
                Err(error) => replaced.kept.push((name, error.into())),
            }
        }
        Ok(replaced)
    }

    fn read_all(&self) -> Result<Vec<ReadSlot>, RepoError> {
        let storage = &**self.repository.storage();
        let repositories = [self.keyring.repository];
        let loaded = object::load_all(storage, || object::list(storage, Folder::Keys))?;
        let read = |(name, bytes): object::Loaded| {
            let slot = bytes.and_then(|bytes| slots::read(&name, &bytes, &repositories));
            (name, slot)
        };
        Ok(loaded.into_iter().map(read).collect())
    }

    /// Which slots `secret` opens.
    fn try_all(&self, secret: &Secret) -> Result<Tried, RepoError> {
        let mut tried = Tried::default();
        for (name, slot) in self.read_all()? {
            let opened = slot.and_then(|slot| match slot {
                Some(slot) => Ok(slots::open(&slot, secret)?.map(|keyring| (keyring, slot.kdf))),
                None => Ok(None),
            });
            match opened {
                Ok(Some((keyring, kdf))) => {
                    let is_same = keyring.secret == self.keyring.secret && keyring.masters == self.keyring.masters;
                    tried.opened.push(OpenedSlot { name, kdf, is_same });
                }
                Ok(None) => {}
                Err(error) => tried.untried.push(error),
            }
        }
        Ok(tried)
    }

    /// Puts a slot and opens it as it stands in the storage; one that does not open is taken away again.
    fn put(&self, slot: &SlotSecret) -> Result<ObjectName, RepoError> {
        let repository = &self.repository;
        let mut keyring = self.keyring.clone();
        keyring.label.clone_from(&slot.label);
        keyring.created = repository.env().now();
        let bytes = slots::seal(&keyring, slot, repository.suite(), repository.salts().next(&[])?)?;
        let name = ObjectName::hashed(Folder::Keys, blake3::hash(&bytes).as_bytes());
        let storage = &**repository.storage();
        storage.put(&name, &[Bytes::from(bytes)], PutMode::Keep)?;
        match verify(storage, &name, &slot.secret, &keyring) {
            Ok(()) => Ok(name),
            Err(error) => {
                // Whoever asked is told that there is no new slot; one that stays nevertheless opens with the new secret only.
                let _ = storage.delete(&name);
                Err(error)
            }
        }
    }
}

fn verify(storage: &dyn Storage, name: &ObjectName, secret: &Secret, keyring: &Keyring) -> Result<(), RepoError> {
    let bytes = object::load_record(storage, name)?;
    let slot = slots::read(name, &bytes, &[keyring.repository])?;
    let opened = slot.map(|slot| slots::open(&slot, secret)).transpose()?.flatten();
    match opened {
        Some(opened) if opened == *keyring => Ok(()),
        _ => Err(RepoError::damaged(name, "it does not open to what was put into it")),
    }
}

/// The slot whose name begins with `prefix`, and all others.
fn find(slots: Vec<SlotInfo>, prefix: &str) -> Result<(SlotInfo, Vec<SlotInfo>), RepoError> {
    let fits = |slot: &SlotInfo| !prefix.is_empty() && slot.name.base().starts_with(prefix);
    let (mut found, others): (Vec<_>, Vec<_>) = slots.into_iter().partition(fits);
    match (found.pop(), found.is_empty()) {
        (Some(slot), true) => Ok((slot, others)),
        (Some(_), false) => Err(RepoError::AmbiguousSlot(prefix.to_owned())),
        (None, _) => Err(RepoError::NoSlot(prefix.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::{SlotInfo, SlotState, find};
    use crate::repo::RepoError;
    use crate::storage::{Folder, ObjectName};

    #[test]
    fn a_slot_is_named_by_a_beginning_that_no_other_has() {
        let slots = || {
            [0x1a_u8, 0x1b, 0x2a].map(|first| SlotInfo {
                name: ObjectName::hashed(Folder::Keys, &[first; 32]),
                state: SlotState::Foreign,
                is_own: false,
            })
        };
        let (slot, others) = find(slots().into(), "1b").unwrap();
        assert!(slot.name.base().starts_with("1b1b") && others.len() == 2);
        assert!(matches!(find(slots().into(), "1"), Err(RepoError::AmbiguousSlot(_))));
        for wrong in ["", "1c", "keys/1a", "1A"] {
            assert!(matches!(find(slots().into(), wrong), Err(RepoError::NoSlot(_))), "{wrong}");
        }
    }
}
