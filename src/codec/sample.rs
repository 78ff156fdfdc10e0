//! A cheap look at whether a block is worth compressing.

const SAMPLES: usize = 64;
const SAMPLE_LEN: usize = 64;

/// Whether a few spread samples show bytes that are not equally likely.
///
/// The sum of the squared byte counts of n equally likely bytes is n (n + 255) / 256 with a standard deviation of 0.5 % at
/// n = 4,096; blocks less than 2 % above that are as good as random. A block that is random but for one part in
/// twenty-five of text is still seen as compressible.
pub(crate) fn looks_compressible(block: &[u8]) -> bool {
    if block.len() < SAMPLES * SAMPLE_LEN {
        return true;
    }
    let mut counts = [0_u32; 256];
    let step = (block.len() - SAMPLE_LEN) / (SAMPLES - 1);
    for start in (0..SAMPLES).map(|n| n * step) {
        for byte in &block[start..start + SAMPLE_LEN] {
            counts[usize::from(*byte)] += 1;
        }
    }
    let n = (SAMPLES * SAMPLE_LEN) as u64;
    let sum: u64 = counts.iter().map(|count| u64::from(*count).pow(2)).sum();
    sum * 256 * 100 > n * (n + 255) * 102
}

#[cfg(test)]
mod tests {
    use super::looks_compressible;

    fn noise(length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        blake3::Hasher::new().update(b"noise").finalize_xof().fill(&mut bytes);
        bytes
    }

    #[test]
    fn noise_is_not_and_text_is_and_a_little_text_in_noise_is() {
        assert!(!looks_compressible(&noise(1 << 20)));
        assert!(!looks_compressible(&noise(5000)));
        assert!(looks_compressible(&vec![b'a'; 1 << 20]));
        let mut mixed = noise(1 << 20);
        let text = b"a backup that was never restored is a hope. ".repeat(1000);
        mixed[300_000..300_000 + text.len()].copy_from_slice(&text);
        mixed[700_000..700_000 + text.len()].copy_from_slice(&text);
        assert!(looks_compressible(&mixed));
    }
}
