//! What a backup is to save and what it leaves out, as options say.

use super::CommandError;
use super::quantity::parse_size;
use crate::files::{Case, Root, Selection, SelectionError};
use crate::ui::escape;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Options that choose files.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "What is saved")]
pub(super) struct Args {
    /// More paths from a file, one a line; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) files_from: Vec<PathBuf>,
    /// The same with NUL behind each path, as find -print0 writes them
    #[arg(long, value_name = "FILE")]
    pub(super) files_from0: Vec<PathBuf>,
    /// Leave out what fits the pattern
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<OsString>,
    /// The same, small and capital letters being equal
    #[arg(long, value_name = "PATTERN")]
    iexclude: Vec<OsString>,
    /// Leave out what fits the patterns in a file, one a line; they come behind those of the command line
    #[arg(long, value_name = "FILE")]
    exclude_file: Vec<PathBuf>,
    /// Leave out the contents of folders that are marked by a CACHEDIR.TAG
    #[arg(long)]
    exclude_caches: bool,
    /// Leave out the contents of folders that hold this file, with this text at its beginning if one is given
    #[arg(long, value_name = "NAME[:TEXT]")]
    exclude_if_present: Vec<OsString>,
    /// Leave out files larger than this
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    exclude_larger_than: Option<u64>,
    /// Stay on the file system of each path
    #[arg(short = 'x', long)]
    one_file_system: bool,
}

impl Args {
    /// What is left out.
    pub(super) fn selection(&self) -> Result<Selection, CommandError> {
        let mut selection = Selection::new();
        for (patterns, case) in [(&self.exclude, Case::Sensitive), (&self.iexclude, Case::Ignored)] {
            for pattern in patterns {
                selection.exclude(pattern.as_bytes(), case).map_err(|e| wrong(&e))?;
            }
        }
        for path in &self.exclude_file {
            let name = escape(path.as_os_str().as_bytes());
            let contents = fs::read(path).map_err(|error| unreadable("exclude file", &name, &error))?;
            selection.exclude_file(&name, &contents, Case::Sensitive).map_err(|e| wrong(&e))?;
        }
        for text in &self.exclude_if_present {
            selection.exclude_if_present(text.as_bytes()).map_err(|e| wrong(&e))?;
        }
        if self.exclude_caches {
            selection.exclude_caches();
        }
        if let Some(size) = self.exclude_larger_than {
            selection.exclude_larger_than(size);
        }
        if self.one_file_system {
            selection.one_file_system();
        }
        Ok(selection)
    }

    /// The paths to save: those given and those in files, absolute and each once.
    pub(super) fn roots(&self, paths: &[OsString]) -> Result<Vec<Root>, CommandError> {
        let mut all: Vec<OsString> = paths.to_vec();
        for (files, end) in [(&self.files_from, b'\n'), (&self.files_from0, b'\0')] {
            for file in files {
                all.extend(list_in(file, end)?);
            }
        }
        if all.iter().any(|path| path.is_empty()) {
            return Err(CommandError::usage(
                "a path is empty",
                "nobody can tell what it was meant to name; perhaps a variable is not set",
                "give `.` for the current folder",
            ));
        }
        let folder = std::env::current_dir().or_else(|error| {
            let absolute = all.iter().all(|path| Path::new(path).is_absolute());
            if absolute { Ok(PathBuf::from("/")) } else { Err(error) }
        });
        let folder = folder.map_err(|error| unreadable("folder", ".", &error))?;
        let (mut roots, mut known) = (Vec::new(), HashSet::new());
        for path in &all {
            let root = Root::new(Path::new(path), &folder)
                .map_err(|error| unreadable("path", &escape(path.as_bytes()), &error))?;
            if known.insert(root.clone()) {
                roots.push(root);
            }
        }
        Ok(roots)
    }

    /// The options that decide what is in the snapshot, for the record.
    pub(super) fn for_the_record(&self) -> Vec<String> {
        let mut options = Vec::new();
        let mut add = |name: &str, value: &OsStr| options.push(format!("--{name}={}", escape(value.as_bytes())));
        self.exclude.iter().for_each(|p| add("exclude", p));
        self.iexclude.iter().for_each(|p| add("iexclude", p));
        self.exclude_file.iter().for_each(|p| add("exclude-file", p.as_os_str()));
        self.exclude_if_present.iter().for_each(|p| add("exclude-if-present", p));
        if let Some(size) = self.exclude_larger_than {
            options.push(format!("--exclude-larger-than={size}"));
        }
        if self.exclude_caches {
            options.push("--exclude-caches".to_owned());
        }
        if self.one_file_system {
            options.push("--one-file-system".to_owned());
        }
        options
    }
}

/// Most bytes of a list of paths.
const LIST_MAX: u64 = 1 << 30;

fn list_in(file: &Path, end: u8) -> Result<Vec<OsString>, CommandError> {
    let name = escape(file.as_os_str().as_bytes());
    let mut text = Vec::new();
    let read = if file == Path::new("-") {
        io::stdin().take(LIST_MAX + 1).read_to_end(&mut text)
    } else {
        fs::File::open(file).and_then(|list| list.take(LIST_MAX + 1).read_to_end(&mut text))
    };
    let fits = |length: &usize| *length as u64 <= LIST_MAX;
    let long = || io::Error::other("it is longer than 1 GiB");
    read.and_then(|length| fits(&length).then_some(()).ok_or_else(long))
        .map_err(|error| unreadable("list of paths", &name, &error))?;
    let paths = text.split(|byte| *byte == end);
    let paths = paths.map(|path| if end == b'\n' { path.strip_suffix(b"\r").unwrap_or(path) } else { path });
    Ok(paths.filter(|path| !path.is_empty()).map(|path| OsString::from_vec(path.to_vec())).collect())
}

fn unreadable(what: &str, name: &str, error: &io::Error) -> CommandError {
    CommandError::usage(
        format!("the {what} `{name}` cannot be used"),
        error.to_string(),
        "check how it is written, and the permissions; nothing was saved",
    )
}

fn wrong(error: &SelectionError) -> CommandError {
    CommandError::usage(
        "the selection of files cannot be used",
        error.to_string(),
        "patterns are written as in .gitignore; nothing was saved",
    )
}
