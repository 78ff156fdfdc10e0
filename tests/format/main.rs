//! `repo-format.md` against the code: its tables, the test vectors and the golden repositories in `fixtures/`.
#![expect(clippy::unwrap_used, reason = "a test stops at the first thing that is not as it must be")]

mod golden;
mod model;
mod tables;
mod vectors;

use nightjar::base::clock::ManualClock;
use nightjar::base::entropy::SeededEntropy;
use nightjar::base::host::Host;
use nightjar::crypto::Secret;
use nightjar::repo::Environment;
use std::path::PathBuf;
use std::sync::Arc;

/// A world in which everything happens again in the same way.
fn fixed_world(seed: u64) -> Environment {
    Environment {
        clock: Arc::new(ManualClock::at(1_800_000_000_000_000_000)),
        entropy: Arc::new(SeededEntropy::new(seed)),
        host: Host { name: "golden".into(), machine: "0".into(), boot: "1".into(), pid: 2, started: 3, namespace: 4 },
        scratch: None,
        cache: None,
    }
}

fn password() -> Secret {
    Secret::new("correct horse battery staple".to_owned().into())
}

/// What `BLESS` asks to be written anew: `1` texts, `golden` also the golden repositories.
#[expect(clippy::disallowed_methods, reason = "the one place of these tests that reads the environment")]
fn bless() -> Option<std::ffi::OsString> {
    std::env::var_os("BLESS")
}

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Compares `text` with the file `name` in `fixtures/`, or writes it when `BLESS` is set.
fn same_as_fixture(name: &str, text: &str) {
    let path = fixtures().join(name);
    if bless().is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let difference = known.lines().zip(text.lines()).find(|(a, b)| a != b);
    assert!(known == text, "{name} differs, first at {difference:?}; if that is right, run with BLESS=1");
}
