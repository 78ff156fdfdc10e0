//! Names and texts made harmless for terminals.

use std::fmt::Write;

/// A name as a terminal may show it: control characters, bytes that are not UTF-8, and characters that turn the
/// direction of writing become `\xNN`, a backslash becomes `\\`. What comes out is unambiguous.
#[must_use]
pub fn escape(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => text.push_str("\\\\"),
                c => push(&mut text, c),
            }
        }
        push_bytes(&mut text, chunk.invalid());
    }
    text
}

/// A text of ours with names from outside in it: as [`escape`], but backslashes stay, so that a name which was
/// escaped already is not escaped twice.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    text.chars().for_each(|c| push(&mut clean, c));
    clean
}

/// The words of an error of the operating system, without its number and beginning small: `permission denied`.
#[must_use]
pub fn words(error: &str) -> String {
    let mut text = error.to_owned();
    while let Some(at) = text.find(" (os error ") {
        let Some(length) = text[at..].find(')') else { break };
        text.replace_range(at..=at + length, "");
    }
    let mut first = text.chars();
    match (first.next(), first.next()) {
        // Not an abbreviation.
        (Some(upper), Some(lower)) if upper.is_ascii_uppercase() && lower.is_ascii_lowercase() => {
            text.replace_range(..1, &upper.to_ascii_lowercase().to_string());
            text
        }
        _ => text,
    }
}

fn push(text: &mut String, c: char) {
    if c.is_control() || misleads(c) {
        push_bytes(text, c.encode_utf8(&mut [0; 4]).as_bytes());
    } else {
        text.push(c);
    }
}

/// Whether a character moves or hides its neighbours: marks and overrides of direction, separators of lines.
fn misleads(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn push_bytes(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        write!(text, "\\x{byte:02x}").expect("writing into memory cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use super::{clean, escape, words};
    use proptest::prelude::*;

    #[test]
    fn what_moves_a_cursor_is_spelled_out() {
        assert_eq!(escape(b"a\nb\x1b[2J\\\xff"), "a\\x0ab\\x1b[2J\\\\\\xff");
        assert_eq!(escape("größe 日本".as_bytes()), "größe 日本");
        assert_eq!(escape("\u{85}\u{202e}".as_bytes()), "\\xc2\\x85\\xe2\\x80\\xae");
        assert_eq!(clean("could not read `a\\x0a\n`"), "could not read `a\\x0a\\x0a`");
    }

    #[test]
    fn numbers_of_errors_are_for_programs() {
        assert_eq!(words("No such file or directory (os error 2)"), "no such file or directory");
        assert_eq!(words("x: Denied (os error 13); EOF"), "x: Denied; EOF");
        for same in ["", "EOF", "a (os error", "ü"] {
            assert_eq!(words(same), same);
        }
    }

    proptest! {
        #[test]
        fn every_name_becomes_one_harmless_line_and_no_two_the_same(
            a in proptest::collection::vec(any::<u8>(), 0..40),
            b in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let (one, other) = (escape(&a), escape(&b));
            prop_assert!(!one.chars().any(char::is_control));
            prop_assert_eq!(one == other, a == b);
        }
    }
}
