//! The only room that asks what time it is.
#![expect(clippy::disallowed_methods, reason = "this is the clock everything else asks")]

use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where an operation gets the time from; tests pass a [`ManualClock`].
pub trait Clock: Debug + Send + Sync {
    /// Nanoseconds since 1970-01-01T00:00:00Z; negative before.
    fn unix_nanos(&self) -> i128;
    /// Time since some fixed moment; never goes back.
    fn monotonic(&self) -> Duration;
}

/// The computer's own clocks.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { started: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn unix_nanos(&self) -> i128 {
        let nanos = |d: Duration| i128::try_from(d.as_nanos()).unwrap_or(i128::MAX);
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => nanos(after),
            Err(before) => -nanos(before.duration()),
        }
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }
}

/// A clock that stands still until it is told otherwise.
#[derive(Debug, Default)]
pub struct ManualClock {
    nanos: AtomicI64,
}

impl ManualClock {
    /// A clock standing at `nanos` after 1970.
    #[must_use]
    pub fn at(nanos: i64) -> Self {
        Self { nanos: AtomicI64::new(nanos) }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.nanos.fetch_add(i64::try_from(by.as_nanos()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn unix_nanos(&self) -> i128 {
        i128::from(self.nanos.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.nanos.load(Ordering::SeqCst)).unwrap_or(0))
    }
}
