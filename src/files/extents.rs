//! Where a sparse file has data and where it has holes.

use std::fs::File;
use std::ops::Range;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// A stretch of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Bytes that have to be read.
    Data(Range<u64>),
    /// Bytes that are zero and take no space.
    Hole(Range<u64>),
}

/// The stretches of the first `size` bytes of `file`, in order and without gaps.
///
/// Moves the file's position: read with `read_at`. Where the file system does not tell (or errs), the rest is data.
#[must_use]
pub fn extents(file: &File, size: u64) -> Extents<'_> {
    Extents { file, size, position: 0, data_until: 0 }
}

/// Made by [`extents`].
#[derive(Debug)]
pub struct Extents<'a> {
    file: &'a File,
    size: u64,
    position: u64,
    /// Up to here the file is known to hold data.
    data_until: u64,
}

impl Iterator for Extents<'_> {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        let from = self.position;
        if from >= self.size {
            return None;
        }
        if self.data_until <= from {
            let data = match seek(self.file, SeekFrom::Data(from)) {
                Ok(at) => at.clamp(from, self.size),
                Err(Errno::NXIO) => self.size,
                Err(_) => {
                    self.position = self.size;
                    return Some(Segment::Data(from..self.size));
                }
            };
            if data > from {
                self.position = data;
                return Some(Segment::Hole(from..data));
            }
            self.data_until = match seek(self.file, SeekFrom::Hole(from)) {
                Ok(at) if at > from => at.min(self.size),
                _ => self.size,
            };
        }
        self.position = self.data_until;
        Some(Segment::Data(from..self.data_until))
    }
}

#[cfg(test)]
mod tests {
    use super::{Segment, extents};
    use std::os::unix::fs::FileExt as _;

    #[test]
    fn a_tebibyte_with_three_islands_is_told_in_a_few_segments() {
        let file = tempfile::tempfile().unwrap();
        let size = 1 << 40;
        file.set_len(size).unwrap();
        let islands = [0_u64, 1 << 30, (1 << 39) + 8192];
        for at in islands {
            file.write_all_at(&[7; 4096], at).unwrap();
        }
        let segments: Vec<_> = extents(&file, size).collect();
        let mut expected_start = 0;
        for segment in &segments {
            let (Segment::Data(range) | Segment::Hole(range)) = segment;
            assert_eq!(range.start, expected_start);
            expected_start = range.end;
        }
        assert_eq!(expected_start, size);
        let data: Vec<_> = segments.iter().filter(|s| matches!(s, Segment::Data(_))).cloned().collect();
        if segments.len() == 1 {
            println!("skipped: the file system does not tell holes");
        } else {
            assert_eq!(data, islands.map(|at| Segment::Data(at..at + 4096)));
        }
    }

    #[test]
    fn an_empty_file_has_no_segments_and_a_full_one_has_one() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(extents(&file, 0).count(), 0);
        file.write_all_at(&[1; 10_000], 0).unwrap();
        assert_eq!(extents(&file, 10_000).collect::<Vec<_>>(), [Segment::Data(0..10_000)]);
    }

    #[test]
    fn where_holes_are_not_told_everything_is_data() {
        let file = std::fs::File::open("/proc/self/status").unwrap();
        assert_eq!(extents(&file, 100).collect::<Vec<_>>(), [Segment::Data(0..100)]);
    }
}
