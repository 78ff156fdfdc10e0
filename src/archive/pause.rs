//! What a run does between two pieces of work: stops when it was asked to, and makes what is stored findable in time.

use super::{About, ArchiveError, Watch};
use crate::repo::Session;
use std::time::Duration;

/// When the next checkpoint is due.
#[derive(Debug)]
pub(super) struct Pauses {
    every: Duration,
    next: Duration,
}

impl Pauses {
    pub(super) fn new(session: &Session, about: &About) -> Self {
        Self { every: about.checkpoint, next: now(session) + about.checkpoint }
    }

    /// Ends the run with a checkpoint when a stop was asked for; makes a checkpoint when one is due.
    pub(super) fn pause(&mut self, session: &mut Session, watch: &Watch<'_>) -> Result<(), ArchiveError> {
        if let Some(signal) = watch.cancel.requested() {
            session.checkpoint()?;
            return Err(ArchiveError::Cancelled(signal));
        }
        let now = now(session);
        if now >= self.next {
            session.checkpoint()?;
            self.next = now + self.every;
        }
        Ok(())
    }
}

fn now(session: &Session) -> Duration {
    session.repository().env().clock.monotonic()
}
