//! `init`

use super::{Place, of_type};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_repository_is_made_once_and_only_its_owner_can_look_into_it() {
    let place = Place::empty();
    let made = place.run(&["init", "--chunk-size", "4K/8K/16K", "--pack-size", "1M"]).code(0);
    for part in ["made repository", "4.00 KiB / 8.00 KiB / 16.0 KiB", "nj1-", "only this once"] {
        assert!(made.out().contains(part), "{}", made.out());
    }
    assert_eq!(fs::metadata(place.repo()).unwrap().permissions().mode() & 0o777, 0o700);
    for object in place.objects("") {
        assert_eq!(fs::metadata(object).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let again = place.run(&["init"]).code(1);
    assert!(again.err().contains("already"));
}

#[test]
fn what_was_chosen_is_what_is_made() {
    let place = Place::empty();
    let words = ["--json", "--compression", "deflate:6", "init", "--cipher", "chacha20-poly1305", "--no-recovery-key"];
    let made = place.run(&words).code(0).json();
    assert_eq!(made.len(), 1);
    assert_eq!(made[0]["cipher"], "chacha20-poly1305");
    assert!(made[0]["recovery_key"].is_null());
    let stats = place.run(&["--json", "stats"]).code(0).json();
    let summary = of_type(&stats, "summary")[0];
    assert_eq!(summary["compression"], "deflate:6");
    assert_eq!(summary["repository"], made[0]["repository"]);
}

#[test]
fn nothing_is_made_where_it_cannot_be() {
    let place = Place::empty();
    place.write("file", "x");
    // A file where a folder must be.
    let ended = place.run(&["-r", "file/repo", "init"]);
    assert!([1, 13].contains(&ended.0.status.code().unwrap()), "{}", ended.err());
}
