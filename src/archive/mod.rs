//! Floor 7: a backup run, from file trees or a stream to a snapshot.
//!
//! ```text
//! scan (1 thread)  ->  readers (n threads)  ->  assemble (the caller's thread)  ->  session
//! walk, parent         open, read, cut, hash     deduplicate, lay, build trees       seal, put
//! ```
//! The scan hands files out in batches and tells `assemble` the order; `assemble` takes what the readers found in exactly
//! that order, so that the repository does not depend on which reader was faster. Memory is bounded by the number of
//! batches under way, each with at most a few packets of one buffer.

mod assemble;
mod commit;
mod parent;
mod pause;
mod read;
mod request;
mod scan;
mod stream;

pub use request::{About, ArchiveError, BackupReport, BackupRequest, ParentChoice, Source, Stream, Watch};

use crate::engine::Engine;
use crate::format::Snapshot;
use crate::repo::{Repository, Session, SessionOptions};
use crate::storage::{Folder, ObjectName};
use std::sync::Arc;

/// Backs up what `request` names and puts a snapshot.
///
/// Items that cannot be read never stop the run: they are reported, and stored in the snapshot.
///
/// # Errors
/// [`ArchiveError::NothingToSave`] when no source is there, [`ArchiveError::Stream`] when a stream failed, and
/// [`ArchiveError::Cancelled`] after a checkpoint; then there is no snapshot.
pub fn backup(
    repository: &Arc<Repository>,
    engine: &dyn Engine,
    request: BackupRequest,
    watch: &Watch<'_>,
) -> Result<BackupReport, ArchiveError> {
    let mut request = request;
    Snapshot::cut_paths(&mut request.about.paths);
    let began = repository.env().clock.monotonic();
    let time = repository.env().now();
    let options = SessionOptions { compression: request.compression, uploads: 2, dry_run: request.about.dry_run };
    let mut session = Session::start(repository, engine, options, "backup")?;
    let known = session.take_snapshots();
    let parent = commit::choose_parent(&request, &known)?;
    let BackupRequest { source, about, .. } = request;
    let mut damage: Vec<_> = session.index().damaged().iter().chain(&known.damaged).map(ToString::to_string).collect();
    damage.extend(session.index().gone().iter().map(|name| {
        let pack = ObjectName::hashed(Folder::Packs, name);
        format!("`{pack}` is missing or has another length; what is saved again of it is stored again")
    }));
    let mut saved = match source {
        Source::Paths { roots, selection } => {
            assemble::paths(&mut session, &scan::Plan { roots, selection, parent: parent.clone() }, &about, watch)?
        }
        Source::Stream(source) => stream::save(&mut session, source, parent.as_ref(), (&about, watch))?,
    };
    damage.append(&mut saved.damage);
    session.checkpoint()?;
    let run = commit::Run { time, began, known: &known, parent, damage };
    commit::commit(session, &about, run, saved)
}
