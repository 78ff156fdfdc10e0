//! A store that lies, and snapshots made to harm whoever restores them.

use super::{Ended, PASSWORD, Place, files_below};
use nightjar::codec::Compression;
use nightjar::crypto::Secret;
use nightjar::engine::SoftwareEngine;
use nightjar::format::{ChunkId, Content, Node, NodeKind, Snapshot, Statistics, TreeChunk};
use nightjar::repo::{Environment, Repository, Session, SessionOptions};
use nightjar::storage::LocalStorage;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a block of 64 KiB, sealed: what it holds, its prefix, its tag.
const SEALED: usize = (64 << 10) + 4 + 16;

/// A repository whose blocks are all of one length: files of 16 KiB, the least that can be cut off, four in a block.
fn even() -> Place {
    let place = Place::empty();
    let words =
        ["init", "--no-recovery-key", "--chunk-size", "16K/32K/64K", "--block-size", "64K", "--compression", "off"];
    place.run(&words).code(0);
    place
}

fn save(place: &Place, letters: std::ops::RangeInclusive<u8>) {
    for letter in letters {
        place.write(&format!("source/{}", char::from(letter)), [letter; 16 << 10]);
    }
    place.run(&["backup", "source"]).code(0);
}

fn data_packs(place: &Place) -> Vec<PathBuf> {
    let mut packs = place.objects("packs");
    packs.retain(|pack| fs::read(pack).unwrap()[9] == 1);
    packs
}

/// Restores the newest snapshot: damage must be found, and every file that is there must be right.
fn finds_damage_and_restores_nothing_wrong(place: &Place) -> usize {
    let from = format!("latest:{}", place.source_in_snapshot());
    place.run(&["restore", &from, "--target", "back"]).code(4);
    let mut right = 0;
    for file in files_below(&place.path("back")) {
        let name = file.file_name().unwrap().to_str().unwrap();
        if !name.contains(".damaged") {
            assert_eq!(fs::read(&file).unwrap(), [name.as_bytes()[0]; 16 << 10], "{name}");
            right += 1;
        }
    }
    right
}

#[test]
fn blocks_that_changed_places_in_their_pack_are_refused() {
    let place = even();
    save(&place, b'a'..=b'l');
    let pack = &data_packs(&place)[0];
    let mut bytes = fs::read(pack).unwrap();
    let (first, second) = bytes[128..].split_at_mut(SEALED);
    first.swap_with_slice(&mut second[..SEALED]);
    fs::write(pack, bytes).unwrap();
    assert_eq!(finds_damage_and_restores_nothing_wrong(&place), 4, "the third block is as it was");
}

#[test]
fn blocks_that_changed_places_between_packs_are_refused() {
    let place = even();
    save(&place, b'a'..=b'd');
    save(&place, b'e'..=b'h');
    let packs = data_packs(&place);
    let (mut one, mut other) = (fs::read(&packs[0]).unwrap(), fs::read(&packs[1]).unwrap());
    one[128..128 + SEALED].swap_with_slice(&mut other[128..128 + SEALED]);
    fs::write(&packs[0], one).unwrap();
    fs::write(&packs[1], other).unwrap();
    assert_eq!(finds_damage_and_restores_nothing_wrong(&place), 0);
}

#[test]
fn packs_of_another_repository_with_the_same_password_are_refused() {
    let (place, other) = (even(), even());
    save(&place, b'a'..=b'd');
    save(&other, b'a'..=b'd');
    fs::copy(&data_packs(&other)[0], &data_packs(&place)[0]).unwrap();
    assert_eq!(finds_damage_and_restores_nothing_wrong(&place), 0);
}

/// Copies the objects of a folder of one repository into another.
fn plant(folder: &str, from: &Place, into: &Place) {
    for object in from.objects(folder) {
        fs::copy(&object, into.repo().join(folder).join(object.file_name().unwrap())).unwrap();
    }
}

#[test]
fn configs_and_key_slots_of_another_repository_change_nothing() {
    let (place, other) = (Place::with_snapshot(), Place::empty());
    let mut command = other.command(&["init", "--no-recovery-key"]);
    Ended(command.env("NIGHTJAR_PASSWORD", "another").output().unwrap()).code(0);
    plant("config", &other, &place);
    plant("keys", &other, &place);
    place.run(&["restore", "latest", "--target", "back"]).code(0);
    place.run(&["backup", "source"]).code(0);
}

#[test]
fn a_chunk_whose_first_copy_is_damaged_comes_from_another_copy() {
    let place = even();
    save(&place, b'a'..=b'd');
    let index = place.objects("index").remove(0);
    let aside = place.path("aside");
    fs::rename(&index, &aside).unwrap();
    place.run(&["backup", "source", "--force"]).code(0);
    fs::rename(&aside, &index).unwrap();
    let packs = data_packs(&place);
    assert_eq!(packs.len(), 2, "everything is there twice");
    let mut bytes = fs::read(&packs[0]).unwrap();
    bytes[200] ^= 1;
    fs::write(&packs[0], bytes).unwrap();
    place.run(&["restore", "latest", "--target", "back"]).code(0);
}

/// A snapshot whose root is this chunk, put as only a holder of the password can.
fn forge(place: &Place, root: &TreeChunk) {
    let secret = Secret::new(PASSWORD.to_owned().into());
    let storage = Arc::new(LocalStorage::open(place.repo()));
    let repository = Arc::new(Repository::open(storage, Environment::system(), &secret).unwrap());
    let engine = SoftwareEngine::new(1, 1).unwrap();
    let options = SessionOptions { compression: Compression::Off, uploads: 1, dry_run: false };
    let mut session = Session::start(&repository, &engine, options, "backup").unwrap();
    let root: ChunkId = session.add_tree(&root.to_bytes()).unwrap();
    session.checkpoint().unwrap();
    let snapshot = Snapshot {
        time: repository.env().now(),
        zone_seconds: 0,
        job: None,
        host: "h".into(),
        user: "u".into(),
        paths: vec![],
        tags: vec![],
        root,
        parent: None,
        program: "forged".into(),
        options: vec![],
        statistics: Statistics::default(),
        failed: vec![],
        partial: false,
        suspicious: false,
        lease: session.lease(),
        writer: [0; 16],
        sequence: 1,
        previous: None,
        lamport: 1,
        original: None,
    };
    repository.put_snapshot(&snapshot).unwrap();
    session.end().unwrap();
}

fn file(name: &[u8], text: &[u8]) -> Node {
    let mut node = Node::new(name, NodeKind::File);
    (node.mode, node.size, node.content) = (0o644, text.len() as u64, Some(Content::Inline(text.to_vec())));
    node
}

#[test]
fn a_forged_tree_writes_nothing_outside_the_target() {
    let hostile = [&b"../escaped"[..], b"..", b"/tmp/escaped", b"a/../../escaped", b"."];
    for name in hostile {
        let place = Place::new();
        forge(&place, &TreeChunk::Leaf(vec![file(name, b"x")]));
        place.run(&["restore", "latest", "--target", "deep/target"]).code(4);
        place.run(&["ls", "latest"]).code(4);
        assert!(!place.path("escaped").exists() && !place.path("deep/escaped").exists());
        assert!(!Path::new("/tmp/escaped").exists());
        assert_eq!(fs::read_dir(place.path("deep/target")).unwrap().count(), 0);
    }
}

#[test]
fn a_link_and_a_folder_of_one_name_are_refused_together() {
    let place = Place::new();
    let mut link = Node::new(b"a", NodeKind::Symlink);
    link.target = b"/".to_vec();
    forge(&place, &TreeChunk::Leaf(vec![link, file(b"a", b"x")]));
    place.run(&["restore", "latest", "--target", "target"]).code(4);
    assert_eq!(fs::read_dir(place.path("target")).unwrap().count(), 0);
}

#[test]
fn a_link_that_stands_in_the_target_is_never_followed() {
    let place = Place::with_snapshot();
    let from = format!("latest:{}", place.source_in_snapshot());
    place.write("outside/sub/keep", "kept");
    fs::create_dir(place.path("target")).unwrap();
    symlink(place.path("outside/sub"), place.path("target/sub")).unwrap();
    symlink(place.path("outside/file"), place.path("target/a.txt")).unwrap();
    place.run(&["restore", &from, "--target", "target"]).code(3);
    assert_eq!(files_below(&place.path("outside")), [place.path("outside/sub/keep")]);
    assert_eq!(fs::read_to_string(place.path("target/a.txt")).unwrap(), "alpha\n", "the link itself was replaced");
}

#[test]
fn secrets_are_kept_from_core_dumps_and_from_the_commands_that_are_run() {
    let place = Place::new();
    let show = "env; cat /proc/$PPID/limits; cat /proc/$PPID/cmdline";
    place.run(&["backup", "--stdin-from-command", "--stdin-filename", "seen", "--", "sh", "-c", show]).code(0);
    place.run(&["restore", "latest", "--target", "back"]).code(0);
    let seen = fs::read_to_string(place.path("back/seen")).unwrap();
    assert!(!seen.contains(PASSWORD), "{seen}");
    let core = seen.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().collect::<Vec<_>>()[4..6], ["0", "0"], "{core}");
}
