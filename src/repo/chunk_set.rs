//! A set of chunks of an index: one bit for each, and one for all copies of a chunk.

use super::Index;
use crate::format::ChunkId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The set; several threads may add to it.
#[derive(Debug)]
pub struct ChunkSet {
    index: Arc<Index>,
    bits: Vec<AtomicU64>,
}

impl ChunkSet {
    /// The empty set of chunks of `index`.
    #[must_use]
    pub fn new(index: &Arc<Index>) -> Self {
        let (_, _, chunks) = index.counts();
        Self { index: Arc::clone(index), bits: (0..chunks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Adds a chunk; says whether it is new. `None` when the index does not know it.
    #[expect(clippy::must_use_candidate, reason = "adding is what it is for")]
    pub fn insert(&self, id: &ChunkId) -> Option<bool> {
        let (word, bit) = self.place(id)?;
        Some(word.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }

    /// Whether a chunk is in the set.
    #[must_use]
    pub fn contains(&self, id: &ChunkId) -> bool {
        self.place(id).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    fn place(&self, id: &ChunkId) -> Option<(&AtomicU64, u64)> {
        let n = self.index.ordinal(id)?;
        Some((&self.bits[n as usize / 64], 1 << (n % 64)))
    }
}
