//! What is damaged or missing here and good in another copy of the repository, brought over bit for bit.

use super::pack::Shared;
use super::repair::{RepairError, RepairReport, Work};
use super::survey::Survey;
use super::{CheckError, Damage};
use crate::format::limits::HEADER_LEN;
use crate::format::{ChunkId, Header, PackKind, TreeChunk};
use crate::repo::{
    ChunkReader, Index, NamedSnapshot, RepoError, Repository, SnapshotList, accounted_for, list, list_if_there,
};
use crate::storage::{Folder, ObjectName, PutMode, Storage};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Brings over what a repository is opened with, configs and key slots, as far as they are missing or damaged in `storage`; with
/// `apply`, else it only gives their names.
///
/// # Errors
/// [`CheckError::OtherRepository`] when what is in `storage` is of another repository; either storage.
pub fn restore_entrance(from: &Repository, storage: &dyn Storage, apply: bool) -> Result<Vec<ObjectName>, CheckError> {
    let own = from.config().repository;
    for folder in [Folder::Config, Folder::Snapshots, Folder::Index] {
        for meta in list_if_there(storage, folder)? {
            let front =
                storage.get_range(&meta.name, 0..(HEADER_LEN as u64).min(meta.length)).map_err(RepoError::from)?;
            if Header::from_bytes(&front).is_ok_and(|header| header.repository != own) {
                return Err(CheckError::OtherRepository);
            }
        }
    }
    let mut fetched = Vec::new();
    for folder in [Folder::Keys, Folder::Config] {
        for meta in list(&**from.storage(), folder)? {
            if storage.get(&meta.name).is_ok_and(|bytes| meta.name.is_of(&bytes)) {
                continue;
            }
            let bytes = from.storage().get(&meta.name).map_err(RepoError::from)?;
            if !meta.name.is_of(&bytes) {
                continue;
            }
            fetched.push(meta.name.clone());
            if apply {
                storage.prepare().map_err(RepoError::from)?;
                // What is damaged of it opens nothing.
                storage.delete(&meta.name).map_err(RepoError::from)?;
                storage.put(&meta.name, &[bytes], PutMode::Keep).map_err(RepoError::from)?;
            }
        }
    }
    Ok(fetched)
}

/// Fetches what is damaged or missing from `from`, or says what would be fetched.
pub(super) fn heal(
    work: &Work<'_>,
    survey: &Survey,
    from: &Arc<Repository>,
    report: &mut RepairReport,
) -> Result<(), RepairError> {
    let theirs: Shared = (Arc::clone(from), Arc::new(Index::load(from)?));
    let snapshots = missing_snapshots(work.repository, survey, from)?;
    let of = |folders: &'static [Folder]| damaged(survey).filter(|name| folders.contains(&name.folder()));
    let roots = survey.snapshots.snapshots.iter().chain(&snapshots).map(|named| named.snapshot.root);
    let mut packs: BTreeSet<ObjectName> = of(&[Folder::Packs]).collect();
    packs.extend(wanted(work, survey, &theirs, roots.collect())?);
    // In write order: what is fetched may need what was fetched before it, and nothing else.
    let index = Arc::clone(&survey.ground.1);
    let known: HashSet<[u8; 32]> = index.pack_views().map(|view| view.name).collect();
    let mut unlisted = Vec::new();
    for name in &packs {
        if fetch(work, from, name, report)? && name.hash().is_some_and(|hash| !known.contains(&hash)) {
            unlisted.push(name.clone());
        }
    }
    if work.apply && !unlisted.is_empty() {
        let read = |name: &ObjectName| {
            let length = work.repository.storage().head(name)?.length;
            work.repository.read_footer(&name.hash().unwrap_or_default(), length)
        };
        let tables = unlisted.iter().map(read).collect::<Result<Vec<_>, RepoError>>()?;
        report.indexed.extend(tables.iter().map(|pack| pack.name));
        work.repository.put_index(tables)?;
    }
    let named = |named: &NamedSnapshot| ObjectName::hashed(Folder::Snapshots, &named.name);
    let small = of(&[Folder::Config, Folder::Keys, Folder::Index, Folder::Snapshots, Folder::Forgotten]);
    for name in small.chain(snapshots.iter().map(named)) {
        fetch(work, from, &name, report)?;
    }
    Ok(())
}

/// Snapshots that are there and not here, and that nobody here has forgotten or removed.
fn missing_snapshots(
    repository: &Repository,
    survey: &Survey,
    from: &Repository,
) -> Result<Vec<NamedSnapshot>, RepairError> {
    let damaged: Vec<ObjectName> = damaged(survey).collect();
    if damaged.iter().any(|name| name.folder() == Folder::Marks) {
        // Which were removed on purpose cannot be known.
        return Ok(Vec::new());
    }
    let mut known = accounted_for(repository, &survey.snapshots)?;
    // A damaged one is fetched under its name.
    known.extend(damaged.iter().filter_map(ObjectName::hash));
    Ok(SnapshotList::load(from)?.snapshots.into_iter().filter(|named| !known.contains(&named.name)).collect())
}

/// The objects that were found damaged or missing.
fn damaged(survey: &Survey) -> impl Iterator<Item = ObjectName> + '_ {
    survey.report.damage.iter().filter_map(|damage| ObjectName::from_path(&damage.object))
}

/// Packs of the other copy that hold what is needed here and cannot be had here.
fn wanted(
    work: &Work<'_>,
    survey: &Survey,
    theirs: &Shared,
    roots: Vec<ChunkId>,
) -> Result<BTreeSet<ObjectName>, RepairError> {
    let mut readers = [ChunkReader::new(&survey.ground.0, &survey.ground.1), ChunkReader::new(&theirs.0, &theirs.1)];
    let (mut packs, mut seen, mut pending) = (BTreeSet::new(), HashSet::new(), roots);
    let want = |kind, id: &ChunkId, length, packs: &mut BTreeSet<ObjectName>| {
        if survey.gaps.look(&survey.ground.1, kind, id, length).is_err()
            && let Some(place) = theirs.1.locate(kind, id)
        {
            packs.insert(theirs.1.block_place(place.block).pack);
        }
    };
    while let Some(id) = pending.pop() {
        work.watch.check()?;
        if !seen.insert(id) {
            continue;
        }
        want(PackKind::Tree, &id, None, &mut packs);
        let read = readers.iter_mut().find_map(|reader| reader.read(PackKind::Tree, &id).ok());
        // What neither can read stays lost.
        let Some(Ok(chunk)) = read.map(|bytes| TreeChunk::from_bytes(&bytes)) else { continue };
        chunk.references(
            |tree| pending.push(tree),
            |data, length| want(PackKind::Data, &data, Some(length), &mut packs),
        );
    }
    Ok(packs)
}

/// Brings one object over; says whether it is here now, or would be.
fn fetch(
    work: &Work<'_>,
    from: &Repository,
    name: &ObjectName,
    report: &mut RepairReport,
) -> Result<bool, RepairError> {
    work.watch.check()?;
    let bytes = match from.storage().get(name) {
        Err(error) if error.is_not_found() => return Ok(false),
        Err(error) => {
            report.unfetched.push(Damage::new(name, error));
            return Ok(false);
        }
        Ok(bytes) => bytes,
    };
    if !name.is_of(&bytes) {
        report.unfetched.push(Damage::new(name, "it is damaged in the other copy too"));
        return Ok(false);
    }
    report.fetched.push((name.clone(), bytes.len() as u64));
    if !work.apply {
        return Ok(true);
    }
    let storage = work.repository.storage();
    match work.repository.set_aside(name) {
        Ok(()) => {}
        Err(error) if error.is_not_found() => {}
        // Without room for it nothing is taken away either.
        Err(error) if error.is_full() => return Err(error.into()),
        // What cannot even be read is not worth keeping beside the good bytes.
        Err(_) => storage.delete(name).map_err(RepoError::from)?,
    }
    storage.put(name, &[bytes], PutMode::Keep).map_err(RepoError::from)?;
    Ok(true)
}
