//! Which rows are measured: the product of what was asked for.

use super::Args;
use crate::codec::Compression;
use crate::commands::quantity::parse_small_size;
use crate::commands::sealing::EngineChoice;
use crate::commands::{CommandError, Context, quickassist, work};
use crate::engine::Operation;
use crate::engine::qat::{QatEngine, QatSettings};
use crate::format::Suite;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// How long a row is measured unless somebody says otherwise, in seconds.
const SECONDS: f64 = 0.3;
/// The second table: blocks of 4 KiB, this many in flight for each of so many jobs.
const SMALL: u32 = 4 << 10;
const DEPTHS: [(usize, usize); 6] = [(1, 1), (1, 32), (1, 128), (8, 1), (8, 32), (8, 128)];

/// A codec as the option names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Codec(pub(super) Compression);

impl FromStr for Codec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|error: crate::codec::CompressionError| error.to_string())
    }
}

/// A cipher as the option names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cipher {
    None,
    Of(Suite),
}

impl FromStr for Cipher {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" => Ok(Self::None),
            "aes" => Ok(Self::Of(Suite::Aes256Gcm)),
            "chacha" => Ok(Self::Of(Suite::ChaCha20Poly1305)),
            _ => Err(format!("`{text}` is no cipher; possible are none, aes and chacha")),
        }
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Of(suite) => suite.as_str(),
        })
    }
}

/// A size of a block.
pub(super) fn parse_block(text: &str) -> Result<u32, String> {
    let size = parse_small_size(text)?;
    if (1 << 10..=4 << 20).contains(&size) { Ok(size) } else { Err(format!("`{text}` is not between 1K and 4M")) }
}

/// How long a row is measured.
pub(super) fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| (0.01..=3600.0).contains(seconds));
    seconds.ok_or_else(|| format!("`{text}` is no number of seconds between 0.01 and 3600"))
}

/// The two tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Codecs against gzip.
    Codec,
    /// What encryption costs small blocks.
    Cipher,
}

/// What compresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// zlib at level 6: the yardstick.
    Gzip,
    /// One of ours.
    Ours(Compression),
}

impl What {
    pub(super) fn operation(self, cipher: Cipher) -> Operation {
        match (self, cipher) {
            (Self::Gzip, _) => Operation::Gzip,
            (Self::Ours(compression), Cipher::None) => Operation::Compress(compression),
            (Self::Ours(compression), Cipher::Of(_)) => Operation::Seal(compression),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gzip => f.write_str("gzip:6"),
            Self::Ours(compression) => compression.fmt(f),
        }
    }
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) kind: Kind,
    pub(super) what: What,
    /// Whether the device compresses.
    pub(super) at_device: bool,
    pub(super) cipher: Cipher,
    /// Bytes of a block.
    pub(super) block: u32,
    /// Threads that hand blocks in.
    pub(super) jobs: usize,
    /// Threads that work on them.
    pub(super) threads: usize,
    /// Blocks in flight for each job.
    pub(super) depth: usize,
}

/// What is measured.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) rows: Vec<Row>,
    pub(super) time: Duration,
    pub(super) device: Option<QatEngine>,
}

/// The rows that were asked for; begins the use of the device when there is one and it may be used.
pub(super) fn make(args: &Args, context: &Context) -> Result<Plan, CommandError> {
    let device = device(args, context)?;
    let level = device.as_ref().map(|(_, level)| *level);
    let axes = Axes::of(args);
    let mut rows = Vec::new();
    for &block in &axes.blocks {
        for &jobs in &axes.jobs {
            let row = |what, at_device, cipher| Row {
                kind: Kind::Codec,
                what,
                at_device,
                cipher,
                block,
                jobs: 1,
                threads: jobs,
                depth: jobs * 2,
            };
            rows.push(row(What::Gzip, false, Cipher::None));
            for &codec in &axes.codecs {
                for &cipher in &axes.ciphers {
                    rows.push(row(What::Ours(codec), false, cipher));
                    // All sessions of a process have one level.
                    if level.is_some_and(|level| codec == Compression::Deflate(level)) {
                        rows.push(row(What::Ours(codec), true, cipher));
                    }
                }
            }
        }
    }
    for (jobs, depth) in DEPTHS {
        for cipher in [Cipher::None].into_iter().chain(axes.ciphers.iter().copied().filter(|c| *c != Cipher::None)) {
            let what = What::Ours(Compression::Off);
            let threads = jobs.min(work::processors());
            let kind = Kind::Cipher;
            rows.push(Row { kind, what, at_device: false, cipher, block: SMALL, jobs, threads, depth });
        }
    }
    let time = Duration::from_secs_f64(args.seconds.unwrap_or(SECONDS));
    Ok(Plan { rows, time, device: device.map(|(engine, _)| engine) })
}

struct Axes {
    codecs: Vec<Compression>,
    ciphers: Vec<Cipher>,
    blocks: Vec<u32>,
    jobs: Vec<usize>,
}

impl Axes {
    fn of(args: &Args) -> Self {
        use Compression::{Better, Deflate, Lz4, Max, Off, Zstd};
        let all = [Off, Lz4, Zstd(1), Zstd(3), Zstd(6), Better, Max, Deflate(1), Deflate(6), Deflate(9)];
        let some = [Lz4, Zstd(1), Zstd(3), Better, Deflate(1), Deflate(6)];
        let native = crate::commands::init::native_suite();
        let codecs = args.codecs.iter().map(|codec| codec.0).collect::<Vec<_>>();
        let processors = work::processors();
        let jobs = if processors == 1 { vec![1] } else { vec![1, processors] };
        let every_cipher = vec![Cipher::None, Cipher::Of(Suite::Aes256Gcm), Cipher::Of(Suite::ChaCha20Poly1305)];
        Self {
            codecs: given(codecs, if args.full { all.to_vec() } else { some.to_vec() }),
            ciphers: given(args.ciphers.clone(), if args.full { every_cipher } else { vec![Cipher::Of(native)] }),
            blocks: given(
                args.block_sizes.clone(),
                if args.full { vec![4 << 10, 64 << 10, 256 << 10, 512 << 10] } else { vec![64 << 10, 512 << 10] },
            ),
            jobs: given(args.jobs.iter().map(|jobs| usize::from(*jobs)).collect(), jobs),
        }
    }
}

fn given<T>(given: Vec<T>, usual: Vec<T>) -> Vec<T> {
    if given.is_empty() { usual } else { given }
}

/// The device and its level, where it is to be used; why not is told with `-vv`, and is an error when it was asked for.
fn device(args: &Args, context: &Context) -> Result<Option<(QatEngine, i32)>, CommandError> {
    let asked = context.engine.choice == EngineChoice::Qat;
    if context.engine.choice == EngineChoice::Cpu {
        return Ok(None);
    }
    let levels = args.codecs.iter().filter_map(|codec| match codec.0 {
        Compression::Deflate(level) => Some(level),
        _ => None,
    });
    let level = levels.min().or(args.codecs.is_empty().then_some(1));
    let Some(level) = level else {
        return if asked {
            Err(CommandError::usage(
                "the engine qat cannot compress with any of these codecs",
                "the device does deflate only",
                "add `deflate:1` to `--codecs`, or take `--engine qat` away",
            ))
        } else {
            Ok(None)
        };
    };
    let output = Arc::clone(&context.output);
    let settings = QatSettings {
        level,
        workers: None,
        depth: 256,
        threads: work::processors(),
        verify: context.engine.verify,
        timeout: QatSettings::TIMEOUT,
        on_off: Arc::new(move |reason: &str| output.warn(&format!("the accelerator is no longer used: {reason}"))),
    };
    match quickassist::start(&settings, context) {
        Ok(engine) => Ok(Some((engine, level))),
        Err(missing) if asked => {
            for line in quickassist::probe_lines(&crate::engine::qat::Probe::of(&context.engine.root)) {
                context.output.note(&line);
            }
            Err(CommandError::failed(
                "the engine qat cannot be used, and nothing was measured",
                missing.reason,
                missing.hint,
            ))
        }
        Err(missing) => {
            context.output.reason(&format!("engine cpu: {}", missing.reason));
            Ok(None)
        }
    }
}
