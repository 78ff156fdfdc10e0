//! `nightjar stats`: what a repository holds and how much space it takes.

use super::{CommandError, Context, EngineChoice, Exit, quickassist, sealing, when};
use crate::base::hex;
use crate::engine::qat::Probe;
use crate::repo::{Index, NamedSnapshot, RepoError, Repository, SnapshotList};
use crate::storage::{Folder, ObjectMeta, ObjectName};
use crate::ui::{Table, bytes, clean, count, ratio};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Options of `stats`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// A row for every snapshot too
    #[arg(long)]
    per_snapshot: bool,
    /// Say what accelerator this host has and why it is used or not, instead of anything about a repository
    #[arg(long, id = "engine", value_name = "NAME", num_args = 0..=1, default_missing_value = "auto")]
    engine: Option<EngineChoice>,
}

/// Objects and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    objects: u64,
    bytes: u64,
}

impl Amount {
    fn add(&mut self, length: u64) {
        self.objects += 1;
        self.bytes += length;
    }
}

/// What stands in the storage.
#[derive(Debug, Default)]
struct Stored {
    packs: Amount,
    index: Amount,
    others: Amount,
    /// Packs that no index object knows.
    unindexed: Amount,
    /// Packs that an index object knows and that are not there, or have another length.
    missing: Vec<String>,
}

/// Runs `stats`.
///
/// # Errors
/// When the repository cannot be opened or listed.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    if args.engine.is_some() {
        return tell_engine(context);
    }
    let repository = context.open()?;
    let list = SnapshotList::load(&repository)?;
    for error in &list.damaged {
        context.output.warn(&error.to_string());
    }
    let (index, index_damaged) = context.index(&repository)?;
    let stored = survey(&repository, &index)?;
    for pack in &stored.missing {
        context.output.warn(&format!("`{pack}` is in the index, but missing or of another length"));
    }
    let found = Found { repository: &repository, index: &index, list: &list, stored: &stored };
    for (name, value) in found.rows(context) {
        context.output.line(&format!("{name:<24}{value}"))?;
    }
    context.output.record(&found.record())?;
    if args.per_snapshot {
        tell_snapshots(&list.snapshots, context)?;
    }
    context.output.flush()?;
    let damaged = index_damaged || !list.damaged.is_empty() || !stored.missing.is_empty();
    Ok(if damaged { Exit::Damage } else { Exit::Done })
}

/// What this host has besides its CPU.
fn tell_engine(context: &Context) -> Result<Exit, CommandError> {
    let probe = Probe::of(&context.engine.root);
    let output = &context.output;
    // Until the library has begun nobody knows whether it will.
    let (found, missing) = match quickassist::bring_up(&probe, &sealing::qat(1, 1, context), context) {
        Ok((_, found)) => (Some(found), None),
        Err(missing) => (None, Some(missing)),
    };
    for line in quickassist::probe_lines(&probe) {
        output.line(&line)?;
    }
    match &missing {
        None => {
            output.line(found.as_deref().unwrap_or_default())?;
            output.line("quickassist can be used")?;
        }
        Some(missing) => {
            output.line(&format!("quickassist is off: {}", missing.reason))?;
            output.line(&format!("  hint: {}", missing.hint))?;
        }
    }
    output.line("what a backup with -v or --json counts of it:")?;
    for (name, meaning) in quickassist::glossary() {
        output.line(&format!("  {name:<16}{meaning}"))?;
    }
    let mut record = quickassist::probe_record(&probe, missing.as_ref());
    record["type"] = json!("summary");
    record["command"] = json!("stats");
    record["library"] = json!(found);
    output.record(&record)?;
    output.flush()?;
    Ok(Exit::Done)
}

fn survey(repository: &Repository, index: &Index) -> Result<Stored, CommandError> {
    let mut known: HashMap<_, u64> = index.packs().collect();
    let mut stored = Stored::default();
    for folder in Folder::ALL {
        let mut see = |meta: ObjectMeta| {
            match folder {
                Folder::Packs => {
                    stored.packs.add(meta.length);
                    match known.remove(&meta.name) {
                        None => stored.unindexed.add(meta.length),
                        Some(length) if length != meta.length => stored.missing.push(meta.name.path()),
                        Some(_) => {}
                    }
                }
                Folder::Index => stored.index.add(meta.length),
                _ => stored.others.add(meta.length),
            }
            ControlFlow::Continue(())
        };
        repository.storage().list(folder, &mut see).map_err(RepoError::from)?;
    }
    stored.missing.extend(known.keys().map(ObjectName::path));
    stored.missing.sort();
    Ok(stored)
}

/// All that is told.
struct Found<'a> {
    repository: &'a Repository,
    index: &'a Index,
    list: &'a SnapshotList,
    stored: &'a Stored,
}

impl Found<'_> {
    /// Bytes in all snapshots, as if each was whole.
    fn saved(&self) -> u64 {
        let snapshots = self.list.snapshots.iter();
        snapshots.map(|named| named.snapshot.statistics.bytes_total).sum()
    }

    fn all(&self) -> u64 {
        self.stored.packs.bytes + self.stored.index.bytes + self.stored.others.bytes
    }

    fn rows(&self, context: &Context) -> Vec<(&'static str, String)> {
        let (config, stored) = (self.repository.config(), self.stored);
        let (_, blocks, chunks) = self.index.counts();
        let (plain, sealed) = self.index.bytes();
        let times = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}x"));
        let sizes = [config.chunks.min, config.chunks.avg, config.chunks.max].map(|size| bytes(size.into()));
        let snapshots = self.list.snapshots.len() as u64;
        let blocks = count(blocks as u64);
        vec![
            ("repository", hex::encode(&config.repository)),
            ("location", clean(self.repository.storage().location())),
            ("made", when::local(config.created, &context.zone)),
            ("cipher", self.repository.suite().as_str().to_owned()),
            ("chunk sizes", sizes.join(" / ")),
            ("compression", config.compression.clone()),
            ("snapshots", format!("{}, {} in all", count(snapshots), bytes(self.saved()))),
            ("packs", amount(stored.packs)),
            ("index objects", amount(stored.index)),
            ("blocks", format!("{blocks}, {} plain, {} sealed", bytes(plain), bytes(sealed))),
            ("chunks", count(chunks as u64)),
            ("plain / sealed", times(ratio(plain, sealed))),
            ("snapshots / stored", times(ratio(self.saved(), self.all()))),
            ("stored in all", bytes(self.all())),
            ("not in the index", format!("{} (left by interrupted runs)", amount(stored.unindexed))),
        ]
    }

    fn record(&self) -> Value {
        let (config, stored) = (self.repository.config(), self.stored);
        let (_, blocks, chunks) = self.index.counts();
        let (plain, sealed) = self.index.bytes();
        json!({
            "type": "summary", "command": "stats", "repository": hex::encode(&config.repository),
            "location": self.repository.storage().location(), "created": when::utc(config.created),
            "cipher": self.repository.suite().as_str(), "compression": config.compression,
            "chunk_min": config.chunks.min, "chunk_avg": config.chunks.avg, "chunk_max": config.chunks.max,
            "block_size": config.block, "pack_size": config.data_pack,
            "snapshots": self.list.snapshots.len(), "snapshots_damaged": self.list.damaged.len(),
            "bytes_in_snapshots": self.saved(), "packs": stored.packs.objects, "pack_bytes": stored.packs.bytes,
            "packs_missing": stored.missing, "packs_unindexed": stored.unindexed.objects,
            "bytes_unindexed": stored.unindexed.bytes, "index_objects": stored.index.objects,
            "index_bytes": stored.index.bytes, "index_objects_damaged": self.index.damaged().len(),
            "blocks": blocks, "chunks": chunks, "bytes_plain": plain, "bytes_sealed": sealed,
            "bytes_stored": self.all(), "sealing_ratio": ratio(plain, sealed),
            "total_ratio": ratio(self.saved(), self.all()),
        })
    }
}

fn amount(amount: Amount) -> String {
    format!("{}, {}", count(amount.objects), bytes(amount.bytes))
}

fn tell_snapshots(snapshots: &[NamedSnapshot], context: &Context) -> Result<(), CommandError> {
    let mut table = Table::new(&["id", "time", ">files", ">size", ">new", ">stored", ">ratio"]);
    for named in snapshots {
        let s = &named.snapshot.statistics;
        context.output.record(&super::snapshots::json_of(named))?;
        table.row(vec![
            named.short(),
            when::local(named.snapshot.time, &context.zone),
            count(s.files()),
            bytes(s.bytes_total),
            bytes(s.bytes_new),
            bytes(s.bytes_stored),
            ratio(s.bytes_new, s.bytes_stored).map_or(String::new(), |ratio| format!("{ratio:.2}x")),
        ]);
    }
    context.output.line("")?;
    for line in table.lines() {
        context.output.line(&line)?;
    }
    Ok(())
}
