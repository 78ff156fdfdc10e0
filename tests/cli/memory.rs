//! The memory of a run is bounded by design, whatever is saved.

use super::{Ended, Place, of_type};

const LIMIT: u64 = 400 << 20;

fn peak_of(ended: Ended) -> u64 {
    let records = ended.json();
    of_type(&records, "summary")[0]["peak_memory_bytes"].as_u64().unwrap()
}

#[test]
fn eight_gibibytes_in_one_file_stay_within_400_mib() {
    let place = Place::new();
    let words =
        ["--json", "backup", "--stdin-from-command", "--stdin-filename", "disk", "--", "head", "-c8G", "/dev/zero"];
    let peak = peak_of(place.run(&words).code(0));
    assert!(peak < LIMIT, "{} MiB", peak >> 20);
    assert!(place.run(&["ls", "-l", "latest"]).code(0).out().contains("8589934592"));
}

#[test]
fn new_data_in_many_packs_stays_within_400_mib_both_ways() {
    let place = Place::new();
    let mut noise = vec![0; 300 << 20];
    blake3::Hasher::new().finalize_xof().fill(&mut noise);
    place.write("source/noise", &noise);
    let peak = peak_of(place.run(&["--json", "backup", "source"]).code(0));
    assert!(peak < LIMIT, "backup: {} MiB", peak >> 20);
    let peak = peak_of(place.run(&["--json", "restore", "latest", "-t", "back"]).code(0));
    assert!(peak < LIMIT, "restore: {} MiB", peak >> 20);
    let back = place.path("back").join(place.source_in_snapshot().trim_start_matches('/')).join("noise");
    assert!(std::fs::read(back).unwrap() == noise);
}
