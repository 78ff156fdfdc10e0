//! Repeatable random bytes, and valid inputs spoilt in the ways that storage and attackers spoil them.

/// Numbers that decoders stumble over, as lengths, counts and heads of CBOR values.
const NUMBERS: [&[u8]; 12] = [
    &[0; 4],
    &[1, 0, 0, 0],
    &[0xff; 4],
    &[0xff, 0xff, 0xff, 0x7f],
    &[0, 0, 0, 0x80],
    &[0xff; 8],
    &[0x9a, 0x7f, 0xff, 0xff, 0xff],
    &[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0x9f, 0xbf, 0x5f],
    &[0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
];

/// `SplitMix64` (Steele, Lea and Flood, 2014): the same numbers on every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `limit`; 0 when that is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap().max(1);
        usize::try_from(self.next() % limit).unwrap()
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

/// An input for a target with these seeds: random bytes, or one of the seeds after one to four mutations.
pub(crate) fn input(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    if random.below(8) == 0 {
        let length = random.below(300);
        return random.bytes(length);
    }
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(4) {
        let other = &seeds[random.below(seeds.len())];
        mutate(random, &mut bytes, other);
    }
    bytes
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = random.below(bytes.len());
    let end = at + random.below(bytes.len() - at + 1).min(16);
    match random.below(8) {
        0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        5 => {
            let from = random.below(other.len());
            bytes.splice(at.., other[from..].iter().copied());
        }
        6 => {
            let number = NUMBERS[random.below(NUMBERS.len())];
            let over = (at + number.len()).min(bytes.len());
            bytes.splice(at..over, number.iter().copied());
        }
        _ => {
            let number = NUMBERS[random.below(NUMBERS.len())];
            bytes.splice(at..at, number.iter().copied());
        }
    }
}
