//! All that can stand on a command line.

use super::help;
use super::settings::Variables;
use crate::codec::Compression;
use crate::commands::{self, CacheSize, EngineChoice};
use crate::engine::qat::Verify;
use crate::ui::{Level, Mode};
use clap::{ArgAction, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// The command line as a tree of commands and options; help, completions and manual come from it.
#[must_use]
pub fn program() -> clap::Command {
    Arguments::command()
        .mut_subcommand("key", |verb| explained(verb, help::KEY_ACTIONS))
        .mut_subcommand("cache", |verb| explained(verb, help::CACHE_ACTIONS))
        .mut_subcommand("repo", |verb| explained(verb, help::REPO_ACTIONS))
}

/// A command with more help for each of the commands below it.
fn explained(verb: clap::Command, texts: &[(&'static str, &'static str)]) -> clap::Command {
    texts.iter().fold(verb, |verb, (name, text)| verb.mut_subcommand(name, |action| action.after_help(*text)))
}

/// Nightly deduplicated, encrypted backups, and every byte back
#[derive(Debug, Parser)]
#[command(
    name = "nightjar",
    bin_name = "nightjar",
    version,
    long_about = help::ABOUT,
    after_help = help::AFTER,
    subcommand_required = true,
    arg_required_else_help = false,
    max_term_width = 100,
    infer_subcommands = false,
)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) verb: Verb,
}

/// Options of all commands.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of all commands")]
pub(super) struct Global {
    /// Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]
    #[arg(short, long, global = true, value_name = "PLACE")]
    pub(super) repo: Option<OsString>,
    /// File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]
    #[arg(short, long, global = true, value_name = "FILE")]
    pub(super) password_file: Option<PathBuf>,
    /// Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]
    #[arg(long, global = true, value_name = "COMMAND")]
    pub(super) password_command: Option<String>,
    /// How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9
    /// [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]
    #[arg(long, global = true, value_name = "NAME")]
    pub(super) compression: Option<Compression>,
    /// Folder for objects of repositories on other hosts, and use it for this one wherever it is
    /// [variable: NIGHTJAR_CACHE_DIR]
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "no_cache")]
    pub(super) cache_dir: Option<PathBuf>,
    /// How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]
    #[arg(long, global = true, value_name = "SIZE")]
    pub(super) cache_size: Option<CacheSize>,
    /// Keep nothing of the repository on this host
    #[arg(long, global = true)]
    pub(super) no_cache: bool,
    /// Print one JSON object a line and nothing else
    #[arg(long, global = true)]
    json: bool,
    /// Show no progress and no notes
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]
    #[arg(long, global = true, value_name = "NAME")]
    pub(super) engine: Option<EngineChoice>,
    /// Which blocks from an accelerator are compared with what went in: off, suspect or always
    #[arg(long, global = true, value_name = "NAME", default_value_t)]
    pub(super) qat_verify: Verify,
    /// Show details; twice, also why things are as they are
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
}

impl Global {
    pub(super) fn mode(&self, variables: &Variables) -> Mode {
        Mode {
            json: self.json,
            level: match (self.quiet, self.verbose) {
                (true, _) => Level::Quiet,
                (false, 0) => Level::Usual,
                (false, 1) => Level::Verbose,
                (false, _) => Level::Thorough,
            },
            plain: variables.no_color,
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Make a repository
    #[command(after_help = help::INIT)]
    Init(commands::init::Args),
    /// Save files, or the output of a command, as a new snapshot
    #[command(after_help = help::BACKUP)]
    Backup(Box<commands::backup::Args>),
    /// List the snapshots
    #[command(after_help = help::SNAPSHOTS)]
    Snapshots(commands::snapshots::Args),
    /// List what is in a snapshot
    #[command(after_help = help::LS)]
    Ls(commands::ls::Args),
    /// Get files back from a snapshot
    #[command(after_help = help::RESTORE)]
    Restore(commands::restore::Args),
    /// Take snapshots away, by name or by rules, and bring them back
    #[command(after_help = help::FORGET)]
    Forget(Box<commands::forget::Args>),
    /// Remove what no snapshot needs any more
    #[command(after_help = help::PRUNE)]
    Prune(commands::prune::Args),
    /// Find all that is damaged, down to the files of snapshots
    #[command(after_help = help::CHECK)]
    Check(commands::check::Args),
    /// Compare every object with its name; needs no password
    #[command(after_help = help::SCRUB)]
    Scrub(commands::scrub::Args),
    /// Do what can be done about damage
    #[command(after_help = help::REPAIR)]
    Repair(commands::repair::Args),
    /// List, add, remove and change what opens the repository
    #[command(after_help = help::KEY, arg_required_else_help = false, disable_help_subcommand = true)]
    Key(commands::key::Args),
    /// Show what the repository is set up with, and change it
    #[command(after_help = help::REPO, arg_required_else_help = false, disable_help_subcommand = true)]
    Repo(commands::repo::Args),
    /// Show and clear what is kept of repositories on this host
    #[command(after_help = help::CACHE, arg_required_else_help = false, disable_help_subcommand = true)]
    Cache(commands::cache::Args),
    /// Say what the repository holds and how much space it takes
    #[command(after_help = help::STATS)]
    Stats(commands::stats::Args),
    /// Measure how fast this host compresses and encrypts
    #[command(after_help = help::BENCH)]
    Bench(Box<commands::bench::Args>),
    /// Show a whole backup and restore in a scratch folder
    #[command(after_help = help::DEMO)]
    Demo(commands::demo::Args),
    /// Print completions for a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions(commands::completions::Args),
    /// Write the manual pages
    #[command(after_help = help::MAN)]
    Man(commands::man::Args),
}

impl Verb {
    /// Whether a signal asks it to stop instead of ending the process.
    pub(super) fn stops_cleanly(&self) -> bool {
        matches!(
            self,
            Self::Backup(_)
                | Self::Restore(_)
                | Self::Demo(_)
                | Self::Bench(_)
                | Self::Prune(_)
                | Self::Check(_)
                | Self::Scrub(_)
                | Self::Repair(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn the_command_line_is_consistent_and_every_command_is_explained() {
        program().debug_assert();
        let mut program = program();
        program.build();
        let own = |verb: &&clap::Command| verb.get_name() != "help";
        let verbs = program.get_subcommands().filter(own);
        for verb in verbs.flat_map(|verb| std::iter::once(verb).chain(verb.get_subcommands().filter(own))) {
            let about = verb.get_about().expect("a first line").to_string();
            assert!(about.len() < 80 && !about.contains('\n'), "{about}");
            let after = verb.get_after_help().expect("more help").to_string();
            assert!(after.contains("EXIT STATUS") && after.contains("EXAMPLE"), "{after}");
        }
    }
}
