//! Floor 7: removing what no snapshot needs, in two phases with a grace between them (`repo-format.md`, chapters 12 and
//! 15; `ARCHITECTURE.md`, "Removing").
//!
//! One run sweeps the marks whose grace has passed, then copies what is needed out of packs that hold little of it, and
//! marks what is left over. Whatever cannot be read stops it: "could not read" is never "not needed".

mod live;
mod plan;
mod request;
pub mod retention;
mod sweep;

pub use plan::{Plan, Share};
pub use request::{PruneError, PruneReport, PruneRequest};

use crate::base::cancel::Cancel;
use crate::engine::Engine;
use crate::format::{ChunkRecord, Mark, PackKind, Snapshot};
use crate::repo::{
    ChunkReader, LeaseId, Marks, Repository, Session, SessionOptions, Turn, describe, is_dead, leases, list_packs,
    take_turn,
};
use crate::storage::ObjectName;
use live::Live;
use std::collections::HashSet;
use std::sync::Arc;

/// Prunes.
///
/// # Errors
/// [`PruneError`]; what was done until then stays done, and the next run goes on from there.
pub fn prune(
    repository: &Arc<Repository>,
    engine: &dyn Engine,
    request: &PruneRequest,
    cancel: &Cancel,
) -> Result<PruneReport, PruneError> {
    if request.dry_run {
        let mut report = PruneReport::default();
        let run = Run { repository, request, cancel, own: [0; 16], is_full: false };
        sweep::look(&run, &mut report)?;
        let (_, plan, _) = run.plan(engine)?;
        report.plan = Some(plan);
        return Ok(report);
    }
    let mut outcome = once(repository, engine, request, cancel, false);
    if let Err(PruneError::Repo(error)) = &outcome
        && error.is_full()
    {
        let freed = repository.release_reserve()?;
        if freed == 0 {
            return outcome;
        }
        outcome = once(repository, engine, request, cancel, true);
        if let Ok(report) = &mut outcome {
            report
                .notes
                .push(format!("the storage is full: {freed} bytes of reserve were used, and nothing was copied"));
        }
    }
    let mut report = outcome?;
    if let Err(error) = repository.renew_reserve() {
        report.notes.push(format!("no space could be kept back for the next time: {error}"));
    }
    Ok(report)
}

/// One run; on a full storage only what gives space back.
fn once(
    repository: &Arc<Repository>,
    engine: &dyn Engine,
    request: &PruneRequest,
    cancel: &Cancel,
    is_full: bool,
) -> Result<PruneReport, PruneError> {
    let mut report = PruneReport::default();
    let lease = match take_turn(repository, "prune", (request.wait, request.grace), cancel)? {
        Turn::Mine(lease) => lease,
        Turn::Busy(other) => return Err(PruneError::Busy(other)),
        Turn::Cancelled(signal) => return Err(PruneError::Cancelled(signal)),
    };
    let run = Run { repository, request, cancel, own: lease.id(), is_full };
    if request.grace.is_zero() {
        run.refuse_company(&[])?;
    }
    sweep::sweep(&run, &mut report)?;
    let own = run.mark(engine, &mut report)?;
    if request.grace.is_zero() {
        run.refuse_company(&own)?;
        sweep::sweep(&run, &mut report)?;
    }
    lease.end()?;
    Ok(report)
}

/// What all steps of a run need.
#[derive(Clone, Copy)]
struct Run<'r> {
    repository: &'r Arc<Repository>,
    request: &'r PruneRequest,
    cancel: &'r Cancel,
    own: LeaseId,
    is_full: bool,
}

impl Run<'_> {
    fn check(&self) -> Result<(), PruneError> {
        self.cancel.requested().map_or(Ok(()), |signal| Err(PruneError::Cancelled(signal)))
    }

    /// With no grace at all nobody else may be at work.
    fn refuse_company(&self, own: &[LeaseId]) -> Result<(), PruneError> {
        let others = leases(&**self.repository.storage())?.into_iter();
        for (id, state) in others.filter(|(id, state)| state.is_live() && *id != self.own && !own.contains(id)) {
            if !is_dead(self.repository, &id, &state)? {
                return Err(PruneError::Company(describe(self.repository, &id, &state)?));
            }
        }
        Ok(())
    }

    /// All snapshots that count, and everything they need.
    fn live(
        &self,
        index: &Arc<crate::repo::Index>,
        roots: &HashSet<crate::format::ChunkId>,
    ) -> Result<Live, PruneError> {
        if let Some(error) = index.damaged().first() {
            return Err(PruneError::Unreadable(error.to_string()));
        }
        let mut live = Live::new(index);
        let mut reader = ChunkReader::new(self.repository, index);
        for root in roots {
            self.check()?;
            live.add_tree(*root, &mut reader, self.cancel)?;
        }
        Ok(live)
    }

    fn plan(&self, engine: &dyn Engine) -> Result<(Session, Plan, Live), PruneError> {
        let options = SessionOptions::of(self.repository, self.request.dry_run);
        // Listed before the index is read: what appears later is no leftover.
        let listed = list_packs(&**self.repository.storage())?;
        let mut session = Session::start(self.repository, engine, options, "prune: copying")?;
        let index = Arc::clone(session.index());
        let list = session.take_snapshots();
        if let Some(error) = list.damaged.first() {
            return Err(PruneError::Unreadable(error.to_string()));
        }
        let (mended, whole): (Vec<_>, Vec<_>) =
            list.snapshots.iter().map(|named| &named.snapshot).partition(|snapshot| snapshot.is_mended());
        let roots = |snapshots: Vec<&Snapshot>| snapshots.iter().map(|snapshot| snapshot.root).collect::<HashSet<_>>();
        let mut live = self.live(&index, &roots(whole))?;
        // What a repair has written down as lost is no news.
        let missing = live.missing;
        let mut reader = ChunkReader::new(self.repository, &index);
        for root in roots(mended) {
            live.add_tree(root, &mut reader, self.cancel)?;
        }
        let mut plan = Plan::make(&index, &live, self.request, self.repository.config());
        let marked: HashSet<_> =
            Marks::load(self.repository)?.standing.iter().flat_map(|mark| mark.mark.packs.clone()).collect();
        // A pack that no index object names may be one that a writer is about to name.
        let alone = !leases(&**self.repository.storage())?
            .iter()
            .any(|(id, state)| state.is_live() && *id != self.own && *id != session.lease());
        if alone && missing == 0 {
            let known: HashSet<_> = index.pack_views().map(|pack| pack.name).collect();
            plan.leftovers =
                listed.into_iter().filter(|(name, _)| !known.contains(name) && !marked.contains(name)).collect();
            plan.leftovers.sort_unstable();
        }
        plan.chunks_missing = missing;
        // What does not read back as it was would pass for not needed.
        index.check_sound()?;
        Ok((session, plan, live))
    }

    /// Copies, then marks; gives the lease it copied under.
    fn mark(&self, engine: &dyn Engine, report: &mut PruneReport) -> Result<Vec<LeaseId>, PruneError> {
        let (mut session, mut plan, live) = self.plan(engine)?;
        if self.is_full {
            // First what gives space back without taking any.
            plan.sparse.clear();
        }
        let own = vec![session.lease()];
        let copied = self.copy(&mut session, (&plan, &live), report);
        // What was copied counts even when the rest could not be.
        session.checkpoint()?;
        copied?;
        let marked: HashSet<_> =
            Marks::load(self.repository)?.standing.into_iter().flat_map(|mark| mark.mark.forgotten).collect();
        let forgotten = self.repository.forgotten()?;
        let names = |packs: &[Share]| packs.iter().map(|pack| pack.name).collect::<Vec<_>>();
        let leftovers = plan.leftovers.iter().map(|(name, _)| *name).filter(|name| !session.indexed().contains(name));
        let packs: Vec<_> = [names(&plan.dead), names(&plan.sparse), leftovers.collect()].concat();
        let forgotten = forgotten.snapshots.iter().map(|named| named.name).filter(|name| !marked.contains(name));
        let forgotten: Vec<_> = forgotten.collect();
        let gone: HashSet<[u8; 32]> = session.index().gone().iter().copied().collect();
        if !gone.is_empty() && plan.chunks_missing == 0 {
            // A writer that was taken for lost can still name packs that were removed since.
            self.repository.unlist_packs(&gone, 0)?;
            report.notes.push(format!(
                "{} packs that nothing needs and that are not there were taken off the index",
                gone.len()
            ));
        }
        if packs.is_empty() && forgotten.is_empty() {
            report.plan = Some(plan);
            session.end()?;
            return Ok(own);
        }
        for (packs, forgotten) in in_pieces(&packs, &forgotten) {
            let mark = Mark { created: self.repository.env().now(), packs, forgotten, gone: Vec::new() };
            let name: ObjectName = self.repository.put_mark(&mark)?;
            // The leases are listed after the mark stands, never before.
            report.writers_seen = self.repository.put_census(&name, &[self.own, own[0]])?;
            report.marked_packs += mark.packs.len();
            report.marked_snapshots += mark.forgotten.len();
        }
        report.plan = Some(plan);
        session.end()?;
        Ok(own)
    }

    fn copy(
        &self,
        session: &mut Session,
        (plan, live): (&Plan, &Live),
        report: &mut PruneReport,
    ) -> Result<(), PruneError> {
        let index = Arc::clone(session.index());
        let mut reader = ChunkReader::new(self.repository, &index);
        for pack in &plan.sparse {
            for block in pack.blocks.clone() {
                self.check()?;
                let needed = plan.needed(&index, live, pack, block);
                if needed.is_empty() {
                    continue;
                }
                if needed.len() == index.block_chunks(block).count() {
                    report.copied += u64::from(session.store_block_again(pack.kind, block)?);
                    continue;
                }
                for ChunkRecord { id, .. } in needed {
                    let chunk = reader.read(pack.kind, &id)?;
                    session.store_again(pack.kind, id, &chunk)?;
                    report.rebuilt += chunk.len() as u64;
                }
            }
        }
        Ok(index.check_sound()?)
    }
}

type Names = Vec<[u8; 32]>;

/// What is to be marked, in pieces that a mark can hold.
fn in_pieces(packs: &[[u8; 32]], forgotten: &[[u8; 32]]) -> Vec<(Names, Names)> {
    let most = crate::format::limits::MARK_NAMES_MAX;
    let (mut packs, mut forgotten) = (packs.chunks(most), forgotten.chunks(most));
    let mut pieces = Vec::new();
    loop {
        match (packs.next(), forgotten.next()) {
            (None, None) => return pieces,
            (a, b) => pieces.push((a.unwrap_or_default().to_vec(), b.unwrap_or_default().to_vec())),
        }
    }
}

/// Kinds of packs, data first.
const KINDS: [PackKind; 2] = [PackKind::Data, PackKind::Tree];
