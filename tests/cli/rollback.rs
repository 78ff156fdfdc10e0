//! What this host remembers of a repository: one that went back, lost snapshots or was replaced is noticed.

use super::{Place, copy_folder as copy, of_type};
use std::fs;
use std::process::Stdio;

fn swap(place: &Place, other: &str) {
    fs::rename(place.repo(), place.path("aside")).unwrap();
    copy(&place.path(other), &place.repo());
}

#[test]
fn a_repository_that_went_back_is_noticed_by_every_command_until_that_is_accepted() {
    let place = Place::with_snapshot();
    copy(&place.repo(), &place.path("yesterday"));
    for n in 0..2 {
        place.write("source/new", format!("{n}"));
        place.run(&["backup", "source"]).code(0);
    }
    swap(&place, "yesterday");
    for words in [&["snapshots"][..], &["ls", "latest"], &["restore", "latest", "-t", "back"], &["check"]] {
        let told = place.run(words).code(4).err();
        assert!(told.contains("which is gone; the newest there is number 1"), "{told}");
        assert!(told.contains("`nightjar repo accept`"), "{told}");
    }
    // Nothing is removed from it, and a backup is made all the same.
    for words in [&["forget", "latest"][..], &["forget", "--keep-last", "1"], &["prune"]] {
        let told = place.run(words).code(4).err();
        assert!(told.contains("nothing was removed"), "{told}");
    }
    place.run(&["prune", "--dry-run"]).code(0);
    place.write("source/new", "after it went back");
    let made = place.run(&["backup", "source"]).code(4);
    assert!(made.out().contains("snapshot ") && made.out().contains(" made"), "{}", made.out());
    place.run(&["snapshots"]).code(4);
    let accepted = place.run(&["repo", "accept"]).code(0);
    assert!(accepted.out().contains("which is gone"), "{}", accepted.out());
    for words in [&["snapshots"][..], &["ls", "latest"], &["check"], &["backup", "source"], &["prune"]] {
        place.run(words).code(0);
    }
    assert!(!place.run(&["repo", "accept"]).code(0).out().contains("gone"));
}

#[test]
fn another_repository_at_the_same_place_is_refused_before_anything_is_done() {
    let place = Place::with_snapshot();
    place.run(&["--repo", "other", "init", "--no-recovery-key"]).code(0);
    place.run(&["--repo", "other", "snapshots"]).code(0);
    swap(&place, "other");
    let objects = place.objects("");
    for words in [&["backup", "source"][..], &["snapshots"], &["prune"], &["check"], &["key", "list"]] {
        let told = place.run(words).code(4).err();
        assert!(told.contains("another repository is at"), "{told}");
    }
    assert_eq!(place.objects(""), objects);
    place.run(&["repo", "accept"]).code(0);
    place.run(&["backup", "source"]).code(0);
    // A new one that is made on purpose is no surprise; one that a backup would make in its place is none of its business.
    fs::remove_dir_all(place.repo()).unwrap();
    let told = place.run(&["backup", "--init", "source"]).code(4).err();
    assert!(told.contains("is gone, and no other was made"), "{told}");
    assert!(!place.repo().exists());
    place.run(&["init", "--no-recovery-key"]).code(0);
    place.run(&["backup", "--init", "source"]).code(0);
    // The real one comes back.
    fs::remove_dir_all(place.repo()).unwrap();
    fs::rename(place.path("aside"), place.repo()).unwrap();
    place.run(&["snapshots"]).code(4);
}

#[test]
fn a_snapshot_that_vanished_leaves_a_gap_that_any_host_sees() {
    let place = Place::with_snapshot();
    let mut names = Vec::new();
    for n in 0..3 {
        place.write("source/new", format!("{n}"));
        let made = place.run(&["--json", "backup", "source"]).code(0).json();
        names.push(of_type(&made, "summary")[0]["snapshot_id"].as_str().unwrap().to_owned());
    }
    fs::remove_file(place.repo().join("snapshots").join(&names[1])).unwrap();
    let fresh = |state: &str, words: &[&str]| {
        super::Ended(place.command(words).env("NIGHTJAR_STATE_DIR", place.path(state)).output().unwrap())
    };
    let told = fresh("one", &["check"]).code(4).err();
    assert!(told.contains(&format!("says that {} was before it", &names[1][..8])), "{told}");
    // The newest one, only who has seen it.
    fs::remove_file(place.repo().join("snapshots").join(&names[2])).unwrap();
    let told = place.run(&["snapshots"]).code(4).err();
    assert!(told.contains(&names[2][..8]), "{told}");
    fresh("one", &["snapshots"]).code(4);
    fresh("another", &["snapshots"]).code(0);
    // A gap that somebody has accepted nobody misses any more.
    place.run(&["repo", "accept"]).code(0);
    place.run(&["backup", "source"]).code(0);
    place.run(&["backup", "source"]).code(0);
    let between = place.run(&["--json", "snapshots"]).code(0).json();
    let all: Vec<_> = of_type(&between, "snapshot").iter().map(|s| s["id"].as_str().unwrap().to_owned()).collect();
    fs::remove_file(place.repo().join("snapshots").join(&all[all.len() - 2])).unwrap();
    fresh("third", &["check"]).code(4);
    place.run(&["check"]).code(4);
    let accepted = place.run(&["repo", "accept"]).code(0).out();
    assert!(accepted.contains("was before it"), "{accepted}");
    for state in ["third", "fourth"] {
        fresh(state, &["check"]).code(0);
    }
}

#[test]
fn what_is_removed_on_purpose_is_no_loss() {
    let place = Place::with_snapshot();
    for n in 0..4 {
        place.write("source/new", format!("{n}"));
        place.run(&["backup", "source"]).code(0);
    }
    let fresh = |words: &[&str]| {
        super::Ended(place.command(words).env("NIGHTJAR_STATE_DIR", place.path("fresh")).output().unwrap())
    };
    // The newest and one between.
    place.run(&["forget", "latest", "latest~2"]).code(0);
    for run in [&fresh as &dyn Fn(&[&str]) -> super::Ended, &|words: &[&str]| place.run(words)] {
        run(&["snapshots"]).code(0);
        run(&["check"]).code(0);
    }
    place.run(&["prune", "--grace", "0"]).code(0);
    place.run(&["check"]).code(0);
    fresh(&["check"]).code(0);
    place.run(&["backup", "source"]).code(0);
    let listed = place.run(&["--json", "snapshots"]).code(0).json();
    let id = of_type(&listed, "snapshot").last().unwrap()["id"].as_str().unwrap().to_owned();
    place.run(&["backup", "source"]).code(0);
    // Back and forth, twice: each time it gets another name, and the one after it still calls it by its first.
    let mut name = id;
    for _ in 0..2 {
        place.run(&["forget", &name]).code(0);
        let back = place.run(&["--json", "forget", "--undo", &name]).code(0).json();
        place.run(&["snapshots"]).code(0);
        fresh(&["check"]).code(0);
        name = of_type(&back, "snapshot")[0]["id"].as_str().unwrap().to_owned();
    }
    place.run(&["forget", &name]).code(0);
    place.run(&["prune", "--grace", "0"]).code(0);
    place.run(&["check"]).code(0);
    super::Ended(place.command(&["check"]).env("NIGHTJAR_STATE_DIR", place.path("never")).output().unwrap()).code(0);
}

#[test]
fn the_state_code_is_the_same_for_all_who_see_the_same() {
    let place = Place::with_snapshot();
    let code = |state: &str| {
        let shown = place.command(&["--json", "repo", "show"]).env("NIGHTJAR_STATE_DIR", place.path(state)).output();
        let shown = super::Ended(shown.unwrap()).code(0).json();
        of_type(&shown, "summary")[0]["state_code"].as_str().unwrap().to_owned()
    };
    let first = code("state");
    assert_eq!((first.len(), code("fresh")), (19, first.clone()));
    assert!(place.run(&["repo", "show"]).code(0).out().contains(&first));
    copy(&place.repo(), &place.path("yesterday"));
    place.write("source/new", "x");
    place.run(&["backup", "source"]).code(0);
    assert_ne!(code("state"), first);
    swap(&place, "yesterday");
    assert_eq!(code("fresh"), first);
}

#[test]
fn nothing_fails_where_nothing_can_be_remembered() {
    let place = Place::with_snapshot();
    let seen = fs::read_dir(place.path("state/seen")).unwrap().map(|entry| entry.unwrap().path());
    for file in seen.filter(|path| path.extension().is_none()) {
        fs::write(file, "nonsense").unwrap();
    }
    let told = place.run(&["snapshots"]).code(0).err();
    assert!(told.contains("is not known"), "{told}");
    assert!(!place.run(&["snapshots"]).code(0).err().contains("is not known"), "it was written anew");
    let bare = |place: &Place, words: &[&str]| {
        let mut command = place.command(words);
        command.env_remove("NIGHTJAR_STATE_DIR").env_remove("HOME").env_remove("XDG_STATE_HOME");
        // As root the folder is one of the system.
        command.env("XDG_STATE_HOME", place.path("file/below"));
        super::Ended(command.output().unwrap())
    };
    place.write("file", "no folder");
    let told = bare(&place, &["backup", "source"]).code(0).err();
    assert!(told.contains("is not remembered"), "{told}");
    let mut command = place.command(&["snapshots"]);
    super::Ended(command.env("NIGHTJAR_STATE_DIR", "").output().unwrap()).code(2);
}

#[test]
fn several_at_once_remember_together() {
    let place = Place::with_snapshot();
    let running: Vec<_> = (0..4)
        .map(|n| {
            place.write(&format!("many{n}/file"), format!("{n}"));
            let mut process = place.process(&["backup", &format!("many{n}"), "--job", &format!("job{n}"), "-q"]);
            process.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut process in running {
        assert!(process.wait().unwrap().success());
    }
    for path in place.objects("snapshots") {
        fs::remove_file(path).unwrap();
    }
    let told = place.run(&["snapshots"]).code(4).err();
    for job in ["job0", "job1", "job2", "job3"] {
        assert!(told.contains(job), "{told}");
    }
    assert_eq!(told.matches("which is gone").count(), 5, "{told}");
}
