//! Lower-case hexadecimal, as object names and ids are written.

/// `bytes` as lower-case hexadecimal.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]).map(char::from).collect()
}

/// `N` bytes from exactly `2 N` lower-case digits; anything else is `None`.
#[must_use]
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let value = |d: u8| match d {
        b'0'..=b'9' => Some(d - b'0'),
        b'a'..=b'f' => Some(d - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn what_was_encoded_decodes_and_nothing_else_does() {
        assert_eq!(encode(&[0, 0x1f, 0xff]), "001fff");
        assert_eq!(decode::<3>("001fff"), Some([0, 0x1f, 0xff]));
        for bad in ["", "001ff", "001ffff0", "001FFF", "00 1ff", "é1fff"] {
            assert_eq!(decode::<3>(bad), None, "{bad}");
        }
    }
}
