//! What the contract does not say but a folder of the file system must do.

use super::{assert_fault, listed, noise, pack, put};
use bytes::Bytes;
use nightjar::storage::{Folder, LocalStorage, ObjectName, PutMode, Storage, StorageFault};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

fn prepared(root: &Path) -> LocalStorage {
    let storage = LocalStorage::open(root);
    storage.prepare().unwrap();
    storage
}

fn leftovers(root: &Path) -> usize {
    fs::read_dir(root.join("tmp")).unwrap().count()
}

/// Every entry below `root`.
fn entries(root: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(entries(&path));
        }
        found.push(path);
    }
    found
}

#[test]
fn files_are_for_the_owner_only() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("deep/down");
    let storage = prepared(&root);
    put(&storage, &pack(b"one"), b"one", PutMode::Keep).unwrap();
    put(&storage, &ObjectName::lease(&[1; 16], 1), b"", PutMode::Exclusive).unwrap();
    let mut folders = 0;
    for path in entries(&scratch.path().join("deep")) {
        let metadata = path.metadata().unwrap();
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.permissions().mode() & 0o7777, expected, "{}", path.display());
        folders += usize::from(metadata.is_dir());
    }
    assert_eq!(folders, 1 + Folder::ALL.len() + 1 + 256);
}

#[test]
fn a_folder_that_is_not_there_reads_as_not_found_and_is_not_made() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("missing");
    let storage = LocalStorage::open(&root);
    assert_fault(storage.get(&pack(b"one")), StorageFault::NotFound);
    assert_fault(storage.head(&pack(b"one")), StorageFault::NotFound);
    let listing = storage.list(Folder::Snapshots, &mut |_| unreachable!());
    assert_fault(listing, StorageFault::NotFound);
    assert_eq!(put(&storage, &pack(b"one"), b"one", PutMode::Keep), Err(StorageFault::Other));
    assert!(!root.exists());
}

#[test]
fn a_missing_folder_lists_nothing_unless_no_repository_is_without_it() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = LocalStorage::open(scratch.path());
    for folder in [Folder::Marks, Folder::Forgotten, Folder::Leases, Folder::Census] {
        assert_eq!(listed(&storage, folder), BTreeMap::new());
    }
    for folder in [Folder::Config, Folder::Keys, Folder::Packs, Folder::Index, Folder::Snapshots] {
        assert_fault(storage.list(folder, &mut |_| unreachable!()), StorageFault::NotFound);
    }
}

#[test]
fn names_that_are_no_object_names_are_ignored() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = prepared(scratch.path());
    let object = ObjectName::hashed(Folder::Packs, &[0xab; 32]);
    put(&storage, &object, b"one", PutMode::Keep).unwrap();
    let hex = |byte: &str| byte.repeat(32);
    for stray in [
        "packs/.DS_Store",
        "packs/ab/.DS_Store",
        "packs/ab/x.tmp",
        &format!("packs/ab/{}.tmp", hex("ab")),
        &format!("packs/ab/{}", hex("AB")),
        // In the folder of others, or not in one of the 256.
        &format!("packs/ab/{}", hex("cd")),
        &format!("packs/{}", hex("ab")),
        &format!("packs/abc/{}", hex("ab")),
        &format!("packs/@eaDir/{}", hex("ab")),
        // Folders are no objects, whatever their name.
        &format!("packs/cd/{}/file", hex("cd")),
        "packs/ab/@eaDir/file",
        "snapshots/@Recycle/file",
        "snapshots/notes.txt",
        &format!("leases/{}", hex("ab")),
    ] {
        let path = scratch.path().join(stray);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "stray").unwrap();
    }
    assert_eq!(listed(&storage, Folder::Packs), BTreeMap::from([(object, 3)]));
    assert_eq!(listed(&storage, Folder::Snapshots), BTreeMap::new());
    assert_eq!(listed(&storage, Folder::Leases), BTreeMap::new());
}

#[test]
fn links_pipes_and_folders_under_the_name_of_an_object_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = prepared(scratch.path());
    fs::write(scratch.path().join("secret"), "secret").unwrap();
    let object = |seed: u8| ObjectName::hashed(Folder::Index, &[seed; 32]);
    let path = |seed: u8| scratch.path().join(object(seed).path());
    symlink(scratch.path().join("secret"), path(1)).unwrap();
    fs::create_dir(path(2)).unwrap();
    let pipe = Command::new("mkfifo").arg(path(3)).status();
    let kinds = if pipe.is_ok_and(|made| made.success()) { 3 } else { 2 };
    for seed in 1..=kinds {
        assert_fault(storage.get(&object(seed)), StorageFault::Other);
        assert_fault(storage.get_range(&object(seed), 0..1), StorageFault::Other);
        assert_fault(storage.head(&object(seed)), StorageFault::Other);
        let written = put(&storage, &object(seed), b"one", PutMode::Keep);
        assert_eq!(written, Err(StorageFault::Other), "nothing is replaced that is no object");
    }
    assert_eq!(listed(&storage, Folder::Index), BTreeMap::new());
    assert_eq!(leftovers(scratch.path()), 0);
}

#[test]
fn a_file_cut_short_from_outside_is_replaced() {
    let scratch = tempfile::tempdir().unwrap();
    let storage = prepared(scratch.path());
    let bytes = noise(100_000, 1);
    put(&storage, &pack(&bytes), &bytes, PutMode::Keep).unwrap();
    let path = scratch.path().join(pack(&bytes).path());
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(5_000).unwrap();
    assert_fault(storage.get_range(&pack(&bytes), 4_000..6_000), StorageFault::ShortRead);
    let damaged = path.metadata().unwrap().ino();
    put(&storage, &pack(&bytes), &bytes, PutMode::Keep).unwrap();
    assert!(storage.get(&pack(&bytes)).unwrap() == bytes);
    assert_ne!(path.metadata().unwrap().ino(), damaged, "replaced as a whole, not mended in place");
    assert_eq!(leftovers(scratch.path()), 0);
}

#[test]
fn a_length_that_is_a_lie_is_an_error_and_not_an_abort() {
    // Few file systems have files this large; tmpfs does.
    let Ok(scratch) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: /dev/shm is not there");
        return;
    };
    let storage = prepared(scratch.path());
    let object = pack(b"sparse");
    let file = fs::File::create(scratch.path().join(object.path())).unwrap();
    if file.set_len(1 << 62).is_err() {
        println!("skipped: /dev/shm has no files of 4 EiB");
        return;
    }
    assert!(storage.get(&object).is_err());
    assert!(storage.get_range(&object, 0..1 << 62).is_err());
    assert_fault(storage.get_range(&object, 0..u64::MAX), StorageFault::ShortRead);
    assert_eq!(storage.get_range(&object, 1 << 61..(1 << 61) + 3).unwrap(), "\0\0\0");
}

/// Something mounted on a folder until this is dropped.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    /// `None`, with a message, where mounting is not allowed.
    #[expect(clippy::print_stdout, reason = "whoever runs the tests shall know what was skipped")]
    fn tmpfs(at: &'a Path, options: &str) -> Option<Self> {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(at));
        }
        println!("skipped: mounting needs root");
        None
    }

    fn remount_read_only(&self) {
        let status = Command::new("mount").args(["-o", "remount,ro"]).arg(self.0).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_is_told_as_such_and_leaves_nothing_behind() {
    let scratch = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mounted::tmpfs(scratch.path(), "size=2m,mode=0700") else {
        return;
    };
    let storage = prepared(scratch.path());
    let small = noise(100_000, 1);
    put(&storage, &pack(&small), &small, PutMode::Keep).unwrap();
    let parts: Vec<Bytes> = (0..40).map(|seed| noise(100_000, seed)).collect();
    let result = storage.put(&pack(b"large"), &parts, PutMode::Exclusive);
    let error = result.unwrap_err();
    assert_eq!(error.fault, StorageFault::NoSpace, "{error}");
    assert_fault(storage.get(&pack(b"large")), StorageFault::NotFound);
    assert_eq!(leftovers(scratch.path()), 0);
    assert!(storage.get(&pack(&small)).unwrap() == small);
    put(&storage, &pack(b"little"), b"little", PutMode::Keep).unwrap();
}

#[test]
fn a_read_only_file_system_is_read_and_refuses_writes() {
    let scratch = tempfile::tempdir().unwrap();
    let Some(mounted) = Mounted::tmpfs(scratch.path(), "size=2m,mode=0700") else {
        return;
    };
    let storage = prepared(scratch.path());
    put(&storage, &pack(b"one"), b"one", PutMode::Keep).unwrap();
    fs::remove_dir(scratch.path().join("marks")).unwrap();
    mounted.remount_read_only();
    for storage in [storage, LocalStorage::open(scratch.path())] {
        assert_eq!(storage.get(&pack(b"one")).unwrap(), "one");
        assert_eq!(storage.get_range(&pack(b"one"), 1..2).unwrap(), "n");
        assert_eq!(storage.head(&pack(b"one")).unwrap().length, 3);
        assert_eq!(listed(&storage, Folder::Packs).len(), 1);
        assert_eq!(listed(&storage, Folder::Marks).len(), 0);
        assert_eq!(put(&storage, &pack(b"two"), b"two", PutMode::Keep), Err(StorageFault::Denied));
        assert_fault(storage.delete(&pack(b"one")), StorageFault::Denied);
        assert_fault(storage.prepare(), StorageFault::Denied);
    }
}

#[test]
fn a_folder_without_permission_to_write_is_read_and_refuses_writes() {
    let scratch = tempfile::tempdir().unwrap();
    if scratch.path().metadata().unwrap().uid() == 0 {
        println!("skipped: permissions do not bind root");
        return;
    }
    let storage = prepared(scratch.path());
    put(&storage, &pack(b"one"), b"one", PutMode::Keep).unwrap();
    let permit = |mode| {
        for folder in entries(scratch.path()).into_iter().filter(|path| path.is_dir()) {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    permit(0o500);
    assert_eq!(storage.get(&pack(b"one")).unwrap(), "one");
    assert_eq!(listed(&storage, Folder::Packs).len(), 1);
    assert_eq!(put(&storage, &pack(b"two"), b"two", PutMode::Keep), Err(StorageFault::Denied));
    assert_fault(storage.delete(&pack(b"one")), StorageFault::Denied);
    permit(0o700);
}

#[test]
fn two_processes_worth_of_storages_share_a_folder() {
    let scratch = tempfile::tempdir().unwrap();
    let (one, two) = (prepared(scratch.path()), LocalStorage::open(scratch.path()));
    put(&one, &pack(b"one"), b"one", PutMode::Exclusive).unwrap();
    assert_eq!(put(&two, &pack(b"one"), b"one", PutMode::Exclusive), Err(StorageFault::Exists));
    assert_eq!(two.get(&pack(b"one")).unwrap(), "one");
    two.delete(&pack(b"one")).unwrap();
    assert_fault(one.get(&pack(b"one")), StorageFault::NotFound);
}
