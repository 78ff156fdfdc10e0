//! Base64 with padding (RFC 4648, chapter 4), for names in JSON that are not UTF-8.

/// `bytes` in base64.
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let value = (0..3).fold(0_u32, |sum, n| sum << 8 | u32::from(three.get(n).copied().unwrap_or(0)));
        for n in 0..4 {
            if n > three.len() {
                text.push('=');
            } else {
                text.push(char::from(DIGITS[(value >> (18 - 6 * n) & 63) as usize]));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn the_vectors_of_the_rfc_come_out() {
        for (plain, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
    }
}
