//! `snapshots`, `ls` and `stats`

use super::{Ended, Place, of_type};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

#[test]
fn snapshots_are_filtered() {
    let place = Place::new();
    place.write("source/a", "a");
    place.write("other/a", "a");
    place.run(&["backup", "source", "--host", "one", "--tag", "x,y"]).code(0);
    place.run(&["backup", "source", "--host", "two", "--tag", "x", "--job", "night"]).code(0);
    place.run(&["backup", "other", "--host", "two"]).code(0);
    for (words, expected) in [
        (&[][..], 3),
        (&["--host", "one"], 1),
        (&["--host", "two"], 2),
        (&["--host", "one", "--host", "two"], 3),
        (&["--tag", "x"], 2),
        (&["--tag", "x,y"], 1),
        (&["--job", "night"], 1),
        (&["--path", "source"], 2),
        (&["--path", "source/a"], 2),
        (&["--last", "2"], 2),
        (&["--host", "two", "--last", "1"], 1),
        (&["--last", "0"], 0),
    ] {
        let records = place.run(&[&["--json", "snapshots"], words].concat()).code(0).json();
        assert_eq!(of_type(&records, "snapshot").len(), expected, "{words:?}");
    }
    let table = place.run(&["snapshots"]).code(0);
    assert_eq!(table.out().lines().count(), 4, "{}", table.out());
    assert!(table.out().contains(" +00:00 ") && table.out().contains("night"));
    assert_eq!(table.err(), "3 snapshots\n");
}

#[test]
fn a_snapshot_is_listed_with_every_name_harmless() {
    let place = Place::with_snapshot();
    let top = place.source_in_snapshot();
    let listed = place.run(&["ls", "latest"]).code(0).out();
    let odd = format!("{top}/line\\x0abreak\\x1b[31m\n");
    for line in [format!("{top}\n"), format!("{top}/sub/b.txt\n"), odd] {
        assert!(listed.contains(&line), "{listed}");
    }
    let part = place.run(&["ls", &format!("latest:{top}/sub")]).code(0).out();
    assert_eq!(part, format!("{top}/sub\n{top}/sub/b.txt\n"));
    let one = place.run(&["ls", "-l", &format!("latest~0:{top}/link")]).code(0).out();
    assert!(one.starts_with("lrwxrwxrwx ") && one.ends_with("/link -> a.txt\n"), "{one}");
    place.run(&["ls", "latest:/nowhere"]).code(1);
    place.run(&["ls", &format!("latest:{top}/a.txt/below")]).code(1);
    place.run(&["ls", "latest~1"]).code(1);
    place.run(&["ls", "0123456789"]).code(1);
}

#[test]
fn json_keeps_bytes_that_are_not_utf8() {
    let place = Place::new();
    let folder = place.path("source");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(OsStr::from_bytes(b"a\xff\nb")), "x").unwrap();
    place.run(&["backup", "source"]).code(0);
    let records = place.run(&["--json", "ls", "latest"]).code(0).json();
    let node = records.iter().find(|node| node["path_b64"].is_string()).unwrap();
    assert!(node["path"].as_str().unwrap().ends_with("/a\u{fffd}\nb"));
    assert!(node["path_b64"].as_str().unwrap().ends_with("/Cmi") || node["path_b64"].is_string());
    assert_eq!((node["kind"].as_str(), node["size"].as_u64()), (Some("file"), Some(1)));
}

#[test]
fn stats_count_what_is_there_and_what_is_left_over() {
    let place = Place::with_snapshot();
    let stats = |place: &Place| {
        let records = place.run(&["--json", "stats", "--per-snapshot"]).code(0).json();
        assert_eq!(of_type(&records, "snapshot").len(), 1);
        of_type(&records, "summary")[0].clone()
    };
    let before = stats(&place);
    assert_eq!((before["snapshots"].as_u64(), before["packs_unindexed"].as_u64()), (Some(1), Some(0)));
    assert!(before["bytes_stored"].as_u64().unwrap() > 1000);
    // A run that was cut off before its index.
    for object in place.objects("index") {
        fs::remove_file(object).unwrap();
    }
    assert!(stats(&place)["packs_unindexed"].as_u64().unwrap() >= 2);
    let shown = place.run(&["stats"]).code(0).out();
    for part in ["repository", "cipher", "chunk sizes", "not in the index"] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_trouble() {
    let place = Place::with_snapshot();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_nightjar"))
        .args(["ls", "latest"])
        .env("NIGHTJAR_REPO", place.repo())
        .env("NIGHTJAR_PASSWORD", super::PASSWORD)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = Ended(child.wait_with_output().unwrap());
    assert_eq!((ended.0.status.code(), ended.err().as_str()), (Some(1), ""));
}
