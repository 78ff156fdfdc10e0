//! The manual pages and completions that are checked in are those that the command line yields.
//!
//! `BLESS=1 cargo test --test generated` writes them.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may stop, and is told to bless")]

use clap_complete::Shell;
use nightjar::{cli, commands};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn check(folder: &str, files: &BTreeMap<String, Vec<u8>>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(&folder).unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        for (name, bytes) in files {
            fs::write(folder.join(name), bytes).unwrap();
        }
    }
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        found.insert(name, fs::read(entry.path()).unwrap());
    }
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(files), "{}", folder.display());
    for (name, bytes) in files {
        let same = found[name] == *bytes;
        assert!(same, "{name} is old; `BLESS=1 cargo test --test generated` renews it");
    }
}

#[test]
fn completions_are_up_to_date() {
    let program = cli::program();
    let files = [(Shell::Bash, "nightjar.bash"), (Shell::Zsh, "_nightjar"), (Shell::Fish, "nightjar.fish")];
    let script = |shell| commands::completions::script(shell, &program);
    check("completions", &files.map(|(shell, name)| (name.to_owned(), script(shell))).into());
}

#[test]
fn manual_pages_are_up_to_date() {
    let pages = commands::man::pages(&cli::program()).unwrap();
    assert!(pages[0].0 == "nightjar.1" && pages.len() >= 10);
    check("man", &pages.into_iter().collect());
}

/// Every test that SECURITY.md cites is there: ``file::test``, or `::test` of the file named before.
#[test]
fn the_tests_that_security_md_cites_exist() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = fs::read_to_string(top.join("SECURITY.md")).unwrap();
    let (mut file, mut cited) = (String::new(), 0);
    for code in document.split('`').skip(1).step_by(2) {
        let Some((path, test)) = code.split_once("::").filter(|cited| *cited != ("file", "test")) else { continue };
        if path == "Ended" {
            continue;
        }
        if !path.is_empty() {
            file = path.to_owned();
        }
        let source = fs::read_to_string(top.join(&file)).unwrap_or_default();
        let name = test.rsplit("::").next().unwrap_or(test);
        assert!(source.contains(&format!("fn {name}(")), "SECURITY.md cites {file}::{test}");
        cited += 1;
    }
    assert!(cited > 40, "{cited}");
}
