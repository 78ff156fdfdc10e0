//! `nightjar init`: make a repository.

use super::context::exists;
use super::quantity::parse_small_size;
use super::{CommandError, Context, Exit, recovery};
use crate::base::hex;
use crate::codec::Compression;
use crate::crypto::{RecoveryKey, Secret, has_aes_instructions};
use crate::format::{ChunkSizes, Config, Kdf, Suite, Time};
use crate::repo::{InitOptions, Initialized, RepoError, SlotSecret, init};
use crate::storage::Storage;
use crate::ui::bytes;
use clap::ValueEnum;
use serde_json::json;

/// Options of `init`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Sizes between which contents are cut: smallest, average and largest, powers of two
    #[arg(long, value_name = "MIN/AVG/MAX", default_value = "32K/128K/256K", value_parser = parse_chunk_sizes)]
    chunk_size: ChunkSizes,
    /// Bytes that are compressed and encrypted together, 64K to 4M
    #[arg(long, value_name = "SIZE", default_value = "2M", value_parser = parse_small_size)]
    block_size: u32,
    /// Size of the files in which blocks are kept, 1M to 128M
    #[arg(long, value_name = "SIZE", default_value = "32M", value_parser = parse_small_size)]
    pack_size: u32,
    /// Space kept back in the repository, so that a prune works on a full disk; grows with the index; 0 for none
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = parse_small_size)]
    reserve: u32,
    /// Cipher [default: aes-256-gcm where the processor has instructions for it, else chacha20-poly1305]
    #[arg(long, value_name = "NAME", value_enum, hide_possible_values = false)]
    cipher: Option<Cipher>,
    /// How hard guessing the password is made: standard takes 64 MiB of memory a guess, strong 1 GiB
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Hash::Standard)]
    kdf: Hash,
    /// Make no recovery key; whoever loses the password then loses everything
    #[arg(long)]
    no_recovery_key: bool,
}

impl Args {
    /// What `init` does without options, with a recovery key or without.
    pub(super) fn defaults(no_recovery_key: bool) -> Self {
        Self {
            chunk_size: ChunkSizes::default(),
            block_size: 2 << 20,
            pack_size: 32 << 20,
            reserve: 1 << 20,
            cipher: None,
            kdf: Hash::Standard,
            no_recovery_key,
        }
    }
}

/// Ciphers by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Cipher {
    #[value(name = "aes-256-gcm")]
    Aes256Gcm,
    #[value(name = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

/// Password hashes by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Hash {
    Standard,
    Strong,
}

impl Hash {
    /// Its costs.
    pub(super) fn kdf(self) -> Kdf {
        match self {
            Self::Standard => Kdf::STANDARD,
            Self::Strong => Kdf::STRONG,
        }
    }
}

fn parse_chunk_sizes(text: &str) -> Result<ChunkSizes, String> {
    let sizes: Vec<u32> = text.split('/').map(parse_small_size).collect::<Result<_, _>>()?;
    let [min, avg, max] = sizes[..] else {
        return Err("three sizes with `/` between them are needed, such as 32K/128K/256K".to_owned());
    };
    let sizes = ChunkSizes { min, avg, max };
    sizes
        .check()
        .map(|()| sizes)
        .map_err(|_| "they must be powers of two that ascend, from 4K, 8K and 16K up to 1M, 2M and 4M".to_owned())
}

/// Runs `init`.
///
/// # Errors
/// When there is a repository already, no password, or the storage refuses.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    make(args, context)?;
    Ok(Exit::Done)
}

/// Makes the repository and tells its recovery key.
pub(super) fn make(args: &Args, context: &Context) -> Result<Initialized, CommandError> {
    let storage = context.storage()?;
    if exists(&*storage)? {
        return Err(RepoError::Exists(storage.location().to_owned()).into());
    }
    let options = options(args, || context.new_secret(), context)?;
    let place = storage.location().to_owned();
    let made = init(storage, context.environment.clone(), &options)?;
    context.store_place(&made.repository);
    tell(&made, &place, context)?;
    if let Some(error) = &made.reserve {
        context.output.warn(&format!("no space is kept back for prunes on a full disk: {error}"));
    }
    Ok(made)
}

/// The suite that is the faster one on this CPU.
pub(super) fn native_suite() -> Suite {
    if has_aes_instructions() { Suite::Aes256Gcm } else { Suite::ChaCha20Poly1305 }
}

/// What the new repository is to be like; sizes that cannot be are noticed before a password is asked for.
pub(super) fn options(
    args: &Args,
    secret: impl FnOnce() -> Result<Secret, CommandError>,
    context: &Context,
) -> Result<InitOptions, CommandError> {
    let suite = match args.cipher {
        Some(Cipher::Aes256Gcm) => Suite::Aes256Gcm,
        Some(Cipher::ChaCha20Poly1305) => Suite::ChaCha20Poly1305,
        None => native_suite(),
    };
    let kdf = args.kdf.kdf();
    let config = Config {
        generation: 0,
        repository: [0; 16],
        chunks: args.chunk_size,
        block: args.block_size,
        data_pack: args.pack_size,
        tree_pack: args.pack_size.min(8 << 20),
        compression: context.compression.unwrap_or(Compression::AUTO).to_string(),
        created: Time { seconds: 0, nanos: 0 },
        reserve: args.reserve,
    };
    config.check().map_err(|error| {
        CommandError::usage(
            "the repository cannot be made with these sizes",
            error.to_string(),
            "a block has 64K to 4M and at least the size of the largest chunk, a pack 1M to 128M, the reserve at most 1G",
        )
    })?;
    let slot = SlotSecret { secret: secret()?, kdf, label: "password".to_owned() };
    Ok(InitOptions { config, suite, slot, recovery: !args.no_recovery_key })
}

fn tell(made: &Initialized, place: &str, context: &Context) -> Result<(), CommandError> {
    let (output, repository) = (&context.output, &made.repository);
    let (config, suite) = (repository.config(), repository.suite().as_str());
    let id = hex::encode(&config.repository);
    let place = crate::ui::clean(place);
    let sizes = config.chunks;
    output.line(&format!("made repository {id} at `{place}`"))?;
    output.line(&format!(
        "cipher {suite}, chunks of {} / {} / {}, blocks of {}, packs of {}, compression {}",
        bytes(sizes.min.into()),
        bytes(sizes.avg.into()),
        bytes(sizes.max.into()),
        bytes(config.block.into()),
        bytes(config.data_pack.into()),
        config.compression
    ))?;
    tell_recovery(made.recovery.as_ref(), context)?;
    output.record(&json!({
        "type": "summary", "command": "init", "repository": id, "location": place, "cipher": suite,
        "chunk_min": sizes.min, "chunk_avg": sizes.avg, "chunk_max": sizes.max,
        "block_size": config.block, "pack_size": config.data_pack, "compression": config.compression,
        "reserve": config.reserve,
        "recovery_key": made.recovery.as_ref().map(|key| key.to_text().to_string()),
        "recovery_words": made.recovery.as_ref().map(RecoveryKey::to_words),
    }))?;
    Ok(output.flush()?)
}

fn tell_recovery(recovery: Option<&RecoveryKey>, context: &Context) -> Result<(), CommandError> {
    match recovery {
        Some(key) => recovery::tell(key, context),
        None => Ok(context
            .output
            .line("\nThere is no recovery key. Without the password nobody can read this repository, ever.")?),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_chunk_sizes;
    use crate::format::ChunkSizes;

    #[test]
    fn chunk_sizes_are_three_powers_of_two() {
        assert_eq!(parse_chunk_sizes("32K/128K/256K"), Ok(ChunkSizes::default()));
        for bad in ["", "32K", "32K/128K", "32K/128K/256K/1M", "128K/32K/256K", "1K/2K/4K", "a/b/c"] {
            assert!(parse_chunk_sizes(bad).is_err(), "{bad}");
        }
    }
}
