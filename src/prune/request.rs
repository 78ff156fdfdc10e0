//! What a prune is asked to do, and what it says afterwards.

use super::Plan;
use crate::repo::RepoError;
use std::time::Duration;

/// What a prune is asked to do.
#[derive(Clone, Debug)]
pub struct PruneRequest {
    /// How long a mark stands before it may be swept; none means mark and sweep in one run, with nobody else at work.
    pub grace: Duration,
    /// How long to wait for another prune to end.
    pub wait: Duration,
    /// The share of the repository that may stay unused, in thousandths.
    pub max_unused: u32,
    /// The share of the repository that one run may copy, in thousandths.
    pub max_repack: u32,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// What a prune did.
#[derive(Debug, Default)]
pub struct PruneReport {
    /// What was planned for the mark.
    pub plan: Option<Plan>,
    /// Plain bytes of blocks that were encrypted again as they were.
    pub copied: u64,
    /// Plain bytes of chunks that were compressed again.
    pub rebuilt: u64,
    /// Packs that were marked.
    pub marked_packs: usize,
    /// Forgotten snapshots that were marked.
    pub marked_snapshots: usize,
    /// Writers at work when the last mark was put.
    pub writers_seen: usize,
    /// Packs that were removed.
    pub swept_packs: usize,
    /// Their bytes.
    pub swept_bytes: u64,
    /// Forgotten snapshots that were removed for good.
    pub swept_snapshots: usize,
    /// Marked packs that are needed again.
    pub spared_packs: usize,
    /// Leases that were taken for lost.
    pub lost_leases: usize,
    /// Why marks were not swept, a line each.
    pub waiting: Vec<String>,
    /// What else has to be told.
    pub notes: Vec<String>,
}

/// Why a prune ended early.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    /// Another prune or a repair is at work.
    #[error("another prune or a repair is at work: {0}")]
    Busy(String),
    /// Without a grace nobody else may be at work.
    #[error("somebody else is at work: {0}")]
    Company(String),
    /// Something cannot be read, so it cannot be known what is needed.
    #[error("{0}")]
    Unreadable(String),
    /// A signal asked to stop.
    #[error("signal {0} asked to stop")]
    Cancelled(usize),
    /// The repository.
    #[error(transparent)]
    Repo(#[from] RepoError),
}
