//! The engine: workers at the device, a watchdog over them, and the software engine for all else.

use super::counters::{Counters, Live};
use super::lane::QatRoute;
use super::session::{Refused, Settings};
use super::trust::{OnOff, Trust, Verify};
use super::worker::{self, Begun, Shared};
use super::{probe, watchdog};
use crate::base::clock::{Clock, SystemClock};
use crate::engine::queue::{QueueLane, Task};
use crate::engine::{Engine, EngineError, Lane, SoftwareEngine};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use qatzip_sys::Api;
use std::ffi::c_int;
use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// Workers when nobody asks for another number and the library does not say how many instances there are.
const WORKERS: usize = 16;
/// What a bring-up may take, in times of what a request may.
const BRING_UP: u32 = 6;

/// Why this process does not call the library any more, if it does not.
static GIVEN_UP: OnceLock<String> = OnceLock::new();

/// Whether some thread of this process is stuck in the library.
static ABANDONED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    /// `void _exit(int status)` of POSIX.
    safe fn _exit(status: c_int) -> !;
}

/// The library is not called any more by this process.
pub(super) fn give_up(reason: &str) {
    let _ = GIVEN_UP.set(reason.to_owned());
}

pub(super) fn note_abandoned() {
    ABANDONED.store(true, Ordering::SeqCst);
}

/// Whether a thread of this process is stuck in the library, so that the process must end with [`leave`].
#[must_use]
pub fn abandoned() -> bool {
    ABANDONED.load(Ordering::SeqCst)
}

/// Ends the process without asking the library, whose exit handlers may wait for a device that hangs. Whatever is to be
/// printed must have been.
pub fn leave(code: u8) -> ! {
    _exit(c_int::from(code))
}

/// How the device is used.
#[derive(Clone)]
pub struct QatSettings {
    /// Level of deflate, 1 to 9; jobs of other levels run on the CPU.
    pub level: i32,
    /// Most workers; by default as many as the device has instances, or 16.
    pub workers: Option<usize>,
    /// Jobs that each lane may have in flight, at least; two for each worker if that is more.
    pub depth: usize,
    /// Threads on the CPU for all that is not for the device.
    pub threads: usize,
    /// Which outputs are verified.
    pub verify: Verify,
    /// How long a request may take.
    pub timeout: Duration,
    /// Told once, when the device is no longer used, why.
    pub on_off: OnOff,
}

impl QatSettings {
    /// How long a request may take unless somebody says otherwise.
    pub const TIMEOUT: Duration = Duration::from_secs(10);
}

impl Debug for QatSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QatSettings").field("level", &self.level).field("verify", &self.verify).finish_non_exhaustive()
    }
}

/// Why the device cannot be used although it and the library are there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The library refused.
    #[error("{call} answered {code}: {}", probe::meaning(*code))]
    Code {
        /// Its function.
        call: &'static str,
        /// Its answer.
        code: i32,
    },
    /// The library did not answer.
    #[error("the library did not answer within {0} s")]
    Hang(u64),
    /// The device has no instance for compression.
    #[error("the device has no instance for compression")]
    NoInstances,
    /// The library refused, or was given up, before in this process, and is not called again.
    #[error("it was given up before: {0}")]
    Earlier(String),
    /// The system has no threads.
    #[error("threads cannot be started: {0}")]
    Threads(String),
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        Self::Code { call: refused.call, code: refused.code }
    }
}

/// Sealing at the device, with the CPU for what the device does not do.
#[derive(Debug)]
pub struct QatEngine {
    shared: Arc<Shared>,
    device: Option<Sender<Task>>,
    /// Closes when every worker that was not left behind has ended.
    ended: Receiver<()>,
    stop: Option<Sender<()>>,
    watchdog: Option<JoinHandle<()>>,
    depth: usize,
    instances: Option<usize>,
    workers: usize,
    software: SoftwareEngine,
}

impl QatEngine {
    /// Begins the use of the device through `api`. After an error the library must not be used again in this process, and
    /// after a success no child process may be started by `fork`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn start(api: Api, settings: &QatSettings) -> Result<Self, Refusal> {
        if let Some(reason) = GIVEN_UP.get() {
            return Err(Refusal::Earlier(reason.clone()));
        }
        let threads = |error: std::io::Error| Refusal::Threads(error.to_string());
        if let Some(set) = api.qz_set_log_level {
            // SAFETY: it takes a number and touches nothing of ours. What it would print belongs on nobody's terminal.
            unsafe { set(0) };
        }
        let most = settings.workers.unwrap_or(usize::MAX).max(1);
        let shared = Arc::new(Shared {
            counters: Live::default(),
            trust: Trust::new(settings.verify, Arc::clone(&settings.on_off)),
            clock: Arc::new(SystemClock::default()) as Arc<dyn Clock>,
            timeout: settings.timeout,
            settings: Settings { level: settings.level, busy: most.min(WORKERS) * 2 <= settings.threads },
            slots: (0..most.min(probe::INSTANCES_MAX)).map(|_| Mutex::default()).collect(),
            alive: AtomicUsize::new(0),
        });
        let software = SoftwareEngine::new(settings.threads, settings.depth).map_err(threads)?;
        let (device, tasks) = unbounded();
        let (ending, ended) = bounded(0);
        let crew = Crew { shared: Arc::clone(&shared), api, tasks, ending };
        let instances = crew.hire(0).inspect_err(|refusal| give_up(&refusal.to_string()))?;
        if instances == Some(0) {
            return Err(Refusal::NoInstances);
        }
        let wanted = instances.unwrap_or(WORKERS).min(shared.slots.len());
        // One that is refused is one worker less; the library answers each by itself.
        let more = (1..wanted).take_while(|number| crew.hire(*number).is_ok()).count();
        let (stop, stopped) = bounded(0);
        let queue = software.queue().map_err(|error| Refusal::Threads(error.to_string()))?;
        let (watched, waiting) = (Arc::clone(&shared), crew.tasks.clone());
        let watch = move || watchdog::watch(&watched, &waiting, &queue, &stopped);
        let watchdog = std::thread::Builder::new().name("qat-watchdog".to_owned()).spawn(watch).map_err(threads)?;
        Ok(Self {
            shared,
            device: Some(device),
            ended,
            stop: Some(stop),
            watchdog: Some(watchdog),
            // One for the device and one that waits for it, for each worker.
            depth: settings.depth.max(2 * (more + 1)),
            instances,
            workers: more + 1,
            software,
        })
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.counters.read()
    }

    /// Why the device is no longer used, if it is not.
    #[must_use]
    pub fn off(&self) -> Option<String> {
        self.shared.trust.off().map(str::to_owned)
    }

    /// Whether an output was found to be wrong, so that others that nobody has looked at may be wrong too.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.shared.trust.is_broken()
    }

    /// Instances of the process, where the library tells.
    #[must_use]
    pub fn instances(&self) -> Option<usize> {
        self.instances
    }

    /// Workers at the device.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers
    }
}

/// What every worker is given.
struct Crew {
    shared: Arc<Shared>,
    api: Api,
    tasks: Receiver<Task>,
    ending: Sender<()>,
}

impl Crew {
    /// Starts a worker and waits until it has a session; gives the number of instances.
    fn hire(&self, number: usize) -> Result<Option<usize>, Refusal> {
        let (begun, answer) = bounded::<Begun>(1);
        let (shared, api) = (Arc::clone(&self.shared), self.api);
        let (tasks, ending) = (self.tasks.clone(), self.ending.clone());
        let work = move || {
            worker::run(shared, number, api, &tasks, &begun);
            drop(ending);
        };
        let thread = std::thread::Builder::new().name(format!("qat-{number}"));
        thread.spawn(work).map_err(|error| Refusal::Threads(error.to_string()))?;
        let limit = self.shared.timeout * BRING_UP;
        match answer.recv_timeout(limit) {
            Ok(begun) => Ok(begun?),
            Err(RecvTimeoutError::Disconnected) => Err(Refusal::Threads("a worker panicked".to_owned())),
            Err(RecvTimeoutError::Timeout) => {
                note_abandoned();
                Err(Refusal::Hang(limit.as_secs()))
            }
        }
    }
}

impl Engine for QatEngine {
    fn name(&self) -> &'static str {
        "qat"
    }

    fn lane(&self) -> Result<Box<dyn Lane>, EngineError> {
        let stopped = || EngineError::Device("the engine has stopped".to_owned());
        let route = QatRoute {
            shared: Arc::clone(&self.shared),
            device: self.device.clone().ok_or_else(stopped)?,
            software: self.software.queue()?,
        };
        Ok(Box::new(QueueLane::new(route, self.depth)))
    }
}

impl Drop for QatEngine {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(watchdog) = self.watchdog.take() {
            let _ = watchdog.join();
        }
        self.device = None;
        // A worker that is stuck would be waited for in vain.
        if !abandoned() && self.ended.recv_timeout(self.shared.timeout) == Err(RecvTimeoutError::Timeout) {
            note_abandoned();
        }
    }
}
