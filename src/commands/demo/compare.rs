//! Two trees compared: every byte, and all metadata that a backup keeps.

use crate::ui::escape;
use rustix::fs::{lgetxattr, llistxattr};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

const BUFFER_LEN: usize = 1 << 18;
/// Differences are counted up to here.
const ENOUGH: usize = 100;

/// What was compared and what differs.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Entries that were compared.
    pub(super) entries: u64,
    /// Bytes of files that were compared.
    pub(super) bytes: u64,
    /// What differs, in words.
    pub(super) differences: Vec<String>,
    /// Where files with several names were seen first: inode here, inode there.
    links: BTreeMap<(u64, u64), (u64, u64)>,
}

impl Comparison {
    /// Compares `one` with `other` and everything below them; `left_out` says which paths of `one` need not be there.
    pub(super) fn of(&mut self, one: &Path, other: &Path, left_out: &BTreeSet<Vec<u8>>) {
        let mut open = vec![(one.to_path_buf(), other.to_path_buf())];
        while let Some((one, other)) = open.pop() {
            if left_out.contains(one.as_os_str().as_bytes()) || self.differences.len() >= ENOUGH {
                continue;
            }
            match self.entry(&one, &other) {
                Ok(false) => {}
                Ok(true) => match self.names(&one, &other, left_out) {
                    Ok(names) => open.extend(names.iter().map(|name| (one.join(name), other.join(name)))),
                    Err(error) => self.differ(&one, &error.to_string()),
                },
                Err(error) => self.differ(&one, &format!("cannot be compared: {error}")),
            }
        }
    }

    fn differ(&mut self, path: &Path, what: &str) {
        let path = escape(path.as_os_str().as_bytes());
        self.differences.push(format!("`{path}`: {what}"));
    }

    /// The names in a folder; those that are only in one of the two are told.
    fn names(&mut self, one: &Path, other: &Path, left_out: &BTreeSet<Vec<u8>>) -> io::Result<Vec<OsString>> {
        let (mine, theirs) = (names(one)?, names(other)?);
        for name in mine.symmetric_difference(&theirs) {
            if !left_out.contains(one.join(name).as_os_str().as_bytes()) {
                self.differ(&one.join(name), "is only in one of the two");
            }
        }
        Ok(mine.intersection(&theirs).cloned().collect())
    }

    /// Compares one entry; says whether it is a folder in both.
    fn entry(&mut self, one: &Path, other: &Path) -> io::Result<bool> {
        let (mine, theirs) = (fs::symlink_metadata(one)?, fs::symlink_metadata(other)?);
        self.entries += 1;
        if mine.file_type() != theirs.file_type() {
            self.differ(one, "is of another kind");
            return Ok(false);
        }
        for (what, differs) in metadata(&mine, &theirs) {
            if differs {
                self.differ(one, &format!("has another {what}"));
            }
        }
        if xattrs(one)? != xattrs(other)? {
            self.differ(one, "has other extended attributes");
        }
        let kind = mine.file_type();
        if kind.is_symlink() && fs::read_link(one)? != fs::read_link(other)? {
            self.differ(one, "points elsewhere");
        }
        if kind.is_file() {
            self.link(one, &mine, &theirs);
            if !same_bytes(one, other)? {
                self.differ(one, "has other content");
            }
            self.bytes += mine.len();
        }
        Ok(kind.is_dir())
    }

    /// Files that are one here must be one there.
    fn link(&mut self, path: &Path, mine: &Metadata, theirs: &Metadata) {
        if mine.nlink() < 2 {
            return;
        }
        let there = (theirs.dev(), theirs.ino());
        let first = *self.links.entry((mine.dev(), mine.ino())).or_insert(there);
        if first != there {
            self.differ(path, "is no longer a hard link");
        }
    }
}

fn names(folder: &Path) -> io::Result<BTreeSet<OsString>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
}

/// What can differ in the metadata, and whether it does.
fn metadata(mine: &Metadata, theirs: &Metadata) -> [(&'static str, bool); 5] {
    let kind = mine.file_type();
    let is_device = kind.is_char_device() || kind.is_block_device();
    // Only root can give files away.
    let owner = rustix::process::geteuid().is_root() && (mine.uid(), mine.gid()) != (theirs.uid(), theirs.gid());
    let time = (mine.mtime(), mine.mtime_nsec()) != (theirs.mtime(), theirs.mtime_nsec());
    [
        ("mode", mine.mode() != theirs.mode()),
        ("owner", owner),
        ("time of change", time),
        ("size", kind.is_file() && mine.len() != theirs.len()),
        ("device number", is_device && mine.rdev() != theirs.rdev()),
    ]
}

/// Extended attributes by name; none where the file system has none.
fn xattrs(path: &Path) -> io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut names = vec![0; 1 << 16];
    let length = match llistxattr(path, &mut names) {
        Ok(length) => length,
        Err(rustix::io::Errno::NOTSUP) => 0,
        Err(error) => return Err(error.into()),
    };
    let mut found = BTreeMap::new();
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 1 << 16];
        let length = lgetxattr(path, name, &mut value)?;
        value.truncate(length);
        found.insert(name.to_vec(), value);
    }
    Ok(found)
}

fn same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let (mut here, mut there) = (vec![0; BUFFER_LEN], vec![0; BUFFER_LEN]);
    loop {
        let length = fill(&mut one, &mut here)?;
        if length != fill(&mut other, &mut there)? || here[..length] != there[..length] {
            return Ok(false);
        }
        if length == 0 {
            return Ok(true);
        }
    }
}

fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::Comparison;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    fn compare(one: &Path, other: &Path) -> Vec<String> {
        let mut comparison = Comparison::default();
        comparison.of(one, other, &BTreeSet::new());
        comparison.differences
    }

    #[test]
    fn a_tree_equals_itself_and_every_change_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        for top in [&one, &other] {
            tree::make(top).unwrap();
        }
        assert_eq!(compare(&one, &one), [""; 0]);
        fs::write(other.join("odd/empty"), "x").unwrap();
        fs::remove_file(other.join("odd/link")).unwrap();
        fs::remove_file(other.join("odd/second name of script")).unwrap();
        fs::copy(other.join("odd/script"), other.join("odd/second name of script")).unwrap();
        let found = compare(&one, &other).join("\n");
        for part in [
            "odd/empty`: has another size",
            "odd/empty`: has other content",
            "odd/link`: is only in one",
            "is no longer a hard link",
            "has another time of change",
        ] {
            assert!(found.contains(part), "{part} in {found}");
        }
    }
}
