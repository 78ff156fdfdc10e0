//! Floor 4: keys, the two ciphers, the password hash and keyed ids (`repo-format.md`, chapters 4 and 5).
//!
//! Nothing here draws a nonce: whoever seals says which part of which object it is.

mod aead;
mod kdf;
mod keys;
mod recovery;
mod salt;

pub use aead::{Cipher, NotAuthentic};
pub use kdf::{KdfError, Secret, derive};
pub use keys::{KeyError, KeyTable, ObjectKey, chunk_id, has_aes_instructions, slot_key};
pub use recovery::RecoveryKey;
pub use salt::SaltSource;
