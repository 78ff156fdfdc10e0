//! What can go wrong with a repository.

use crate::format::{ChunkId, FormatError};
use crate::storage::{StorageError, StorageFault};
use thiserror::Error;

/// A repository that cannot do what was asked.
#[derive(Debug, Error)]
pub enum RepoError {
    /// There is no repository at this location.
    #[error("there is no repository at `{0}`")]
    NoRepository(String),
    /// `init` found a repository.
    #[error("there is a repository at `{0}` already")]
    Exists(String),
    /// No key slot opens with this password or key.
    #[error("wrong password or key")]
    WrongSecret,
    /// An object was written by a newer version of the format.
    #[error("`{object}` has format version {version}")]
    TooNew {
        /// Name of the object.
        object: String,
        /// Its version.
        version: u8,
    },
    /// An object is not what it must be.
    #[error("`{object}` is damaged: {reason}")]
    Damaged {
        /// Name of the object.
        object: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No index object knows the chunk.
    #[error("chunk {0} is not in the index")]
    MissingChunk(ChunkId),
    /// A tree breaks a rule that spans several chunks.
    #[error("tree {id} is damaged: {reason}")]
    Tree {
        /// Id of the tree.
        id: ChunkId,
        /// What is wrong with it.
        reason: String,
    },
    /// No snapshot has this name.
    #[error("there is no snapshot `{0}`")]
    NoSnapshot(String),
    /// Several snapshots begin with this prefix.
    #[error("`{0}` is the beginning of several snapshots")]
    Ambiguous(String),
    /// Nothing lies at this path in the snapshot.
    #[error("there is no `{}` in the snapshot", String::from_utf8_lossy(.0))]
    NoPath(Vec<u8>),
    /// No key slot has this name.
    #[error("there is no key slot `{0}`")]
    NoSlot(String),
    /// Several key slots begin with this prefix.
    #[error("`{0}` is the beginning of several key slots")]
    AmbiguousSlot(String),
    /// Without this key slot nobody could open the repository any more.
    #[error("no other key slot is left")]
    LastSlot,
    /// The password opens a key slot already.
    #[error("this password opens key slot `{0}` already")]
    SlotExists(String),
    /// The repository was opened with a key, so there is no password to change.
    #[error("the repository was opened with a recovery key or a key file")]
    NoPassword,
    /// Another change came at the same time.
    #[error("somebody else changed it at the same time")]
    Conflict,
    /// An option cannot be.
    #[error("{0}")]
    Option(String),
    /// A sweep took the lease for lost before the snapshot stood, so the snapshot does not count.
    #[error("the lease of this run was taken for lost before its snapshot stood; the snapshot does not count")]
    LeaseLost,
    /// The storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The system has no randomness or no thread to give.
    #[error("the system refused: {0}")]
    System(#[from] std::io::Error),
    /// A part of the program stopped.
    #[error("{0}")]
    Engine(String),
}

impl RepoError {
    /// Whether stored data is damaged or missing, as opposed to out of reach.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::MissingChunk(_) | Self::Tree { .. } => true,
            Self::Storage(error) => matches!(error.fault, StorageFault::NotFound | StorageFault::ShortRead),
            _ => false,
        }
    }

    /// Whether an object is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_not_found())
    }

    #[expect(clippy::needless_pass_by_value, reason = "names, texts and errors alike are given to it")]
    pub(super) fn format(object: impl ToString, error: &FormatError) -> Self {
        match error {
            FormatError::Version(version) => Self::TooNew { object: object.to_string(), version: *version },
            other => Self::Damaged { object: object.to_string(), reason: other.to_string() },
        }
    }

    /// Whether one object failed in a way that need not hold for others: damage, or a read that failed.
    pub(super) fn is_of_one_object(&self) -> bool {
        self.is_damage() || matches!(self, Self::Storage(_))
    }

    #[expect(clippy::needless_pass_by_value, reason = "names, texts and errors alike are given to it")]
    pub(super) fn damaged(object: impl ToString, reason: impl ToString) -> Self {
        Self::Damaged { object: object.to_string(), reason: reason.to_string() }
    }
}
