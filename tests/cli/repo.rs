//! `repo show` and `repo set`

use super::{Ended, Place};
use serde_json::Value;
use std::fs;

fn show(place: &Place) -> Value {
    place.run(&["--json", "repo", "show"]).code(0).json().remove(0)
}

#[test]
fn what_is_set_is_shown_and_used_and_nothing_else_changes() {
    let place = Place::with_snapshot();
    let before = show(&place);
    assert_eq!(
        (&before["generation"], &before["compression"], &before["key_slots"]),
        (&0.into(), &"zstd:3".into(), &1.into())
    );
    let words =
        ["--compression", "off", "repo", "set", "--block-size", "512K", "--pack-size", "1M", "--tree-pack-size", "2M"];
    let human = place.run(&words).code(0).out();
    for line in ["compression: zstd:3 -> off", "block size: 2.00 MiB -> 512 KiB", "pack size: 32.0 MiB -> 1.00 MiB"] {
        assert!(human.contains(line), "{human}");
    }
    let after = show(&place);
    assert_eq!((&after["generation"], &after["compression"]), (&1.into(), &"off".into()));
    assert_eq!((&after["block_size"], &after["pack_size"]), (&(512 << 10).into(), &(1 << 20).into()));
    assert_eq!(after["tree_pack_size"], 2 << 20);
    for same in ["repository", "created", "cipher", "chunk_min", "chunk_avg", "chunk_max", "location"] {
        assert_eq!(before[same], after[same]);
    }
    assert_eq!(place.objects("config").len(), 1, "the older one is gone");
    let text = place.run(&["repo", "show"]).code(0).out();
    assert!(text.contains("tree pack size          2.00 MiB") && text.contains("generation              1"), "{text}");
    // Three megabytes of digits, which would be half of that if they were compressed, in packs of one.
    let packs = place.objects("packs").len();
    let mut noise = vec![0; 1_600_000];
    blake3::Hasher::new().finalize_xof().fill(&mut noise);
    let digits: Vec<u8> = noise.iter().flat_map(|byte| [b'a' + byte % 16, b'a' + byte / 16]).collect();
    place.write("source/c.txt", digits);
    place.run(&["backup", "source"]).code(0);
    assert!(place.objects("packs").len() >= packs + 4, "{}", place.objects("packs").len());
    place.run(&["restore", "latest", "--target", "back"]).code(0);
    let restored = place.path("back").join(place.source_in_snapshot().trim_start_matches('/'));
    assert_eq!(fs::read(restored.join("c.txt")).unwrap(), fs::read(place.path("source/c.txt")).unwrap());
}

#[test]
fn nothing_is_set_that_was_not_asked_for_or_cannot_be() {
    let place = Place::new();
    let with_variable = |words: &[&str]| {
        let mut command = place.command(words);
        Ended(command.env("NIGHTJAR_COMPRESSION", "max").output().unwrap())
    };
    assert!(with_variable(&["repo", "set"]).code(2).err().contains("nothing to set"));
    with_variable(&["repo", "set", "--pack-size", "16M"]).code(0);
    assert_eq!(show(&place)["compression"], "zstd:3", "the variable is for a run");
    for words in [
        &["--block-size", "128K"][..],
        &["--block-size", "8M"],
        &["--pack-size", "512K"],
        &["--pack-size", "256M"],
        &["--tree-pack-size", "1K"],
        &["--pack-size", "x"],
        &["--compression", "gzip"],
        &["--chunk-size", "4K/8K/16K"],
    ] {
        place.run(&[&["repo", "set"], words].concat()).code(2);
    }
    let same = place.run(&["--json", "repo", "set", "--pack-size", "16M"]).code(0).json();
    assert_eq!(same[0]["changed"], false);
    assert!(place.run(&["repo", "set", "--pack-size", "16M"]).code(0).out().contains("nothing to change"));
    assert_eq!(show(&place)["generation"], 1);
    place.run(&["-r", "elsewhere", "repo", "show"]).code(10);
    place.run(&["repo"]).code(2);
}
