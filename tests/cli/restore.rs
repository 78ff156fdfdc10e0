//! `restore`

use super::{Place, of_type};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[test]
fn a_snapshot_a_folder_and_a_file_come_back() {
    let place = Place::with_snapshot();
    let top = place.source_in_snapshot();
    let ended = place.run(&["restore", "latest", "--target", "all"]).code(0);
    assert!(ended.out().contains("files   3 with"), "{}", ended.out());
    let restored = place.path("all").join(top.trim_start_matches('/'));
    assert_eq!(fs::read_to_string(restored.join("sub/b.txt")).unwrap(), "beta\n".repeat(10_000));
    assert_eq!(fs::read_link(restored.join("link")).unwrap(), Path::new("a.txt"));
    let records = place.run(&["--json", "restore", &format!("latest:{top}/sub"), "-t", "sub"]).code(0).json();
    let summary = of_type(&records, "summary")[0];
    assert_eq!((summary["files"].as_u64(), summary["bytes"].as_u64()), (Some(1), Some(50_000)));
    assert_eq!(fs::read_dir(place.path("sub")).unwrap().count(), 1);
    place.run(&["restore", &format!("latest:{top}/a.txt"), "-t", "file"]).code(0);
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
    let ended = place.run(&["restore", &format!("latest:{top}"), "--target", "target"]).code(3);
    assert!(ended.err().contains("a.txt"), "{}", ended.err());
    assert!(place.path("target/sub/b.txt").exists());
}

/// Flips a byte of the first block of every pack of a kind: 1 data, 2 tree.
fn damage_packs(place: &Place, kind: u8) {
    for pack in place.objects("packs") {
        let mut bytes = fs::read(&pack).unwrap();
        if bytes[9] == kind {
            bytes[140] ^= 1;
            fs::write(pack, bytes).unwrap();
        }
    }
}

#[test]
fn a_link_to_a_damaged_file_never_becomes_a_link_to_what_stood_there_before() {
    let place = Place::new();
    place.write("source/a", "good".repeat(1_000));
    fs::hard_link(place.path("source/a"), place.path("source/b")).unwrap();
    place.run(&["backup", "source"]).code(0);
    let from = format!("latest:{}", place.source_in_snapshot());
    place.run(&["restore", &from, "-t", "whole"]).code(0);
    let inode = |name: &str| fs::metadata(place.path(name)).unwrap().ino();
    assert_eq!(inode("whole/a"), inode("whole/b"));
    damage_packs(&place, 1);
    place.write("target/a", "old");
    let ended = place.run(&["restore", &from, "-t", "target"]).code(4);
    for name in ["target/a`", "target/b`"] {
        assert!(ended.err().contains(name), "{}", ended.err());
    }
    assert_eq!(fs::read_to_string(place.path("target/a")).unwrap(), "old", "it is not touched");
    assert!(!place.path("target/b").exists());
}

#[test]
fn a_damaged_piece_of_a_directory_costs_only_what_is_in_it() {
    let place = Place::empty();
    place.run(&["init", "--no-recovery-key", "--chunk-size", "4K/8K/16K", "--block-size", "64K"]).code(0);
    for n in 0..3_000 {
        place.write(&format!("source/{n:04}"), format!("{n}"));
    }
    place.run(&["backup", "source"]).code(0);
    damage_packs(&place, 2);
    let from = format!("latest:{}", place.source_in_snapshot());
    // The block that is damaged is the first that was written: the first names.
    place.run(&["restore", &from, "-t", "target"]).code(4);
    let restored = fs::read_dir(place.path("target")).unwrap().count();
    assert!((1_000..3_000).contains(&restored), "{restored}");
    assert_eq!(fs::read_to_string(place.path("target/2999")).unwrap(), "2999");
}
