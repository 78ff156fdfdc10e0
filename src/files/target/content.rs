//! Bytes into files, leaving holes where they are zero.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Zero blocks of this size, aligned in the file, are not written.
const BLOCK: usize = 4096;

/// Writes `bytes` at `offset`, leaving out aligned blocks of 4 KiB that are zero; gives the number of bytes written.
/// Where nothing was written yet the file must read as zeros: it is new, and has its final length.
///
/// # Errors
/// As `pwrite`.
pub fn write_sparse_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<u64> {
    let past = usize::try_from(offset % BLOCK as u64).unwrap_or(0);
    let head = if past == 0 { 0 } else { (BLOCK - past).min(bytes.len()) };
    let mut written = 0;
    let (mut from, mut at) = (0, head);
    loop {
        let end = (at + BLOCK).min(bytes.len());
        let block = bytes.get(at..end).unwrap_or_default();
        let is_hole = block.len() == BLOCK && is_zero(block);
        if is_hole || block.is_empty() {
            let run = bytes.get(from..at).unwrap_or_default();
            if !run.is_empty() {
                file.write_all_at(run, offset + from as u64)?;
                written += run.len() as u64;
            }
            from = end;
        }
        if block.is_empty() {
            return Ok(written);
        }
        at = end;
    }
}

fn is_zero(block: &[u8]) -> bool {
    block.chunks(64).all(|chunk| chunk.iter().fold(0, |all, byte| all | byte) == 0)
}

#[cfg(test)]
mod tests {
    use super::write_sparse_at;
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};

    #[test]
    fn zero_blocks_become_holes_and_everything_reads_back() {
        let file = tempfile::tempfile().unwrap();
        let mut bytes = vec![0; 100_000];
        bytes[10] = 1;
        bytes[50_000..50_010].fill(2);
        bytes[99_999] = 3;
        file.set_len(1000 + 100_000).unwrap();
        let written = write_sparse_at(&file, 1000, &bytes).unwrap();
        assert!(written < 16_000, "{written}");
        let mut back = vec![9; 100_000];
        file.read_exact_at(&mut back, 1000).unwrap();
        assert_eq!(back, bytes);
        assert!(file.metadata().unwrap().blocks() * 512 < 100_000);
    }

    #[test]
    fn every_split_of_a_text_lands_where_it_belongs() {
        let bytes: Vec<u8> = (0..20_000_usize).map(|i| u8::from(i % 9000 < 3)).collect();
        for step in [1999, 4096, 5000, 20_000] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(20_000).unwrap();
            for (index, piece) in bytes.chunks(step).enumerate() {
                write_sparse_at(&file, (index * step) as u64, piece).unwrap();
            }
            let mut back = vec![9; 20_000];
            file.read_exact_at(&mut back, 0).unwrap();
            assert_eq!(back, bytes, "{step}");
        }
    }
}
