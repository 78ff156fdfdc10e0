//! Where passwords come from.

use super::{Ended, PASSWORD, Place};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

pub(super) fn without_password(place: &Place, words: &[&str]) -> assert_cmd::Command {
    let mut command = place.command(words);
    command.env_remove("NIGHTJAR_PASSWORD");
    command
}

fn snapshots(place: &Place, words: &[&str]) -> Ended {
    Ended(without_password(place, &[words, &["snapshots"]].concat()).output().unwrap())
}

fn snapshots_with(place: &Place, name: &str, value: &str) -> Ended {
    Ended(without_password(place, &["snapshots"]).env(name, value).output().unwrap())
}

#[test]
fn every_source_gives_the_password() {
    let place = Place::new();
    place.write("pw", format!("{PASSWORD}\n"));
    place.write("crlf", format!("{PASSWORD}\r\n"));
    place.write("wrong", "something else\n");
    let print = format!("echo '{PASSWORD}'");
    snapshots(&place, &["-p", "pw"]).code(0);
    snapshots(&place, &["-p", "crlf"]).code(0);
    snapshots(&place, &["--password-command", &print]).code(0);
    snapshots(&place, &["-p", "wrong"]).code(12);
    snapshots_with(&place, "NIGHTJAR_PASSWORD_FILE", "pw").code(0);
    snapshots_with(&place, "NIGHTJAR_PASSWORD_COMMAND", &print).code(0);
    // A flag beats a variable.
    place.run(&["-p", "wrong", "snapshots"]).code(12);
}

#[test]
fn bad_sources_are_refused() {
    let place = Place::new();
    place.write("empty", "");
    place.write("lines", "one\ntwo\n");
    place.write("bytes", b"\xff\n");
    place.write("pw", PASSWORD);
    for file in ["empty", "lines", "bytes", "missing"] {
        assert!(snapshots(&place, &["-p", file]).code(12).err().contains(file));
    }
    for command in ["exit 3", "true", "printf 'a\\nb\\n'"] {
        snapshots(&place, &["--password-command", command]).code(12);
    }
    // Two sources on one level, and none at all.
    snapshots(&place, &["-p", "pw", "--password-command", "echo x"]).code(2);
    let mut command = place.command(&["snapshots"]);
    Ended(command.env("NIGHTJAR_PASSWORD_FILE", "pw").output().unwrap()).code(2);
    assert!(snapshots(&place, &[]).code(2).err().contains("--password-file"));
}

#[test]
fn a_password_file_that_others_can_read_is_warned_of() {
    let place = Place::new();
    place.write("pw", PASSWORD);
    for (mode, warns) in [(0o644, true), (0o600, false)] {
        fs::set_permissions(place.path("pw"), Permissions::from_mode(mode)).unwrap();
        let ended = snapshots(&place, &["-p", "pw"]).code(0);
        assert_eq!(ended.err().contains("warning: other users can read"), warns);
    }
}

/// Both ends of a new terminal.
fn terminal() -> (File, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = OpenOptions::new().read(true).write(true).open(name).unwrap();
    (File::from(master), slave)
}

/// Runs a command with a terminal as its input; types one answer after each question.
pub(super) fn at_terminal(place: &Place, words: &[&str], answers: &[&str]) -> Ended {
    let (mut master, slave) = terminal();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_nightjar"))
        .args(words)
        .current_dir(place.path(""))
        .env_clear()
        .env("NIGHTJAR_REPO", place.repo())
        .stdin(slave)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut err = child.stderr.take().unwrap();
    let mut told = Vec::new();
    for answer in answers {
        // What is typed before the question is thrown away.
        loop {
            let mut byte = [0];
            err.read_exact(&mut byte).unwrap();
            told.push(byte[0]);
            if told.ends_with(b": ") {
                break;
            }
        }
        master.write_all(answer.as_bytes()).unwrap();
    }
    err.read_to_end(&mut told).unwrap();
    let mut output = child.wait_with_output().unwrap();
    output.stderr = told;
    Ended(output)
}

#[test]
fn the_terminal_is_asked_once_and_at_init_twice() {
    let place = Place::empty();
    let init = ["init", "--no-recovery-key"];
    let ended = at_terminal(&place, &init, &["secret\n", "secrex\n"]).code(12);
    assert!(ended.err().contains("differ"), "{}", ended.err());
    // Backspace takes away a whole character.
    at_terminal(&place, &init, &["secreä\x7ft\n", "secret\n"]).code(0);
    at_terminal(&place, &["snapshots"], &["secret\n"]).code(0);
    at_terminal(&place, &["snapshots"], &["wrong\n"]).code(12);
    at_terminal(&place, &["snapshots"], &["sec\x03"]).code(130);
}

#[test]
fn a_recovery_key_opens_the_repository_in_both_forms() {
    let place = Place::empty();
    let made = place.run(&["init", "--json"]).code(0).json();
    let key = made[0]["recovery_key"].as_str().unwrap();
    let words = made[0]["recovery_words"].as_array().unwrap();
    let words: Vec<_> = words.iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(words.len(), 24);
    for secret in [key.to_owned(), words.join(" ")] {
        snapshots_with(&place, "NIGHTJAR_PASSWORD", &secret).code(0);
    }
}
