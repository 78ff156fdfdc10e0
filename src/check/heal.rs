//! What is damaged or missing here and good in another copy of the repository, brought over bit for bit.

use super::CheckError;
use super::Damage;
use super::pack::Shared;
use super::repair::{RepairError, RepairReport, Work, parse};
use super::survey::{Survey, list};
use crate::format::limits::HEADER_LEN;
use crate::format::{ChunkId, Content, Extent, Header, Node, PackKind, TreeChunk};
use crate::repo::{ChunkReader, Index, Marks, NamedSnapshot, RepoError, Repository, SnapshotList};
use crate::storage::{Folder, ObjectMeta, ObjectName, PutMode, Storage};
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
        for meta in list_or_nothing(storage, folder)? {
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
            let whole = |bytes: &bytes::Bytes| meta.name.hash().is_some_and(|hash| blake3::hash(bytes) == hash);
            if storage.get(&meta.name).is_ok_and(|bytes| whole(&bytes)) {
                continue;
            }
            let bytes = from.storage().get(&meta.name).map_err(RepoError::from)?;
            if !whole(&bytes) {
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

fn list_or_nothing(storage: &dyn Storage, folder: Folder) -> Result<Vec<ObjectMeta>, CheckError> {
    match list(storage, folder) {
        Err(CheckError::Repo(error)) if error.is_not_found() => Ok(Vec::new()),
        other => other,
    }
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
    let damaged: Vec<ObjectName> = survey.report.damage.iter().filter_map(|damage| parse(&damage.object)).collect();
    let of = |folders: &[Folder]| -> Vec<ObjectName> {
        damaged.iter().filter(|name| folders.contains(&name.folder())).cloned().collect()
    };
    let roots = survey.snapshots.snapshots.iter().chain(&snapshots).map(|named| named.snapshot.root);
    let mut packs: BTreeSet<ObjectName> = of(&[Folder::Packs]).into_iter().collect();
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
    for name in small.into_iter().chain(snapshots.iter().map(named)) {
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
    let here = &survey.snapshots.snapshots;
    let mut known: HashSet<[u8; 32]> = here.iter().map(|named| named.name).collect();
    known.extend(here.iter().filter_map(|named| named.snapshot.original));
    for named in repository.forgotten()?.snapshots {
        known.extend([named.name].into_iter().chain(named.snapshot.original));
    }
    let marks = Marks::load(repository)?;
    if !marks.damaged.is_empty() {
        // Which were removed on purpose cannot be known.
        return Ok(Vec::new());
    }
    known.extend(marks.standing.iter().flat_map(|mark| mark.mark.gone.iter().chain(&mark.mark.forgotten)));
    // A damaged one is fetched under its name.
    known.extend(survey.report.damage.iter().filter_map(|damage| parse(&damage.object)?.hash()));
    Ok(SnapshotList::load(from)?.snapshots.into_iter().filter(|named| !known.contains(&named.name)).collect())
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
        let mut data = |extents: &[Extent]| {
            for extent in extents {
                if let Extent::Chunk { id, length } = extent {
                    want(PackKind::Data, id, Some(*length), &mut packs);
                }
            }
        };
        match chunk {
            TreeChunk::Leaf(nodes) => {
                for node in &nodes {
                    pending.extend(below(node));
                    if let Some(Content::Extents(extents)) = &node.content {
                        data(extents);
                    }
                }
            }
            TreeChunk::Branch(below) => pending.extend(below.into_iter().map(|(_, id)| id)),
            TreeChunk::ExtentLeaf(extents) => data(&extents),
            TreeChunk::ExtentBranch(below) => pending.extend(below.into_iter().map(|(_, id)| id)),
        }
    }
    Ok(packs)
}

fn below(node: &Node) -> impl Iterator<Item = ChunkId> {
    let list = match &node.content {
        Some(Content::Nested(id)) => Some(*id),
        _ => None,
    };
    node.tree.into_iter().chain(list)
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
    if name.hash().is_none_or(|hash| blake3::hash(&bytes) != hash) {
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
