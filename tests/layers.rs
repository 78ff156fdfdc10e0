//! The rules of the house (`ARCHITECTURE.md`, "Floors"), held by reading the sources.

#[path = "layers/source.rs"]
mod source;

use source::{Source, words};
use std::fs;
use std::path::Path;

/// The rooms and their floors. Arrows go down; neighbours on a floor do not know each other.
const FLOORS: &[(u8, &[&str])] = &[
    (1, &["base", "chunker"]),
    (2, &["storage", "ui"]),
    (3, &["format"]),
    (4, &["codec", "crypto", "files"]),
    (5, &["engine"]),
    (6, &["repo"]),
    (7, &["archive", "restore", "prune", "check", "replicate", "schedule"]),
    (8, &["commands"]),
    (9, &["cli"]),
];

/// The only room that `main.rs` knows.
const ENTRANCE: &str = "cli";

/// Words that may stand only in files whose path starts with one of the given beginnings; tests may use them.
const RESERVED: &[(&str, &[&str])] = &[
    ("SystemTime::now", &["base/clock.rs"]),
    ("Instant::now", &["base/clock.rs"]),
    ("getrandom", &["base/entropy.rs"]),
    ("tokio", &["storage/"]),
    ("print!", &["ui/", "main.rs"]),
    ("println!", &["ui/", "main.rs"]),
    ("eprint!", &["ui/", "main.rs"]),
    ("eprintln!", &["ui/", "main.rs"]),
    ("stdout()", &["ui/", "main.rs"]),
    ("stderr()", &["ui/", "main.rs"]),
    ("env::var", &["cli/"]),
    ("env::var_os", &["cli/"]),
    ("env::vars", &["cli/"]),
    ("env::vars_os", &["cli/"]),
    ("env::args", &["cli/"]),
    ("env::args_os", &["cli/"]),
];

/// Words that stand nowhere, not even in tests.
const FORBIDDEN: &[&str] = &["todo!", "unimplemented!", "dbg!"];

/// Files with system calls that have no safe wrapper, besides those of `engine/qat*`; each a decision of its own.
const UNSAFE_ALLOWED: &[&str] = &[];

/// Words that say nothing about what is in a file.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "common", "manager", "managers"];

const LONGEST_FILE: usize = 800;
const LONGEST_MAIN: usize = 30;

fn floor(room: &str) -> Option<u8> {
    let found = FLOORS.iter().find(|(_, rooms)| rooms.contains(&room));
    found.map(|(floor, _)| *floor)
}

/// What is wrong with a file, one line each.
fn complaints(source: &Source) -> Vec<String> {
    let mut found = match source.path.as_str() {
        "lib.rs" => complaints_of_lib(source),
        "main.rs" => complaints_of_main(source),
        _ => complaints_of_arrows(source),
    };
    found.extend(complaints_of_words(source));
    if source.length() > LONGEST_FILE {
        found.push(format!("{}: {} lines before its tests, {LONGEST_FILE} are allowed", source.path, source.length()));
    }
    found
}

fn complaints_of_lib(source: &Source) -> Vec<String> {
    let is_room = |line: &str| {
        let room = line.strip_prefix("pub mod ").and_then(|line| line.strip_suffix(';'));
        room.is_some_and(|room| floor(room).is_some())
    };
    let lines = source.code.lines().map(str::trim).enumerate();
    lines
        .filter(|(_, line)| !line.is_empty() && !is_room(line))
        .map(|(at, line)| format!("lib.rs:{}: only docs and rooms stand here, not `{line}`", at + 1))
        .collect()
}

fn complaints_of_main(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let lines = source.code.lines().count();
    if lines > LONGEST_MAIN {
        found.push(format!("main.rs: {lines} lines, {LONGEST_MAIN} are allowed"));
    }
    for at in words(&source.code, "nightjar::") {
        let path = &source.code[at + "nightjar::".len()..];
        if words(path, ENTRANCE).first() != Some(&0) {
            found.push(format!("main.rs:{}: uses another room than `{ENTRANCE}`", source.line(at)));
        }
    }
    found
}

fn complaints_of_arrows(source: &Source) -> Vec<String> {
    let (path, room) = (&source.path, source.room());
    let Some(from) = floor(room) else {
        return vec![format!("{path}: the room `{room}` has no floor")];
    };
    let mut found = Vec::new();
    for (line, named) in source.roots_named() {
        match floor(&named) {
            _ if named == room => {}
            None => found.push(format!("{path}:{line}: `{named}` is used through the root and is no room")),
            Some(to) if to < from => {}
            Some(to) if to == from => {
                found.push(format!("{path}:{line}: `{room}` must not know its neighbour `{named}`"));
            }
            Some(to) => {
                found.push(format!("{path}:{line}: `{room}` on floor {from} must not know `{named}` on floor {to}"));
            }
        }
    }
    found
}

fn complaints_of_words(source: &Source) -> Vec<String> {
    let path = &source.path;
    let mut found = Vec::new();
    for (word, allowed) in RESERVED {
        if !allowed.iter().any(|start| path.starts_with(start)) {
            let places = words(source.own_code(), word).into_iter();
            found.extend(places.map(|at| format!("{path}:{}: `{word}` belongs in {allowed:?}", source.line(at))));
        }
    }
    for word in FORBIDDEN {
        let places = words(&source.code, word).into_iter();
        found.extend(places.map(|at| format!("{path}:{}: `{word}` is not finished", source.line(at))));
    }
    if !path.starts_with("engine/qat") && !UNSAFE_ALLOWED.contains(&path.as_str()) {
        let places = words(&source.code, "unsafe").into_iter();
        found.extend(places.map(|at| format!("{path}:{}: `unsafe` is not allowed here", source.line(at))));
    }
    found
}

/// What is wrong with the name of a file or folder.
fn complaint_of_name(path: &str) -> Option<String> {
    let own = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let empty = own.split(['_', '-', '.']).find(|word| EMPTY_NAMES.contains(word))?;
    Some(format!("{path}: `{empty}` does not say what is in it"))
}

/// All files below the folder `top` of the package, as paths below it.
fn files(top: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(top);
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("a readable folder").path();
            let below = path.strip_prefix(&root).expect("it was found below the root");
            found.push(below.to_str().expect("file names are text").to_owned());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_sources_keep_the_rules_of_the_house() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let is_source = |path: &String| Path::new(path).extension().is_some_and(|ext| ext == "rs");
    let sources: Vec<String> = files("src").into_iter().filter(is_source).collect();
    assert!(sources.iter().any(|path| path == "storage/mod.rs"), "no sources were read");
    for path in &sources {
        let text = fs::read_to_string(root.join(path)).expect("a readable file");
        found.extend(complaints(&Source::new(path, &text)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn names_of_files_say_what_is_in_them() {
    let all = ["src", "crates", "tests", "benches"].map(files).concat();
    let found: Vec<String> = all.iter().filter_map(|path| complaint_of_name(path)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Snippets that break a rule, with a part of the complaint.
const BAD: &[(&str, &str, &str)] = &[
    ("base/x.rs", "use crate::storage::Storage;", "on floor 1 must not know `storage` on floor 2"),
    ("storage/x.rs", "fn f() { crate::repo::open() }", "must not know `repo` on floor 6"),
    ("codec/x.rs", "use crate::crypto::Key;", "must not know its neighbour `crypto`"),
    ("prune/deep/x.rs", "use crate::{base::hex, archive::Archiver};", "its neighbour `archive`"),
    ("archive/mod.rs", "use super::prune::Pruner;", "its neighbour `prune`"),
    ("format/x.rs", "#[cfg(test)]\nmod tests { use crate::repo::Index; }", "x.rs:2: `format` on floor 3"),
    ("repo/x.rs", "use crate::Repository;", "`Repository` is used through the root"),
    ("repo/x.rs", "use crate::*;", "`*` is used through the root"),
    ("repo/x.rs", "use crate as house;", "`*` is used through the root"),
    ("cellar/x.rs", "", "the room `cellar` has no floor"),
    ("stray.rs", "", "the room `stray` has no floor"),
    ("lib.rs", "//! Doc.\npub mod base;\npub use base::hex;", "lib.rs:3: only docs and rooms"),
    ("lib.rs", "pub mod cellar;", "not `pub mod cellar;`"),
    ("lib.rs", "mod base;", "not `mod base;`"),
    ("main.rs", "fn main() { nightjar::commands::run() }", "uses another room than `cli`"),
    ("main.rs", "use nightjar::{cli, repo};", "uses another room than `cli`"),
    ("repo/x.rs", "let now = std::time::SystemTime::now();", "`SystemTime::now` belongs in"),
    ("repo/x.rs", "let now = Instant::now();", "`Instant::now` belongs in"),
    ("crypto/x.rs", "getrandom::fill(&mut key)?;", "`getrandom` belongs in"),
    ("repo/x.rs", "use tokio::runtime::Runtime;", "`tokio` belongs in"),
    ("repo/x.rs", "println!(\"x\");", "`println!` belongs in"),
    ("repo/x.rs", "eprintln!(\"x\");", "`eprintln!` belongs in"),
    ("commands/x.rs", "io::stdout().lock();", "`stdout()` belongs in"),
    ("commands/x.rs", "io::stderr().lock();", "`stderr()` belongs in"),
    ("commands/x.rs", "std::env::var(\"HOME\");", "`env::var` belongs in"),
    ("commands/x.rs", "std::env::var_os(\"HOME\");", "`env::var_os` belongs in"),
    ("commands/x.rs", "std::env::args();", "`env::args` belongs in"),
    ("repo/x.rs", "fn f() { todo!() }", "`todo!` is not finished"),
    ("repo/x.rs", "#[cfg(test)]\nmod tests { fn f() { dbg!(1); } }", "`dbg!` is not finished"),
    ("repo/x.rs", "fn f() { unimplemented!() }", "`unimplemented!` is not finished"),
    ("repo/x.rs", "unsafe { f() }", "`unsafe` is not allowed here"),
    ("engine/pool.rs", "unsafe impl Send for X {}", "`unsafe` is not allowed here"),
];

#[test]
fn every_broken_rule_is_noticed() {
    for (path, text, expected) in BAD {
        let found = complaints(&Source::new(path, text));
        assert_eq!(found.len(), 1, "{path}: {text}: {found:?}");
        assert!(found[0].contains(expected), "{text}: {found:?}");
    }
    let long = "\n".repeat(LONGEST_FILE + 1);
    assert_eq!(complaints(&Source::new("repo/x.rs", &long)).len(), 1);
    let long = "\n".repeat(LONGEST_MAIN + 1);
    assert_eq!(complaints(&Source::new("main.rs", &long)).len(), 1);
    for name in
        ["repo/util.rs", "repo/path_helpers.rs", "common/", "common", "repo/PackManager.rs", "repo/pack-manager.rs"]
    {
        let bad = complaint_of_name(name).is_some();
        assert_eq!(bad, !matches!(name, "common/" | "repo/PackManager.rs"), "{name}");
    }
}

#[test]
fn what_the_rules_allow_is_not_complained_about() {
    for (path, text) in [
        ("repo/x.rs", "use crate::{base::hex, storage::{Folder, Storage}, repo::Index};"),
        ("repo/x.rs", "use super::index; pub(crate) fn f() {} pub(super) fn g() {}"),
        ("repo/deep/x.rs", "use super::super::index;"),
        ("repo/x.rs", "// SystemTime::now, unsafe, todo!\nlet s = \"println! tokio crate::cli\";"),
        ("repo/x.rs", "#[cfg(test)]\nmod tests { fn f() { println!(\"x\"); std::env::args(); } }"),
        ("repo/x.rs", "command.stdout(Stdio::piped()); writeln!(out); let unsafe_names = 1;"),
        ("base/clock.rs", "Instant::now(); SystemTime::now();"),
        ("base/entropy.rs", "getrandom::fill(bytes)"),
        ("storage/runtime.rs", "tokio::runtime::Builder::new_current_thread()"),
        ("ui/mod.rs", "println!(); std::io::stderr();"),
        ("cli/mod.rs", "std::env::args_os(); use crate::commands::backup;"),
        ("engine/qat/lane.rs", "unsafe { f() }"),
        ("lib.rs", "//! Doc.\n\npub mod base;\n/// Doc.\npub mod cli;\n"),
        ("main.rs", "fn main() -> ExitCode { nightjar::cli::main() }"),
    ] {
        assert_eq!(complaints(&Source::new(path, text)), [""; 0], "{path}: {text}");
    }
    assert_eq!(complaint_of_name("commands/restore.rs"), None);
}
