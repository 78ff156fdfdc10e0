//! Every fuzz target as a property test: valid inputs, mutations of them, and random bytes, the same on every run.
//!
//! Longer runs that look for new inputs are made by hand with cargo-fuzz; see `fuzz/README.md`.
#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

#[path = "fuzz/mutation.rs"]
mod mutation;
#[path = "fuzz/seeds.rs"]
mod seeds;
#[path = "../fuzz/targets.rs"]
pub mod targets;

use mutation::{Random, input};
use nightjar::base::hex;
use nightjar::codec::{Compression, Decompressor};
use nightjar::crypto::RecoveryKey;
use nightjar::files::{Case, Selection};
use nightjar::format::{
    Census, Config, Header, Honoured, IndexTable, Kdf, Keyring, Lease, Mark, PackTable, Snapshot, Trailer, TreeChunk,
    segment_lens,
};
use nightjar::repo::{Seen, SnapshotRef};
use nightjar::storage::{Folder, ObjectName};
use seeds::seeds;
use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use targets::{TARGETS, Target};

/// Inputs for each target.
const INPUTS: usize = 100_000;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(name)
}

fn run(name: &str, target: Target) {
    let seeds = seeds(name);
    for bytes in &seeds {
        target(bytes);
    }
    let mut random = Random::new(1);
    for _ in 0..INPUTS {
        let bytes = input(&mut random, &seeds);
        assert!(
            catch_unwind(|| target(&bytes)).is_ok(),
            "{name}: a promise is broken by the bytes {}",
            hex::encode(&bytes)
        );
    }
}

#[test]
fn no_bytes_from_outside_break_a_promise() {
    let half = |first: usize| {
        for (name, target) in TARGETS.iter().skip(first).step_by(2) {
            run(name, *target);
        }
    };
    std::thread::scope(|scope| {
        let halves = [0, 1].map(|first| scope.spawn(move || half(first)));
        for half in halves {
            half.join().expect("no promise is broken");
        }
    });
}

/// Whether the decoder of the target takes these bytes.
fn decodes(name: &str, bytes: &[u8]) -> bool {
    let text = || std::str::from_utf8(bytes).unwrap();
    let number = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    let length = || u64::from_le_bytes(*bytes.first_chunk().unwrap());
    match name {
        "block" => {
            let promised = u32::from_le_bytes([bytes[1], bytes[2], bytes[3], 0]);
            Decompressor::new().decompress(bytes.to_vec(), promised).is_ok()
        }
        "compression" => text().parse::<Compression>().is_ok(),
        "config" => Config::from_bytes(bytes).is_ok(),
        "exclude" => {
            let pattern = bytes.split(|b| *b == b'\n').next().unwrap();
            Selection::new().exclude(pattern, Case::Ignored).is_ok()
        }
        "exclude_file" => Selection::new().exclude_file("x", bytes, Case::Ignored).is_ok(),
        "footer" => PackTable::from_footer(&bytes[8..], number(0), number(4).into()).is_ok(),
        "header" => Header::from_bytes(bytes).is_ok(),
        "index" => IndexTable::from_bytes(bytes).is_ok(),
        "kdf" => Kdf::from_bytes(bytes.first_chunk().unwrap()).is_ok(),
        "keyring" => Keyring::from_bytes(bytes).is_ok(),
        "census" => Census::from_bytes(bytes).is_ok(),
        "honoured" => Honoured::from_bytes(bytes).is_ok(),
        "lease" => Lease::from_bytes(bytes).is_ok(),
        "mark" => Mark::from_bytes(bytes).is_ok(),
        "object_name" => Folder::ALL.iter().any(|folder| ObjectName::parse(*folder, text()).is_some()),
        "recovery_key" => RecoveryKey::parse(text()).is_some(),
        "seen" => Seen::from_bytes(bytes).is_some(),
        "segments" => segment_lens(length()).is_ok(),
        "snapshot" => Snapshot::from_bytes(bytes).is_ok(),
        "snapshot_ref" => SnapshotRef::parse(bytes).is_ok(),
        "trailer" => Trailer::from_bytes(&bytes[8..], length()).is_ok(),
        "tree" => TreeChunk::from_bytes(bytes).is_ok(),
        _ => false,
    }
}

#[test]
fn every_target_has_seeds_and_its_decoder_takes_them() {
    for (name, _) in TARGETS {
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for seed in seeds {
            assert!(decodes(name, &seed), "{name}: {}", hex::encode(&seed));
        }
    }
}

#[test]
fn every_target_has_its_file_and_every_file_its_target() {
    let expected: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let files = fs::read_dir(folder("fuzz_targets")).unwrap();
    let found = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let found: BTreeSet<String> = found.map(|name| name.trim_end_matches(".rs").to_owned()).collect();
    assert_eq!(found, expected);
    let manifest = fs::read_to_string(folder("Cargo.toml")).unwrap();
    let bins = manifest.lines().filter_map(|line| line.strip_prefix("path = \"fuzz_targets/"));
    let bins: BTreeSet<String> = bins.map(|rest| rest.trim_end_matches(".rs\"").to_owned()).collect();
    assert_eq!(bins, expected, "the programs in fuzz/Cargo.toml");
    for name in expected {
        let text = fs::read_to_string(folder("fuzz_targets").join(format!("{name}.rs"))).unwrap();
        assert!(text.contains(&format!("nightjar_fuzz::{name}(bytes)")), "{name}.rs runs another target");
    }
}

#[test]
#[ignore = "writes fuzz/corpus, from which a longer run by hand starts"]
fn seeds_become_corpora() {
    for (name, _) in TARGETS {
        let corpus = folder("corpus").join(name);
        fs::create_dir_all(&corpus).unwrap();
        for (number, seed) in seeds(name).iter().enumerate() {
            fs::write(corpus.join(format!("seed-{number}")), seed).unwrap();
        }
    }
}
