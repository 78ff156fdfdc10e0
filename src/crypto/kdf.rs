//! From what a person holds to the key of a key slot (`repo-format.md`, chapter 5).

use super::RecoveryKey;
use crate::format::Kdf;
use argon2::{Algorithm, Argon2, Block, Params, Version};
use rayon::iter::{IntoParallelIterator, ParallelExtend, ParallelIterator};
use zeroize::Zeroizing;

/// What opens a key slot.
#[derive(Clone)]
pub struct Secret {
    text: Zeroizing<String>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// A password, or a recovery key in one of its two written forms.
    #[must_use]
    pub fn new(text: Zeroizing<String>) -> Self {
        Self { text }
    }

    /// The recovery key that the text is, if it is one.
    #[must_use]
    pub fn recovery_key(&self) -> Option<RecoveryKey> {
        RecoveryKey::parse(&self.text)
    }
}

/// The password hash could not be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KdfError {
    /// The slot wants another sort of secret.
    #[error("this slot needs another sort of secret")]
    OtherSort,
    /// The hash refused its parameters, or there is not enough memory.
    #[error("the password hash failed: {0}")]
    Failed(String),
}

/// R of a key slot with this kdf and salt.
///
/// # Errors
/// [`KdfError::OtherSort`] when the slot is for a key and the secret is a password.
pub fn derive(secret: &Secret, kdf: Kdf, salt: &[u8; 32]) -> Result<Zeroizing<[u8; 32]>, KdfError> {
    match kdf {
        Kdf::Argon2id { memory_kib, passes, lanes } => {
            let failed = |error: argon2::Error| KdfError::Failed(error.to_string());
            let params = Params::new(memory_kib, passes, lanes, Some(32)).map_err(failed)?;
            let mut key = Zeroizing::new([0; 32]);
            let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
            let mut memory = memory(argon.params().block_count())?;
            argon
                .hash_password_into_with_memory(secret.text.as_bytes(), salt, &mut *key, &mut memory)
                .map_err(failed)?;
            Ok(key)
        }
        Kdf::Key => secret.recovery_key().map(|key| key.slot_secret()).ok_or(KdfError::OtherSort),
    }
}

/// Room for the hash, touched by all processors at once: its fresh pages cost as much as a fifth of the hash itself.
fn memory(blocks: usize) -> Result<Vec<Block>, KdfError> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(blocks).map_err(|error| KdfError::Failed(error.to_string()))?;
    memory.par_extend((0..blocks).into_par_iter().map(|_| Block::default()));
    Ok(memory)
}

#[cfg(test)]
mod tests {
    use super::{KdfError, Secret, derive};
    use crate::base::hex;
    use crate::format::Kdf;

    #[test]
    fn the_password_hash_is_argon2id_as_others_compute_it() {
        let kdf = Kdf::Argon2id { memory_kib: 8192, passes: 1, lanes: 4 };
        let secret = Secret::new("pässword".to_owned().into());
        let key = derive(&secret, kdf, &[7; 32]).unwrap();
        // argon2-cffi 23.1: hash_secret_raw("pässword".encode(), b"\x07"*32, 1, 8192, 4, 32, Type.ID)
        assert_eq!(hex::encode(&*key), "8b58f78140c6ce69a6796060497504553a6843132de22a54c621c31f307a668b");
        assert_eq!(derive(&secret, Kdf::Key, &[7; 32]), Err(KdfError::OtherSort));
        assert_eq!(format!("{secret:?}"), "Secret(..)");
    }

    #[test]
    fn too_little_memory_is_an_error_and_not_the_end() {
        assert!(matches!(super::memory(1 << 50), Err(KdfError::Failed(_))));
    }
}
