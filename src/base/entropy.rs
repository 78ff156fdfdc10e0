//! The only room that asks for randomness.

use std::fmt::Debug;
use std::sync::Mutex;

/// Where random bytes come from; tests pass a [`SeededEntropy`].
pub trait Entropy: Debug + Send + Sync {
    /// Fills `bytes`.
    ///
    /// # Errors
    /// When the operating system has no randomness to give.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), std::io::Error>;
}

/// The operating system's generator.
#[derive(Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(clippy::disallowed_methods, reason = "this is the source everything else asks")]
    fn fill(&self, bytes: &mut [u8]) -> Result<(), std::io::Error> {
        getrandom::fill(bytes).map_err(std::io::Error::from)
    }
}

/// Repeatable bytes for tests and golden repositories: BLAKE3 in counter mode. Never for real keys.
#[derive(Debug)]
pub struct SeededEntropy(Mutex<u64>, [u8; 32]);

impl SeededEntropy {
    /// A stream decided by `seed` alone.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self(Mutex::new(0), key)
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), std::io::Error> {
        let mut counter = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *counter += 1;
        blake3::Hasher::new_keyed(&self.1).update(&counter.to_le_bytes()).finalize_xof().fill(bytes);
        Ok(())
    }
}
