//! The two ciphers behind one small interface, each in two implementations that open each other's output.

use crate::format::Suite;

/// What was to be opened is not what was sealed with this key and nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not authentic")]
pub struct NotAuthentic;

#[cfg(feature = "aws-lc")]
pub use aws_lc::Cipher;
#[cfg(not(feature = "aws-lc"))]
pub use rust_crypto::Cipher;

#[cfg(not(any(feature = "aws-lc", feature = "pure-rust")))]
compile_error!("choose one of the features `aws-lc` (default) and `pure-rust`");

#[cfg(feature = "aws-lc")]
mod aws_lc {
    use super::{NotAuthentic, Suite};
    use aws_lc_rs::aead::{AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

    /// A cipher with its key, from aws-lc.
    pub struct Cipher(LessSafeKey);

    impl Cipher {
        /// Prepares `key` for `suite`.
        #[must_use]
        pub fn new(suite: Suite, key: &[u8; 32]) -> Self {
            let algorithm = match suite {
                Suite::Aes256Gcm => &AES_256_GCM,
                Suite::ChaCha20Poly1305 => &CHACHA20_POLY1305,
            };
            Self(LessSafeKey::new(UnboundKey::new(algorithm, key).expect("both suites have keys of 32 bytes")))
        }

        /// Encrypts `buffer` in place and appends the tag.
        pub fn seal(&self, nonce: [u8; 12], buffer: &mut Vec<u8>) {
            let nonce = Nonce::assume_unique_for_key(nonce);
            let sealed = self.0.seal_in_place_append_tag(nonce, Aad::empty(), buffer);
            sealed.expect("a buffer below the limit of the suite can be sealed");
        }

        /// Decrypts `buffer` in place and cuts the tag off.
        ///
        /// # Errors
        /// When the bytes are not what was sealed; the buffer is then empty.
        pub fn open(&self, nonce: [u8; 12], buffer: &mut Vec<u8>) -> Result<(), NotAuthentic> {
            let nonce = Nonce::assume_unique_for_key(nonce);
            let plain = self.0.open_in_place(nonce, Aad::empty(), buffer).map(|plain| plain.len());
            buffer.truncate(plain.unwrap_or(0));
            plain.map(|_| ()).map_err(|_| NotAuthentic)
        }
    }
}

#[cfg(any(test, not(feature = "aws-lc")))]
#[cfg_attr(feature = "aws-lc", expect(unreachable_pub, reason = "here only the cross-check uses it"))]
mod rust_crypto {
    use super::{NotAuthentic, Suite};
    use aes_gcm::aead::{AeadInOut, KeyInit};

    /// A cipher with its key, from the RustCrypto crates.
    pub enum Cipher {
        /// AES-256-GCM.
        Aes(Box<aes_gcm::Aes256Gcm>),
        /// ChaCha20-Poly1305.
        ChaCha(Box<chacha20poly1305::ChaCha20Poly1305>),
    }

    impl Cipher {
        /// Prepares `key` for `suite`.
        #[must_use]
        pub fn new(suite: Suite, key: &[u8; 32]) -> Self {
            match suite {
                Suite::Aes256Gcm => Self::Aes(Box::new(aes_gcm::Aes256Gcm::new(key.into()))),
                Suite::ChaCha20Poly1305 => Self::ChaCha(Box::new(chacha20poly1305::ChaCha20Poly1305::new(key.into()))),
            }
        }

        /// Encrypts `buffer` in place and appends the tag.
        pub fn seal(&self, nonce: [u8; 12], buffer: &mut Vec<u8>) {
            let sealed = match self {
                Self::Aes(cipher) => cipher.encrypt_in_place(&nonce.into(), b"", buffer),
                Self::ChaCha(cipher) => cipher.encrypt_in_place(&nonce.into(), b"", buffer),
            };
            sealed.expect("a buffer below the limit of the suite can be sealed");
        }

        /// Decrypts `buffer` in place and cuts the tag off.
        ///
        /// # Errors
        /// When the bytes are not what was sealed; the buffer is then empty.
        pub fn open(&self, nonce: [u8; 12], buffer: &mut Vec<u8>) -> Result<(), NotAuthentic> {
            let opened = match self {
                Self::Aes(cipher) => cipher.decrypt_in_place(&nonce.into(), b"", buffer),
                Self::ChaCha(cipher) => cipher.decrypt_in_place(&nonce.into(), b"", buffer),
            };
            opened.map_err(|_| {
                buffer.clear();
                NotAuthentic
            })
        }
    }
}

impl std::fmt::Debug for Cipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cipher(..)")
    }
}

#[cfg(all(test, feature = "aws-lc"))]
mod tests {
    use super::{NotAuthentic, aws_lc, rust_crypto};
    use crate::format::Suite;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_implementation_opens_what_the_other_sealed(
            key in any::<[u8; 32]>(), nonce in any::<[u8; 12]>(), plain in proptest::collection::vec(any::<u8>(), 0..2000), flip in any::<usize>()
        ) {
            for suite in [Suite::Aes256Gcm, Suite::ChaCha20Poly1305] {
                let (aws, rust) = (aws_lc::Cipher::new(suite, &key), rust_crypto::Cipher::new(suite, &key));
                let (mut a, mut b) = (plain.clone(), plain.clone());
                aws.seal(nonce, &mut a);
                rust.seal(nonce, &mut b);
                prop_assert_eq!(&a, &b);
                let mut damaged = a.clone();
                damaged[flip % a.len()] ^= 1;
                rust.open(nonce, &mut a).unwrap();
                aws.open(nonce, &mut b).unwrap();
                prop_assert!(a == plain && b == plain);
                prop_assert_eq!(aws.open(nonce, &mut damaged.clone()), Err(NotAuthentic));
                prop_assert_eq!(rust.open(nonce, &mut damaged), Err(NotAuthentic));
                prop_assert!(damaged.is_empty());
                prop_assert_eq!(aws.open(nonce, &mut vec![0; 15]), Err(NotAuthentic));
            }
        }
    }
}
