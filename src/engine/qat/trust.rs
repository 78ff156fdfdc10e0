//! How far the device is believed: what is verified, and when its use ends.

use std::collections::VecDeque;
use std::fmt::{self, Debug};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Outputs of a worker that are verified after something was wrong, and at its start.
const SUSPECT: u32 = 64;
/// In `suspect`, every so many outputs of a worker one is verified even when nothing was wrong.
const SAMPLE: u32 = 64;
/// Failures in a row that end the use of the device.
const IN_A_ROW: u32 = 8;
/// Answers that are remembered, and failures among them that are too many: over 1 %.
const WINDOW: usize = 1024;
const TOO_MANY: usize = WINDOW / 100;

/// Which outputs of the device are inflated on the CPU and compared before they are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// None.
    Off,
    /// The first 64 of every worker, the next 64 after any failure, and one in 64 of the others.
    #[default]
    Suspect,
    /// All.
    Always,
}

impl FromStr for Verify {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            "suspect" => Ok(Self::Suspect),
            "always" => Ok(Self::Always),
            _ => Err(format!("`{text}` is none of off, suspect and always")),
        }
    }
}

impl fmt::Display for Verify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Suspect => "suspect",
            Self::Always => "always",
        })
    }
}

/// Who is told, once, that the device is no longer used, and why.
pub type OnOff = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Debug, Default)]
struct Recent {
    in_a_row: u32,
    failed: VecDeque<bool>,
}

/// What all workers know together.
pub(super) struct Trust {
    mode: Verify,
    /// Raised with every failure; a worker that sees it raised verifies its next outputs.
    alarms: AtomicU64,
    recent: Mutex<Recent>,
    off: OnceLock<String>,
    /// Whether an output was wrong, so that no other is believed unseen.
    wrong: AtomicBool,
    on_off: OnOff,
}

impl Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust").field("mode", &self.mode).field("off", &self.off).finish_non_exhaustive()
    }
}

impl Trust {
    pub(super) fn new(mode: Verify, on_off: OnOff) -> Self {
        Self {
            mode,
            alarms: AtomicU64::new(0),
            recent: Mutex::default(),
            off: OnceLock::new(),
            wrong: AtomicBool::new(false),
            on_off,
        }
    }

    /// Why the device is no longer used, if it is not.
    pub(super) fn off(&self) -> Option<&str> {
        self.off.get().map(String::as_str)
    }

    /// Ends the use of the device; only the first reason counts and is told.
    pub(super) fn turn_off(&self, reason: String) {
        let mut first = false;
        let reason = self.off.get_or_init(|| {
            first = true;
            reason
        });
        if first {
            super::device::give_up(reason);
            (self.on_off)(reason);
        }
    }

    /// An output was wrong: nothing that was not verified is believed any more.
    pub(super) fn wrong_output(&self) {
        self.wrong.store(true, Ordering::SeqCst);
        self.turn_off("it gave an output that does not inflate to its input".to_owned());
    }

    /// Whether results that were not verified must be made again.
    pub(super) fn is_broken(&self) -> bool {
        self.wrong.load(Ordering::SeqCst)
    }

    /// The device answered well.
    pub(super) fn answered(&self) {
        self.remember(false);
    }

    /// The device failed at a block, as `what` says.
    pub(super) fn failed(&self, what: &str) {
        self.alarms.fetch_add(1, Ordering::SeqCst);
        let (in_a_row, of_recent) = self.remember(true);
        if in_a_row >= IN_A_ROW {
            self.turn_off(format!("it failed {in_a_row} times in a row, the last time with {what}"));
        } else if of_recent > TOO_MANY {
            self.turn_off(format!("it failed at {of_recent} of the last {WINDOW} blocks, the last time with {what}"));
        }
    }

    fn remember(&self, failed: bool) -> (u32, usize) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.in_a_row = if failed { recent.in_a_row + 1 } else { 0 };
        if recent.failed.len() == WINDOW {
            recent.failed.pop_front();
        }
        recent.failed.push_back(failed);
        let of_recent = if failed { recent.failed.iter().filter(|failed| **failed).count() } else { 0 };
        (recent.in_a_row, of_recent)
    }
}

/// What one worker still has to verify.
#[derive(Debug, Default)]
pub(super) struct Watchfulness {
    alarms: u64,
    left: u32,
    since: u32,
}

impl Watchfulness {
    pub(super) fn at_the_start() -> Self {
        Self { left: SUSPECT, ..Self::default() }
    }

    /// Whether the next output is to be verified.
    pub(super) fn wants(&mut self, trust: &Trust) -> bool {
        match trust.mode {
            Verify::Off => false,
            Verify::Always => true,
            Verify::Suspect => {
                let alarms = trust.alarms.load(Ordering::SeqCst);
                if alarms != self.alarms {
                    (self.alarms, self.left) = (alarms, SUSPECT);
                }
                self.since += 1;
                let wants = self.left > 0 || self.since >= SAMPLE;
                self.left = self.left.saturating_sub(1);
                if wants {
                    self.since = 0;
                }
                wants
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SAMPLE, SUSPECT, Trust, Verify, Watchfulness};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn trust(mode: Verify) -> (Trust, Arc<AtomicU32>) {
        let told = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&told);
        let on_off = Arc::new(move |_: &str| _ = counter.fetch_add(1, Ordering::SeqCst));
        (Trust::new(mode, on_off), told)
    }

    #[test]
    fn a_worker_is_watched_at_its_start_and_after_a_failure_and_now_and_then() {
        let (trust, _) = trust(Verify::Suspect);
        let mut worker = Watchfulness::at_the_start();
        let mut wanted = |n: u32| (0..n).filter(|_| worker.wants(&trust)).count();
        assert_eq!(wanted(SUSPECT), SUSPECT as usize);
        assert_eq!(wanted(SAMPLE - 1), 0);
        assert_eq!(wanted(1), 1);
        trust.failed("a test");
        assert_eq!(wanted(SUSPECT + SAMPLE - 1), SUSPECT as usize);
        assert_eq!(wanted(10 * SAMPLE), 10);
    }

    #[test]
    fn off_verifies_nothing_and_always_everything() {
        for (mode, expected) in [(Verify::Off, 0), (Verify::Always, 200)] {
            let (trust, _) = trust(mode);
            let mut worker = Watchfulness::at_the_start();
            trust.failed("a test");
            assert_eq!((0..200).filter(|_| worker.wants(&trust)).count(), expected);
        }
    }

    #[test]
    fn eight_failures_in_a_row_end_it_and_are_told_once() {
        let (trust, told) = trust(Verify::Suspect);
        for _ in 0..7 {
            trust.failed("code -2");
        }
        assert_eq!(trust.off(), None);
        trust.answered();
        for _ in 0..3 {
            trust.failed("code -2");
        }
        assert_eq!(trust.off(), None, "10 of 1,024 are borne");
        trust.failed("code -2");
        assert!(trust.off().unwrap().contains("11 of the last 1024"), "{trust:?}");
        trust.turn_off("again".to_owned());
        assert_eq!(told.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn failures_far_apart_are_borne() {
        let (trust, _) = trust(Verify::Suspect);
        for n in 0..10_000 {
            if n % 103 == 0 { trust.failed("code -2") } else { trust.answered() }
        }
        assert_eq!(trust.off(), None);
    }
}
