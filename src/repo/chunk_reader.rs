//! Reading chunks one at a time, each verified against its id (`repo-format.md`, chapter 14, step 6).

use super::{Index, RepoError, Repository};
use crate::engine::{Contexts, Job, Operation};
use crate::format::{ChunkId, PackKind};
use crate::storage::{Folder, ObjectName};
use bytes::Bytes;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Opened blocks are kept up to this many bytes.
const CACHE_LEN: usize = 16 << 20;

/// Where a chunk lies: which block (a number of the index), and where in its plain bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// Number of the block in the index.
    pub block: u32,
    /// First byte in the plain block.
    pub start: u32,
    /// Length in bytes.
    pub length: u32,
}

/// Where a block lies in the storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPlace {
    /// The pack.
    pub pack: ObjectName,
    /// The block's bytes in it.
    pub range: Range<u64>,
    /// Plain length in bytes.
    pub plain_len: u32,
}

impl Index {
    /// Where the first copy of a chunk lies.
    #[must_use]
    pub fn locate(&self, kind: PackKind, id: &ChunkId) -> Option<Located> {
        self.locate_all(kind, id).next()
    }

    /// Where all copies of a chunk lie.
    pub fn locate_all(&self, kind: PackKind, id: &ChunkId) -> impl Iterator<Item = Located> + '_ {
        let located =
            |place: super::index::Place| Located { block: place.block, start: place.start, length: place.length };
        self.places(kind, id).map(located)
    }

    /// Where a block lies.
    #[must_use]
    pub fn block_place(&self, block: u32) -> BlockPlace {
        let entry = self.block(block);
        let start = u64::from(entry.record.offset);
        BlockPlace {
            pack: ObjectName::hashed(Folder::Packs, &self.pack_of(block).name),
            range: start..start + u64::from(entry.record.sealed_len),
            plain_len: entry.record.plain_len,
        }
    }

    /// The job that opens a block whose sealed bytes are `input`.
    ///
    /// # Errors
    /// When the pack's header is not authentic.
    pub fn open_job(&self, repository: &Repository, block: u32, ticket: u64, input: Bytes) -> Result<Job, RepoError> {
        let record = self.block(block).record;
        let key = self.key_of(repository, block)?;
        Ok(Job { ticket, operation: Operation::Open, key, number: record.number, plain_len: record.plain_len, input })
    }
}

/// Reads chunks; keeps the last opened blocks, because neighbours are usually wanted next.
#[derive(Debug)]
pub struct ChunkReader {
    repository: Arc<Repository>,
    index: Arc<Index>,
    contexts: Contexts,
    cache: VecDeque<(u32, Bytes)>,
    cached: usize,
}

impl ChunkReader {
    /// A reader with nothing in its cache.
    #[must_use]
    pub fn new(repository: &Arc<Repository>, index: &Arc<Index>) -> Self {
        Self {
            repository: Arc::clone(repository),
            index: Arc::clone(index),
            contexts: Contexts::default(),
            cache: VecDeque::new(),
            cached: 0,
        }
    }

    /// The index it reads by.
    #[must_use]
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// The chunk's bytes from the first copy that is good.
    ///
    /// # Errors
    /// [`RepoError::MissingChunk`] when there is no copy, else what is wrong with the last one.
    pub fn read(&mut self, kind: PackKind, id: &ChunkId) -> Result<Bytes, RepoError> {
        let places: Vec<_> = self.index.places(kind, id).collect();
        let mut trouble = RepoError::MissingChunk(*id);
        for place in places {
            let chunk = self.block(place.block).and_then(|block| {
                let range = place.start as usize..(place.start + place.length) as usize;
                let chunk = block.slice(range);
                if self.repository.keys().id(kind, &chunk) == *id {
                    Ok(chunk)
                } else {
                    let pack = self.index.block_place(place.block).pack;
                    Err(RepoError::damaged(pack, format!("chunk {id} has other bytes")))
                }
            });
            match chunk {
                Ok(chunk) => return Ok(chunk),
                Err(error) if error.is_of_one_object() => trouble = error,
                Err(error) => return Err(error),
            }
        }
        if trouble.is_not_found() {
            return self.read_moved(kind, id).ok_or(trouble);
        }
        Err(trouble)
    }

    /// The chunk's bytes from where a prune has copied it since the index was read.
    fn read_moved(&self, kind: PackKind, id: &ChunkId) -> Option<Bytes> {
        let now = Arc::clone(self.index.successor(&self.repository)?);
        now.locate_all(kind, id).find_map(|place| {
            let block = now.block_place(place.block);
            let sealed = self.repository.storage().get_range(&block.pack, block.range).ok()?;
            let job = now.open_job(&self.repository, place.block, 0, sealed).ok()?;
            let plain = Contexts::default().run(&job).ok()?;
            let chunk = plain.get(place.start as usize..(place.start + place.length) as usize)?;
            (self.repository.keys().id(kind, chunk) == *id).then(|| Bytes::copy_from_slice(chunk))
        })
    }

    fn block(&mut self, block: u32) -> Result<Bytes, RepoError> {
        if let Some(at) = self.cache.iter().position(|(known, _)| *known == block) {
            let entry = self.cache.remove(at).expect("it was just found");
            self.cache.push_front(entry);
            return Ok(self.cache[0].1.clone());
        }
        let place = self.index.block_place(block);
        let fetch = || Ok(self.repository.storage().get_range(&place.pack, place.range.clone())?);
        let contexts = std::cell::RefCell::new(&mut self.contexts);
        let open = |sealed: &Bytes| {
            let job = self.index.open_job(&self.repository, block, 0, sealed.clone())?;
            contexts.borrow_mut().run(&job).map_err(|error| {
                RepoError::damaged(&place.pack, format!("block at offset {}: {error}", place.range.start))
            })
        };
        let plain = match self.index.kind_of(block) {
            // Folders are wanted again and again, contents once.
            PackKind::Tree => {
                let key = format!("tree-{}-{}", place.pack.base(), place.range.start);
                self.repository.cached(&key, fetch, open)?
            }
            PackKind::Data => open(&fetch()?)?,
        };
        let plain = Bytes::from(plain);
        self.cached += plain.len();
        self.cache.push_front((block, plain.clone()));
        while self.cached > CACHE_LEN && self.cache.len() > 1 {
            let (_, oldest) = self.cache.pop_back().expect("there are at least two");
            self.cached -= oldest.len();
        }
        Ok(plain)
    }
}
