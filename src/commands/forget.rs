//! `nightjar forget`: take snapshots away, by name or by a policy, and bring them back.

use super::named::record;
use super::snapshots::json_of;
use super::{CommandError, Context, Exit, when};
use crate::base::hex;
use crate::format::Snapshot;
use crate::prune::retention::{Age, Candidate, Policy, Reason, select};
use crate::repo::{NamedSnapshot, RepoError, Repository, SnapshotList, SnapshotRef};
use crate::ui::{Table, escape, several};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Options of `forget`.
#[derive(Clone, Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// Snapshots to take away; or, with --undo, forgotten ones to bring back
    #[arg(value_name = "SNAPSHOT")]
    snapshots: Vec<OsString>,
    #[command(flatten)]
    keep: Rules,
    /// Only snapshots of this host
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Only snapshots of this job
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// The time zone of days, weeks, months and years [default: that of this host]
    #[arg(long, value_name = "NAME", value_parser = parse_zone)]
    time_zone: Option<TimeZone>,
    /// Let a policy leave nothing of a group
    #[arg(long)]
    allow_empty: bool,
    /// Bring forgotten snapshots back; possible until a prune has swept them
    #[arg(long, conflicts_with_all = ["keep", "list", "allow_empty", "dry_run"], requires = "snapshots")]
    undo: bool,
    /// List what can be brought back
    #[arg(long, conflicts_with_all = ["snapshots", "keep", "dry_run"])]
    list: bool,
    /// Change nothing, only say what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// The rules of a policy.
#[expect(clippy::struct_field_names, reason = "the names are those of the options")]
#[derive(Clone, Debug, clap::Args)]
#[group(id = "keep", multiple = true)]
struct Rules {
    /// Keep the newest N of a group
    #[arg(short = 'l', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep_last: Option<u32>,
    /// Keep one for each of the N most recent hours that have one
    #[arg(short = 'H', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep_hourly: Option<u32>,
    /// Days
    #[arg(short = 'd', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep_daily: Option<u32>,
    /// ISO weeks
    #[arg(short = 'w', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep_weekly: Option<u32>,
    /// Months
    #[arg(short = 'm', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep_monthly: Option<u32>,
    /// Years
    #[arg(short = 'y', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep_yearly: Option<u32>,
    /// Keep all that are no older than this, such as 1y6m, 30d or 12h, before the newest of the group
    #[arg(long, value_name = "SPAN")]
    keep_within: Option<Age>,
    /// One an hour of these
    #[arg(long, value_name = "SPAN")]
    keep_within_hourly: Option<Age>,
    /// One a day
    #[arg(long, value_name = "SPAN")]
    keep_within_daily: Option<Age>,
    /// One a week
    #[arg(long, value_name = "SPAN")]
    keep_within_weekly: Option<Age>,
    /// One a month
    #[arg(long, value_name = "SPAN")]
    keep_within_monthly: Option<Age>,
    /// One a year
    #[arg(long, value_name = "SPAN")]
    keep_within_yearly: Option<Age>,
    /// Keep what has all of these tags; may be given several times
    #[arg(long, value_name = "TAG[,TAG...]")]
    keep_tag: Vec<String>,
    /// Keep these snapshots
    #[arg(long, value_name = "SNAPSHOT", value_delimiter = ',')]
    keep_id: Vec<OsString>,
}

impl Rules {
    fn policy(&self, list: &SnapshotList, allow_empty: bool) -> Result<Policy, CommandError> {
        let tags = self.keep_tag.iter().map(|list| list.split(',').map(str::to_owned).collect()).collect();
        let ids = self.keep_id.iter().map(|id| found(list, id).map(|named| named.name)).collect::<Result<_, _>>()?;
        Ok(Policy {
            counts: [
                self.keep_last,
                self.keep_hourly,
                self.keep_daily,
                self.keep_weekly,
                self.keep_monthly,
                self.keep_yearly,
            ],
            within: [
                self.keep_within,
                self.keep_within_hourly,
                self.keep_within_daily,
                self.keep_within_weekly,
                self.keep_within_monthly,
                self.keep_within_yearly,
            ],
            tags,
            ids,
            allow_empty,
        })
    }
}

fn parse_zone(text: &str) -> Result<TimeZone, String> {
    TimeZone::get(text).map_err(|_| format!("`{text}` is no time zone; write a name such as Europe/Berlin, or UTC"))
}

/// Runs `forget`.
///
/// # Errors
/// When a snapshot is not there, no rule was given, or the storage refuses.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    let policy_given = !args.keep.policy(&SnapshotList::default(), false).is_ok_and(|policy| policy.says_nothing());
    if !args.undo && !args.list && args.snapshots.is_empty() != policy_given {
        let (because, hint) = if policy_given {
            ("snapshots were named and rules given too", "name snapshots, or give rules, not both")
        } else {
            (
                "no snapshot was named and no rule given",
                "name one, or give rules such as `--keep-daily 7 --keep-weekly 5`",
            )
        };
        return Err(CommandError::usage("it is not clear what is to be forgotten", because, hint));
    }
    let repository = context.open()?;
    if args.list {
        return list_forgotten(&repository, context);
    }
    if args.undo {
        return undo(args, &repository, context);
    }
    let list = SnapshotList::load(&repository)?;
    if let Some(error) = list.damaged.first() {
        // A rule that does not see all of a group keeps the wrong ones.
        return Err(CommandError::damage(
            "some snapshots cannot be read, and nothing was forgotten",
            error.to_string(),
            "get the named object back from a copy of the repository, or remove it",
        ));
    }
    context.refuse_vanished(&repository, &list)?;
    if args.snapshots.is_empty() {
        by_policy(args, &list, &repository, context)
    } else {
        let named: Vec<_> = args.snapshots.iter().map(|name| found(&list, name)).collect::<Result<_, _>>()?;
        let removed = take_away(args, &named, &repository, context)?;
        finish(args, 0, removed, context)
    }
}

fn found<'l>(list: &'l SnapshotList, name: &OsString) -> Result<&'l NamedSnapshot, CommandError> {
    let wanted = SnapshotRef::parse(name.as_bytes())?;
    if wanted.path.is_some() {
        return Err(RepoError::Option("a whole snapshot is meant, without a path".to_owned()).into());
    }
    Ok(list.find(&wanted)?)
}

/// What belongs together: the snapshots of a job, or of a host and its paths.
fn group_of(snapshot: &Snapshot) -> (String, Vec<Vec<u8>>) {
    match &snapshot.job {
        Some(job) => (format!("job {}", escape(job.as_bytes())), Vec::new()),
        None => (format!("host {}", escape(snapshot.host.as_bytes())), snapshot.paths.clone()),
    }
}

fn by_policy(
    args: &Args,
    list: &SnapshotList,
    repository: &Repository,
    context: &Context,
) -> Result<Exit, CommandError> {
    let policy = args.keep.policy(list, args.allow_empty)?;
    let zone = args.time_zone.clone().unwrap_or_else(|| context.zone.clone());
    let wanted = |named: &&NamedSnapshot| {
        let (host, job) = (&named.snapshot.host, &named.snapshot.job);
        args.host.as_ref().is_none_or(|wanted| wanted == host) && (args.job.is_none() || args.job == *job)
    };
    // The list is in the order of Lamport numbers, and so is each group.
    let mut groups: BTreeMap<_, Vec<&NamedSnapshot>> = BTreeMap::new();
    for named in list.snapshots.iter().filter(wanted) {
        groups.entry(group_of(&named.snapshot)).or_default().push(named);
    }
    let (mut kept, mut removed) = (0, 0);
    for ((name, paths), group) in &groups {
        let candidates: Vec<_> = group.iter().map(|named| candidate(named)).collect();
        let reasons = select(&policy, &candidates, context.environment.now(), &zone);
        let paths: Vec<_> = paths.iter().map(|path| escape(path)).collect();
        context.output.line(format!("{name} {}", paths.join(" ")).trim_end())?;
        tell(group, &reasons, &zone, context)?;
        let gone: Vec<_> =
            group.iter().zip(&reasons).filter(|(_, why)| why.is_empty()).map(|(named, _)| *named).collect();
        kept += group.len() - gone.len();
        removed += take_away(args, &gone, repository, context)?;
    }
    finish(args, kept, removed, context)
}

fn candidate(named: &NamedSnapshot) -> Candidate {
    let snapshot = &named.snapshot;
    Candidate {
        name: named.name,
        time: snapshot.time,
        tags: snapshot.tags.clone(),
        partial: snapshot.partial,
        suspicious: snapshot.suspicious,
    }
}

fn tell(
    group: &[&NamedSnapshot],
    reasons: &[Vec<Reason>],
    zone: &TimeZone,
    context: &Context,
) -> Result<(), CommandError> {
    let mut table = Table::new(&["", "id", "time", "why"]);
    for (named, why) in group.iter().zip(reasons) {
        let why: Vec<String> = why.iter().map(ToString::to_string).collect();
        let mut fields = record("snapshot");
        fields.insert("id".to_owned(), json!(hex::encode(&named.name)));
        fields.insert("keep".to_owned(), json!(!why.is_empty()));
        fields.insert("reasons".to_owned(), json!(why));
        context.output.record(&Value::from(fields))?;
        let verdict = if why.is_empty() { "forget" } else { "keep" };
        table.row(vec![
            verdict.to_owned(),
            named.short(),
            when::local(named.snapshot.time, zone),
            escape(why.join(", ").as_bytes()),
        ]);
    }
    for line in table.lines() {
        context.output.line(&format!("  {line}"))?;
    }
    Ok(())
}

/// Takes snapshots away, unless it is a dry run; gives how many.
fn take_away(
    args: &Args,
    snapshots: &[&NamedSnapshot],
    repository: &Repository,
    context: &Context,
) -> Result<usize, CommandError> {
    for named in snapshots {
        if !args.dry_run {
            repository.forget(&named.name)?;
        }
        context.output.detail(&format!("{} {}", if args.dry_run { "would forget" } else { "forgot" }, named.short()));
    }
    Ok(snapshots.len())
}

fn finish(args: &Args, kept: usize, removed: usize, context: &Context) -> Result<Exit, CommandError> {
    let output = &context.output;
    let forgotten = several(removed as u64, "snapshot");
    output.line(&if args.dry_run {
        format!("{forgotten} would be forgotten")
    } else if removed == 0 {
        "nothing was forgotten".to_owned()
    } else {
        format!("{forgotten} forgotten; `nightjar forget --undo` brings them back until a prune has swept them")
    })?;
    output.record(&json!({
        "type": "summary", "command": "forget", "dry_run": args.dry_run, "kept": kept, "forgotten": removed,
    }))?;
    output.flush()?;
    Ok(Exit::Done)
}

fn undo(args: &Args, repository: &Repository, context: &Context) -> Result<Exit, CommandError> {
    for name in &args.snapshots {
        let prefix = name.to_str().filter(|name| {
            (1..=64).contains(&name.len()) && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        });
        let prefix = prefix.ok_or_else(|| {
            let shown = escape(name.as_bytes());
            RepoError::Option(format!("`{shown}` is no id of a snapshot; `nightjar forget --list` shows them"))
        })?;
        let back = repository.bring_back(prefix)?;
        let old = back.snapshot.original.map(|name| hex::encode(&name[..4])).unwrap_or_default();
        context.output.line(&format!("snapshot {old} is back as {}", back.short()))?;
        context.output.record(&json_of(&back))?;
    }
    context.output.record(&json!({"type": "summary", "command": "forget", "brought_back": args.snapshots.len()}))?;
    context.output.flush()?;
    Ok(Exit::Done)
}

fn list_forgotten(repository: &Repository, context: &Context) -> Result<Exit, CommandError> {
    let forgotten = repository.forgotten()?;
    for error in &forgotten.damaged {
        context.output.warn(&error.to_string());
    }
    let mut table = Table::new(&["id", "time", "host", "job", "paths"]);
    for named in &forgotten.snapshots {
        context.output.record(&json_of(named))?;
        let snapshot = &named.snapshot;
        let paths: Vec<_> = snapshot.paths.iter().map(|path| escape(path)).collect();
        table.row(vec![
            named.short(),
            when::local(snapshot.time, &context.zone),
            escape(snapshot.host.as_bytes()),
            escape(snapshot.job.as_deref().unwrap_or_default().as_bytes()),
            paths.join(" "),
        ]);
    }
    if !forgotten.snapshots.is_empty() {
        for line in table.lines() {
            context.output.line(&line)?;
        }
    }
    context.output.record(&json!({"type": "summary", "command": "forget", "listed": forgotten.snapshots.len()}))?;
    context.output.flush()?;
    Ok(if forgotten.damaged.is_empty() { Exit::Done } else { Exit::Damage })
}
