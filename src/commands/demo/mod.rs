//! `nightjar demo`: a whole backup and restore in a scratch folder, with every byte compared at the end.

mod compare;
mod scratch;
mod steps;
mod tree;

use super::named::record;
use super::{CommandError, Context, Exit, work};
use crate::ui::{Table, bytes, duration, escape, rate, ratio};
use clap::ValueHint;
use scratch::Scratch;
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;
use steps::Steps;

/// Options of `demo`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Save this too, besides the tree that the demo makes; it is only read
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    path: Option<PathBuf>,
    /// Folder in which the scratch folder is made [default: TMPDIR]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    dir: Option<PathBuf>,
    /// Leave the scratch folder behind, to look around in it
    #[arg(long)]
    keep: bool,
}

/// A row of the table at the end.
#[derive(Debug)]
pub(super) struct Row {
    step: &'static str,
    time: Duration,
    /// Bytes that the step worked on.
    worked: Option<u64>,
    /// Bytes that the step added to what is stored, and the plain bytes they stand for.
    stored: Option<(u64, u64)>,
    remark: String,
}

/// Runs `demo`.
///
/// # Errors
/// When a step fails. What differs after the restore is no error; the exit code tells of it.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    let parent = args.dir.as_ref().unwrap_or(&context.temporary);
    let scratch = Scratch::make(parent, context)?;
    let place = escape(scratch.path().as_os_str().as_bytes());
    context.output.note(&format!("the scratch folder is `{place}`"));
    let mut steps = Steps::new(&scratch, args.path.as_deref(), context)?;
    let differences = steps.run()?;
    tell(&steps, &differences, context)?;
    if args.keep {
        let password = steps.keep()?;
        context.output.line(&format!("left behind in `{place}`; look around with"))?;
        context.output.line(&format!(
            "  nightjar --repo {place}/nas --password-file {} snapshots",
            escape(password.as_os_str().as_bytes())
        ))?;
        context.output.flush()?;
    }
    let failed = steps.failed;
    if args.keep {
        scratch.keep();
    }
    work::tell_again(&context.output, "could not be read", &failed);
    Ok(match (differences.is_empty(), failed.is_empty()) {
        (false, _) => Exit::Failed,
        (true, false) => Exit::Partial,
        (true, true) => Exit::Done,
    })
}

fn tell(steps: &Steps<'_>, differences: &[String], context: &Context) -> Result<(), CommandError> {
    let output = &context.output;
    let mut table = Table::new(&["step", ">time", ">data", ">MB/s", ">new", ">stored", ">ratio", "remark"]);
    for row in &steps.rows {
        let text = |number: Option<u64>| number.map(bytes).unwrap_or_default();
        let speed = row.worked.map(|worked| rate(worked, row.time) / 1e6);
        let ratio = row.stored.and_then(|(stored, plain)| ratio(plain, stored));
        output.record(&json!({
            "type": "step", "step": row.step, "seconds": row.time.as_secs_f64(), "bytes": row.worked,
            "bytes_new": row.stored.map(|s| s.1), "bytes_stored": row.stored.map(|s| s.0), "ratio": ratio,
            "megabytes_per_second": speed, "remark": row.remark,
        }))?;
        table.row(vec![
            row.step.to_owned(),
            duration(row.time),
            text(row.worked),
            speed.map(|speed| format!("{speed:.0}")).unwrap_or_default(),
            text(row.stored.map(|s| s.1)),
            text(row.stored.map(|s| s.0)),
            ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
            row.remark.clone(),
        ]);
    }
    for line in table.lines() {
        output.line(&line)?;
    }
    output.line("")?;
    output.line(&match differences.len() {
        0 => format!("every byte and all metadata of {} are as they were", steps.compared()),
        1 => "1 thing differs".to_owned(),
        n => format!("{n} things differ"),
    })?;
    for difference in differences {
        output.warn(difference);
    }
    let mut summary = record("summary");
    summary.insert("command".to_owned(), json!("demo"));
    summary.insert("equal".to_owned(), json!(differences.is_empty()));
    summary.insert("differences".to_owned(), json!(differences));
    output.record(&Value::from(summary))?;
    Ok(output.flush()?)
}
