use std::fs;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use super::{Event, Root, Walker};
use crate::base::clock::{Clock as _, SystemClock};
use crate::files::selection::{Case, Selection};
use crate::format::NodeKind;

fn roots(paths: &[&Path]) -> Vec<Root> {
    paths.iter().map(|path| Root::new(path, Path::new("/")).unwrap()).collect()
}

fn tree() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    (dir, base)
}

/// The events as text, paths relative to `base`; ancestors above it are left out.
fn told(base: &Path, roots: &[Root], selection: Selection) -> Vec<String> {
    let mut lines = Vec::new();
    let mut depth = 0;
    let mut above = 0;
    let base = base.as_os_str().as_bytes();
    let short = |path: &[u8]| {
        String::from_utf8_lossy(path.strip_prefix(base).unwrap_or(path)).trim_start_matches('/').to_owned()
    };
    for event in Walker::new(roots, selection) {
        match event {
            Event::Enter(entry) => {
                depth += 1;
                if base.starts_with(&entry.path) {
                    assert!(entry.ancestor || entry.path == base);
                    above += 1;
                    assert_eq!(above, depth);
                } else {
                    let mark = if entry.ancestor { "^" } else { "" };
                    lines.push(format!("{}/{mark}", short(&entry.path)));
                }
            }
            Event::Entry(entry) => lines.push(short(&entry.path)),
            Event::Leave => {
                if depth > above {
                    lines.push("<".to_owned());
                }
                depth -= 1;
                above = above.min(depth);
            }
            Event::Unreadable(what) => {
                lines.push(format!("!{} {:?} {}", short(&what.path), what.error.kind(), what.root));
            }
        }
    }
    assert_eq!(depth, 0, "every directory is left");
    lines
}

#[test]
fn names_come_in_byte_order_and_depth_first() {
    let (_keep, base) = tree();
    for name in ["b/z", "b/a/x", "a.txt", "B", "a/1", "é"] {
        fs::create_dir_all(base.join(name).parent().unwrap()).unwrap();
        fs::write(base.join(name), name).unwrap();
    }
    let lines = told(&base, &roots(&[&base]), Selection::new());
    assert_eq!(lines, ["B", "a/", "a/1", "<", "a.txt", "b/", "b/a/", "b/a/x", "<", "b/z", "<", "é"]);
}

#[test]
fn roots_share_their_ancestors_and_nested_ones_come_once() {
    let (_keep, base) = tree();
    for name in ["u/x/f", "u/y", "e/conf", "other"] {
        fs::create_dir_all(base.join(name).parent().unwrap()).unwrap();
        fs::write(base.join(name), "").unwrap();
    }
    let paths = [base.join("u/x"), base.join("e"), base.join("e/conf"), base.join("e"), base.join("gone")];
    let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
    let lines = told(&base, &roots(&paths), Selection::new());
    assert_eq!(lines, ["e/", "e/conf", "<", "!gone NotFound true", "u/^", "u/x/", "u/x/f", "<", "<"]);
}

#[test]
fn every_root_that_cannot_be_reached_is_told() {
    let (_keep, base) = tree();
    fs::write(base.join("file"), "").unwrap();
    symlink("/", base.join("link")).unwrap();
    let paths = ["file/", "gone/a", "gone/b/c", "gone", "link", "link/x"].map(|name| base.join(name));
    let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
    let expected = [
        "!file NotADirectory true",
        "!gone NotFound true",
        "!gone/a NotFound true",
        "!gone/b/c NotFound true",
        "!link/x NotADirectory true",
        "link",
    ];
    assert_eq!(told(&base, &roots(&paths), Selection::new()), expected);
}

#[test]
fn entries_held_back_open_from_closed_directories() {
    let (_keep, base) = tree();
    many(&base, 1000, 1);
    let entries: Vec<_> = Walker::new(&roots(&[&base]), Selection::new())
        .filter_map(|event| if let Event::Entry(entry) = event { Some(entry) } else { None })
        .collect();
    let links = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let handles = links.filter(|path| path.starts_with(&base)).count();
    assert!((100..=256).contains(&handles), "{handles}");
    assert_eq!(entries.len(), 1000);
    for mut entry in entries {
        let file = entry.open().unwrap();
        entry.complete(Some(&file)).unwrap();
    }
}

#[test]
fn an_ancestor_tells_mode_and_owner_and_nothing_of_time() {
    let (_keep, base) = tree();
    fs::write(base.join("f"), "").unwrap();
    let Some(Event::Enter(first)) = Walker::new(&roots(&[&base.join("f")]), Selection::new()).next() else {
        panic!("the walk begins with an ancestor");
    };
    assert!(first.ancestor && !first.root);
    assert_eq!((first.node.mtime, first.node.ctime, first.node.inode), (None, None, 0));
    assert_eq!(first.node.kind, NodeKind::Directory);
    assert_ne!(first.node.mode, 0);
}

#[test]
fn excluded_trees_are_skipped_but_roots_named_inside_are_saved() {
    let (_keep, base) = tree();
    for name in ["a/keep.o", "a/skip/deep/root/f.o", "a/skip/deep/root/g", "a/skip/other", "a/t"] {
        fs::create_dir_all(base.join(name).parent().unwrap()).unwrap();
        fs::write(base.join(name), "").unwrap();
    }
    let mut selection = Selection::new();
    selection.exclude(b"skip/", Case::Sensitive).unwrap();
    selection.exclude(b"*.o", Case::Sensitive).unwrap();
    let inside = base.join("a/skip/deep/root");
    let lines = told(&base, &roots(&[&base.join("a"), &inside, &base.join("a/keep.o")]), selection);
    let expected = [
        "a/",
        "a/keep.o",
        "a/skip/^",
        "a/skip/deep/^",
        "a/skip/deep/root/",
        "a/skip/deep/root/g",
        "<",
        "<",
        "<",
        "a/t",
        "<",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn tagged_directories_keep_their_tag_only() {
    let (_keep, base) = tree();
    for (name, content) in [
        ("c/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\nmore"),
        ("c/x", ""),
        ("d/CACHEDIR.TAG", "wrong"),
        ("d/x", ""),
        ("n/.nobackup", ""),
        ("n/sub/x", ""),
    ] {
        fs::create_dir_all(base.join(name).parent().unwrap()).unwrap();
        fs::write(base.join(name), content).unwrap();
    }
    let mut selection = Selection::new();
    selection.exclude_caches();
    selection.exclude_if_present(b".nobackup").unwrap();
    let lines = told(&base, &roots(&[&base]), selection);
    assert_eq!(lines, ["c/", "c/CACHEDIR.TAG", "<", "d/", "d/CACHEDIR.TAG", "d/x", "<", "n/", "n/.nobackup", "<"]);
}

#[test]
fn large_files_are_left_out_unless_named() {
    let (_keep, base) = tree();
    for (name, size) in [("big", 101), ("named", 500), ("small", 100)] {
        fs::write(base.join(name), vec![0; size]).unwrap();
    }
    let mut selection = Selection::new();
    selection.exclude_larger_than(100);
    assert_eq!(told(&base, &roots(&[&base, &base.join("named")]), selection), ["named", "small"]);
}

#[test]
fn links_are_saved_as_links_and_followed_only_as_a_root_with_a_slash() {
    let (_keep, base) = tree();
    fs::create_dir(base.join("real")).unwrap();
    fs::write(base.join("real/f"), "").unwrap();
    symlink("real", base.join("link")).unwrap();
    symlink("loop", base.join("loop")).unwrap();
    assert_eq!(told(&base, &roots(&[&base]), Selection::new()), ["link", "loop", "real/", "real/f", "<"]);
    assert_eq!(told(&base, &roots(&[&base.join("link")]), Selection::new()), ["link"]);
    assert_eq!(told(&base, &roots(&[&base.join("link/")]), Selection::new()), ["link/", "link/f", "<"]);
    assert_eq!(told(&base, &roots(&[&base.join("link/f")]), Selection::new()), ["link/^", "link/f", "<"]);
    let target = Walker::new(&roots(&[&base.join("link")]), Selection::new())
        .find_map(|event| if let Event::Entry(entry) = event { Some(entry.node.target) } else { None });
    assert_eq!(target.as_deref(), Some(&b"real"[..]));
}

#[test]
fn the_whole_system_can_be_a_root_and_mounts_stay_empty() {
    let mut selection = Selection::new();
    selection.one_file_system();
    for name in ["/*/*", "!/proc/*"] {
        selection.exclude(name.as_bytes(), Case::Sensitive).unwrap();
    }
    let lines = told(Path::new("/nowhere"), &roots(&[Path::new("/")]), selection);
    match lines.iter().position(|line| line == "proc/") {
        Some(proc) => assert_eq!(lines[proc + 1], "<"),
        None => println!("skipped: nothing is mounted at /proc"),
    }
    assert!(lines.iter().any(|line| line == "etc/" || line == "usr/"));
}

#[test]
fn a_fifo_is_told_and_never_opened() {
    let (_keep, base) = tree();
    rustix::fs::mkfifoat(CWD, base.join("pipe"), Mode::RWXU).unwrap();
    let entry = Walker::new(&roots(&[&base]), Selection::new())
        .find_map(|event| if let Event::Entry(entry) = event { Some(entry) } else { None });
    let mut entry = entry.unwrap();
    assert_eq!(entry.node.kind, NodeKind::Fifo);
    assert_eq!(entry.open().unwrap_err().kind(), io::ErrorKind::InvalidInput);
    entry.complete(None).unwrap();
}

#[test]
fn only_another_regular_file_may_take_the_place_of_the_one_that_the_walk_met() {
    let (_keep, base) = tree();
    fs::write(base.join("f"), "old").unwrap();
    let files = || {
        Walker::new(&roots(&[&base]), Selection::new())
            .find_map(|event| if let Event::Entry(entry) = event { Some(entry) } else { None })
            .unwrap()
    };
    let mut entry = files();
    let mut text = String::new();
    entry.open().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "old");
    let inode = entry.node.inode;
    fs::write(base.join("next"), "replaced").unwrap();
    fs::rename(base.join("next"), base.join("f")).unwrap();
    text.clear();
    entry.open().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), entry.node.size), ("replaced", 8));
    assert_ne!(entry.node.inode, inode, "the node is of the file that is there now");
    fs::rename(base.join("f"), base.join("away")).unwrap();
    symlink("away", base.join("f")).unwrap();
    assert!(entry.open().is_err());
    fs::remove_file(base.join("f")).unwrap();
    rustix::fs::mkfifoat(CWD, base.join("f"), Mode::RWXU).unwrap();
    assert_eq!(entry.open().unwrap_err().kind(), io::ErrorKind::NotFound);
    fs::remove_file(base.join("f")).unwrap();
    assert_eq!(entry.open().unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn what_vanishes_during_the_walk_is_told_as_not_found() {
    let (_keep, base) = tree();
    for name in ["a", "b", "c/x"] {
        fs::create_dir_all(base.join(name).parent().unwrap()).unwrap();
        fs::write(base.join(name), "").unwrap();
    }
    let walker = Walker::new(&roots(&[&base]), Selection::new());
    let mut lines = Vec::new();
    for event in walker {
        match event {
            Event::Entry(entry) if entry.path.ends_with(b"/a") => {
                fs::remove_file(base.join("b")).unwrap();
                fs::remove_dir_all(base.join("c")).unwrap();
            }
            Event::Unreadable(what) => lines.push((what.path, what.error.kind(), what.root)),
            _ => {}
        }
    }
    let at = |name: &str| base.join(name).into_os_string().into_vec();
    let expected = [(at("b"), io::ErrorKind::NotFound, false), (at("c"), io::ErrorKind::NotFound, false)];
    assert_eq!(lines, expected);
}

#[test]
fn an_unreadable_directory_is_kept_and_told() {
    if rustix::process::geteuid().is_root() {
        println!("skipped: root may read everything");
        return;
    }
    let (_keep, base) = tree();
    fs::create_dir(base.join("closed")).unwrap();
    fs::set_permissions(base.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let lines = told(&base, &roots(&[&base]), Selection::new());
    fs::set_permissions(base.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(lines, ["closed/", "!closed PermissionDenied false", "<"]);
}

#[test]
fn depth_is_bounded_by_nothing() {
    const DEPTH: usize = 3000;
    let (_keep, base) = tree();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir: OwnedFd = openat(CWD, &base, flags, Mode::empty()).unwrap();
    for _ in 0..DEPTH {
        mkdirat(&dir, "deep", Mode::RWXU).unwrap();
        dir = openat(&dir, "deep", flags, Mode::empty()).unwrap();
    }
    drop(openat(&dir, "file", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap());
    let mut seen = (0, 0, 0);
    let mut kept = None;
    for event in Walker::new(&roots(&[&base]), Selection::new()) {
        match event {
            Event::Enter(_) => seen.0 += 1,
            Event::Entry(entry) => {
                seen.1 += 1;
                kept = Some(entry);
            }
            Event::Leave => seen.2 += 1,
            Event::Unreadable(what) => panic!("{}", what.error),
        }
    }
    assert!(seen.0 > DEPTH && seen.0 == seen.2 && seen.1 == 1, "{seen:?}");
    kept.unwrap().open().unwrap();
    let handles = fs::read_dir("/proc/self/fd").unwrap().count();
    assert!(handles < 700, "{handles}");
    // Whole paths are too long for the usual ways of removing it.
    assert!(std::process::Command::new("rm").arg("-rf").arg(base.join("deep")).status().unwrap().success());
}

#[test]
fn attributes_are_added_on_demand_for_every_kind() {
    let (_keep, base) = tree();
    fs::write(base.join("f"), "").unwrap();
    fs::create_dir(base.join("d")).unwrap();
    let large = vec![7; 2000];
    for name in ["f", "d"] {
        let set = rustix::fs::setxattr(base.join(name), "user.note", &large, rustix::fs::XattrFlags::empty());
        if set.is_err() {
            println!("skipped: the file system keeps no attributes");
            return;
        }
    }
    for event in Walker::new(&roots(&[&base]), Selection::new()) {
        if let Event::Enter(mut entry) | Event::Entry(mut entry) = event {
            entry.complete(None).unwrap();
            if !entry.ancestor && !entry.root {
                assert_eq!(entry.node.xattrs.len(), 1);
                assert_eq!((&*entry.node.xattrs[0].name, &entry.node.xattrs[0].value), (&b"user.note"[..], &large));
            }
        }
    }
}

fn many(base: &Path, directories: usize, files: usize) {
    for directory in 0..directories {
        let path = base.join(format!("d{directory}"));
        fs::create_dir(&path).unwrap();
        for file in 0..files {
            fs::write(path.join(format!("file-{file}")), "").unwrap();
        }
    }
}

fn timed_walk(base: &Path, complete: bool) -> (usize, f64) {
    let clock = SystemClock::default();
    let mut count = 0;
    for event in Walker::new(&roots(&[base]), Selection::new()) {
        if let Event::Entry(mut entry) = event {
            count += 1;
            if complete {
                entry.complete(None).unwrap();
            }
        }
    }
    (count, clock.monotonic().as_secs_f64())
}

#[test]
fn five_thousand_files_take_a_moment_with_their_attributes() {
    let (_keep, base) = tree();
    many(&base, 50, 100);
    let (count, plain) = timed_walk(&base, false);
    let (_, complete) = timed_walk(&base, true);
    println!("5,000 files: {:.1} ms, with attributes {:.1} ms", plain * 1e3, complete * 1e3);
    assert_eq!(count, 5000);
}

#[test]
fn a_hundred_thousand_files_in_one_directory_are_walked() {
    let (_keep, base) = tree();
    many(&base, 1, 100_000);
    let (count, seconds) = timed_walk(&base, false);
    println!("100,000 files: {:.1} ms", seconds * 1e3);
    assert_eq!(count, 100_000);
}
