//! The program as people and scripts meet it: one module a command, and some for what all have in common.
#![expect(clippy::unwrap_used, reason = "tests may stop")]
#![expect(clippy::print_stdout, reason = "what was skipped is said")]

mod backup;
mod bad_input;
mod bench;
mod cache;
mod check;
mod demo;
mod hostile;
mod init;
mod key;
mod kill;
mod listing;
mod memory;
mod password;
mod qat;
mod removal;
mod repo;
mod restore;
mod rollback;
mod roundtrip;
mod usage;

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

const PASSWORD: &str = "correct horse";

/// The program without anything of the surroundings that could lead it elsewhere.
fn bare() -> Command {
    Command::from_std(bare_process())
}

/// The same as a process that can be killed.
fn bare_process() -> std::process::Command {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nightjar"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("NIGHTJAR_") {
            command.env_remove(name);
        }
    }
    // What the user's own runs remember is no business of a test.
    let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join("state");
    command.env("NO_COLOR", "1").env("TZ", "UTC").env("NIGHTJAR_STATE_DIR", state);
    command
}

/// A folder with a repository in it.
struct Place {
    folder: TempDir,
}

impl Place {
    /// No repository yet.
    fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A new repository.
    fn new() -> Self {
        let place = Self::empty();
        place.run(&["init", "--no-recovery-key"]).code(0);
        place
    }

    /// A repository with one snapshot of `source/`.
    fn with_snapshot() -> Self {
        let place = Self::new();
        place.write("source/a.txt", "alpha\n");
        place.write("source/sub/b.txt", "beta\n".repeat(10_000));
        place.write("source/line\nbreak\x1b[31m", "odd\n");
        std::os::unix::fs::symlink("a.txt", place.path("source/link")).unwrap();
        place.run(&["backup", "source"]).code(0);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The program in this place, with the repository and its password as variables.
    fn command(&self, words: &[&str]) -> Command {
        Command::from_std(self.process(words))
    }

    /// The same as a process that can be killed.
    fn process(&self, words: &[&str]) -> std::process::Command {
        let mut command = bare_process();
        command
            .current_dir(self.folder.path())
            .env("NIGHTJAR_REPO", self.repo())
            .env("NIGHTJAR_PASSWORD", PASSWORD)
            .env("NIGHTJAR_STATE_DIR", self.path("state"))
            .args(words);
        command
    }

    fn run(&self, words: &[&str]) -> Ended {
        Ended(self.command(words).output().unwrap())
    }

    /// All files of a folder of the repository.
    fn objects(&self, folder: &str) -> Vec<PathBuf> {
        let mut found = files_below(&self.repo().join(folder));
        found.sort();
        found
    }

    /// `source/` inside a snapshot.
    fn source_in_snapshot(&self) -> String {
        self.path("source").canonicalize().unwrap().to_str().unwrap().to_owned()
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Removes a tree that may be deeper than any path, which the standard library does only for shorter ones.
fn remove_deep(top: &Path) {
    assert!(std::process::Command::new("rm").arg("-rf").arg(top).status().unwrap().success());
}

/// Copies a folder with all that is in it.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = {
            let e = entry.unwrap();
            (e.path(), e.file_name())
        };
        if path.is_dir() { copy_folder(&path, &to.join(name)) } else { _ = fs::copy(&path, to.join(name)).unwrap() }
    }
}

/// A run that has ended.
struct Ended(Output);

impl Ended {
    fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    /// Checks the exit code, and what holds for every run: no secrets, no control characters, three lines for an error.
    #[track_caller]
    fn code(self, code: i32) -> Self {
        let (out, err) = (self.out(), self.err());
        assert_eq!(self.0.status.code(), Some(code), "stdout:\n{out}\nstderr:\n{err}");
        for text in [&out, &err] {
            assert!(!text.contains(PASSWORD), "{text}");
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
            assert!(!text.contains("panicked"), "{text}");
        }
        if let Some(at) = err.find("error: ") {
            let lines: Vec<_> = err[at..].lines().collect();
            let three = lines.len() >= 3 && lines[1].starts_with("  because: ") && lines[2].starts_with("  hint: ");
            assert!(three, "{err}");
        }
        self
    }

    /// The records on stdout; there must be nothing else, and nothing on stderr.
    #[track_caller]
    fn json(self) -> Vec<Value> {
        assert_eq!(self.err(), "");
        let out = self.out();
        let records: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(records.iter().all(|record| record["type"].is_string()), "{out}");
        records
    }
}

/// The records of one type.
fn of_type<'r>(records: &'r [Value], kind: &str) -> Vec<&'r Value> {
    records.iter().filter(|record| record["type"] == kind).collect()
}
