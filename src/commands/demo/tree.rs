//! A tree of files of all sorts, and its changes overnight.

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;

const WORDS: &[&str] = &[
    "night",
    "jar",
    "backup",
    "restore",
    "chunk",
    "block",
    "pack",
    "index",
    "snapshot",
    "tree",
    "server",
    "disk",
    "invoice",
    "customer",
    "total",
    "date",
    "error",
    "warning",
    "connection",
    "closed",
    "the",
    "of",
    "and",
    "to",
];
/// Content that compresses, that does not, and that is there twice.
const TEXT_BYTES: usize = 12 << 20;
const RANDOM_BYTES: usize = 6 << 20;
const SPARSE_BYTES: u64 = 32 << 20;
const SMALL_FILES: u64 = 400;

/// Repeatable numbers (xorshift64*, Vigna 2016).
#[derive(Debug)]
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn text(&mut self, length: usize) -> Vec<u8> {
        let mut text = Vec::with_capacity(length + 16);
        while text.len() < length {
            let number = self.next();
            let word = WORDS[usize::try_from(number >> 40).unwrap_or(0) % WORDS.len()];
            text.extend_from_slice(word.as_bytes());
            match number % 23 {
                0 => text.push(b'\n'),
                1 => text.extend_from_slice((number >> 20 & 0xffff).to_string().as_bytes()),
                _ => text.push(b' '),
            }
        }
        text.truncate(length);
        text
    }

    fn noise(&mut self, length: usize) -> Vec<u8> {
        let mut noise = Vec::with_capacity(length + 8);
        while noise.len() < length {
            noise.extend_from_slice(&self.next().to_le_bytes());
        }
        noise.truncate(length);
        noise
    }
}

/// Makes the tree in the new folder `top`.
pub(super) fn make(top: &Path) -> io::Result<()> {
    let mut numbers = Numbers(0x6e69_6768_746a_6172);
    for folder in ["", "letters", "photos", "database", "machines", "odd", "odd/empty folder"] {
        fs::create_dir(top.join(folder))?;
    }
    for n in 0..SMALL_FILES {
        fs::write(top.join(format!("letters/{n:03}.txt")), numbers.text(300 + usize::try_from(n).unwrap_or(0) * 17))?;
    }
    fs::write(top.join("database/dump.sql"), numbers.text(TEXT_BYTES))?;
    let photo = numbers.noise(RANDOM_BYTES);
    fs::write(top.join("photos/one.raw"), &photo)?;
    fs::write(top.join("photos/copy of one.raw"), &photo)?;
    sparse(&top.join("machines/disk.img"), &mut numbers)?;
    odd(&top.join("odd"))
}

/// A file that is mostly holes.
fn sparse(path: &Path, numbers: &mut Numbers) -> io::Result<()> {
    let image = File::create(path)?;
    image.set_len(SPARSE_BYTES)?;
    for offset in [0, SPARSE_BYTES / 3, SPARSE_BYTES - (1 << 20)] {
        image.write_all_at(&numbers.text(300 << 10), offset & !0xfff)?;
    }
    Ok(())
}

/// Names, links and metadata that are easily lost.
fn odd(folder: &Path) -> io::Result<()> {
    fs::write(folder.join("empty"), "")?;
    fs::write(folder.join("line\nbreak and \x1b escape"), "a name with a line break\n")?;
    fs::write(folder.join(OsStr::from_bytes(b"not \xff\xfe utf-8")), "bytes\n")?;
    fs::write(folder.join("-leading dash \\"), "dash\n")?;
    fs::write(folder.join("script"), "#!/bin/sh\necho hello\n")?;
    fs::set_permissions(folder.join("script"), Permissions::from_mode(0o4751))?;
    fs::hard_link(folder.join("script"), folder.join("second name of script"))?;
    symlink("script", folder.join("link"))?;
    symlink("nowhere/to be found", folder.join("dangling link"))?;
    mknodat(CWD, folder.join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o640), 0)?;
    // Not every file system has extended attributes.
    let _ = setxattr(folder.join("script"), "user.origin", b"nightjar demo", XattrFlags::empty());
    fs::set_permissions(folder.join("empty folder"), Permissions::from_mode(0o1750))
}

/// What a working day does to the tree.
pub(super) fn change(top: &Path) -> io::Result<()> {
    let mut numbers = Numbers(0x0065_6172_6c79_6269);
    let database = OpenOptions::new().write(true).open(top.join("database/dump.sql"))?;
    database.write_all_at(&numbers.text(40_000), (TEXT_BYTES / 2) as u64)?;
    let mut log = OpenOptions::new().append(true).open(top.join("letters/000.txt"))?;
    log.write_all(&numbers.text(5_000))?;
    let image = OpenOptions::new().write(true).open(top.join("machines/disk.img"))?;
    image.write_all_at(&numbers.noise(100_000), SPARSE_BYTES / 2)?;
    // Bytes in front move everything behind them; contents are still found again.
    let moved = [numbers.noise(1_000), fs::read(top.join("photos/one.raw"))?].concat();
    fs::write(top.join("photos/two.raw"), moved)?;
    fs::rename(top.join("letters/001.txt"), top.join("letters/renamed.txt"))?;
    fs::remove_file(top.join("letters/002.txt"))
}
