//! `nightjar snapshots`: what backups there are.

use super::named::{put_name, record};
use super::{CommandError, Context, Exit, when};
use crate::base::hex;
use crate::format::{Snapshot, Statistics};
use crate::repo::{NamedSnapshot, SnapshotList};
use crate::ui::{Table, base64, bytes, count, escape, several};
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Options of `snapshots`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Only those of this host
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Only those of this job
    #[arg(long, value_name = "NAME")]
    job: Vec<String>,
    /// Only those with this tag; several tags with commas between them must all be there
    #[arg(long, value_name = "TAG[,TAG...]")]
    tag: Vec<String>,
    /// Only those that hold this path
    #[arg(long, value_name = "PATH")]
    path: Vec<PathBuf>,
    /// Only the newest N
    #[arg(long, value_name = "N")]
    last: Option<usize>,
}

impl Args {
    fn selects(&self, snapshot: &Snapshot, paths: &[PathBuf]) -> bool {
        let one_of = |wanted: &[String], is: &dyn Fn(&str) -> bool| wanted.is_empty() || wanted.iter().any(|w| is(w));
        let has_all = |tags: &str| tags.split(',').all(|tag| snapshot.tags.iter().any(|t| t == tag));
        let holds = |path: &Path| {
            let tops = snapshot.paths.iter();
            tops.map(|top| Path::new(std::ffi::OsStr::from_bytes(top))).any(|top| path.starts_with(top))
        };
        one_of(&self.host, &|host| host == snapshot.host)
            && one_of(&self.job, &|job| snapshot.job.as_deref() == Some(job))
            && one_of(&self.tag, &has_all)
            && (paths.is_empty() || paths.iter().any(|path| holds(path)))
    }
}

/// Runs `snapshots`.
///
/// # Errors
/// When the repository cannot be opened or listed.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    let paths: Vec<PathBuf> =
        args.path.iter().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone())).collect();
    let repository = context.open()?;
    let list = SnapshotList::load(&repository)?;
    let mut shown: Vec<&NamedSnapshot> =
        list.snapshots.iter().filter(|named| args.selects(&named.snapshot, &paths)).collect();
    if let Some(last) = args.last {
        shown.drain(..shown.len().saturating_sub(last));
    }
    let mut table =
        Table::new(&["id", "time", "host", "job", "tags", "paths", ">files", ">size", ">new", ">stored", "remarks"]);
    for named in &shown {
        context.output.record(&json_of(named))?;
        table.row(row(named, context));
    }
    if !shown.is_empty() {
        for line in table.lines() {
            context.output.line(&line)?;
        }
    }
    context.output.flush()?;
    context.output.note(&several(shown.len() as u64, "snapshot"));
    for error in &list.damaged {
        context.output.warn(&error.to_string());
    }
    let vanished = context.compare(&repository, &list)?;
    Ok(if list.damaged.is_empty() && !vanished { Exit::Done } else { Exit::Damage })
}

fn row(named: &NamedSnapshot, context: &Context) -> Vec<String> {
    let Snapshot { time, host, job, tags, paths, statistics, .. } = &named.snapshot;
    let text = |text: &str| escape(text.as_bytes());
    // A line of a table names the first few; `--json` gives all.
    let list = |texts: Vec<String>| match texts.len() {
        0..=4 => texts.join(", "),
        more => format!("{} and {} more", texts[..3].join(", "), count(more as u64 - 3)),
    };
    vec![
        named.short(),
        when::local(*time, &context.zone),
        text(host),
        job.as_deref().map(text).unwrap_or_default(),
        list(tags.iter().map(|tag| text(tag)).collect()),
        list(paths.iter().map(|path| escape(path)).collect()),
        count(statistics.files()),
        bytes(statistics.bytes_total),
        bytes(statistics.bytes_new),
        bytes(statistics.bytes_stored),
        remarks(&named.snapshot),
    ]
}

fn remarks(snapshot: &Snapshot) -> String {
    let mut remarks = Vec::new();
    if snapshot.partial {
        remarks.push("partial".to_owned());
    }
    if snapshot.suspicious {
        remarks.push("suspicious".to_owned());
    }
    if snapshot.statistics.items_failed > 0 {
        remarks.push(format!("{} failed", several(snapshot.statistics.items_failed, "item")));
    }
    remarks.join(", ")
}

/// A snapshot as one object.
pub(super) fn json_of(named: &NamedSnapshot) -> Value {
    let (name, snapshot) = (hex::encode(&named.name), &named.snapshot);
    let mut fields = record("snapshot");
    let paths = snapshot.paths.iter().map(|path| String::from_utf8_lossy(path));
    let more = json!({
        "id": name, "short_id": named.short(), "time": when::utc(snapshot.time),
        "zone_seconds": snapshot.zone_seconds, "host": snapshot.host, "user": snapshot.user, "job": snapshot.job,
        "tags": snapshot.tags, "paths": paths.collect::<Vec<_>>(), "tree": snapshot.root.to_string(),
        "parent": snapshot.parent.map(|parent| hex::encode(&parent)), "program": snapshot.program,
        "options": snapshot.options, "partial": snapshot.partial, "suspicious": snapshot.suspicious, "statistics": statistics(&snapshot.statistics),
        "failed": snapshot.failed.iter().map(|item| {
            let mut failed = serde_json::Map::new();
            put_name(&mut failed, "path", &item.path);
            failed.insert("reason".to_owned(), json!(item.reason));
            Value::from(failed)
        }).collect::<Vec<_>>(),
    });
    if let Value::Object(more) = more {
        fields.extend(more);
    }
    if snapshot.paths.iter().any(|path| std::str::from_utf8(path).is_err()) {
        let paths: Vec<String> = snapshot.paths.iter().map(|path| base64(path)).collect();
        fields.insert("paths_b64".to_owned(), json!(paths));
    }
    Value::from(fields)
}

/// The counts of a run as one object.
pub(super) fn statistics(s: &Statistics) -> Value {
    json!({
        "files_new": s.files_new, "files_changed": s.files_changed, "files_unmodified": s.files_unmodified,
        "directories": s.directories, "others": s.others, "bytes_total": s.bytes_total, "bytes_read": s.bytes_read,
        "bytes_new": s.bytes_new, "bytes_stored": s.bytes_stored, "chunks_new": s.chunks_new,
        "nanos": s.nanos, "items_failed": s.items_failed,
    })
}
