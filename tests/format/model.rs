//! The tree that every golden repository holds: each kind of node, content and name that the format knows.

use nightjar::chunker::Chunker;
use nightjar::format::{ChunkId, Content, Extent, Node, NodeKind, PackKind, Time, Xattr};
use nightjar::repo::{DirectoryWriter, ExtentWriter, Session};
use std::fmt::Write as _;

/// One entry; `content` of regular files as pieces, `None` standing for a hole of 8 MiB.
pub(crate) struct Item {
    pub(crate) node: Node,
    pub(crate) content: Vec<Option<Vec<u8>>>,
    pub(crate) children: Vec<Item>,
}

const HOLE: u64 = 8 << 20;

fn item(name: &[u8], kind: NodeKind) -> Item {
    let mut node = Node::new(name, kind);
    let number = name.iter().fold(7_u64, |sum, b| sum.wrapping_mul(31).wrapping_add(u64::from(*b)));
    (node.mode, node.uid, node.gid) = (0o644, 0, 0);
    let time = |seconds, nanos| Some(Time { seconds, nanos });
    (node.mtime, node.ctime) = (time(1_700_000_000, 123_456_789), time(1_700_000_001, 1));
    (node.inode, node.device) = (number % 1_000_000 + 1, 1);
    Item { node, content: Vec::new(), children: Vec::new() }
}

fn file(name: &[u8], content: Vec<Option<Vec<u8>>>) -> Item {
    let size = content.iter().map(|piece| piece.as_ref().map_or(HOLE, |bytes| bytes.len() as u64)).sum();
    let mut item = item(name, NodeKind::File);
    (item.node.size, item.content) = (size, content);
    item
}

fn directory(name: &[u8], mut children: Vec<Item>) -> Item {
    children.sort_by(|a, b| a.node.name.cmp(&b.node.name));
    let mut item = item(name, NodeKind::Directory);
    (item.node.mode, item.children) = (0o755, children);
    item
}

pub(crate) fn noise(seed: u8, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&[seed]).finalize_xof().fill(&mut bytes);
    bytes
}

fn text(lines: usize) -> Vec<u8> {
    let line = |n: usize| format!("{n}: a backup that was never restored is a hope, {}\n", n * n % 977);
    (0..lines).map(line).collect::<String>().into_bytes()
}

/// The top of the tree.
pub(crate) fn tree() -> Item {
    let mut set_id = file(b"set-id", vec![Some(b"#!".to_vec())]);
    set_id.node.mode = 0o4755;
    let mut old = file(b"old", vec![Some(text(2))]);
    old.node.mtime = Some(Time { seconds: -2, nanos: 999_999_999 });
    old.node.birth = old.node.mtime;
    (old.node.user, old.node.group) = (Some("root".into()), Some("root".into()));
    let mut labelled = file(b"labelled", vec![Some(noise(1, 300))]);
    labelled.node.xattrs = vec![
        Xattr { name: b"user.empty".to_vec(), value: vec![] },
        Xattr { name: b"user.note".to_vec(), value: b"\x00\xff".to_vec() },
    ];
    let linked = |name: &[u8]| {
        let mut item = file(name, vec![Some(text(40))]);
        (item.node.inode, item.node.links) = (77, 2);
        item
    };
    let mut link = item(b"link", NodeKind::Symlink);
    (link.node.mode, link.node.target) = (0o777, b"../etc/\xff missing".to_vec());
    let mut devices = vec![item(b"null", NodeKind::CharDevice), item(b"disk", NodeKind::BlockDevice)];
    (devices[0].node.rdev, devices[1].node.rdev) = ((1, 3), (8, 17));
    devices.extend([item(b"pipe", NodeKind::Fifo), item(b"socket", NodeKind::Socket)]);
    let names = [
        &b"-rf"[..],
        b"new\nline",
        b"escape \x1b[31m",
        b"back\\slash",
        b"not utf-8 \xff\xfe",
        b"umlaut \xc3\xa4",
        b" ",
    ];
    let many = (0..1100).map(|n| file(format!("{n:04}").as_bytes(), vec![Some(format!("{n}").into_bytes())]));
    let crumbs = (0..1100_u32).map(|n| Some(n.to_le_bytes().repeat(4))).collect();
    directory(
        b"top",
        vec![
            directory(b"etc", vec![file(b"empty", vec![]), set_id, old, labelled]),
            directory(b"names", names.iter().map(|name| file(name, vec![Some(name.to_vec())])).collect()),
            directory(b"links", vec![linked(b"a"), linked(b"b"), link]),
            directory(b"dev", devices),
            directory(b"many", many.collect()),
            directory(b"nothing", vec![]),
            file(b"large", vec![Some([text(4_000), noise(2, 40_000)].concat())]),
            file(b"sparse", vec![None, Some(noise(3, 5_000)), None, Some(text(100)), None]),
            file(b"crumbs", crumbs),
        ],
    )
}

/// Stores the tree; the id of the directory above `top`.
pub(crate) fn store(session: &mut Session) -> ChunkId {
    let repository = std::sync::Arc::clone(session.repository());
    let chunker = repository.chunker();
    let mut root = DirectoryWriter::default();
    let node = store_item(session, &chunker, &tree());
    root.push(session, node).unwrap();
    root.finish(session).unwrap()
}

fn store_item(session: &mut Session, chunker: &Chunker, item: &Item) -> Node {
    let mut node = item.node.clone();
    match node.kind {
        NodeKind::Directory => {
            let mut writer = DirectoryWriter::default();
            for child in &item.children {
                let child = store_item(session, chunker, child);
                writer.push(session, child).unwrap();
            }
            node.tree = Some(writer.finish(session).unwrap());
        }
        NodeKind::File => node.content = Some(store_content(session, chunker, item)),
        _ => {}
    }
    node
}

fn store_content(session: &mut Session, chunker: &Chunker, item: &Item) -> Content {
    if item.node.size <= 256 {
        return Content::Inline(item.content.iter().flatten().flatten().copied().collect());
    }
    let mut writer = ExtentWriter::default();
    for piece in &item.content {
        let Some(mut rest) = piece.as_deref() else {
            writer.push(session, Extent::Hole { length: HOLE }).unwrap();
            continue;
        };
        while !rest.is_empty() {
            let (chunk, behind) = rest.split_at(chunker.cut(rest));
            let id = session.repository().keys().id(PackKind::Data, chunk);
            session.add(PackKind::Data, id, chunk).unwrap();
            writer.push(session, Extent::Chunk { id, length: u32::try_from(chunk.len()).unwrap() }).unwrap();
            rest = behind;
        }
    }
    writer.finish(session).unwrap()
}

/// What must lie at every path: a line each, the same for every golden repository.
pub(crate) fn manifest() -> String {
    let mut lines = String::new();
    describe(&tree(), "", &mut lines);
    lines
}

fn describe(item: &Item, above: &str, lines: &mut String) {
    let mut path = format!("{above}/");
    for byte in &item.node.name {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => path.push(char::from(*byte)),
            other => write!(path, "%{other:02x}").unwrap(),
        }
    }
    let mut content = blake3::Hasher::new();
    for piece in &item.content {
        match piece {
            Some(bytes) => content.update(bytes),
            None => content.update(&vec![0; usize::try_from(HOLE).unwrap()]),
        };
    }
    let node = &item.node;
    let hash = match node.kind {
        NodeKind::File => content.finalize().to_hex().to_string(),
        NodeKind::Symlink => nightjar::base::hex::encode(&node.target),
        _ => "-".to_owned(),
    };
    let (mode, size, mtime) = (node.mode, node.size, node.mtime.unwrap());
    let nanos = i128::from(mtime.seconds) * 1_000_000_000 + i128::from(mtime.nanos);
    writeln!(lines, "{path} {:?} {mode:o} {size} {nanos} {hash}", node.kind).unwrap();
    for child in &item.children {
        describe(child, &path, lines);
    }
}
