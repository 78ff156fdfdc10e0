//! `restore`

use super::{Place, of_type};
use std::fs;
use std::path::Path;

#[test]
fn a_snapshot_a_folder_and_a_file_come_back() {
    let place = Place::with_snapshot();
    let top = place.source_in_snapshot();
    let ended = place.run(&["restore", "latest", "--target", "all"]).code(0);
    assert!(ended.out().contains("files   3 with"), "{}", ended.out());
    let restored = place.path("all").join(top.trim_start_matches('/'));
    assert_eq!(
        fs::read_to_string(restored.join("sub/b.txt")).unwrap(),
        "beta\n".repeat(10_000)
    );
    assert_eq!(fs::read_link(restored.join("link")).unwrap(), Path::new("a.txt"));
    let records = place
        .run(&["--json", "restore", &format!("latest:{top}/sub"), "-t", "sub"])
        .code(0)
        .json();
    let summary = of_type(&records, "summary")[0];
    assert_eq!(
        (summary["files"].as_u64(), summary["bytes"].as_u64()),
        (Some(1), Some(50_000))
    );
    assert_eq!(fs::read_dir(place.path("sub")).unwrap().count(), 1);
    place
        .run(&["restore", &format!("latest:{top}/a.txt"), "-t", "file"])
        .code(0);
    assert_eq!(fs::read_to_string(place.path("file/a.txt")).unwrap(), "alpha\n");
}

#[test]
fn what_is_not_there_ends_in_1() {
    let place = Place::with_snapshot();
    place.write("occupied", "a file");
    place.run(&["restore", "latest:/nowhere", "--target", "x"]).code(1);
    place.run(&["restore", "latest~7", "--target", "x"]).code(1);
    place.run(&["restore", "latest", "--target", "occupied"]).code(1);
    assert!(!place.path("x").exists());
}

#[test]
fn what_is_in_the_way_is_named_and_the_rest_is_restored() {
    let place = Place::with_snapshot();
    let top = place.source_in_snapshot();
    // A folder that is not empty stands where a file must go.
    place.write("target/a.txt/inside", "x");
    let ended = place
        .run(&["restore", &format!("latest:{top}"), "--target", "target"])
        .code(3);
    assert!(ended.err().contains("a.txt"), "{}", ended.err());
    assert!(place.path("target/sub/b.txt").exists());
}
