//! `nightjar check`: find all that is damaged, down to the files of snapshots.

use super::named::{put_name, record};
use super::quantity::parse_duration;
use super::verified::{self, Depth};
use super::{CommandError, Context, Exit, work};
use crate::base::hex;
use crate::check::{CheckError, CheckReport, Damage, Lost, Sample, Subset, Watch, check};
use crate::repo::SnapshotList;
use crate::ui::{Activity, bytes, count, escape, several, words};
use serde_json::{Value, json};
use std::time::Duration;

/// Options of `check`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Also read every pack: open each block and compare each chunk with its id
    #[arg(long)]
    read_data: bool,
    /// Read a part of the packs: a share (5%), a size (50G), or the nth of so many parts (3/7)
    #[arg(long, value_name = "PART", value_parser = verified::parse_subset, conflicts_with = "read_data")]
    read_data_subset: Option<Subset>,
    /// Of the packs that are to be read, only those that this host has not read for so long, the oldest first
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    every: Option<Duration>,
}

impl Args {
    fn sample(&self) -> Option<Sample> {
        let asked = self.read_data || self.every.is_some();
        let subset = self.read_data_subset.or(asked.then_some(Subset::All))?;
        Some(Sample { subset, every: self.every })
    }
}

/// Runs `check`.
///
/// # Errors
/// When it was stopped, or the storage failed as a whole. Damage is no error; the exit code tells of it.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    let repository = context.open_itself()?;
    let sample = args.sample();
    let mut memory = verified::Memory::load(context, &repository.config().repository, Depth::Opened);
    let watch = watch(context);
    let progress = work::progress(context, Activity::Check, &watch.meter);
    let report = check(&repository, sample.as_ref(), &mut memory.verified, &watch);
    drop(progress);
    if sample.is_some() {
        memory.store(context);
    }
    let report = report?;
    let vanished = context.compare(&repository, &SnapshotList::load(&repository)?)?;
    tell(&report, context)?;
    work::peak_memory(&context.output);
    Ok(exit(report.is_damaged() || vanished, report.is_uncertain()))
}

/// Who looks on while objects are checked.
pub(super) fn watch(context: &Context) -> Watch {
    Watch { meter: std::sync::Arc::default(), cancel: context.cancel.clone(), threads: work::processors().clamp(2, 8) }
}

/// How a run ends that has found this.
pub(super) fn exit(damaged: bool, unreadable: bool) -> Exit {
    match (damaged, unreadable) {
        (true, _) => Exit::Damage,
        (false, true) => Exit::Storage,
        (false, false) => Exit::Done,
    }
}

/// Names objects that are damaged or cannot be read.
pub(super) fn tell_damage(found: &[Damage], kind: &str, context: &Context) -> Result<(), CommandError> {
    for damage in found {
        let mut fields = record(kind);
        fields.insert("object".to_owned(), json!(damage.object));
        fields.insert("reason".to_owned(), json!(words(&damage.reason)));
        context.output.record(&Value::from(fields))?;
        context.output.line(&format!("{kind:<10}  `{}`: {}", damage.object, words(&damage.reason)))?;
    }
    Ok(())
}

/// Names entries of snapshots that are lost.
pub(super) fn tell_lost(lost: &[Lost], more: u64, context: &Context) -> Result<(), CommandError> {
    let known = lost.iter().filter(|entry| entry.known).count() as u64;
    for entry in lost.iter().filter(|entry| !entry.known) {
        let mut fields = record("lost");
        fields.insert("snapshot_id".to_owned(), json!(hex::encode(&entry.snapshot)));
        fields.insert("forgotten".to_owned(), json!(entry.forgotten));
        fields.insert("certain".to_owned(), json!(entry.is_certain));
        put_name(&mut fields, "path", &entry.path);
        fields.insert("reason".to_owned(), json!(words(&entry.reason)));
        context.output.record(&Value::from(fields))?;
        let which = if entry.forgotten { "forgotten snapshot" } else { "snapshot" };
        let id = hex::encode(&entry.snapshot[..4]);
        let what = if entry.is_certain { "lost" } else { "unreadable" };
        let line = format!("{what:<10}  {which} {id} `{}`: {}", escape(&entry.path), words(&entry.reason));
        context.output.line(&line)?;
    }
    if known > 0 {
        let text = format!("known       {} lost before, which a repair has written down", count(known));
        context.output.line(&text)?;
    }
    if more > 0 {
        context.output.line(&format!("lost        and {} more", count(more)))?;
    }
    Ok(())
}

fn tell(report: &CheckReport, context: &Context) -> Result<(), CommandError> {
    let output = &context.output;
    tell_damage(&report.damage, "damaged", context)?;
    tell_damage(&report.unreadable, "unreadable", context)?;
    tell_lost(&report.lost, report.lost_more, context)?;
    output.line(&format!(
        "snapshots   {}, and {} that can be brought back; {} in {}",
        count(report.snapshots),
        count(report.forgotten),
        several(report.entries, "entry"),
        several(report.directories, "folder")
    ))?;
    output.line(&format!(
        "packs       {} with {}, named by {}; {} named by none",
        several(report.packs, "pack"),
        bytes(report.pack_bytes),
        several(report.index_objects, "index object"),
        count(report.packs_unknown)
    ))?;
    output.line(&format!("read        {} with {}", several(report.packs_read, "pack"), bytes(report.bytes_read)))?;
    output.line(&match report.is_damaged() {
        false if !report.is_uncertain() => "result      no damage".to_owned(),
        false => "result      no damage in what could be read, which is not all".to_owned(),
        true => format!(
            "result      {}, and {} of snapshots lost; see `nightjar repair`",
            several(report.damage.len() as u64, "damage"),
            several(report.news(), "entry")
        ),
    })?;
    output.record(&summary(report))?;
    Ok(output.flush()?)
}

fn summary(report: &CheckReport) -> Value {
    let mut summary = record("summary");
    if let Value::Object(more) = json!({
        "command": "check", "snapshots": report.snapshots, "snapshots_forgotten": report.forgotten,
        "directories": report.directories, "entries": report.entries, "index_objects": report.index_objects,
        "packs": report.packs, "pack_bytes": report.pack_bytes, "packs_read": report.packs_read,
        "bytes_read": report.bytes_read, "packs_unknown": report.packs_unknown, "damaged": report.damage.len(),
        "unreadable": report.unreadable.len(), "lost": report.news(),
        "lost_known": report.lost.iter().filter(|lost| lost.known).count(),
    }) {
        summary.extend(more);
    }
    Value::from(summary)
}

impl From<CheckError> for CommandError {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Cancelled(signal) => Self::Interrupted(signal),
            CheckError::OtherRepository => Self::failed(
                "what `--from` names cannot be used",
                "it is another repository than the one that is to be repaired",
                "give the place of a copy; a copy has the same id, which `nightjar repo show` prints",
            ),
            CheckError::Repo(error) => Self::Repo(error),
        }
    }
}
