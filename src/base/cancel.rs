//! A flag that asks a running operation to stop cleanly.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Shared by whoever may ask for a stop (a signal) and whoever works; cloning shares the flag.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicUsize>);

impl Cancel {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for a stop; `signal` is the signal number that asked (0 is not a request).
    pub fn request(&self, signal: usize) {
        self.0.store(signal, Ordering::SeqCst);
    }

    /// The signal number that asked for a stop, or `None`.
    #[must_use]
    pub fn requested(&self) -> Option<usize> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal),
        }
    }

    /// The cell itself, for registering it with a signal handler.
    #[must_use]
    pub fn cell(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0)
    }
}
