//! `nightjar repair`: do what can be done about damage.

use super::check::{exit, tell_damage, tell_lost, watch};
use super::named::record;
use super::quantity::parse_duration;
use super::verified::{self, Depth};
use super::{CommandError, Context, Exit, Location, work};
use crate::base::hex;
use crate::check::{RepairError, RepairReport, RepairRequest, Salvaged, Sample, Subset, repair, restore_entrance};
use crate::repo::{RepoError, Repository};
use crate::ui::{Activity, bytes, count, several};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

/// A prune that has not renewed its lease for so long is gone.
const GRACE: Duration = Duration::from_hours(24);

/// Options of `repair`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Do it; without this it is only said what would be done
    #[arg(long)]
    apply: bool,
    /// Another copy of the repository, from which damaged and missing objects are fetched
    #[arg(long, value_name = "PLACE")]
    from: Option<OsString>,
    /// Also read every pack, to find what is damaged inside
    #[arg(long)]
    read_data: bool,
    /// Read a part of the packs: a share (5%), a size (50G), or the nth of so many parts (3/7)
    #[arg(long, value_name = "PART", value_parser = verified::parse_subset, conflicts_with = "read_data")]
    read_data_subset: Option<Subset>,
    /// How long to wait for a prune or another repair to end
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    wait: Duration,
}

/// Runs `repair`.
///
/// # Errors
/// When it was stopped, a prune is at work, or the storage failed.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    let repository = match (context.open_itself(), &args.from) {
        (Err(CommandError::Repo(error)), Some(place))
            if error.is_damage() || matches!(error, RepoError::WrongSecret) =>
        {
            match entrance(args, place, error, context)? {
                Some(repository) => repository,
                None => return Ok(Exit::Damage),
            }
        }
        (opened, _) => opened?,
    };
    let from = args.from.as_ref().map(|place| other(place, &repository, context)).transpose()?;
    let subset = args.read_data_subset.or(args.read_data.then_some(Subset::All));
    let request = RepairRequest {
        from: from.as_ref(),
        sample: subset.map(|subset| Sample { subset, every: None }),
        apply: args.apply,
        wait: args.wait,
        grace: GRACE,
    };
    let mut memory = verified::Memory::load(context, &repository.config().repository, Depth::Opened);
    let watch = watch(context);
    let engine = work::engine(work::processors() + 4)?;
    let progress = work::progress(context, Activity::Check, &watch.meter);
    let report = repair(&repository, &engine, &request, &mut memory.verified, &watch);
    drop(progress);
    if request.sample.is_some() {
        memory.store(context);
    }
    let report = report?;
    tell(args, &report, context)?;
    let after = report.after.as_ref().unwrap_or(&report.before);
    // What is lost is said once by the exit code, when it is written down.
    let lost = report.is_needed() && after.lost.iter().any(|entry| !entry.forgotten);
    Ok(exit(after.is_damaged() || lost || !report.is_done(), after.is_uncertain()))
}

/// The repository, after the configs and key slots that it has lost were fetched from another copy; `None` when that is only
/// said.
fn entrance(
    args: &Args,
    place: &OsString,
    error: RepoError,
    context: &Context,
) -> Result<Option<Arc<Repository>>, CommandError> {
    let from = Repository::open(Location::parse(place)?.storage(), context.environment.clone(), &context.secret()?)?;
    let fetched = restore_entrance(&from, &*context.storage()?, args.apply)?;
    if fetched.is_empty() {
        // The copy has no more than is here.
        return Err(error.into());
    }
    context.output.warn(&error.to_string());
    let would = if args.apply { "" } else { "would be " };
    for name in &fetched {
        context.output.line(&format!("fetched     `{name}` {would}fetched from the other copy"))?;
    }
    if args.apply {
        return context.open_itself().map(Some);
    }
    context.output.line("result      nothing was changed; `--apply` does it, and then looks at the rest")?;
    context.output.flush()?;
    Ok(None)
}

/// The other copy, opened with the keys of this one.
fn other(place: &OsString, repository: &Repository, context: &Context) -> Result<Arc<Repository>, CommandError> {
    let location = Location::parse(place)?;
    if location.identity().is_some() && location.identity() == context.location.as_ref().and_then(Location::identity) {
        return Err(CommandError::usage(
            "a repository cannot be repaired from itself",
            "`--from` and `--repo` are the same folder",
            "give the place of another copy, such as a replica",
        ));
    }
    let storage = location.storage();
    let opened = repository.at(storage).map_err(|error| {
        if error.is_damage() || matches!(error, RepoError::NoRepository(_)) {
            return CommandError::failed(
                "what `--from` names cannot be used",
                format!("it is no readable copy of this repository: {error}"),
                "give the place of a copy; a copy has the same id, which `nightjar repo show` prints",
            );
        }
        error.into()
    })?;
    Ok(Arc::new(opened))
}

fn tell(args: &Args, report: &RepairReport, context: &Context) -> Result<(), CommandError> {
    let output = &context.output;
    tell_damage(&report.before.damage, "damaged", context)?;
    tell_damage(&report.before.unreadable, "unreadable", context)?;
    tell_lost(&report.before.lost, report.before.lost_more, context)?;
    for note in &report.notes {
        output.warn(note);
    }
    tell_damage(&report.unfetched, "unfetched", context)?;
    let would = if args.apply { "" } else { "would be " };
    if !report.fetched.is_empty() {
        let sum = report.fetched.iter().map(|(_, length)| length).sum();
        let number = several(report.fetched.len() as u64, "object");
        output.line(&format!("fetched     {number} {would}fetched from the other copy, {}", bytes(sum)))?;
    }
    if !report.indexed.is_empty() {
        let number = several(report.indexed.len() as u64, "pack");
        output.line(&format!("indexed     {number} {would}put into the index again"))?;
    }
    if !report.salvaged.is_empty() {
        let sum = |field: fn(&Salvaged) -> u64| count(report.salvaged.iter().map(field).sum());
        output.line(&format!(
            "salvaged    {} chunks of {} {would}stored again where there is no other copy; {} chunks are lost",
            sum(|pack| pack.chunks),
            several(report.salvaged.len() as u64, "damaged pack"),
            sum(|pack| pack.chunks_lost)
        ))?;
    }
    tell_damage(&report.aside, "aside", context)?;
    for mended in &report.mended {
        let after = mended.after.map_or_else(String::new, |name| format!(" as {}", hex::encode(&name[..4])));
        output.line(&format!(
            "marked      snapshot {} {would}put once more{after}, marked as partial, {} of it lost",
            hex::encode(&mended.before[..4]),
            count(mended.lost)
        ))?;
    }
    let last = report.after.as_ref().unwrap_or(&report.before);
    let gone = last.lost.iter().filter(|entry| !entry.forgotten).count() as u64 + last.lost_more;
    output.line(&match (report.is_needed(), args.apply) {
        (false, _) => "result      nothing to repair".to_owned(),
        (true, false) => "result      nothing was changed; `--apply` does it".to_owned(),
        (true, true) if last.damage.is_empty() && gone == 0 => "result      all is well again".to_owned(),
        (true, true) => format!(
            "result      everything that could be done is done; {} damaged, {} of snapshots lost",
            count(last.damage.len() as u64),
            count(gone)
        ),
    })?;
    output.record(&summary(args, report))?;
    Ok(output.flush()?)
}

fn summary(args: &Args, report: &RepairReport) -> Value {
    let last = report.after.as_ref().unwrap_or(&report.before);
    let salvaged = report.salvaged.iter().map(|pack| {
        json!({
            "pack": hex::encode(&pack.pack), "chunks": pack.chunks, "chunks_lost": pack.chunks_lost,
            "missing": pack.is_missing,
        })
    });
    let mended = report.mended.iter().map(|mended| {
        json!({
            "snapshot_id": hex::encode(&mended.before), "new_snapshot_id": mended.after.map(|name| hex::encode(&name)),
            "lost": mended.lost,
        })
    });
    let mut summary = record("summary");
    if let Value::Object(more) = json!({
        "command": "repair", "applied": args.apply, "needed": report.is_needed(),
        "fetched": report.fetched.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>(),
        "fetched_bytes": report.fetched.iter().map(|(_, length)| length).sum::<u64>(),
        "indexed": report.indexed.iter().map(|name| hex::encode(name)).collect::<Vec<_>>(),
        "salvaged": salvaged.collect::<Vec<_>>(), "marked": mended.collect::<Vec<_>>(),
        "set_aside": report.aside.iter().map(|damage| damage.object.clone()).collect::<Vec<_>>(),
        "damaged_before": report.before.damage.len(), "lost_before": report.before.lost.len(),
        "damaged": last.damage.len(), "lost": last.lost.len() as u64 + last.lost_more,
    }) {
        summary.extend(more);
    }
    Value::from(summary)
}

impl From<RepairError> for CommandError {
    fn from(error: RepairError) -> Self {
        match error {
            RepairError::Busy(who) => Self::busy(
                "a prune or another repair is at work, and nothing was done",
                who,
                "wait until it has ended, or give more time with `--wait`",
            ),
            RepairError::Unreadable(what) => Self::unreadable(
                "something could not be read, and nothing more was changed",
                what,
                "what cannot be read today may be whole; when a disk is failing, copy the object to another with a tool such as ddrescue, put the copy in its place, and run it again",
            ),
            RepairError::Check(error) => error.into(),
        }
    }
}
