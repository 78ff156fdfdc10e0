//! One case: how the device behaves and what it is given, run in a process of its own.

use super::library;
use bytes::Bytes;
use nightjar::codec::Compression;
use nightjar::crypto::{KeyTable, ObjectKey};
use nightjar::engine::qat::{QatEngine, QatSettings, abandoned, leave, load};
use nightjar::engine::{Contexts, Done, Engine, Job, Operation};
use nightjar::format::Suite;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const VARIABLE: &str = "NIGHTJAR_QAT_CASE";

/// What is tried.
pub(crate) struct Case<'c> {
    /// The script of the simulator.
    pub(crate) script: &'c str,
    /// Functions that the library lacks.
    pub(crate) without: &'c [&'c str],
    pub(crate) verify: &'c str,
    pub(crate) timeout_ms: u64,
    pub(crate) blocks: u64,
    /// Whether there are blocks among them that are not for the device.
    pub(crate) mixed: bool,
    /// A library to be used instead of the simulator.
    pub(crate) real: Option<PathBuf>,
}

impl Default for Case<'_> {
    fn default() -> Self {
        Self {
            script: "instances=1",
            without: &[],
            verify: "suspect",
            // Long enough for a machine with other things to do.
            timeout_ms: 20_000,
            blocks: 160,
            mixed: false,
            real: None,
        }
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Why there was no engine.
    pub(crate) refused: String,
    /// Why the device was given up.
    pub(crate) off: String,
    /// How often that was told.
    pub(crate) warnings: u64,
    engine: BTreeMap<String, u64>,
    device: BTreeMap<String, u64>,
}

impl Outcome {
    pub(crate) fn engine(&self, name: &str) -> u64 {
        self.engine.get(name).copied().unwrap_or(0)
    }

    pub(crate) fn device(&self, name: &str) -> u64 {
        self.device.get(name).copied().unwrap_or(0)
    }
}

impl Case<'_> {
    /// Instances that requests can find.
    pub(crate) fn instances(&self) -> u64 {
        let number = self.script.split(',').find_map(|pair| pair.strip_prefix("instances="));
        number.map_or(1, |number| number.parse().unwrap())
    }

    /// Runs it in a new process; panics when an output was wrong or the process did not end well.
    pub(crate) fn run(&self) -> Outcome {
        let folder = tempfile::tempdir().unwrap();
        let library = match &self.real {
            Some(path) => path.clone(),
            None if self.without.is_empty() => library::path(),
            None => library::without(self.without, folder.path()),
        };
        let counters = folder.path().join("counters");
        let values =
            [self.verify.to_owned(), self.timeout_ms.to_string(), self.blocks.to_string(), self.mixed.to_string()];
        let done = Command::new(std::env::current_exe().unwrap())
            .args(["case_in_its_own_process", "--exact", "--nocapture", "--test-threads=1"])
            .env(VARIABLE, [&[library.to_str().unwrap().to_owned()], &values[..]].concat().join("\t"))
            .env("QATZIP_SIM", self.script)
            .env("QATZIP_SIM_COUNTERS", &counters)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{}: {:?}\n{text}\n{errors}", self.script, done.status);
        let mut outcome =
            Outcome { device: numbers(&std::fs::read_to_string(counters).unwrap_or_default()), ..Outcome::default() };
        for line in text.lines().filter_map(|line| line.split_once("case ").map(|(_, line)| line)) {
            match line.split_once(' ') {
                Some(("refused", reason)) => reason.clone_into(&mut outcome.refused),
                Some(("off", reason)) => reason.clone_into(&mut outcome.off),
                Some(("warnings", number)) => outcome.warnings = number.parse().unwrap(),
                _ => outcome.engine.extend(numbers(line)),
            }
        }
        outcome
    }
}

fn numbers(text: &str) -> BTreeMap<String, u64> {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(name, number)| (name.to_owned(), number.parse().unwrap())).collect()
}

/// The other side: reads the case from the environment and runs it.
#[expect(clippy::disallowed_methods, reason = "a test has no cli above it")]
pub(crate) fn serve() {
    let Ok(values) = std::env::var(VARIABLE) else { return };
    let values: Vec<&str> = values.split('\t').collect();
    let [library, verify, timeout, blocks, mixed] = values[..] else { panic!("{values:?}") };
    let (api, _) = match load(Some(library.as_ref())) {
        Ok(found) => found,
        Err((_, error)) => return println!("\ncase refused {error}"),
    };
    let warnings = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&warnings);
    let settings = QatSettings {
        level: 1,
        workers: None,
        depth: 32,
        threads: 2,
        verify: verify.parse().unwrap(),
        timeout: Duration::from_millis(timeout.parse().unwrap()),
        on_off: Arc::new(move |_| _ = told.fetch_add(1, Ordering::SeqCst)),
    };
    let engine = match QatEngine::start(api, &settings) {
        Ok(engine) => engine,
        Err(refusal) => {
            println!("\ncase refused {refusal}");
            return end();
        }
    };
    let jobs: Vec<Job> = (0..blocks.parse().unwrap()).map(|ticket| job(ticket, mixed == "true")).collect();
    let sealed = through(&engine, &jobs);
    assert_eq!(sealed.len(), jobs.len(), "every job comes back");
    let mut contexts = Contexts::default();
    for job in &jobs {
        let input = Bytes::from(sealed[&job.ticket].outcome.clone().unwrap());
        let open = Job { operation: Operation::Open, input, ..job.clone() };
        assert!(contexts.run(&open).unwrap() == job.input, "block {} is not what it was", job.ticket);
    }
    let counters = engine.counters();
    let off = engine.off().unwrap_or_default();
    drop(engine);
    for (name, number) in counters.numbers() {
        println!("\ncase {name} {number}");
    }
    println!("\ncase off {off}\n\ncase warnings {}", warnings.load(Ordering::SeqCst));
    end();
}

/// Ends as the program does.
fn end() {
    use std::io::Write as _;
    if abandoned() {
        std::io::stdout().flush().unwrap();
        leave(0);
    }
}

fn through(engine: &QatEngine, jobs: &[Job]) -> BTreeMap<u64, Done> {
    let mut waiting: VecDeque<Job> = jobs.iter().cloned().collect();
    let mut lane = engine.lane().unwrap();
    let mut all = BTreeMap::new();
    while !waiting.is_empty() || lane.in_flight() > 0 {
        lane.submit(&mut waiting);
        let mut done = Vec::new();
        lane.reap(Duration::from_secs(1), &mut done);
        for done in done {
            assert!(all.insert(done.job.ticket, done).is_none(), "a job came back twice");
        }
    }
    all
}

/// Job number `ticket`: text for the device, and in a mix also what is not for it.
fn job(ticket: u64, mixed: bool) -> Job {
    let text = format!("line {ticket} of a log, as logs are; ").into_bytes();
    let (compression, input) = match ticket % 7 {
        1 if mixed => (Compression::Deflate(1), text.repeat(20)),
        2 if mixed => (Compression::Deflate(1), text.repeat(20_000)),
        3 if mixed => (Compression::Deflate(1), noise(ticket, 100_000)),
        4 if mixed => (Compression::Zstd(3), text.repeat(400)),
        // Not as even as noise, so a sample looks promising; but it shrinks by 2 %, and 3 are wanted.
        5 if mixed => (Compression::Deflate(1), noise(ticket, 50_000).into_iter().map(|b| b.max(12)).collect()),
        n => (Compression::Deflate(1), text.repeat(200 + usize::try_from(n).unwrap() * 500)),
    };
    Job {
        ticket,
        operation: Operation::Seal(compression),
        key: key(),
        number: u32::try_from(ticket).unwrap(),
        plain_len: u32::try_from(input.len()).unwrap(),
        input: Bytes::from(input),
    }
}

/// Bytes that do not compress.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

fn key() -> Arc<ObjectKey> {
    KeyTable::for_trials().data_pack(Suite::Aes256Gcm, [7; 32])
}
