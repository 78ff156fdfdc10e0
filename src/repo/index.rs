//! Which chunk lies where: the index objects united in memory (`repo-format.md`, chapter 8).
//!
//! A chunk takes 6 to 12 bytes of memory, a slot in an open hash table, and 36 for its record while there are few of them;
//! many are in a file (`records.rs`). Its block is found by search.

use super::records::Records;
use super::{RepoError, Repository, object};
use crate::crypto::ObjectKey;
use crate::format::limits::{HEADER_LEN, INDEX_SEGMENTS_MAX, SEGMENT_PLAIN, TAG_LEN};
use crate::format::{
    BlockRecord, CHUNK_RECORD_LEN, ChunkId, ChunkRecord, Class, Header, IndexTable, IndexedPack, PackKind, Part,
    segment_lens,
};
use crate::storage::{Folder, ObjectMeta, ObjectName};
use hashbrown::HashTable;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// How often the index is listed again when objects vanish while it is read.
const LISTINGS: usize = 3;

/// One pack.
#[derive(Debug)]
pub(super) struct PackEntry {
    pub(super) name: [u8; 32],
    pub(super) header: Header,
    pub(super) length: u32,
    first_block: u32,
    key: OnceLock<Result<Arc<ObjectKey>, String>>,
}

/// One block, with its pack and its first chunk in the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockEntry {
    pub(super) record: BlockRecord,
    pub(super) pack: u32,
    pub(super) first_chunk: u32,
}

/// One pack as those look at it who go through all of them.
#[derive(Clone, Debug)]
pub struct PackView {
    /// Its number in the index.
    pub number: u32,
    /// Its name.
    pub name: [u8; 32],
    /// What it holds.
    pub kind: PackKind,
    /// Its header.
    pub header: Header,
    /// Its length in bytes.
    pub length: u32,
    /// Numbers of its blocks.
    pub blocks: Range<u32>,
}

/// Where one copy of a chunk lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) block: u32,
    pub(super) start: u32,
    pub(super) length: u32,
}

/// All index objects of a repository, united.
#[derive(Debug, Default)]
pub struct Index {
    packs: Vec<PackEntry>,
    blocks: Vec<BlockEntry>,
    chunks: Records,
    table: HashTable<u32>,
    by_name: HashMap<[u8; 32], u32>,
    damaged: Vec<RepoError>,
    /// Packs that index objects name and that are not there, or not in their whole length; what lay in them is not in here.
    gone: Vec<[u8; 32]>,
    /// Packs that nothing new may be built on, because a prune is to remove them; what lies there can be read.
    avoided: HashSet<u32>,
    /// The index as it is now, read when a pack was gone that this one names.
    successor: OnceLock<Option<Arc<Self>>>,
}

impl Index {
    /// Reads every index object of `repository`. What cannot be read is kept in [`damaged`](Self::damaged), the rest serves.
    ///
    /// # Errors
    /// When the listing fails, no object can be read, or an object has a newer format.
    pub fn load(repository: &Repository) -> Result<Self, RepoError> {
        Self::load_without(repository, &HashSet::new())
    }

    /// An index of these packs alone.
    #[must_use]
    pub fn of(packs: Vec<IndexedPack>) -> Self {
        let mut index = Self::default();
        for pack in packs {
            index.add_pack(pack);
        }
        index
    }

    /// As [`load`](Self::load), but without packs that are not there, or not in their whole length: what lay in them
    /// has to be stored again. They are named in [`gone`](Self::gone). What lies only in packs of `avoid` can be
    /// read, but counts as not there.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_present(repository: &Repository, avoid: &HashSet<[u8; 32]>) -> Result<Self, RepoError> {
        let mut index = Self::present(repository)?;
        index.avoided = avoid.iter().filter_map(|name| index.by_name.get(name)).copied().collect();
        Ok(index)
    }

    /// Lets nothing be built on any pack, because what is to be removed cannot be known.
    pub(super) fn avoid_all(&mut self, because: Vec<RepoError>) {
        self.avoided = (0..small(self.packs.len())).collect();
        self.damaged.extend(because);
    }

    fn present(repository: &Repository) -> Result<Self, RepoError> {
        let mut before = HashSet::new();
        loop {
            let index = Self::load(repository)?;
            // Listed after the index was read: a pack is put before any index object names it.
            let there = object::list_packs(&**repository.storage())?;
            let is_lost = |pack: &&PackEntry| there.get(&pack.name) != Some(&u64::from(pack.length));
            let lost: HashSet<_> = index.packs.iter().filter(is_lost).map(|pack| pack.name).collect();
            if lost.is_empty() {
                return Ok(index);
            }
            // A sweep takes packs off the index before it removes them: what a newer index still names is lost.
            if lost.is_subset(&before) {
                let mut rest = Self::load_without(repository, &lost)?;
                rest.gone.extend(lost);
                rest.gone.sort_unstable();
                return Ok(rest);
            }
            before.extend(lost);
        }
    }

    fn load_without(repository: &Repository, lost: &HashSet<[u8; 32]>) -> Result<Self, RepoError> {
        // A prune replaces index objects: one that is gone when it is read has a successor in a new listing.
        for _ in 0..LISTINGS {
            if let Some(index) = Self::load_listed(repository, lost, true)? {
                return Ok(index);
            }
        }
        Ok(Self::load_listed(repository, lost, false)?.unwrap_or_default())
    }

    /// Reads what one listing shows; `None` when `strict` and something of it is gone.
    fn load_listed(repository: &Repository, lost: &HashSet<[u8; 32]>, strict: bool) -> Result<Option<Self>, RepoError> {
        let (mut index, mut good) = (Self::default(), 0);
        let listed = object::list(&**repository.storage(), Folder::Index)?;
        // More than there are, so that the table never has to grow.
        let bytes: u64 = listed.iter().map(|meta| meta.length).sum();
        let expected = usize::try_from(bytes / CHUNK_RECORD_LEN as u64).unwrap_or(0);
        index.chunks.expect(expected, repository.env().scratch.as_deref());
        let chunks = &index.chunks;
        index.table.reserve(expected, |n| hash_at(chunks, *n));
        for meta in listed {
            match load_one(repository, &meta) {
                Err(error) if strict && error.is_not_found() => return Ok(None),
                Ok(table) => {
                    good += 1;
                    for pack in table.packs.into_iter().filter(|pack| !lost.contains(&pack.name)) {
                        index.add_pack(pack);
                    }
                }
                Err(error) if error.is_of_one_object() => index.damaged.push(error),
                Err(error) => return Err(error),
            }
        }
        only_some_failed(good, &mut index.damaged)?;
        Ok(Some(index))
    }

    fn add_pack(&mut self, pack: IndexedPack) {
        let (number, first_block) = (small(self.packs.len()), small(self.blocks.len()));
        if self.by_name.contains_key(&pack.name) {
            return;
        }
        self.by_name.insert(pack.name, number);
        let mut chunks = pack.table.chunks.iter();
        for record in pack.table.blocks {
            self.blocks.push(BlockEntry { record, pack: number, first_chunk: small(self.chunks.len()) });
            for chunk in chunks.by_ref().take(usize::from(record.chunks)) {
                let place = small(self.chunks.len());
                self.chunks.push(*chunk);
                let chunks = &self.chunks;
                self.table.insert_unique(hash(&chunk.id), place, |n| hash_at(chunks, *n));
            }
        }
        let (name, header, length) = (pack.name, pack.header, pack.length);
        self.packs.push(PackEntry { name, header, length, first_block, key: OnceLock::new() });
    }

    /// Whether some pack that can be built on holds the chunk.
    #[must_use]
    pub fn contains(&self, id: &ChunkId) -> bool {
        self.usable(id).is_some()
    }

    /// Length of a chunk in bytes, if some pack that can be built on holds it.
    #[must_use]
    pub fn length(&self, id: &ChunkId) -> Option<u32> {
        Some(self.chunks.get(self.usable(id)? as usize)?.length)
    }

    fn usable(&self, id: &ChunkId) -> Option<u32> {
        let avoided = |n: u32| self.avoided.contains(&self.blocks[self.block_of(n) as usize].pack);
        let fits = |n: &u32| self.is(*n, id) && (self.avoided.is_empty() || !avoided(*n));
        self.table.find(hash(id), fits).copied()
    }

    fn is(&self, chunk: u32, id: &ChunkId) -> bool {
        self.chunks.get(chunk as usize).is_some_and(|record| record.id == *id)
    }

    /// The block that a chunk lies in.
    fn block_of(&self, chunk: u32) -> u32 {
        small(self.blocks.partition_point(|block| block.first_chunk <= chunk) - 1)
    }

    /// Every copy of a chunk in packs of `kind`.
    pub(super) fn places(&self, kind: PackKind, id: &ChunkId) -> impl Iterator<Item = Place> + '_ {
        let id = *id;
        let same = self.table.iter_hash(hash(&id)).copied().filter(move |n| self.is(*n, &id));
        same.filter_map(|n| self.place(n)).filter(move |place| self.pack_of(place.block).header.kind == Some(kind))
    }

    fn place(&self, chunk: u32) -> Option<Place> {
        let block = self.block_of(chunk);
        let first = self.blocks[block as usize].first_chunk as usize;
        let start = self.chunks.sum_of_lengths(first..chunk as usize)?;
        Some(Place { block, start, length: self.chunks.get(chunk as usize)?.length })
    }

    /// The index as it is now: a prune may have removed packs since this one was read, after it had copied what is needed of
    /// them elsewhere. It is read once; `None` when it cannot be, or has nothing that is not here.
    pub(super) fn successor(&self, repository: &Repository) -> Option<&Arc<Self>> {
        let read = || {
            let now = Self::load(repository).ok()?;
            let is_new = |pack: &PackEntry| !self.by_name.contains_key(&pack.name);
            now.packs.iter().any(is_new).then(|| Arc::new(now))
        };
        self.successor.get_or_init(read).as_ref()
    }

    /// Whether all that was looked up is what was put in. Whoever takes something for not needed, because it is not in the
    /// index, has to ask first.
    ///
    /// # Errors
    /// When a record in the scratch file did not read back as it was written.
    pub fn check_sound(&self) -> Result<(), RepoError> {
        if self.chunks.is_sound() {
            return Ok(());
        }
        Err(RepoError::Engine("the scratch file of the index did not read back as it was written".to_owned()))
    }

    pub(super) fn block(&self, block: u32) -> &BlockEntry {
        &self.blocks[block as usize]
    }

    pub(super) fn pack_of(&self, block: u32) -> &PackEntry {
        &self.packs[self.blocks[block as usize].pack as usize]
    }

    /// The key of the pack of a block.
    pub(super) fn key_of(&self, repository: &Repository, block: u32) -> Result<Arc<ObjectKey>, RepoError> {
        let pack = self.pack_of(block);
        let find = || repository.keys().find(&pack.header).map(Arc::new).map_err(|error| error.to_string());
        pack.key
            .get_or_init(find)
            .clone()
            .map_err(|reason| RepoError::damaged(ObjectName::hashed(Folder::Packs, &pack.name), reason))
    }

    /// Number of packs, blocks and chunks.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.packs.len(), self.blocks.len(), self.chunks.len())
    }

    /// Plain and sealed bytes of all blocks.
    #[must_use]
    pub fn bytes(&self) -> (u64, u64) {
        let sum = |field: fn(&BlockRecord) -> u32| self.blocks.iter().map(|b| u64::from(field(&b.record))).sum();
        (sum(|b| b.plain_len), sum(|b| b.sealed_len))
    }

    /// Name and length of every pack it knows.
    pub fn packs(&self) -> impl Iterator<Item = (ObjectName, u64)> + '_ {
        self.packs.iter().map(|pack| (ObjectName::hashed(Folder::Packs, &pack.name), u64::from(pack.length)))
    }

    /// The number of a chunk, the same for all its copies, below the number of chunks in [`counts`](Self::counts).
    #[must_use]
    pub fn ordinal(&self, id: &ChunkId) -> Option<u32> {
        self.table.find(hash(id), |n| self.is(*n, id)).copied()
    }

    /// How many copies of a chunk there are.
    #[must_use]
    pub fn copies(&self, id: &ChunkId) -> usize {
        self.table.iter_hash(hash(id)).filter(|n| self.is(**n, id)).count()
    }

    /// The packs by number.
    pub fn pack_views(&self) -> impl Iterator<Item = PackView> + '_ {
        let ends = self.packs.iter().skip(1).map(|pack| pack.first_block).chain([small(self.blocks.len())]);
        (0..).zip(self.packs.iter().zip(ends)).map(|(number, (pack, end))| PackView {
            number,
            name: pack.name,
            kind: pack.header.kind.unwrap_or(PackKind::Data),
            header: pack.header.clone(),
            length: pack.length,
            blocks: pack.first_block..end,
        })
    }

    /// The record of a block, as the footer of its pack has it.
    #[must_use]
    pub fn block_record(&self, block: u32) -> BlockRecord {
        self.block(block).record
    }

    /// The name of the pack of a block.
    #[must_use]
    pub fn pack_name(&self, block: u32) -> [u8; 32] {
        self.pack_of(block).name
    }

    /// What a block holds.
    #[must_use]
    pub fn kind_of(&self, block: u32) -> PackKind {
        self.pack_of(block).header.kind.unwrap_or(PackKind::Data)
    }

    /// The chunks of a block, in their order.
    pub fn block_chunks(&self, block: u32) -> impl Iterator<Item = ChunkRecord> + use<> {
        let entry = self.blocks[block as usize];
        let first = entry.first_chunk as usize;
        self.chunks.range(first..first + usize::from(entry.record.chunks)).into_iter()
    }

    /// Whether nothing new may be built on the pack.
    #[must_use]
    pub fn is_avoided(&self, pack: u32) -> bool {
        self.avoided.contains(&pack)
    }

    /// Packs that index objects name and that are not there, as far as it was [looked](Self::load_present).
    #[must_use]
    pub fn gone(&self) -> &[[u8; 32]] {
        &self.gone
    }

    /// Index objects that could not be read.
    #[must_use]
    pub fn damaged(&self) -> &[RepoError] {
        &self.damaged
    }
}

/// Lets errors of single objects pass, unless no object could be read and it is the storage that fails.
pub(super) fn only_some_failed(good: usize, damaged: &mut Vec<RepoError>) -> Result<(), RepoError> {
    if good == 0 && !damaged.is_empty() && damaged.iter().all(|error| !error.is_damage()) {
        return Err(damaged.swap_remove(0));
    }
    Ok(())
}

/// Reads one index object.
pub(super) fn load_one(repository: &Repository, meta: &ObjectMeta) -> Result<IndexTable, RepoError> {
    let limit = HEADER_LEN + INDEX_SEGMENTS_MAX as usize * (SEGMENT_PLAIN + TAG_LEN);
    let bytes = object::load_cached(repository, &meta.name, limit as u64)?;
    let header = object::header(&meta.name, &bytes, Class::Index)?;
    let key = repository.keys().find(&header).map_err(|error| RepoError::damaged(&meta.name, error))?;
    let lens = segment_lens(bytes.len() as u64).map_err(|error| RepoError::format(&meta.name, &error))?;
    let (mut rest, mut plain) = (&bytes[HEADER_LEN..], Vec::with_capacity(bytes.len()));
    for (number, length) in (0..).zip(lens) {
        let (sealed, behind) = rest.split_at(length);
        let mut segment = sealed.to_vec();
        key.open(Part::Segment, number, &mut segment).map_err(|error| RepoError::damaged(&meta.name, error))?;
        plain.extend_from_slice(&segment);
        rest = behind;
    }
    IndexTable::from_bytes(&plain).map_err(|error| RepoError::format(&meta.name, &error))
}

/// Ids are keyed hashes, so their first bytes serve as they are.
fn hash(id: &ChunkId) -> u64 {
    u64::from_le_bytes([id.0[0], id.0[1], id.0[2], id.0[3], id.0[4], id.0[5], id.0[6], id.0[7]])
}

/// The hash of a chunk that is in the table, for when the table grows.
fn hash_at(chunks: &Records, chunk: u32) -> u64 {
    chunks.get(chunk as usize).map_or(0, |record| hash(&record.id))
}

fn small(number: usize) -> u32 {
    u32::try_from(number).expect("an index in memory has fewer than 2^32 entries")
}

/// The bytes of an index object that holds `table`.
pub(super) fn seal(repository: &Repository, table: &IndexTable) -> Result<Vec<u8>, RepoError> {
    let salt = repository.salts().next(&[])?;
    let (header, key) = repository.keys().begin(Class::Index, None, repository.suite(), salt);
    let mut object = header.to_bytes().to_vec();
    for (number, plain) in (0..).zip(table.to_bytes().chunks(SEGMENT_PLAIN)) {
        let mut segment = plain.to_vec();
        key.seal(Part::Segment, number, &mut segment);
        object.extend_from_slice(&segment);
    }
    Ok(object)
}
