//! Measuring one row: blocks go through an engine for some time, and a sample of what comes out is opened again.

use super::input::Input;
use super::live::Meter;
use super::plan::{Cipher, Plan, Row, What};
use super::{Args, unwritable};
use crate::base::host::cpu_time;
use crate::codec::Decompressor;
use crate::commands::work::processors;
use crate::commands::{CommandError, Context};
use crate::crypto::{KeyTable, ObjectKey};
use crate::engine::{Contexts, Done, Engine, EngineError, Job, Operation, SoftwareEngine};
use crate::format::Suite;
use crate::storage::{Folder, LocalStorage, ObjectName, PutMode, Storage, StorageError};
use bytes::Bytes;
use hdrhistogram::Histogram;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of an object with `--target`.
const PACK: usize = 32 << 20;
/// Blocks of each job whose outputs are opened.
const OPENED: usize = 16;
/// The longest latency that is told apart from longer ones, in nanoseconds.
const LONGEST: u64 = 600_000_000_000;

/// What was measured.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) row: Row,
    /// 10^6 plain bytes a second.
    pub(super) rate: f64,
    /// Blocks a second.
    pub(super) operations: f64,
    /// Plain bytes for one of output.
    pub(super) ratio: f64,
    /// Processor time in percent of one core.
    pub(super) cpu: f64,
    /// The same in percent of the whole host.
    pub(super) cpu_host: f64,
    /// Latency of a block at these percentiles: 50, 99 and 99.9.
    pub(super) latency: [Duration; 3],
}

/// What measures.
pub(super) struct Bench<'b> {
    input: &'b Input,
    pub(super) context: &'b Context,
    target: Option<Target>,
    meter: Option<Meter>,
}

impl<'b> Bench<'b> {
    pub(super) fn start(input: &'b Input, args: &Args, context: &'b Context) -> Result<Self, CommandError> {
        let target = args.target.as_deref().map(|folder| Target::make(folder, context)).transpose()?;
        let meter = args.live.clone().map(|live| Meter::start(live, context)).transpose()?;
        Ok(Self { input, context, target, meter })
    }

    /// The time and what was meanwhile measured is no longer told.
    pub(super) fn finish(self) {
        drop(self.meter);
    }

    /// Measures a row.
    pub(super) fn row(&self, row: &Row, plan: &Plan) -> Result<Measured, CommandError> {
        let software;
        let engine: &dyn Engine = match &plan.device {
            Some(device) if row.at_device => device,
            _ => {
                software = SoftwareEngine::new(row.threads, row.depth).map_err(|error| threads(&error))?;
                &software
            }
        };
        if let Some(meter) = &self.meter {
            meter.begin(row);
        }
        let clock = &*self.context.environment.clock;
        let (began, cpu_began) = (clock.monotonic(), cpu_time());
        let until = began + plan.time;
        let jobs = self.jobs(row, engine, until);
        let (time, cpu) = (clock.monotonic().saturating_sub(began), cpu_time().saturating_sub(cpu_began));
        let mut sum = Sum::new();
        for job in jobs {
            sum.add(&job.map_err(|error| wrong(row, &error))?);
        }
        Ok(sum.measured(row, time, cpu))
    }

    /// Runs all jobs of a row at once.
    fn jobs(&self, row: &Row, engine: &dyn Engine, until: Duration) -> Vec<Result<Sum, EngineError>> {
        std::thread::scope(|scope| {
            let start = |number: usize| scope.spawn(move || self.job(row, number, engine, until));
            let running: Vec<_> = (0..row.jobs).map(start).collect();
            let panicked = |_| Err(EngineError::Device("a thread panicked".to_owned()));
            running.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
        })
    }

    fn job(&self, row: &Row, number: usize, engine: &dyn Engine, until: Duration) -> Result<Sum, EngineError> {
        let clock = &*self.context.environment.clock;
        let mut lane = engine.lane()?;
        let mut blocks = Blocks::new(self.input, row, number);
        let (mut sum, mut checker) = (Sum::new(), Checker::default());
        let (mut waiting, mut done, mut packed) = (VecDeque::new(), Vec::new(), 0);
        let mut going = true;
        // Every block of a small input is seen at least once, however short the time.
        while going || lane.in_flight() > 0 {
            while going && lane.in_flight() + waiting.len() < row.depth {
                waiting.push_back(blocks.next());
                blocks.submitted(clock.monotonic());
                lane.submit(&mut waiting);
            }
            lane.reap(Duration::from_millis(100), &mut done);
            let now = clock.monotonic();
            for Done { job, outcome } in done.drain(..) {
                let output = outcome?;
                sum.count(&job, output.len(), now.saturating_sub(blocks.since(job.ticket)));
                if let Some(meter) = &self.meter {
                    meter.add(job.input.len());
                }
                packed += output.len();
                checker.keep(job, output);
            }
            if let Some(target) = self.target.as_ref().filter(|_| packed >= PACK) {
                target.put(std::mem::take(&mut packed), &checker.last)?;
            }
            going = clock.monotonic() < until && self.context.cancel.requested().is_none();
        }
        if let Some(target) = self.target.as_ref().filter(|_| packed > 0) {
            target.put(packed, &checker.last)?;
        }
        checker.check()?;
        Ok(sum)
    }
}

fn threads(error: &dyn std::fmt::Display) -> CommandError {
    CommandError::failed(
        "could not start working threads",
        error.to_string(),
        "raise the limits of processes and memory, or measure fewer jobs",
    )
}

fn wrong(row: &Row, error: &EngineError) -> CommandError {
    let what = format!("measuring {} with blocks of {} bytes went wrong", row.what, row.block);
    match error {
        EngineError::Corrupt(reason) => CommandError::damage(
            what,
            format!("an output does not open to what went in: {reason}"),
            "do not trust backups made on this host before its memory, CPU or accelerator was checked",
        ),
        EngineError::Device(reason) => {
            CommandError::failed(what, reason.clone(), "measure without that codec, engine or target")
        }
    }
}

/// The blocks of one job, round and round.
struct Blocks {
    data: Bytes,
    operation: Operation,
    key: Arc<ObjectKey>,
    size: usize,
    at: usize,
    ticket: u64,
    /// When each block that may be in flight was handed in, by its ticket.
    times: Vec<Duration>,
}

impl Blocks {
    fn new(input: &Input, row: &Row, number: usize) -> Self {
        let suite = match row.cipher {
            Cipher::Of(suite) => suite,
            Cipher::None => Suite::Aes256Gcm,
        };
        let size = (row.block as usize).min(input.data.len());
        // Jobs begin at different places, so that they do not all do the same at the same time.
        let at = input.data.len() / row.jobs * number / size * size;
        Self {
            data: input.data.clone(),
            operation: row.what.operation(row.cipher),
            key: KeyTable::for_trials().data_pack(suite, [0; 32]),
            size,
            at,
            ticket: 0,
            times: vec![Duration::ZERO; row.depth],
        }
    }

    fn next(&mut self) -> Job {
        let end = (self.at + self.size).min(self.data.len());
        let input = self.data.slice(self.at..end);
        self.at = if end == self.data.len() { 0 } else { end };
        self.ticket += 1;
        Job {
            ticket: self.ticket,
            operation: self.operation,
            key: Arc::clone(&self.key),
            // A nonce may come again here: nothing that is sealed with this key is a secret.
            number: u32::try_from(self.ticket & 0xffff).unwrap_or(0),
            plain_len: u32::try_from(input.len()).unwrap_or(u32::MAX),
            input,
        }
    }

    fn place(&self, ticket: u64) -> usize {
        usize::try_from(ticket % self.times.len() as u64).unwrap_or(0)
    }

    fn submitted(&mut self, now: Duration) {
        let place = self.place(self.ticket);
        self.times[place] = now;
    }

    fn since(&self, ticket: u64) -> Duration {
        self.times[self.place(ticket)]
    }
}

/// What one or all jobs have done.
struct Sum {
    blocks: u64,
    plain: u64,
    output: u64,
    latency: Histogram<u64>,
}

impl Sum {
    fn new() -> Self {
        let latency = Histogram::new_with_bounds(1, LONGEST, 3).expect("these are bounds of a histogram");
        Self { blocks: 0, plain: 0, output: 0, latency }
    }

    fn count(&mut self, job: &Job, output: usize, latency: Duration) {
        self.blocks += 1;
        self.plain += job.input.len() as u64;
        self.output += output as u64;
        self.latency.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(LONGEST).max(1));
    }

    fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.plain += other.plain;
        self.output += other.output;
        self.latency.add(&other.latency).expect("all have the same bounds");
    }

    fn measured(&self, row: &Row, time: Duration, cpu: Duration) -> Measured {
        let seconds = time.as_secs_f64().max(1e-9);
        let cpu = 100.0 * cpu.as_secs_f64() / seconds;
        let at = |percentile| Duration::from_nanos(self.latency.value_at_percentile(percentile));
        Measured {
            row: *row,
            rate: float(self.plain) / 1e6 / seconds,
            operations: float(self.blocks) / seconds,
            ratio: float(self.plain) / float(self.output.max(1)),
            cpu,
            cpu_host: cpu / float(processors() as u64),
            latency: [50.0, 99.0, 99.9].map(at),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "people need no more than the first 15 digits")]
pub(super) fn float(number: u64) -> f64 {
    number as f64
}

/// Opens some outputs when the time is over.
#[derive(Default)]
struct Checker {
    kept: Vec<(Job, Vec<u8>)>,
    /// The last output.
    last: Bytes,
}

impl Checker {
    fn keep(&mut self, job: Job, output: Vec<u8>) {
        if self.kept.len() < OPENED {
            self.kept.push((job, output));
        } else {
            self.last = Bytes::from(output);
        }
    }

    fn check(self) -> Result<(), EngineError> {
        let (mut contexts, mut decompressor) = (Contexts::default(), Decompressor::new());
        for (job, output) in self.kept {
            let corrupt = |error: crate::codec::CodecError| EngineError::Corrupt(error.to_string());
            let plain = match job.operation {
                Operation::Gzip => decompressor.inflate(&output, job.input.len()).map_err(corrupt)?,
                Operation::Compress(_) => decompressor.decompress(output, job.plain_len).map_err(corrupt)?,
                Operation::Seal(_) | Operation::Open => {
                    let open = Job { operation: Operation::Open, input: Bytes::from(output), ..job.clone() };
                    contexts.run(&open)?
                }
            };
            if plain != job.input {
                return Err(EngineError::Corrupt("other bytes".to_owned()));
            }
        }
        Ok(())
    }
}

/// A folder that what is sealed is written to.
struct Target {
    storage: LocalStorage,
    folder: PathBuf,
    /// Objects, for their names.
    number: AtomicU64,
}

impl Target {
    /// Makes a folder of its own in `parent`.
    fn make(parent: &Path, context: &Context) -> Result<Self, CommandError> {
        let mut random = [0; 8];
        context.environment.entropy.fill(&mut random).map_err(|error| unwritable(parent, &error))?;
        let folder = parent.join(format!("nightjar-bench-{}", crate::base::hex::encode(&random)));
        if !parent.is_dir() {
            return Err(unwritable(parent, &"it is no folder"));
        }
        std::fs::create_dir(&folder).map_err(|error| unwritable(parent, &error))?;
        let target = Self { storage: LocalStorage::open(&folder), folder, number: AtomicU64::new(0) };
        target.storage.prepare().map_err(|error| unwritable(&target.folder, &error))?;
        context.output.note(&format!("what is sealed is written to `{}` too", target.folder.display()));
        Ok(target)
    }

    /// Puts an object of `length` bytes made of `block`, durably, and removes it.
    fn put(&self, length: usize, block: &Bytes) -> Result<(), EngineError> {
        let failed = |error: StorageError| EngineError::Device(error.to_string());
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let name = ObjectName::hashed(Folder::Packs, blake3::hash(&number.to_le_bytes()).as_bytes());
        let block = if block.is_empty() { Bytes::from_static(&[0; 4096]) } else { block.clone() };
        let parts: Vec<Bytes> = std::iter::repeat_n(block.clone(), length.div_ceil(block.len())).collect();
        self.storage.put(&name, &parts, PutMode::Keep).map_err(failed)?;
        self.storage.delete(&name).map_err(failed)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // What cannot be removed stays under a name that says what it is.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Single-threaded speed of one codec without encryption, in 10^6 bytes a second.
pub(super) fn alone(bench: &Bench<'_>, what: What, block: u32, plan: &Plan) -> Result<f64, CommandError> {
    let kind = super::plan::Kind::Codec;
    let row = Row { kind, what, at_device: false, cipher: Cipher::None, block, jobs: 1, threads: 1, depth: 2 };
    bench.row(&row, plan).map(|measured| measured.rate)
}
