//! Key slots: the keyring wrapped by a password or a key (`repo-format.md`, chapter 5).

use super::{RepoError, object};
use crate::crypto::{KdfError, Secret, derive, slot_key};
use crate::format::limits::HEADER_LEN;
use crate::format::{Class, Header, KDF_LEN, Kdf, Keyring, Part, Suite};
use crate::storage::{Folder, ObjectName, Storage};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// What a new slot is to be opened with.
#[derive(Clone, Debug)]
pub struct SlotSecret {
    /// Password or key.
    pub secret: Secret,
    /// How the slot's key comes from it.
    pub kdf: Kdf,
    /// Name of the slot, such as `password`.
    pub label: String,
}

/// The bytes of a new slot.
pub(super) fn seal(keyring: &Keyring, slot: &SlotSecret, suite: Suite, salt: [u8; 32]) -> Result<Vec<u8>, RepoError> {
    let repository = keyring.repository;
    let mut header =
        Header { class: Class::KeySlot, kind: None, suite, epoch: 0, repository, salt, commitment: [0; 32] };
    let kdf = slot.kdf.to_bytes();
    let wrap = derive(&slot.secret, slot.kdf, &salt).map_err(|error| RepoError::Option(error.to_string()))?;
    let (key, commitment) = slot_key(&wrap, &header, kdf);
    header.commitment = commitment;
    // Sealed where it stands, so that no open copy is left.
    let mut record = keyring.to_bytes();
    key.seal(Part::KeySlot, 0, &mut record);
    Ok([&header.to_bytes()[..], &kdf, &record].concat())
}

/// The first slot of one of these repositories that `secret` opens, and its keyring.
pub(super) fn find(
    storage: &dyn Storage,
    repositories: &[[u8; 16]],
    secret: &Secret,
) -> Result<(Slot, Keyring), RepoError> {
    let mut trouble = None;
    let mut slots = Vec::new();
    for (name, bytes) in object::load_all(storage, || object::list(storage, Folder::Keys))? {
        match bytes.and_then(|bytes| read(&name, &bytes, repositories)) {
            Ok(slot) => slots.extend(slot),
            Err(error) => trouble = Some(error),
        }
    }
    let is_key = secret.recovery_key().is_some();
    // What costs nothing to try comes first.
    slots.sort_by_key(|slot: &Slot| (slot.kdf == Kdf::Key) != is_key);
    for slot in slots {
        match open(&slot, secret) {
            Ok(Some(keyring)) => return Ok((slot, keyring)),
            Ok(None) => {}
            Err(error) => trouble = Some(error),
        }
    }
    Err(trouble.unwrap_or(RepoError::WrongSecret))
}

/// A key slot that is not open.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) name: ObjectName,
    pub(super) header: Header,
    pub(super) kdf: Kdf,
    record: Vec<u8>,
}

/// The slot in these bytes, or `None` when it is of another repository.
pub(super) fn read(name: &ObjectName, bytes: &[u8], repositories: &[[u8; 16]]) -> Result<Option<Slot>, RepoError> {
    let header = object::header(name, bytes, Class::KeySlot)?;
    if !repositories.contains(&header.repository) {
        return Ok(None);
    }
    let Some((kdf, record)) = bytes[HEADER_LEN..].split_first_chunk::<KDF_LEN>() else {
        return Err(RepoError::damaged(name, "it is cut short"));
    };
    let kdf = Kdf::from_bytes(kdf).map_err(|error| RepoError::format(name, &error))?;
    Ok(Some(Slot { name: name.clone(), header, kdf, record: record.to_vec() }))
}

/// The keyring, or `None` when the secret is not the slot's.
pub(super) fn open(slot: &Slot, secret: &Secret) -> Result<Option<Keyring>, RepoError> {
    let wrap = match derive(secret, slot.kdf, &slot.header.salt) {
        Ok(wrap) => wrap,
        Err(KdfError::OtherSort) => return Ok(None),
        // Its costs are within the limits, so it is this host that has too little memory.
        Err(error) => return Err(RepoError::Engine(format!("key slot `{}` cannot be tried: {error}", slot.name))),
    };
    let (key, commitment) = slot_key(&wrap, &slot.header, slot.kdf.to_bytes());
    if !bool::from(commitment.ct_eq(&slot.header.commitment)) {
        return Ok(None);
    }
    let mut record = Zeroizing::new(slot.record.clone());
    key.open(Part::KeySlot, 0, &mut record).map_err(|error| RepoError::damaged(&slot.name, error))?;
    let keyring = Keyring::from_bytes(&record).map_err(|error| RepoError::format(&slot.name, &error))?;
    if keyring.repository != slot.header.repository {
        return Err(RepoError::damaged(&slot.name, "its keyring is of another repository"));
    }
    Ok(Some(keyring))
}
