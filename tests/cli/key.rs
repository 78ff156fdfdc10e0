//! `key`: what opens a repository.

use super::password::{at_terminal, without_password};
use super::{Ended, PASSWORD, Place, of_type};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

const NEW: &str = "battery staple";

/// A repository with one slot, and files with its password and another.
fn place() -> Place {
    let place = Place::new();
    for (name, text) in [("old", PASSWORD), ("new", NEW)] {
        place.write(name, format!("{text}\n"));
        fs::set_permissions(place.path(name), Permissions::from_mode(0o600)).unwrap();
    }
    place
}

impl Ended {
    /// As [`Ended::code`]; and the new password is nowhere either.
    #[track_caller]
    fn quiet(self, code: i32) -> Self {
        assert!(!self.out().contains(NEW) && !self.err().contains(NEW), "{}{}", self.out(), self.err());
        self.code(code)
    }
}

fn opens(place: &Place, file: &str) -> bool {
    let ended = Ended(without_password(place, &["-p", file, "snapshots"]).output().unwrap());
    match ended.0.status.code() {
        Some(0) => true,
        Some(12) => false,
        other => panic!("{other:?}: {}", ended.err()),
    }
}

fn list(place: &Place) -> Vec<Value> {
    let records = place.run(&["--json", "key", "list"]).code(0).json();
    assert!(records.iter().all(|record| record["type"] == "key_slot"));
    records
}

/// The id of the slot that the password of the place opens.
fn own(place: &Place) -> String {
    let slots = list(place);
    let own: Vec<_> = slots.iter().filter(|slot| slot["opened"] == true).collect();
    assert_eq!(own.len(), 1);
    own[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_list_says_what_each_slot_is_and_which_was_opened() {
    let place = Place::empty();
    place.run(&["init"]).code(0);
    let slots = list(&place);
    assert_eq!(slots.len(), 2);
    let opened = slots.iter().find(|slot| slot["opened"] == true).unwrap();
    assert_eq!((&opened["kind"], &opened["label"]), (&"password".into(), &"password".into()));
    assert_eq!(opened["kdf"]["memory_kib"], 65_536);
    assert!(opened["created"].as_str().unwrap().ends_with('Z'));
    let other = slots.iter().find(|slot| slot["opened"] == false).unwrap();
    assert_eq!((&other["kind"], &other["state"]), (&"key".into(), &"usable".into()));
    assert!(other["label"].is_null(), "what only its own secret can tell");
    let shown = place.run(&["key", "list"]).code(0).out();
    for part in ["opens with", "64.0 MiB, 3 passes, 4 lanes", "recovery key or key file", "opened just now: password"] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(shown.contains(&opened["id"].as_str().unwrap()[..8]));
    // A slot that is damaged is told, and the others are listed.
    let path = place.repo().join("keys").join(other["id"].as_str().unwrap());
    fs::write(path, "x").unwrap();
    let ended = place.run(&["key", "list"]).code(4);
    assert!(ended.err().contains("damaged") && ended.out().contains("opened just now"), "{}", ended.err());
}

#[test]
fn a_password_is_added_from_a_file_a_command_or_the_terminal() {
    let place = place();
    let added = place.run(&["--json", "key", "add", "--new-password-file", "new"]).quiet(0).json();
    assert_eq!((&added[0]["command"], &added[0]["kind"]), (&"key add".into(), &"password".into()));
    assert!(opens(&place, "old") && opens(&place, "new"));
    assert!(list(&place).iter().any(|slot| slot["id"] == added[0]["slot"]));
    let again = place.run(&["key", "add", "--new-password-file", "new"]).quiet(1);
    assert!(again.err().contains("already") && again.err().contains(added[0]["slot"].as_str().unwrap()));
    let ended = place.run(&["key", "add", "--new-password-command", "echo third"]).quiet(0);
    assert!(ended.out().contains("added key slot"));
    place.write("third", "third");
    assert!(opens(&place, "third"));
    let differ = at_terminal(&place, &["key", "add"], &[&format!("{PASSWORD}\n"), "fourth\n", "forth\n"]).code(12);
    assert!(differ.err().contains("differ"));
    at_terminal(&place, &["key", "add"], &[&format!("{PASSWORD}\n"), "fourth\n", "fourth\n"]).code(0);
    place.write("fourth", "fourth");
    assert!(opens(&place, "fourth"));
    assert_eq!(place.objects("keys").len(), 4);
}

#[test]
fn what_cannot_be_a_new_password_adds_nothing() {
    let place = place();
    place.write("empty", "");
    place.write("lines", "a\nb\n");
    for (words, code, says) in [
        (&["--new-password-file", "empty"][..], 12, "new password file"),
        (&["--new-password-file", "lines"], 12, "second line"),
        (&["--new-password-file", "missing"], 12, "missing"),
        (&["--new-password-command", "exit 3"], 12, "exit status: 3"),
        (&[], 2, "--new-password-file"),
        (&["--new-password-file", "new", "--new-password-command", "echo x"], 2, "--new-password-command"),
        (&["--recovery", "--key-file", "x"], 2, "--recovery"),
        (&["--recovery", "--kdf", "strong"], 2, "--kdf"),
        (&["--key-file", "x", "--new-password-file", "new"], 2, "--key-file"),
        (&["--new-password-file", "new", "--kdf", "weak"], 2, "weak"),
    ] {
        let ended = place.run(&[&["key", "add"], words].concat()).quiet(code);
        assert!(ended.err().contains(says), "{words:?}: {}", ended.err());
    }
    place.run(&["-p", "new", "key", "add", "--new-password-command", "echo x"]).quiet(12);
    place.run(&["-r", "elsewhere", "key", "add", "--new-password-file", "new"]).quiet(10);
    assert_eq!(place.objects("keys").len(), 1);
    assert!(!place.path("x").exists());
}

#[test]
fn a_key_file_opens_the_repository_and_replaces_no_file() {
    let place = place();
    let added = place.run(&["--json", "key", "add", "--key-file", "host.key"]).quiet(0).json();
    assert_eq!((&added[0]["kind"], &added[0]["key_file"]), (&"key file".into(), &"host.key".into()));
    let text = fs::read_to_string(place.path("host.key")).unwrap();
    assert!(text.starts_with("nj1-") && text.ends_with('\n') && text.lines().count() == 1);
    assert!(!added[0].to_string().contains(text.trim()), "the key itself is shown to nobody");
    assert_eq!(fs::metadata(place.path("host.key")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(opens(&place, "host.key"));
    let listed = Ended(without_password(&place, &["-p", "host.key", "--json", "key", "list"]).output().unwrap());
    let listed = listed.code(0).json();
    assert!(listed.iter().any(|slot| slot["opened"] == true && slot["label"] == "key file" && slot["kind"] == "key"));
    // Never over a file, not even through a link; and no slot without a file.
    std::os::unix::fs::symlink("new", place.path("link")).unwrap();
    for name in ["host.key", "new", "link", "no/such/folder"] {
        let ended = place.run(&["key", "add", "--key-file", name]).quiet(1);
        assert!(ended.err().contains(name), "{}", ended.err());
    }
    assert_eq!(fs::read_to_string(place.path("host.key")).unwrap(), text);
    assert_eq!(fs::read_to_string(place.path("new")).unwrap().trim(), NEW);
    assert_eq!(place.objects("keys").len(), 2);
    let human = place.run(&["key", "add", "--key-file", "second.key"]).quiet(0);
    assert!(human.err().contains("--password-file second.key") && opens(&place, "second.key"));
}

#[test]
fn a_key_file_is_taken_away_when_the_repository_refuses_its_slot() {
    let place = place();
    let keys = place.repo().join("keys");
    fs::remove_dir_all(place.repo().join("tmp")).unwrap();
    fs::write(place.repo().join("tmp"), "in the way").unwrap();
    let ended = place.run(&["key", "add", "--key-file", "host.key"]);
    assert_ne!(ended.0.status.code(), Some(0));
    assert!(!place.path("host.key").exists());
    assert_eq!(fs::read_dir(keys).unwrap().count(), 1);
}

#[test]
fn another_recovery_key_is_shown_once_and_opens_the_repository() {
    let place = place();
    let added = place.run(&["--json", "key", "add", "--recovery"]).quiet(0).json();
    assert_eq!(of_type(&added, "summary").len(), 1);
    let words = added[0]["recovery_words"].as_array().unwrap();
    assert_eq!(words.len(), 24);
    place.write("paper", added[0]["recovery_key"].as_str().unwrap());
    assert!(opens(&place, "paper"));
    let human = place.run(&["key", "add", "--recovery"]).quiet(0);
    assert!(human.out().contains("only this once") && human.out().contains("nj1-"), "{}", human.out());
    assert_eq!(place.objects("keys").len(), 3);
}

#[test]
fn a_slot_is_removed_by_the_beginning_of_its_id_and_the_last_one_stays() {
    let place = place();
    let first = own(&place);
    let last = place.run(&["key", "remove", &first]).quiet(1);
    assert!(last.err().contains("no other key slot is left") && last.err().contains("key add"), "{}", last.err());
    let added = place.run(&["--json", "key", "add", "--new-password-file", "new"]).quiet(0).json();
    let second = added[0]["slot"].as_str().unwrap();
    for wrong in ["", "xyz", "ffffffffffffffffff", &first.to_uppercase(), "../config"] {
        let ended = place.run(&["key", "remove", wrong]).quiet(1);
        assert!(ended.err().contains("key list"), "{}", ended.err());
    }
    place.run(&["key", "remove"]).quiet(2);
    let removed = place.run(&["--json", "key", "remove", &second[..10]]).quiet(0).json();
    assert_eq!(removed.len(), 1, "no warning");
    assert_eq!(
        (&removed[0]["slot"], &removed[0]["left"], &removed[0]["opened"]),
        (&second.into(), &1.into(), &false.into())
    );
    assert!(opens(&place, "old") && !opens(&place, "new"));
}

#[test]
fn the_slot_that_was_opened_can_go_when_another_stays_and_that_is_said() {
    let place = place();
    let first = own(&place);
    place.run(&["key", "add", "--new-password-file", "new"]).quiet(0);
    let removed = place.run(&["key", "remove", &first]).quiet(0);
    assert!(removed.err().contains("warning: this was the slot that opened"), "{}", removed.err());
    assert!(!opens(&place, "old") && opens(&place, "new"));
    // A damaged slot is none that could stay, and can be removed.
    fs::write(place.repo().join("keys").join("0f".repeat(32)), "no slot").unwrap();
    let left = place.objects("keys");
    let whole = left.iter().find(|path| !path.ends_with("0f".repeat(32))).unwrap().file_name().unwrap();
    place.run(&["-p", "new", "key", "remove", whole.to_str().unwrap()]).quiet(1);
    place.run(&["-p", "new", "key", "remove", "0f0f"]).quiet(0);
    assert!(opens(&place, "new"));
}

#[test]
fn a_changed_password_is_the_only_one_that_opens_the_repository() {
    let place = place();
    let first = own(&place);
    let changed = place.run(&["--json", "key", "passwd", "--new-password-file", "new"]).quiet(0).json();
    assert_eq!(changed[0]["command"], "key passwd");
    assert_eq!(changed[0]["removed"], serde_json::json!([first]));
    assert!(!opens(&place, "old") && opens(&place, "new"));
    let slots =
        Ended(without_password(&place, &["-p", "new", "--json", "key", "list"]).output().unwrap()).quiet(0).json();
    assert_eq!((slots.len(), &slots[0]["id"]), (1, &changed[0]["slot"]));
    // At the terminal: the old one, and the new one twice.
    let typed = [format!("{NEW}\n"), format!("{PASSWORD}\n"), format!("{PASSWORD}\n")];
    let human = at_terminal(&place, &["key", "passwd"], &typed.each_ref().map(String::as_str)).quiet(0);
    assert!(human.out().contains("the password was changed") && human.err().contains("copies"), "{}", human.err());
    assert!(opens(&place, "old") && !opens(&place, "new"));
    place.run(&["-p", "new", "key", "passwd", "--new-password-file", "old"]).quiet(12);
    place.run(&["key", "passwd"]).quiet(2);
    assert!(opens(&place, "old"));
}

#[test]
fn a_stronger_hash_stays_with_the_password_until_another_is_asked_for() {
    let place = place();
    let memory = |place: &Place, file: &str| {
        let slots =
            Ended(without_password(place, &["-p", file, "--json", "key", "list"]).output().unwrap()).code(0).json();
        assert_eq!(slots.len(), 1);
        slots[0]["kdf"]["memory_kib"].as_u64().unwrap()
    };
    place.run(&["key", "passwd", "--new-password-file", "old", "--kdf", "strong"]).quiet(0);
    assert_eq!(memory(&place, "old"), 1 << 20);
    place.run(&["key", "passwd", "--new-password-file", "new"]).quiet(0);
    assert_eq!(memory(&place, "new"), 1 << 20);
    place.run(&["-p", "new", "key", "passwd", "--new-password-file", "old", "--kdf", "standard"]).quiet(0);
    assert_eq!(memory(&place, "old"), 64 << 10);
}

#[test]
fn with_a_key_no_password_is_changed() {
    let place = place();
    place.run(&["key", "add", "--key-file", "host.key"]).quiet(0);
    let refused = place.run(&["-p", "host.key", "key", "passwd", "--new-password-file", "new"]).quiet(1);
    assert!(refused.err().contains("key add") && refused.err().contains("key remove"), "{}", refused.err());
    assert!(opens(&place, "old") && opens(&place, "host.key") && !opens(&place, "new"));
}

#[test]
fn a_recovery_key_is_verified_without_a_password() {
    let place = Place::empty();
    let made = place.run(&["init", "--json"]).code(0).json();
    let key = made[0]["recovery_key"].as_str().unwrap();
    let words: Vec<_> = made[0]["recovery_words"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    for text in [key.to_owned(), key.to_uppercase().replace('-', " "), words.join(" ")] {
        let ended = at_terminal(&place, &["key", "verify"], &[&format!("{text}\n")]).code(0);
        assert!(ended.out().contains("this key opens the repository") && !ended.out().contains(&text));
    }
    place.write("paper", key);
    let verify = |file: &str| {
        Ended(without_password(&place, &["--json", "key", "verify", "--key-file", file]).output().unwrap())
    };
    fs::set_permissions(place.path("paper"), Permissions::from_mode(0o600)).unwrap();
    let found = verify("paper").code(0).json().remove(0);
    assert_eq!((&found["command"], &found["label"]), (&"key verify".into(), &"recovery".into()));
    // One wrong character; no recovery key at all; the key of another repository; nobody who could be asked.
    let (front, last) = key.split_at(key.len() - 1);
    place.write("wrong", format!("{front}{}", if last == "a" { "b" } else { "a" }));
    let other = Place::empty();
    let other = other.run(&["init", "--json"]).code(0).json()[0]["recovery_key"].as_str().unwrap().to_owned();
    place.write("other", &other);
    place.write("password", PASSWORD);
    for (file, says) in
        [("wrong", "this is no recovery key"), ("password", "this is no recovery key"), ("other", "does not open")]
    {
        let ended = verify(file).code(12);
        assert!(ended.out().contains(says) && !ended.out().contains(&other), "{file}: {}", ended.out());
    }
    assert!(place.run(&["key", "verify"]).code(2).err().contains("--key-file"));
    place.run(&["-r", "elsewhere", "key", "verify", "--key-file", "paper"]).code(10);
    // Once its slot is gone it opens nothing.
    let slot = found["slot"].as_str().unwrap();
    place.run(&["key", "remove", slot]).code(0);
    verify("paper").code(12);
}

#[test]
fn what_is_stored_is_found_with_every_key_and_after_every_change() {
    let place = place();
    place.write("source/a.txt", "alpha\n");
    place.run(&["backup", "source"]).code(0);
    place.run(&["key", "add", "--key-file", "host.key"]).code(0);
    place.run(&["key", "passwd", "--new-password-file", "new"]).quiet(0);
    for (n, file) in ["host.key", "new"].into_iter().enumerate() {
        let target = format!("back{n}");
        place.run(&["-p", file, "restore", "latest", "--target", &target]).quiet(0);
        let restored = place.path(&target).join(place.source_in_snapshot().trim_start_matches('/')).join("a.txt");
        assert_eq!(fs::read_to_string(restored).unwrap(), "alpha\n");
    }
}

/// A number that differs from round to round, spread over `below`.
fn spread(round: u32, below: u64) -> u64 {
    let hash = blake3::hash(&round.to_le_bytes());
    u64::from_le_bytes(*hash.as_bytes().first_chunk().unwrap()) % below
}

#[test]
fn thirty_changes_of_the_password_killed_at_any_moment_leave_the_old_or_the_new_one() {
    let place = place();
    let (mut killed, mut rounds, mut both, mut neither_yet) = (0, 0, 0, 0);
    let mut current = PASSWORD.to_owned();
    while killed < 30 {
        rounds += 1;
        assert!(rounds < 200, "only {killed} of {rounds} runs were killed in their midst");
        let next = format!("password of round {rounds}");
        place.write("old", &current);
        place.write("new", &next);
        let before = place.objects("keys");
        let words = ["-p", "old", "key", "passwd", "--new-password-file", "new"];
        let mut child = place.process(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Two of three from the moment on at which the new slot stands, the others from the start.
        while rounds % 3 != 0 && child.try_wait().unwrap().is_none() && place.objects("keys") == before {
            std::thread::yield_now();
        }
        for _ in 0..spread(rounds, 3_000_000) {
            std::hint::spin_loop();
        }
        killed += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        match (opens(&place, "old"), opens(&place, "new")) {
            (false, false) => panic!("round {rounds}: no password opens the repository"),
            (true, false) => neither_yet += 1,
            (opens_with_old, true) => {
                if opens_with_old {
                    both += 1;
                    place.run(&words).code(0);
                    assert!(!opens(&place, "old") && opens(&place, "new"));
                }
                current = next;
            }
        }
        assert_eq!(place.objects("keys").len(), 1);
    }
    assert!(both > 0 && neither_yet > 0, "killed on both sides of the new slot: {both}, {neither_yet}");
    let left = fs::read_dir(place.repo().join("tmp")).unwrap().count();
    assert!(left <= 1, "what the dead left is cleared by the next who writes: {left}");
}
