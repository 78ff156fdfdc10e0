//! Where blocks are sealed: on the CPU, or at an accelerator where there is one and it is worth it.

use super::{CommandError, Context, quickassist, work};
use crate::base::clock::Clock;
use crate::base::specimen;
use crate::codec::Compression;
use crate::crypto::KeyTable;
use crate::engine::qat::{QatEngine, QatSettings, Verify};
use crate::engine::{Engine, EngineError, Job, Operation, SoftwareEngine};
use crate::ui::{Output, rate};
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// What a calibration runs each engine over, in bytes.
const SPECIMEN: usize = 16 << 20;

/// Where blocks are to be compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// At an accelerator when there is one and it is the better choice.
    #[default]
    Auto,
    /// On the CPU; no accelerator is looked for.
    Cpu,
    /// At an Intel QuickAssist device; without one, nothing is done.
    Qat,
}

impl FromStr for EngineChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "qat" => Ok(Self::Qat),
            _ => Err(format!("`{text}` is no engine; possible are auto, cpu and qat")),
        }
    }
}

impl fmt::Display for EngineChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Qat => "qat",
        })
    }
}

/// Where blocks are compressed, and how an accelerator is found.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// Which engine.
    pub choice: EngineChoice,
    /// Which outputs of an accelerator are verified.
    pub verify: Verify,
    /// QATzip, when it is not where the system's loader finds it.
    pub library: Option<PathBuf>,
    /// Where `sys` and `dev` are; `/` but for tests.
    pub root: PathBuf,
}

/// An engine, and the compression that goes with it.
#[derive(Debug)]
pub(super) struct Sealing {
    engine: Chosen,
    /// How new blocks are compressed.
    pub(super) compression: Compression,
    /// What a calibration found, in words.
    calibration: Option<String>,
}

#[derive(Debug)]
enum Chosen {
    Cpu(SoftwareEngine),
    Qat(QatEngine),
}

impl Sealing {
    /// Chooses the engine for new blocks; `usual` is the compression of the repository, which one on the command line
    /// beats. Each lane may have `depth` blocks in flight.
    ///
    /// # Errors
    /// When `--engine qat` was asked for and cannot be; when threads cannot be started.
    pub(super) fn choose(usual: Compression, depth: usize, context: &Context) -> Result<Self, CommandError> {
        let compression = context.compression.unwrap_or(usual);
        // Nobody chose this one, so another may be chosen.
        let free = context.compression.is_none() && usual == Compression::AUTO;
        match (context.engine.choice, compression) {
            (EngineChoice::Cpu, _) => Self::on_cpu(compression, depth),
            (EngineChoice::Qat, Compression::Deflate(level)) => Self::at_device(level, depth, context),
            (EngineChoice::Qat, _) if free => Self::at_device(1, depth, context),
            (EngineChoice::Qat, _) => Err(CommandError::usage(
                format!("the engine qat cannot compress with {compression}"),
                "the device does deflate only",
                "choose `--compression deflate:1` (to 9), or `--engine auto`",
            )),
            (EngineChoice::Auto, Compression::Deflate(level)) => {
                match quickassist::start(&qat(level, depth, context), context) {
                    Ok(engine) => Ok(Self { engine: Chosen::Qat(engine), compression, calibration: None }),
                    Err(missing) => {
                        context.output.reason(&format!("engine cpu: {}", missing.reason));
                        Self::on_cpu(compression, depth)
                    }
                }
            }
            (EngineChoice::Auto, _) if free => Self::calibrated(compression, depth, context),
            (EngineChoice::Auto, _) => {
                context.output.reason(&format!("engine cpu: {compression} is not for an accelerator"));
                Self::on_cpu(compression, depth)
            }
        }
    }

    fn on_cpu(compression: Compression, depth: usize) -> Result<Self, CommandError> {
        Ok(Self { engine: Chosen::Cpu(work::engine(depth)?), compression, calibration: None })
    }

    fn at_device(level: i32, depth: usize, context: &Context) -> Result<Self, CommandError> {
        let engine = quickassist::start(&qat(level, depth, context), context).map_err(|missing| {
            CommandError::failed("the engine qat cannot be used, and nothing was done", missing.reason, missing.hint)
        })?;
        Ok(Self { engine: Chosen::Qat(engine), compression: Compression::Deflate(level), calibration: None })
    }

    /// The faster one of the device and the CPU, if there is a device.
    fn calibrated(compression: Compression, depth: usize, context: &Context) -> Result<Self, CommandError> {
        let cpu = work::engine(depth)?;
        let device = match quickassist::start(&qat(1, depth, context), context) {
            Ok(device) => device,
            Err(missing) => {
                context.output.reason(&format!("engine cpu: {}", missing.reason));
                return Ok(Self { engine: Chosen::Cpu(cpu), compression, calibration: None });
            }
        };
        let deflate = Compression::Deflate(1);
        let specimen = Bytes::from(specimen::mixed(SPECIMEN));
        let clock = &*context.environment.clock;
        let speeds = [(&cpu as &dyn Engine, compression), (&device, deflate)].map(|(engine, compression)| {
            trial(engine, compression, &specimen, clock).map(|time| rate(SPECIMEN as u64, time) / 1e6)
        });
        let [Ok(on_cpu), Ok(at_device)] = speeds else {
            context.output.warn("the accelerator was not tried out: a trial failed, and the CPU is used");
            return Ok(Self { engine: Chosen::Cpu(cpu), compression, calibration: None });
        };
        let faster = at_device > on_cpu && device.off().is_none();
        let choice = if faster { "qat" } else { "cpu" };
        let found = format!(
            "{deflate} at the accelerator {at_device:.0} MB/s, {compression} on the CPU {on_cpu:.0} MB/s: engine {choice}"
        );
        context.output.note(&format!("calibration: {found}"));
        let (engine, compression) =
            if faster { (Chosen::Qat(device), deflate) } else { (Chosen::Cpu(cpu), compression) };
        Ok(Self { engine, compression, calibration: Some(found) })
    }

    /// The engine.
    pub(super) fn engine(&self) -> &dyn Engine {
        match &self.engine {
            Chosen::Cpu(engine) => engine,
            Chosen::Qat(engine) => engine,
        }
    }

    /// Tells, with `-v`, what the engine did; gives it for the summary.
    pub(super) fn tell(&self, output: &Output) -> Value {
        let name = self.engine().name();
        let mut record = json!({"name": name, "compression": self.compression.to_string()});
        if let Some(found) = &self.calibration {
            record["calibration"] = json!(found);
        }
        match &self.engine {
            Chosen::Cpu(_) => output.detail(&format!("engine  {name}")),
            Chosen::Qat(engine) => {
                for line in quickassist::lines(engine) {
                    output.detail(&line);
                }
                record["qat"] = quickassist::record(engine);
            }
        }
        record
    }
}

/// The settings of a device under the settings of this run.
pub(super) fn qat(level: i32, depth: usize, context: &Context) -> QatSettings {
    let output = Arc::clone(&context.output);
    QatSettings {
        level,
        workers: None,
        depth,
        threads: work::processors(),
        verify: context.engine.verify,
        timeout: QatSettings::TIMEOUT,
        on_off: Arc::new(move |reason: &str| {
            output.warn(&format!("the accelerator is no longer used in this run, and the CPU goes on: {reason}"));
        }),
    }
}

/// How long `engine` takes to seal `data`.
pub(super) fn trial(
    engine: &dyn Engine,
    compression: Compression,
    data: &Bytes,
    clock: &dyn Clock,
) -> Result<Duration, EngineError> {
    let key = KeyTable::for_trials().data_pack(super::init::native_suite(), [0; 32]);
    let size = compression.block_size(2 << 20) as usize;
    let began = clock.monotonic();
    let jobs = (0..data.len().div_ceil(size)).map(|n| {
        let input = data.slice(n * size..data.len().min((n + 1) * size));
        let number = u32::try_from(n).unwrap_or(u32::MAX);
        let plain_len = u32::try_from(input.len()).unwrap_or(u32::MAX);
        Job {
            ticket: n as u64,
            operation: Operation::Seal(compression),
            key: Arc::clone(&key),
            number,
            plain_len,
            input,
        }
    });
    let mut waiting: VecDeque<Job> = jobs.collect();
    let mut lane = engine.lane()?;
    let mut done = Vec::new();
    while !waiting.is_empty() || lane.in_flight() > 0 {
        lane.submit(&mut waiting);
        lane.reap(Duration::from_secs(1), &mut done);
        for done in done.drain(..) {
            done.outcome?;
        }
    }
    Ok(clock.monotonic().saturating_sub(began))
}
