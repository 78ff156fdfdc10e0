//! `nightjar repo`: what a repository was set up with, and changing what may change of it.

use super::quantity::parse_small_size;
use super::{CommandError, Context, Exit, when};
use crate::base::hex;
use crate::codec::Compression;
use crate::format::{Config, Suite};
use crate::repo::{ChangedSettings, RepoError, Seen, Settings, SlotInfo, SnapshotList};
use crate::ui::{bytes, clean, several};
use serde_json::{Value, json};
use std::sync::Arc;

/// Options of `repo`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Action {
    /// Show what the repository is set up with
    Show,
    /// Take the repository as it is, after it went back or was replaced by another
    Accept,
    /// Change how new data is stored: compression, block size, pack sizes
    Set(SetArgs),
}

#[derive(Clone, Debug, clap::Args)]
struct SetArgs {
    /// Bytes that are compressed and encrypted together, 64K to 4M, and at least the largest chunk
    #[arg(long, value_name = "SIZE", value_parser = parse_small_size)]
    block_size: Option<u32>,
    /// Size of the files in which blocks of contents are kept, 1M to 128M
    #[arg(long, value_name = "SIZE", value_parser = parse_small_size)]
    pack_size: Option<u32>,
    /// Size of the files in which blocks of directories are kept, 1M to 128M
    #[arg(long, value_name = "SIZE", value_parser = parse_small_size)]
    tree_pack_size: Option<u32>,
    /// Space kept back in the repository, so that a prune works on a full disk; 0 for none
    #[arg(long, value_name = "SIZE", value_parser = parse_small_size)]
    reserve: Option<u32>,
}

/// Runs `repo`; `compression` is what the option of that name says, whatever the variable does.
///
/// # Errors
/// When the repository cannot be opened, a value is outside its limits, or the storage refuses.
pub fn run(args: &Args, compression: Option<Compression>, context: &Context) -> Result<Exit, CommandError> {
    match &args.action {
        Action::Show => show(context)?,
        Action::Accept => accept(context)?,
        Action::Set(args) => set(args, compression, context)?,
    }
    context.output.flush()?;
    Ok(Exit::Done)
}

fn show(context: &Context) -> Result<(), CommandError> {
    let slots = context.open_slots()?;
    let repository = slots.repository();
    let (config, suite) = (repository.config(), repository.suite());
    let usable = slots.list()?.iter().filter(|slot| SlotInfo::is_usable(slot)).count();
    let location = repository.storage().location();
    let sizes = [config.chunks.min, config.chunks.avg, config.chunks.max].map(|size| bytes(size.into()));
    let fixed = [
        ("repository", hex::encode(&config.repository)),
        ("location", clean(location)),
        ("made", when::local(config.created, &context.zone)),
        ("cipher", suite.as_str().to_owned()),
        ("chunk sizes", sizes.join(" / ")),
    ];
    let code = Seen::of(&SnapshotList::load(repository)?.snapshots).code(repository);
    let rest = [
        ("state code", code.clone()),
        ("key slots", usable.to_string()),
        ("generation", config.generation.to_string()),
    ];
    for (name, value) in fixed.into_iter().chain(settings_of(config)).chain(rest) {
        context.output.line(&format!("{name:<24}{value}"))?;
    }
    let mut record = record_of("repo show", config, suite);
    record["location"] = json!(location);
    record["key_slots"] = json!(usable);
    record["state_code"] = json!(code);
    Ok(context.output.record(&record)?)
}

fn accept(context: &Context) -> Result<(), CommandError> {
    let repository = context.open_any()?;
    let list = SnapshotList::load(&repository)?;
    for error in &list.damaged {
        context.output.warn(&error.to_string());
    }
    let vanished = context.accept(&repository, &list)?;
    for line in &vanished {
        context.output.line(line)?;
    }
    let number = several(list.snapshots.len() as u64, "snapshot");
    context.output.line(&format!(
        "repository {} is taken as it is, with {number}",
        hex::encode(&repository.config().repository)
    ))?;
    let mut record = record_of("repo accept", repository.config(), repository.suite());
    record["vanished"] = json!(vanished);
    record["snapshots"] = json!(list.snapshots.len());
    Ok(context.output.record(&record)?)
}

/// What may change, as people read it.
fn settings_of(config: &Config) -> [(&'static str, String); 5] {
    [
        ("compression", clean(&config.compression)),
        ("block size", bytes(config.block.into())),
        ("pack size", bytes(config.data_pack.into())),
        ("tree pack size", bytes(config.tree_pack.into())),
        ("reserve", bytes(config.reserve.into())),
    ]
}

fn record_of(command: &str, config: &Config, suite: Suite) -> Value {
    json!({
        "type": "summary", "command": command, "repository": hex::encode(&config.repository),
        "created": when::utc(config.created), "cipher": suite.as_str(), "generation": config.generation,
        "chunk_min": config.chunks.min, "chunk_avg": config.chunks.avg, "chunk_max": config.chunks.max,
        "block_size": config.block, "pack_size": config.data_pack, "tree_pack_size": config.tree_pack,
        "compression": config.compression, "reserve": config.reserve,
    })
}

fn set(args: &SetArgs, compression: Option<Compression>, context: &Context) -> Result<(), CommandError> {
    let settings = Settings {
        block: args.block_size,
        data_pack: args.pack_size,
        tree_pack: args.tree_pack_size,
        compression: compression.map(|compression| compression.to_string()),
        reserve: args.reserve,
    };
    if settings == Settings::default() {
        return Err(CommandError::usage(
            "there is nothing to set",
            "no option says what is to change",
            "give --compression, --block-size, --pack-size, --tree-pack-size or --reserve; chunk sizes and cipher never change",
        ));
    }
    let mut repository = context.open()?;
    let ChangedSettings { before, after, left } = repository.set(&settings).map_err(|error| match error {
        RepoError::Option(reason) => CommandError::usage(
            "the repository cannot be set up like this",
            reason,
            "a block has 64K to 4M and at least the size of the largest chunk, a pack 1M to 128M, the reserve at most 1G",
        ),
        error => error.into(),
    })?;
    for error in &left {
        context.output.warn(&format!("the change is in force, but an older config object stays: {error}"));
    }
    if args.reserve.is_some() {
        // With what is in force now.
        repository = Arc::new(repository.at(Arc::clone(repository.storage()))?);
        repository.release_reserve()?;
        repository.renew_reserve()?;
    }
    for ((name, old), (_, new)) in settings_of(&before).into_iter().zip(settings_of(&after)) {
        if old != new {
            context.output.line(&format!("{name}: {old} -> {new}"))?;
        }
    }
    if before == after {
        context.output.line("nothing to change: the repository is set up like this already")?;
    }
    let mut record = record_of("repo set", &after, repository.suite());
    record["changed"] = json!(before != after);
    Ok(context.output.record(&record)?)
}
