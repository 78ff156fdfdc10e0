//! The state of the simulated device: who holds an instance, what was counted, which rules of use were broken.

use crate::script::Script;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the device has seen since the process began.
///
/// Everything from `calls_after_refusal` on is a broken rule of use: under the real library it risks wrong data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Calls of `qzCompress` that got an instance.
    pub(crate) requests: u64,
    /// Calls of `qzCompress` that found no instance free.
    pub(crate) busy: u64,
    /// Requests inside the device at this moment, hanging ones too.
    pub(crate) in_flight: u64,
    /// The most there ever were at once.
    pub(crate) most_in_flight: u64,
    /// Requests that were answered with OK and a right output.
    pub(crate) right: u64,
    /// Requests that were answered with OK and a wrong output or wrong lengths.
    pub(crate) wrong: u64,
    /// Requests that were answered with a failure.
    pub(crate) failed: u64,
    /// Sessions that were set up.
    pub(crate) sessions: u64,
    /// Sessions that were torn down.
    pub(crate) torn_down: u64,
    /// Processor time the simulation itself took on the threads that called it, in nanoseconds.
    pub(crate) own_nanos: u64,
    /// Calls after `qzInit` or `qzSetupSessionDeflate` had refused.
    pub(crate) calls_after_refusal: u64,
    /// Calls with a session on another thread than the one that set it up, or at another address.
    pub(crate) foreign_calls: u64,
    /// Calls without a set-up; they were answered with gzip made in software, as the real library does.
    pub(crate) calls_without_setup: u64,
    /// Calls that are more than one request: longer than the buffer, or not marked as the last.
    pub(crate) divided_calls: u64,
    /// Sessions with other settings than the first of the process.
    pub(crate) differing_sessions: u64,
}

impl Counters {
    /// All of them with their names.
    pub(crate) fn named(&self) -> [(&'static str, u64); 15] {
        [
            ("requests", self.requests),
            ("busy", self.busy),
            ("in_flight", self.in_flight),
            ("most_in_flight", self.most_in_flight),
            ("right", self.right),
            ("wrong", self.wrong),
            ("failed", self.failed),
            ("sessions", self.sessions),
            ("torn_down", self.torn_down),
            ("own_nanos", self.own_nanos),
            ("calls_after_refusal", self.calls_after_refusal),
            ("foreign_calls", self.foreign_calls),
            ("calls_without_setup", self.calls_without_setup),
            ("divided_calls", self.divided_calls),
            ("differing_sessions", self.differing_sessions),
        ]
    }
}

/// All that changes.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) script: Script,
    pub(crate) counters: Counters,
    /// What `qzInit` answered first.
    pub(crate) init: Option<i32>,
    /// Whether a refusal was answered, after which nothing may be called.
    pub(crate) refused: bool,
    /// The settings of the first session: level, direction, and so on as raw words.
    pub(crate) settings: Option<[u32; 14]>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// Processor time of the simulation, in nanoseconds; apart, so that adding to it needs no lock.
pub(crate) static OWN_NANOS: AtomicU64 = AtomicU64::new(0);

/// The state, made from the environment when it is first wanted.
pub(crate) struct Held(MutexGuard<'static, Option<State>>);

impl Held {
    pub(crate) fn state(&mut self) -> &mut State {
        self.0.get_or_insert_with(|| State { script: from_environment(), ..State::default() })
    }
}

pub(crate) fn hold() -> Held {
    Held(STATE.lock().unwrap_or_else(PoisonError::into_inner))
}

#[expect(clippy::disallowed_methods, reason = "a stand-in for a foreign library, which reads its own settings")]
fn from_environment() -> Script {
    let Some(text) = std::env::var_os(crate::script::VARIABLE) else { return Script::default() };
    match text.to_str().and_then(Script::parse) {
        Some(script) => script,
        // A test with a misspelt script would prove nothing.
        None => crate::stop("the script in QATZIP_SIM cannot be read"),
    }
}

impl State {
    /// Takes an instance; gives the number of the request, or `None` when all are busy.
    pub(crate) fn enter(&mut self) -> Option<u64> {
        let request = self.counters.requests + 1;
        if self.counters.in_flight >= self.script.instances_at(request) {
            self.counters.busy += 1;
            return None;
        }
        self.counters.requests = request;
        self.counters.in_flight += 1;
        self.counters.most_in_flight = self.counters.most_in_flight.max(self.counters.in_flight);
        Some(request)
    }

    /// A copy of the counters.
    pub(crate) fn counters(&self) -> Counters {
        Counters { own_nanos: OWN_NANOS.load(Ordering::Relaxed), ..self.counters }
    }
}

/// Runs `work` and adds the processor time it took to the simulation's own.
pub(crate) fn own_time<T>(work: impl FnOnce() -> T) -> T {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
    };
    let began = now();
    let result = work();
    OWN_NANOS.fetch_add(now().saturating_sub(began), Ordering::Relaxed);
    result
}

/// Where the counters are to be written after every call.
const REPORT: &str = "QATZIP_SIM_COUNTERS";

/// Writes the counters for whoever looks from outside of the process, one `name number` a line.
#[expect(clippy::disallowed_methods, reason = "a stand-in for a foreign library, which reads its own settings")]
pub(crate) fn report(state: &State) {
    let Some(path) = std::env::var_os(REPORT) else { return };
    let lines: Vec<String> = state.counters().named().iter().map(|(name, count)| format!("{name} {count}\n")).collect();
    if let Err(error) = std::fs::write(&path, lines.concat()) {
        crate::stop(&format!("the counters cannot be written: {error}"));
    }
}
