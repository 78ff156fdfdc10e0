//! `nightjar scrub`: compare every object with its name; needs no password.

use super::check::{exit, tell_damage, watch};
use super::named::record;
use super::quantity::parse_duration;
use super::verified::{self, Depth};
use super::{CommandError, Context, Exit, work};
use crate::base::hex;
use crate::check::{Sample, ScrubReport, Subset, scrub};
use crate::ui::{Activity, bytes, several};
use serde_json::{Value, json};
use std::time::Duration;

/// Options of `scrub`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Read a part of the packs: a share (5%), a size (50G), or the nth of so many parts (3/7)
    #[arg(long, value_name = "PART", value_parser = verified::parse_subset)]
    subset: Option<Subset>,
    /// Only packs that this host has not read for so long, the oldest first
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    every: Option<Duration>,
}

/// Runs `scrub`.
///
/// # Errors
/// When it was stopped, or a folder could not be listed. Damage is no error; the exit code tells of it.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    let storage = context.existing()?;
    let sample = Sample { subset: args.subset.unwrap_or(Subset::All), every: args.every };
    let place = *blake3::hash(crate::storage::Storage::location(&*storage).as_bytes()).as_bytes();
    let mut memory = verified::Memory::load(context, place.first_chunk().unwrap_or(&[0; 16]), Depth::Hashed);
    let watch = watch(context);
    let progress = work::progress(context, Activity::Check, &watch.meter);
    let environment = &context.environment;
    let moment = (environment.now().seconds, &*environment.entropy);
    let report = scrub(&*storage, &sample, &mut memory.verified, moment, &watch);
    drop(progress);
    memory.store(context);
    let report = report?;
    tell(&report, context)?;
    work::peak_memory(&context.output);
    Ok(exit(!report.damage.is_empty(), !report.unreadable.is_empty()))
}

fn tell(report: &ScrubReport, context: &Context) -> Result<(), CommandError> {
    let output = &context.output;
    tell_damage(&report.damage, "damaged", context)?;
    tell_damage(&report.unreadable, "unreadable", context)?;
    for id in &report.repositories {
        output.line(&format!("repository  {}", hex::encode(id)))?;
    }
    output.line(&format!(
        "read        {} of {}, {} of {}",
        several(report.objects_read, "object"),
        report.objects,
        bytes(report.bytes_read),
        bytes(report.bytes)
    ))?;
    output.line(&match (report.damage.len(), report.unreadable.len()) {
        (0, 0) => "result      every object is what its name says".to_owned(),
        (damaged, unreadable) => format!("result      {damaged} damaged, {unreadable} could not be read"),
    })?;
    let mut summary = record("summary");
    if let Value::Object(more) = json!({
        "command": "scrub", "objects": report.objects, "bytes": report.bytes, "objects_read": report.objects_read,
        "bytes_read": report.bytes_read, "damaged": report.damage.len(), "unreadable": report.unreadable.len(),
        "repositories": report.repositories.iter().map(|id| hex::encode(id)).collect::<Vec<_>>(),
    }) {
        summary.extend(more);
    }
    output.record(&Value::from(summary))?;
    Ok(output.flush()?)
}
