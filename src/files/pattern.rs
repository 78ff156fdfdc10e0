//! One line of the gitignore dialect, matched on bytes exactly as git's `wildmatch` does.
//!
//! Own code rather than a glob crate because those take UTF-8 patterns only and read `{a,b}`, which git takes
//! literally. Time is bounded by path length times pattern length: a star never backtracks past a later star.

/// Why a pattern cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A `[` without its `]`.
    #[error("`[` without `]`")]
    OpenBracket,
    /// A `\` with nothing after it.
    #[error("nothing follows the last `\\`")]
    OpenEscape,
    /// A `[:name:]` that is no character class.
    #[error("unknown character class in `[:…:]`")]
    UnknownClass,
    /// A NUL byte, which no path can hold.
    #[error("a NUL byte")]
    Nul,
}

/// A set of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ByteSet([u64; 4]);

impl ByteSet {
    fn add(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] & (1 << (byte & 63)) != 0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    AnyByte,
    Star,
    Set(Box<ByteSet>, bool),
    Slash,
}

/// What one component of a path must look like.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// `**` between slashes: any number of components.
    Deep,
    /// Exactly these bytes.
    Literal(Vec<u8>),
    /// `*` and then exactly these bytes.
    Suffix(Vec<u8>),
    Glob(Vec<Token>),
}

/// What a pattern is matched against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The last component, at any depth.
    Floating,
    /// The path relative to the root.
    Root,
    /// That, or the absolute path: the pattern began with a slash.
    RootOrTop,
}

/// One pattern; what it means stands in the documentation of [`super::Selection`].
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    parts: Vec<Part>,
    pub(super) negated: bool,
    pub(super) directories_only: bool,
    pub(super) anchor: Anchor,
    pub(super) ignore_case: bool,
}

impl Pattern {
    /// Reads one line (without its line end); `None` for an empty line or a comment.
    pub(super) fn parse(line: &[u8], ignore_case: bool) -> Result<Option<Self>, PatternError> {
        if line.contains(&0) {
            return Err(PatternError::Nul);
        }
        if line.first() == Some(&b'#') {
            return Ok(None);
        }
        let mut text = without_trailing_spaces(line);
        let negated = text.first() == Some(&b'!');
        if negated {
            text = &text[1..];
        }
        let directories_only = text.last() == Some(&b'/');
        if directories_only {
            text = &text[..text.len() - 1];
        }
        let anchor = match text.first() {
            Some(b'/') => Anchor::RootOrTop,
            _ if text.contains(&b'/') => Anchor::Root,
            _ => Anchor::Floating,
        };
        if anchor == Anchor::RootOrTop {
            text = &text[1..];
        }
        if text.is_empty() {
            return Ok(None);
        }
        let folded = if ignore_case { fold(text) } else { text.to_vec() };
        let parts = parts(&tokens(&folded, ignore_case)?, anchor);
        Ok(Some(Self { parts, negated, directories_only, anchor, ignore_case }))
    }

    /// Whether the whole of `path` (components joined by `/`, no slash in front) matches.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        if let [part] = self.parts.as_slice() {
            return match part {
                Part::Deep => !path.is_empty(),
                part => !path.contains(&b'/') && part.matches(path),
            };
        }
        let components: Vec<&[u8]> = path.split(|b| *b == b'/').collect();
        matches_parts(&self.parts, &components)
    }
}

/// `bytes` in lower case: Unicode where they are UTF-8, else ASCII only.
pub(super) fn fold(bytes: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_lowercase().into_bytes(),
        Err(_) => bytes.to_ascii_lowercase(),
    }
}

/// Drops spaces at the end, except one behind a backslash.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut i = 0;
    while i < line.len() {
        let escape = line[i] == b'\\';
        let space = line[i] == b' ';
        i += if escape { 2 } else { 1 };
        if !space {
            end = i.min(line.len());
        }
    }
    // git keeps the spaces of a line that ends with a lone backslash; such a pattern is refused anyway.
    &line[..end]
}

fn tokens(text: &[u8], ignore_case: bool) -> Result<Vec<Token>, PatternError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        tokens.push(match byte {
            b'\\' => {
                let (&escaped, after) = rest.split_first().ok_or(PatternError::OpenEscape)?;
                rest = after;
                if escaped == b'/' { Token::Slash } else { Token::Byte(escaped) }
            }
            b'/' => Token::Slash,
            b'?' => Token::AnyByte,
            b'*' => Token::Star,
            b'[' => {
                let (set, negated, after) = bracket(rest, ignore_case)?;
                rest = after;
                Token::Set(Box::new(set), negated)
            }
            byte => Token::Byte(byte),
        });
    }
    Ok(tokens)
}

/// Reads a bracket expression from behind its `[`; gives the set, whether it is negated, and what follows.
fn bracket(text: &[u8], ignore_case: bool) -> Result<(ByteSet, bool, &[u8]), PatternError> {
    let mut set = ByteSet::default();
    let at = |i: usize| text.get(i).copied().ok_or(PatternError::OpenBracket);
    let mut i = 0;
    let negated = matches!(at(0)?, b'!' | b'^');
    if negated {
        i += 1;
    }
    let mut previous = None;
    let first = i;
    loop {
        let byte = at(i)?;
        match byte {
            b']' if i > first => return Ok((set, negated, &text[i + 1..])),
            b'-' if previous.is_some() && at(i + 1)? != b']' => {
                i += 1;
                if at(i)? == b'\\' {
                    i += 1;
                }
                let last = at(i)?;
                for inside in previous.unwrap_or(last)..=last {
                    set.add(inside);
                }
                previous = None;
            }
            b'[' if at(i + 1)? == b':' => {
                let close = i + 2 + text[i + 2..].iter().position(|b| *b == b']').ok_or(PatternError::OpenBracket)?;
                if close > i + 2 && text[close - 1] == b':' {
                    add_class(&mut set, &text[i + 2..close - 1], ignore_case)?;
                    i = close;
                    previous = None;
                } else {
                    set.add(byte);
                    previous = Some(byte);
                }
            }
            b'\\' => {
                i += 1;
                set.add(at(i)?);
                previous = Some(at(i)?);
            }
            byte => {
                set.add(byte);
                previous = Some(byte);
            }
        }
        i += 1;
    }
}

fn add_class(set: &mut ByteSet, name: &[u8], ignore_case: bool) -> Result<(), PatternError> {
    let class: fn(&u8) -> bool = match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |b| matches!(b, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"upper" | b"lower" if ignore_case => u8::is_ascii_alphabetic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |b| matches!(b, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |b| matches!(b, b' ' | b'\t'..=b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return Err(PatternError::UnknownClass),
    };
    (0..=u8::MAX).filter(class).for_each(|byte| set.add(byte));
    Ok(())
}

fn parts(tokens: &[Token], anchor: Anchor) -> Vec<Part> {
    let mut parts: Vec<Part> = tokens
        .split(|token| *token == Token::Slash)
        .map(|part| {
            let stars = part.iter().take_while(|token| **token == Token::Star).count();
            if stars == part.len() && stars >= 2 && anchor != Anchor::Floating {
                return Part::Deep;
            }
            if let Some(bytes) = literal(part) {
                return Part::Literal(bytes);
            }
            match literal(&part[stars..]) {
                Some(bytes) => Part::Suffix(bytes),
                None => Part::Glob(part.to_vec()),
            }
        })
        .collect();
    parts.dedup_by(|a, b| *a == Part::Deep && *b == Part::Deep);
    parts
}

fn literal(tokens: &[Token]) -> Option<Vec<u8>> {
    tokens.iter().map(|token| if let Token::Byte(byte) = token { Some(*byte) } else { None }).collect()
}

impl Part {
    fn matches(&self, name: &[u8]) -> bool {
        match self {
            Self::Deep => true,
            Self::Literal(bytes) => name == bytes,
            Self::Suffix(bytes) => name.ends_with(bytes),
            Self::Glob(tokens) => matches_glob(tokens, name),
        }
    }
}

fn matches_glob(tokens: &[Token], name: &[u8]) -> bool {
    let (mut t, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match (tokens.get(t), name.get(n)) {
            (None, None) => return true,
            (Some(Token::Star), _) => {
                star = Some((t + 1, n));
                t += 1;
                continue;
            }
            (Some(Token::Byte(byte)), Some(found)) => byte == found,
            (Some(Token::AnyByte), Some(_)) => true,
            (Some(Token::Set(set, negated)), Some(found)) => set.has(*found) != *negated,
            _ => false,
        };
        if step {
            t += 1;
            n += 1;
        } else if let Some((after, from)) = star.filter(|(_, from)| *from < name.len()) {
            star = Some((after, from + 1));
            t = after;
            n = from + 1;
        } else {
            return false;
        }
    }
}

fn matches_parts(parts: &[Part], components: &[&[u8]]) -> bool {
    let (mut p, mut c) = (0, 0);
    let mut deep: Option<(usize, usize)> = None;
    loop {
        let step = match (parts.get(p), components.get(c)) {
            (None, None) => return true,
            (Some(Part::Deep), _) => {
                let last = p + 1 == parts.len();
                if last {
                    return c < components.len();
                }
                deep = Some((p + 1, c));
                p += 1;
                continue;
            }
            (Some(part), Some(name)) => part.matches(name),
            _ => false,
        };
        if step {
            p += 1;
            c += 1;
        } else if let Some((after, from)) = deep.filter(|(_, from)| *from < components.len()) {
            deep = Some((after, from + 1));
            p = after;
            c = from + 1;
        } else {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, PatternError};

    #[test]
    fn a_broken_pattern_says_what_is_wrong() {
        for (pattern, error) in [
            (&b"a[bc"[..], PatternError::OpenBracket),
            (b"[]", PatternError::OpenBracket),
            (b"a\\", PatternError::OpenEscape),
            (b"dir\\/", PatternError::OpenEscape),
            (b"[[:letter:]]", PatternError::UnknownClass),
            (b"a\0b", PatternError::Nul),
        ] {
            assert_eq!(Pattern::parse(pattern, false).map(|_| ()), Err(error), "{pattern:?}");
        }
    }

    #[test]
    fn empty_lines_comments_and_lone_marks_are_no_patterns() {
        for line in ["", "   ", "# x", "!", "/", "!/"] {
            assert!(Pattern::parse(line.as_bytes(), false).unwrap().is_none(), "{line:?}");
        }
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        let pattern = Pattern::parse(b"/**/*a*a*a*a*a*a*a*b/**/*a*a*a*a*a*b/**/x", false).unwrap().unwrap();
        let path = vec!["a".repeat(200); 20].join("/");
        assert!(!pattern.matches(path.as_bytes()));
    }

    #[test]
    fn case_is_ignored_beyond_ascii_and_in_classes() {
        let matches = |pattern: &str, path: &[u8]| {
            Pattern::parse(pattern.as_bytes(), true).unwrap().unwrap().matches(&super::fold(path))
        };
        assert!(matches("*.ÄÖ", "X.äÖ".as_bytes()));
        assert!(matches("[A-C][[:UPPER:]]", b"bz") && matches("[a-c][[:lower:]]", b"BZ"));
        assert!(matches("caf\u{e9}*", "CAFÉ-1".as_bytes()));
        assert!(matches("*.TMP", b"\xff\xfe.tMp"));
    }

    #[test]
    fn names_that_are_not_utf8_match_byte_for_byte() {
        let pattern = Pattern::parse(b"*\xff?[\xfe]", false).unwrap().unwrap();
        assert!(pattern.matches(b"\x80\xff\x81\xfe"));
        assert!(!pattern.matches(b"\x80\xff\x81\xfd"));
    }
}
