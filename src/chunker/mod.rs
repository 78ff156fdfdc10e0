//! Floor 1: cutting content into chunks where its own bytes say so.
//!
//! FastCDC 2020 (Xia et al., "The Design of Fast Content-Defined Chunking for Data Deduplication Based Storage
//! Systems", TPDS 2020) with a gear table derived from a secret of the repository, so that chunk lengths tell
//! nobody without the key which known file they come from.

use fastcdc::v2020::{Normalization, cut_gear, select_masks};

/// Cuts slices; the same bytes are cut at the same places wherever they stand.
#[derive(Clone, Debug)]
pub struct Chunker {
    min: usize,
    avg: usize,
    max: usize,
    mask_strict: u64,
    mask_relaxed: u64,
    gear: Box<[u64; 256]>,
    gear_shifted: Box<[u64; 256]>,
}

impl Chunker {
    /// A chunker for chunks of `min` to `max` bytes, about `avg`; all even, ascending.
    #[must_use]
    pub fn new(gear: Box<[u64; 256]>, min: u32, avg: u32, max: u32) -> Self {
        let avg = avg as usize;
        let (mask_strict, mask_relaxed) = select_masks(avg, Normalization::Level3);
        let gear_shifted = Box::new(gear.map(|value| value << 1));
        Self { min: min as usize, avg, max: max as usize, mask_strict, mask_relaxed, gear, gear_shifted }
    }

    /// Length in bytes of the longest chunk.
    #[must_use]
    pub fn max(&self) -> usize {
        self.max
    }

    /// Length of the first chunk of `bytes`; what is shorter than [`max`](Self::max) must be the end of its file.
    #[must_use]
    pub fn cut(&self, bytes: &[u8]) -> usize {
        cut_gear(
            bytes,
            self.min,
            self.avg,
            self.max,
            self.mask_strict,
            self.mask_relaxed,
            self.mask_strict << 1,
            self.mask_relaxed << 1,
            &*self.gear,
            &*self.gear_shifted,
        )
        .1
    }
}

#[cfg(test)]
mod tests {
    use super::Chunker;
    use proptest::prelude::*;

    fn chunker(seed: u8) -> Chunker {
        let mut bytes = [0; 2048];
        blake3::Hasher::new_keyed(&[seed; 32]).finalize_xof().fill(&mut bytes);
        let mut gear = Box::new([0; 256]);
        for (value, bytes) in gear.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *value = u64::from_le_bytes(*bytes);
        }
        Chunker::new(gear, 4 << 10, 16 << 10, 32 << 10)
    }

    fn noise(seed: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
        bytes
    }

    fn lengths(chunker: &Chunker, mut bytes: &[u8]) -> Vec<usize> {
        let mut lengths = Vec::new();
        while !bytes.is_empty() {
            lengths.push(chunker.cut(bytes));
            bytes = &bytes[lengths[lengths.len() - 1]..];
        }
        lengths
    }

    #[test]
    fn chunk_lengths_are_near_the_average_and_within_their_limits() {
        let lengths = lengths(&chunker(1), &noise(1, 4 << 20));
        let mean = (4 << 20) / lengths.len();
        assert!((12 << 10..24 << 10).contains(&mean), "{mean}");
        assert!(lengths[..lengths.len() - 1].iter().all(|length| (4 << 10..=32 << 10).contains(length)));
    }

    #[test]
    fn another_secret_cuts_elsewhere() {
        assert_ne!(lengths(&chunker(1), &noise(1, 1 << 20)), lengths(&chunker(2), &noise(1, 1 << 20)));
    }

    #[test]
    fn bytes_put_in_front_change_only_the_first_chunks() {
        let body = noise(7, 4 << 20);
        let moved = [noise(8, 1000), body.clone()].concat();
        let ends = |bytes: &[u8]| -> Vec<usize> {
            let mut end = bytes.len();
            lengths(&chunker(1), bytes)
                .iter()
                .rev()
                .map(|length| {
                    end -= length;
                    bytes.len() - end
                })
                .collect()
        };
        let (before, after) = (ends(&body), ends(&moved));
        let same = before.iter().filter(|end| after.contains(end)).count();
        assert!(same * 10 > before.len() * 9, "{same} of {}", before.len());
    }

    proptest! {
        #[test]
        fn chunks_laid_end_to_end_are_the_content(seed in any::<u64>(), length in 0_usize..200_000) {
            let bytes = noise(seed, length);
            prop_assert_eq!(lengths(&chunker(1), &bytes).iter().sum::<usize>(), length);
        }
    }
}
