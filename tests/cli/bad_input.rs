//! Repositories that are not there, not ours, damaged, foreign or read-only.

use super::{Ended, PASSWORD, Place, bare, files_below};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

#[test]
fn what_is_no_repository_ends_in_10() {
    let place = Place::empty();
    fs::create_dir(place.path("folder")).unwrap();
    place.write("folder/config/README", "not ours");
    place.write("folder/holiday.jpg", "not ours");
    for repo in ["missing", "folder"] {
        for verb in [&["snapshots"][..], &["ls", "latest"], &["stats"], &["restore", "latest", "-t", "x"]] {
            let ended = place.run(&[&["-r", repo], verb].concat()).code(10);
            assert!(ended.err().contains(repo));
        }
    }
}

#[test]
fn a_wrong_password_ends_in_12_everywhere() {
    let place = Place::with_snapshot();
    for verb in [&["snapshots"][..], &["ls", "latest"], &["backup", "source"], &["restore", "latest", "-t", "x"]] {
        let mut command = place.command(verb);
        Ended(command.env("NIGHTJAR_PASSWORD", "wrong").output().unwrap()).code(12);
    }
}

/// Writes other bytes into an object, with a name that fits them if `rename` is set.
fn replace(object: &Path, rename: bool, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(object).unwrap();
    change(&mut bytes);
    fs::remove_file(object).unwrap();
    let name = blake3::hash(&bytes).to_hex().to_string();
    let path = if rename { object.with_file_name(name) } else { object.to_path_buf() };
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_newer_format_ends_in_14() {
    for folder in ["config", "snapshots", "index"] {
        let place = Place::with_snapshot();
        replace(&place.objects(folder)[0], true, |bytes| bytes[7] = 2);
        let ended = place.run(&["ls", "latest"]).code(14);
        assert!(ended.err().contains("newer"), "{}", ended.err());
    }
}

/// Copies a repository, so that each damage meets a whole one.
fn copy(from: &Path, to: &Path) {
    for file in files_below(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }
}

type Damage = (&'static str, fn(&mut Vec<u8>));

const DAMAGES: &[Damage] = &[
    // Behind the header, where every class has something that counts.
    ("flipped", |bytes| bytes[140] ^= 1),
    ("truncated", |bytes| bytes.truncate(150)),
    ("emptied", Vec::clear),
];

#[test]
fn damage_of_every_class_is_named_and_never_passes_for_good() {
    let place = Place::with_snapshot();
    for folder in ["config", "keys", "snapshots", "index", "packs"] {
        for (name, damage) in DAMAGES {
            let copied = place.path(&format!("{folder}-{name}"));
            copy(&place.repo(), &copied);
            for object in files_below(&copied.join(folder)) {
                replace(&object, false, damage);
            }
            let target = format!("{folder}-{name}-back");
            let repo = copied.to_str().unwrap();
            let ended = place.run(&["-r", repo, "restore", "latest", "-t", &target]);
            let code = ended.0.status.code().unwrap();
            assert_eq!(code, 4, "{folder} {name}: {}", ended.err());
            assert!(
                ended.err().contains("damaged")
                    || ended.err().contains("missing")
                    || ended.err().contains("not in the index"),
                "{}",
                ended.err()
            );
            let left = if place.path(&target).exists() { files_below(&place.path(&target)) } else { Vec::new() };
            for file in left {
                let name = file.file_name().unwrap();
                let original = files_below(&place.path("source")).into_iter().find(|f| f.file_name() == Some(name));
                assert_eq!(fs::read(&file).unwrap(), fs::read(original.unwrap()).unwrap(), "{folder} {name:?}");
            }
        }
    }
}

#[test]
fn a_damaged_snapshot_does_not_hide_the_others() {
    let place = Place::with_snapshot();
    place.write("source/more", "more");
    place.run(&["backup", "source"]).code(0);
    replace(&place.objects("snapshots")[0], false, |bytes| bytes[200] ^= 1);
    place.run(&["restore", "latest", "-t", "x"]).code(4);
    assert!(place.path("x").exists());
    let ended = place.run(&["snapshots"]).code(4);
    assert_eq!(ended.out().lines().count(), 2);
    assert!(ended.err().contains("snapshots/") && ended.err().contains("damaged"), "{}", ended.err());
    let records = place.run(&["--json", "snapshots"]).code(4).json();
    assert_eq!(super::of_type(&records, "warning").len(), 1);
}

#[test]
fn swapped_objects_are_noticed() {
    let place = Place::with_snapshot();
    place.write("source/sub/b.txt", "gamma\n".repeat(10_000));
    place.run(&["backup", "source"]).code(0);
    let packs = place.objects("packs");
    let (one, other) = (fs::read(&packs[0]).unwrap(), fs::read(&packs[1]).unwrap());
    fs::write(&packs[0], other).unwrap();
    fs::write(&packs[1], one).unwrap();
    let ended = place.run(&["restore", "latest~1", "-t", "x"]);
    let other = place.run(&["restore", "latest", "-t", "y"]);
    let codes = [ended.0.status.code().unwrap(), other.0.status.code().unwrap()];
    assert!(codes.contains(&4) && codes.iter().all(|code| [0, 4].contains(code)), "{codes:?}");
    let snapshots = place.objects("snapshots");
    fs::copy(&snapshots[0], &snapshots[1]).unwrap();
    place.run(&["snapshots"]).code(4);
}

#[test]
fn a_missing_pack_is_named_by_stats_and_ls() {
    let place = Place::with_snapshot();
    for pack in place.objects("packs") {
        fs::remove_file(pack).unwrap();
    }
    assert!(place.run(&["stats"]).code(4).err().contains("packs/"));
    let ended = place.run(&["ls", "latest"]).code(4);
    assert!(ended.err().contains("cannot be listed whole"), "{}", ended.err());
}

#[test]
fn foreign_files_in_the_repository_are_passed_over() {
    let place = Place::with_snapshot();
    for folder in ["config", "keys", "snapshots", "index", "packs", "packs/00", "leases"] {
        for name in [".DS_Store", "@eaDir", "x.tmp", "0123", "line\nbreak"] {
            place.write(&format!("repo/{folder}/{name}"), "foreign");
        }
    }
    place.write("repo/holiday.jpg", "foreign");
    place.run(&["snapshots"]).code(0);
    place.run(&["stats"]).code(0);
    place.run(&["backup", "source"]).code(0);
    place.run(&["restore", "latest", "-t", "x"]).code(0);
    assert!(place.repo().join("holiday.jpg").exists());
}

/// A mount that is taken away when this is dropped.
struct Mounted<'p>(&'p Path);

fn mount(words: &[&str], folder: &Path) -> bool {
    let ended = std::process::Command::new("mount").args(words).arg(folder).output();
    ended.is_ok_and(|output| output.status.success())
}

impl<'p> Mounted<'p> {
    /// Mounts a folder over itself, read-only.
    fn read_only(folder: &'p Path) -> Option<Self> {
        let mounted = mount(&["--bind", folder.to_str()?], folder).then_some(Self(folder))?;
        mount(&["-o", "remount,bind,ro"], folder).then_some(mounted)
    }

    /// Mounts a small empty file system.
    fn small(folder: &'p Path) -> Option<Self> {
        mount(&["-t", "tmpfs", "-o", "size=6m", "tmpfs"], folder).then_some(Self(folder))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_ends_in_15_and_older_snapshots_stay_usable() {
    let place = Place::empty();
    fs::create_dir(place.repo()).unwrap();
    let repo = place.repo();
    let Some(mounted) = Mounted::small(&repo) else {
        println!("skipped: mounting is not allowed here");
        return;
    };
    place.write("source/a", "alpha\n");
    place.run(&["init", "--pack-size", "1M"]).code(0);
    place.run(&["backup", "source"]).code(0);
    let mut noise = vec![0; 16 << 20];
    blake3::Hasher::new().finalize_xof().fill(&mut noise);
    place.write("source/noise", &noise);
    let ended = place.run(&["backup", "source"]).code(15);
    assert!(ended.err().contains("make space"), "{}", ended.err());
    assert!(place.objects("tmp").is_empty());
    assert_eq!(place.objects("snapshots").len(), 1);
    place.run(&["restore", "latest", "-t", "back"]).code(0);
    drop(mounted);
}

#[test]
fn a_read_only_repository_can_be_read() {
    let place = Place::with_snapshot();
    let repo = place.repo();
    let is_root = rustix::process::geteuid().is_root();
    let mounted = if is_root { Mounted::read_only(&repo) } else { None };
    if is_root && mounted.is_none() {
        println!("skipped: a read-only mount is not allowed here");
        return;
    }
    if !is_root {
        for folder in ["", "leases", "packs", "index", "snapshots"] {
            fs::set_permissions(repo.join(folder), Permissions::from_mode(0o500)).unwrap();
        }
    }
    for verb in [&["snapshots"][..], &["ls", "latest"], &["stats"], &["restore", "latest", "-t", "x"]] {
        place.run(verb).code(0);
    }
    place.run(&["backup", "source", "--dry-run"]).code(0);
    let refused = place.run(&["backup", "source"]).code(13);
    assert!(refused.err().contains("read-only"), "{}", refused.err());
    drop(mounted);
    for folder in ["", "leases", "packs", "index", "snapshots"] {
        fs::set_permissions(repo.join(folder), Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn no_file_is_opened_as_root_of_another_kind() {
    let place = Place::empty();
    place.write("file", "x");
    let mut command = bare();
    let ended = Ended(
        command
            .args(["-r", "file", "snapshots"])
            .current_dir(place.path(""))
            .env("NIGHTJAR_PASSWORD", PASSWORD)
            .output()
            .unwrap(),
    );
    assert!([10, 13].contains(&ended.0.status.code().unwrap()), "{}", ended.err());
}

#[test]
fn a_lost_pack_is_told_and_the_next_backup_stores_it_again() {
    let place = Place::with_snapshot();
    for pack in place.objects("packs") {
        fs::remove_file(pack).unwrap();
    }
    let ended = place.run(&["backup", "source"]).code(4);
    assert!(ended.err().contains("is missing"), "{}", ended.err());
    assert!(ended.out().contains("snapshot "), "it is made all the same");
    place.run(&["restore", "latest", "--target", "back"]).code(0);
}

#[test]
fn a_vanished_folder_of_the_repository_is_no_empty_one() {
    for (folder, verb) in
        [("snapshots", &["snapshots"][..]), ("index", &["ls", "latest"]), ("packs", &["backup", "source"])]
    {
        let place = Place::with_snapshot();
        fs::remove_dir_all(place.repo().join(folder)).unwrap();
        let ended = place.run(verb).code(4);
        assert!(ended.err().contains(folder), "{}", ended.err());
    }
}

#[test]
fn a_mark_of_a_later_version_stops_writers_and_no_readers() {
    let place = Place::with_snapshot();
    let mut mark = fs::read(&place.objects("config")[0]).unwrap();
    mark[7] += 1;
    fs::write(place.repo().join("marks").join(blake3::hash(&mark).to_hex().as_str()), mark).unwrap();
    place.run(&["backup", "source"]).code(14);
    place.run(&["restore", "latest", "--target", "back"]).code(0);
}

#[test]
fn a_damaged_mark_makes_a_backup_build_on_nothing_that_it_could_have_named() {
    let place = Place::with_snapshot();
    let packs = place.objects("packs").len();
    fs::write(place.repo().join("marks").join("0f".repeat(32)), "no mark").unwrap();
    let ended = place.run(&["backup", "source"]).code(4);
    assert!(ended.err().contains("`marks/0f0f"), "{}", ended.err());
    assert!(place.objects("packs").len() > packs, "everything is stored again");
    place.run(&["restore", "latest", "--target", "back"]).code(0);
}

#[test]
fn a_repository_that_lost_its_config_is_no_place_for_a_new_one() {
    let place = Place::with_snapshot();
    fs::remove_file(place.objects("config").remove(0)).unwrap();
    for verb in [&["snapshots"][..], &["init"], &["backup", "source"], &["backup", "--init", "source"]] {
        let ended = place.run(verb).code(4);
        assert!(ended.err().contains("`config`"), "{}", ended.err());
    }
    assert!(place.objects("config").is_empty());
}

#[test]
fn an_empty_path_is_a_mistake() {
    let place = Place::with_snapshot();
    place.run(&["backup", ""]).code(2);
    place.run(&["backup", "source", ""]).code(2);
}
