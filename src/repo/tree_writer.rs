//! Writing directories and extent lists as tree chunks, large ones in pieces cut by their own content, so that one new
//! entry rewrites one piece a level (`repo-format.md`, chapters 9 and 10).

use super::{RepoError, Session};
use crate::format::limits::NODE_EXTENTS_MAX;
use crate::format::{ChunkId, Content, Extent, Node, TreeChunk};

/// A list of up to this many entries and bytes stays in one piece.
const WHOLE_MAX: usize = 1_024;
const WHOLE_BYTES: usize = 1 << 20;
/// A piece of a longer list ends behind an entry that says so, between these numbers of entries and at most these bytes.
const PIECE_MIN: usize = 64;
const PIECE_MAX: usize = 1_024;
const PIECE_BYTES: usize = 512 << 10;

/// Something that pieces are lists of. A piece stands in the branch above it as a pair of key and id.
trait Entry: Sized {
    type Key;
    /// About the bytes it takes.
    fn weight(&self) -> usize;
    /// Whether a piece may end behind it: one entry of 256.
    fn ends_piece(&self) -> bool;
    /// What the branch above says of a piece.
    fn key(entries: &[Self]) -> Self::Key;
    fn encode(entries: Vec<Self>) -> TreeChunk;
}

impl Entry for Node {
    type Key = Vec<u8>;

    fn weight(&self) -> usize {
        let xattrs: usize = self.xattrs.iter().map(|x| x.name.len() + x.value.len() + 8).sum();
        let content = match &self.content {
            Some(Content::Extents(extents)) => extents.len() * 40,
            Some(Content::Inline(bytes)) => bytes.len(),
            _ => 34,
        };
        160 + self.name.len() + self.target.len() + xattrs + content
    }

    fn ends_piece(&self) -> bool {
        blake3::hash(&self.name).as_bytes()[0] == 0
    }

    fn key(entries: &[Self]) -> Vec<u8> {
        entries.last().map(|node| node.name.clone()).unwrap_or_default()
    }

    fn encode(entries: Vec<Self>) -> TreeChunk {
        TreeChunk::Leaf(entries)
    }
}

impl Entry for (Vec<u8>, ChunkId) {
    type Key = Vec<u8>;

    fn weight(&self) -> usize {
        self.0.len() + 40
    }

    fn ends_piece(&self) -> bool {
        self.1.0[0] == 0
    }

    fn key(entries: &[Self]) -> Vec<u8> {
        entries.last().map(|(name, _)| name.clone()).unwrap_or_default()
    }

    fn encode(entries: Vec<Self>) -> TreeChunk {
        TreeChunk::Branch(entries)
    }
}

impl Entry for Extent {
    type Key = u64;

    fn weight(&self) -> usize {
        40
    }

    fn ends_piece(&self) -> bool {
        matches!(self, Self::Chunk { id, .. } if id.0[0] == 0)
    }

    fn key(entries: &[Self]) -> u64 {
        entries.iter().map(Extent::len).sum()
    }

    fn encode(entries: Vec<Self>) -> TreeChunk {
        TreeChunk::ExtentLeaf(entries)
    }
}

impl Entry for (u64, ChunkId) {
    type Key = u64;

    fn weight(&self) -> usize {
        44
    }

    fn ends_piece(&self) -> bool {
        self.1.0[0] == 0
    }

    fn key(entries: &[Self]) -> u64 {
        entries.iter().map(|(length, _)| length).sum()
    }

    fn encode(entries: Vec<Self>) -> TreeChunk {
        TreeChunk::ExtentBranch(entries)
    }
}

/// One level of a list: the open piece.
#[derive(Debug)]
struct Level<E> {
    open: Vec<E>,
    bytes: usize,
    /// Whether the list was too long for one piece.
    split: bool,
}

impl<E: Entry> Level<E> {
    fn new() -> Self {
        Self { open: Vec::new(), bytes: 0, split: false }
    }

    /// Adds an entry; gives the pieces that ended by it.
    fn push(&mut self, entry: E) -> Vec<Vec<E>> {
        if self.split {
            return self.push_split(entry);
        }
        self.bytes += entry.weight();
        self.open.push(entry);
        if self.open.len() <= WHOLE_MAX && self.bytes <= WHOLE_BYTES {
            return Vec::new();
        }
        (self.split, self.bytes) = (true, 0);
        std::mem::take(&mut self.open).into_iter().flat_map(|entry| self.push_split(entry)).collect()
    }

    fn push_split(&mut self, entry: E) -> Vec<Vec<E>> {
        let mut ended = Vec::new();
        let weight = entry.weight();
        if !self.open.is_empty() && self.bytes + weight > WHOLE_BYTES {
            ended.push(self.end());
        }
        let ends = entry.ends_piece();
        self.bytes += weight;
        self.open.push(entry);
        let count = self.open.len();
        if count >= PIECE_MAX || self.bytes >= PIECE_BYTES || (ends && count >= PIECE_MIN) {
            ended.push(self.end());
        }
        ended
    }

    fn end(&mut self) -> Vec<E> {
        self.bytes = 0;
        std::mem::take(&mut self.open)
    }
}

/// A list with the branches above it.
#[derive(Debug)]
struct Pieces<E: Entry> {
    bottom: Level<E>,
    above: Vec<Level<(E::Key, ChunkId)>>,
}

impl<E: Entry> Pieces<E>
where
    (E::Key, ChunkId): Entry<Key = E::Key>,
{
    fn new() -> Self {
        Self { bottom: Level::new(), above: Vec::new() }
    }

    fn push(&mut self, session: &mut Session, entry: E) -> Result<(), RepoError> {
        for piece in self.bottom.push(entry) {
            let stored = store(session, piece)?;
            self.raise(session, 0, stored)?;
        }
        Ok(())
    }

    /// Adds a stored piece to the branch at `level`, and so on upwards.
    fn raise(&mut self, session: &mut Session, level: usize, stored: (E::Key, ChunkId)) -> Result<(), RepoError> {
        if self.above.len() == level {
            self.above.push(Level::new());
        }
        for piece in self.above[level].push(stored) {
            let stored = store(session, piece)?;
            self.raise(session, level + 1, stored)?;
        }
        Ok(())
    }

    /// Stores what is open and gives the id of the top.
    fn finish(mut self, session: &mut Session) -> Result<ChunkId, RepoError> {
        let rest = self.bottom.end();
        if !self.bottom.split {
            return Ok(store(session, rest)?.1);
        }
        if !rest.is_empty() {
            let stored = store(session, rest)?;
            self.raise(session, 0, stored)?;
        }
        for level in 0.. {
            let rest = self.above[level].end();
            if !self.above[level].split {
                return Ok(store(session, rest)?.1);
            }
            if !rest.is_empty() {
                let stored = store(session, rest)?;
                self.raise(session, level + 1, stored)?;
            }
        }
        unreachable!("the top level is never split")
    }
}

fn store<E: Entry>(session: &mut Session, entries: Vec<E>) -> Result<(E::Key, ChunkId), RepoError> {
    let key = E::key(&entries);
    Ok((key, session.add_tree(&E::encode(entries).to_bytes())?))
}

/// Takes the nodes of one directory in the order of their names.
#[derive(Debug)]
pub struct DirectoryWriter(Pieces<Node>);

impl Default for DirectoryWriter {
    fn default() -> Self {
        Self(Pieces::new())
    }
}

impl DirectoryWriter {
    /// Adds the next node.
    ///
    /// # Errors
    /// As [`Session::add_tree`].
    pub fn push(&mut self, session: &mut Session, node: Node) -> Result<(), RepoError> {
        self.0.push(session, node)
    }

    /// Stores the rest and gives the id of the directory's tree.
    ///
    /// # Errors
    /// As [`Session::add_tree`].
    pub fn finish(self, session: &mut Session) -> Result<ChunkId, RepoError> {
        self.0.finish(session)
    }
}

/// Takes the extents of one file in their order.
#[derive(Debug, Default)]
pub struct ExtentWriter {
    few: Vec<Extent>,
    many: Option<Pieces<Extent>>,
    length: u64,
}

impl ExtentWriter {
    /// Adds the next extent; neighbouring holes become one.
    ///
    /// # Errors
    /// As [`Session::add_tree`].
    pub fn push(&mut self, session: &mut Session, extent: Extent) -> Result<(), RepoError> {
        self.length += extent.len();
        if let (Some(Extent::Hole { length }), Extent::Hole { length: more }) = (self.few.last_mut(), extent) {
            *length += more;
            return Ok(());
        }
        // The last extent stays here, because a hole may still grow.
        self.few.push(extent);
        if self.many.is_none() && self.few.len() <= NODE_EXTENTS_MAX {
            return Ok(());
        }
        let last = self.few.pop();
        let many = self.many.get_or_insert_with(Pieces::new);
        for extent in self.few.drain(..) {
            many.push(session, extent)?;
        }
        self.few.extend(last);
        Ok(())
    }

    /// Bytes of the file so far.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The file's content; long lists are stored as tree chunks.
    ///
    /// # Errors
    /// As [`Session::add_tree`].
    pub fn finish(self, session: &mut Session) -> Result<Content, RepoError> {
        let Some(mut many) = self.many else {
            return Ok(Content::Extents(self.few));
        };
        for extent in self.few {
            many.push(session, extent)?;
        }
        Ok(Content::Nested(many.finish(session)?))
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, PIECE_MAX};
    use crate::format::{Node, NodeKind};

    fn pieces(names: impl Iterator<Item = u32>) -> Vec<Vec<Node>> {
        let mut level = Level::new();
        let node = |n: u32| Node::new(format!("{n:09}").as_bytes(), NodeKind::Fifo);
        let mut pieces: Vec<_> = names.flat_map(|n| level.push(node(n))).collect();
        pieces.push(level.end());
        pieces
    }

    #[test]
    fn a_list_is_cut_only_when_it_is_long_and_nothing_is_lost() {
        assert_eq!(pieces(0..1024).len(), 1);
        let long = pieces(0..10_000);
        assert!((15..60).contains(&long.len()), "{}", long.len());
        assert!(long.iter().all(|piece| piece.len() <= PIECE_MAX));
        let names: Vec<_> = long.concat().into_iter().map(|node| node.name).collect();
        assert_eq!(names, (0..10_000).map(|n| format!("{n:09}").into_bytes()).collect::<Vec<_>>());
    }

    #[test]
    fn one_new_name_changes_one_or_two_pieces() {
        let (before, after) = (pieces((0..10_000).filter(|n| *n != 5_000)), pieces(0..10_000));
        let changed = after.iter().filter(|piece| !before.contains(piece)).count();
        assert!((1..=2).contains(&changed), "{changed}");
    }

    #[test]
    fn large_entries_make_small_pieces() {
        let mut level = Level::new();
        let mut count = 0;
        for n in 0..100_u32 {
            let mut node = Node::new(&n.to_be_bytes().map(|b| b + 1), NodeKind::Symlink);
            node.target = vec![b'x'; 60_000];
            count += level.push(node).iter().inspect(|piece| assert!(piece.len() <= 20)).count();
        }
        assert!(count > 4, "{count}");
    }
}
