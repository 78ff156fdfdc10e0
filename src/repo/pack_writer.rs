//! Laying chunks into blocks and blocks into packs, for one kind of chunk (`repo-format.md`, chapter 7).

use super::{RepoError, Repository};
use crate::crypto::ObjectKey;
use crate::engine::{Contexts, Job, Operation};
use crate::format::limits::{BLOCK_CHUNKS_MAX, HEADER_LEN, PACK_BLOCKS_MAX, PACK_CHUNKS_MAX};
use crate::format::{BlockRecord, ChunkId, ChunkRecord, Class, Header, PackKind, PackTable};
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::sync::Arc;

/// A pack whose blocks are all sealed, without its footer.
#[derive(Debug)]
pub(super) struct FullPack {
    pub(super) header: Header,
    pub(super) key: Arc<ObjectKey>,
    pub(super) blocks: Vec<Bytes>,
    pub(super) table: PackTable,
}

impl FullPack {
    /// Opens every block and compares its chunks with their ids.
    ///
    /// # Errors
    /// [`RepoError::Engine`] when some block is not what was to be sealed.
    pub(super) fn check(&self, repository: &Repository) -> Result<(), RepoError> {
        let kind = self.header.kind.ok_or_else(|| RepoError::Engine("a pack has no kind".to_owned()))?;
        let (mut contexts, mut chunks) = (Contexts::default(), self.table.chunks.iter());
        for (block, record) in self.blocks.iter().zip(&self.table.blocks) {
            let job = Job {
                ticket: 0,
                operation: Operation::Open,
                key: Arc::clone(&self.key),
                number: record.number,
                plain_len: record.plain_len,
                input: block.clone(),
            };
            let mut plain = &contexts.run(&job).map_err(|error| wrong(&error.to_string()))?[..];
            for chunk in chunks.by_ref().take(usize::from(record.chunks)) {
                let (bytes, rest) =
                    plain.split_at_checked(chunk.length as usize).ok_or_else(|| wrong("it is short"))?;
                if repository.keys().id(kind, bytes) != chunk.id {
                    return Err(wrong("a chunk has another id"));
                }
                plain = rest;
            }
        }
        Ok(())
    }
}

fn wrong(how: &str) -> RepoError {
    RepoError::Engine(format!("the accelerator made a wrong block, which is not stored: {how}"))
}

/// A block that is laid, with its place: what is missing is the sealing.
#[derive(Debug)]
pub(super) struct LaidBlock {
    pub(super) pack: u64,
    pub(super) number: u32,
    pub(super) key: Arc<ObjectKey>,
    pub(super) plain: Bytes,
    pub(super) chunks: Vec<ChunkRecord>,
}

#[derive(Debug)]
struct OpenPack {
    serial: u64,
    header: Header,
    key: Arc<ObjectKey>,
    next_number: u32,
    in_flight: usize,
    plain_in_flight: u64,
    chunks: usize,
    length: u64,
    blocks: Vec<Bytes>,
    table: PackTable,
    closing: bool,
}

/// The open block and the packs of one kind.
#[derive(Debug)]
pub(super) struct PackWriter {
    kind: PackKind,
    block_size: usize,
    pack_size: u64,
    plain: BytesMut,
    chunks: Vec<ChunkRecord>,
    packs: VecDeque<OpenPack>,
    serial: u64,
    plain_sealed: u64,
    sealed: u64,
    spare: Vec<BytesMut>,
}

impl PackWriter {
    pub(super) fn new(kind: PackKind, block_size: u32, pack_size: u32) -> Self {
        Self {
            kind,
            block_size: block_size as usize,
            pack_size: u64::from(pack_size),
            plain: BytesMut::new(),
            chunks: Vec::new(),
            packs: VecDeque::new(),
            serial: 0,
            plain_sealed: 0,
            sealed: 0,
            spare: Vec::new(),
        }
    }

    /// Appends a chunk to the open block; gives the block before it when the chunk did not fit there.
    pub(super) fn append(
        &mut self,
        repository: &Repository,
        id: ChunkId,
        chunk: &[u8],
    ) -> Result<Option<LaidBlock>, RepoError> {
        let full = self.plain.len() + chunk.len() > self.block_size || self.chunks.len() == BLOCK_CHUNKS_MAX;
        let laid = if full { self.lay(repository)? } else { None };
        if self.plain.capacity() == 0 {
            self.plain = self.spare.pop().unwrap_or_else(|| BytesMut::with_capacity(self.block_size));
        }
        self.plain.extend_from_slice(chunk);
        self.chunks
            .push(ChunkRecord { id, length: u32::try_from(chunk.len()).expect("chunks are within their limit") });
        Ok(laid)
    }

    /// Gives a block that was opened elsewhere, `plain_len` bytes of `chunks`, a place in a pack; it is to be sealed with the
    /// key and number that are given, as it is.
    pub(super) fn adopt(
        &mut self,
        repository: &Repository,
        chunks: Vec<ChunkRecord>,
        plain_len: u32,
    ) -> Result<LaidBlock, RepoError> {
        self.place(repository, Bytes::new(), chunks, plain_len)
    }

    /// Ends the open block, if there is one, and gives it a place in a pack.
    pub(super) fn lay(&mut self, repository: &Repository) -> Result<Option<LaidBlock>, RepoError> {
        if self.chunks.is_empty() {
            return Ok(None);
        }
        let plain = std::mem::take(&mut self.plain).freeze();
        let chunks = std::mem::take(&mut self.chunks);
        let plain_len = u32::try_from(plain.len()).expect("a block is within its limit");
        self.place(repository, plain, chunks, plain_len).map(Some)
    }

    fn place(
        &mut self,
        repository: &Repository,
        plain: Bytes,
        chunks: Vec<ChunkRecord>,
        plain_len: u32,
    ) -> Result<LaidBlock, RepoError> {
        if self.packs.back().is_none_or(|pack| pack.closing || pack.chunks + chunks.len() > PACK_CHUNKS_MAX) {
            self.close_last();
            self.begin(repository, &chunks)?;
        }
        let pack = self.packs.back_mut().expect("a pack was begun");
        let number = pack.next_number;
        pack.next_number += 1;
        pack.in_flight += 1;
        pack.plain_in_flight += u64::from(plain_len);
        pack.chunks += chunks.len();
        let laid = LaidBlock { pack: pack.serial, number, key: Arc::clone(&pack.key), plain, chunks };
        self.close_when_full();
        Ok(laid)
    }

    fn begin(&mut self, repository: &Repository, chunks: &[ChunkRecord]) -> Result<(), RepoError> {
        let ids: Vec<&[u8]> = chunks.iter().map(|chunk| &chunk.id.0[..]).collect();
        let salt = repository.salts().next(&ids)?;
        let (header, key) = repository.keys().begin(Class::Pack, Some(self.kind), repository.suite(), salt);
        self.serial += 1;
        self.packs.push_back(OpenPack {
            serial: self.serial,
            header,
            key: Arc::new(key),
            next_number: 0,
            in_flight: 0,
            plain_in_flight: 0,
            chunks: 0,
            length: HEADER_LEN as u64,
            blocks: Vec::new(),
            table: PackTable::default(),
            closing: false,
        });
        Ok(())
    }

    /// Takes no more blocks into the last pack once what is in it, and what will come, reaches the size of a pack.
    fn close_when_full(&mut self) {
        let (plain, sealed) = (self.plain_sealed.max(1), if self.plain_sealed == 0 { 1 } else { self.sealed });
        if let Some(pack) = self.packs.back_mut() {
            let coming = u128::from(pack.plain_in_flight) * u128::from(sealed) / u128::from(plain);
            let full = u128::from(pack.length) + coming >= u128::from(self.pack_size);
            pack.closing |= full || pack.next_number as usize == PACK_BLOCKS_MAX;
        }
    }

    fn close_last(&mut self) {
        if let Some(pack) = self.packs.back_mut() {
            pack.closing = true;
        }
    }

    /// Lays the open block and closes every pack, full or not.
    pub(super) fn flush(&mut self, repository: &Repository) -> Result<Option<LaidBlock>, RepoError> {
        let laid = self.lay(repository)?;
        self.close_last();
        Ok(laid)
    }

    /// Appends a sealed block to the pack it was laid for.
    pub(super) fn sealed(&mut self, serial: u64, number: u32, chunks: Vec<ChunkRecord>, sealed: Vec<u8>) {
        let plain_len = chunks.iter().map(|chunk| chunk.length).sum();
        let pack = self.packs.iter_mut().find(|pack| pack.serial == serial).expect("a pack waits for its blocks");
        let sealed_len = u32::try_from(sealed.len()).expect("sealed blocks are within their limit");
        let offset = u32::try_from(pack.length).expect("packs are within their limit");
        let count = u16::try_from(chunks.len()).expect("blocks have at most 4096 chunks");
        pack.table.blocks.push(BlockRecord { number, offset, sealed_len, plain_len, chunks: count });
        pack.table.chunks.extend(chunks);
        pack.blocks.push(Bytes::from(sealed));
        pack.length += u64::from(sealed_len);
        pack.in_flight -= 1;
        pack.plain_in_flight -= u64::from(plain_len);
        self.plain_sealed += u64::from(plain_len);
        self.sealed += u64::from(sealed_len);
        self.close_when_full();
    }

    /// Gives a buffer back for the next block.
    pub(super) fn recycle(&mut self, plain: Bytes) {
        if let Ok(mut buffer) = plain.try_into_mut()
            && self.spare.len() < 8
        {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// A pack that takes no more blocks and waits for none.
    pub(super) fn take_full(&mut self) -> Option<FullPack> {
        let ready = self.packs.iter().position(|pack| pack.closing && pack.in_flight == 0)?;
        let pack = self.packs.remove(ready).expect("it was just found");
        Some(FullPack { header: pack.header, key: pack.key, blocks: pack.blocks, table: pack.table })
    }

    /// Whether nothing is open or waited for.
    pub(super) fn is_idle(&self) -> bool {
        self.chunks.is_empty() && self.packs.is_empty()
    }
}
