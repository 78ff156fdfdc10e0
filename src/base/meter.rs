//! Counters that a running operation keeps and that others look at while it runs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far a backup or a restore is. All counters only grow.
#[derive(Debug, Default)]
pub struct Meter {
    /// Files to go through, as far as known.
    pub files_total: AtomicU64,
    /// Bytes to go through, as far as known.
    pub bytes_total: AtomicU64,
    /// Whether the totals are final.
    pub total_known: AtomicBool,
    /// Files done.
    pub files_done: AtomicU64,
    /// Bytes done: read, written, or taken over from the parent snapshot.
    pub bytes_done: AtomicU64,
    /// Items that failed.
    pub failed: AtomicU64,
    current: Mutex<Vec<u8>>,
}

impl Meter {
    /// All counters at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds to one of the counters.
    pub fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    /// Reads one of the counters.
    #[must_use]
    pub fn read(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }

    /// Says what is being worked on.
    pub fn set_current(&self, path: &[u8]) {
        if let Ok(mut current) = self.current.try_lock() {
            current.clear();
            current.extend_from_slice(path);
        }
    }

    /// What is being worked on.
    #[must_use]
    pub fn current(&self) -> Vec<u8> {
        self.current.lock().map(|current| current.clone()).unwrap_or_default()
    }
}
