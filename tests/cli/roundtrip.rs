//! Everything odd at once: there and back with every byte and all metadata.

use super::Place;
use nightjar::files::{Event, Root, Segment, Selection, Walker, extents};
use nightjar::format::Node;
use rustix::fs::{Mode, OFlags, Timespec, Timestamps, XattrFlags, mkdirat, openat};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

/// What is compared of one entry: its node without what a restore cannot give back, and a hash of its content.
type Found = BTreeMap<Vec<u8>, (Node, Option<blake3::Hash>)>;

fn look(top: &Path) -> Found {
    let root = Root::new(top, Path::new("/")).unwrap();
    let prefix = top.as_os_str().len();
    let mut found = Found::new();
    for event in Walker::new(&[root], Selection::new()) {
        let (Event::Enter(mut entry) | Event::Entry(mut entry)) = event else {
            assert!(matches!(event, Event::Leave), "{event:?}");
            continue;
        };
        if entry.ancestor || entry.path.len() <= prefix {
            continue;
        }
        let content = entry.open().ok().map(|file| content(&file));
        entry.complete(None).unwrap();
        let mut node = entry.node.clone();
        (node.inode, node.ctime, node.birth) = (0, None, None);
        found.insert(entry.path[prefix..].to_vec(), (node, content));
    }
    found
}

/// A hash of all blocks that are not zero, with their places, so that holes cost nothing.
fn content(file: &File) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for segment in extents(file, file.metadata().unwrap().len()) {
        let Segment::Data(range) = segment else { continue };
        for start in range.step_by(4096) {
            let mut block = [0; 4096];
            let read = file.read_at(&mut block, start).unwrap();
            if block != [0; 4096] {
                hasher.update(&start.to_le_bytes()).update(&block[..read]);
            }
        }
    }
    hasher.finalize()
}

/// Folders in one another until their path is longer than any system call takes.
fn deep(below: &Path) {
    let mut folder = File::open(below).unwrap();
    let name = "d".repeat(200);
    for _ in 0..30 {
        mkdirat(&folder, name.as_str(), Mode::from(0o755)).unwrap();
        folder = File::from(openat(&folder, name.as_str(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap());
    }
    let flags = OFlags::CREATE | OFlags::WRONLY;
    let bottom = File::from(openat(&folder, "bottom", flags, Mode::from(0o600)).unwrap());
    bottom.write_all_at(b"far down", 0).unwrap();
}

fn make(place: &Place) {
    let top = place.path("source");
    let names = [&b"new\nline"[..], b"escape \x1b[31m", b"back\\slash", b"-rf", b"not utf-8 \xff", b" ", &[b'n'; 255]];
    for name in names {
        place.write("source/x", name);
        fs::rename(place.path("source/x"), top.join(OsStr::from_bytes(name))).unwrap();
    }
    place.write("source/empty", "");
    place.write("source/attributes", "x".repeat(300));
    let attributes = place.path("source/attributes");
    if rustix::fs::setxattr(&attributes, "user.note", b"\x00\xff", XattrFlags::empty()).is_err() {
        println!("skipped: no extended attributes here");
    }
    fs::set_permissions(&attributes, fs::Permissions::from_mode(0o4751)).unwrap();
    for (name, target) in [("loop-a", "loop-b"), ("loop-b", "loop-a"), ("dangling", "/no/where"), ("self", ".")] {
        symlink(target, top.join(name)).unwrap();
    }
    fs::hard_link(place.path("source/attributes"), place.path("source/second-name")).unwrap();
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, top.join("pipe"), kind, Mode::from(0o640), 0).unwrap();
    let null = rustix::fs::makedev(1, 3);
    let kind = rustix::fs::FileType::CharacterDevice;
    if rustix::fs::mknodat(rustix::fs::CWD, top.join("null"), kind, Mode::from(0o666), null).is_err() {
        println!("skipped: only root makes devices");
    }
    let sparse = File::create(top.join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    for at in [0, 1 << 33, (1 << 40) - 5] {
        sparse.write_all_at(b"data", at).unwrap();
    }
    deep(&top);
    let time = |seconds, nanos| Timespec { tv_sec: seconds, tv_nsec: nanos };
    for (name, seconds) in [("empty", -1), ("attributes", 0), ("sparse", 4_102_444_800), ("dangling", 7)] {
        let times = Timestamps { last_access: time(1, 1), last_modification: time(seconds, 987_654_321) };
        rustix::fs::utimensat(rustix::fs::CWD, top.join(name), &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }
}

#[test]
fn every_odd_thing_comes_back_as_it_was() {
    let place = Place::new();
    make(&place);
    let before = look(&place.path("source"));
    place.run(&["backup", "source"]).code(0);
    let from = format!("latest:{}", place.source_in_snapshot());
    place.run(&["restore", &from, "--target", "back"]).code(0);
    let after = look(&place.path("back"));
    for (path, was) in &before {
        assert_eq!(after.get(path), Some(was), "{}", path.escape_ascii());
    }
    assert_eq!(before.len(), after.len());
    let inode = |name: &str| fs::metadata(place.path(name)).unwrap().ino();
    assert_eq!(inode("back/attributes"), inode("back/second-name"));
    let sparse = fs::metadata(place.path("back/sparse")).unwrap();
    assert!(sparse.len() == 1 << 40 && sparse.blocks() < 100, "{} blocks", sparse.blocks());
    // Nothing has changed since: nothing is read again, and the trees are the same.
    let records = place.run(&["--json", "backup", "source", "--skip-if-unchanged"]).code(0).json();
    let summary = super::of_type(&records, "summary")[0];
    assert_eq!((&summary["statistics"]["bytes_read"], &summary["unchanged"]), (&0.into(), &true.into()));
    // Over itself it restores again.
    place.run(&["restore", &from, "--target", "back"]).code(0);
    assert_eq!(look(&place.path("back")), before);
    super::remove_deep(&place.path("source"));
    super::remove_deep(&place.path("back"));
}
