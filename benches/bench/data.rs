//! Bytes to measure with: the same on every run, and compressible like text, like programs, or not at all.

use std::fmt::Write as _;

/// A sort of data with its name.
pub(crate) type Sort = (&'static str, fn(u64, usize) -> Vec<u8>);

/// The three sorts.
pub(crate) const SORTS: [Sort; 3] = [("text", text), ("binary", binary), ("random", random)];

/// `length` random bytes decided by `seed`.
pub(crate) fn random(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// Words of a vocabulary, the early ones far more often, in lines with a number in front.
pub(crate) fn text(seed: u64, length: usize) -> Vec<u8> {
    let letters = random(0, 4096 * 12);
    let word = |n: usize| {
        let own = &letters[n * 12..n * 12 + 12];
        let length = 2 + usize::from(own[11] % 9);
        own[..length].iter().map(|b| char::from(b'a' + b % 26)).collect::<String>()
    };
    // What is chosen from are one to three words that often stand together.
    let phrase = |n: usize| (0..=n % 3).map(|k| word((n + k * 1_000) % 4096)).collect::<Vec<_>>().join(" ");
    let words: Vec<String> = (0..4096).map(phrase).collect();
    let mut text = String::with_capacity(length + 100);
    let choices = random(seed, length);
    for (line, choices) in choices.chunks_exact(24).enumerate() {
        write!(text, "{line}:").unwrap();
        for pair in choices.as_chunks::<2>().0 {
            let place = usize::from(u16::from_le_bytes(*pair) >> 4);
            // The cube makes the first words of the vocabulary the common ones.
            text.push(' ');
            text.push_str(&words[place * place / 4096 * place / 4096]);
        }
        text.push('\n');
        if text.len() >= length {
            break;
        }
    }
    text.truncate(length);
    text.into_bytes()
}

/// Records of 16 bytes as in tables and programs: a growing offset, a small set of tags, zeros, and noise; some stand there twice.
pub(crate) fn binary(seed: u64, length: usize) -> Vec<u8> {
    let noise = random(seed, length / 2 + 8);
    let mut bytes = Vec::with_capacity(length + 16);
    let mut offset = 0_u32;
    for noise in noise.as_chunks::<8>().0 {
        if noise[6] < 100 && bytes.len() >= 4096 {
            let from = bytes.len() - 16 * (1 + usize::from(noise[7]));
            bytes.extend_from_within(from..from + 16);
            continue;
        }
        offset += u32::from(noise[0] & 31) * 4;
        bytes.extend_from_slice(&offset.to_le_bytes());
        bytes.extend_from_slice(&[noise[1] & 15, 0x48, 0x8b, noise[2] & 63]);
        bytes.extend_from_slice(&[noise[3], noise[4], 0, 0, noise[5], 0, 0, 0]);
    }
    bytes.truncate(length);
    bytes
}
