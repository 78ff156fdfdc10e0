//! The scan: walks, asks the parent, and hands files that must be read out in batches.

use super::parent::ParentCursor;
use super::read::Packet;
use crate::files::{Entry, Event, Root, Selection, Unreadable, Walker};
use crate::format::{FailedItem, Node, NodeKind};
use crate::repo::NamedSnapshot;
use crossbeam_channel::{Receiver, Sender, bounded};

/// A batch is full with so many files or bytes; a larger file is a batch of its own.
const BATCH_FILES: usize = 256;
const BATCH_BYTES: u64 = 1 << 20;
/// Steps are held back behind an open batch up to this number.
const STEPS_HELD: usize = 1_024;
/// Packets that a reader may be ahead of the assembly, for each batch.
const PACKETS_AHEAD: usize = 2;

/// What is to be walked.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) roots: Vec<Root>,
    pub(super) selection: Selection,
    pub(super) parent: Option<NamedSnapshot>,
}

/// Files to be read, in order.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) files: Vec<Entry>,
    pub(super) packets: Sender<Packet>,
}

/// What the assembly has to do next.
#[derive(Debug)]
pub(super) enum Step {
    /// A directory begins.
    Enter(Box<Entry>),
    /// The directory entered last ends.
    Leave,
    /// An entry that needs no reading.
    Take(Box<Entry>),
    /// A file that did not change since the parent snapshot.
    Unmodified(Box<Entry>),
    /// Files follow from this batch.
    Batch(Receiver<Packet>),
    /// The next file of the batch; whether the parent had it.
    Read { known: bool },
    /// Something in the repository is damaged.
    Damage(String),
    /// Something could not be looked at; whether it is a root.
    Failed(FailedItem, bool),
}

/// Where the scan sends what it finds. A send that fails means that the run has ended.
#[derive(Debug)]
pub(super) struct Outlets {
    pub(super) steps: Sender<Step>,
    pub(super) work: Sender<Batch>,
    /// One token for each batch that may be under way.
    pub(super) tokens: Receiver<()>,
}

/// The run has ended before the scan did.
#[derive(Debug)]
pub(super) struct Ended;

#[derive(Debug)]
pub(super) struct Scan {
    parent: ParentCursor,
    out: Outlets,
    files: Vec<Entry>,
    bytes: u64,
    held: Vec<Step>,
}

impl Scan {
    pub(super) fn new(parent: ParentCursor, out: Outlets) -> Self {
        Self { parent, out, files: Vec::new(), bytes: 0, held: Vec::new() }
    }

    /// Walks to the end, or until the run ends.
    pub(super) fn run(mut self, walker: Walker) -> Result<(), Ended> {
        for event in walker {
            match event {
                Event::Enter(entry) => self.enter(entry)?,
                Event::Leave => {
                    self.parent.leave();
                    self.step(Step::Leave)?;
                }
                Event::Entry(entry) if entry.node.kind == NodeKind::File => self.file(entry)?,
                Event::Entry(mut entry) => {
                    self.complete(&mut entry)?;
                    self.step(Step::Take(entry))?;
                }
                Event::Unreadable(Unreadable { path, error, root }) => {
                    self.step(Step::Failed(FailedItem { path, reason: error.to_string() }, root))?;
                }
            }
            for error in self.parent.take_trouble() {
                self.step(Step::Damage(format!("files of the parent snapshot are read again: {error}")))?;
            }
        }
        self.flush()
    }

    fn enter(&mut self, mut entry: Box<Entry>) -> Result<(), Ended> {
        let known = self.parent.enter(&entry.node.name);
        let same = |known: &Node| known.ctime == entry.node.ctime && known.inode == entry.node.inode;
        match known.filter(|known| same(known) && self.parent.is_settled(known.ctime)) {
            Some(known) => (entry.node.xattrs, entry.node.flags) = (known.xattrs, known.flags),
            None => self.complete(&mut entry)?,
        }
        self.step(Step::Enter(entry))
    }

    fn complete(&mut self, entry: &mut Entry) -> Result<(), Ended> {
        match entry.complete(None) {
            Ok(()) => Ok(()),
            Err(error) => {
                // Nobody shall take it for unchanged later.
                entry.node.ctime = None;
                let reason = format!("extended attributes: {error}");
                self.step(Step::Failed(FailedItem { path: entry.path.clone(), reason }, false))
            }
        }
    }

    fn file(&mut self, mut entry: Box<Entry>) -> Result<(), Ended> {
        let known = self.parent.find(&entry.node.name);
        let was_known = known.is_some();
        if known.is_some_and(|known| self.parent.take_over(&mut entry, known)) {
            return self.step(Step::Unmodified(entry));
        }
        if entry.node.size > BATCH_BYTES {
            self.flush()?;
        }
        self.bytes = self.bytes.saturating_add(entry.node.size);
        self.files.push(*entry);
        self.held.push(Step::Read { known: was_known });
        if self.files.len() >= BATCH_FILES || self.bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    /// Sends a step, behind the files of the open batch if there is one.
    fn step(&mut self, step: Step) -> Result<(), Ended> {
        if self.files.is_empty() {
            return self.out.steps.send(step).map_err(|_| Ended);
        }
        self.held.push(step);
        if self.held.len() >= STEPS_HELD { self.flush() } else { Ok(()) }
    }

    /// Hands the open batch out, then sends the steps that waited for it.
    fn flush(&mut self) -> Result<(), Ended> {
        if self.files.is_empty() {
            return Ok(());
        }
        self.out.tokens.recv().map_err(|_| Ended)?;
        let (packets, receiver) = bounded(PACKETS_AHEAD);
        let files = std::mem::take(&mut self.files);
        self.bytes = 0;
        self.out.work.send(Batch { files, packets }).map_err(|_| Ended)?;
        self.out.steps.send(Step::Batch(receiver)).map_err(|_| Ended)?;
        self.held.drain(..).try_for_each(|step| self.out.steps.send(step)).map_err(|_| Ended)
    }
}
