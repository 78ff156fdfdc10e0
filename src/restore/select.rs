//! From a path inside a snapshot to what lies there.

use crate::format::{ChunkId, Node, NodeKind, Snapshot};
use crate::repo::{ChunkReader, RepoError, TreeReader};
use std::cmp::Ordering;

/// What is to be restored.
#[derive(Clone, Debug)]
pub enum Selected {
    /// The contents of a directory; its own node, unless it is the top of the snapshot.
    Directory(ChunkId, Option<Box<Node>>),
    /// One entry that is not a directory.
    Entry(Box<Node>),
}

/// Finds `path` (absolute inside the snapshot; empty and `/` mean all) in `snapshot`.
///
/// # Errors
/// [`RepoError::NoPath`] when nothing lies there; damage on the way.
pub fn select(reader: &mut ChunkReader, snapshot: &Snapshot, path: &[u8]) -> Result<Selected, RepoError> {
    let mut found = Selected::Directory(snapshot.root, None);
    for name in path.split(|b| *b == b'/').filter(|name| !name.is_empty() && *name != b".") {
        let missing = || RepoError::NoPath(path.to_vec());
        let Selected::Directory(tree, _) = found else {
            return Err(missing());
        };
        let mut nodes = TreeReader::new(tree);
        let node = loop {
            let node = nodes.next(reader)?.ok_or_else(missing)?;
            match node.name.as_slice().cmp(name) {
                Ordering::Less => {}
                Ordering::Equal => break node,
                Ordering::Greater => return Err(missing()),
            }
        };
        found = match (node.kind, node.tree) {
            (NodeKind::Directory, Some(tree)) => Selected::Directory(tree, Some(Box::new(node))),
            _ => Selected::Entry(Box::new(node)),
        };
    }
    Ok(found)
}
