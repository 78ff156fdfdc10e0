//! What a backup is asked to do, and what it says afterwards.

use crate::base::cancel::Cancel;
use crate::base::meter::Meter;
use crate::codec::Compression;
use crate::files::{Root, Selection};
use crate::format::{FailedItem, Statistics};
use crate::repo::{NamedSnapshot, RepoError, SnapshotRef};
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

/// What is saved.
#[derive(Debug)]
pub enum Source {
    /// File trees.
    Paths {
        /// Where they begin.
        roots: Vec<Root>,
        /// What is left out.
        selection: Selection,
    },
    /// One file whose content comes from elsewhere.
    Stream(Stream),
}

/// Content that comes from a pipe.
pub struct Stream {
    /// Name of the file in the snapshot, at its top.
    pub name: Vec<u8>,
    /// The content.
    pub reader: Box<dyn Read + Send>,
    /// Called at the end of the content; says why it is not whole, if it is not.
    pub finish: Box<dyn FnOnce() -> Result<(), String> + Send>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Which snapshot unchanged files are taken over from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParentChoice {
    /// The newest of the same host with the same job or, without a job, the same paths.
    Auto,
    /// None: every file is read.
    None,
    /// This one.
    Named(SnapshotRef),
}

/// What is written into the snapshot, and how the run works.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub struct About {
    /// Host.
    pub host: String,
    /// User.
    pub user: String,
    /// Job.
    pub job: Option<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Paths as asked for, absolute.
    pub paths: Vec<Vec<u8>>,
    /// Options that decide what is in the snapshot, for the record.
    pub options: Vec<String>,
    /// Offset of the local time zone in seconds.
    pub zone_seconds: i32,
    /// No snapshot when nothing differs from the parent.
    pub skip_if_unchanged: bool,
    /// The highest Lamport number that this host has seen, whether or not its snapshot is still there.
    pub lamport: u64,
    /// That far fewer files are there than before is as it should be.
    pub accept_shrink: bool,
    /// Nothing is stored.
    pub dry_run: bool,
    /// Files read at once.
    pub readers: usize,
    /// How often what is stored so far is made findable.
    pub checkpoint: Duration,
    /// Whether to count files and bytes in advance, for progress in percent.
    pub estimate: bool,
}

/// A backup to be made.
#[derive(Debug)]
pub struct BackupRequest {
    /// What is saved.
    pub source: Source,
    /// Which snapshot unchanged files are taken over from.
    pub parent: ParentChoice,
    /// For new blocks.
    pub compression: Compression,
    /// The rest.
    pub about: About,
}

/// Who looks on while an operation runs.
pub struct Watch<'w> {
    /// How far it is.
    pub meter: Arc<Meter>,
    /// Whether it is to stop.
    pub cancel: Cancel,
    /// Told of every item that fails, at once.
    pub failed: &'w dyn Fn(&FailedItem),
}

/// What a backup did.
#[derive(Debug)]
pub struct BackupReport {
    /// The new snapshot; `None` in a dry run and when nothing changed and that was to be skipped.
    pub snapshot: Option<NamedSnapshot>,
    /// Counts.
    pub statistics: Statistics,
    /// What could not be read or saved whole: the first 10,000 items; `statistics` counts them all.
    pub failed: Vec<FailedItem>,
    /// The snapshot unchanged files were taken over from.
    pub parent: Option<NamedSnapshot>,
    /// Files in the last snapshot that was as it should be, when far fewer are there now.
    pub shrunk_from: Option<u64>,
    /// Nothing differs from the parent.
    pub unchanged: bool,
    /// Damage met in the repository; the backup does without what is damaged.
    pub damage: Vec<String>,
    /// Other things that somebody should know of.
    pub notes: Vec<String>,
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// None of the sources is there.
    #[error("none of the sources could be read")]
    NothingToSave(Vec<FailedItem>),
    /// The stream is not whole.
    #[error("the stream is not whole: {0}")]
    Stream(String),
    /// The run was asked to stop; what was stored so far can be found by the next run.
    #[error("stopped by signal {0}")]
    Cancelled(usize),
    /// The repository.
    #[error(transparent)]
    Repo(#[from] RepoError),
}
