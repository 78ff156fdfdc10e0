//! `nightjar prune`: remove what no snapshot needs any more.

use super::named::record;
use super::quantity::{parse_duration, parse_share};
use super::{CommandError, Context, Exit, work};
use crate::prune::{Plan, PruneError, PruneReport, PruneRequest, Share, prune};
use crate::repo::SnapshotList;
use crate::ui::{bytes, count, several};
use serde_json::{Value, json};
use std::time::Duration;

/// Options of `prune`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// How long what was marked stays before it is removed; 0 marks and removes at once, and refuses while anybody writes
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = parse_grace)]
    grace: Duration,
    /// How long to wait for another prune
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_grace)]
    wait: Duration,
    /// How much of the repository may stay unused; more than that is copied together
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_share)]
    max_unused: u32,
    /// How much of the repository one run may copy
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = parse_share)]
    max_repack: u32,
    /// Change nothing, only say what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

fn parse_grace(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { parse_duration(text) }
}

/// Runs `prune`.
///
/// # Errors
/// When something cannot be read, another prune is at work, or the storage refuses.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    let repository = context.open()?;
    let request = PruneRequest {
        grace: args.grace,
        wait: args.wait,
        max_unused: args.max_unused,
        max_repack: args.max_repack,
        dry_run: args.dry_run,
    };
    if !args.dry_run {
        context.refuse_vanished(&repository, &SnapshotList::load(&repository)?)?;
    }
    let engine = work::engine(work::processors() + 4)?;
    let report = prune(&repository, &engine, &request, &context.cancel)?;
    for note in &report.notes {
        context.output.warn(note);
    }
    tell(args, &report, context)?;
    let missing = report.plan.as_ref().map_or(0, |plan| plan.chunks_missing);
    Ok(if missing > 0 { Exit::Damage } else { Exit::Done })
}

fn tell(args: &Args, report: &PruneReport, context: &Context) -> Result<(), CommandError> {
    let output = &context.output;
    let would = if args.dry_run { "would be " } else { "" };
    output.line(&format!(
        "swept   {} and {} {would}removed{}",
        several(report.swept_packs as u64, "pack"),
        several(report.swept_snapshots as u64, "forgotten snapshot"),
        if args.dry_run { String::new() } else { format!(", {}", bytes(report.swept_bytes)) }
    ))?;
    for reason in &report.waiting {
        output.line(&format!("        not yet: {reason}"))?;
    }
    if let Some(plan) = &report.plan {
        output.line(&format!(
            "unused  {} of which nothing is needed, {} left by interrupted runs",
            packs_of(&plan.dead),
            several(plan.leftovers.len() as u64, "pack")
        ))?;
        output.line(&format!(
            "copied  {} {would}copied together and marked, {} of their blocks needed",
            packs_of(&plan.sparse),
            bytes(plan.sparse.iter().map(|pack| pack.used).sum())
        ))?;
        output.line(&format!(
            "kept    {}, {}, of these {} unused",
            several(plan.kept_packs as u64, "pack"),
            bytes(plan.kept_bytes),
            bytes(plan.unused_bytes)
        ))?;
        if plan.chunks_missing > 0 {
            let missing = count(plan.chunks_missing);
            output.warn(&format!(
                "snapshots need {missing} chunks that are in no index object; nothing outside the index was marked"
            ));
        }
    }
    if !args.dry_run {
        output.line(&format!(
            "marked  {} and {}, to be removed by a prune after the grace; {} at work",
            several(report.marked_packs as u64, "pack"),
            several(report.marked_snapshots as u64, "forgotten snapshot"),
            several(report.writers_seen as u64, "other writer")
        ))?;
    }
    output.record(&summary(args, report))?;
    Ok(output.flush()?)
}

fn packs_of(shares: &[Share]) -> String {
    let length = shares.iter().map(|share| share.length).sum();
    format!("{} of {}", several(shares.len() as u64, "pack"), bytes(length))
}

fn summary(args: &Args, report: &PruneReport) -> Value {
    let sum = |shares: &[Share]| shares.iter().map(|share| share.length).sum::<u64>();
    let plan = report.plan.as_ref().map(|plan: &Plan| {
        json!({
            "packs_dead": plan.dead.len(), "bytes_dead": sum(&plan.dead), "packs_copied": plan.sparse.len(),
            "bytes_copied_from": sum(&plan.sparse), "packs_left_over": plan.leftovers.len(),
            "bytes_left_over": plan.leftovers.iter().map(|(_, length)| length).sum::<u64>(),
            "packs_kept": plan.kept_packs, "bytes_kept": plan.kept_bytes, "bytes_unused": plan.unused_bytes,
            "bytes_in_all": plan.total_bytes, "chunks_missing": plan.chunks_missing,
        })
    });
    let mut summary = record("summary");
    if let Value::Object(more) = json!({
        "command": "prune", "dry_run": args.dry_run, "plan": plan, "bytes_encrypted_again": report.copied,
        "bytes_compressed_again": report.rebuilt, "packs_marked": report.marked_packs,
        "snapshots_marked": report.marked_snapshots, "other_writers": report.writers_seen,
        "packs_swept": report.swept_packs, "bytes_swept": report.swept_bytes, "snapshots_swept": report.swept_snapshots,
        "packs_spared": report.spared_packs, "leases_lost": report.lost_leases, "waiting": report.waiting,
        "notes": report.notes,
    }) {
        summary.extend(more);
    }
    Value::from(summary)
}

impl From<PruneError> for CommandError {
    fn from(error: PruneError) -> Self {
        match error {
            PruneError::Busy(who) => Self::busy(
                "another prune or a repair is at work, and nothing was done",
                who,
                "wait until it has ended, or give more time with `--wait`",
            ),
            PruneError::Company(who) => Self::busy(
                "without a grace nobody else may be at work, and nothing was removed",
                who,
                "wait until it has ended, or prune with a grace",
            ),
            PruneError::Unreadable(what) => Self::damage(
                "what is needed cannot be known, and nothing was removed",
                what,
                "get the named object back from a copy of the repository; until then nothing is removed",
            ),
            PruneError::Cancelled(signal) => Self::Interrupted(signal),
            PruneError::Repo(error) => Self::Repo(error),
        }
    }
}
