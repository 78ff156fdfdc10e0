//! Floor 5: sealing and opening blocks in batches; the only room that joins codec and crypto.
//!
//! Contract, tested in `engine::contract`: every job taken comes back exactly once whatever happens; dropping a
//! lane waits for what is in flight; whatever an engine sealed, the software engine opens. Keys and nonces come
//! from the caller, never from an engine.

#[cfg(test)]
mod contract;
mod job;
pub mod qat;
mod queue;
mod software;

pub use job::{Contexts, Done, EngineError, Job, Operation};
pub use software::SoftwareEngine;

use std::collections::VecDeque;
use std::time::Duration;

/// A way to seal and open blocks.
pub trait Engine: std::fmt::Debug + Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &'static str;

    /// A new lane for the calling thread.
    ///
    /// # Errors
    /// When the device has none left.
    fn lane(&self) -> Result<Box<dyn Lane>, EngineError>;
}

/// One thread's queue into an engine.
pub trait Lane: std::fmt::Debug {
    /// Takes jobs from the front until the lane is full; returns how many. Never waits.
    fn submit(&mut self, jobs: &mut VecDeque<Job>) -> usize;

    /// Appends what is finished to `done`, waiting up to `wait` for the first when nothing is.
    fn reap(&mut self, wait: Duration, done: &mut Vec<Done>);

    /// Jobs taken and not yet returned.
    fn in_flight(&self) -> usize;

    /// Most jobs in flight.
    fn depth(&self) -> usize;

    /// Whether results that were handed out before may be wrong, and what is not stored yet should be opened first.
    fn is_distrusted(&self) -> bool;
}
