//! A worker: one thread, one session, one request at a time; what the device does not do well it does itself.

use super::counters::{Live, add};
use super::session::{Failure, Refused, Session, Settings};
use super::trust::{Trust, Watchfulness};
use crate::base::clock::Clock;
use crate::codec::{Compression, Decompressor, deflated_block};
use crate::engine::job::Contexts;
use crate::engine::queue::{Finished, Task};
use crate::engine::{Done, EngineError, Job, Operation};
use crate::format::Part;
use crossbeam_channel::{Receiver, Sender};
use qatzip_sys::{Api, QZ_NOSW_NO_INST_ATTACH};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often a block is offered when no instance is free, and the wait in between.
const TRIES: u32 = 3;
const BUSY_WAIT: Duration = Duration::from_millis(2);
/// Stands for success with impossible lengths or a wrong output among the failures by code.
const NONSENSE: i32 = 1;

/// A task that is inside the library.
#[derive(Debug)]
pub(super) struct Flight {
    /// When it went in.
    pub(super) since: Duration,
    pub(super) task: Task,
}

/// What workers, watchdog and lanes have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) counters: Live,
    pub(super) trust: Trust,
    pub(super) clock: Arc<dyn Clock>,
    /// How long a request may take.
    pub(super) timeout: Duration,
    pub(super) settings: Settings,
    /// For each worker what it has inside the library.
    pub(super) slots: Vec<Mutex<Option<Flight>>>,
    /// Workers that have a session.
    pub(super) alive: AtomicUsize,
}

impl Shared {
    /// Takes what worker `number` has inside the library, unless somebody else has.
    pub(super) fn take(&self, number: usize) -> Option<Flight> {
        self.slots[number].lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, number: usize, task: Task) {
        let flight = Flight { since: self.clock.monotonic(), task };
        *self.slots[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(flight);
    }
}

/// What a worker says when it has begun: instances of the process, where the library tells.
pub(super) type Begun = Result<Option<usize>, Refused>;

/// Runs worker `number` until its queue closes.
pub(super) fn run(shared: Arc<Shared>, number: usize, api: Api, tasks: &Receiver<Task>, begun: &Sender<Begun>) {
    let session = match Session::begin(api, shared.settings) {
        Ok(session) => session,
        Err(refused) => {
            let _ = begun.send(Err(refused));
            return;
        }
    };
    add(&shared.counters.sessions, 1);
    shared.alive.fetch_add(1, Ordering::SeqCst);
    // Whoever started it may have given up waiting; then there is no task either.
    let _ = begun.send(Ok(session.instances()));
    let mut worker = Worker {
        number,
        api,
        session: Some(session),
        contexts: Contexts::default(),
        decompressor: Decompressor::new(),
        watchfulness: Watchfulness::at_the_start(),
        shared,
    };
    for task in tasks {
        worker.serve(task);
        if worker.session.is_none() {
            break;
        }
    }
    worker.end();
}

struct Worker {
    number: usize,
    api: Api,
    /// `None` once it was abandoned or could not be begun again.
    session: Option<Session>,
    contexts: Contexts,
    decompressor: Decompressor,
    watchfulness: Watchfulness,
    shared: Arc<Shared>,
}

impl Worker {
    fn serve(&mut self, task: Task) {
        let shared = Arc::clone(&self.shared);
        if shared.trust.off().is_some() {
            add(&shared.counters.after_off, 1);
            return self.on_cpu(task);
        }
        add(&shared.counters.offered, 1);
        let plain = task.job.input.clone();
        shared.put(self.number, task);
        let answer = self.ask(&plain);
        let Some(Flight { task, .. }) = shared.take(self.number) else {
            // The watchdog has given the block to somebody else; the session is in nobody knows what state.
            std::mem::forget(self.session.take());
            return;
        };
        let sealed = match answer {
            Ok(length) => self.use_stream(&plain, length, &task.job),
            Err(failure) => {
                self.failed(failure);
                None
            }
        };
        if let Some((sealed, doubtful)) = sealed {
            drop(plain);
            return give(task, Ok(sealed), doubtful);
        }
        add(&shared.counters.fallback_blocks, 1);
        add(&shared.counters.fallback_bytes, plain.len());
        drop(plain);
        self.on_cpu(task);
    }

    /// Has the device compress; waits a little when no instance is free.
    fn ask(&mut self, plain: &[u8]) -> Result<usize, Failure> {
        let session = self.session.as_mut().ok_or(Failure::Code(QZ_NOSW_NO_INST_ATTACH))?;
        let mut tries = 1;
        loop {
            match session.compress(plain) {
                Err(Failure::Code(QZ_NOSW_NO_INST_ATTACH)) if tries < TRIES => {
                    add(&self.shared.counters.busy_waits, 1);
                    tries += 1;
                    std::thread::sleep(BUSY_WAIT);
                }
                answer => return answer,
            }
        }
    }

    /// The sealed block from the device's stream, and whether nobody has looked at it; `None` when it is no use.
    fn use_stream(&mut self, plain: &[u8], length: usize, job: &Job) -> Option<(Vec<u8>, bool)> {
        let shared = Arc::clone(&self.shared);
        let counters = &shared.counters;
        let Some(mut block) = deflated_block(plain, self.session.as_ref()?.stream(length)) else {
            shared.trust.answered();
            add(&counters.incompressible, 1);
            return None;
        };
        let verify = self.watchfulness.wants(&shared.trust);
        if verify {
            add(&counters.verified, 1);
            let again = self.decompressor.decompress(block.clone(), job.plain_len);
            if again.as_deref() != Ok(plain) {
                add(&counters.verify_failed, 1);
                counters.fail(NONSENSE);
                shared.trust.wrong_output();
                return None;
            }
        }
        shared.trust.answered();
        add(&counters.requests, 1);
        add(&counters.bytes_in, plain.len());
        add(&counters.bytes_out, length);
        if let Operation::Seal(_) = job.operation {
            job.key.seal(Part::Block, u64::from(job.number), &mut block);
        }
        Some((block, !verify))
    }

    /// Counts a failure and, unless only no instance was free, begins a new session.
    fn failed(&mut self, failure: Failure) {
        let (code, what) = match failure {
            Failure::Code(code) => (code, format!("code {code}")),
            Failure::Lengths => (NONSENSE, "success and impossible lengths".to_owned()),
        };
        self.shared.counters.fail(code);
        self.shared.trust.failed(&what);
        if code == QZ_NOSW_NO_INST_ATTACH || self.shared.trust.off().is_some() {
            return;
        }
        if let Some(session) = self.session.take() {
            session.end();
        }
        if let Ok(session) = Session::begin(self.api, self.shared.settings) {
            add(&self.shared.counters.sessions, 1);
            self.session = Some(session);
        }
    }

    fn on_cpu(&mut self, task: Task) {
        let outcome = self.contexts.run_guarded(&task.job);
        give(task, outcome, false);
    }

    fn end(self) {
        if self.shared.alive.fetch_sub(1, Ordering::SeqCst) == 1 && self.session.is_none() {
            self.shared.trust.turn_off("no session with it could be begun again".to_owned());
        }
        match self.session {
            // Whoever distrusts a library does not call it once more.
            Some(session) if self.shared.trust.off().is_some() => std::mem::forget(session),
            Some(session) => session.end(),
            None => {}
        }
    }
}

/// Gives a result back; a lane that is gone no longer wants it.
fn give(task: Task, outcome: Result<Vec<u8>, EngineError>, doubtful: bool) {
    let _ = task.reply.send(Finished { done: Done { job: task.job, outcome }, doubtful });
}

/// Whether `job` is one for the device; if not, the counter of the reason.
pub(super) fn unfit<'c>(job: &Job, shared: &'c Shared) -> Option<&'c std::sync::atomic::AtomicU64> {
    let counters = &shared.counters;
    let length = job.input.len();
    let ours = Compression::Deflate(shared.settings.level);
    if ![Operation::Seal(ours), Operation::Compress(ours)].contains(&job.operation) {
        Some(&counters.unfit)
    } else if length < *super::OFFERED.start() {
        Some(&counters.too_small)
    } else if length > *super::OFFERED.end() {
        Some(&counters.too_large)
    } else if !crate::codec::looks_compressible(&job.input) {
        Some(&counters.unpromising)
    } else if shared.trust.off().is_some() {
        Some(&counters.after_off)
    } else {
        None
    }
}
