//! Which chunks are needed: everything that can be reached from the roots of snapshots.

use super::PruneError;
use crate::base::cancel::Cancel;
use crate::format::{ChunkId, Content, Extent, Node, PackKind, TreeChunk};
use crate::repo::{ChunkReader, Index, RepoError};
use std::sync::Arc;

/// One bit for each chunk of an index.
#[derive(Debug)]
pub(super) struct Live {
    index: Arc<Index>,
    bits: Vec<u64>,
    /// Chunks that are needed and that no index object knows.
    pub(super) missing: u64,
}

impl Live {
    pub(super) fn new(index: &Arc<Index>) -> Self {
        let (_, _, chunks) = index.counts();
        Self { index: Arc::clone(index), bits: vec![0; chunks.div_ceil(64)], missing: 0 }
    }

    /// Whether a chunk is needed.
    pub(super) fn contains(&self, id: &ChunkId) -> bool {
        self.index.ordinal(id).is_some_and(|n| self.bits[n as usize / 64] & (1 << (n % 64)) != 0)
    }

    /// Notes that a chunk is needed; says whether that is new.
    fn add(&mut self, id: &ChunkId) -> bool {
        let Some(n) = self.index.ordinal(id) else {
            self.missing += 1;
            return false;
        };
        let (word, bit) = (&mut self.bits[n as usize / 64], 1 << (n % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
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
            if self.index.ordinal(&id).is_none() {
                return Err(PruneError::Repo(RepoError::MissingChunk(id)));
            }
            if !self.add(&id) {
                continue;
            }
            let bytes = reader.read(PackKind::Tree, &id)?;
            let broken = |error: crate::format::FormatError| RepoError::Tree { id, reason: error.to_string() };
            match TreeChunk::from_bytes(&bytes).map_err(broken)? {
                TreeChunk::Leaf(nodes) => nodes.iter().for_each(|node| self.add_node(node, &mut pending)),
                TreeChunk::Branch(below) => pending.extend(below.into_iter().map(|(_, id)| id)),
                TreeChunk::ExtentLeaf(extents) => self.add_extents(&extents),
                TreeChunk::ExtentBranch(below) => pending.extend(below.into_iter().map(|(_, id)| id)),
            }
        }
        Ok(())
    }

    fn add_node(&mut self, node: &Node, pending: &mut Vec<ChunkId>) {
        pending.extend(node.tree);
        match &node.content {
            None | Some(Content::Inline(_)) => {}
            Some(Content::Extents(extents)) => self.add_extents(extents),
            Some(Content::Nested(id)) => pending.push(*id),
        }
    }

    fn add_extents(&mut self, extents: &[Extent]) {
        for extent in extents {
            if let Extent::Chunk { id, .. } = extent {
                self.add(id);
            }
        }
    }
}
