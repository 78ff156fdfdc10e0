//! The readers: open, read, cut, hash. Each works through batches, one file after the other, into one buffer at a time.

use super::scan::Batch;
use crate::base::cancel::Cancel;
use crate::chunker::Chunker;
use crate::crypto::{KeyTable, chunk_id};
use crate::files::{Entry, Segment, extents};
use crate::format::limits::INLINE_MAX;
use crate::format::{ChunkId, PackKind};
use crossbeam_channel::{Receiver, Sender};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::sync::Arc;

/// A buffer holds at least this many bytes, and four of the largest chunks.
const BUFFER_LEN: usize = 1 << 20;

/// A packet is sent with so many pieces and ends of files at the latest.
const FOUND_MAX: usize = 4_096;

/// What a reader found, in order; chunks lie in `buffer`.
#[derive(Debug, Default)]
pub(super) struct Packet {
    pub(super) buffer: Vec<u8>,
    pub(super) found: Vec<Found>,
}

/// A piece of a file, or its end.
#[derive(Debug)]
pub(super) enum Found {
    /// A chunk: where it lies in the packet's buffer, and its id.
    Chunk { start: usize, length: usize, id: ChunkId },
    /// A hole of so many bytes.
    Hole(u64),
    /// The end of a file whose whole content lies in the packet's buffer and belongs into the node.
    Inline { start: usize, length: usize, end: Ended },
    /// The end of a file whose chunks came before.
    End(Ended),
}

/// A file that was read, with what went wrong.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) entry: Entry,
    /// Why it is not saved, or not whole.
    pub(super) trouble: Option<String>,
    /// Whether what was read is worth keeping.
    pub(super) keep: bool,
}

/// What every reader needs.
#[derive(Clone, Debug)]
pub(super) struct ReaderKit {
    pub(super) chunker: Arc<Chunker>,
    pub(super) keys: Arc<KeyTable>,
    /// Buffers that the assembly is done with.
    pub(super) spare: Receiver<Vec<u8>>,
    pub(super) cancel: Cancel,
}

/// The assembly no longer takes packets.
#[derive(Debug)]
struct Closed;

/// Works through batches until there are no more.
pub(super) fn read_batches(kit: &ReaderKit, work: &Receiver<Batch>) {
    for Batch { files, packets } in work {
        let mut reader = Reader { kit, packets, packet: Packet::default(), filled: 0, cut: 0 };
        let mut entries = files.into_iter();
        let read_all = entries
            .try_for_each(|entry| if kit.cancel.requested().is_some() { Err(Closed) } else { reader.file(entry) });
        if read_all.is_ok() {
            let _ = reader.send();
        }
    }
}

struct Reader<'k> {
    kit: &'k ReaderKit,
    packets: Sender<Packet>,
    packet: Packet,
    /// Bytes in the buffer.
    filled: usize,
    /// Of these, bytes that lie in chunks or files that are done.
    cut: usize,
}

impl Reader<'_> {
    fn file(&mut self, mut entry: Entry) -> Result<(), Closed> {
        let file = match entry.open() {
            Ok(file) => file,
            Err(error) => return self.end(entry, Some(error.to_string()), false),
        };
        let mut trouble = None;
        if let Err(error) = entry.complete(Some(&file)) {
            trouble = Some(io::Error::other(format!("extended attributes: {error}")));
        }
        let size = entry.node.size;
        if size <= INLINE_MAX as u64 {
            self.make_room(INLINE_MAX)?;
        }
        let start = self.filled;
        let read = self.content(&file, &entry);
        let got = match read? {
            Ok(got) => got,
            Err(error) => return self.end(entry, Some(error.to_string()), false),
        };
        if got < size {
            entry.node.size = got;
            trouble = Some(io::Error::other("it shrank while it was read"));
        } else if trouble.is_none() && changed(&entry, &file) {
            trouble = Some(io::Error::other("it changed while it was read"));
        }
        if trouble.is_some() {
            // Nobody shall take it for unchanged later.
            entry.node.ctime = None;
        }
        let trouble = trouble.map(|error| error.to_string());
        if size <= INLINE_MAX as u64 {
            let length = self.filled - start;
            self.cut = self.filled;
            let end = Ended { entry, trouble, keep: true };
            self.packet.found.push(Found::Inline { start, length, end });
            return Ok(());
        }
        self.end(entry, trouble, true)
    }

    fn end(&mut self, entry: Entry, trouble: Option<String>, keep: bool) -> Result<(), Closed> {
        self.cut = self.filled;
        self.packet.found.push(Found::End(Ended { entry, trouble, keep }));
        if self.packet.found.len() >= FOUND_MAX { self.send() } else { Ok(()) }
    }

    /// Reads the content; gives the number of bytes, holes among them.
    fn content(&mut self, file: &File, entry: &Entry) -> Result<io::Result<u64>, Closed> {
        let size = entry.node.size;
        if size <= INLINE_MAX as u64 {
            return self.fill(file, 0, size);
        }
        if entry.allocated >= size {
            return self.data(file, 0, size);
        }
        // A hole shorter than a chunk costs less as zeros than the chunks that it would tear apart; a restore makes a
        // hole of it again.
        let least = self.kit.chunker.max() as u64;
        let mut data = 0..0;
        for segment in extents(file, size) {
            match segment {
                Segment::Data(range) => data.end = range.end,
                Segment::Hole(range) if range.end - range.start < least => data.end = range.end,
                Segment::Hole(range) => {
                    match self.data(file, data.start, data.end)? {
                        Ok(read) if read == data.end - data.start => {}
                        ended => return Ok(ended.map(|read| data.start + read)),
                    }
                    self.packet.found.push(Found::Hole(range.end - range.start));
                    if self.packet.found.len() >= FOUND_MAX {
                        self.send()?;
                    }
                    data = range.end..range.end;
                }
            }
        }
        Ok(self.data(file, data.start, data.end)?.map(|read| data.start + read))
    }

    /// Reads `from..to` and cuts it into chunks; the last chunk ends at `to` or where the file ends.
    fn data(&mut self, file: &File, from: u64, to: u64) -> Result<io::Result<u64>, Closed> {
        let mut at = from;
        loop {
            self.make_room(self.kit.chunker.max())?;
            let read = match self.fill(file, at, to)? {
                Ok(read) => read,
                Err(error) => return Ok(Err(error)),
            };
            at += read;
            let ended = at == to || read == 0;
            self.cut_chunks(ended);
            if ended {
                return Ok(Ok(at - from));
            }
        }
    }

    /// Reads once from `from`, at most to `to` or to the end of the buffer; short files are read in several goes.
    fn fill(&mut self, file: &File, from: u64, to: u64) -> Result<io::Result<u64>, Closed> {
        let mut at = from;
        while at < to && self.filled < self.packet.buffer.len() {
            if self.kit.cancel.requested().is_some() {
                return Err(Closed);
            }
            let room = self.packet.buffer.len() - self.filled;
            let wanted = usize::try_from(to - at).map_or(room, |left| left.min(room));
            match file.read_at(&mut self.packet.buffer[self.filled..self.filled + wanted], at) {
                Ok(0) => break,
                Ok(read) => {
                    self.filled += read;
                    at += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(at - from))
    }

    fn cut_chunks(&mut self, ended: bool) {
        let key = self.kit.keys.id_key(PackKind::Data);
        while self.cut < self.filled {
            let rest = &self.packet.buffer[self.cut..self.filled];
            if rest.len() < self.kit.chunker.max() && !ended {
                return;
            }
            let length = self.kit.chunker.cut(rest);
            let id = chunk_id(key, &rest[..length]);
            self.packet.found.push(Found::Chunk { start: self.cut, length, id });
            self.cut += length;
        }
    }

    /// Makes sure that `bytes` more fit into the buffer; sends what is done and carries the rest over if not.
    fn make_room(&mut self, bytes: usize) -> Result<(), Closed> {
        if self.packet.buffer.len() - self.filled >= bytes {
            return Ok(());
        }
        let length = BUFFER_LEN.max(4 * self.kit.chunker.max());
        let mut buffer = self.kit.spare.try_recv().unwrap_or_default();
        buffer.resize(length, 0);
        let rest = self.cut..self.filled;
        buffer[..rest.len()].copy_from_slice(&self.packet.buffer[rest.clone()]);
        if !self.packet.found.is_empty() {
            self.send()?;
        }
        self.packet.buffer = buffer;
        (self.cut, self.filled) = (0, rest.len());
        Ok(())
    }

    fn send(&mut self) -> Result<(), Closed> {
        let packet = std::mem::take(&mut self.packet);
        (self.cut, self.filled) = (0, 0);
        self.packets.send(packet).map_err(|_| Closed)
    }
}

/// Whether size or modification time differ from what they were when the file was opened.
fn changed(entry: &Entry, file: &File) -> bool {
    file.metadata().is_ok_and(|stat| {
        let mtime = entry.node.mtime.map(|time| (time.seconds, i64::from(time.nanos)));
        stat.size() != entry.node.size || Some((stat.mtime(), stat.mtime_nsec())) != mtime
    })
}
