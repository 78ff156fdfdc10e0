use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::{DirId, Target, write_sparse_at};
use crate::base::entropy::SeededEntropy;
use crate::files::{Entry, Event, Root, Selection, Walker};
use crate::format::{Node, NodeKind, Time, Xattr};

fn target_in(dir: &Path) -> Target {
    Target::create(dir, &SeededEntropy::new(1)).unwrap()
}

fn tree() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    (dir, base)
}

fn node(name: &[u8], kind: NodeKind) -> Node {
    let mut node = Node::new(name, kind);
    node.mode = 0o640;
    node.uid = rustix::process::geteuid().as_raw();
    node.gid = rustix::process::getegid().as_raw();
    node.mtime = Some(Time { seconds: 1_234_567_890, nanos: 123_456_789 });
    node
}

fn put(target: &Target, dir: DirId, node: &Node, content: &[u8]) {
    let handle = target.create_file(dir, &node.name, content.len() as u64).unwrap();
    write_sparse_at(&handle.file, 0, content).unwrap();
    let mut node = node.clone();
    node.size = content.len() as u64;
    let warnings = target.finish(handle, &node).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn entries(base: &Path) -> Vec<Entry> {
    Walker::new(&[Root::new(base, Path::new("/")).unwrap()], Selection::new())
        .filter_map(|event| match event {
            Event::Enter(entry) | Event::Entry(entry) => Some(*entry),
            Event::Leave => None,
            Event::Unreadable(what) => panic!("{:?}", what.error),
        })
        .filter(|entry| !entry.ancestor)
        .map(|mut entry| {
            entry.complete(None).unwrap();
            entry
        })
        .collect()
}

/// Restores what a walk over `from` tells into `to`, as the operations will.
fn copy(from: &Path, to: &Path) {
    let target = target_in(to);
    let mut stack = Vec::new();
    let mut selected = false;
    for event in Walker::new(&[Root::new(from, Path::new("/")).unwrap()], Selection::new()) {
        match event {
            Event::Enter(mut entry) => {
                entry.complete(None).unwrap();
                selected |= entry.root;
                let id = match stack.last() {
                    Some(parent) if selected && !entry.root => target.add_directory(*parent, &entry.node.name).unwrap(),
                    _ => DirId::TOP,
                };
                stack.push(id);
                if selected {
                    target.describe_directory(id, entry.node);
                }
            }
            Event::Leave => drop(stack.pop()),
            Event::Entry(mut entry) => {
                entry.complete(None).unwrap();
                let dir = *stack.last().unwrap();
                if entry.node.kind == NodeKind::File {
                    let mut content = Vec::new();
                    std::io::Read::read_to_end(&mut entry.open().unwrap(), &mut content).unwrap();
                    put(&target, dir, &entry.node, &content);
                } else {
                    let warnings = target.create_special(dir, &entry.node).unwrap();
                    assert!(warnings.is_empty(), "{warnings:?}");
                }
            }
            Event::Unreadable(what) => panic!("{:?}", what.error),
        }
    }
    let errors = target.finish_directories();
    assert!(errors.is_empty(), "{errors:?}");
}

fn set_xattr(path: &Path, name: &str, value: &[u8]) {
    if let Err(error) = rustix::fs::lsetxattr(path, name, value, rustix::fs::XattrFlags::empty()) {
        println!("skipped attribute {name}: {error}");
    }
}

fn set_time(path: &Path, seconds: i64, nanos: i64) {
    let time = rustix::fs::Timespec { tv_sec: seconds, tv_nsec: nanos };
    let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// What only root can make.
fn kinds_of_root(base: &Path) {
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
    set_xattr(&base.join("link"), "trusted.link", b"on a link");
    set_xattr(&base.join("pipe"), "trusted.pipe", b"on a pipe");
    mknodat(CWD, base.join("null"), FileType::CharacterDevice, Mode::RUSR, makedev(1, 3)).unwrap();
    mknodat(CWD, base.join("disk"), FileType::BlockDevice, Mode::RUSR, makedev(7, 300)).unwrap();
    std::os::unix::fs::lchown(base.join("link"), Some(1234), Some(4321)).unwrap();
    std::os::unix::fs::chown(base.join("d/setid"), Some(1234), Some(4321)).unwrap();
    fs::set_permissions(base.join("d/setid"), fs::Permissions::from_mode(0o6755)).unwrap();
    let file = fs::File::open(base.join("-dash")).unwrap();
    super::super::attributes::write_flags(&file, rustix::fs::IFlags::NODUMP.bits()).unwrap_or_default();
}

fn every_kind(base: &Path) {
    let odd: [&[u8]; 7] = [b"plain", b"new\nline", b"esc\x1b[31m", b"back\\slash", b"-dash", b"\xff\xfe", b"sp ace "];
    for name in odd {
        fs::write(base.join(std::ffi::OsStr::from_bytes(name)), name).unwrap();
    }
    fs::create_dir_all(base.join("d/e")).unwrap();
    fs::write(base.join("d/setid"), "x").unwrap();
    fs::set_permissions(base.join("d/setid"), fs::Permissions::from_mode(0o6755)).unwrap();
    symlink("\u{fc}/no where", base.join("link")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, base.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    drop(std::os::unix::net::UnixListener::bind(base.join("socket")).unwrap());
    set_xattr(&base.join("plain"), "user.note", b"hello\0there");
    // rw for the owner, r for user 1234, nothing else; mask r.
    let acl = [
        &[2, 0, 0, 0][..],
        &[1, 0, 6, 0, 255, 255, 255, 255],
        &[2, 0, 4, 0, 0xd2, 4, 0, 0],
        &[4, 0, 0, 0, 255, 255, 255, 255],
        &[0x10, 0, 4, 0, 255, 255, 255, 255],
        &[0x20, 0, 0, 0, 255, 255, 255, 255],
    ]
    .concat();
    set_xattr(&base.join("plain"), "system.posix_acl_access", &acl);
    set_xattr(&base.join("d"), "system.posix_acl_default", &acl);
    if rustix::process::geteuid().is_root() {
        kinds_of_root(base);
    }
    fs::set_permissions(base.join("d/e"), fs::Permissions::from_mode(0o1500)).unwrap();
    for (index, name) in ["plain", "link", "pipe", "socket", "d/setid", "d/e", "d"].iter().enumerate() {
        set_time(&base.join(name), if index == 0 { -77 } else { 1_600_000_000 }, 987_654_321);
    }
}

#[test]
fn every_kind_of_entry_comes_back_with_its_metadata() {
    let (_keep, base) = tree();
    let (from, to) = (base.join("from"), base.join("to"));
    fs::create_dir(&from).unwrap();
    every_kind(&from);
    set_time(&from, 1_000_000_000, 1);
    copy(&from, &to);
    let strip = |entries: Vec<Entry>, base: &Path| -> Vec<(Vec<u8>, Node)> {
        let clean = |mut entry: Entry| {
            entry.node.ctime = None;
            entry.node.birth = None;
            entry.node.inode = 0;
            if entry.root {
                entry.node.name.clear();
            }
            (entry.path[base.as_os_str().len()..].to_vec(), entry.node)
        };
        entries.into_iter().map(clean).collect()
    };
    let (before, after) = (strip(entries(&from), &from), strip(entries(&to), &to));
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    for (path, node) in after.iter().filter(|(_, node)| node.kind == NodeKind::File) {
        let name = std::ffi::OsStr::from_bytes(&path[1..]);
        assert_eq!(fs::read(from.join(name)).unwrap(), fs::read(to.join(name)).unwrap(), "{}", node.size);
    }
    // So that the directory can be removed by anybody.
    for base in [from, to] {
        fs::set_permissions(base.join("d/e"), fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn a_link_in_the_target_is_never_followed() {
    let (_keep, base) = tree();
    let outside = base.join("outside");
    fs::create_dir_all(outside.join("sub")).unwrap();
    fs::create_dir(base.join("to")).unwrap();
    symlink(&outside, base.join("to/dir")).unwrap();
    symlink(outside.join("stolen"), base.join("to/file")).unwrap();
    symlink("loop", base.join("to/loop")).unwrap();
    let target = target_in(&base.join("to"));
    for name in ["dir", "file", "loop"] {
        let error = target.add_directory(DirId::TOP, name.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(&format!("to/{name}`: a link or another")), "{error}");
    }
    put(&target, DirId::TOP, &node(b"file", NodeKind::File), b"mine");
    assert_eq!(names(&outside), ["sub"]);
    assert!(fs::symlink_metadata(base.join("to/file")).unwrap().is_file());
}

#[test]
fn a_link_swapped_in_for_a_directory_leads_nowhere() {
    let (_keep, base) = tree();
    fs::create_dir(base.join("outside")).unwrap();
    let target = target_in(&base.join("to"));
    let dir = target.add_directory(DirId::TOP, b"dir").unwrap();
    let deeper = target.add_directory(dir, b"deeper").unwrap();
    // So many others that the handles of the first ones are closed.
    for number in 0..200 {
        target.add_directory(DirId::TOP, format!("n{number}").as_bytes()).unwrap();
    }
    fs::rename(base.join("to/dir"), base.join("away")).unwrap();
    symlink(base.join("outside"), base.join("to/dir")).unwrap();
    fs::create_dir(base.join("outside/deeper")).unwrap();
    for id in [dir, deeper] {
        assert!(target.create_file(id, b"x", 1).is_err());
    }
    fs::remove_file(base.join("to/dir")).unwrap();
    fs::create_dir(base.join("to/dir")).unwrap();
    let error = target.create_file(dir, b"x", 1).unwrap_err();
    assert!(error.to_string().contains("another directory stands there now"), "{error}");
    assert_eq!(names(&base.join("outside/deeper")), Vec::<String>::new());
}

#[test]
fn names_that_are_no_names_are_refused() {
    let (_keep, base) = tree();
    let target = target_in(&base.join("to"));
    for name in [&b""[..], b".", b"..", b"a/b", b"/", b"a\0b", &[b'x'; 256]] {
        assert!(target.add_directory(DirId::TOP, name).is_err());
        assert!(target.create_file(DirId::TOP, name, 0).is_err());
        assert!(target.create_special(DirId::TOP, &node(name, NodeKind::Fifo)).is_err());
        assert!(target.create_hard_link((DirId::TOP, name), DirId::TOP, b"new").is_err());
    }
    assert_eq!(names(&base), ["to"]);
    assert_eq!(names(&base.join("to")), Vec::<String>::new());
}

#[test]
fn what_stands_there_is_replaced_but_for_a_directory() {
    let (_keep, base) = tree();
    let target = target_in(&base.join("to"));
    fs::write(base.join("to/f"), "old").unwrap();
    put(&target, DirId::TOP, &node(b"f", NodeKind::File), b"new");
    assert_eq!(fs::read(base.join("to/f")).unwrap(), b"new");
    let mut link = node(b"f", NodeKind::Symlink);
    link.target = b"there".to_vec();
    target.create_special(DirId::TOP, &link).unwrap();
    assert_eq!(fs::read_link(base.join("to/f")).unwrap(), Path::new("there"));
    fs::create_dir(base.join("to/d")).unwrap();
    let handle = target.create_file(DirId::TOP, b"d", 0).unwrap();
    assert!(target.finish(handle, &node(b"d", NodeKind::File)).is_err());
    assert!(target.create_special(DirId::TOP, &node(b"d", NodeKind::Fifo)).is_err());
    assert_eq!(names(&base.join("to")), ["d", "f"]);
}

#[test]
fn hard_links_join_names_even_when_they_were_joined_before() {
    let (_keep, base) = tree();
    let target = target_in(&base.join("to"));
    let dir = target.add_directory(DirId::TOP, b"d").unwrap();
    put(&target, DirId::TOP, &node(b"f", NodeKind::File), b"text");
    for _ in 0..2 {
        target.create_hard_link((DirId::TOP, b"f"), dir, b"g").unwrap();
    }
    assert_eq!(fs::metadata(base.join("to/d/g")).unwrap().nlink(), 2);
    assert_eq!(names(&base.join("to/d")), ["g"]);
}

#[test]
fn unfinished_files_can_be_parked_and_vanish_with_the_target() {
    let (_keep, base) = tree();
    let target = target_in(&base.join("to"));
    let parts: Vec<_> = (0..2000)
        .map(|number| {
            let handle = target.create_file(DirId::TOP, format!("f{number}").as_bytes(), 5).unwrap();
            assert_eq!(handle.file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            handle.park()
        })
        .collect();
    assert_eq!(names(&base.join("to")).len(), 2000);
    let mut parts = parts.into_iter();
    let handle = target.resume(parts.next().unwrap()).unwrap();
    write_sparse_at(&handle.file, 0, b"hello").unwrap();
    let mut finished = node(b"f0", NodeKind::File);
    finished.size = 5;
    target.finish(handle, &finished).unwrap();
    target.discard(target.resume(parts.next().unwrap()).unwrap());
    assert_eq!(names(&base.join("to")).len(), 1999);
    drop(target);
    assert_eq!(names(&base.join("to")), ["f0"]);
    assert_eq!(fs::read(base.join("to/f0")).unwrap(), b"hello");
}

#[test]
fn damaged_files_are_set_aside_and_replace_nothing() {
    let (_keep, base) = tree();
    let target = target_in(&base.join("to"));
    fs::write(base.join("to/f.damaged"), "mine").unwrap();
    let aside = |name: &[u8]| target.set_aside(target.create_file(DirId::TOP, name, 1).unwrap()).unwrap();
    assert_eq!(aside(b"f"), b"f.damaged-2");
    assert_eq!(aside(b"f"), b"f.damaged-3");
    let long = aside(&[b'x'; 255]);
    assert!(long.len() == 255 && long.ends_with(b"x.damaged"));
    assert_eq!(fs::read(base.join("to/f.damaged")).unwrap(), b"mine");
    assert_eq!(names(&base.join("to")).len(), 4);
}

#[test]
fn directories_get_their_metadata_last_so_that_closed_ones_can_be_filled() {
    let (_keep, base) = tree();
    let target = target_in(&base.join("to"));
    let outer = target.add_directory(DirId::TOP, b"outer").unwrap();
    let inner = target.add_directory(outer, b"inner").unwrap();
    for (id, name) in [(outer, b"outer"), (inner, b"inner")] {
        let mut node = node(name, NodeKind::Directory);
        node.mode = 0o500;
        target.describe_directory(id, node);
    }
    put(&target, inner, &node(b"f", NodeKind::File), b"x");
    assert!(target.finish_directories().is_empty());
    for path in ["to/outer", "to/outer/inner"] {
        let found = fs::metadata(base.join(path)).unwrap();
        assert_eq!((found.mode() & 0o7777, found.mtime(), found.mtime_nsec()), (0o500, 1_234_567_890, 123_456_789));
    }
    for path in ["to/outer", "to/outer/inner"] {
        fs::set_permissions(base.join(path), fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn without_its_owner_a_file_loses_its_set_id_bits() {
    let (_keep, base) = tree();
    let target = target_in(&base.join("to"));
    let mut foreign = node(b"f", NodeKind::File);
    foreign.mode = 0o6755;
    // No system has this user, and the kernel refuses the number.
    foreign.uid = u32::MAX;
    let handle = target.create_file(DirId::TOP, b"f", 0).unwrap();
    let warnings = target.finish(handle, &foreign).unwrap();
    assert_eq!(warnings.len(), usize::from(rustix::process::geteuid().is_root()));
    assert_eq!(fs::metadata(base.join("to/f")).unwrap().mode() & 0o7777, 0o755);
}

#[test]
fn an_attribute_that_cannot_be_set_is_a_warning_and_the_file_is_there() {
    let (_keep, base) = tree();
    let target = target_in(&base.join("to"));
    let mut odd = node(b"f", NodeKind::File);
    odd.xattrs = vec![Xattr { name: b"nowhere.x".to_vec(), value: b"1".to_vec() }];
    let handle = target.create_file(DirId::TOP, b"f", 0).unwrap();
    let warnings = target.finish(handle, &odd).unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].to_string().contains("nowhere.x"), "{}", warnings[0]);
    assert!(base.join("to/f").exists());
}

#[test]
fn trees_deeper_than_any_path_are_restored() {
    const DEPTH: usize = 2000;
    let (_keep, base) = tree();
    let target = target_in(&base.join("to"));
    let mut dir = DirId::TOP;
    for _ in 0..DEPTH {
        dir = target.add_directory(dir, b"deep").unwrap();
        let mut describe = node(b"deep", NodeKind::Directory);
        describe.mode = 0o700;
        target.describe_directory(dir, describe);
    }
    put(&target, dir, &node(b"f", NodeKind::File), b"down here");
    let mut describe = node(b"deep", NodeKind::Directory);
    describe.mode = 0o750;
    target.describe_directory(dir, describe);
    assert!(target.finish_directories().is_empty());
    let found = entries(&base.join("to"));
    assert_eq!(found.len(), DEPTH + 2);
    assert_eq!(found[DEPTH].node.mode, 0o750);
    drop(target);
    assert!(std::process::Command::new("chmod").args(["-R", "u+rwx"]).arg(base.join("to")).status().is_ok());
    assert!(std::process::Command::new("rm").arg("-rf").arg(base.join("to/deep")).status().unwrap().success());
}

#[test]
fn a_socket_comes_back_as_a_socket() {
    let (_keep, base) = tree();
    let target = target_in(&base.join("to"));
    target.create_special(DirId::TOP, &node(b"s", NodeKind::Socket)).unwrap();
    let found = fs::symlink_metadata(base.join("to/s")).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.mode() & 0o7777, 0o640);
}
