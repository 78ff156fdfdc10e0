//! The cache of repositories that are far away.

use super::{Ended, Place, files_below, of_type};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

fn cached(place: &Place) -> Vec<PathBuf> {
    files_below(&place.path("cache")).into_iter().filter(|path| !path.ends_with("CACHEDIR.TAG")).collect()
}

fn with(place: &Place, words: &[&str]) -> Ended {
    let words: Vec<&str> = ["--cache-dir", "cache"].iter().chain(words).copied().collect();
    place.run(&words)
}

fn place() -> Place {
    let place = Place::with_snapshot();
    for n in 0..50 {
        place.write(&format!("source/many/folder{n}/file"), format!("content of {n}\n").repeat(50));
    }
    place.run(&["backup", "source"]).code(0);
    place
}

#[test]
fn the_same_comes_out_with_a_cache_and_without_one_and_without_the_packs_of_folders() {
    let place = place();
    assert!(!place.path("cache").exists(), "a repository on a local disk needs none");
    let plain = place.run(&["ls", "latest"]).code(0).out();
    assert_eq!(with(&place, &["ls", "latest"]).code(0).out(), plain);
    assert!(cached(&place).len() >= 4, "{:?}", cached(&place));
    // The folders come from here now.
    let told = with(&place, &["-v", "ls", "latest"]).code(0).err();
    assert!(told.contains(" found, 0 fetched, 0 damaged"), "{told}");
    let packs = place.repo().join("packs");
    fs::rename(&packs, place.path("hidden")).unwrap();
    fs::create_dir(&packs).unwrap();
    assert_eq!(with(&place, &["ls", "latest"]).code(0).out(), plain);
    place.run(&["ls", "latest"]).code(4);
    with(&place, &["--no-cache", "ls", "latest"]).code(2);
    // Whoever looks for damage looks at the repository.
    with(&place, &["check"]).code(4);
    fs::remove_dir(&packs).unwrap();
    fs::rename(place.path("hidden"), &packs).unwrap();
    // What was taken away there does not come back from here.
    let ids = with(&place, &["--json", "snapshots"]).code(0).json();
    let first = of_type(&ids, "snapshot")[0]["id"].as_str().unwrap().to_owned();
    with(&place, &["forget", &first]).code(0);
    assert_eq!(of_type(&with(&place, &["--json", "snapshots"]).code(0).json(), "snapshot").len(), 1);
    with(&place, &["prune", "--grace", "0"]).code(0);
    with(&place, &["backup", "source"]).code(0);
    with(&place, &["restore", "latest", "-t", "back"]).code(0);
}

#[test]
fn whatever_happens_to_the_cache_the_result_is_the_same() {
    let place = place();
    let plain = place.run(&["ls", "-l", "latest"]).code(0).out();
    with(&place, &["ls", "-l", "latest"]).code(0);
    let mut noise = blake3::Hasher::new().update(b"cache").finalize_xof();
    for round in 0..12 {
        for path in cached(&place) {
            let mut bytes = fs::read(&path).unwrap();
            let mut dice = [0; 4];
            noise.fill(&mut dice);
            match dice[0] % 5 {
                0 => fs::remove_file(&path).unwrap(),
                1 => fs::write(&path, &bytes[..bytes.len() * usize::from(dice[1]) / 256]).unwrap(),
                2 => fs::write(&path, "").unwrap(),
                3 if !bytes.is_empty() => {
                    let at = usize::from(dice[1]) * bytes.len() / 256;
                    bytes[at] ^= 1 << (dice[2] % 8);
                    fs::write(&path, bytes).unwrap();
                }
                _ => {}
            }
        }
        assert_eq!(with(&place, &["ls", "-l", "latest"]).code(0).out(), plain, "round {round}");
    }
    // A file where a folder should be, and a folder where a file should be.
    let one = cached(&place).pop().unwrap();
    fs::remove_file(&one).unwrap();
    fs::create_dir(&one).unwrap();
    assert_eq!(with(&place, &["ls", "-l", "latest"]).code(0).out(), plain);
    fs::remove_dir_all(place.path("cache")).unwrap();
    place.write("cache", "no folder");
    let told = with(&place, &["ls", "-l", "latest"]).code(0);
    assert!(told.err().contains("there is no cache") && told.out() == plain, "{}", told.err());
    fs::remove_file(place.path("cache")).unwrap();
    fs::create_dir(place.path("cache")).unwrap();
    fs::set_permissions(place.path("cache"), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(with(&place, &["ls", "-l", "latest"]).code(0).err().contains("others can write"));
}

#[test]
fn it_is_bounded_shared_shown_and_cleared() {
    let place = place();
    for n in 0..6 {
        place.write("source/more", format!("{n}"));
        with(&place, &["--cache-size", "8K", "backup", "source"]).code(0);
        let sum: u64 = cached(&place).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
        assert!(sum <= 8 << 10, "{sum} bytes");
    }
    with(&place, &["--cache-size", "0", "ls", "latest"]).code(0);
    with(&place, &["--cache-size", "many", "ls", "latest"]).code(2);
    let running: Vec<_> = (0..4)
        .map(|_| {
            let mut process = place.process(&["--cache-dir", "cache", "ls", "latest"]);
            process.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut process in running {
        assert!(process.wait().unwrap().success());
    }
    place.write("cache/mine", "not ours");
    let shown = with(&place, &["--json", "cache", "show"]).code(0).json();
    assert!(of_type(&shown, "summary")[0]["bytes"].as_u64().unwrap() > 0);
    let cleared = with(&place, &["cache", "clear"]).code(0).out();
    assert!(cleared.contains("removed in"), "{cleared}");
    assert!(place.path("cache/mine").exists());
    assert_eq!(files_below(&place.path("cache")).len(), 2);
    let nowhere = Ended(place.command(&["cache", "show"]).env("NIGHTJAR_CACHE_DIR", "nowhere").output().unwrap());
    nowhere.code(0);
}
