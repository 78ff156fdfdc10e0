//! Finishing packs and putting them, beside the thread that fills them.

use super::RepoError;
use super::pack_writer::FullPack;
use crate::format::{IndexedPack, Part, Trailer};
use crate::storage::{Folder, ObjectName, PutMode, Storage};
use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Threads that put packs. Handing one over waits until a thread is free, which bounds the memory to a pack a thread.
#[derive(Debug)]
pub(super) struct Uploads {
    queue: Option<Sender<FullPack>>,
    done: Receiver<Result<IndexedPack, RepoError>>,
    threads: Vec<JoinHandle<()>>,
    pending: usize,
}

impl Uploads {
    pub(super) fn start(storage: &Arc<dyn Storage>, threads: usize) -> Result<Self, RepoError> {
        let (queue, packs) = bounded::<FullPack>(0);
        let (finished, done) = unbounded();
        let spawn = |n: usize| {
            let (packs, finished, storage) = (packs.clone(), finished.clone(), Arc::clone(storage));
            let put_all = move || {
                for pack in packs {
                    // Whoever waits for this pack must hear of it, whatever happens here.
                    let done = catch_unwind(AssertUnwindSafe(|| put(&*storage, pack)));
                    let panicked = |_| Err(RepoError::Engine("an upload thread panicked".to_owned()));
                    let _ = finished.send(done.unwrap_or_else(panicked));
                }
            };
            std::thread::Builder::new().name(format!("upload-{n}")).spawn(put_all)
        };
        let threads = (0..threads.max(1)).map(spawn).collect::<Result<_, _>>()?;
        Ok(Self { queue: Some(queue), done, threads, pending: 0 })
    }

    /// Hands a pack over.
    pub(super) fn submit(&mut self, pack: FullPack) -> Result<(), RepoError> {
        let stopped = || RepoError::Engine("the upload threads have stopped".to_owned());
        self.queue.as_ref().ok_or_else(stopped)?.send(pack).map_err(|_| stopped())?;
        self.pending += 1;
        Ok(())
    }

    /// A pack that is durable now; waits for one when `wait` is set and any is under way.
    pub(super) fn reap(&mut self, wait: bool) -> Result<Option<IndexedPack>, RepoError> {
        if self.pending == 0 {
            return Ok(None);
        }
        let stopped = || RepoError::Engine("the upload threads have stopped".to_owned());
        let result = if wait { Some(self.done.recv().map_err(|_| stopped())?) } else { self.done.try_recv().ok() };
        match result {
            Some(result) => {
                self.pending -= 1;
                result.map(Some)
            }
            None => Ok(None),
        }
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Adds footer, header copy and trailer, names the pack by its bytes and puts it.
fn put(storage: &dyn Storage, pack: FullPack) -> Result<IndexedPack, RepoError> {
    let FullPack { header, key, blocks, table } = pack;
    let mut footer = table.to_footer();
    key.seal(Part::Footer, 0, &mut footer);
    let footer_len = u32::try_from(footer.len()).expect("a footer is within its limit");
    let blocks_len = u32::try_from(table.blocks.len()).expect("a pack has at most 16384 blocks");
    let mut trailer = Trailer { footer_len, blocks: blocks_len }.to_bytes().to_vec();
    key.seal(Part::Trailer, 0, &mut trailer);
    let clear = Bytes::copy_from_slice(&header.to_bytes());
    let mut parts = Vec::with_capacity(blocks.len() + 4);
    parts.push(clear.clone());
    parts.extend(blocks);
    parts.extend([Bytes::from(footer), clear, Bytes::from(trailer)]);
    let mut hasher = blake3::Hasher::new();
    for part in &parts {
        hasher.update(part);
    }
    let name = *hasher.finalize().as_bytes();
    storage.put(&ObjectName::hashed(Folder::Packs, &name), &parts, PutMode::Keep)?;
    let length = u32::try_from(parts.iter().map(Bytes::len).sum::<usize>()).expect("a pack is within its limit");
    Ok(IndexedPack { name, header, length, table })
}
