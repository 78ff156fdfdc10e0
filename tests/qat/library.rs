//! The simulated library: where it is, variants of it, and its counters.

use std::path::{Path, PathBuf};

/// The library, which was built beside this program.
pub(crate) fn path() -> PathBuf {
    let path = std::env::current_exe().unwrap().with_file_name("libqatzip_sim.so");
    assert!(path.exists(), "{} is missing: `cargo test` builds it as a dependency of the tests", path.display());
    path
}

/// A copy in `folder` that lacks some functions: a name that is overwritten is not found any more.
pub(crate) fn without(functions: &[&str], folder: &Path) -> PathBuf {
    let mut bytes = std::fs::read(path()).unwrap();
    for function in functions {
        let name = format!("\0{function}\0");
        let mut found = 0;
        let mut at = 0;
        while let Some(next) = bytes[at..].windows(name.len()).position(|window| window == name.as_bytes()) {
            at += next + 1;
            bytes[at] = b'X';
            found += 1;
        }
        assert!(found > 0, "{function} is not in the library");
    }
    let copy = folder.join("libqatzip_variant.so");
    std::fs::write(&copy, bytes).unwrap();
    copy
}
