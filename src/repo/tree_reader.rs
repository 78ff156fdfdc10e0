//! Reading directories and extent lists piece by piece, with the rules that span pieces checked
//! (`repo-format.md`, chapters 9 and 10).

use super::{ChunkReader, RepoError};
use crate::format::limits::BRANCH_LEVELS_MAX;
use crate::format::{ChunkId, Content, Extent, Node, PackKind, TreeChunk};
use std::collections::VecDeque;

/// The nodes of one directory, in the order of their names.
#[derive(Debug)]
pub struct TreeReader {
    id: ChunkId,
    /// Pieces still to be read, the next one last, each with its depth and the name it must end with.
    pending: Vec<(ChunkId, usize, Option<Vec<u8>>)>,
    nodes: VecDeque<Node>,
    last: Option<Vec<u8>>,
}

impl TreeReader {
    /// The directory whose tree is `id`.
    #[must_use]
    pub fn new(id: ChunkId) -> Self {
        Self { id, pending: vec![(id, 0, None)], nodes: VecDeque::new(), last: None }
    }

    /// The next node.
    ///
    /// # Errors
    /// When a piece cannot be read, or breaks a rule.
    pub fn next(&mut self, reader: &mut ChunkReader) -> Result<Option<Node>, RepoError> {
        while self.nodes.is_empty() {
            let Some((id, depth, end)) = self.pending.pop() else {
                return Ok(None);
            };
            match read(reader, id)? {
                TreeChunk::Leaf(nodes) => self.take_leaf(nodes, end.as_deref())?,
                TreeChunk::Branch(below) if depth < BRANCH_LEVELS_MAX && !below.is_empty() => {
                    if end.is_some_and(|end| below.last().is_none_or(|(name, _)| *name != end)) {
                        return Err(self.broken("a branch does not end with the name that it must"));
                    }
                    self.pending.extend(below.into_iter().rev().map(|(name, id)| (id, depth + 1, Some(name))));
                }
                TreeChunk::Branch(_) => return Err(self.broken("its branches are empty or nest too deep")),
                _ => return Err(self.broken("it is a list of extents, not of nodes")),
            }
        }
        Ok(self.nodes.pop_front())
    }

    fn take_leaf(&mut self, nodes: Vec<Node>, end: Option<&[u8]>) -> Result<(), RepoError> {
        let first = nodes.first().map(|node| &node.name);
        if self.last.is_some() && first.is_none_or(|first| Some(first) <= self.last.as_ref()) {
            return Err(self.broken("its pieces are not in order"));
        }
        let last = nodes.last().map(|node| node.name.clone());
        if end.is_some() && end != last.as_deref() {
            return Err(self.broken("a piece does not end with the name that it must"));
        }
        self.last = last;
        self.nodes.extend(nodes);
        Ok(())
    }

    fn broken(&self, reason: &str) -> RepoError {
        RepoError::Tree { id: self.id, reason: reason.to_owned() }
    }

    /// All nodes that are left.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn collect(mut self, reader: &mut ChunkReader) -> Result<Vec<Node>, RepoError> {
        let mut nodes = Vec::new();
        while let Some(node) = self.next(reader)? {
            nodes.push(node);
        }
        Ok(nodes)
    }
}

/// The extents of one file, in their order.
#[derive(Debug)]
pub struct ExtentReader {
    id: ChunkId,
    pending: Vec<(ChunkId, usize, u64)>,
    extents: VecDeque<Extent>,
}

impl ExtentReader {
    /// The extents of a file of `size` bytes with this content; inline content has none.
    #[must_use]
    pub fn new(content: &Content, size: u64) -> Self {
        match content {
            Content::Inline(_) => Self { id: ChunkId([0; 32]), pending: Vec::new(), extents: VecDeque::new() },
            Content::Extents(extents) => {
                Self { id: ChunkId([0; 32]), pending: Vec::new(), extents: extents.iter().copied().collect() }
            }
            Content::Nested(id) => Self { id: *id, pending: vec![(*id, 0, size)], extents: VecDeque::new() },
        }
    }

    /// The next extent.
    ///
    /// # Errors
    /// When a piece cannot be read, or does not cover the bytes that it must.
    pub fn next(&mut self, reader: &mut ChunkReader) -> Result<Option<Extent>, RepoError> {
        while self.extents.is_empty() {
            let Some((id, depth, length)) = self.pending.pop() else {
                return Ok(None);
            };
            let sum = |lengths: &mut dyn Iterator<Item = u64>| lengths.map(u128::from).sum::<u128>();
            let covered = match read(reader, id)? {
                TreeChunk::ExtentLeaf(extents) => {
                    let covered = sum(&mut extents.iter().map(Extent::len));
                    self.extents.extend(extents);
                    Some(covered)
                }
                TreeChunk::ExtentBranch(below) if depth < BRANCH_LEVELS_MAX => {
                    let covered = sum(&mut below.iter().map(|(length, _)| *length));
                    self.pending.extend(below.into_iter().rev().map(|(length, id)| (id, depth + 1, length)));
                    Some(covered)
                }
                _ => None,
            };
            if covered != Some(u128::from(length)) {
                let reason = "it does not list the extents that it must".to_owned();
                return Err(RepoError::Tree { id: self.id, reason });
            }
        }
        Ok(self.extents.pop_front())
    }
}

fn read(reader: &mut ChunkReader, id: ChunkId) -> Result<TreeChunk, RepoError> {
    let bytes = reader.read(PackKind::Tree, &id)?;
    TreeChunk::from_bytes(&bytes).map_err(|error| RepoError::Tree { id, reason: error.to_string() })
}
