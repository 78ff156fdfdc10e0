//! `nightjar bench`: how fast this host compresses and encrypts blocks, and what that costs.
//!
//! The first row is gzip level 6 on the CPU, what file systems compress with in software; every other row says how many
//! times as fast it is. A second table shows what encryption costs at 4 KiB, where it costs most.

mod explain;
mod input;
mod live;
mod measure;
mod page;
mod plan;
mod table;

use super::{CommandError, Context, Exit};
use crate::ui::escape;
use clap::ValueHint;
use live::Live;
use measure::Bench;
use plan::{Cipher, Codec};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Options of `bench`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// File whose contents are compressed, up to 256 MiB of it [default: built-in mixed data]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// Write the sealed blocks, in packs of 32 MiB, to this folder too; they are removed again
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    target: Option<PathBuf>,
    /// Codecs: off, lz4, zstd:N, deflate:N, fast, auto, better, max [default: a choice of them]
    #[arg(long, value_name = "NAME[,NAME...]", value_delimiter = ',')]
    codecs: Vec<Codec>,
    /// Ciphers: none, aes, chacha [default: aes where the CPU has instructions for it, else chacha]
    #[arg(long, value_name = "NAME[,NAME...]", value_delimiter = ',')]
    ciphers: Vec<Cipher>,
    /// Sizes of blocks, 1K to 4M [default: 64K,512K; with --full 4K,64K,256K,512K]
    #[arg(long, value_name = "SIZE[,SIZE...]", value_delimiter = ',', value_parser = plan::parse_block)]
    block_sizes: Vec<u32>,
    /// Threads that work at once, 1 to 256 [default: 1 and as many as there are processors]
    #[arg(long, value_name = "N[,N...]", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Vec<u16>,
    /// How long each row is measured, in seconds, 0.01 to 3600 [default: 0.3]
    #[arg(long, value_name = "SECONDS", value_parser = plan::parse_seconds)]
    seconds: Option<f64>,
    /// Every codec, cipher and block size
    #[arg(long)]
    full: bool,
    /// Say what limits each row, and what an accelerator would change
    #[arg(long)]
    explain: bool,
    /// Write the rows to this file as comma-separated values
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    csv: Option<PathBuf>,
    /// Write a page with bars to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    /// Tell once a second how it goes: influx prints line protocol instead of tables, prometheus:FILE keeps a file of metrics
    #[arg(long, value_name = "WHERE")]
    live: Option<Live>,
}

/// Runs `bench`.
///
/// # Errors
/// When an option cannot be met, an engine gave a wrong output, or what was measured cannot be written.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    // What cannot be written at the end is said at the beginning.
    for file in args.csv.iter().chain(&args.html) {
        check_folder(file)?;
    }
    if let Some(Live::Prometheus(file)) = &args.live {
        check_folder(file)?;
    }
    let input = input::load(args.file.as_deref())?;
    let plan = plan::make(args, context)?;
    let bench = Bench::start(&input, args, context)?;
    let mut measured = Vec::with_capacity(plan.rows.len());
    for row in &plan.rows {
        if context.cancel.requested().is_some() {
            break;
        }
        measured.push(bench.row(row, &plan)?);
    }
    let interrupted = context.cancel.requested();
    let limits = match (args.explain, interrupted) {
        (true, None) => Some(explain::measure(&bench, &plan)?),
        _ => None,
    };
    bench.finish();
    let report = table::Report::new(&measured, &input, &plan, limits);
    if args.live != Some(Live::Influx) {
        report.print(&context.output)?;
    }
    if let Some(path) = &args.csv {
        write(path, &report.csv())?;
    }
    if let Some(path) = &args.html {
        write(path, &page::of(&report))?;
    }
    context.output.flush()?;
    match interrupted {
        Some(signal) => Err(CommandError::Interrupted(signal)),
        None => Ok(Exit::Done),
    }
}

fn unwritable(path: &Path, because: &dyn std::fmt::Display) -> CommandError {
    CommandError::failed(
        format!("could not write `{}`", escape(path.as_os_str().as_bytes())),
        because.to_string(),
        "name a file in a folder that is there and can be written to",
    )
}

fn check_folder(file: &Path) -> Result<(), CommandError> {
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if file.is_dir() {
        return Err(unwritable(file, &"it is a folder"));
    }
    if !folder.is_dir() {
        return Err(unwritable(file, &"there is no such folder"));
    }
    Ok(())
}

/// Puts a file in place at once, so that nobody reads half of it.
pub(super) fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let mut name = path.file_name().unwrap_or(OsStr::new("bench")).to_owned();
    name.push(".part");
    let partial = path.with_file_name(name);
    let written = std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        unwritable(path, &error)
    })
}
