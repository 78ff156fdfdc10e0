//! The parent snapshot, read in step with the walk: what did not change is taken over without being read.

use crate::files::Entry;
use crate::format::{Content, Extent, Node, NodeKind, Snapshot, Time};
use crate::repo::{ChunkReader, ExtentReader, RepoError, TreeReader};

/// A moment before the start of a run: file systems stamp with a clock that ticks 100 to 1,000 times a second.
fn before(start: Time) -> Time {
    const TICKS: i64 = 20_000_000;
    let nanos = i64::from(start.nanos) - TICKS;
    let seconds = start.seconds.saturating_add(nanos.div_euclid(1_000_000_000));
    Time { seconds, nanos: u32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap_or(0) }
}

/// Position in the trees of the parent: one cursor for each directory that the walk is in.
#[derive(Debug)]
pub(super) struct ParentCursor {
    reader: ChunkReader,
    directories: Vec<Option<Cursor>>,
    /// What changed later than this may have changed again in the same tick of the file system's clock.
    before: Option<Time>,
    trouble: Vec<RepoError>,
}

#[derive(Debug)]
struct Cursor {
    tree: TreeReader,
    /// The next node, read already.
    next: Option<Node>,
    /// Whether the tree is read to its end.
    ended: bool,
}

impl ParentCursor {
    /// At the top of the tree of `parent`, or nowhere.
    pub(super) fn new(reader: ChunkReader, parent: Option<&Snapshot>) -> Self {
        let before = parent.map(|parent| before(parent.time));
        let root = parent.map(|parent| parent.root);
        let cursor = root.map(|id| Cursor { tree: TreeReader::new(id), next: None, ended: false });
        Self { reader, directories: vec![cursor], before, trouble: Vec::new() }
    }

    /// Goes into a directory; gives the parent's node of it.
    pub(super) fn enter(&mut self, name: &[u8]) -> Option<Node> {
        let node = self.find(name).filter(|node| node.kind == NodeKind::Directory);
        let tree = node.as_ref().and_then(|node| node.tree).map(TreeReader::new);
        self.directories.push(tree.map(|tree| Cursor { tree, next: None, ended: false }));
        node
    }

    /// Goes back out of the directory entered last.
    pub(super) fn leave(&mut self) {
        self.directories.pop();
    }

    /// The parent's node of this name in the current directory. Names must be asked for in ascending order.
    pub(super) fn find(&mut self, name: &[u8]) -> Option<Node> {
        let cursor = self.directories.last_mut()?.as_mut()?;
        loop {
            match &cursor.next {
                Some(node) if node.name.as_slice() == name => return cursor.next.take(),
                Some(node) if node.name.as_slice() > name => return None,
                _ if cursor.ended => return None,
                _ => {}
            }
            match cursor.tree.next(&mut self.reader) {
                Ok(node) => {
                    cursor.ended = node.is_none();
                    cursor.next = node;
                }
                Err(error) => {
                    self.trouble.push(error);
                    cursor.next = None;
                    cursor.ended = true;
                }
            }
        }
    }

    /// Takes content, attributes and flags over when `entry` is the file that `known` was and all its chunks are there.
    pub(super) fn take_over(&mut self, entry: &mut Entry, known: Node) -> bool {
        let node = &mut entry.node;
        let same = known.kind == NodeKind::File
            && node.size == known.size
            && node.mtime == known.mtime
            && node.ctime == known.ctime
            && node.inode == known.inode
            && self.is_settled(known.ctime);
        let Some(content) = known.content.filter(|_| same) else {
            return false;
        };
        if !self.is_stored(&content, known.size) {
            return false;
        }
        (node.content, node.xattrs, node.flags) = (Some(content), known.xattrs, known.flags);
        true
    }

    fn is_stored(&mut self, content: &Content, size: u64) -> bool {
        let mut extents = ExtentReader::new(content, size);
        loop {
            match extents.next(&mut self.reader) {
                Ok(None) => return true,
                Ok(Some(Extent::Hole { .. })) => {}
                Ok(Some(Extent::Chunk { id, length })) => {
                    if self.reader.index().length(&id) != Some(length) {
                        return false;
                    }
                }
                Err(error) => {
                    self.trouble.push(error);
                    return false;
                }
            }
        }
    }

    /// Whether this time of the last change tells any later change from it.
    pub(super) fn is_settled(&self, ctime: Option<Time>) -> bool {
        ctime.is_some() && ctime < self.before
    }

    /// What of the parent could not be read; its files are read again.
    pub(super) fn take_trouble(&mut self) -> Vec<RepoError> {
        std::mem::take(&mut self.trouble)
    }
}
