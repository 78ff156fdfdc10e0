//! Nightjar: nightly deduplicated, encrypted backups, and a replica that can be trusted.
//!
//! The library behind the `nightjar` program, one module a room; `ARCHITECTURE.md` is the map of the
//! floors and says which room may use which. `repo-format.md` is the law for every stored byte.

pub mod base;
pub mod files;
pub mod format;
pub mod storage;
