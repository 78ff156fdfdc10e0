//! `nightjar restore`: get files back from a snapshot.

use super::named::record;
use super::{CommandError, Context, Exit, work};
use crate::base::hex;
use crate::base::meter::Meter;
use crate::repo::{ChunkReader, Index, NamedSnapshot, Repository, SnapshotRef};
use crate::restore::{RestoreReport, RestoreRequest, Watch, restore, select};
use crate::ui::{Activity, bytes, count, duration, escape, rate, several};
use clap::ValueHint;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Options of `restore`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Snapshot: the beginning of its id, `latest` or `latest~N`, with `:/path` for what is at or below a path
    #[arg(value_name = "SNAPSHOT[:/PATH]")]
    snapshot: OsString,
    /// Folder that takes the files; made if it is missing
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    target: PathBuf,
}

/// Runs `restore`.
///
/// # Errors
/// When nothing could be restored, or it was stopped. Items that fail are no error; the exit code tells of them.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    let wanted = SnapshotRef::parse(args.snapshot.as_bytes())?;
    let repository = context.open()?;
    let (found, others_damaged) = context.find(&repository, &wanted)?;
    let (index, index_damaged) = context.index(&repository)?;
    let clock = &context.environment.clock;
    let start = clock.monotonic();
    let path = wanted.path.as_deref().unwrap_or_default();
    let report = fetch(&repository, &index, (&found, path), &args.target, context)?;
    let time = clock.monotonic().saturating_sub(start);
    tell(args, &found, &report, time, context)?;
    context.tell_cache(&repository);
    work::tell_again(&context.output, "could not be restored whole", &report.failed);
    work::tell_again(&context.output, "damaged in the repository", &report.damaged);
    // Also what was damaged without being needed: `latest` is then perhaps not the latest.
    let damaged = others_damaged || index_damaged || !report.damaged.is_empty();
    Ok(match (damaged, report.failed.is_empty()) {
        (true, _) => Exit::Damage,
        (false, _) if report.storage_failed => Exit::Storage,
        (false, false) => Exit::Partial,
        (false, true) => Exit::Done,
    })
}

/// Restores a path of a snapshot into `target`, with progress.
pub(super) fn fetch(
    repository: &Arc<Repository>,
    index: &Arc<Index>,
    (from, path): (&NamedSnapshot, &[u8]),
    target: &Path,
    context: &Context,
) -> Result<RestoreReport, CommandError> {
    let mut reader = ChunkReader::new(repository, index);
    // Each reader has a lane of its own.
    let readers = work::processors().clamp(2, 8);
    let engine = work::engine((work::processors() / readers + 2).max(2))?;
    let request =
        RestoreRequest { selected: select(&mut reader, &from.snapshot, path)?, target: target.to_path_buf(), readers };
    let watch = Watch {
        meter: Arc::new(Meter::new()),
        cancel: context.cancel.clone(),
        failed: &|item| work::tell_failed(&context.output, item),
    };
    let progress = work::progress(context, Activity::Restore, &watch.meter);
    let report = restore(repository, index, &engine, &request, &watch);
    drop(progress);
    Ok(report?)
}

fn tell(
    args: &Args,
    from: &NamedSnapshot,
    report: &RestoreReport,
    time: Duration,
    context: &Context,
) -> Result<(), CommandError> {
    let output = &context.output;
    let speed = rate(report.bytes, time);
    let target = escape(args.target.as_os_str().as_bytes());
    output.line(&format!("restored from snapshot {} into `{target}`", from.short()))?;
    output.line(&format!(
        "files   {} with {}; {}, {}",
        count(report.files),
        bytes(report.bytes),
        several(report.directories, "folder"),
        several(report.others, "other")
    ))?;
    output.line(&format!("time    {}, {:.1} MB/s", duration(time), speed / 1e6))?;
    let mut summary = record("summary");
    if let Value::Object(more) = json!({
        "command": "restore", "snapshot_id": hex::encode(&from.name), "files": report.files,
        "directories": report.directories, "others": report.others, "bytes": report.bytes,
        "seconds": time.as_secs_f64(), "bytes_per_second": speed,
        "failed": work::failed_records(&report.failed), "peak_memory_bytes": work::peak_memory(output), "damaged": work::failed_records(&report.damaged),
    }) {
        summary.extend(more);
    }
    output.record(&Value::from(summary))?;
    Ok(output.flush()?)
}
