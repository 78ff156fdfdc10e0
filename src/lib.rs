//! Nightjar: nightly deduplicated, encrypted backups, and a replica that can be trusted.
//!
//! The library behind the `nightjar` program, one module a room; `ARCHITECTURE.md` is the map of the
//! floors and says which room may use which. `repo-format.md` is the law for every stored byte.

pub mod archive;
pub mod base;
pub mod check;
pub mod chunker;
pub mod cli;
pub mod codec;
pub mod commands;
pub mod crypto;
pub mod engine;
pub mod files;
pub mod format;
pub mod prune;
pub mod repo;
pub mod restore;
pub mod storage;
pub mod ui;
