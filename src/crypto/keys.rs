//! Purpose keys, object keys and commitments (`repo-format.md`, chapter 4).

use super::{Cipher, NotAuthentic};
use crate::format::limits::HEADER_LEN;
use crate::format::{ChunkId, Class, Header, KDF_LEN, Keyring, PackKind, Part, Suite, Time};
use std::collections::BTreeMap;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

type Key = Zeroizing<[u8; 32]>;

/// The context string of a purpose is this and the purpose.
const CONTEXT: &str = "nightjar v1 2026-12 ";

/// The key of one object, and nothing else.
#[derive(Debug)]
pub struct ObjectKey {
    cipher: Cipher,
}

impl ObjectKey {
    /// Seals `buffer` in place as the `counter`th `part` of this object.
    pub fn seal(&self, part: Part, counter: u64, buffer: &mut Vec<u8>) {
        self.cipher.seal(part.nonce(counter), buffer);
    }

    /// Opens `buffer` in place.
    ///
    /// # Errors
    /// When it is not that part of this object.
    pub fn open(&self, part: Part, counter: u64, buffer: &mut Vec<u8>) -> Result<(), NotAuthentic> {
        self.cipher.open(part.nonce(counter), buffer)
    }
}

/// Why there is no key for an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The header names another repository.
    #[error("belongs to another repository")]
    OtherRepository,
    /// The keyring has no master secret of this epoch.
    #[error("epoch {0} is unknown")]
    UnknownEpoch(u32),
    /// The commitment does not fit: the header was altered, or made with other keys.
    #[error("header is not authentic")]
    Commitment,
}

/// All keys of a repository.
pub struct KeyTable {
    repository: [u8; 16],
    epoch: u32,
    id_data: Key,
    id_tree: Key,
    chunker: Key,
    /// Purpose keys by epoch: pack data, pack tree, index, snapshot, config, mark.
    purposes: BTreeMap<u32, [Key; 6]>,
}

impl std::fmt::Debug for KeyTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyTable").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl KeyTable {
    /// Derives every purpose key of `keyring`.
    #[must_use]
    pub fn new(keyring: &Keyring) -> Self {
        let purposes = |master: &Key| {
            ["pack data", "pack tree", "index", "snapshot", "config", "mark"].map(|purpose| derive(purpose, master))
        };
        Self {
            repository: keyring.repository,
            epoch: keyring.masters.keys().next_back().copied().unwrap_or(0),
            id_data: derive("chunk id data", &keyring.secret),
            id_tree: derive("chunk id tree", &keyring.secret),
            chunker: derive("chunker", &keyring.secret),
            purposes: keyring.masters.iter().map(|(epoch, master)| (*epoch, purposes(master))).collect(),
        }
    }

    /// The repository.
    #[must_use]
    pub fn repository(&self) -> [u8; 16] {
        self.repository
    }

    /// The id of a chunk.
    #[must_use]
    pub fn id(&self, kind: PackKind, chunk: &[u8]) -> ChunkId {
        chunk_id(self.id_key(kind), chunk)
    }

    /// The key of the ids of chunks of this kind.
    #[must_use]
    pub fn id_key(&self, kind: PackKind) -> &[u8; 32] {
        match kind {
            PackKind::Data => &self.id_data,
            PackKind::Tree => &self.id_tree,
        }
    }

    /// The keys of no repository, the same for everybody: for measurements and tests, whose outputs nobody keeps.
    #[must_use]
    pub fn for_trials() -> Self {
        Self::new(&Keyring {
            repository: [1; 16],
            secret: [2; 32],
            masters: BTreeMap::from([(1, Zeroizing::new([3; 32]))]),
            label: String::new(),
            created: Time { seconds: 0, nanos: 0 },
        })
    }

    /// The key of a data pack with this salt.
    #[must_use]
    pub fn data_pack(&self, suite: Suite, salt: [u8; 32]) -> Arc<ObjectKey> {
        Arc::new(self.begin(Class::Pack, Some(PackKind::Data), suite, salt).1)
    }

    /// The gear table of the chunker.
    #[must_use]
    pub fn gear(&self) -> Box<[u64; 256]> {
        let mut bytes = Zeroizing::new([0; 2048]);
        blake3::Hasher::new_keyed(&self.chunker).finalize_xof().fill(&mut *bytes);
        let mut gear = Box::new([0; 256]);
        for (value, bytes) in gear.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *value = u64::from_le_bytes(*bytes);
        }
        gear
    }

    /// Header and key of a new object with this salt.
    #[must_use]
    pub fn begin(&self, class: Class, kind: Option<PackKind>, suite: Suite, salt: [u8; 32]) -> (Header, ObjectKey) {
        let repository = self.repository;
        let mut header = Header { class, kind, suite, epoch: self.epoch, repository, salt, commitment: [0; 32] };
        let purpose = self.purpose(&header).expect("the newest epoch has its keys");
        let (key, commitment) = object_key(purpose, &header, None);
        header.commitment = commitment;
        (header, key)
    }

    /// The key of the object that begins with `header`.
    ///
    /// # Errors
    /// When the header is of another repository or epoch, or its commitment does not fit.
    pub fn find(&self, header: &Header) -> Result<ObjectKey, KeyError> {
        if header.repository != self.repository {
            return Err(KeyError::OtherRepository);
        }
        let purpose = self.purpose(header).ok_or(KeyError::UnknownEpoch(header.epoch))?;
        let (key, commitment) = object_key(purpose, header, None);
        if bool::from(commitment.ct_eq(&header.commitment)) { Ok(key) } else { Err(KeyError::Commitment) }
    }

    fn purpose(&self, header: &Header) -> Option<&Key> {
        let place = match (header.class, header.kind) {
            (Class::Pack, Some(PackKind::Tree)) => 1,
            (Class::Pack, _) => 0,
            (Class::Index, _) => 2,
            (Class::Snapshot, _) => 3,
            (Class::Config, _) => 4,
            (Class::Mark, _) => 5,
            (Class::KeySlot, _) => return None,
        };
        self.purposes.get(&header.epoch).map(|keys| &keys[place])
    }
}

/// The id of a chunk under an id key.
#[must_use]
pub fn chunk_id(key: &[u8; 32], chunk: &[u8]) -> ChunkId {
    ChunkId(*blake3::keyed_hash(key, chunk).as_bytes())
}

/// Key and commitment of a key slot with this header, kdf parameters and R.
#[must_use]
pub fn slot_key(secret: &Key, header: &Header, kdf: [u8; KDF_LEN]) -> (ObjectKey, [u8; 32]) {
    object_key(secret, header, Some(kdf))
}

fn object_key(secret: &Key, header: &Header, kdf: Option<[u8; KDF_LEN]>) -> (ObjectKey, [u8; 32]) {
    let mut bytes: [u8; HEADER_LEN] = header.to_bytes();
    bytes[64..96].fill(0);
    let mut hasher = blake3::Hasher::new_keyed(secret);
    hasher.update(&bytes);
    if let Some(kdf) = kdf {
        hasher.update(&kdf);
    }
    let (mut key, mut commitment) = (Zeroizing::new([0; 32]), [0; 32]);
    let mut output = hasher.finalize_xof();
    output.fill(&mut *key);
    output.fill(&mut commitment);
    (ObjectKey { cipher: Cipher::new(header.suite, &key) }, commitment)
}

fn derive(purpose: &str, secret: &[u8; 32]) -> Key {
    Zeroizing::new(blake3::derive_key(&format!("{CONTEXT}{purpose}"), secret))
}

/// Whether the CPU computes AES by instructions, so that AES-256-GCM is the faster suite.
#[must_use]
pub fn has_aes_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("pclmulqdq")
    }
    #[cfg(target_arch = "aarch64")]
    {
        std::arch::is_aarch64_feature_detected!("aes")
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyError, KeyTable};
    use crate::format::{Class, Keyring, PackKind, Part, Suite, Time};
    use std::collections::BTreeMap;
    use zeroize::Zeroizing;

    fn keys(secret: u8, repository: u8) -> KeyTable {
        KeyTable::new(&Keyring {
            repository: [repository; 16],
            secret: [secret; 32],
            masters: BTreeMap::from([(1, Zeroizing::new([secret; 32])), (2, Zeroizing::new([secret + 1; 32]))]),
            label: String::new(),
            created: Time { seconds: 0, nanos: 0 },
        })
    }

    #[test]
    fn an_object_opens_with_the_key_that_its_header_names() {
        let keys = keys(1, 1);
        let (header, key) = keys.begin(Class::Pack, Some(PackKind::Data), Suite::Aes256Gcm, [5; 32]);
        assert_eq!(header.epoch, 2);
        let mut bytes = b"block".to_vec();
        key.seal(Part::Block, 7, &mut bytes);
        let again = keys.find(&header).unwrap();
        assert!(again.open(Part::Block, 6, &mut bytes.clone()).is_err(), "another place");
        assert!(again.open(Part::Footer, 7, &mut bytes.clone()).is_err(), "another part");
        again.open(Part::Block, 7, &mut bytes).unwrap();
        assert_eq!(bytes, b"block");
    }

    #[test]
    fn every_altered_header_is_refused() {
        let keys = keys(1, 1);
        let (header, _) = keys.begin(Class::Pack, Some(PackKind::Data), Suite::Aes256Gcm, [5; 32]);
        let altered = |change: &dyn Fn(&mut crate::format::Header)| {
            let mut header = header.clone();
            change(&mut header);
            keys.find(&header).unwrap_err()
        };
        assert_eq!(altered(&|h| h.suite = Suite::ChaCha20Poly1305), KeyError::Commitment);
        assert_eq!(altered(&|h| h.kind = Some(PackKind::Tree)), KeyError::Commitment);
        assert_eq!(altered(&|h| (h.class, h.kind) = (Class::Index, None)), KeyError::Commitment);
        assert_eq!(altered(&|h| h.epoch = 1), KeyError::Commitment);
        assert_eq!(altered(&|h| h.epoch = 3), KeyError::UnknownEpoch(3));
        assert_eq!(altered(&|h| h.salt[0] ^= 1), KeyError::Commitment);
        assert_eq!(altered(&|h| h.commitment[31] ^= 1), KeyError::Commitment);
        assert_eq!(altered(&|h| h.repository[0] ^= 1), KeyError::OtherRepository);
        assert_eq!(self::keys(3, 1).find(&header).unwrap_err(), KeyError::Commitment);
    }

    #[test]
    fn ids_differ_by_kind_and_repository() {
        let ids = [
            keys(1, 1).id(PackKind::Data, b"x"),
            keys(1, 1).id(PackKind::Tree, b"x"),
            keys(2, 1).id(PackKind::Data, b"x"),
        ];
        assert!(ids[0] != ids[1] && ids[0] != ids[2]);
        assert_ne!(keys(1, 1).gear(), keys(2, 1).gear());
    }
}
