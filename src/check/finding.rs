//! What a check finds.

/// An object that is not what it must be, or not there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Damage {
    /// Its name below the top of the repository.
    pub object: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Damage {
    #[expect(clippy::needless_pass_by_value, reason = "names, texts and errors alike are given to it")]
    pub(super) fn new(object: impl ToString, reason: impl ToString) -> Self {
        Self { object: object.to_string(), reason: reason.to_string() }
    }
}

/// An entry of a snapshot that cannot be restored whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The snapshot.
    pub snapshot: [u8; 32],
    /// Whether the snapshot is one that was forgotten and can still be brought back.
    pub forgotten: bool,
    /// The path inside the snapshot; of a directory, when some of what is in it cannot be listed.
    pub path: Vec<u8>,
    /// Why.
    pub reason: String,
    /// Whether it is certain. Otherwise something could not be read this time, which says nothing about what is stored.
    pub is_certain: bool,
    /// Whether a repair has written this down already, in the snapshot or in the one that stands for it.
    pub known: bool,
}

/// What a check looked at, and what it found.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// Snapshots that count.
    pub snapshots: u64,
    /// Forgotten ones that can still be brought back.
    pub forgotten: u64,
    /// Directories; one that is the same in several snapshots counts once.
    pub directories: u64,
    /// Entries of these that are no directories.
    pub entries: u64,
    /// Index objects.
    pub index_objects: u64,
    /// Packs that the index names.
    pub packs: u64,
    /// Their bytes.
    pub pack_bytes: u64,
    /// Packs of which every byte was read and every chunk compared with its id.
    pub packs_read: u64,
    /// Their bytes.
    pub bytes_read: u64,
    /// Packs that no index object names: left by interrupted runs, or just being written.
    pub packs_unknown: u64,
    /// All damage, sorted by object.
    pub damage: Vec<Damage>,
    /// What could not be read this time, which says nothing about what is stored.
    pub unreadable: Vec<Damage>,
    /// What is lost by the damage, at most [`LOST_MAX`] entries.
    pub lost: Vec<Lost>,
    /// How many more are lost.
    pub lost_more: u64,
}

/// Lost entries that are named; more are counted.
pub const LOST_MAX: usize = 100_000;

impl CheckReport {
    /// Whether anything is damaged, or lost and not written down by a repair.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        !self.damage.is_empty() || self.lost.iter().any(|lost| lost.is_certain && !lost.known)
    }

    /// How many lost entries no repair has written down.
    #[must_use]
    pub fn news(&self) -> u64 {
        self.lost.iter().filter(|lost| !lost.known).count() as u64 + self.lost_more
    }

    /// Whether something could not be read this time.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        !self.unreadable.is_empty() || self.lost.iter().any(|lost| !lost.is_certain)
    }
}

/// Why a check ended early.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A signal asked to stop.
    #[error("signal {0} asked to stop")]
    Cancelled(usize),
    /// What is to be repaired is no copy of the other repository.
    #[error("it is of another repository")]
    OtherRepository,
    /// The repository, or what it is compared with.
    #[error(transparent)]
    Repo(#[from] crate::repo::RepoError),
}
