//! What is good in damaged packs, stored again; the packs themselves are set aside.

use super::repair::{RepairError, RepairReport, Work};
use super::survey::Survey;
use crate::repo::{ChunkReader, Located, PackView, RepoError, Session, SessionOptions};
use crate::storage::{Folder, ObjectName};

/// A damaged pack, and what became of it.
#[derive(Clone, Debug)]
pub struct Salvaged {
    /// The pack.
    pub pack: [u8; 32],
    /// Chunks that could be had.
    pub chunks: u64,
    /// Chunks that could not, and of which there is no other copy.
    pub chunks_lost: u64,
    /// Whether there is nothing of it to be set aside.
    pub is_missing: bool,
}

/// Stores the good chunks of all damaged packs again, takes the packs off the index and sets them aside. Says whether
/// there were any.
pub(super) fn salvage(work: &Work<'_>, survey: &Survey, report: &mut RepairReport) -> Result<bool, RepairError> {
    let (repository, index) = &survey.ground;
    let views: Vec<PackView> = index.pack_views().filter(|view| survey.bad_packs.contains(&view.name)).collect();
    if views.is_empty() {
        return Ok(false);
    }
    let options = SessionOptions::of(repository, !work.apply);
    let mut session = Session::start(repository, work.engine, options, "repair: storing again")?;
    let mut reader = ChunkReader::new(repository, index);
    for view in &views {
        report.salvaged.push(pack(work, survey, view, &mut session, &mut reader)?);
    }
    if !work.apply {
        return Ok(true);
    }
    session.checkpoint()?;
    // What was good is durable and in the index; now the damaged ones go.
    repository.unlist_packs(&survey.bad_packs, 0)?;
    session.end()?;
    for (view, salvaged) in views.iter().zip(&report.salvaged) {
        let name = ObjectName::hashed(Folder::Packs, &view.name);
        if salvaged.is_missing {
            continue;
        }
        match repository.set_aside(&name) {
            Ok(()) => {}
            Err(error) if error.is_not_found() => {}
            // It is off the index, where it does no harm.
            Err(error) => report.notes.push(format!("`{name}` could not be set aside: {error}")),
        }
    }
    Ok(true)
}

fn pack(
    work: &Work<'_>,
    survey: &Survey,
    view: &PackView,
    session: &mut Session,
    reader: &mut ChunkReader,
) -> Result<Salvaged, RepairError> {
    let (repository, index) = &survey.ground;
    let name = ObjectName::hashed(Folder::Packs, &view.name);
    let is_missing = match repository.storage().head(&name) {
        Err(error) if error.is_not_found() => true,
        other => other.map(|_| false).map_err(RepoError::from)?,
    };
    let mut salvaged = Salvaged { pack: view.name, chunks: 0, chunks_lost: 0, is_missing };
    for block in view.blocks.clone() {
        work.watch.check()?;
        for chunk in index.block_chunks(block) {
            // A good copy in a pack that stays is enough.
            let stays = |place: &Located| {
                !survey.gaps.is_bad(place) && !survey.bad_packs.contains(&index.pack_name(place.block))
            };
            if index.locate_all(view.kind, &chunk.id).any(|place| stays(&place)) {
                salvaged.chunks += 1;
                continue;
            }
            match reader.read(view.kind, &chunk.id) {
                Ok(bytes) => {
                    session.store_again(view.kind, chunk.id, &bytes)?;
                    salvaged.chunks += 1;
                }
                Err(error) if error.is_damage() => salvaged.chunks_lost += 1,
                // Not lost: it could not be read this time, so nothing may be taken away.
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(salvaged)
}
