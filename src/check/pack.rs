//! One pack: every byte read, every block opened, every chunk compared with its id.

use super::{CheckError, Damage};
use crate::base::meter::Meter;
use crate::engine::Contexts;
use crate::format::TAIL_LEN;
use crate::format::limits::HEADER_LEN;
use crate::repo::{Index, PackView, RepoError, Repository};
use crate::storage::{Folder, ObjectName};
use bytes::Bytes;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Blocks are read together up to this many bytes.
const READ_LEN: u64 = 8 << 20;

/// What is wrong with a pack.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) damage: Vec<Damage>,
    pub(super) unreadable: Vec<Damage>,
    /// Numbers of blocks of the index of which nothing can be had.
    pub(super) bad_blocks: Vec<u32>,
    /// Numbers of blocks that could not be read this time.
    pub(super) unread: Vec<u32>,
    /// Copies of chunks that have other bytes: block, and first byte in it.
    pub(super) bad_copies: Vec<(u32, u32)>,
}

impl Verdict {
    pub(super) fn is_good(&self) -> bool {
        self.damage.is_empty() && self.unreadable.is_empty()
    }
}

/// Goes through one pack after another.
pub(super) struct PackReader<'p> {
    repository: &'p Repository,
    index: &'p Index,
    meter: &'p Meter,
    contexts: Contexts,
}

impl<'p> PackReader<'p> {
    pub(super) fn new(repository: &'p Repository, index: &'p Index, meter: &'p Meter) -> Self {
        Self { repository, index, meter, contexts: Contexts::default() }
    }

    /// Reads a pack that the index names.
    ///
    /// # Errors
    /// Only for what concerns other packs too; what is wrong with this one is in the verdict.
    pub(super) fn read(&mut self, view: &PackView) -> Result<Verdict, RepoError> {
        let name = ObjectName::hashed(Folder::Packs, &view.name);
        let mut pack = Pack { reader: self, name, verdict: Verdict::default(), hasher: Some(blake3::Hasher::new()) };
        pack.header(view);
        let mut blocks = view.blocks.clone();
        while !blocks.is_empty() {
            let group = pack.group(&blocks);
            pack.blocks(group.clone())?;
            blocks.start = group.end;
        }
        pack.tail(view);
        pack.name(view);
        Ok(pack.verdict)
    }
}

struct Pack<'r, 'p> {
    reader: &'r mut PackReader<'p>,
    name: ObjectName,
    verdict: Verdict,
    /// `None` once some bytes could not be read.
    hasher: Option<blake3::Hasher>,
}

impl Pack<'_, '_> {
    fn damaged(&mut self, reason: impl ToString) {
        self.verdict.damage.push(Damage::new(&self.name, reason));
    }

    /// Reads a range and adds it to the hash; what cannot be read is noted, unless there is a closer look to come.
    fn range(&mut self, range: Range<u64>, closer: bool) -> Option<Bytes> {
        let length = range.end - range.start;
        match self.reader.repository.storage().get_range(&self.name, range.clone()) {
            Ok(bytes) => {
                self.hasher.as_mut().map(|hasher| hasher.update(&bytes));
                Meter::add(&self.reader.meter.bytes_done, length);
                return Some(bytes);
            }
            Err(_) if closer => {}
            Err(error) => {
                let error = RepoError::from(error);
                if error.is_damage() {
                    self.damaged(format!("bytes {} to {} cannot be had: {error}", range.start, range.end));
                } else {
                    self.verdict.unreadable.push(Damage::new(&self.name, error));
                }
            }
        }
        self.hasher = None;
        None
    }

    fn header(&mut self, view: &PackView) {
        if let Some(bytes) = self.range(0..HEADER_LEN as u64, false)
            && bytes[..] != view.header.to_bytes()
        {
            self.damaged("its header is not the one in the index");
        }
    }

    /// The blocks at the front of `blocks` that are read at once.
    fn group(&self, blocks: &Range<u32>) -> Range<u32> {
        let from = self.reader.index.block_place(blocks.start).range.start;
        let fits = |block: &u32| self.reader.index.block_place(*block).range.end - from <= READ_LEN;
        let more = (blocks.start + 1..blocks.end).take_while(fits).count();
        blocks.start..blocks.start + 1 + u32::try_from(more).unwrap_or(0)
    }

    fn blocks(&mut self, group: Range<u32>) -> Result<(), RepoError> {
        let place = |block| self.reader.index.block_place(block).range;
        let all = place(group.start).start..place(group.end - 1).end;
        let together = if group.len() > 1 { self.range(all.clone(), true) } else { None };
        for block in group {
            let range = self.reader.index.block_place(block).range;
            let before = self.verdict.unreadable.len();
            let sealed = match &together {
                Some(bytes) => {
                    let within = |at: u64| usize::try_from(at - all.start).unwrap_or(usize::MAX);
                    Some(bytes.slice(within(range.start)..within(range.end)))
                }
                None => self.range(range, false),
            };
            match sealed {
                Some(sealed) => self.block(block, sealed)?,
                None if self.verdict.unreadable.len() > before => self.verdict.unread.push(block),
                None => self.verdict.bad_blocks.push(block),
            }
        }
        Ok(())
    }

    fn block(&mut self, block: u32, sealed: Bytes) -> Result<(), RepoError> {
        let reader = &mut *self.reader;
        let opened = match reader.index.open_job(reader.repository, block, 0, sealed) {
            Ok(job) => reader.contexts.run_guarded(&job).map_err(|error| error.to_string()),
            Err(error) if error.is_damage() => Err(error.to_string()),
            Err(error) => return Err(error),
        };
        let place = reader.index.block_place(block);
        let plain = match opened {
            Ok(plain) => plain,
            Err(reason) => {
                self.verdict.bad_blocks.push(block);
                self.damaged(format!("block at offset {}: {reason}", place.range.start));
                return Ok(());
            }
        };
        let kind = reader.index.kind_of(block);
        let (index, keys) = (reader.index, reader.repository.keys());
        let mut start = 0_u32;
        for chunk in index.block_chunks(block) {
            let end = start + chunk.length;
            if plain.get(start as usize..end as usize).is_none_or(|bytes| keys.id(kind, bytes) != chunk.id) {
                self.verdict.bad_copies.push((block, start));
                self.damaged(format!(
                    "chunk {} in the block at offset {} has other bytes",
                    chunk.id, place.range.start
                ));
            }
            start = end;
        }
        Ok(())
    }

    /// Footer, copy of the header and trailer: of use only without an index, and just as worth keeping.
    fn tail(&mut self, view: &PackView) {
        let end = view
            .blocks
            .end
            .checked_sub(1)
            .map_or(HEADER_LEN as u64, |last| self.reader.index.block_place(last).range.end);
        let length = u64::from(view.length);
        if end + TAIL_LEN as u64 > length {
            self.damaged("it has no room for a footer");
            return;
        }
        let Some(bytes) = self.range(end..length, false) else { return };
        match self.reader.repository.open_footer(&view.name, length, &bytes) {
            Ok(own) => {
                let index = self.reader.index;
                let blocks = view.blocks.clone().map(|block| index.block_record(block));
                let chunks = view.blocks.clone().flat_map(|block| index.block_chunks(block));
                if !own.table.blocks.iter().copied().eq(blocks) || !own.table.chunks.iter().copied().eq(chunks) {
                    self.damaged("its footer says something else than the index");
                }
            }
            Err(error) if error.is_damage() => self.damaged(format!("its footer: {error}")),
            // Sealed by a newer program: nothing is wrong with it.
            Err(error) => self.verdict.unreadable.push(Damage::new(&self.name, error)),
        }
    }

    fn name(&mut self, view: &PackView) {
        let Some(hasher) = self.hasher.take() else { return };
        if *hasher.finalize().as_bytes() != view.name && self.verdict.damage.is_empty() {
            self.damaged("its bytes do not have the hash that is its name");
        }
    }
}

/// Runs `work` on every item, on several threads; `each` is given the results one at a time, in no particular order, also
/// when something fails later.
pub(super) fn on_threads<'i, I: Sync, R: Send>(
    threads: usize,
    items: &'i [I],
    each: impl FnMut(R) + Send,
    work: impl Fn(&dyn Fn(R), &mut dyn Iterator<Item = &'i I>) -> Result<(), CheckError> + Sync,
) -> Result<(), CheckError> {
    let (next, each) = (AtomicUsize::new(0), Mutex::new(each));
    let give = || {
        let mut mine = std::iter::from_fn(|| items.get(next.fetch_add(1, Ordering::Relaxed)));
        let keep = |result| (*each.lock().unwrap_or_else(PoisonError::into_inner))(result);
        work(&keep, &mut mine)
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(give)).collect();
        let panicked = |_| Err(CheckError::Repo(RepoError::Engine("a checking thread panicked".to_owned())));
        let outcomes = running.into_iter().map(|thread| thread.join().unwrap_or_else(panicked));
        outcomes.fold(Ok(()), Result::and)
    })
}

/// A repository and its index, shared.
pub(super) type Shared = (Arc<Repository>, Arc<Index>);
