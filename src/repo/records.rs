//! The chunk records of an index by number: in memory while they are few, in an unlinked file of the scratch folder when
//! they are many, so that memory does not grow with them.
//!
//! The file lives as long as the index and has no name, so there is nothing to be found, locked or cleared afterwards. Each
//! record carries a sum over itself: one that reads back otherwise is never used, and the index says that it is unsound.

use crate::format::{ChunkId, ChunkRecord};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Records that are kept in memory: 72 MiB.
const IN_MEMORY: usize = 2 << 20;
/// Bytes of a record in the file: id, length, sum.
const RECORD: usize = 40;
/// Bytes that are written at once.
const WRITE_LEN: usize = 1 << 20;

/// Chunk records in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Records {
    memory: Vec<ChunkRecord>,
    /// Those before the ones in memory.
    spilled: Option<Spill>,
    /// Whether some record did not read back as it was written.
    unsound: AtomicBool,
}

#[derive(Debug)]
struct Spill {
    file: File,
    /// Records in the file.
    length: usize,
}

impl Records {
    pub(super) fn len(&self) -> usize {
        self.spilled.as_ref().map_or(0, |spill| spill.length) + self.memory.len()
    }

    /// Whether everything that was asked for read back as it was written.
    pub(super) fn is_sound(&self) -> bool {
        !self.unsound.load(Ordering::Relaxed)
    }

    /// Prepares for about `number` more records; with many of them, and a folder to keep them in, they go into a file.
    /// Where no file can be had they stay in memory.
    pub(super) fn expect(&mut self, number: usize, scratch: Option<&Path>) {
        self.expect_beyond(IN_MEMORY, number, scratch);
    }

    fn expect_beyond(&mut self, limit: usize, number: usize, scratch: Option<&Path>) {
        if self.spilled.is_some() {
            return;
        }
        if self.len() + number > limit
            && let Some(file) = scratch.and_then(|folder| unlinked(folder).ok())
        {
            self.spilled = Some(Spill { file, length: 0 });
            let room = WRITE_LEN / RECORD;
            self.memory.reserve_exact(room.saturating_sub(self.memory.len()));
            return;
        }
        self.memory.reserve(number);
    }

    pub(super) fn push(&mut self, record: ChunkRecord) {
        self.memory.push(record);
        if self.spilled.is_some() && self.memory.len() >= WRITE_LEN / RECORD {
            self.flush();
        }
    }

    /// Writes what is in memory; where that fails (a full disk) it stays there, and so does everything that follows.
    fn flush(&mut self) {
        let Some(spill) = &mut self.spilled else { return };
        let mut bytes = Vec::with_capacity(self.memory.len() * RECORD);
        for record in &self.memory {
            bytes.extend_from_slice(&record.id.0);
            bytes.extend_from_slice(&record.length.to_le_bytes());
            bytes.extend_from_slice(&sum(record).to_le_bytes());
        }
        if spill.file.write_all_at(&bytes, (spill.length * RECORD) as u64).is_ok() {
            spill.length += self.memory.len();
            self.memory.clear();
        }
    }

    /// The record of this number; `None` when it cannot be had.
    pub(super) fn get(&self, number: usize) -> Option<ChunkRecord> {
        let Some(spill) = &self.spilled else { return self.memory.get(number).copied() };
        if let Some(number) = number.checked_sub(spill.length) {
            return self.memory.get(number).copied();
        }
        let mut bytes = [0; RECORD];
        let read = spill.file.read_exact_at(&mut bytes, (number * RECORD) as u64);
        let record = read.ok().and_then(|()| decode(&bytes));
        if record.is_none() {
            self.unsound.store(true, Ordering::Relaxed);
        }
        record
    }

    /// The lengths of the chunks of these numbers together; `None` when some cannot be had.
    pub(super) fn sum_of_lengths(&self, range: Range<usize>) -> Option<u32> {
        if self.spilled.is_none() {
            return Some(self.memory.get(range)?.iter().map(|record| record.length).sum());
        }
        let (wanted, records) = (range.len(), self.range(range));
        (records.len() == wanted).then(|| records.iter().map(|record| record.length).sum())
    }

    /// The records of these numbers; fewer when some cannot be had.
    pub(super) fn range(&self, range: Range<usize>) -> Vec<ChunkRecord> {
        let spilled = self.spilled.as_ref().map_or(0, |spill| spill.length);
        if range.start >= spilled {
            let memory = range.start - spilled..(range.end - spilled).min(self.memory.len());
            return self.memory[memory].to_vec();
        }
        if range.end > spilled {
            return range.map_while(|number| self.get(number)).collect();
        }
        let Some(spill) = &self.spilled else { return Vec::new() };
        let mut bytes = vec![0; range.len() * RECORD];
        let read = spill.file.read_exact_at(&mut bytes, (range.start * RECORD) as u64);
        let records: Vec<_> = match read {
            Ok(()) => bytes.as_chunks::<RECORD>().0.iter().map_while(decode).collect(),
            Err(_) => Vec::new(),
        };
        if records.len() < range.len() {
            self.unsound.store(true, Ordering::Relaxed);
        }
        records
    }
}

fn decode(bytes: &[u8; RECORD]) -> Option<ChunkRecord> {
    let (id, rest) = bytes.split_first_chunk::<32>()?;
    let (length, kept) = rest.split_first_chunk::<4>()?;
    let record = ChunkRecord { id: ChunkId(*id), length: u32::from_le_bytes(*length) };
    (kept == sum(&record).to_le_bytes()).then_some(record)
}

/// A sum that notices any flipped bits and any record of zeros.
fn sum(record: &ChunkRecord) -> u32 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let words = record.id.0.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let mixed =
        words.chain([u64::from(record.length)]).fold(MIX, |sum, word| (sum ^ word).wrapping_mul(MIX).rotate_left(29));
    u32::try_from(mixed >> 32).unwrap_or(0)
}

/// A file without a name in `folder`, which is made if it is missing.
fn unlinked(folder: &Path) -> io::Result<File> {
    std::fs::create_dir_all(folder)?;
    for n in 0..100 {
        let path = folder.join(format!(".index-{}-{n}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::{RECORD, Records};
    use crate::format::{ChunkId, ChunkRecord};
    use proptest::prelude::*;
    use std::os::unix::fs::FileExt;

    fn record(n: usize) -> ChunkRecord {
        let length = u32::try_from(n % 4_000 + 1).unwrap();
        ChunkRecord { id: ChunkId(*blake3::hash(&n.to_le_bytes()).as_bytes()), length }
    }

    fn filled(number: usize, scratch: Option<&std::path::Path>) -> Records {
        let mut records = Records::default();
        records.expect_beyond(100, number, scratch);
        (0..number).for_each(|n| records.push(record(n)));
        records
    }

    #[test]
    fn many_records_are_in_a_file_without_a_name_and_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = folder.path().join("made/if/missing");
        let (kept, spilled) = (filled(60_000, None), filled(60_000, Some(&scratch)));
        assert!(kept.spilled.is_none());
        assert!(spilled.spilled.as_ref().unwrap().length > 50_000 && spilled.memory.len() < 30_000);
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
        for records in [&kept, &spilled] {
            assert_eq!(records.len(), 60_000);
            assert!((0..60_000).all(|n| records.get(n) == Some(record(n))));
            assert_eq!(records.get(60_000), None);
            let edge = spilled.spilled.as_ref().unwrap().length;
            for range in [0..0, 0..1, 5..4_000, edge - 3..edge + 3, edge..edge + 9, 59_990..60_000] {
                let wanted: Vec<_> = range.clone().map(record).collect();
                assert_eq!(records.range(range), wanted);
            }
            assert!(records.is_sound());
        }
        // A few stay in memory, and so do many where there is no place.
        assert!(filled(50, Some(&scratch)).spilled.is_none());
        assert!(filled(500, Some(std::path::Path::new("/proc/nowhere"))).spilled.is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_record_that_reads_back_otherwise_is_never_used(n in 0_usize..26_214, at in 0_usize..RECORD, bit in 0_u8..8) {
            let folder = tempfile::tempdir().unwrap();
            let records = filled(30_000, Some(folder.path()));
            let file = &records.spilled.as_ref().unwrap().file;
            let mut byte = [0];
            file.read_exact_at(&mut byte, (n * RECORD + at) as u64).unwrap();
            file.write_all_at(&[byte[0] ^ 1 << bit], (n * RECORD + at) as u64).unwrap();
            prop_assert_eq!(records.get(n), None);
            prop_assert!(!records.is_sound());
            let records = filled(30_000, Some(folder.path()));
            records.spilled.as_ref().unwrap().file.set_len((n * RECORD + at) as u64).unwrap();
            prop_assert!(records.range(n..n + 1).is_empty() && !records.is_sound());
        }
    }
}
