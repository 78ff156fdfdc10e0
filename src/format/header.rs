//! The clear header of every object (`repo-format.md`, chapter 3).

use super::FormatError;
use super::limits::HEADER_LEN;

/// The first seven bytes of every object.
pub const MAGIC: &[u8; 7] = b"NJAROBJ";
/// The version this program reads and writes.
pub const VERSION: u8 = 1;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// A pack.
    Pack = 1,
    /// An index object.
    Index = 2,
    /// A snapshot.
    Snapshot = 3,
    /// A config object.
    Config = 4,
    /// A key slot.
    KeySlot = 5,
    /// A mark of prune.
    Mark = 6,
}

impl Class {
    fn from_u8(number: u8) -> Result<Self, FormatError> {
        [Self::Pack, Self::Index, Self::Snapshot, Self::Config, Self::KeySlot, Self::Mark]
            .into_iter()
            .find(|class| *class as u8 == number)
            .ok_or(FormatError::Invalid { what: "class" })
    }

    /// The class in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pack => "pack",
            Self::Index => "index",
            Self::Snapshot => "snapshot",
            Self::Config => "config",
            Self::KeySlot => "key slot",
            Self::Mark => "mark",
        }
    }
}

/// What kind of chunks a pack holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum PackKind {
    /// Contents of files.
    Data = 1,
    /// Trees and extent lists.
    Tree = 2,
}

/// The cipher that seals an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Suite {
    /// AES-256-GCM.
    Aes256Gcm = 1,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305 = 2,
}

impl Suite {
    fn from_u8(number: u8) -> Result<Self, FormatError> {
        match number {
            1 => Ok(Self::Aes256Gcm),
            2 => Ok(Self::ChaCha20Poly1305),
            _ => Err(FormatError::Invalid { what: "suite" }),
        }
    }

    /// The suite's name as options and outputs write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Aes256Gcm => "aes-256-gcm",
            Self::ChaCha20Poly1305 => "chacha20-poly1305",
        }
    }
}

/// A header whose fields were checked one by one; whether it is authentic only its commitment can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the object is.
    pub class: Class,
    /// Of a pack, what it holds; `None` for other classes.
    pub kind: Option<PackKind>,
    /// The cipher.
    pub suite: Suite,
    /// Epoch of the master secret; 0 in key slots.
    pub epoch: u32,
    /// The repository.
    pub repository: [u8; 16],
    /// Unique for each object.
    pub salt: [u8; 32],
    /// Binds header and key; see chapter 4.
    pub commitment: [u8; 32],
}

impl Header {
    /// The header's 128 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..7].copy_from_slice(MAGIC);
        bytes[7] = VERSION;
        bytes[8] = self.class as u8;
        bytes[9] = self.kind.map_or(0, |kind| kind as u8);
        bytes[10] = self.suite as u8;
        bytes[12..16].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.repository);
        bytes[32..64].copy_from_slice(&self.salt);
        bytes[64..96].copy_from_slice(&self.commitment);
        bytes
    }

    /// Reads the header at the start of `object`.
    ///
    /// # Errors
    /// [`FormatError::Magic`] and [`FormatError::Version`] before anything else is looked at, then the first field that is invalid.
    pub fn from_bytes(object: &[u8]) -> Result<Self, FormatError> {
        let Some(bytes) = object.first_chunk::<HEADER_LEN>() else {
            let starts_right = !object.is_empty() && MAGIC.starts_with(&object[..object.len().min(7)]);
            return Err(if starts_right { FormatError::Truncated { what: "header" } } else { FormatError::Magic });
        };
        if &bytes[..7] != MAGIC {
            return Err(FormatError::Magic);
        }
        match bytes[7] {
            VERSION => {}
            0 => return Err(FormatError::Invalid { what: "format version" }),
            newer => return Err(FormatError::Version(newer)),
        }
        let class = Class::from_u8(bytes[8])?;
        let kind = match (class, bytes[9]) {
            (Class::Pack, 1) => Some(PackKind::Data),
            (Class::Pack, 2) => Some(PackKind::Tree),
            (Class::Pack, _) => return Err(FormatError::Invalid { what: "kind" }),
            (_, 0) => None,
            _ => return Err(FormatError::Invalid { what: "kind" }),
        };
        let suite = Suite::from_u8(bytes[10])?;
        if bytes[11] != 0 {
            return Err(FormatError::Invalid { what: "key mode" });
        }
        if bytes[96..].iter().any(|b| *b != 0) {
            return Err(FormatError::Invalid { what: "zero field of the header" });
        }
        let mut header = Self {
            class,
            kind,
            suite,
            epoch: u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]),
            repository: [0; 16],
            salt: [0; 32],
            commitment: [0; 32],
        };
        header.repository.copy_from_slice(&bytes[16..32]);
        header.salt.copy_from_slice(&bytes[32..64]);
        header.commitment.copy_from_slice(&bytes[64..96]);
        Ok(header)
    }
}

/// The parts of objects that are sealed, each with its nonce tag (chapter 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// A block, counted by its number in the pack.
    Block = 1,
    /// The footer of a pack.
    Footer = 3,
    /// The trailer of a pack.
    Trailer = 4,
    /// A segment of an index object, counted from 0.
    Segment = 16,
    /// The record of a snapshot.
    Snapshot = 32,
    /// The keyring in a key slot.
    KeySlot = 48,
    /// The record of a config object.
    Config = 64,
    /// The record of a mark.
    Mark = 80,
}

impl Part {
    /// The nonce of the `counter`th part of this sort.
    #[must_use]
    pub fn nonce(self, counter: u64) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[0] = self as u8;
        nonce[4..].copy_from_slice(&counter.to_le_bytes());
        nonce
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Header, PackKind, Suite};
    use crate::format::FormatError;
    use proptest::prelude::*;

    fn header() -> Header {
        Header {
            class: Class::Pack,
            kind: Some(PackKind::Tree),
            suite: Suite::ChaCha20Poly1305,
            epoch: 7,
            repository: [1; 16],
            salt: [2; 32],
            commitment: [3; 32],
        }
    }

    #[test]
    fn a_header_survives_its_bytes() {
        assert_eq!(Header::from_bytes(&header().to_bytes()), Ok(header()));
    }

    #[test]
    fn each_broken_field_has_its_own_error() {
        let broken = |offset: usize, value: u8| {
            let mut bytes = header().to_bytes();
            bytes[offset] = value;
            Header::from_bytes(&bytes).unwrap_err().to_string()
        };
        assert_eq!(broken(0, b'n'), "not a nightjar object");
        assert_eq!(broken(7, 2), "format version 2 is newer than version 1");
        assert_eq!(broken(8, 9), "class is invalid");
        assert_eq!(broken(9, 0), "kind is invalid");
        assert_eq!(broken(10, 0), "suite is invalid");
        assert_eq!(broken(11, 1), "key mode is invalid");
        assert_eq!(broken(127, 1), "zero field of the header is invalid");
        assert_eq!(Header::from_bytes(&header().to_bytes()[..127]), Err(FormatError::Truncated { what: "header" }));
        assert_eq!(Header::from_bytes(b""), Err(FormatError::Magic));
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_header_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(header) = Header::from_bytes(&bytes) {
                prop_assert_eq!(&header.to_bytes()[..], &bytes[..128]);
            }
        }
    }
}
