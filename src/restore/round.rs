//! One round: blocks in the order in which they lie, read in merged ranges, opened by the engine, verified and written.

use super::file::{Fate, File, Loss, Site};
use super::{RestoreError, RestoreReport, Watch};
use crate::base::meter::Meter;
use crate::crypto::chunk_id;
use crate::engine::{Done, Engine, Lane};
use crate::files::{DirId, Target, TargetError};
use crate::format::{ChunkId, FailedItem, PackKind};
use crate::repo::{BlockPlace, ChunkReader, Index, RepoError, Repository};

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Blocks of one pack are read together when no more than this lies between them.
const GAP_MAX: u64 = 64 << 10;
/// One read fetches about this much.
const READ_LEN: u64 = 4 << 20;

/// What every part of a restore works with.
pub(super) struct Job<'j> {
    pub(super) repository: &'j Arc<Repository>,
    pub(super) index: &'j Arc<Index>,
    pub(super) engine: &'j dyn Engine,
    pub(super) target: &'j Target,
    pub(super) watch: &'j Watch<'j>,
    pub(super) readers: usize,
}

/// A piece of a file: where it lies in a block, and where it goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) block: u32,
    pub(super) start: u32,
    pub(super) length: u32,
    pub(super) file: u32,
    pub(super) offset: u64,
}

/// What became of everything so far.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    report: Mutex<RestoreReport>,
    /// Files with several names that are in their places, so that links to them can be made.
    linkable: Mutex<HashSet<(DirId, Vec<u8>)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outcome {
    /// Changes the report.
    pub(super) fn report(&self) -> MutexGuard<'_, RestoreReport> {
        lock(&self.report)
    }

    pub(super) fn failed(&self, watch: &Watch<'_>, item: FailedItem) {
        Meter::add(&watch.meter.failed, 1);
        // Whoever is told may be slow, so nothing is locked.
        (watch.failed)(&item);
        self.report().failed.push(item);
    }

    pub(super) fn lost(&self, watch: &Watch<'_>, path: Vec<u8>, loss: Loss) {
        let item = FailedItem { path, reason: loss.reason };
        if !loss.damage {
            self.report().storage_failed = true;
            return self.failed(watch, item);
        }
        Meter::add(&watch.meter.failed, 1);
        (watch.failed)(&item);
        self.report().damaged.push(item);
    }

    pub(super) fn settle(&self, job: &Job<'_>, file: &File, fate: Fate) {
        let path = job.target.path(file.dir, &file.node.name);
        job.watch.meter.set_current(&path);
        Meter::add(&job.watch.meter.files_done, 1);
        match fate {
            Fate::Restored(errors) => {
                let mut report = self.report();
                report.files += 1;
                report.bytes += file.node.size;
                drop(report);
                if file.node.links > 1 {
                    self.set_linkable(file.dir, &file.node.name);
                }
                self.metadata(job.watch, errors);
            }
            Fate::Lost(loss) => self.lost(job.watch, path, loss),
            Fate::Failed(reason) => self.failed(job.watch, FailedItem { path, reason }),
        }
    }

    pub(super) fn metadata(&self, watch: &Watch<'_>, errors: Vec<TargetError>) {
        for error in errors {
            let reason = format!("{}: {}", error.action, error.source);
            self.failed(watch, FailedItem { path: error.path, reason });
        }
    }

    pub(super) fn set_linkable(&self, dir: DirId, name: &[u8]) {
        lock(&self.linkable).insert((dir, name.to_vec()));
    }

    pub(super) fn is_linkable(&self, dir: DirId, name: &[u8]) -> bool {
        lock(&self.linkable).contains(&(dir, name.to_vec()))
    }
}

/// Blocks that one read fetches: the range of a pack, and the pieces that lie in it.
#[derive(Debug)]
struct Stretch {
    range: Range<u64>,
    pieces: Range<usize>,
}

/// Groups pieces, sorted by block, into stretches.
fn stretches(index: &Index, pieces: &[Piece]) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut last: Option<BlockPlace> = None;
    let mut at = 0;
    while at < pieces.len() {
        let block = pieces[at].block;
        let count = pieces[at..].iter().take_while(|piece| piece.block == block).count();
        let place = index.block_place(block);
        let near = stretches.last_mut().filter(|stretch| {
            last.as_ref().is_some_and(|last| last.pack == place.pack)
                && place.range.start >= stretch.range.end
                && place.range.start - stretch.range.end <= GAP_MAX
                && place.range.end - stretch.range.start <= READ_LEN
        });
        match near {
            Some(stretch) => {
                stretch.range.end = place.range.end;
                stretch.pieces.end = at + count;
            }
            None => stretches.push(Stretch { range: place.range.clone(), pieces: at..at + count }),
        }
        last = Some(place);
        at += count;
    }
    stretches
}

/// What the workers of a round share.
struct Shared<'r> {
    job: &'r Job<'r>,
    files: &'r [File],
    pieces: &'r [Piece],
    stretches: Vec<Stretch>,
    next: AtomicUsize,
    stop: AtomicBool,
    site: &'r Site<'r>,
    outcome: &'r Outcome,
}

/// Restores all `pieces` of `files`.
pub(super) fn run_round(
    job: &Job<'_>,
    files: &[File],
    pieces: &[Piece],
    site: &Site<'_>,
    outcome: &Outcome,
) -> Result<(), RestoreError> {
    let stretches = stretches(job.index, pieces);
    let workers = job.readers.min(stretches.len());
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let shared = Shared { job, files, pieces, stretches, next, stop, site, outcome };
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for n in 0..workers {
            let shared = &shared;
            let thread = std::thread::Builder::new().name(format!("restore-{n}"));
            let work = move || {
                let done = Worker::new(shared).and_then(Worker::run);
                if done.is_err() {
                    shared.stop.store(true, Ordering::Relaxed);
                }
                done
            };
            threads.push(thread.spawn_scoped(scope, work).map_err(crate::repo::RepoError::from)?);
        }
        let panicked =
            || RestoreError::from(crate::repo::RepoError::Engine("a restoring thread has stopped".to_owned()));
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(panicked())))
    })
}

struct Worker<'r> {
    shared: &'r Shared<'r>,
    lane: Box<dyn Lane>,
    queue: VecDeque<crate::engine::Job>,
    /// Pieces that wait for a block in the engine, by the ticket of its job.
    waiting: Vec<(u64, Range<usize>)>,
    ticket: u64,
    reader: ChunkReader,
}

impl<'r> Worker<'r> {
    fn new(shared: &'r Shared<'r>) -> Result<Self, RestoreError> {
        let lane = shared.job.engine.lane();
        Ok(Self {
            lane: lane.map_err(|error| crate::repo::RepoError::Engine(error.to_string()))?,
            queue: VecDeque::new(),
            waiting: Vec::new(),
            ticket: 0,
            reader: ChunkReader::new(shared.job.repository, shared.job.index),
            shared,
        })
    }

    fn run(mut self) -> Result<(), RestoreError> {
        let shared = self.shared;
        loop {
            if let Some(signal) = shared.job.watch.cancel.requested() {
                return Err(RestoreError::Cancelled(signal));
            }
            if shared.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let Some(stretch) = shared.stretches.get(shared.next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            self.fetch(stretch)?;
            while !self.queue.is_empty() {
                self.turn()?;
            }
        }
        while !self.waiting.is_empty() {
            self.turn()?;
        }
        Ok(())
    }

    /// Reads a stretch and queues the jobs that open its blocks.
    fn fetch(&mut self, stretch: &Stretch) -> Result<(), RestoreError> {
        let job = self.shared.job;
        let pieces = &self.shared.pieces[stretch.pieces.clone()];
        let pack = job.index.block_place(pieces[0].block).pack;
        let bytes = job.repository.storage().get_range(&pack, stretch.range.clone());
        let mut at = stretch.pieces.start;
        for same in pieces.chunk_by(|a, b| a.block == b.block) {
            let these = at..at + same.len();
            at = these.end;
            let place = job.index.block_place(same[0].block);
            let from = usize::try_from(place.range.start - stretch.range.start).expect("a stretch is short");
            let length = usize::try_from(place.range.end - place.range.start).expect("a block is short");
            self.ticket += 1;
            let opened = bytes.as_ref().map_err(ToString::to_string).and_then(|bytes| {
                let sealed = bytes.slice(from..from + length);
                let job = job.index.open_job(job.repository, same[0].block, self.ticket, sealed);
                job.map_err(|error| error.to_string())
            });
            match opened {
                Ok(job) => {
                    self.waiting.push((self.ticket, these));
                    self.queue.push_back(job);
                }
                Err(_) => self.one_by_one(these)?,
            }
        }
        Ok(())
    }

    /// Gives the lane what is queued, and writes what it has opened.
    fn turn(&mut self) -> Result<(), RestoreError> {
        self.lane.submit(&mut self.queue);
        let mut done = Vec::new();
        self.lane.reap(Duration::from_millis(100), &mut done);
        self.lane.submit(&mut self.queue);
        done.into_iter().try_for_each(|done| self.write(done))
    }

    fn write(&mut self, done: Done) -> Result<(), RestoreError> {
        let at = self.waiting.iter().position(|(ticket, _)| *ticket == done.job.ticket);
        let (_, pieces) = self.waiting.swap_remove(at.expect("every job in the engine is waited for"));
        let Ok(plain) = done.outcome else {
            return self.one_by_one(pieces);
        };
        let key = self.shared.job.repository.keys().id_key(PackKind::Data);
        let chunks = self.chunks_of(&pieces);
        let mut verified: Option<(Range<usize>, bool)> = None;
        for at in pieces {
            let piece = self.shared.pieces[at];
            let range = piece.start as usize..(piece.start + piece.length) as usize;
            let bytes = &plain[range.clone()];
            let good = match &verified {
                Some((same, good)) if *same == range => *good,
                _ => chunks.get(&piece.start) == Some(&chunk_id(key, bytes)),
            };
            verified = Some((range, good));
            if good {
                self.put(piece, Ok(bytes))?;
            } else {
                self.one_by_one(at..at + 1)?;
            }
        }
        Ok(())
    }

    /// Reads the chunks of pieces on their own, from whatever copy is good.
    fn one_by_one(&mut self, pieces: Range<usize>) -> Result<(), RestoreError> {
        let chunks = self.chunks_of(&pieces);
        for at in pieces {
            let piece = self.shared.pieces[at];
            let Some(id) = chunks.get(&piece.start) else {
                let unknown = RepoError::Engine("the index does not say which chunk this is".to_owned());
                self.put(piece, Err(unknown.into()))?;
                continue;
            };
            match self.reader.read(PackKind::Data, id) {
                Ok(bytes) => self.put(piece, Ok(&bytes))?,
                Err(error) => self.put(piece, Err(error.into()))?,
            }
        }
        Ok(())
    }

    /// The chunks of the block that these pieces are of, by their first byte.
    fn chunks_of(&self, pieces: &Range<usize>) -> HashMap<u32, ChunkId> {
        let mut start = 0;
        let Some(piece) = self.shared.pieces.get(pieces.start) else { return HashMap::new() };
        let chunks = self.shared.job.index.block_chunks(piece.block);
        let mut places = HashMap::new();
        for chunk in chunks {
            places.insert(start, chunk.id);
            start += chunk.length;
        }
        places
    }

    fn put(&self, piece: Piece, bytes: Result<&[u8], Loss>) -> Result<(), RestoreError> {
        let shared = self.shared;
        let file = &shared.files[piece.file as usize];
        Meter::add(&shared.job.watch.meter.bytes_done, u64::from(piece.length));
        let fate = file.piece(shared.site, piece.offset, bytes).map_err(RestoreError::NoSpace)?;
        if let Some(fate) = fate {
            shared.outcome.settle(shared.job, file, fate);
        }
        Ok(())
    }
}
