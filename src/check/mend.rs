//! Snapshots that have lost something: each is put once more, with what is lost of it written down, and with what can no
//! longer be listed left out; the original is forgotten, so that it can be brought back.

use super::repair::{RepairError, RepairReport, Work};
use super::survey::Survey;
use super::{CheckError, Lost};
use crate::format::{ChunkId, Content, FailedItem, Node};
use crate::repo::{
    ChunkReader, DirectoryWriter, ExtentReader, NamedSnapshot, RepoError, Session, SessionOptions, TreeReader,
};
use std::collections::{HashMap, HashSet};

/// A snapshot that has lost something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// Its name.
    pub before: [u8; 32],
    /// The name of the one that stands in its place; `None` when nothing was done yet.
    pub after: Option<[u8; 32]>,
    /// Entries that are lost.
    pub lost: u64,
}

/// Marks every snapshot that has lost something.
pub(super) fn mend(work: &Work<'_>, survey: &Survey, report: &mut RepairReport) -> Result<(), RepairError> {
    let mut lost: HashMap<[u8; 32], Vec<&Lost>> = HashMap::new();
    for entry in survey.report.lost.iter().filter(|entry| !entry.forgotten && !entry.known) {
        lost.entry(entry.snapshot).or_default().push(entry);
    }
    let all = &survey.snapshots.snapshots;
    let replaced: HashSet<[u8; 32]> = all.iter().filter_map(|named| named.snapshot.original).collect();
    let affected: Vec<_> = all.iter().filter_map(|named| Some((named, lost.remove(&named.name)?))).collect();
    if affected.is_empty() {
        return Ok(());
    }
    if !work.apply {
        let told = affected.iter().map(|(named, lost)| (named.name, lost.len() as u64));
        report.mended.extend(told.map(|(before, lost)| Mended { before, after: None, lost }));
        return Ok(());
    }
    let options = SessionOptions::of(work.repository, false);
    let mut session = Session::start(work.repository, work.engine, options, "repair: marking snapshots")?;
    for (named, lost) in affected {
        work.watch.check()?;
        let mut after = None;
        // A repair that was cut off between the two steps has put it already.
        if !replaced.contains(&named.name) {
            after = Some(put(work, survey, &mut session, named, &lost)?);
        }
        work.repository.forget(&named.name)?;
        report.mended.push(Mended { before: named.name, after, lost: lost.len() as u64 });
    }
    session.end()?;
    Ok(())
}

fn put(
    work: &Work<'_>,
    survey: &Survey,
    session: &mut Session,
    named: &NamedSnapshot,
    lost: &[&Lost],
) -> Result<[u8; 32], RepairError> {
    let mut reader = ChunkReader::new(&survey.ground.0, &survey.ground.1);
    let root = rewrite(work, session, &mut reader, named.snapshot.root)?;
    session.checkpoint()?;
    let item = |lost: &&Lost| FailedItem {
        path: lost.path.clone(),
        reason: format!("lost in the repository: {}", lost.reason),
    };
    let mut snapshot = named.snapshot.clone();
    let known: HashSet<Vec<u8>> = snapshot.failed.iter().map(|item| item.path.clone()).collect();
    snapshot.failed.extend(lost.iter().filter(|lost| !known.contains(&lost.path)).map(item));
    snapshot.statistics.items_failed = snapshot.statistics.items_failed.max(snapshot.failed.len() as u64);
    (snapshot.root, snapshot.partial) = (root, true);
    (snapshot.lease, snapshot.original) = (session.lease(), Some(named.name));
    snapshot.cut_to_limits();
    let put = work.repository.put_snapshot(&snapshot)?;
    session.confirm(&put.name)?;
    Ok(put.name)
}

struct Frame {
    id: ChunkId,
    tree: TreeReader,
    writer: DirectoryWriter,
    /// The node of this directory in the one above.
    node: Option<Node>,
    changed: bool,
}

impl Frame {
    fn new(id: ChunkId, node: Option<Node>) -> Self {
        Self { id, tree: TreeReader::new(id), writer: DirectoryWriter::default(), node, changed: false }
    }
}

/// The tree without what can no longer be listed; the same tree when all of it can be. Files that have lost content
/// stay: the chunks may come back.
fn rewrite(
    work: &Work<'_>,
    session: &mut Session,
    reader: &mut ChunkReader,
    root: ChunkId,
) -> Result<ChunkId, RepairError> {
    let mut open = vec![Frame::new(root, None)];
    let mut done: HashMap<ChunkId, ChunkId> = HashMap::new();
    loop {
        work.watch.check()?;
        let Some(frame) = open.last_mut() else {
            return Err(RepoError::Engine("a tree has no root".to_owned()).into());
        };
        match frame.tree.next(reader) {
            Ok(Some(mut node)) => match node.tree {
                Some(below) => match done.get(&below) {
                    Some(new) => {
                        frame.changed |= *new != below;
                        node.tree = Some(*new);
                        frame.writer.push(session, node)?;
                    }
                    None => open.push(Frame::new(below, Some(node))),
                },
                None if is_listed(&node, reader)? => frame.writer.push(session, node)?,
                None => frame.changed = true,
            },
            Err(error) if error.is_damage() => frame.changed = true,
            Err(error) => return Err(error.into()),
            Ok(None) => {
                let Some(Frame { id, writer, node, changed, .. }) = open.pop() else { continue };
                let new = if changed { writer.finish(session)? } else { id };
                done.insert(id, new);
                let (Some(above), Some(mut node)) = (open.last_mut(), node) else { return Ok(new) };
                above.changed |= new != id;
                node.tree = Some(new);
                above.writer.push(session, node)?;
            }
        }
    }
}

/// Whether the list of a file's extents can be read; prunes need to.
fn is_listed(node: &Node, reader: &mut ChunkReader) -> Result<bool, CheckError> {
    let Some(content @ Content::Nested(_)) = &node.content else { return Ok(true) };
    let mut extents = ExtentReader::new(content, node.size);
    loop {
        match extents.next(reader) {
            Ok(None) => return Ok(true),
            Ok(Some(_)) => {}
            Err(error) if error.is_damage() => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}
