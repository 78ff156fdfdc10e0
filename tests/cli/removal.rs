//! The verbs `forget` and `prune`.

use super::{Ended, Place, of_type};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

fn summary(ended: Ended) -> Value {
    let records = ended.json();
    of_type(&records, "summary")[0].clone()
}

/// A repository with `number` snapshots, each with a file of its own and one that all have.
fn place(number: u8) -> Place {
    let place = Place::new();
    place.write("source/common", "what all have in common\n".repeat(20_000));
    for n in 0..number {
        let mut noise = vec![0; 200_000];
        blake3::Hasher::new().update(&[n]).finalize_xof().fill(&mut noise);
        place.write("source/own", noise);
        place.run(&["backup", "source", "--tag", &format!("run{n}")]).code(0);
    }
    place
}

fn ids(place: &Place) -> Vec<String> {
    let records = place.run(&["--json", "snapshots"]).code(0).json();
    of_type(&records, "snapshot").iter().map(|snapshot| snapshot["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn rules_say_what_is_kept_and_why_and_a_dry_run_changes_nothing() {
    let place = place(4);
    let all = ids(&place);
    let dry = place.run(&["forget", "-n", "--keep-last", "2"]).code(0);
    assert!(dry.out().contains("2 snapshots would be forgotten"), "{}", dry.out());
    assert_eq!(ids(&place), all);
    let records = place.run(&["--json", "forget", "--keep-last", "1", "--keep-tag", "run1"]).code(0).json();
    let verdicts: Vec<_> =
        of_type(&records, "snapshot").iter().map(|s| (s["keep"].clone(), s["reasons"].clone())).collect();
    let expected = [(false, vec![]), (true, vec!["tags run1"]), (false, vec![]), (true, vec!["last"])];
    assert_eq!(verdicts, expected.map(|(keep, reasons)| (keep.into(), reasons.into())));
    assert_eq!(of_type(&records, "summary")[0]["forgotten"], 2);
    assert_eq!(ids(&place), [all[1].clone(), all[3].clone()]);
    // Days of another zone, and a group of one that no rule keeps.
    let kept = place.run(&["forget", "--keep-tag", "nobody", "--time-zone", "UTC"]).code(0);
    assert!(kept.out().contains("only one left"), "{}", kept.out());
    place.run(&["forget", "--keep-tag", "nobody", "--allow-empty"]).code(0);
    assert!(ids(&place).is_empty());
}

#[test]
fn what_was_forgotten_comes_back_until_it_is_swept() {
    let place = place(2);
    let all = ids(&place);
    place.run(&["forget", &all[0][..8]]).code(0);
    let listed = place.run(&["--json", "forget", "--list"]).code(0).json();
    assert_eq!(of_type(&listed, "snapshot")[0]["id"].as_str().unwrap(), all[0]);
    let back = place.run(&["forget", "--undo", &all[0][..8]]).code(0);
    assert!(back.out().contains(&format!("snapshot {} is back as ", &all[0][..8])), "{}", back.out());
    assert_eq!(ids(&place).len(), 2);
    let again = ids(&place)[0].clone();
    place.run(&["forget", &again[..8]]).code(0);
    let words = ["--json", "prune", "--grace", "0", "--max-unused", "0%", "--max-repack", "100%"];
    let pruned = summary(place.run(&words).code(0));
    assert_eq!(pruned["snapshots_swept"], 1);
    assert!(pruned["bytes_swept"].as_u64().unwrap() > 190_000, "{pruned}");
    place.run(&["forget", "--undo", &again[..8]]).code(1);
    assert_eq!(ids(&place), [all[1].clone()]);
    place.run(&["restore", "latest", "-t", "back"]).code(0);
}

#[test]
fn a_prune_marks_and_a_later_one_sweeps() {
    let place = place(3);
    let all = ids(&place);
    place.run(&["forget", &all[0], &all[1]]).code(0);
    let dry = summary(place.run(&["--json", "prune", "--dry-run"]).code(0));
    assert!(dry["plan"]["bytes_dead"].as_u64().unwrap() > 190_000, "{dry}");
    assert_eq!((place.objects("marks").len(), dry["packs_marked"].as_u64().unwrap()), (0, 0));
    let packs = place.objects("packs").len();
    let marked = summary(place.run(&["--json", "prune"]).code(0));
    assert!(marked["packs_marked"].as_u64().unwrap() >= 1, "{marked}");
    let waits = summary(place.run(&["--json", "prune"]).code(0));
    assert!(waits["waiting"][0].as_str().unwrap().contains("the grace of"), "{waits}");
    assert!(place.objects("packs").len() >= packs);
    // A backup with the mark standing builds on nothing that is marked, and everybody still reads everything.
    place.run(&["backup", "source", "--force"]).code(0);
    let swept = summary(place.run(&["--json", "prune", "--grace", "1s", "--wait", "0"]).code(0));
    // The second clock of the file system may be a little behind: then it waits once more.
    let swept = if swept["packs_swept"] == 0 {
        summary(place.run(&["--json", "prune", "--grace", "0"]).code(0))
    } else {
        swept
    };
    assert!(swept["packs_swept"].as_u64().unwrap() >= 1, "{swept}");
    for id in ids(&place) {
        place.run(&["restore", &id, "-t", "back"]).code(0);
        let back = place.path("back").join(place.source_in_snapshot().trim_start_matches('/')).join("own");
        assert!(fs::read(back).unwrap() == fs::read(place.path("source/own")).unwrap());
        fs::remove_dir_all(place.path("back")).unwrap();
    }
    let stats = summary(place.run(&["--json", "stats"]).code(0));
    assert_eq!(stats["packs_missing"].as_array().unwrap().len(), 0);
}

#[test]
fn what_cannot_be_is_said_and_nothing_happens() {
    let place = place(2);
    let all = ids(&place);
    for words in [
        &["forget"][..],
        &["forget", "--keep-last", "0"],
        &["forget", "--keep-daily", "-1"],
        &["forget", "--keep-daily", "many"],
        &["forget", "--keep-within", "0d"],
        &["forget", "--keep-within", "-3d"],
        &["forget", "--keep-within", "3w"],
        &["forget", "--keep-last", "1", "latest"],
        &["forget", "--keep-last", "1", "--time-zone", "Mars/Olympus"],
        &["forget", "--keep-last", "1", "--keep-fortnightly", "3"],
        &["forget", "latest:/a"],
        &["forget", "--undo"],
        &["forget", "--undo", "latest"],
        &["prune", "--max-unused", "5"],
        &["prune", "--max-unused", "101%"],
        &["prune", "--max-repack", "-1%"],
        &["prune", "--grace", "soon"],
    ] {
        place.run(words).code(2);
    }
    place.run(&["forget", "ffffffff"]).code(1);
    place.run(&["forget", "--undo", "ffffffff"]).code(1);
    assert_eq!(ids(&place), all);
    // A snapshot that cannot be read may be one that a rule would keep, or need something.
    let damaged = place.objects("snapshots").remove(0);
    let mut bytes = fs::read(&damaged).unwrap();
    bytes[200] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    for words in [&["forget", "--keep-last", "1"][..], &["prune"], &["prune", "--grace", "0"]] {
        let packs = place.objects("packs");
        place.run(words).code(4);
        assert_eq!((place.objects("snapshots").len(), place.objects("packs")), (2, packs), "{words:?}");
    }
}

#[test]
fn without_a_grace_nobody_else_may_be_at_work() {
    let place = place(1);
    let words = ["backup", "--stdin-from-command", "--", "sleep", "60"];
    let mut backup = place.process(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while place.objects("leases").is_empty() {
        assert_eq!(backup.try_wait().unwrap(), None);
        std::thread::yield_now();
    }
    let ended = place.run(&["prune", "--grace", "0"]).code(11);
    assert!(ended.err().contains("`backup` on"), "{}", ended.err());
    // With one, the backup is only noted.
    assert_eq!(summary(place.run(&["--json", "prune"]).code(0))["plan"]["packs_left_over"], 0);
    backup.kill().unwrap();
    backup.wait().unwrap();
    // Its process is known to be gone.
    place.run(&["prune", "--grace", "0"]).code(0);
}

#[test]
fn prunes_killed_at_any_moment_beside_a_backup_lose_nothing() {
    let place = place(3);
    let mut random = 1_u64;
    for round in 0..50 {
        let mut noise = vec![0; 150_000];
        blake3::Hasher::new().update(&[100 + round]).finalize_xof().fill(&mut noise);
        place.write("source/own", noise);
        let oldest = ids(&place)[0].clone();
        place.run(&["forget", &oldest]).code(0);
        let mut backup = place.process(&["-q", "backup", "source"]).stdout(Stdio::null()).spawn().unwrap();
        let grace = if round % 2 == 0 { "1s" } else { "24h" };
        let words = ["-q", "prune", "--grace", grace, "--max-unused", "0%", "--max-repack", "100%"];
        let mut prune = place.process(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Between nothing and a little more than a prune takes here.
        std::thread::sleep(std::time::Duration::from_millis(random >> 57));
        let _ = prune.kill();
        prune.wait().unwrap();
        assert!(backup.wait().unwrap().success(), "round {round}");
        place.run(&["-q", "ls", "latest"]).code(0);
    }
    place.run(&["prune", "--grace", "0", "--max-unused", "0%", "--max-repack", "100%"]).code(0);
    for id in ids(&place) {
        place.run(&["-q", "restore", &id, "-t", "back"]).code(0);
        fs::remove_dir_all(place.path("back")).unwrap();
    }
    place.run(&["restore", "latest", "-t", "back"]).code(0);
    let back = place.path("back").join(place.source_in_snapshot().trim_start_matches('/')).join("own");
    assert!(fs::read(back).unwrap() == fs::read(place.path("source/own")).unwrap());
    assert!(place.objects("forgotten").is_empty() && place.objects("census").is_empty());
}
