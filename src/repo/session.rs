//! One writer at work: chunks go in, packs and index objects come out, in the order that survives a power cut
//! (`repo-format.md`, chapter 15).

use super::lease::HeldLease;
use super::pack_writer::{LaidBlock, PackWriter};
use super::upload::Uploads;
use super::{Index, Marks, RepoError, Repository, SnapshotList, marks};
use crate::codec::{Compression, Decompressor};
use crate::engine::{Done, Engine, Job, Lane, Operation};
use crate::format::{ChunkId, ChunkRecord, IndexedPack, PackKind, Part};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// How a session works.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// For new blocks.
    pub compression: Compression,
    /// How many packs may be on their way at once.
    pub uploads: usize,
    /// Nothing is sealed, put or leased; only counted.
    pub dry_run: bool,
}

impl SessionOptions {
    /// What the repository is set up with.
    #[must_use]
    pub fn of(repository: &Repository, dry_run: bool) -> Self {
        let compression = repository.config().compression.parse().unwrap_or(Compression::AUTO);
        Self { compression, uploads: 2, dry_run }
    }
}

/// What a session has stored so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// New chunks.
    pub chunks: u64,
    /// Their plain bytes.
    pub plain: u64,
    /// Bytes of the packs and index objects put for them.
    pub stored: u64,
}

/// A writer with its lease, its index and its open packs.
#[derive(Debug)]
pub struct Session {
    repository: Arc<Repository>,
    options: SessionOptions,
    snapshots: SnapshotList,
    index: Arc<Index>,
    new: HashSet<ChunkId, BuildHasherDefault<IdHasher>>,
    lane: Box<dyn Lane>,
    queue: VecDeque<Job>,
    flights: HashMap<u64, Flight>,
    ticket: u64,
    data: PackWriter,
    tree: PackWriter,
    uploads: Uploads,
    unindexed: Vec<IndexedPack>,
    /// Packs of this session that index objects name.
    indexed: HashSet<[u8; 32]>,
    decompressor: Decompressor,
    stored: Stored,
    /// Last, so that it is dropped, and thereby ended, when nothing is on its way any more.
    lease: Option<HeldLease>,
}

#[derive(Debug)]
struct Flight {
    kind: PackKind,
    pack: u64,
    chunks: Vec<ChunkRecord>,
}

/// Ids are keyed hashes; their first bytes serve as the hash.
#[derive(Debug, Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk::<8>() {
            self.0 = u64::from_le_bytes(*first);
        }
    }
}

impl Session {
    /// Takes a lease for `operation`, then reads the snapshots, then the index: whatever these snapshots need is in it.
    ///
    /// # Errors
    /// The storage; an engine without a free lane.
    pub fn start(
        repository: &Arc<Repository>,
        engine: &dyn Engine,
        options: SessionOptions,
        operation: &str,
    ) -> Result<Self, RepoError> {
        let lease = if options.dry_run { None } else { Some(HeldLease::take(repository, operation)?) };
        // In this order: a prune puts its mark before it lists leases, so either it knows of this run and waits for its
        // end, or this run knows what is marked and builds on none of it.
        let known = Marks::load(repository)?;
        let avoid = known.avoided_by(&lease.as_ref().map_or([0; 16], HeldLease::id));
        let snapshots = SnapshotList::load(repository)?;
        let mut index = Index::load_present(repository, &avoid)?;
        if !known.damaged.is_empty() {
            index.avoid_all(known.damaged);
        }
        let index = Arc::new(index);
        let lane = engine.lane().map_err(|error| RepoError::Engine(error.to_string()))?;
        let config = repository.config();
        let block = options.compression.block_size(config.block);
        Ok(Self {
            lease,
            snapshots,
            index,
            new: HashSet::default(),
            lane,
            queue: VecDeque::new(),
            flights: HashMap::new(),
            ticket: 0,
            data: PackWriter::new(PackKind::Data, block, config.data_pack),
            tree: PackWriter::new(PackKind::Tree, block, config.tree_pack),
            uploads: Uploads::start(repository.storage(), options.uploads)?,
            unindexed: Vec::new(),
            indexed: HashSet::new(),
            decompressor: Decompressor::new(),
            stored: Stored::default(),
            repository: Arc::clone(repository),
            options,
        })
    }

    /// The repository.
    #[must_use]
    pub fn repository(&self) -> &Arc<Repository> {
        &self.repository
    }

    /// The snapshots as they were when the session began; nothing when they were taken before.
    pub fn take_snapshots(&mut self) -> SnapshotList {
        std::mem::take(&mut self.snapshots)
    }

    /// The index as it was when the session began.
    #[must_use]
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Id of the lease; zero in a dry run.
    #[must_use]
    pub fn lease(&self) -> [u8; 16] {
        self.lease.as_ref().map_or([0; 16], HeldLease::id)
    }

    /// What was stored so far.
    #[must_use]
    pub fn stored(&self) -> Stored {
        self.stored
    }

    /// Stores a chunk unless the repository or this session has it; says whether it was new.
    ///
    /// # Errors
    /// The storage, an engine that failed, or no randomness for a new pack.
    pub fn add(&mut self, kind: PackKind, id: ChunkId, chunk: &[u8]) -> Result<bool, RepoError> {
        if self.index.contains(&id) || !self.new.insert(id) {
            return Ok(false);
        }
        self.store(kind, id, chunk)?;
        Ok(true)
    }

    fn store(&mut self, kind: PackKind, id: ChunkId, chunk: &[u8]) -> Result<(), RepoError> {
        self.stored.chunks += 1;
        self.stored.plain += chunk.len() as u64;
        if !self.options.dry_run {
            let writer = if kind == PackKind::Data { &mut self.data } else { &mut self.tree };
            if let Some(laid) = writer.append(&self.repository, id, chunk)? {
                self.submit(kind, laid)?;
            }
        }
        Ok(())
    }

    /// Stores a chunk that the repository has, in a new pack, because the one it lies in is to be removed; says whether this
    /// session has not done so yet.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn store_again(&mut self, kind: PackKind, id: ChunkId, chunk: &[u8]) -> Result<bool, RepoError> {
        let again = self.new.insert(id);
        if again {
            self.store(kind, id, chunk)?;
        }
        Ok(again)
    }

    /// Stores a block that the repository has, in a new pack: decrypted and encrypted again, but not compressed again.
    /// `number` is that of the block in [`index`](Self::index). Gives its plain length in bytes.
    ///
    /// # Errors
    /// When it cannot be read; the storage.
    pub fn store_block_again(&mut self, kind: PackKind, number: u32) -> Result<u32, RepoError> {
        let index = Arc::clone(&self.index);
        let place = index.block_place(number);
        let mut block = self.repository.storage().get_range(&place.pack, place.range.clone())?.to_vec();
        let key = index.key_of(&self.repository, number)?;
        let damaged = |reason: String| {
            RepoError::damaged(&place.pack, format!("block at offset {}: {reason}", place.range.start))
        };
        let opened = key.open(Part::Block, u64::from(index.block(number).record.number), &mut block);
        opened.map_err(|error| damaged(error.to_string()))?;
        // What is moved unread today is lost tomorrow: it must be what the index says.
        let chunks: Vec<ChunkRecord> = index.block_chunks(number).collect();
        let plain = self.decompressor.decompress(block.clone(), place.plain_len);
        let plain = plain.map_err(|error| damaged(error.to_string()))?;
        let mut rest = &plain[..];
        for chunk in &chunks {
            let split = rest.split_at_checked(chunk.length as usize);
            let (bytes, behind) = split.ok_or_else(|| damaged("it is too short".to_owned()))?;
            if self.repository.keys().id(kind, bytes) != chunk.id {
                return Err(damaged(format!("chunk {} has other bytes", chunk.id)));
            }
            rest = behind;
        }
        self.new.extend(chunks.iter().map(|chunk| chunk.id));
        let writer = if kind == PackKind::Data { &mut self.data } else { &mut self.tree };
        let laid = writer.adopt(&self.repository, chunks, place.plain_len)?;
        laid.key.seal(Part::Block, u64::from(laid.number), &mut block);
        writer.sealed(laid.pack, laid.number, laid.chunks, block);
        self.turn(Duration::ZERO)?;
        Ok(place.plain_len)
    }

    /// Names of the packs that this session has put and that an index object names.
    #[must_use]
    pub fn indexed(&self) -> &HashSet<[u8; 32]> {
        &self.indexed
    }

    /// Stores a tree chunk and gives its id.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_tree(&mut self, chunk: &[u8]) -> Result<ChunkId, RepoError> {
        let id = self.repository.keys().id(PackKind::Tree, chunk);
        self.add(PackKind::Tree, id, chunk)?;
        Ok(id)
    }

    fn submit(&mut self, kind: PackKind, laid: LaidBlock) -> Result<(), RepoError> {
        self.ticket += 1;
        self.queue.push_back(Job {
            ticket: self.ticket,
            operation: Operation::Seal(self.options.compression),
            key: laid.key,
            number: laid.number,
            plain_len: u32::try_from(laid.plain.len()).expect("a block is within its limit"),
            input: laid.plain,
        });
        self.flights.insert(self.ticket, Flight { kind, pack: laid.pack, chunks: laid.chunks });
        self.turn(Duration::ZERO)?;
        while !self.queue.is_empty() {
            self.turn(Duration::from_millis(100))?;
            if self.lane.in_flight() == 0 && !self.queue.is_empty() {
                return Err(RepoError::Engine("the engine takes no more blocks".to_owned()));
            }
        }
        Ok(())
    }

    /// Gives the lane what waits, takes what is finished, and hands full packs over.
    fn turn(&mut self, wait: Duration) -> Result<(), RepoError> {
        self.lane.submit(&mut self.queue);
        let mut done = Vec::new();
        self.lane.reap(wait, &mut done);
        for done in done {
            self.take(done)?;
        }
        self.lane.submit(&mut self.queue);
        while let Some(pack) = self.data.take_full().or_else(|| self.tree.take_full()) {
            if self.lane.is_distrusted() {
                pack.check(&self.repository)?;
            }
            self.uploads.submit(pack)?;
        }
        while let Some(pack) = self.uploads.reap(false)? {
            self.keep(pack);
        }
        Ok(())
    }

    fn take(&mut self, done: Done) -> Result<(), RepoError> {
        let Done { job, outcome } = done;
        let sealed = outcome.map_err(|error| RepoError::Engine(error.to_string()))?;
        let flight = self.flights.remove(&job.ticket).expect("every job in flight is known");
        let writer = if flight.kind == PackKind::Data { &mut self.data } else { &mut self.tree };
        writer.sealed(flight.pack, job.number, flight.chunks, sealed);
        writer.recycle(job.input);
        Ok(())
    }

    fn keep(&mut self, pack: IndexedPack) {
        self.stored.stored += u64::from(pack.length);
        self.unindexed.push(pack);
    }

    /// Makes everything that was added durable and findable: packs, then index objects.
    ///
    /// # Errors
    /// The storage or an engine that failed.
    pub fn checkpoint(&mut self) -> Result<(), RepoError> {
        if self.options.dry_run {
            return Ok(());
        }
        for kind in [PackKind::Data, PackKind::Tree] {
            let writer = if kind == PackKind::Data { &mut self.data } else { &mut self.tree };
            if let Some(laid) = writer.flush(&self.repository)? {
                self.submit(kind, laid)?;
            }
        }
        while !(self.flights.is_empty() && self.data.is_idle() && self.tree.is_idle()) {
            self.turn(Duration::from_millis(100))?;
        }
        while let Some(pack) = self.uploads.reap(true)? {
            self.keep(pack);
        }
        self.put_index()
    }

    fn put_index(&mut self) -> Result<(), RepoError> {
        // Of a run that was taken for lost the packs may be removed already; the index must not name them.
        if self.lease.is_some() && marks::is_void(&**self.repository.storage(), &self.lease())? {
            return Err(RepoError::LeaseLost);
        }
        let packs = std::mem::take(&mut self.unindexed);
        let names: Vec<_> = packs.iter().map(|pack| pack.name).collect();
        self.stored.stored += self.repository.put_index(packs)?.iter().map(|meta| meta.length).sum::<u64>();
        self.indexed.extend(names);
        Ok(())
    }

    /// Whether a snapshot that was just put under the lease of this session counts. A sweep that took the lease for lost,
    /// because this run stood still for too long, may have removed what it was built on.
    ///
    /// # Errors
    /// [`RepoError::LeaseLost`] when it does not; the storage.
    pub fn confirm(&self, snapshot: &[u8; 32]) -> Result<(), RepoError> {
        let counts = marks::confirm(&**self.repository.storage(), &self.lease(), snapshot)?;
        if counts { Ok(()) } else { Err(RepoError::LeaseLost) }
    }

    /// Ends the lease; to be called after the snapshot is put.
    ///
    /// # Errors
    /// When the end cannot be put; the lease then goes stale by itself.
    pub fn end(mut self) -> Result<(), RepoError> {
        self.lease.take().map_or(Ok(()), HeldLease::end)
    }
}
