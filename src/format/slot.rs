//! Key slots: the parameters of the password hash, and the keyring (`repo-format.md`, chapter 5).

use super::limits::{EPOCHS_MAX, TAG_LEN};
use super::record::{MapReader, MapWriter, missing, ok, whole};
use super::{FormatError, Time};
use std::collections::BTreeMap;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Bytes of the parameters behind the header of a key slot.
pub const KDF_LEN: usize = 16;
const KEYRING: &str = "keyring";

/// How the key of a slot comes from what its owner holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kdf {
    /// Argon2id over a password.
    Argon2id {
        /// Memory in KiB, 8 MiB to 2 GiB.
        memory_kib: u32,
        /// Passes, 1 to 16.
        passes: u32,
        /// Lanes, 1 to 16.
        lanes: u32,
    },
    /// BLAKE3 over a random key of 32 bytes: a recovery key.
    Key,
}

impl Kdf {
    /// RFC 9106, second recommendation: 64 MiB, 3 passes, 4 lanes.
    pub const STANDARD: Self = Self::Argon2id { memory_kib: 64 << 10, passes: 3, lanes: 4 };
    /// 1 GiB, 3 passes, 4 lanes.
    pub const STRONG: Self = Self::Argon2id { memory_kib: 1 << 20, passes: 3, lanes: 4 };

    /// The parameters' 16 bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; KDF_LEN] {
        let (number, fields) = match self {
            Self::Argon2id { memory_kib, passes, lanes } => (1, [memory_kib, passes, lanes]),
            Self::Key => (2, [0; 3]),
        };
        let mut bytes = [0; KDF_LEN];
        bytes[0] = number;
        for (place, field) in bytes[4..].chunks_exact_mut(4).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// Reads parameters and refuses costs outside the limits.
    ///
    /// # Errors
    /// When the kdf is unknown or a cost is outside its limits.
    pub fn from_bytes(bytes: &[u8; KDF_LEN]) -> Result<Self, FormatError> {
        let field = |n: usize| u32::from_le_bytes([bytes[n], bytes[n + 1], bytes[n + 2], bytes[n + 3]]);
        let (memory_kib, passes, lanes) = (field(4), field(8), field(12));
        match (bytes[0], &bytes[1..4], memory_kib, passes, lanes) {
            (1, [0, 0, 0], 8_192..=2_097_152, 1..=16, 1..=16) => Ok(Self::Argon2id { memory_kib, passes, lanes }),
            (2, [0, 0, 0], 0, 0, 0) => Ok(Self::Key),
            _ => Err(FormatError::Invalid { what: "cost of the password hash" }),
        }
    }
}

/// The secrets of a repository; wiped from memory when dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Keyring {
    /// The repository.
    #[zeroize(skip)]
    pub repository: [u8; 16],
    /// The secret for the life of the repository.
    pub secret: [u8; 32],
    /// Master secrets by epoch.
    #[zeroize(skip)]
    pub masters: BTreeMap<u32, Zeroizing<[u8; 32]>>,
    /// What the slot is called.
    #[zeroize(skip)]
    pub label: String,
    /// When the slot was made.
    #[zeroize(skip)]
    pub created: Time,
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keyring({}, {} epochs)", crate::base::hex::encode(&self.repository), self.masters.len())
    }
}

impl Keyring {
    /// The record's bytes, with room for the tag of the cipher behind them.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut map = MapWriter::with_room(512 + 64 * self.masters.len());
        map.bytes(0, &self.repository);
        map.bytes(1, &self.secret);
        let entry = map.entry(2);
        ok(entry.map(self.masters.len() as u64));
        for (epoch, master) in &self.masters {
            ok(entry.u32(*epoch).and_then(|e| e.bytes(&**master)));
        }
        map.text(3, &self.label);
        map.time(4, self.created);
        Zeroizing::new(map.finish_wiped(TAG_LEN))
    }

    /// Reads an opened keyring.
    ///
    /// # Errors
    /// When the record, a field or a limit is broken.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        whole(bytes, KEYRING, |decoder| {
            let mut map = MapReader::new(decoder, KEYRING)?;
            let mut keyring = Self {
                repository: [0; 16],
                secret: [0; 32],
                masters: BTreeMap::new(),
                label: String::new(),
                created: Time { seconds: 0, nanos: 0 },
            };
            let mut seen = 0;
            while let Some(key) = map.next_key()? {
                if key < 5 {
                    seen |= 1 << key;
                }
                match key {
                    0 => keyring.repository = map.fixed()?,
                    1 => keyring.secret = map.fixed()?,
                    2 => keyring.masters = read_masters(&mut map)?,
                    3 => keyring.label = map.text(256)?,
                    4 => keyring.created = map.time()?,
                    _ => map.skip()?,
                }
            }
            if seen != 0b1_1111 || keyring.masters.is_empty() {
                return Err(missing(KEYRING, "a field"));
            }
            Ok(keyring)
        })
    }
}

fn read_masters(map: &mut MapReader<'_, '_>) -> Result<BTreeMap<u32, Zeroizing<[u8; 32]>>, FormatError> {
    let mut masters = BTreeMap::new();
    let mut inner = MapReader::new(map.decoder(), "master secrets")?;
    while let Some(epoch) = inner.next_key()? {
        let epoch = u32::try_from(epoch).map_err(|_| FormatError::Invalid { what: "epoch" })?;
        masters.insert(epoch, Zeroizing::new(inner.fixed()?));
        if masters.len() > EPOCHS_MAX {
            return Err(FormatError::Invalid { what: "number of master secrets" });
        }
    }
    Ok(masters)
}

#[cfg(test)]
mod tests {
    use super::{Kdf, Keyring};
    use crate::format::Time;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use zeroize::Zeroizing;

    #[test]
    fn a_keyring_survives_its_bytes_and_shows_no_secret() {
        let keyring = Keyring {
            repository: [1; 16],
            secret: [2; 32],
            masters: BTreeMap::from([(1, Zeroizing::new([3; 32])), (70_000, Zeroizing::new([4; 32]))]),
            label: "password".into(),
            created: Time { seconds: 5, nanos: 6 },
        };
        assert_eq!(Keyring::from_bytes(&keyring.to_bytes()), Ok(keyring.clone()));
        assert_eq!(format!("{keyring:?}"), format!("Keyring({}, 2 epochs)", "01".repeat(16)));
    }

    #[test]
    fn forged_costs_are_refused() {
        for good in [Kdf::STANDARD, Kdf::STRONG, Kdf::Key] {
            assert_eq!(Kdf::from_bytes(&good.to_bytes()), Ok(good));
        }
        let argon = |memory_kib, passes, lanes| Kdf::Argon2id { memory_kib, passes, lanes };
        for bad in [
            argon(8_191, 3, 4),
            argon(2_097_153, 3, 4),
            argon(u32::MAX, 3, 4),
            argon(65_536, 0, 4),
            argon(65_536, 17, 4),
            argon(65_536, 3, 17),
        ] {
            assert!(Kdf::from_bytes(&bad.to_bytes()).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_keyring_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Keyring::from_bytes(&bytes);
        }
    }
}
