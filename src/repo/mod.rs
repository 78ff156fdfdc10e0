//! Floor 6: a repository as a place with keys, an index, snapshots, trees and chunks.

mod chunk_reader;
mod configs;
mod environment;
mod error;
mod forget;
mod index;
mod init;
mod key_slots;
mod lease;
mod marks;
mod object;
mod pack_writer;
mod removal;
mod repository;
mod session;
mod slots;
mod snapshots;
mod tree_reader;
mod tree_writer;
mod upload;

pub use chunk_reader::{BlockPlace, ChunkReader, Located};
pub use configs::{ChangedSettings, Settings};
pub use environment::Environment;
pub use error::RepoError;
pub use forget::Forgotten;
pub use index::{Index, PackView};
pub use init::{InitOptions, Initialized, init};
pub use key_slots::{KeySlots, RemovedSlot, ReplacedSlots, SlotInfo, SlotState};
pub use lease::HeldLease;
pub use marks::{LeaseId, LeaseState, Marks, Settled, StandingMark, lease, leases};
pub use repository::Repository;
pub use session::{Session, SessionOptions, Stored};
pub use slots::SlotSecret;
pub use snapshots::{NamedSnapshot, SnapshotList, SnapshotRef};
pub use tree_reader::{ExtentReader, TreeReader};
pub use tree_writer::{DirectoryWriter, ExtentWriter};
