//! Saving one file whose content comes from a pipe.

use super::assemble::Saved;
use super::pause::Pauses;
use super::{About, ArchiveError, Stream, Watch};
use crate::base::meter::Meter;
use crate::format::limits::INLINE_MAX;
use crate::format::{Content, Extent, Node, NodeKind, PackKind, Statistics, check_name};
use crate::repo::{ChunkReader, DirectoryWriter, ExtentWriter, NamedSnapshot, RepoError, Session, TreeReader};
use std::io::{ErrorKind, Read};

/// Saves the stream as the only file of a snapshot.
pub(super) fn save(
    session: &mut Session,
    stream: Stream,
    parent: Option<&NamedSnapshot>,
    (about, watch): (&About, &Watch<'_>),
) -> Result<Saved, ArchiveError> {
    check_name(&stream.name).map_err(|error| RepoError::Option(error.to_string()))?;
    let Stream { name, mut reader, finish } = stream;
    let mut node = Node::new(&name, NodeKind::File);
    let (content, size) = content(session, &mut *reader, about, watch)?;
    finish().map_err(ArchiveError::Stream)?;
    node.mode = 0o600;
    (node.uid, node.gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let now = session.repository().env().now();
    (node.mtime, node.ctime) = (Some(now), Some(now));
    (node.size, node.content) = (size, Some(content));
    if let Some(known) = parent.and_then(|parent| known(session, parent, &node)) {
        // The same content again: the time of the last change is when it came first.
        (node.mtime, node.ctime) = (known.mtime, known.ctime);
    }
    let mut root = DirectoryWriter::default();
    root.push(session, node)?;
    Meter::add(&watch.meter.files_done, 1);
    let statistics = Statistics { files_new: 1, bytes_total: size, bytes_read: size, ..Statistics::default() };
    Ok(Saved { root: root.finish(session)?, statistics, failed: Vec::new(), damage: Vec::new(), partial: false })
}

/// The node of the parent snapshot that has the same name, owner, mode and content.
fn known(session: &Session, parent: &NamedSnapshot, node: &Node) -> Option<Node> {
    let mut reader = ChunkReader::new(session.repository(), session.index());
    let known = TreeReader::new(parent.snapshot.root).next(&mut reader).ok()??;
    let same = Node { mtime: node.mtime, ctime: node.ctime, ..known.clone() } == *node;
    same.then_some(known)
}

fn content(
    session: &mut Session,
    reader: &mut dyn Read,
    about: &About,
    watch: &Watch<'_>,
) -> Result<(Content, u64), ArchiveError> {
    let repository = std::sync::Arc::clone(session.repository());
    let chunker = repository.chunker();
    let mut buffer = vec![0; (1 << 20).max(4 * chunker.max())];
    let (mut filled, mut ended) = (0, false);
    let mut extents = ExtentWriter::default();
    let mut pauses = Pauses::new(session, about);
    while !ended {
        while filled < buffer.len() && !ended {
            pauses.pause(session, watch)?;
            match reader.read(&mut buffer[filled..]) {
                Ok(read) => (filled, ended) = (filled + read, read == 0),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(ArchiveError::Stream(error.to_string())),
            }
        }
        if ended && extents.length() == 0 && filled <= INLINE_MAX {
            return Ok((Content::Inline(buffer[..filled].to_vec()), filled as u64));
        }
        let mut cut = 0;
        while cut < filled && (ended || filled - cut >= chunker.max()) {
            let length = chunker.cut(&buffer[cut..filled]);
            let chunk = &buffer[cut..cut + length];
            let id = repository.keys().id(PackKind::Data, chunk);
            session.add(PackKind::Data, id, chunk)?;
            extents.push(session, Extent::Chunk { id, length: u32::try_from(length).expect("within its limit") })?;
            Meter::add(&watch.meter.bytes_done, length as u64);
            cut += length;
        }
        buffer.copy_within(cut..filled, 0);
        filled -= cut;
    }
    let length = extents.length();
    Ok((extents.finish(session)?, length))
}
