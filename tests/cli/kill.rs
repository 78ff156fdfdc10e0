//! `kill -9` at any moment: what was acknowledged is there, and the next run ends well.

use super::Place;
use std::fs;
use std::process::Stdio;

/// Files of the source, all new in every round.
const FILES: u32 = 10;

/// Bytes that do not compress, different for each seed.
fn noise(seed: u32, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// A number that differs from round to round, spread over `below`.
fn spread(round: u32, below: u64) -> u64 {
    let hash = blake3::hash(&round.to_le_bytes());
    u64::from_le_bytes(*hash.as_bytes().first_chunk().unwrap()) % below
}

#[test]
fn fifty_backups_killed_at_any_moment_lose_nothing() {
    let place = Place::empty();
    place.run(&["init", "--no-recovery-key", "--pack-size", "1M"]).code(0);
    let (mut killed, mut rounds) = (0, 0);
    while killed < 50 {
        rounds += 1;
        assert!(rounds < 300, "only {killed} of {rounds} runs were killed in their midst");
        for n in 0..FILES {
            place.write(&format!("source/{n}"), noise(rounds * FILES + n, 300_000));
        }
        let before = objects(&place);
        let mut child =
            place.process(&["backup", "source"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Until so many files were added to the repository that the run is in its midst, and then a moment.
        let wanted = before + usize::try_from(spread(rounds, 8)).unwrap();
        while child.try_wait().unwrap().is_none() && objects(&place) < wanted {
            std::thread::yield_now();
        }
        for _ in 0..spread(rounds + 1_000, 300_000) {
            std::hint::spin_loop();
        }
        killed += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    place.run(&["backup", "source"]).code(0);
    assert_eq!(fs::read_dir(place.repo().join("tmp")).unwrap().count(), 0, "what the dead left is cleared");
    let snapshots = place.run(&["--json", "snapshots"]).code(0).json();
    // Every snapshot that is listed is whole.
    for (n, snapshot) in snapshots.iter().enumerate() {
        let id = snapshot["id"].as_str().unwrap();
        place.run(&["restore", id, "--target", &format!("back{n}")]).code(0);
    }
    let newest = place.path(&format!("back{}", snapshots.len() - 1));
    let restored = newest.join(place.source_in_snapshot().trim_start_matches('/'));
    for n in 0..FILES {
        let name = n.to_string();
        assert!(fs::read(restored.join(&name)).unwrap() == fs::read(place.path("source").join(&name)).unwrap());
    }
}

/// The number of files in the repository while somebody else works on it.
fn objects(place: &Place) -> usize {
    let count = |folder: std::path::PathBuf| fs::read_dir(folder).map_or(0, Iterator::count);
    let packs = fs::read_dir(place.repo().join("packs")).unwrap();
    packs.map(|folder| count(folder.unwrap().path())).sum::<usize>()
        + ["config", "keys", "index", "snapshots", "leases", "tmp"]
            .map(|name| count(place.repo().join(name)))
            .iter()
            .sum::<usize>()
}
