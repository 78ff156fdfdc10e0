//! The walk over the trees: makes directories and everything without content, and collects pieces of files for rounds.

use super::file::{Fate, File, Loss, Site, is_full};
use super::round::{Job, Outcome, Piece, run_round};
use super::{RestoreError, RestoreReport, Selected};
use crate::base::meter::Meter;
use crate::files::DirId;
use crate::format::{Content, Extent, FailedItem, Node, NodeKind, PackKind, Time};
use crate::repo::{ChunkReader, ExtentReader, TreeReader};
use std::collections::HashMap;

/// A round is executed with so many pieces or files; a piece takes 24 bytes.
const ROUND_PIECES: usize = 1 << 20;
const ROUND_FILES: usize = 1 << 16;

/// What makes two nodes names of one file, apart from content.
type LinkKey = (u32, u64, Option<Time>, NodeKind);

/// A name that waits until the file it is a link to is in its place.
#[derive(Debug)]
struct Link {
    first: (DirId, Vec<u8>),
    dir: DirId,
    node: Node,
}

/// The plan of a restore.
pub(super) struct Plan<'j> {
    job: &'j Job<'j>,
    reader: ChunkReader,
    outcome: Outcome,
    site: Site<'j>,
    files: Vec<File>,
    pieces: Vec<Piece>,
    linked: HashMap<LinkKey, (DirId, Node)>,
    links: Vec<Link>,
}

impl<'j> Plan<'j> {
    pub(super) fn new(job: &'j Job<'j>) -> Self {
        Self {
            job,
            reader: ChunkReader::new(job.repository, job.index),
            outcome: Outcome::default(),
            site: Site::new(job.target),
            files: Vec::new(),
            pieces: Vec::new(),
            linked: HashMap::new(),
            links: Vec::new(),
        }
    }

    pub(super) fn run(mut self, selected: &Selected) -> Result<RestoreReport, RestoreError> {
        match selected {
            Selected::Directory(tree, node) => {
                if let Some(node) = node {
                    self.job.target.describe_directory(DirId::TOP, (**node).clone());
                }
                self.walk(TreeReader::new(*tree))?;
            }
            Selected::Entry(node) => self.entry(DirId::TOP, (**node).clone())?,
        }
        self.job.watch.meter.total_known.store(true, std::sync::atomic::Ordering::Relaxed);
        self.round()?;
        for link in std::mem::take(&mut self.links) {
            self.link(link)?;
        }
        self.round()?;
        let errors = self.job.target.finish_directories();
        self.outcome.metadata(self.job.watch, errors);
        if let Err(error) = self.job.target.sync() {
            // What was written may not be there after a power cut.
            if is_full(&error) {
                return Err(RestoreError::NoSpace(error));
            }
            self.failed(self.job.target.path(DirId::TOP, b""), format!("making it durable: {error}"));
        }
        let report = std::mem::take(&mut *self.outcome.report());
        Ok(report)
    }

    fn walk(&mut self, top: TreeReader) -> Result<(), RestoreError> {
        let mut open = vec![(DirId::TOP, top)];
        while let Some((dir, tree)) = open.last_mut() {
            if let Some(signal) = self.job.watch.cancel.requested() {
                return Err(RestoreError::Cancelled(signal));
            }
            let dir = *dir;
            let node = match tree.next(&mut self.reader) {
                Ok(Some(node)) => node,
                Ok(None) => {
                    open.pop();
                    continue;
                }
                Err(error) => {
                    // One piece of the directory is lost; the pieces behind it come with the next calls.
                    let (reason, damage) = (format!("some of what is in it is lost: {error}"), error.is_damage());
                    let path = self.job.target.path(dir, b"");
                    self.outcome.lost(self.job.watch, path, Loss { reason, damage });
                    continue;
                }
            };
            match node.tree {
                Some(tree) => {
                    if let Some(below) = self.directory(dir, node) {
                        open.push((below, TreeReader::new(tree)));
                    }
                }
                None => self.entry(dir, node)?,
            }
        }
        Ok(())
    }

    fn directory(&mut self, dir: DirId, node: Node) -> Option<DirId> {
        match self.job.target.add_directory(dir, &node.name) {
            Ok(below) => {
                self.job.target.describe_directory(below, node);
                self.outcome.report().directories += 1;
                Some(below)
            }
            Err(error) => {
                let path = self.job.target.path(dir, &node.name);
                self.failed(path, error.source.to_string());
                None
            }
        }
    }

    fn entry(&mut self, dir: DirId, node: Node) -> Result<(), RestoreError> {
        let key = (node.device, node.inode, node.ctime, node.kind);
        if node.links > 1 && node.device != 0 && node.ctime.is_some() {
            match self.linked.get(&key) {
                Some((first, known)) if same_file(known, &node) => {
                    self.links.push(Link { first: (*first, known.name.clone()), dir, node });
                    return Ok(());
                }
                Some(_) => {}
                None => drop(self.linked.insert(key, (dir, node.clone()))),
            }
        }
        self.make(dir, node)
    }

    /// Makes an entry that is not a directory, whatever its other names are.
    fn make(&mut self, dir: DirId, node: Node) -> Result<(), RestoreError> {
        if let Some(content) = node.content.clone() {
            return self.file(dir, node, &content);
        }
        match self.job.target.create_special(dir, &node) {
            Ok(errors) => {
                self.outcome.report().others += 1;
                if node.links > 1 {
                    self.outcome.set_linkable(dir, &node.name);
                }
                self.outcome.metadata(self.job.watch, errors);
            }
            Err(error) => self.failed(self.job.target.path(dir, &node.name), error.source.to_string()),
        }
        Ok(())
    }

    fn file(&mut self, dir: DirId, node: Node, content: &Content) -> Result<(), RestoreError> {
        let meter = &self.job.watch.meter;
        Meter::add(&meter.files_total, 1);
        Meter::add(&meter.bytes_total, node.size);
        let mut extents = ExtentReader::new(content, node.size);
        self.files.push(File::new(dir, node));
        let mut offset = 0;
        loop {
            match extents.next(&mut self.reader) {
                Ok(None) => break,
                Ok(Some(Extent::Hole { length })) => offset += length,
                Ok(Some(Extent::Chunk { id, length })) => {
                    self.chunk(&id, length, offset)?;
                    offset += u64::from(length);
                }
                Err(error) => {
                    self.lose(offset, error.into())?;
                    break;
                }
            }
            if self.pieces.len() >= ROUND_PIECES {
                self.round()?;
            }
        }
        if let Content::Inline(bytes) = content
            && !bytes.is_empty()
        {
            self.last().expect_piece();
            let fate = self.last().piece(&self.site, 0, Ok(bytes));
            debug_assert!(matches!(fate, Ok(None) | Err(_)), "the plan still holds the file");
            fate.map_err(RestoreError::NoSpace)?;
        }
        let file = self.files.pop().expect("it was pushed above");
        match file.planned(&self.site).map_err(RestoreError::NoSpace)? {
            Some(fate) => self.settle(&file, fate),
            None => self.files.push(file),
        }
        if self.files.len() >= ROUND_FILES { self.round() } else { Ok(()) }
    }

    fn last(&self) -> &File {
        self.files.last().expect("a file is being planned")
    }

    fn chunk(&mut self, id: &crate::format::ChunkId, length: u32, offset: u64) -> Result<(), RestoreError> {
        match self.job.index.locate(PackKind::Data, id) {
            Some(place) if place.length == length => {
                self.last().expect_piece();
                let file = u32::try_from(self.files.len() - 1).expect("a round has few files");
                self.pieces.push(Piece { block: place.block, start: place.start, length, file, offset });
                Ok(())
            }
            Some(_) => self.lose(offset, Loss::damage(format!("chunk {id} has another length"))),
            None => self.lose(offset, Loss::damage(format!("chunk {id} is not in the index"))),
        }
    }

    /// Notes that a piece of the file that is being planned cannot be had.
    fn lose(&mut self, offset: u64, loss: Loss) -> Result<(), RestoreError> {
        self.last().expect_piece();
        let fate = self.last().piece(&self.site, offset, Err(loss));
        fate.map(|_| ()).map_err(RestoreError::NoSpace)
    }

    /// Executes what is planned; a file that is still being planned stays.
    fn round(&mut self) -> Result<(), RestoreError> {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.sort_unstable_by_key(|piece| (piece.block, piece.start, piece.file, piece.offset));
        run_round(self.job, &self.files, &pieces, &self.site, &self.outcome)?;
        let unfinished = self.files.pop().filter(File::is_waiting);
        self.files.clear();
        self.files.extend(unfinished);
        Ok(())
    }

    fn settle(&self, file: &File, fate: Fate) {
        self.outcome.settle(self.job, file, fate);
    }

    /// Makes a name a link to the first one, if that is in its place; else an entry of its own.
    fn link(&mut self, link: Link) -> Result<(), RestoreError> {
        let Link { first: (first_dir, first_name), dir, node } = link;
        if !self.outcome.is_linkable(first_dir, &first_name) {
            return self.make(dir, node);
        }
        let target = self.job.target;
        match target.create_hard_link((first_dir, &first_name), dir, &node.name) {
            Ok(()) if node.kind == NodeKind::File => {
                self.outcome.report().files += 1;
                Meter::add(&self.job.watch.meter.files_done, 1);
                Ok(())
            }
            Ok(()) => {
                self.outcome.report().others += 1;
                Ok(())
            }
            Err(error) => {
                let reason = format!("it is a file of its own, because a hard link failed: {}", error.source);
                self.failed(target.path(dir, &node.name), reason);
                self.make(dir, node)
            }
        }
    }

    fn failed(&self, path: Vec<u8>, reason: String) {
        self.outcome.failed(self.job.watch, FailedItem { path, reason });
    }
}

fn same_file(a: &Node, b: &Node) -> bool {
    a.size == b.size && a.content == b.content && a.target == b.target && a.rdev == b.rdev
}
