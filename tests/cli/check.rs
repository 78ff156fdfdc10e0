//! The verbs `check`, `scrub` and `repair`.

use super::{Ended, Place, copy_folder as copy, of_type};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn summary(ended: Ended) -> Value {
    of_type(&ended.json(), "summary")[0].clone()
}

/// A repository with two snapshots of files that do not compress.
fn place() -> Place {
    let place = Place::new();
    for (name, seed) in [("source/sub/large", 1_u8), ("source/small", 2)] {
        let mut noise = vec![0; if seed == 1 { 3_000_000 } else { 300_000 }];
        blake3::Hasher::new().update(&[seed]).finalize_xof().fill(&mut noise);
        place.write(name, noise);
    }
    place.run(&["backup", "source"]).code(0);
    place.write("source/more", "more\n".repeat(1_000));
    place.run(&["backup", "source"]).code(0);
    place
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    set_writable(path);
    fs::write(path, bytes).unwrap();
}

fn set_writable(path: &Path) {
    let mut permissions = fs::metadata(path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
    fs::set_permissions(path, permissions).unwrap();
}

/// The largest pack: the one with the data.
fn data_pack(place: &Place) -> PathBuf {
    place.objects("packs").into_iter().max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap()
}

fn object_of(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    format!("packs/{}/{name}", &name[..2])
}

fn restores_whole(place: &Place, snapshot: &str, files: &[&str]) {
    place.run(&["restore", snapshot, "-t", "back"]).code(0);
    let back = place.path("back").join(place.source_in_snapshot().trim_start_matches('/'));
    for file in files {
        assert!(fs::read(back.join(file)).unwrap() == fs::read(place.path("source").join(file)).unwrap(), "{file}");
    }
    fs::remove_dir_all(place.path("back")).unwrap();
}

#[test]
fn a_whole_repository_passes_and_a_scrub_needs_no_password() {
    let place = place();
    let found = summary(place.run(&["--json", "check"]).code(0));
    assert_eq!((&found["snapshots"], &found["packs_read"], &found["damaged"]), (&2.into(), &0.into(), &0.into()));
    let found = summary(place.run(&["--json", "check", "--read-data"]).code(0));
    assert_eq!(found["packs_read"], found["packs"]);
    assert_eq!(found["bytes_read"], found["pack_bytes"]);
    assert!(place.run(&["check", "--read-data"]).code(0).out().contains("result      no damage"));
    let mut scrub = place.command(&["--json", "scrub"]);
    let scrubbed = Ended(scrub.env_remove("NIGHTJAR_PASSWORD").output().unwrap()).code(0);
    let found = summary(scrubbed);
    assert_eq!(found["objects"], found["objects_read"]);
    assert_eq!(found["repositories"].as_array().unwrap().len(), 1);
    assert!(place.run(&["repair", "--read-data", "--apply"]).code(0).out().contains("nothing to repair"));
}

#[test]
fn damage_in_a_pack_is_named_down_to_files_repaired_and_healed_by_the_next_backup() {
    let place = place();
    let pack = data_pack(&place);
    flip(&pack, 1_000);
    // From outside only reading shows it.
    place.run(&["check"]).code(0);
    let scrubbed = place.run(&["scrub"]).code(4);
    assert!(scrubbed.out().contains(&object_of(&pack)), "{}", scrubbed.out());
    let checked = place.run(&["--json", "check", "--read-data"]).code(4);
    let records = checked.json();
    assert_eq!(of_type(&records, "damaged")[0]["object"], object_of(&pack));
    let lost = of_type(&records, "lost");
    assert!(!lost.is_empty());
    for entry in &lost {
        assert!(entry["path"].as_str().unwrap().starts_with(&place.source_in_snapshot()), "{entry}");
        assert_eq!(entry["snapshot_id"].as_str().unwrap().len(), 64);
    }
    let before: Vec<_> = place.objects("").iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    let planned = place.run(&["repair", "--read-data"]).code(4);
    assert!(planned.out().contains("would be") && planned.out().contains("`--apply` does it"), "{}", planned.out());
    let after: Vec<_> = place.objects("").iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    assert!(before == after, "looking changes nothing");
    let done = place.run(&["repair", "--read-data", "--apply"]).code(4);
    assert!(done.out().contains("everything that could be done is done"), "{}", done.out());
    assert!(!pack.exists());
    assert_eq!(place.objects("aside").len(), 1);
    // What is lost is written down, so it does not cry every night.
    let known = place.run(&["check", "--read-data"]).code(0);
    assert!(known.out().contains("which a repair has written down"), "{}", known.out());
    place.run(&["scrub"]).code(0);
    assert!(place.run(&["snapshots"]).code(0).out().contains("partial"));
    place.run(&["prune"]).code(0);
    place.run(&["restore", "latest", "-t", "back"]).code(4);
    fs::remove_dir_all(place.path("back")).unwrap();
    // The source still has it.
    place.run(&["backup", "source"]).code(0);
    for snapshot in ["latest", "latest~1", "latest~2"] {
        restores_whole(&place, snapshot, &["sub/large", "small"]);
    }
    let healed = summary(place.run(&["--json", "check", "--read-data"]).code(0));
    assert_eq!(healed["lost_known"], 0);
    place.run(&["prune", "--grace", "0"]).code(0);
    place.run(&["check", "--read-data"]).code(0);
}

#[test]
fn another_copy_gives_back_what_is_damaged_and_missing() {
    let place = place();
    copy(&place.repo(), &place.path("copy"));
    let pack = data_pack(&place);
    let name = object_of(&pack);
    flip(&pack, 1_000);
    for path in place.objects("packs").into_iter().filter(|path| *path != pack).chain(place.objects("index")) {
        fs::remove_file(path).unwrap();
    }
    let snapshot = place.objects("snapshots").pop().unwrap();
    fs::remove_file(&snapshot).unwrap();
    place.run(&["check"]).code(4);
    let planned = summary(place.run(&["--json", "repair", "--from", "copy"]).code(4));
    assert!(planned["fetched"].as_array().unwrap().len() >= 3, "{planned}");
    let done = place.run(&["repair", "--from", "copy", "--read-data", "--apply"]).code(0);
    assert!(done.out().contains("all is well again"), "{}", done.out());
    assert!(place.repo().join(name).exists() && snapshot.exists());
    place.run(&["check", "--read-data"]).code(0);
    restores_whole(&place, "latest", &["sub/large", "small", "more"]);
    // Another repository is no copy, and a copy is not the same folder.
    place.run(&["--repo", "other", "init", "--no-recovery-key"]).code(0);
    place.run(&["repair", "--from", "other"]).code(1);
    place.run(&["repair", "--from", "nowhere"]).code(1);
    place.run(&["repair", "--from", "repo"]).code(2);
}

#[test]
fn a_repository_that_has_lost_its_config_and_its_keys_gets_them_back_from_another_copy() {
    let place = place();
    copy(&place.repo(), &place.path("copy"));
    let lose = |folder: &str| {
        for path in place.objects(folder) {
            fs::remove_file(path).unwrap();
        }
    };
    for folders in [&["config"][..], &["keys"], &["config", "keys", "index"]] {
        for folder in folders {
            lose(folder);
        }
        let planned = place.run(&["repair", "--from", "copy"]).code(4);
        assert!(planned.out().contains("would be fetched"), "{}", planned.out());
        let done = place.run(&["repair", "--from", "copy", "--apply"]).code(0);
        assert!(done.out().contains("fetched     `"), "{}", done.out());
        place.run(&["check", "--read-data"]).code(0);
    }
    // Nothing of another repository comes in, and a wrong password stays wrong.
    place.run(&["--repo", "other", "init", "--no-recovery-key"]).code(0);
    lose("config");
    place.run(&["repair", "--from", "other", "--apply"]).code(1);
    assert!(place.objects("config").is_empty());
    place.run(&["repair", "--from", "copy", "--apply"]).code(0);
    let mut wrong = place.command(&["repair", "--from", "copy", "--apply"]);
    Ended(wrong.env("NIGHTJAR_PASSWORD", "wrong").output().unwrap()).code(12);
}

#[test]
fn without_any_index_the_packs_say_what_they_hold() {
    let place = place();
    for path in place.objects("index") {
        fs::remove_file(path).unwrap();
    }
    assert!(place.run(&["check"]).code(4).out().contains("is not in the index"));
    let done = summary(place.run(&["--json", "repair", "--apply"]).code(0));
    assert!(done["indexed"].as_array().unwrap().len() >= 2, "{done}");
    place.run(&["check", "--read-data"]).code(0);
    restores_whole(&place, "latest", &["sub/large", "small", "more"]);
}

#[test]
fn what_was_read_lately_is_not_read_again() {
    let place = place();
    let read = |words: &[&str]| {
        let ended = place.run(words).code(0);
        summary(ended)["bytes_read"].as_u64().unwrap()
    };
    assert!(read(&["--json", "check", "--every", "30d"]) > 3_000_000);
    assert_eq!(read(&["--json", "check", "--every", "30d"]), 0);
    assert!(read(&["--json", "check", "--read-data"]) > 3_000_000);
    // A scrub looks less deep, so the one does not count for the other.
    assert!(read(&["--json", "scrub", "--every", "30d"]) > 3_000_000);
    assert!(read(&["--json", "scrub", "--every", "30d"]) < 1_200_000, "only what is no pack, the reserve among it");
    // What is new, or damaged, is read all the same.
    let mut noise = vec![0; 500_000];
    blake3::Hasher::new().update(b"new").finalize_xof().fill(&mut noise);
    place.write("source/new", noise);
    place.run(&["backup", "source"]).code(0);
    assert!((400_000..1_000_000).contains(&read(&["--json", "check", "--every", "30d"])));
    let parts: u64 = (1..=3).map(|n| read(&["--json", "check", "--read-data-subset", &format!("{n}/3")])).sum();
    assert_eq!(parts, read(&["--json", "check", "--read-data"]));
    assert!(read(&["--json", "check", "--read-data-subset", "1%"]) > 0);
    // What is remembered is worth nothing when it is damaged, and nothing fails over it.
    for entry in fs::read_dir(place.path("state/verified")).unwrap() {
        fs::write(entry.unwrap().path(), "nonsense").unwrap();
    }
    let again = place.run(&["--json", "check", "--every", "30d"]).code(0);
    let again = again.json();
    assert!(of_type(&again, "summary")[0]["bytes_read"].as_u64().unwrap() > 3_000_000);
    assert_eq!(of_type(&again, "warning").len(), 1);
    fs::remove_dir_all(place.path("state")).unwrap();
    place.write("state", "a file where the folder should be");
    assert!(place.run(&["check", "--every", "30d"]).code(0).err().contains("not remembered"));
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let place = place();
    for words in [
        &["check", "--read-data-subset", "0%"][..],
        &["check", "--read-data-subset", "101%"],
        &["check", "--read-data-subset", "4/3"],
        &["check", "--read-data-subset", "x"],
        &["check", "--read-data", "--read-data-subset", "5%"],
        &["check", "--every", "0d"],
        &["check", "--every", "monthly"],
        &["scrub", "--subset", "-1"],
        &["repair", "--from", ""],
        &["repair", "--wait", "soon"],
    ] {
        place.run(words).code(2);
    }
    for verb in ["check", "scrub", "repair"] {
        place.run(&["--repo", "nowhere", verb]).code(10);
    }
    // A folder that is no repository but for its shape.
    fs::create_dir_all(place.path("shape/config")).unwrap();
    place.run(&["--repo", "shape", "scrub"]).code(10);
}
