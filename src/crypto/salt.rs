//! Salts: unique for each object even where randomness is weak (`repo-format.md`, chapter 4).

use crate::base::clock::Clock;
use crate::base::entropy::Entropy;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Draws salts from everything that tells one object from another.
#[derive(Debug)]
pub struct SaltSource {
    entropy: Arc<dyn Entropy>,
    clock: Arc<dyn Clock>,
    process: Vec<u8>,
    counter: AtomicU64,
}

impl SaltSource {
    /// A source; `process` is what tells this process from others, such as boot id and process id.
    #[must_use]
    pub fn new(entropy: Arc<dyn Entropy>, clock: Arc<dyn Clock>, process: &[u8]) -> Self {
        Self { entropy, clock, process: process.to_vec(), counter: AtomicU64::new(0) }
    }

    /// A new salt for an object that is known to hold `contents`.
    ///
    /// # Errors
    /// When there is no randomness.
    pub fn next(&self, contents: &[&[u8]]) -> Result<[u8; 32], std::io::Error> {
        let mut hasher = blake3::Hasher::new_derive_key("nightjar v1 2026-12 salt");
        hasher.update(&self.random::<32>()?);
        hasher.update(&self.counter.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        hasher.update(&self.clock.unix_nanos().to_le_bytes());
        hasher.update(&self.clock.monotonic().as_nanos().to_le_bytes());
        hasher.update(&(self.process.len() as u64).to_le_bytes());
        hasher.update(&self.process);
        for part in contents {
            hasher.update(part);
        }
        Ok(*hasher.finalize().as_bytes())
    }

    /// Random bytes for ids and secrets.
    ///
    /// # Errors
    /// When there is no randomness.
    pub fn random<const N: usize>(&self) -> Result<[u8; N], std::io::Error> {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::SaltSource;
    use crate::base::clock::ManualClock;
    use crate::base::entropy::Entropy;
    use std::sync::Arc;

    #[derive(Debug)]
    struct Broken;

    impl Entropy for Broken {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), std::io::Error> {
            bytes.fill(0);
            Ok(())
        }
    }

    #[test]
    fn salts_differ_even_when_the_random_generator_is_broken() {
        let source = |process: &[u8]| SaltSource::new(Arc::new(Broken), Arc::new(ManualClock::default()), process);
        let (a, b) = (source(b"host a"), source(b"host b"));
        let salts = [a.next(&[]), a.next(&[]), b.next(&[]), b.next(&[b"contents"]), source(b"host b").next(&[b"x"])];
        let salts: Vec<_> = salts.into_iter().map(Result::unwrap).collect();
        assert!((1..5).all(|n| !salts[..n].contains(&salts[n])), "all five differ");
    }
}
