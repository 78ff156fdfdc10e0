//! Command lines and variables that are wrong, and help.

use super::{Ended, Place, bare, of_type};

fn run(words: &[&str]) -> Ended {
    Ended(bare().args(words).output().unwrap())
}

#[test]
fn help_and_version_go_to_stdout() {
    let help = run(&["--help"]).code(0);
    for part in ["nightjar --repo /srv/repo init", "EXIT STATUS", "NIGHTJAR_REPO", "backup", "restore"] {
        assert!(help.out().contains(part), "{part}");
    }
    assert_eq!(help.err(), "");
    assert!(run(&["--version"]).code(0).out().starts_with("nightjar "));
    let help = run(&["backup", "--help"]).code(0).out();
    assert!(help.lines().next().unwrap().len() < 80);
    assert!(help.contains("EXAMPLE"));
}

#[test]
fn mistakes_end_in_2_and_say_where_help_is() {
    for words in [
        &[][..],
        &["no-such-command"],
        &["ls"],
        &["ls", "latest", "--no-such-option"],
        &["restore", "latest"],
        &["snapshots", "--last", "x"],
        &["backup", "--parent", "latest", "--force", "/etc"],
        &["-r", "/nonexistent", "backup"],
        &["-r", "/nonexistent", "backup", "--exclude", "[a", "/etc"],
        &["-r", "/nonexistent", "backup", "--exclude-file", "/nonexistent/x", "/etc"],
        &["-r", "/nonexistent", "backup", "--files-from", "/nonexistent/x"],
        &["-r", "/nonexistent", "backup", "--stdin-filename", "a/b"],
        &["-r", "/nonexistent", "backup", "--stdin-filename", "a", "/etc"],
        &["-r", "/nonexistent", "backup", "--stdin-from-command"],
        &["-r", "/nonexistent", "backup", "--checkpoint-interval", "0", "/etc"],
        &["-r", "/nonexistent", "ls", "no-snapshot"],
        &["-r", "/nonexistent", "init", "--chunk-size", "1K/2K/3K"],
        &["-r", "/nonexistent", "init", "--block-size", "128K"],
        &["-r", "/nonexistent", "--compression", "gzip", "snapshots"],
        &["-r", "sftp:host:/x", "snapshots"],
        &["-r", "s3:https://host/bucket", "snapshots"],
        &["-r", "", "snapshots"],
        &["snapshots"],
        &["key"],
        &["key", "no-such-action"],
        &["-r", "/nonexistent", "key", "remove"],
        &["-r", "/nonexistent", "key", "add", "--recovery", "--key-file", "x"],
        &["repo"],
        &["-r", "/nonexistent", "repo", "set"],
    ] {
        let ended = run(words).code(2);
        assert!(ended.err().starts_with("error: "), "{words:?}: {}", ended.err());
        assert_eq!(ended.out(), "");
    }
}

#[test]
fn mistakes_are_json_too_when_json_is_asked_for() {
    for words in [&["--json"][..], &["--json", "ls"], &["snapshots", "--json"], &["ls", "--json", "--bad", "x"]] {
        let records = run(words).code(2).json();
        assert_eq!(of_type(&records, "error").len(), 1, "{records:?}");
        assert_eq!(records[0]["exit_code"], 2);
    }
}

#[test]
fn empty_and_wrong_variables_are_errors_and_flags_beat_variables() {
    let place = Place::empty();
    for (name, value) in [
        ("NIGHTJAR_REPO", ""),
        ("NIGHTJAR_REPO", "s3:x"),
        ("NIGHTJAR_PASSWORD", ""),
        ("NIGHTJAR_PASSWORD_FILE", ""),
        ("NIGHTJAR_PASSWORD_COMMAND", ""),
        ("NIGHTJAR_COMPRESSION", ""),
        ("NIGHTJAR_COMPRESSION", "zstd:99"),
    ] {
        let ended = Ended(place.command(&["snapshots"]).env(name, value).output().unwrap()).code(2);
        assert!(ended.err().contains(name) || value == "s3:x", "{}", ended.err());
    }
    let mut command = place.command(&["-r", "elsewhere", "--compression", "off", "snapshots"]);
    let ended = Ended(command.env("NIGHTJAR_REPO", "s3:x").output().unwrap());
    assert!(ended.code(10).err().contains("elsewhere"));
}

#[test]
fn completions_and_the_manual_are_printed() {
    let shell = bare().args(["completions", "bash"]).output().unwrap();
    assert!(String::from_utf8(shell.stdout).unwrap().contains("_nightjar"));
    run(&["completions", "no-such-shell"]).code(2);
    assert!(run(&["man"]).code(0).out().contains(".TH nightjar"));
    let place = Place::empty();
    place.run(&["man", "pages"]).code(0);
    assert!(place.path("pages/nightjar-backup.1").exists());
}
