//! Floor 7: a snapshot, or a part of it, back into a directory.
//!
//! The trees are walked in rounds. A round plans up to a million pieces of files, sorts them by where their blocks lie, and
//! hands neighbouring blocks to the workers: each block is read and opened once a round, each chunk is verified against
//! its id before a byte of it is written, and a file gets its final name when its last piece is in place.

mod file;
mod plan;
mod round;
mod select;

pub use select::{Selected, select};

use crate::base::cancel::Cancel;
use crate::base::meter::Meter;
use crate::engine::Engine;
use crate::files::Target;
use crate::format::FailedItem;
use crate::repo::{Index, RepoError, Repository};
use std::path::PathBuf;
use std::sync::Arc;

/// What is restored, and where.
#[derive(Clone, Debug)]
pub struct RestoreRequest {
    /// What [`select()`] found.
    pub selected: Selected,
    /// The directory that takes it; made if missing.
    pub target: PathBuf,
    /// Ranges read at once.
    pub readers: usize,
}

/// Who looks on while a restore runs.
pub struct Watch<'w> {
    /// How far it is.
    pub meter: Arc<Meter>,
    /// Whether it is to stop.
    pub cancel: Cancel,
    /// Told of every item that fails, at once and from any thread.
    pub failed: &'w (dyn Fn(&FailedItem) + Sync),
}

/// What a restore did.
#[derive(Clone, Debug, Default)]
pub struct RestoreReport {
    /// Files in their places.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Links, pipes, devices, sockets.
    pub others: u64,
    /// Bytes of files in their places.
    pub bytes: u64,
    /// Entries that could not be made, or not with all their metadata.
    pub failed: Vec<FailedItem>,
    /// Entries whose data is damaged or missing in the repository.
    pub damaged: Vec<FailedItem>,
    /// Whether some of `failed` is there because the storage could not be read.
    pub storage_failed: bool,
}

/// Why a restore ended early.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The target directory cannot be made or opened.
    #[error(transparent)]
    Target(#[from] crate::files::TargetError),
    /// The target is full.
    #[error("no space left at the target: {0}")]
    NoSpace(std::io::Error),
    /// The restore was asked to stop.
    #[error("stopped by signal {0}")]
    Cancelled(usize),
    /// The repository.
    #[error(transparent)]
    Repo(#[from] RepoError),
}

/// Restores what `request` names.
///
/// What cannot be restored is reported, and the rest is restored; a file with damaged content never gets its final name.
///
/// # Errors
/// When the target cannot be used or is full, or the restore was asked to stop.
pub fn restore(
    repository: &Arc<Repository>,
    index: &Arc<Index>,
    engine: &dyn Engine,
    request: &RestoreRequest,
    watch: &Watch<'_>,
) -> Result<RestoreReport, RestoreError> {
    let target = Target::create(&request.target, &*repository.env().entropy)?;
    let job = round::Job { repository, index, engine, target: &target, watch, readers: request.readers.max(1) };
    plan::Plan::new(&job).run(&request.selected)
}
