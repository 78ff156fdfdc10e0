//! Bytes to measure with: the same on every run, and compressible like text, like programs, or not at all.

/// A sort of data with its name; made from a seed and a length in bytes.
pub type Sort = (&'static str, fn(u64, usize) -> Vec<u8>);

/// The three sorts.
pub const SORTS: [Sort; 3] = [("text", text), ("binary", binary), ("random", random)];

/// Most bytes of a piece of [`mixed`].
const PIECE: usize = 64 << 10;

/// Pieces of 64 KiB: of eight, four of text, two of binary, one random and one of zeros.
#[must_use]
pub fn mixed(length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length);
    for seed in 0.. {
        let piece = PIECE.min(length - bytes.len());
        if piece == 0 {
            break;
        }
        bytes.extend(match seed % 8 {
            1 | 5 => binary(seed, piece),
            3 => random(seed, piece),
            7 => vec![0; piece],
            _ => text(seed, piece),
        });
    }
    bytes
}

/// `length` random bytes decided by `seed`.
#[must_use]
pub fn random(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// Words of a vocabulary, the early ones far more often, in lines with a number in front.
#[must_use]
pub fn text(seed: u64, length: usize) -> Vec<u8> {
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
    let choices = random(seed, length + 24);
    for (line, choices) in choices.chunks_exact(24).enumerate() {
        text.push_str(&line.to_string());
        text.push(':');
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
#[must_use]
pub fn binary(seed: u64, length: usize) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use super::{SORTS, mixed};

    #[test]
    fn every_sort_has_the_length_asked_for_and_is_the_same_again() {
        for (name, make) in SORTS {
            for length in [0, 1, 4096, 100_000] {
                assert_eq!(make(3, length).len(), length, "{name}");
            }
            assert!(make(3, 9999) == make(3, 9999) && make(3, 9999) != make(4, 9999), "{name}");
        }
        assert_eq!(mixed(1_000_001).len(), 1_000_001);
    }
}
