//! Recovery keys, as people write them down (`repo-format.md`, chapter 5).

use zeroize::Zeroizing;

const PREFIX: &str = "nj1";
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A random key of 32 bytes that opens a repository like a password does.
#[derive(Clone, PartialEq, Eq)]
pub struct RecoveryKey(Zeroizing<[u8; 32]>);

impl std::fmt::Debug for RecoveryKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecoveryKey(..)")
    }
}

impl RecoveryKey {
    /// The recovery key made of these random bytes.
    #[must_use]
    pub fn new(key: Zeroizing<[u8; 32]>) -> Self {
        Self(key)
    }

    /// The key as text: `nj1-` and eight groups of seven characters.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut bytes = Zeroizing::new(self.0.to_vec());
        bytes.extend_from_slice(&checksum(&self.0));
        let mut text = Zeroizing::new(String::with_capacity(70));
        text.push_str(PREFIX);
        for (n, digit) in digits(&bytes).enumerate() {
            if n % 7 == 0 {
                text.push('-');
            }
            text.push(char::from(digit));
        }
        text
    }

    /// The key as 24 words of BIP-39.
    #[must_use]
    pub fn to_words(&self) -> Vec<&'static str> {
        bip39::Mnemonic::from_entropy(&*self.0).expect("32 bytes make 24 words").words().collect()
    }

    /// The key in `text`, if the text is a recovery key whose checksum is right.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_text(text).or_else(|| Self::parse_words(text))
    }

    fn parse_text(text: &str) -> Option<Self> {
        let plain = |c: &char| !c.is_whitespace() && *c != '-';
        let text = Zeroizing::new(text.chars().filter(plain).collect::<String>().to_ascii_lowercase());
        let digits = text.strip_prefix(PREFIX)?;
        let mut bytes = Zeroizing::new(Vec::with_capacity(36));
        let (mut bits, mut held) = (0_u32, 0_u32);
        for digit in digits.bytes() {
            let value = ALPHABET.iter().position(|d| *d == digit)?;
            held = held << 5 | u32::try_from(value).ok()?;
            bits += 5;
            if bits >= 8 {
                bits -= 8;
                bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
                held &= (1 << bits) - 1;
            }
        }
        let (key, check) = bytes.split_first_chunk::<32>()?;
        (bits == 0 && check == checksum(key)).then(|| Self(Zeroizing::new(*key)))
    }

    fn parse_words(text: &str) -> Option<Self> {
        let words = Zeroizing::new(text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase());
        let mnemonic = bip39::Mnemonic::parse_in_normalized(bip39::Language::English, &words).ok()?;
        let (entropy, length) = mnemonic.to_entropy_array();
        let entropy = Zeroizing::new(entropy);
        (length == 32).then(|| entropy.first_chunk().map(|key| Self(Zeroizing::new(*key))))?
    }

    /// R of a key slot that this key opens.
    #[must_use]
    pub fn slot_secret(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(blake3::derive_key("nightjar v1 2026-12 recovery key", &*self.0))
    }
}

fn checksum(key: &[u8; 32]) -> [u8; 3] {
    let hash = blake3::derive_key("nightjar v1 2026-12 recovery checksum", key);
    [hash[0], hash[1], hash[2]]
}

/// The base32 digits of `bytes`, whose number is a multiple of five.
fn digits(bytes: &[u8]) -> impl Iterator<Item = u8> + '_ {
    bytes.chunks_exact(5).flat_map(|five| {
        let value = five.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        (0..8).map(move |n| ALPHABET[usize::try_from(value >> (35 - 5 * n) & 31).expect("five bits")])
    })
}

#[cfg(test)]
mod tests {
    use super::RecoveryKey;
    use proptest::prelude::*;
    use zeroize::Zeroizing;

    proptest! {
        #[test]
        fn a_recovery_key_survives_both_written_forms(key in any::<[u8; 32]>(), at in 4_usize..60) {
            let key = RecoveryKey::new(Zeroizing::new(key));
            let text = key.to_text();
            prop_assert_eq!(text.len(), 67);
            prop_assert_eq!(RecoveryKey::parse(&text), Some(key.clone()));
            prop_assert_eq!(RecoveryKey::parse(&text.to_uppercase().replace('-', " \n")), Some(key.clone()));
            let words = key.to_words();
            prop_assert_eq!(words.len(), 24);
            prop_assert_eq!(RecoveryKey::parse(&format!("  {}\n", words.join("  "))), Some(key));
            let mut wrong: Vec<char> = text.chars().collect();
            if wrong[at] != '-' {
                wrong[at] = if wrong[at] == 'a' { 'b' } else { 'a' };
                prop_assert_eq!(RecoveryKey::parse(&wrong.iter().collect::<String>()), None);
            }
        }
    }

    #[test]
    fn a_password_is_no_recovery_key() {
        for text in ["", "nj1-", "correct horse battery staple", "nj1-aaaaaaa-aaaaaaa", "nj1-1"] {
            assert_eq!(RecoveryKey::parse(text), None, "{text}");
        }
    }
}
