//! The assembly: takes steps and packets in order, deduplicates chunks and builds the trees.

use super::parent::ParentCursor;
use super::pause::Pauses;
use super::read::{Ended, Found, Packet, ReaderKit, read_batches};
use super::scan::{Outlets, Plan, Scan, Step};
use super::{About, ArchiveError, Watch};
use crate::base::meter::Meter;
use crate::files::{Entry, Event, Walker};
use crate::format::limits::SNAPSHOT_ITEMS_MAX;
use crate::format::{ChunkId, Content, Extent, FailedItem, Node, NodeKind, PackKind, Statistics};
use crate::repo::{ChunkReader, DirectoryWriter, ExtentWriter, RepoError, Session};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// When a run has lasted so long, what there is to do is counted.
const ESTIMATE_AFTER: Duration = Duration::from_millis(1_500);
/// Steps that the scan may be ahead.
const STEPS_AHEAD: usize = 4_096;

/// What was saved, before it is committed.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) root: ChunkId,
    pub(super) statistics: Statistics,
    pub(super) failed: Vec<FailedItem>,
    /// Damage met in the repository.
    pub(super) damage: Vec<String>,
    pub(super) partial: bool,
}

/// Saves the trees of `plan`.
pub(super) fn paths(
    session: &mut Session,
    plan: &Plan,
    about: &About,
    watch: &Watch<'_>,
) -> Result<Saved, ArchiveError> {
    let readers = about.readers.max(1);
    let batches = readers + 2;
    let (steps_in, steps) = bounded(STEPS_AHEAD);
    let (work_in, work) = bounded(batches);
    let (token, tokens) = bounded(batches);
    let (spare_in, spare) = bounded(2 * batches);
    for () in std::iter::repeat_n((), batches) {
        token.send(()).map_err(|_| stopped())?;
    }
    let repository = Arc::clone(session.repository());
    let chunker = Arc::new(repository.chunker());
    let kit = ReaderKit { chunker, keys: Arc::clone(repository.keys()), spare, cancel: watch.cancel.clone() };
    let reader = ChunkReader::new(&repository, session.index());
    let parent = ParentCursor::new(reader, plan.parent.as_ref().map(|parent| &parent.snapshot));
    let scan = Scan::new(parent, Outlets { steps: steps_in, work: work_in, tokens });
    let ended = AtomicBool::new(false);
    let (running, over) = bounded::<()>(0);
    std::thread::scope(|scope| {
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let walker = Walker::new(&plan.roots, plan.selection.clone());
        thread("scan").spawn_scoped(scope, move || scan.run(walker)).map_err(RepoError::from)?;
        for n in 0..readers {
            let (kit, work) = (kit.clone(), work.clone());
            let read = move || read_batches(&kit, &work);
            thread(&format!("read-{n}")).spawn_scoped(scope, read).map_err(RepoError::from)?;
        }
        drop((kit, work));
        if about.estimate {
            let (meter, ended, over) = (&watch.meter, &ended, over.clone());
            // A run that is over in a moment needs no estimate of its end.
            let count = move || {
                if over.recv_timeout(ESTIMATE_AFTER) == Err(RecvTimeoutError::Timeout) {
                    estimate(plan, meter, ended);
                }
            };
            thread("estimate").spawn_scoped(scope, count).map_err(RepoError::from)?;
        }
        let inlets = Inlets { steps, batch: None, packet: Packet::default().into(), token, spare: spare_in };
        let saved = Assembly::new(session, about, watch).run(inlets);
        ended.store(true, Ordering::Relaxed);
        drop(running);
        saved
    })
}

fn stopped() -> RepoError {
    RepoError::Engine("a reading thread has stopped".to_owned())
}

/// Counts what there is to do, until the run has ended.
fn estimate(plan: &Plan, meter: &Meter, ended: &AtomicBool) {
    for event in Walker::new(&plan.roots, plan.selection.clone()) {
        if ended.load(Ordering::Relaxed) {
            return;
        }
        if let Event::Entry(entry) = event
            && entry.node.kind == NodeKind::File
        {
            Meter::add(&meter.files_total, 1);
            Meter::add(&meter.bytes_total, entry.node.size);
        }
    }
    meter.total_known.store(true, Ordering::Relaxed);
}

/// What the readers found in one packet, in order.
struct OpenPacket {
    buffer: Vec<u8>,
    found: std::vec::IntoIter<Found>,
}

impl From<Packet> for OpenPacket {
    fn from(packet: Packet) -> Self {
        Self { buffer: packet.buffer, found: packet.found.into_iter() }
    }
}

struct Inlets {
    steps: Receiver<Step>,
    batch: Option<Receiver<Packet>>,
    packet: OpenPacket,
    token: Sender<()>,
    spare: Sender<Vec<u8>>,
}

impl Inlets {
    /// Makes `packet` hold something that was found.
    fn fetch(&mut self) -> Result<(), RepoError> {
        while self.packet.found.len() == 0 {
            let batch = self.batch.as_ref().ok_or_else(stopped)?;
            let next = batch.recv().map_err(|_| stopped())?;
            self.give_back(next.into());
        }
        Ok(())
    }

    /// Puts `packet` in the place of the old one, whose buffer goes back to the readers.
    fn give_back(&mut self, packet: OpenPacket) {
        let old = std::mem::replace(&mut self.packet, packet);
        if old.buffer.capacity() > 0 {
            let _ = self.spare.try_send(old.buffer);
        }
    }

    /// Begins with the next batch; the one before lets another be handed out.
    fn begin(&mut self, batch: Receiver<Packet>) {
        if self.batch.replace(batch).is_some() {
            let _ = self.token.try_send(());
        }
    }
}

/// A directory that is being filled.
struct Frame {
    entry: Box<Entry>,
    writer: DirectoryWriter,
    /// The name that was added last.
    last: Vec<u8>,
}

struct Assembly<'a, 'w> {
    session: &'a mut Session,
    watch: &'a Watch<'w>,
    root: DirectoryWriter,
    root_last: Vec<u8>,
    frames: Vec<Frame>,
    devices: HashMap<u64, u32>,
    saved: Saved,
    /// Entries that are in the tree, apart from the directories above the roots.
    entries: u64,
    pauses: Pauses,
}

impl<'a, 'w> Assembly<'a, 'w> {
    fn new(session: &'a mut Session, about: &'a About, watch: &'a Watch<'w>) -> Self {
        let pauses = Pauses::new(session, about);
        let statistics = Statistics::default();
        let saved =
            Saved { root: ChunkId([0; 32]), statistics, failed: Vec::new(), damage: Vec::new(), partial: false };
        Self {
            session,
            watch,
            root: DirectoryWriter::default(),
            root_last: Vec::new(),
            frames: Vec::new(),
            devices: HashMap::new(),
            saved,
            entries: 0,
            pauses,
        }
    }

    fn run(mut self, mut inlets: Inlets) -> Result<Saved, ArchiveError> {
        while let Ok(step) = inlets.steps.recv() {
            self.pause()?;
            match step {
                Step::Batch(batch) => inlets.begin(batch),
                Step::Read { known } => self.read(&mut inlets, known)?,
                Step::Unmodified(entry) => {
                    self.saved.statistics.files_unmodified += 1;
                    self.count_file(&entry.node);
                    self.put(*entry)?;
                }
                Step::Take(entry) => {
                    self.saved.statistics.others += 1;
                    self.put(*entry)?;
                }
                Step::Enter(entry) => {
                    self.entries += u64::from(!entry.ancestor);
                    self.frames.push(Frame { entry, writer: DirectoryWriter::default(), last: Vec::new() });
                }
                Step::Leave => self.leave()?,
                Step::Damage(text) => self.saved.damage.push(text),
                Step::Failed(item, root) => {
                    self.saved.partial |= root;
                    self.fail(item);
                }
            }
        }
        self.finish()
    }

    /// Stops when asked to, and makes what is stored findable from time to time.
    fn pause(&mut self) -> Result<(), ArchiveError> {
        self.pauses.pause(self.session, self.watch)
    }

    /// Takes the next file of the batch, chunk by chunk.
    fn read(&mut self, inlets: &mut Inlets, known: bool) -> Result<(), ArchiveError> {
        let mut extents = ExtentWriter::default();
        loop {
            self.pause()?;
            if let Err(error) = inlets.fetch() {
                self.pause()?;
                return Err(error.into());
            }
            let Some(found) = inlets.packet.found.next() else {
                continue;
            };
            let (content, end) = match found {
                Found::Hole(length) => {
                    Meter::add(&self.watch.meter.bytes_done, length);
                    extents.push(self.session, Extent::Hole { length })?;
                    continue;
                }
                Found::Chunk { start, length, id } => {
                    self.session.add(PackKind::Data, id, &inlets.packet.buffer[start..start + length])?;
                    let length = u32::try_from(length).expect("chunks are within their limit");
                    extents.push(self.session, Extent::Chunk { id, length })?;
                    Meter::add(&self.watch.meter.bytes_done, u64::from(length));
                    self.saved.statistics.bytes_read += u64::from(length);
                    continue;
                }
                Found::Inline { start, length, end } => {
                    Meter::add(&self.watch.meter.bytes_done, length as u64);
                    self.saved.statistics.bytes_read += length as u64;
                    (Content::Inline(inlets.packet.buffer[start..start + length].to_vec()), end)
                }
                Found::End(end) if !end.keep => {
                    let reason = end.trouble.unwrap_or_default();
                    self.fail(FailedItem { path: end.entry.path, reason });
                    return Ok(());
                }
                Found::End(end) if extents.length() == 0 => (Content::Inline(Vec::new()), end),
                Found::End(end) => (extents.finish(self.session)?, end),
            };
            return self.end(end, content, known);
        }
    }

    fn end(&mut self, end: Ended, content: Content, known: bool) -> Result<(), ArchiveError> {
        let Ended { mut entry, trouble, .. } = end;
        if let Some(reason) = trouble {
            self.fail(FailedItem { path: entry.path.clone(), reason });
        }
        let statistics = &mut self.saved.statistics;
        *(if known { &mut statistics.files_changed } else { &mut statistics.files_new }) += 1;
        statistics.bytes_total = statistics.bytes_total.saturating_add(entry.node.size);
        Meter::add(&self.watch.meter.files_done, 1);
        self.watch.meter.set_current(&entry.path);
        entry.node.content = Some(content);
        self.put(entry)
    }

    fn count_file(&mut self, node: &Node) {
        let total = &mut self.saved.statistics.bytes_total;
        *total = total.saturating_add(node.size);
        Meter::add(&self.watch.meter.files_done, 1);
        Meter::add(&self.watch.meter.bytes_done, node.size);
    }

    /// Adds an entry to the directory that is being filled.
    fn put(&mut self, mut entry: Entry) -> Result<(), ArchiveError> {
        if let Err(error) = entry.node.check_limits() {
            // A tree that holds it could not be read again.
            self.fail(FailedItem { path: entry.path, reason: error.to_string() });
            return Ok(());
        }
        self.entries += 1;
        let path = std::mem::take(&mut entry.path);
        let node = self.numbered(entry);
        self.push(node, path)
    }

    /// Adds a node to the directory that is being filled, unless its name does not follow the last one: a tree that
    /// is not in order could not be read again.
    fn push(&mut self, node: Node, path: Vec<u8>) -> Result<(), ArchiveError> {
        let (writer, last) = match self.frames.last_mut() {
            Some(frame) => (&mut frame.writer, &mut frame.last),
            None => (&mut self.root, &mut self.root_last),
        };
        if *last >= node.name {
            let reason = "its name came twice or out of order".to_owned();
            self.fail(FailedItem { path, reason });
            return Ok(());
        }
        last.clone_from(&node.name);
        Ok(writer.push(self.session, node)?)
    }

    /// The entry's node with the number of its file system in this snapshot.
    fn numbered(&mut self, entry: Entry) -> Node {
        let mut node = entry.node;
        if !entry.ancestor {
            let next = u32::try_from(self.devices.len() + 1).unwrap_or(0);
            node.device = *self.devices.entry(entry.device).or_insert(next);
        }
        node
    }

    fn leave(&mut self) -> Result<(), ArchiveError> {
        let frame = self.frames.pop().expect("the walk leaves only what it entered");
        let tree = frame.writer.finish(self.session)?;
        self.saved.statistics.directories += u64::from(!frame.entry.ancestor);
        let path = frame.entry.path.clone();
        let mut node = self.numbered(*frame.entry);
        node.tree = Some(tree);
        if let Err(error) = node.check_limits() {
            // Rather the directory without its attributes than none of what is in it.
            self.fail(FailedItem { path: path.clone(), reason: error.to_string() });
            (node.xattrs, node.user, node.group) = (Vec::new(), None, None);
            if node.check_limits().is_err() {
                // It is the name, without which there is no directory.
                return Ok(());
            }
        }
        self.push(node, path)
    }

    fn fail(&mut self, item: FailedItem) {
        Meter::add(&self.watch.meter.failed, 1);
        (self.watch.failed)(&item);
        self.saved.statistics.items_failed += 1;
        if self.saved.failed.len() < SNAPSHOT_ITEMS_MAX {
            self.saved.failed.push(item);
        }
    }

    fn finish(mut self) -> Result<Saved, ArchiveError> {
        self.pause()?;
        if self.entries == 0 && self.saved.partial {
            return Err(ArchiveError::NothingToSave(self.saved.failed));
        }
        if !self.frames.is_empty() {
            return Err(RepoError::Engine("the scan has stopped".to_owned()).into());
        }
        self.saved.root = self.root.finish(self.session)?;
        Ok(self.saved)
    }
}
