//! The sweep: what was marked goes, once nobody can need it any more (`repo-format.md`, chapter 15).

use super::{PruneError, PruneReport, Run};
use crate::format::{ChunkId, Mark};
use crate::repo::{
    Index, LeaseId, LeaseState, Marks, RepoError, SnapshotList, StandingMark, describe, is_dead, lease, leases, list,
};
use crate::storage::{Folder, ObjectName};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Index objects below this many bytes are merged when some are replaced anyway.
const SMALL_INDEX: u64 = 1 << 20;

/// Says which marks would be swept, and why others would not.
pub(super) fn look(run: &Run<'_>, report: &mut PruneReport) -> Result<(), PruneError> {
    let standing = Marks::load(run.repository)?.standing;
    let states = leases(&**run.repository.storage())?;
    for mark in standing.iter().filter(|mark| mark.mark.removes()) {
        match verdict(run, mark, &states)? {
            Verdict::Wait(reason) => report.waiting.push(reason),
            Verdict::Due(_) => {
                report.swept_packs += mark.mark.packs.len();
                report.swept_snapshots += mark.mark.forgotten.len();
            }
        }
    }
    Ok(())
}

/// What is to be done with a mark.
enum Verdict {
    /// It is due once these leases are settled.
    Due(Vec<LeaseId>),
    /// It is not due, for this reason.
    Wait(String),
}

/// Sweeps the marks that are due.
pub(super) fn sweep(run: &Run<'_>, report: &mut PruneReport) -> Result<(), PruneError> {
    let storage = &**run.repository.storage();
    // Listed before the marks: a mark stands before its census does.
    let censuses = list(storage, Folder::Census)?;
    let marks = Marks::load(run.repository)?;
    let stands = |census: &ObjectName| marks.standing.iter().any(|mark| mark.name.census() == *census);
    for census in censuses.iter().map(|meta| &meta.name).filter(|census| !stands(census)) {
        // A sweep ended between the mark and its census.
        storage.delete(census).map_err(RepoError::from)?;
    }
    for error in &marks.damaged {
        // Nobody can sweep by it. Until it is gone every writer has to store everything again.
        if let RepoError::Damaged { object, .. } = error
            && let Some(name) = ObjectName::from_path(object).filter(|name| name.folder() == Folder::Marks)
        {
            storage.delete(&name).map_err(RepoError::from)?;
            report.notes.push(format!("{error}; it was removed, and what it named will be marked again"));
        }
    }
    let mut due = Vec::new();
    for mark in marks.standing.into_iter().filter(|mark| mark.mark.removes()) {
        run.check()?;
        if mark.census.is_none() {
            // Its prune ended before the leases were listed: it says nothing about who is at work.
            drop_mark(run, &mark.name)?;
            continue;
        }
        match verdict(run, &mark, &leases(storage)?)? {
            Verdict::Wait(reason) => report.waiting.push(reason),
            Verdict::Due(lost) => {
                for lease in lost {
                    run.repository.settle(&lease)?;
                    report.lost_leases += 1;
                }
                due.push(mark);
            }
        }
    }
    if due.is_empty() {
        return Ok(());
    }
    take_forgotten(run, &due, report)?;
    if let Some(reason) = undo_at_work(run, &due, report)? {
        report.waiting.push(reason);
        return Ok(());
    }
    let doomed = doomed(run, &due, report)?;
    remove(run, &due, &doomed, report)
}

/// Whether the grace of a mark has passed and nobody of its census can need what it names.
fn verdict(run: &Run<'_>, mark: &StandingMark, states: &BTreeMap<LeaseId, LeaseState>) -> Result<Verdict, PruneError> {
    let Some(census) = &mark.census else { return Ok(Verdict::Wait("a mark has no census".to_owned())) };
    if let Some(left) = grace_left(run, mark)? {
        let packs = mark.mark.packs.len();
        return Ok(Verdict::Wait(format!("the grace of {packs} marked packs lasts {} s more", left.as_secs())));
    }
    let mut lost = Vec::new();
    for (id, counter) in census.leases.iter().filter(|(id, _)| *id != run.own) {
        let Some(state) = states.get(id).filter(|state| state.is_live()) else { continue };
        let stood_still = !run.request.grace.is_zero() && state.counter == Some(*counter);
        if stood_still || is_dead(run.repository, id, state)? {
            lost.push(*id);
        } else {
            let who = describe(run.repository, id, state)?;
            return Ok(Verdict::Wait(format!("a run that began before the mark is still at work: {who}")));
        }
    }
    Ok(Verdict::Due(lost))
}

/// How much of the grace is left, by the clock of this host and by that of the store, whichever says more.
fn grace_left(run: &Run<'_>, mark: &StandingMark) -> Result<Option<Duration>, PruneError> {
    let grace = run.request.grace;
    let storage = &**run.repository.storage();
    let now = run.repository.env().clock.unix_nanos();
    let created = i128::from(mark.mark.created.seconds) * 1_000_000_000 + i128::from(mark.mark.created.nanos);
    // A mark from the future has no age at all.
    let by_host = Duration::from_nanos(u64::try_from(now - created).unwrap_or(0));
    let own = ObjectName::lease(&run.own, 0);
    let put = |name: &ObjectName| match storage.put_time(name) {
        Err(error) if error.is_not_found() => Ok(None),
        other => other.map_err(RepoError::from),
    };
    let by_store = match (put(&own)?, put(&mark.name)?) {
        (Some(now), Some(then)) => now.duration_since(then).unwrap_or_default(),
        _ => by_host,
    };
    Ok(grace.checked_sub(by_host.min(by_store)).filter(|left| !left.is_zero()))
}

/// Deletes the forgotten snapshots that the marks name. From now on no undo can begin that needs what is removed.
fn take_forgotten(run: &Run<'_>, due: &[StandingMark], report: &mut PruneReport) -> Result<(), PruneError> {
    let names: Vec<_> = due.iter().flat_map(|mark| mark.mark.forgotten.iter().copied()).collect();
    if names.is_empty() {
        return Ok(());
    }
    // First it is written down that they are gone on purpose.
    let old: Vec<StandingMark> =
        Marks::load(run.repository)?.standing.into_iter().filter(|mark| !mark.mark.removes()).collect();
    // Others may still call one that was brought back by the name it had before.
    let forgotten = run.repository.forgotten()?.snapshots.into_iter().filter(|named| names.contains(&named.name));
    let before = forgotten.filter_map(|named| named.snapshot.original);
    let mut gone: Vec<_> =
        old.iter().flat_map(|mark| mark.mark.gone.iter().copied()).chain(names.clone()).chain(before).collect();
    gone.sort_unstable();
    gone.dedup();
    let created = run.repository.env().now();
    let mut put = Vec::new();
    for piece in gone.chunks(crate::format::limits::MARK_NAMES_MAX) {
        let mark = Mark { created, packs: Vec::new(), forgotten: Vec::new(), gone: piece.to_vec() };
        put.push(run.repository.put_mark(&mark)?);
    }
    let storage = &**run.repository.storage();
    for mark in old.iter().filter(|mark| !put.contains(&mark.name)) {
        storage.delete(&mark.name).map_err(RepoError::from)?;
    }
    for name in &names {
        storage.delete(&ObjectName::hashed(Folder::Forgotten, name)).map_err(RepoError::from)?;
    }
    report.swept_snapshots += names.len();
    Ok(())
}

/// An undo that began before the forgotten snapshots were taken away, and is not known to have ended.
fn undo_at_work(run: &Run<'_>, due: &[StandingMark], report: &mut PruneReport) -> Result<Option<String>, PruneError> {
    let storage = &**run.repository.storage();
    for (id, state) in leases(storage)?.into_iter().filter(|(_, state)| state.is_live()) {
        let Some(counter) = state.counter else { continue };
        // One that cannot be read may be that of an undo.
        let may_undo = match lease(storage, &id, counter) {
            Ok(record) => record.is_some_and(|record| record.operation == "undo"),
            Err(error) if error.is_damage() => true,
            Err(error) => return Err(error.into()),
        };
        if !may_undo || due.iter().any(|mark| stood_still(mark, &id, counter)) {
            continue;
        }
        if is_dead(run.repository, &id, &state)? {
            run.repository.settle(&id)?;
            report.lost_leases += 1;
        } else {
            return Ok(Some(format!("an undo is at work: {}", describe(run.repository, &id, &state)?)));
        }
    }
    Ok(None)
}

fn stood_still(mark: &StandingMark, id: &LeaseId, counter: u64) -> bool {
    mark.census.as_ref().is_some_and(|census| census.counter(id) == Some(counter))
}

/// The marked packs that nothing needs.
fn doomed(run: &Run<'_>, due: &[StandingMark], report: &mut PruneReport) -> Result<HashSet<[u8; 32]>, PruneError> {
    let roots = roots(run)?;
    // After the snapshots: what they need was named before they stood.
    // Only what is there: a copy in a pack that is gone is none.
    let index = Arc::new(Index::load_present(run.repository, &HashSet::new())?);
    let live = run.live(&index, &roots)?;
    let marked: HashSet<[u8; 32]> = due.iter().flat_map(|mark| mark.mark.packs.iter().copied()).collect();
    // Packs of other marks may go soon, so what is needed must not rest on them.
    let others: HashSet<[u8; 32]> =
        Marks::load(run.repository)?.standing.iter().flat_map(|mark| mark.mark.packs.clone()).collect();
    let views: Vec<_> = index.pack_views().collect();
    let mut safe: HashSet<ChunkId> = HashSet::new();
    for view in views.iter().filter(|view| !others.contains(&view.name)) {
        for chunk in view.blocks.clone().flat_map(|block| index.block_chunks(block)) {
            if index.copies(&chunk.id) > 1 {
                safe.insert(chunk.id);
            }
        }
    }
    let mut doomed = marked;
    for view in views.iter().filter(|view| others.contains(&view.name)) {
        let chunks = || view.blocks.clone().flat_map(|block| index.block_chunks(block));
        let needed = chunks().any(|chunk| live.contains(&chunk.id) && !safe.contains(&chunk.id));
        if needed && doomed.remove(&view.name) {
            report.spared_packs += 1;
            // One copy is enough for the marked packs that follow.
            safe.extend(chunks().map(|chunk| chunk.id));
        }
    }
    if live.missing > 0 {
        // What is needed and not in the index may lie in a pack that is not in it either.
        let known: HashSet<_> = views.iter().map(|view| view.name).collect();
        doomed.retain(|name| known.contains(name));
        report.notes.push(format!("{} chunks that snapshots need are not in the index", live.missing));
    }
    index.check_sound()?;
    Ok(doomed)
}

/// The trees of all snapshots that count and of all that can be brought back. Listed in this order, nothing that moves
/// between the two meanwhile is missed: a forgotten one is put before it is taken away here, and one that is brought back
/// is put here before it is taken away there.
///
/// A forgotten snapshot that another stands for, because a repair has put it once more without what it had lost, is no
/// root of its own: what of it can still be read the other needs too, and what cannot would stop everything.
fn roots(run: &Run<'_>) -> Result<HashSet<ChunkId>, PruneError> {
    let (mut standing, mut damaged) = (Vec::new(), Vec::new());
    let mut add = |list: SnapshotList| {
        standing.extend(list.snapshots);
        damaged.extend(list.damaged);
    };
    add(SnapshotList::load(run.repository)?);
    let forgotten = run.repository.forgotten()?;
    add(SnapshotList::load(run.repository)?);
    if let Some(error) = damaged.iter().chain(&forgotten.damaged).next() {
        return Err(PruneError::Unreadable(error.to_string()));
    }
    let all = standing.iter().chain(&forgotten.snapshots);
    let replaced: HashSet<[u8; 32]> = all.filter_map(|named| named.snapshot.original).collect();
    let needed = forgotten.snapshots.iter().filter(|named| !replaced.contains(&named.name)).chain(&standing);
    Ok(needed.map(|named| named.snapshot.root).collect())
}

/// Index, then packs, then marks.
fn remove(
    run: &Run<'_>,
    due: &[StandingMark],
    doomed: &HashSet<[u8; 32]>,
    report: &mut PruneReport,
) -> Result<(), PruneError> {
    run.check()?;
    match run.repository.unlist_packs(doomed, SMALL_INDEX) {
        // No room for an index object that lacks them: they go first, which nobody needs. What is left of the index names
        // packs that are gone until it is replaced, by this run or, since the marks stand, by the next.
        Err(error) if error.is_full() && run.is_full && !doomed.is_empty() => {
            delete_packs(run, doomed, report)?;
            run.repository.unlist_packs(doomed, SMALL_INDEX)?;
        }
        other => _ = other?,
    }
    delete_packs(run, doomed, report)?;
    for mark in due {
        drop_mark(run, &mark.name)?;
    }
    Ok(())
}

fn delete_packs(run: &Run<'_>, doomed: &HashSet<[u8; 32]>, report: &mut PruneReport) -> Result<(), PruneError> {
    let storage = &**run.repository.storage();
    for pack in doomed {
        run.check()?;
        let name = ObjectName::hashed(Folder::Packs, pack);
        match storage.head(&name) {
            Ok(meta) => {
                report.swept_bytes += meta.length;
                report.swept_packs += 1;
            }
            Err(error) if error.is_not_found() => continue,
            Err(error) => return Err(RepoError::from(error).into()),
        }
        storage.delete(&name).map_err(RepoError::from)?;
    }
    Ok(())
}

fn drop_mark(run: &Run<'_>, name: &ObjectName) -> Result<(), PruneError> {
    let storage = &**run.repository.storage();
    storage.delete(name).map_err(RepoError::from)?;
    storage.delete(&name.census()).map_err(RepoError::from)?;
    Ok(())
}
