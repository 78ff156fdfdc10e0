//! A Rust file as far as the house rules look at it.

use std::path::Path;

/// A file of `src/`, without its comments and the contents of its strings; lines keep their numbers.
pub(crate) struct Source {
    /// Below `src/`, with `/` between the parts.
    pub(crate) path: String,
    /// All of it.
    pub(crate) code: String,
    /// How many bytes of `code` come before its tests.
    before_tests: usize,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let code = blank(text);
        let own = path.rsplit('/').next().unwrap_or(path);
        let before_tests =
            if own == "tests.rs" || path.contains("/tests/") { 0 } else { tests_start(&code).unwrap_or(code.len()) };
        Self { path: path.to_owned(), code, before_tests }
    }

    /// The code before the tests.
    pub(crate) fn own_code(&self) -> &str {
        &self.code[..self.before_tests]
    }

    /// How many lines come before the tests; all of them in a file of tests.
    pub(crate) fn length(&self) -> usize {
        match self.before_tests {
            0 => self.code.lines().count(),
            end => self.code[..end].lines().count(),
        }
    }

    /// The room the file belongs to: the first folder, or the file itself.
    pub(crate) fn room(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// How many `super` lead from this file to the root of the crate.
    pub(crate) fn depth(&self) -> usize {
        let parts = self.path.split('/').count();
        let file = Path::new(&self.path).file_name().and_then(|name| name.to_str());
        match file {
            Some("mod.rs") => parts - 1,
            Some("lib.rs" | "main.rs") if parts == 1 => 0,
            _ => parts,
        }
    }

    /// The first names of all paths that start at the root, with the line they stand on; `*` for the root as a whole.
    pub(crate) fn roots_named(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for at in words(&self.code, "crate") {
            let rest = self.code[at + "crate".len()..].trim_start();
            let before = self.code[..at].trim_end();
            if let Some(path) = rest.strip_prefix("::") {
                found.extend(first_names(path).into_iter().map(|name| (self.line(at), name)));
                continue;
            }
            let is_visibility = rest.starts_with(')') && before.ends_with('(');
            if !is_visibility && !before.ends_with("extern") {
                found.push((self.line(at), "*".to_owned()));
            }
        }
        found.extend(self.roots_by_super());
        found
    }

    /// The same for chains of `super` that lead out of the room; modules inside a file may only be its tests.
    fn roots_by_super(&self) -> Vec<(usize, String)> {
        let code = self.own_code();
        let mut found = Vec::new();
        for at in words(code, "super") {
            if code[..at].trim_end().ends_with("::") {
                continue;
            }
            let (mut rest, mut steps) = (&code[at..], 0);
            while let Some(next) = rest.strip_prefix("super") {
                steps += 1;
                rest = next.trim_start().strip_prefix("::").unwrap_or("").trim_start();
            }
            if steps >= self.depth() && !rest.is_empty() {
                found.extend(first_names(rest).into_iter().map(|name| (self.line(at), name)));
            }
        }
        found
    }

    /// The line on which the byte `at` of the code stands.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.code[..at].matches('\n').count() + 1
    }
}

/// Where the tests of a file begin: at `#[cfg(test)]` in front of a module with a body.
fn tests_start(code: &str) -> Option<usize> {
    let is_start = |(at, mark): &(usize, &str)| {
        let item = code[at + mark.len()..].trim_start();
        let item = item.strip_prefix("mod ").unwrap_or_default();
        item.find(['{', ';']).is_some_and(|end| item[end..].starts_with('{'))
    };
    code.match_indices("#[cfg(test)]").find(is_start).map(|(at, _)| at)
}

/// Where `word` stands in `code` as a whole word.
pub(crate) fn words(code: &str, word: &str) -> Vec<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let starts_plain = !word.starts_with(is_part);
    let ends_plain = !word.ends_with(is_part);
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(|at| {
            let (before, after) = (&code[..*at], &code[at + word.len()..]);
            (starts_plain || !before.ends_with(is_part)) && (ends_plain || !after.starts_with(is_part))
        })
        .collect()
}

/// The first names of a path, of which there are several when it starts with a brace.
fn first_names(path: &str) -> Vec<String> {
    let path = path.trim_start();
    let Some(group) = path.strip_prefix('{') else {
        let end = path.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let name = &path[..end.unwrap_or(path.len())];
        return vec![if name.is_empty() { "*" } else { name }.to_owned()];
    };
    let (mut depth, mut start, mut names) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                if !group[start..at].trim().is_empty() {
                    names.extend(first_names(&group[start..at]));
                }
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

/// `text` with comments and the contents of strings and characters blanked; line ends stay.
fn blank(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let in_word = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let skipped = skipped_length(rest, in_word);
        if skipped == 0 {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let hidden = &rest[..skipped];
        code.push(' ');
        code.extend(hidden.chars().filter(|c| *c == '\n'));
        rest = &rest[skipped..];
    }
    code
}

/// The length of the comment, string or character that `text` starts with; 0 when it starts with code.
fn skipped_length(text: &str, in_word: bool) -> usize {
    let upto = |end: Option<usize>| end.unwrap_or(text.len());
    if text.starts_with("//") {
        return upto(text.find('\n'));
    }
    if text.starts_with("/*") {
        return block_comment(text);
    }
    if text.starts_with('"') {
        return quoted(text, '"');
    }
    if let Some(hashes) = raw_string_hashes(text).filter(|_| !in_word) {
        let close = format!("\"{}", "#".repeat(hashes));
        let open = text.find('"').map_or(text.len(), |at| at + 1);
        return upto(text[open..].find(&close).map(|at| open + at + close.len()));
    }
    let mut chars = text.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('\''), Some('\\'), _) => quoted(text, '\''),
        (Some('\''), Some(c), Some('\'')) => c.len_utf8() + 2,
        _ => 0,
    }
}

/// The number of `#` of the raw string that `text` starts with.
fn raw_string_hashes(text: &str) -> Option<usize> {
    let text = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let open = text.trim_start_matches('#');
    open.starts_with('"').then(|| text.len() - open.len())
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn comments_and_strings_are_no_code_but_lines_keep_their_numbers() {
        let text = "// a\n/* b /* c\n */ d */ e \"f \\\" // g\" 'h' '\\'' r#\"i\n\"j\"# 'k: k\nl r\"m\" br\"n\"";
        let code = Source::new("base/x.rs", text).code;
        for hidden in ["a", "b", "c", "d", "f", "g", "h", "i", "j", "m", "n"] {
            assert!(!code.contains(hidden), "{hidden} in {code}");
        }
        for shown in ["e", "'k: k", "l"] {
            assert!(code.contains(shown), "{shown} in {code}");
        }
        assert_eq!(code.lines().count(), text.lines().count());
    }

    #[test]
    fn all_ways_to_name_the_root_are_seen() {
        let roots = |path: &str, text: &str| -> Vec<String> {
            let named = Source::new(path, text).roots_named();
            named.into_iter().map(|(_, name)| name).collect()
        };
        assert_eq!(roots("a/b.rs", "use crate::x::Y;"), ["x"]);
        assert_eq!(roots("a/b.rs", "fn f() { crate::x::y(); $crate::z!() }"), ["x", "z"]);
        assert_eq!(roots("a/b.rs", "use crate::{ x::{self, Y}, z, v::w::{A, B},\n};"), ["x", "z", "v"]);
        assert_eq!(roots("a/b.rs", "pub(crate) fn f() {} pub(in crate::x) fn g() {}"), ["x"]);
        assert_eq!(roots("a/b.rs", "use crate::*; use crate as c;"), ["*", "*"]);
        assert_eq!(roots("a/b.rs", "use super::c; use super::super::x::Y;"), ["x"]);
        assert_eq!(roots("a/mod.rs", "use super::x::Y; use self::super::z;"), ["x"]);
        assert_eq!(roots("a/b.rs", "// crate::x\nlet s = \"crate::y\"; my_crate::z();"), [""; 0]);
    }

    #[test]
    fn the_tests_of_a_file_do_not_count_for_its_length() {
        let text = "#[cfg(test)]\nmod tests;\nfn f() {}\n#[cfg(test)]\nmod more {\n}\n";
        let source = Source::new("a/b.rs", text);
        assert_eq!(source.length(), 3);
        assert!(source.own_code().contains("fn f"));
        assert_eq!(Source::new("a/tests.rs", text).length(), 6);
        assert_eq!(Source::new("a/tests.rs", text).own_code(), "");
    }
}
