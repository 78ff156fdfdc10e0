//! `nightjar backup`: save files, or the output of a command, as a new snapshot.

use super::context::exists;
use super::named::record;
use super::quantity::parse_duration;
use super::sealing::Sealing;
use super::{CommandError, Context, Exit, Location, init, pipe, snapshots, sources, work};
use crate::archive::{About, BackupReport, BackupRequest, ParentChoice, Source, Watch, backup};
use crate::base::hex;
use crate::base::meter::Meter;
use crate::files::{Root, Selection};
use crate::format::check_name;
use crate::repo::{RepoError, Repository, SnapshotList, SnapshotRef};
use crate::storage::Storage;
use crate::ui::{Activity, Level, bytes, count, duration, escape, rate, ratio, several};
use clap::ValueHint;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

/// Options of `backup`.
#[derive(Clone, Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// What is saved; behind --stdin-from-command, the command and its arguments
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    paths: Vec<OsString>,
    /// Save standard input as a file of this name
    #[arg(long, value_name = "NAME")]
    stdin_filename: Option<OsString>,
    /// Save the output of a command, written behind --; when it fails, there is no snapshot
    #[arg(long)]
    stdin_from_command: bool,
    /// Tags, with commas between them or given several times
    #[arg(long, value_name = "TAG[,TAG...]", value_delimiter = ',')]
    tag: Vec<String>,
    /// Host in the snapshot [default: the name of this host]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Job in the snapshot; snapshots of the same job belong together whatever their paths
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// Take unchanged files over from this snapshot [default: the last one of the same host and job or paths]
    #[arg(long, value_name = "SNAPSHOT", conflicts_with = "force")]
    parent: Option<OsString>,
    /// Read every file, also those that look unchanged
    #[arg(short, long)]
    force: bool,
    /// Store nothing, only say what would be
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Make no snapshot when nothing differs from the last one
    #[arg(long)]
    skip_if_unchanged: bool,
    /// Make the repository first if there is none, without a recovery key
    #[arg(long, conflicts_with = "dry_run")]
    init: bool,
    /// Take it as it is that less than half of the files are there that were there before
    #[arg(long)]
    accept_shrink: bool,
    /// Files read at once [default: one a processor, 4 to 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    read_concurrency: Option<u16>,
    /// How often what is stored so far is made findable for the next run after an interruption
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_duration)]
    checkpoint_interval: Duration,
    #[command(flatten)]
    sources: sources::Args,
}

/// Runs `backup`.
///
/// # Errors
/// When no snapshot could be made. Items that cannot be read are no error; the exit code tells of them.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    // Whatever is wrong with the options is said before work begins.
    let parent = parent(args)?;
    let (plan, paths) = plan(args)?;
    let repository = open(args, context)?;
    let source = source(plan, args, context)?;
    // After the command was started: once the library of an accelerator runs, this process must not fork.
    let sealing = sealing(context, &repository)?;
    let about = About { lamport: context.seen(&repository).lamport(), ..about(args, paths, context) };
    let request = BackupRequest { source, parent, compression: sealing.compression, about };
    let report = save(&repository, request, &sealing, context)?;
    tell(args, &report, &sealing, context)?;
    let vanished = !args.dry_run && context.compare(&repository, &SnapshotList::load(&repository)?)?;
    context.tell_cache(&repository);
    work::tell_again(&context.output, "could not be saved whole", &report.failed);
    for line in report.notes.iter().chain(&report.damage) {
        context.output.warn(line);
    }
    if let Some(before) = report.shrunk_from {
        let (before, now) = (count(before), several(report.statistics.files(), "file"));
        context.output.warn(&format!(
            "only {now} where there were {before}: is every source mounted? The snapshot is marked as suspicious, and no \
             rule of `nightjar forget` counts it; if it is as it should be, run it once with --accept-shrink"
        ));
    }
    Ok(match (report.damage.is_empty() && !vanished, report.statistics.items_failed) {
        (false, _) => Exit::Damage,
        (true, 0) if report.shrunk_from.is_none() => Exit::Done,
        (true, _) => Exit::Partial,
    })
}

/// What is saved. A command is not started for a repository that cannot be opened.
fn source(plan: Plan, args: &Args, context: &Context) -> Result<Source, CommandError> {
    Ok(match plan {
        Plan::Paths(roots, mut selection) => {
            // A repository that lies in what it saves would save itself, and grow with every backup.
            if let Some((device, inode)) = context.location.as_ref().and_then(Location::identity) {
                selection.leave_out(device, inode);
            }
            Source::Paths { roots, selection }
        }
        Plan::Input(name) => Source::Stream(pipe::standard_input(name, &context.cancel)?),
        Plan::Command(name) => Source::Stream(pipe::command(name, &args.paths, &context.cancel)?),
    })
}

/// Makes the backup, with progress.
pub(super) fn save(
    repository: &Arc<Repository>,
    request: BackupRequest,
    sealing: &Sealing,
    context: &Context,
) -> Result<BackupReport, CommandError> {
    let watch = Watch {
        meter: Arc::new(Meter::new()),
        cancel: context.cancel.clone(),
        failed: &|item| work::tell_failed(&context.output, item),
    };
    let progress = work::progress(context, Activity::Backup, &watch.meter);
    let report = backup(repository, sealing.engine(), request, &watch);
    drop(progress);
    Ok(report?)
}

/// The engine and the compression for new blocks: what was asked for, else what the repository was set up with.
pub(super) fn sealing(context: &Context, repository: &Repository) -> Result<Sealing, CommandError> {
    let name = &repository.config().compression;
    let Some(usual) = name.parse().ok().or(context.compression) else {
        return Err(CommandError::failed(
            "the repository wants a compression that this version does not know",
            format!("it is called `{}`", escape(name.as_bytes())),
            "choose one with `--compression`, or use a newer version of nightjar",
        ));
    };
    Sealing::choose(usual, work::processors() + 4, context)
}

fn parent(args: &Args) -> Result<ParentChoice, CommandError> {
    Ok(match &args.parent {
        _ if args.force => ParentChoice::None,
        None => ParentChoice::Auto,
        Some(name) => {
            let wanted = SnapshotRef::parse(name.as_bytes())?;
            if wanted.path.is_some() {
                return Err(RepoError::Option("a parent is a whole snapshot, without a path".to_owned()).into());
            }
            ParentChoice::Named(wanted)
        }
    })
}

/// What is to be saved: file trees, or one file of this name.
enum Plan {
    Paths(Vec<Root>, Selection),
    Input(Vec<u8>),
    Command(Vec<u8>),
}

/// What is to be saved, and the paths for the snapshot.
fn plan(args: &Args) -> Result<(Plan, Vec<Vec<u8>>), CommandError> {
    let lists = !args.sources.files_from.is_empty() || !args.sources.files_from0.is_empty();
    let streams = args.stdin_from_command || args.stdin_filename.is_some();
    if streams && (lists || !args.paths.is_empty() && !args.stdin_from_command) {
        return Err(CommandError::usage(
            "a backup saves either files or one stream",
            "paths were given and also an option that saves standard input or a command",
            "make two backups of it",
        ));
    }
    if !streams {
        let roots = args.sources.roots(&args.paths)?;
        if roots.is_empty() {
            return Err(CommandError::usage(
                "there is nothing to back up",
                "no path was given, and no list of paths names one",
                "name what is to be saved, such as `nightjar backup /home`",
            ));
        }
        let paths = roots.iter().map(|root| root.path.as_os_str().as_bytes().to_vec()).collect();
        let selection = args.sources.selection()?;
        return Ok((Plan::Paths(roots, selection), paths));
    }
    let name = args.stdin_filename.as_ref().map_or(&b"stdin"[..], |name| name.as_bytes()).to_vec();
    check_name(&name).map_err(|error| {
        CommandError::usage(
            format!("`{}` cannot be the name of a file", escape(&name)),
            error.to_string(),
            "give a plain name without a slash",
        )
    })?;
    let path = [b"/", &name[..]].concat();
    if !args.stdin_from_command {
        return Ok((Plan::Input(name), vec![path]));
    }
    if args.paths.is_empty() {
        return Err(CommandError::usage(
            "a command is needed",
            "nothing stands behind `--stdin-from-command`",
            "write it behind `--`, such as `--stdin-from-command -- pg_dump shop`",
        ));
    }
    Ok((Plan::Command(name), vec![path]))
}

fn open(args: &Args, context: &Context) -> Result<Arc<Repository>, CommandError> {
    let storage = context.storage()?;
    if args.init && !exists(&*storage)? {
        // One that has lost its config is told as what it is when another is to be made.
        if matches!(Repository::absence(&*storage), RepoError::NoRepository(_)) {
            context.check_no_place(storage.location())?;
        }
        // Without a recovery key: what this prints may go into a log that others read.
        let made = init::make(&init::Args::defaults(true), context)?;
        return Ok(Arc::new(made.repository));
    }
    context.open()
}

fn about(args: &Args, paths: Vec<Vec<u8>>, context: &Context) -> About {
    let environment = &context.environment;
    let now = Timestamp::new(environment.now().seconds, 0).unwrap_or_default();
    About {
        host: args.host.clone().unwrap_or_else(|| environment.host.name.clone()),
        user: context.user.clone(),
        job: args.job.clone(),
        tags: args.tag.iter().filter(|tag| !tag.is_empty()).cloned().collect(),
        paths,
        options: args.sources.for_the_record(),
        zone_seconds: context.zone.to_offset(now).seconds(),
        skip_if_unchanged: args.skip_if_unchanged,
        lamport: 0,
        accept_shrink: args.accept_shrink,
        dry_run: args.dry_run,
        readers: args.read_concurrency.map_or(work::processors().clamp(4, 8), usize::from),
        checkpoint: args.checkpoint_interval,
        estimate: context.output.mode().level > Level::Quiet,
    }
}

fn headline(args: &Args, report: &BackupReport) -> String {
    let parent = report.parent.as_ref();
    let since = parent.map(|parent| format!(", compared with {}", parent.short())).unwrap_or_default();
    match &report.snapshot {
        Some(snapshot) => format!("snapshot {} made{since}", snapshot.short()),
        None if args.dry_run => format!("dry run, nothing was stored{since}"),
        None => format!("nothing has changed, no snapshot was made{since}"),
    }
}

fn tell(args: &Args, report: &BackupReport, sealing: &Sealing, context: &Context) -> Result<(), CommandError> {
    let (output, s) = (&context.output, &report.statistics);
    let time = Duration::from_nanos(s.nanos);
    let speed = rate(s.bytes_read, time);
    let ratio_of_new = ratio(s.bytes_new, s.bytes_stored);
    let times = ratio_of_new.map(|ratio| format!(", ratio {ratio:.2}")).unwrap_or_default();
    let stored = if args.dry_run { String::new() } else { format!(", stored as {}{times}", bytes(s.bytes_stored)) };
    for line in [
        headline(args, report),
        format!(
            "files   {} new, {} changed, {} unmodified; {}, {}",
            count(s.files_new),
            count(s.files_changed),
            count(s.files_unmodified),
            several(s.directories, "folder"),
            several(s.others, "other")
        ),
        format!("read    {} of {}", bytes(s.bytes_read), bytes(s.bytes_total)),
        format!("new     {} in {}{stored}", bytes(s.bytes_new), several(s.chunks_new, "chunk")),
        format!("time    {}, {:.1} MB/s", duration(time), speed / 1e6),
    ] {
        output.line(&line)?;
    }
    let mut summary = record("summary");
    let snapshot = report.snapshot.as_ref();
    if let Value::Object(more) = json!({
        "command": "backup", "dry_run": args.dry_run, "unchanged": report.unchanged,
        "shrunk_from": report.shrunk_from,
        "snapshot": snapshot.map(snapshots::json_of), "snapshot_id": snapshot.map(|s| hex::encode(&s.name)),
        "parent": report.parent.as_ref().map(|parent| hex::encode(&parent.name)),
        "statistics": snapshots::statistics(s), "seconds": time.as_secs_f64(), "bytes_per_second": speed,
        "ratio": ratio_of_new, "failed": work::failed_records(&report.failed), "damage": report.damage, "notes": report.notes,
        "engine": sealing.tell(output), "peak_memory_bytes": work::peak_memory(output),
    }) {
        summary.extend(more);
    }
    output.record(&Value::from(summary))?;
    Ok(output.flush()?)
}
