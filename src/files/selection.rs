//! What of the roots is left out.

use super::pattern::{Anchor, Pattern, PatternError, fold};

/// First bytes of a valid `CACHEDIR.TAG` (<https://bford.info/cachedir/>).
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Why a selection cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// A pattern is wrong.
    #[error("bad pattern `{pattern}`{}: {reason}", place(file.as_deref(), *line))]
    Pattern {
        /// The pattern, with bytes that are not UTF-8 replaced.
        pattern: String,
        /// The exclude file it stands in; `None` for the command line.
        file: Option<String>,
        /// Its line there, from 1; 0 for the command line.
        line: usize,
        /// What is wrong.
        reason: PatternError,
    },
    /// The name to look for with exclude-if-present is empty or holds a slash.
    #[error("bad tag file name `{0}`: it must be a plain file name")]
    TagName(String),
}

fn place(file: Option<&str>, line: usize) -> String {
    file.map_or_else(String::new, |file| format!(" in `{file}`, line {line}"))
}

/// A file that marks the directory it stands in as not to be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) name: Vec<u8>,
    /// What the file must begin with; empty: its presence is enough.
    pub(super) header: Vec<u8>,
}

/// Which paths below the roots are left out; the default leaves out nothing.
///
/// Patterns are lines of the gitignore dialect, matched on bytes, so that names need not be UTF-8. All patterns, from
/// the command line and from files, form one list in the order they were added, and the last one that matches decides.
/// - A pattern without a slash (but for one at its end) is matched against the last component at any depth.
/// - Any other pattern is anchored: matched against the whole path relative to the root being saved. A pattern that
///   begins with a slash is matched against the absolute path too, so `/home/u/tmp` and `/tmp` both leave out
///   `/home/u/tmp` when `/home/u` is a root.
/// - A slash at the end: directories only. `!` in front: takes the path back in; not possible below a directory that
///   is left out, because that is never listed. `\` takes the next byte literally; `#` begins a comment; spaces at the
///   end are dropped unless escaped.
/// - `*`, `?` and `[…]` never match a slash, `?` matches one byte; `**` between slashes matches any number of components.
/// - Case-insensitive patterns fold Unicode letters where pattern and path are UTF-8, else ASCII letters.
///
/// Roots themselves are always saved, whatever the patterns say; a root below another root that is left out there is
/// saved with the patterns anchored at itself.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    patterns: Vec<Pattern>,
    folding: bool,
    /// Device and inode of directories that are left out whatever the patterns say.
    left_out: Vec<(u64, u64)>,
    pub(super) tags: Vec<Tag>,
    pub(super) largest: Option<u64>,
    pub(super) one_file_system: bool,
}

/// Whether the case of letters counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// It does.
    Sensitive,
    /// It does not.
    Ignored,
}

impl Selection {
    /// Nothing is left out.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one pattern given on the command line.
    ///
    /// # Errors
    /// When the pattern is not valid.
    pub fn exclude(&mut self, pattern: &[u8], case: Case) -> Result<(), SelectionError> {
        self.add(pattern, case).map_err(|reason| SelectionError::Pattern {
            pattern: String::from_utf8_lossy(pattern).into_owned(),
            file: None,
            line: 0,
            reason,
        })
    }

    /// Adds the patterns in the `contents` of an exclude file called `file` in messages; line ends may be CR LF, and a
    /// byte order mark in front is skipped.
    ///
    /// # Errors
    /// At the first pattern that is not valid.
    pub fn exclude_file(&mut self, file: &str, contents: &[u8], case: Case) -> Result<(), SelectionError> {
        let contents = contents.strip_prefix(b"\xef\xbb\xbf").unwrap_or(contents);
        for (index, line) in contents.split(|b| *b == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            self.add(line, case).map_err(|reason| SelectionError::Pattern {
                pattern: String::from_utf8_lossy(line).into_owned(),
                file: Some(file.to_owned()),
                line: index + 1,
                reason,
            })?;
        }
        Ok(())
    }

    fn add(&mut self, line: &[u8], case: Case) -> Result<(), PatternError> {
        if let Some(pattern) = Pattern::parse(line, case == Case::Ignored)? {
            self.folding |= pattern.ignore_case;
            self.patterns.push(pattern);
        }
        Ok(())
    }

    /// Of directories with a valid `CACHEDIR.TAG`, saves nothing but the directory and the tag.
    pub fn exclude_caches(&mut self) {
        self.tags.push(Tag { name: b"CACHEDIR.TAG".to_vec(), header: CACHE_SIGNATURE.to_vec() });
    }

    /// Of directories that hold a file as `NAME[:HEADER]` says, saves nothing but the directory and that file; with
    /// a header, the file must be a regular one and begin with it.
    ///
    /// # Errors
    /// When NAME is empty, `.`, `..` or holds a slash.
    pub fn exclude_if_present(&mut self, text: &[u8]) -> Result<(), SelectionError> {
        let mut split = text.splitn(2, |b| *b == b':');
        let name = split.next().unwrap_or_default().to_vec();
        if matches!(name.as_slice(), b"" | b"." | b"..") || name.iter().any(|b| matches!(b, b'/' | 0)) {
            return Err(SelectionError::TagName(String::from_utf8_lossy(&name).into_owned()));
        }
        self.tags.push(Tag { name, header: split.next().unwrap_or_default().to_vec() });
        Ok(())
    }

    /// Leaves out regular files of more than `bytes` bytes.
    pub fn exclude_larger_than(&mut self, bytes: u64) {
        self.largest = Some(bytes);
    }

    /// Stays on the file system of each root: directories of another device are saved empty.
    pub fn one_file_system(&mut self) {
        self.one_file_system = true;
    }

    /// Leaves out the directory with this device and inode number wherever it is met below a root.
    pub fn leave_out(&mut self, device: u64, inode: u64) {
        self.left_out.push((device, inode));
    }

    pub(super) fn leaves_out(&self, device: u64, inode: u64) -> bool {
        self.left_out.contains(&(device, inode))
    }

    /// Whether the patterns leave out `path` (absolute), which lies below a root and starts, relative to that root, at
    /// byte `base`. Says nothing about the directories above it.
    #[must_use]
    pub fn excludes(&self, path: &[u8], base: usize, is_directory: bool) -> bool {
        if self.patterns.is_empty() {
            return false;
        }
        let folded = if self.folding { fold_at(path, base) } else { (Vec::new(), 0) };
        self.patterns
            .iter()
            .rev()
            .filter(|pattern| is_directory || !pattern.directories_only)
            .find(|pattern| {
                let (path, base) = if pattern.ignore_case { (folded.0.as_slice(), folded.1) } else { (path, base) };
                matches(pattern, path, base)
            })
            .is_some_and(|pattern| !pattern.negated)
    }
}

/// Folding may change lengths, so the base is folded apart.
fn fold_at(path: &[u8], base: usize) -> (Vec<u8>, usize) {
    let (above, below) = path.split_at(base.min(path.len()));
    let mut folded = fold(above);
    let base = folded.len();
    folded.extend_from_slice(&fold(below));
    (folded, base)
}

fn matches(pattern: &Pattern, path: &[u8], base: usize) -> bool {
    let relative = path.get(base..).unwrap_or_default();
    if pattern.anchor == Anchor::Floating {
        let name = relative.rsplit(|b| *b == b'/').next().unwrap_or_default();
        return pattern.matches(name);
    }
    pattern.matches(relative)
        || pattern.anchor == Anchor::RootOrTop && pattern.matches(path.get(1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{Case, Selection, SelectionError};
    use std::io::Write as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::process::{Command, Stdio};

    /// (lines of the ignore file, path; a slash at the end makes it a directory).
    const CASES: &[(&str, &str)] = &[
        ("*.o", "a.o"),
        ("*.o", "d/a.o"),
        ("*.o", "a.oo"),
        ("*.o", "dir.o/inside"),
        ("foo", "foo"),
        ("foo", "a/b/foo"),
        ("foo", "foo/bar"),
        ("/foo", "foo"),
        ("/foo", "a/foo"),
        ("a/b", "a/b"),
        ("a/b", "c/a/b"),
        ("/a/b", "a/b/c"),
        ("foo/", "foo"),
        ("foo/", "foo/"),
        ("foo/", "x/foo/y"),
        ("a/**/b", "a/b"),
        ("a/**/b", "a/x/b"),
        ("a/**/b", "a/x/y/b"),
        ("a/**/b", "x/a/y/b"),
        ("a/**/b", "axb"),
        ("**/foo", "foo"),
        ("**/foo", "x/y/foo"),
        ("**/foo/bar", "x/foo/bar"),
        ("abc/**", "abc/"),
        ("abc/**", "abc/x"),
        ("abc/**", "x/abc/y"),
        ("**", "anything"),
        ("/**", "x/y"),
        ("a**b", "axxb"),
        ("a**b", "x/ab"),
        ("a**b/c", "ax/yb/c"),
        ("a/***/b", "a/x/y/b"),
        ("**/**/x", "x"),
        ("a/*", "a/b/"),
        ("a/*", "a/b/c"),
        ("a/*/c", "a/b/c"),
        ("a/*/c", "a/c"),
        ("a*/b", "a/x/b"),
        ("?", "a"),
        ("?", "ab"),
        ("a?b", "a/b"),
        ("[abc]", "b"),
        ("[!a]", "a"),
        ("[!a]", "b"),
        ("[^a]", "b"),
        ("[a-c]x", "bx"),
        ("[a-c]x", "dx"),
        ("[]a]", "]"),
        ("[]-]", "-"),
        ("[a-]", "-"),
        ("[[:digit:]]*", "1a"),
        ("[[:alpha:]]", "1"),
        ("[\\]]", "]"),
        ("[\\--a]", "0"),
        ("a[/]b", "a/b"),
        ("a[b/c]d", "acd"),
        ("{a,b}", "a"),
        ("{a,b}", "{a,b}"),
        ("\\#x", "#x"),
        ("#x", "#x"),
        ("\\!x", "!x"),
        ("*\n!x", "x"),
        ("*\n!x", "y"),
        ("d/\n!d/keep", "d/keep"),
        ("d/*\n!d/keep", "d/keep"),
        ("d/*\n!d/keep", "d/other"),
        ("*\n!*/\n!*.txt", "p/q.txt"),
        ("*\n!*/\n!*.txt", "p/q.bin"),
        ("!x\nx", "x"),
        ("x   ", "x"),
        ("x\\ ", "x "),
        ("x\\ ", "x"),
        ("x \\  ", "x  "),
        ("  x", "x"),
        ("x\t", "x"),
        ("\\*", "*"),
        ("\\*", "a"),
        ("a\\/b", "a/b"),
        ("//a", "a"),
        ("a//b", "a/b"),
        ("*a*b*c", "xaybzc"),
        ("*a*b*c", "xaybzd"),
        ("ab", "AB"),
        (".*", ".hidden"),
        ("*", ".hidden"),
        ("-x", "-x"),
        ("é?", "éa"),
        ("a\\b", "ab"),
        ("x\r\ny", "x"),
        ("a/", "a/b/c/"),
        ("!", "x"),
        ("/", "x/"),
    ];

    fn excluded(selection: &Selection, path: &[u8]) -> bool {
        let is_directory = path.ends_with(b"/");
        let path = path.strip_suffix(b"/").unwrap_or(path);
        let whole = [b"/r/", path].concat();
        (0..path.len()).filter(|i| path[*i] == b'/').any(|i| selection.excludes(&whole[..3 + i], 3, true))
            || selection.excludes(&whole, 3, is_directory)
    }

    fn git_says(dir: &std::path::Path, lines: &str, path: &str) -> bool {
        std::fs::write(dir.join(".gitignore"), lines).unwrap();
        let mut git = Command::new("git")
            .args(["-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin"])
            .current_dir(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        git.stdin.take().unwrap().write_all(path.as_bytes()).unwrap();
        !git.wait_with_output().unwrap().stdout.is_empty()
    }

    #[test]
    fn patterns_mean_what_git_means_by_them() {
        assert!(CASES.len() >= 60);
        let dir = tempfile::tempdir().unwrap();
        if !Command::new("git").args(["init", "-q"]).current_dir(dir.path()).status().is_ok_and(|s| s.success()) {
            println!("skipped: git is missing");
            return;
        }
        for (lines, path) in CASES {
            let on_disk = dir.path().join(path.trim_end_matches('/'));
            std::fs::create_dir_all(on_disk.parent().unwrap()).unwrap();
            if path.ends_with('/') {
                std::fs::create_dir_all(&on_disk).unwrap();
            } else {
                std::fs::write(&on_disk, "").unwrap();
            }
            let mut selection = Selection::new();
            selection.exclude_file("f", lines.as_bytes(), Case::Sensitive).unwrap();
            // git takes a slash at the end as part of the name, and sees on disk that it is a directory.
            let expected = git_says(dir.path(), lines, path.trim_end_matches('/'));
            assert_eq!(excluded(&selection, path.as_bytes()), expected, "{lines:?} against {path:?}");
            let top = dir.path().join(path.split('/').next().unwrap());
            if top.is_dir() {
                std::fs::remove_dir_all(top).unwrap();
            } else {
                std::fs::remove_file(top).unwrap();
            }
        }
    }

    #[test]
    fn a_slash_in_front_means_the_root_or_the_absolute_path() {
        let mut selection = Selection::new();
        for pattern in ["/tmp", "/home/u/cache", "/home/u/*.iso"] {
            selection.exclude(pattern.as_bytes(), Case::Sensitive).unwrap();
        }
        let base = b"/home/u/".len();
        assert!(selection.excludes(b"/home/u/tmp", base, true));
        assert!(!selection.excludes(b"/home/u/x/tmp", base, true));
        assert!(selection.excludes(b"/home/u/cache", base, true));
        assert!(selection.excludes(b"/home/u/a.iso", base, false));
        assert!(!selection.excludes(b"/home/u/x/a.iso", base, false));
    }

    #[test]
    fn case_is_ignored_only_where_asked_and_bytes_need_not_be_utf8() {
        let mut selection = Selection::new();
        selection.exclude(b"*.ISO", Case::Ignored).unwrap();
        selection.exclude(b"\xff*", Case::Sensitive).unwrap();
        let name = std::ffi::OsStr::from_bytes(b"/r/\xffname");
        assert!(selection.excludes(name.as_bytes(), 3, false));
        assert!(selection.excludes(b"/r/X.iSo", 3, false));
        assert!(!selection.excludes(b"/r/\xfename", 3, false));
    }

    #[test]
    fn a_bad_pattern_is_named_with_file_and_line() {
        let mut selection = Selection::new();
        let error = selection.exclude_file("rules", b"*.o\n\nfoo[a\n", Case::Sensitive).unwrap_err();
        assert_eq!(error.to_string(), "bad pattern `foo[a` in `rules`, line 3: `[` without `]`");
        let error = selection.exclude(b"a\\", Case::Sensitive).unwrap_err();
        assert_eq!(error.to_string(), "bad pattern `a\\`: nothing follows the last `\\`");
        assert!(matches!(selection.exclude_if_present(b"a/b:x"), Err(SelectionError::TagName(_))));
        assert!(selection.exclude_if_present(b":x").is_err());
    }
}
