//! From the snapshots down: every directory is read once, every chunk it needs is looked up.

use super::pack::Shared;
use super::{CheckError, Lost};
use crate::base::cancel::Cancel;
use crate::format::{ChunkId, Content, Extent, Node, PackKind, Snapshot};
use crate::repo::{ChunkReader, ChunkSet, ExtentReader, Index, Located, NamedSnapshot, RepoError, TreeReader};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What of the index cannot be had.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    pub(super) blocks: HashSet<u32>,
    pub(super) copies: HashSet<(u32, u32)>,
    /// Whether some index object could not be read this time: what is not in the index may be in that.
    pub(super) index_unread: bool,
    /// Blocks that could not be read this time.
    pub(super) unread: HashSet<u32>,
}

/// Why something cannot be had.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    pub(super) reason: String,
    pub(super) is_certain: bool,
}

impl Gaps {
    pub(super) fn add(&mut self, blocks: Vec<u32>, copies: Vec<(u32, u32)>) {
        self.blocks.extend(blocks);
        self.copies.extend(copies);
    }

    /// Whether a copy of a chunk is damaged.
    pub(super) fn is_bad(&self, place: &Located) -> bool {
        self.blocks.contains(&place.block) || self.copies.contains(&(place.block, place.start))
    }

    /// Whether a chunk of this length can be had, or why not.
    pub(super) fn look(&self, index: &Index, kind: PackKind, id: &ChunkId, length: Option<u32>) -> Result<(), Loss> {
        let mut bad: Option<Loss> = None;
        for place in index.locate_all(kind, id) {
            let is_certain = !self.unread.contains(&place.block);
            let reason = if length.is_some_and(|length| length != place.length) {
                format!("chunk {id} has {} bytes instead of {}", place.length, length.unwrap_or(0))
            } else if !is_certain {
                format!("chunk {id} lies in `{}`, which cannot be read", index.block_place(place.block).pack)
            } else if self.is_bad(&place) {
                format!("chunk {id} lies in `{}`, which is damaged", index.block_place(place.block).pack)
            } else {
                return Ok(());
            };
            let is_certain = is_certain && bad.is_none_or(|bad| bad.is_certain);
            bad = Some(Loss { reason, is_certain });
        }
        Err(bad.unwrap_or_else(|| Loss {
            reason: RepoError::MissingChunk(*id).to_string(),
            is_certain: !self.index_unread,
        }))
    }

    /// What an error says of what is stored.
    pub(super) fn loss(&self, error: &RepoError) -> Loss {
        let missing = matches!(error, RepoError::MissingChunk(_));
        Loss { reason: error.to_string(), is_certain: error.is_damage() && !(missing && self.index_unread) }
    }
}

/// Looks at everything that can be reached from the roots of snapshots.
pub(super) struct Walk<'w> {
    ground: &'w Shared,
    gaps: &'w Gaps,
    cancel: &'w Cancel,
    /// Directories that were taken up.
    seen: ChunkSet,
    /// Extent lists that were gone through, with the length they cover.
    lists: Mutex<HashMap<ChunkId, u64>>,
    queue: Mutex<Queue>,
    ready: Condvar,
    damaged: AtomicBool,
    pub(super) directories: AtomicU64,
    pub(super) entries: AtomicU64,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<ChunkId>,
    busy: usize,
    failed: Option<CheckError>,
}

impl<'w> Walk<'w> {
    pub(super) fn new(ground: &'w Shared, gaps: &'w Gaps, cancel: &'w Cancel) -> Self {
        Self {
            ground,
            gaps,
            cancel,
            seen: ChunkSet::new(&ground.1),
            lists: Mutex::default(),
            queue: Mutex::default(),
            ready: Condvar::new(),
            damaged: AtomicBool::new(false),
            directories: AtomicU64::new(0),
            entries: AtomicU64::new(0),
        }
    }

    /// Goes through all trees; says whether anything is lost.
    pub(super) fn run(&self, roots: &[ChunkId], threads: usize) -> Result<bool, CheckError> {
        for root in roots {
            self.push(*root);
        }
        std::thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                scope.spawn(|| self.work());
            }
        });
        match self.lock().failed.take() {
            Some(error) => Err(error),
            None => Ok(self.damaged.load(Ordering::Relaxed)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, id: ChunkId) {
        match self.seen.insert(&id) {
            None => self.damaged.store(true, Ordering::Relaxed),
            Some(true) => {
                self.lock().waiting.push(id);
                self.ready.notify_one();
            }
            Some(false) => {}
        }
    }

    fn work(&self) {
        let mut reader = ChunkReader::new(&self.ground.0, &self.ground.1);
        loop {
            let mut queue = self.lock();
            let id = loop {
                if queue.failed.is_some() {
                    return;
                }
                if let Some(id) = queue.waiting.pop() {
                    break id;
                }
                if queue.busy == 0 {
                    self.ready.notify_all();
                    return;
                }
                queue = self.ready.wait(queue).unwrap_or_else(PoisonError::into_inner);
            };
            queue.busy += 1;
            drop(queue);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.directory(id, &mut reader)));
            let mut queue = self.lock();
            queue.busy -= 1;
            match result {
                Ok(Ok(())) => {}
                Ok(Err(error)) => queue.failed = Some(error),
                Err(_) => {
                    queue.failed = Some(RepoError::Engine("a checking thread panicked".to_owned()).into());
                }
            }
            self.ready.notify_all();
        }
    }

    fn directory(&self, id: ChunkId, reader: &mut ChunkReader) -> Result<(), CheckError> {
        if let Some(signal) = self.cancel.requested() {
            return Err(CheckError::Cancelled(signal));
        }
        self.directories.fetch_add(1, Ordering::Relaxed);
        let mut tree = TreeReader::new(id);
        loop {
            match tree.next(reader) {
                Ok(None) => return Ok(()),
                Ok(Some(node)) => match node.tree {
                    Some(below) => self.push(below),
                    None => self.entry(&node, reader)?,
                },
                Err(error) if is_finding(&error) => self.damaged.store(true, Ordering::Relaxed),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn entry(&self, node: &Node, reader: &mut ChunkReader) -> Result<(), CheckError> {
        self.entries.fetch_add(1, Ordering::Relaxed);
        let Some(content) = &node.content else { return Ok(()) };
        let lists = || self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Content::Nested(id) = content
            && lists().get(id) == Some(&node.size)
        {
            return Ok(());
        }
        match content_loss(self.gaps, content, node.size, reader)? {
            Some(_) => self.damaged.store(true, Ordering::Relaxed),
            // Only what is whole need not be looked at again.
            None => {
                if let Content::Nested(id) = content {
                    lists().insert(*id, node.size);
                }
            }
        }
        Ok(())
    }
}

/// Whether an error says something about what is stored; others end the check.
fn is_finding(error: &RepoError) -> bool {
    error.is_damage() || matches!(error, RepoError::Storage(_))
}

/// Why the content of a file cannot be had whole, if so.
pub(super) fn content_loss(
    gaps: &Gaps,
    content: &Content,
    size: u64,
    reader: &mut ChunkReader,
) -> Result<Option<Loss>, CheckError> {
    let index = std::sync::Arc::clone(reader.index());
    let mut extents = ExtentReader::new(content, size);
    loop {
        match extents.next(reader) {
            Ok(None) => return Ok(None),
            Ok(Some(Extent::Hole { .. })) => {}
            Ok(Some(Extent::Chunk { id, length })) => {
                if let Err(loss) = gaps.look(&index, PackKind::Data, &id, Some(length)) {
                    return Ok(Some(loss));
                }
            }
            Err(error) if is_finding(&error) => return Ok(Some(gaps.loss(&error))),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Names what of snapshots is lost, when something is.
pub(super) struct Naming<'n> {
    gaps: &'n Gaps,
    cancel: &'n Cancel,
    reader: ChunkReader,
    /// Directories below which nothing is lost.
    whole: ChunkSet,
    /// Snapshots that others stand for.
    replaced: HashSet<[u8; 32]>,
    tell: &'n mut dyn FnMut(Lost),
}

/// What a repair has written down in a snapshot.
struct Written<'s> {
    paths: HashSet<&'s [u8]>,
    /// Whether there was more of it than a snapshot can hold.
    is_cut: bool,
}

impl<'s> Written<'s> {
    fn of(snapshot: &'s Snapshot) -> Self {
        if !snapshot.is_mended() {
            return Self { paths: HashSet::new(), is_cut: false };
        }
        let paths = snapshot.failed.iter().map(|item| &item.path[..]).collect();
        Self { paths, is_cut: snapshot.statistics.items_failed > snapshot.failed.len() as u64 }
    }

    fn holds(&self, path: &[u8]) -> bool {
        self.is_cut || self.paths.contains(path)
    }
}

struct Frame {
    id: ChunkId,
    tree: TreeReader,
    path: usize,
    lost: bool,
}

impl<'n> Naming<'n> {
    pub(super) fn new(
        ground: &Shared,
        gaps: &'n Gaps,
        cancel: &'n Cancel,
        replaced: HashSet<[u8; 32]>,
        tell: &'n mut dyn FnMut(Lost),
    ) -> Self {
        let reader = ChunkReader::new(&ground.0, &ground.1);
        Self { gaps, cancel, reader, whole: ChunkSet::new(&ground.1), replaced, tell }
    }

    /// Names what is lost of one snapshot.
    pub(super) fn snapshot(&mut self, named: &NamedSnapshot, forgotten: bool) -> Result<(), CheckError> {
        let mut path = Vec::new();
        let mut open =
            vec![Frame { id: named.snapshot.root, tree: TreeReader::new(named.snapshot.root), path: 0, lost: false }];
        let replaced = self.replaced.contains(&named.name);
        let written = Written::of(&named.snapshot);
        let lost = |path: &[u8], loss: Loss| {
            let Loss { reason, is_certain } = loss;
            let path = if path.is_empty() { b"/".to_vec() } else { path.to_vec() };
            let known = replaced || written.holds(&path);
            Lost { snapshot: named.name, forgotten, path, reason, is_certain, known }
        };
        while let Some(frame) = open.last_mut() {
            if let Some(signal) = self.cancel.requested() {
                return Err(CheckError::Cancelled(signal));
            }
            path.truncate(frame.path);
            match frame.tree.next(&mut self.reader) {
                Ok(Some(node)) => {
                    path.push(b'/');
                    path.extend_from_slice(&node.name);
                    if let Some(tree) = node.tree {
                        if !self.whole.contains(&tree) {
                            let path = path.len();
                            open.push(Frame { id: tree, tree: TreeReader::new(tree), path, lost: false });
                        }
                    } else if let Some(content) = &node.content
                        && let Some(loss) = content_loss(self.gaps, content, node.size, &mut self.reader)?
                    {
                        frame.lost = true;
                        (self.tell)(lost(&path, loss));
                    }
                }
                Ok(None) => {
                    let Some(done) = open.pop() else { break };
                    if done.lost {
                        open.last_mut().into_iter().for_each(|above| above.lost = true);
                    } else {
                        self.whole.insert(&done.id);
                    }
                }
                Err(error) if is_finding(&error) => {
                    frame.lost = true;
                    let mut why = self.gaps.loss(&error);
                    why.reason = format!("some of what is in it cannot be listed: {error}");
                    (self.tell)(lost(&path, why));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
