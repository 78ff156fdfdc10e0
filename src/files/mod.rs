//! The local file system as source and target of backups.
//!
//! Everything goes by directory handles, never by whole paths, so that neither a link swapped in nor a tree deeper than
//! `PATH_MAX` can lead astray. The room knows nothing of chunks and repositories: it gives and takes
//! [`Node`](crate::format::Node)s and open files.
//!
//! Source: a [`Walker`] meets entries in the order trees are stored in (chapter 9 of `repo-format.md`), as a
//! [`Selection`] allows. Target: a [`Target`] puts entries into a directory and never writes outside it.

mod attributes;
mod directory;
mod entry;
mod extents;
pub mod path;
mod pattern;
mod roots;
mod selection;
mod target;
mod walk;

pub use directory::Directory;
pub use entry::Entry;
pub use extents::{Extents, Segment, extents};
pub use path::Root;
pub use pattern::PatternError;
pub use selection::{Case, Selection, SelectionError};
pub use target::{DirId, FileHandle, Part, Target, TargetError, write_sparse_at};
pub use walk::{Event, Unreadable, Walker};
