//! Floor 8: the verbs. One verb, one file: its arguments, `run`, and what it prints.
//!
//! [`CommandError`] is the one place where errors become text for people.

pub mod backup;
pub mod bench;
pub mod cache;
pub mod check;
pub mod completions;
mod context;
pub mod demo;
mod error;
mod exit;
pub mod forget;
pub mod init;
pub mod key;
mod key_file;
mod location;
pub mod ls;
pub mod man;
mod memory;
mod named;
mod password;
mod pipe;
pub mod prune;
mod quantity;
mod quickassist;
mod recovery;
pub mod repair;
pub mod repo;
pub mod restore;
pub mod scrub;
mod sealing;
pub mod snapshots;
mod sources;
pub mod stats;
mod verified;
mod when;
mod work;

pub use cache::{CacheSettings, CacheSize};
pub use context::Context;
pub use error::CommandError;
pub use exit::Exit;
pub use location::Location;
pub use password::PasswordSource;
pub use sealing::{EngineChoice, EngineSettings};
