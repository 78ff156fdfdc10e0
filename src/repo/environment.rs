//! What a repository takes from the world around it: time, randomness, and who is asking.

use super::CachePlace;
use crate::base::clock::{Clock, SystemClock};
use crate::base::entropy::{Entropy, SystemEntropy};
use crate::base::host::Host;
use crate::format::Time;
use std::path::PathBuf;
use std::sync::Arc;

/// Clock, randomness, host and a place for scratch files; tests pass fixed ones.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub entropy: Arc<dyn Entropy>,
    /// This host and process.
    pub host: Host,
    /// A folder on a disk for what is too large for memory; without one it is kept in memory.
    pub scratch: Option<PathBuf>,
    /// Where objects of repositories that are far away are kept.
    pub cache: Option<CachePlace>,
}

impl Environment {
    /// The real world.
    #[must_use]
    pub fn system() -> Self {
        Self {
            clock: Arc::new(SystemClock::default()),
            entropy: Arc::new(SystemEntropy),
            host: Host::this(),
            scratch: None,
            cache: None,
        }
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Time {
        let nanos = self.clock.unix_nanos();
        let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).unwrap_or(i64::MAX);
        Time { seconds, nanos: u32::try_from(nanos.rem_euclid(1_000_000_000)).expect("below 10^9") }
    }

    /// Bytes that differ from process to process.
    #[must_use]
    pub(super) fn process(&self) -> Vec<u8> {
        let host = &self.host;
        format!("{}\0{}\0{}\0{}\0{}\0{}", host.name, host.machine, host.boot, host.pid, host.started, host.namespace)
            .into_bytes()
    }
}
