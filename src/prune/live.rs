//! Which chunks are needed: everything that can be reached from the roots of snapshots.

use super::PruneError;
use crate::base::cancel::Cancel;
use crate::format::{ChunkId, PackKind, TreeChunk};
use crate::repo::{ChunkReader, ChunkSet, Index, RepoError};
use std::sync::Arc;

/// The chunks that are needed.
#[derive(Debug)]
pub(super) struct Live {
    chunks: ChunkSet,
    /// Chunks that are needed and that no index object knows.
    pub(super) missing: u64,
}

impl Live {
    pub(super) fn new(index: &Arc<Index>) -> Self {
        Self { chunks: ChunkSet::new(index), missing: 0 }
    }

    /// Whether a chunk is needed.
    pub(super) fn contains(&self, id: &ChunkId) -> bool {
        self.chunks.contains(id)
    }

    /// Notes a tree and all below it.
    pub(super) fn add_tree(
        &mut self,
        root: ChunkId,
        reader: &mut ChunkReader,
        cancel: &Cancel,
    ) -> Result<(), PruneError> {
        let mut pending = vec![root];
        while let Some(id) = pending.pop() {
            if let Some(signal) = cancel.requested() {
                return Err(PruneError::Cancelled(signal));
            }
            if !self.chunks.insert(&id).ok_or(RepoError::MissingChunk(id))? {
                continue;
            }
            let bytes = reader.read(PackKind::Tree, &id)?;
            let broken = |error: crate::format::FormatError| RepoError::Tree { id, reason: error.to_string() };
            let chunk = TreeChunk::from_bytes(&bytes).map_err(broken)?;
            let (chunks, missing) = (&self.chunks, &mut self.missing);
            chunk
                .references(|tree| pending.push(tree), |data, _| *missing += u64::from(chunks.insert(&data).is_none()));
        }
        Ok(())
    }
}
