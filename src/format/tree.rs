//! Nodes and tree chunks as records (`repo-format.md`, chapters 9 and 10).

use super::limits::{
    BLOCK_PLAIN_MAX, INLINE_MAX, NAME_MAX, NODE_EXTENTS_MAX, TARGET_MAX, TREE_ENTRIES_MAX, XATTRS_MAX,
};
use super::record::{MapReader, MapWriter, array, check_limit, missing, ok, record_error, whole};
use super::{ChunkId, Content, Extent, FormatError, Node, NodeKind, Xattr};
use minicbor::decode::Decoder;
use minicbor::encode::Encoder;

const NODE: &str = "node";
const TREE: &str = "tree";

/// A tree chunk, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeChunk {
    /// Nodes of a directory, sorted by name.
    Leaf(Vec<Node>),
    /// Last name and id of the trees below, sorted.
    Branch(Vec<(Vec<u8>, ChunkId)>),
    /// Extents of a file.
    ExtentLeaf(Vec<Extent>),
    /// Bytes of the file below, and the tree chunk that lists them.
    ExtentBranch(Vec<(u64, ChunkId)>),
}

impl TreeChunk {
    /// The chunk's plain bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut entries = Encoder::new(Vec::new());
        let (kind, count) = match self {
            Self::Leaf(nodes) => (1, nodes.len()),
            Self::Branch(below) => (2, below.len()),
            Self::ExtentLeaf(extents) => (3, extents.len()),
            Self::ExtentBranch(below) => (4, below.len()),
        };
        ok(entries.array(count as u64));
        match self {
            Self::Leaf(nodes) => nodes.iter().for_each(|n| entries.writer_mut().extend_from_slice(&n.to_bytes())),
            Self::Branch(below) => {
                for (name, id) in below {
                    ok(entries.array(2).and_then(|e| e.bytes(name)).and_then(|e| e.bytes(&id.0)));
                }
            }
            Self::ExtentLeaf(extents) => extents.iter().for_each(|e| write_extent(&mut entries, e)),
            Self::ExtentBranch(below) => {
                for (length, id) in below {
                    ok(entries.array(2).and_then(|e| e.u64(*length)).and_then(|e| e.bytes(&id.0)));
                }
            }
        }
        let mut map = MapWriter::new();
        map.u64(0, kind);
        map.raw(1, &entries.into_writer());
        map.finish()
    }

    /// Calls `tree` for every tree chunk that this one names, and `data` for every data chunk, with its length.
    pub fn references(&self, mut tree: impl FnMut(ChunkId), mut data: impl FnMut(ChunkId, u32)) {
        let mut all = |extents: &[Extent]| {
            for extent in extents {
                if let Extent::Chunk { id, length } = extent {
                    data(*id, *length);
                }
            }
        };
        match self {
            Self::Leaf(nodes) => {
                for node in nodes {
                    node.tree.into_iter().for_each(&mut tree);
                    match &node.content {
                        None | Some(Content::Inline(_)) => {}
                        Some(Content::Extents(extents)) => all(extents),
                        Some(Content::Nested(id)) => tree(*id),
                    }
                }
            }
            Self::Branch(below) => below.iter().for_each(|(_, id)| tree(*id)),
            Self::ExtentLeaf(extents) => all(extents),
            Self::ExtentBranch(below) => below.iter().for_each(|(_, id)| tree(*id)),
        }
    }

    /// Reads a tree chunk and checks every rule that can be checked within it.
    ///
    /// # Errors
    /// When the record, a name, the order or a limit is broken.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        whole(bytes, TREE, |decoder| {
            let mut map = MapReader::new(decoder, TREE)?;
            let (mut kind, mut tree) = (None, None);
            while let Some(key) = map.next_key()? {
                match key {
                    0 => kind = Some(map.u64()?),
                    1 => tree = Some(read_entries(kind, map.decoder())?),
                    _ => map.skip()?,
                }
            }
            tree.ok_or_else(|| missing(TREE, "the list of entries"))
        })
    }
}

fn read_entries(kind: Option<u64>, decoder: &mut Decoder<'_>) -> Result<TreeChunk, FormatError> {
    let kind = kind.ok_or_else(|| missing(TREE, "the type"))?;
    let count = array(decoder, TREE, 0, TREE_ENTRIES_MAX)?;
    match kind {
        1 => {
            let nodes = (0..count).map(|_| Node::read(decoder)).collect::<Result<Vec<_>, _>>()?;
            check_order(nodes.iter().map(|n| n.name.as_slice()))?;
            Ok(TreeChunk::Leaf(nodes))
        }
        2 => {
            let pair = |decoder: &mut Decoder<'_>| {
                array(decoder, TREE, 2, 2)?;
                let name = decoder.bytes().map_err(|e| record_error(TREE, &e))?.to_vec();
                check_name(&name)?;
                Ok((name, read_id(decoder)?))
            };
            let below = (0..count).map(|_| pair(decoder)).collect::<Result<Vec<_>, FormatError>>()?;
            check_order(below.iter().map(|(name, _)| name.as_slice()))?;
            Ok(TreeChunk::Branch(below))
        }
        3 => Ok(TreeChunk::ExtentLeaf((0..count).map(|_| read_extent(decoder)).collect::<Result<_, _>>()?)),
        4 => {
            let pair = |decoder: &mut Decoder<'_>| {
                array(decoder, TREE, 2, 2)?;
                let length = decoder.u64().map_err(|e| record_error(TREE, &e))?;
                if length == 0 {
                    return Err(FormatError::Invalid { what: "length in a branch of extents" });
                }
                Ok((length, read_id(decoder)?))
            };
            Ok(TreeChunk::ExtentBranch((0..count).map(|_| pair(decoder)).collect::<Result<_, FormatError>>()?))
        }
        _ => Err(FormatError::Invalid { what: "type of a tree" }),
    }
}

fn check_order<'n>(names: impl Iterator<Item = &'n [u8]>) -> Result<(), FormatError> {
    let mut last: Option<&[u8]> = None;
    for name in names {
        if last.is_some_and(|last| last >= name) {
            return Err(FormatError::Invalid { what: "order of names in a tree" });
        }
        last = Some(name);
    }
    Ok(())
}

/// Checks a name of a directory entry: 1 to 255 bytes, no `/`, no zero byte, not `.` or `..`.
///
/// # Errors
/// When it is none.
pub fn check_name(name: &[u8]) -> Result<(), FormatError> {
    check_limit("length of a name", name.len(), NAME_MAX)?;
    if name.is_empty() || name == b"." || name == b".." || name.iter().any(|b| matches!(b, 0 | b'/')) {
        return Err(FormatError::Invalid { what: "name of a node" });
    }
    Ok(())
}

impl NodeKind {
    const ALL: [(Self, u64); 7] = [
        (Self::File, 1),
        (Self::Directory, 2),
        (Self::Symlink, 3),
        (Self::Fifo, 4),
        (Self::CharDevice, 5),
        (Self::BlockDevice, 6),
        (Self::Socket, 7),
    ];

    /// The kind's number in a node.
    #[must_use]
    pub fn number(self) -> u64 {
        Self::ALL.iter().find(|(kind, _)| *kind == self).expect("every kind has a number").1
    }

    fn from_number(number: u64) -> Result<Self, FormatError> {
        let found = Self::ALL.iter().find(|(_, n)| *n == number);
        found.map(|(kind, _)| *kind).ok_or(FormatError::Invalid { what: "kind of a node" })
    }
}

impl Node {
    /// The node's record.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut map = MapWriter::new();
        map.bytes(0, &self.name);
        map.u64(1, self.kind.number());
        map.u64(2, u64::from(self.mode));
        map.u64(3, u64::from(self.uid));
        map.u64(4, u64::from(self.gid));
        for (key, name) in [(5, &self.user), (6, &self.group)] {
            if let Some(name) = name {
                map.text(key, name);
            }
        }
        for (key, time) in [(7, self.mtime), (8, self.ctime), (9, self.birth)] {
            if let Some(time) = time {
                map.time(key, time);
            }
        }
        map.u64_unless(10, self.size, 0);
        map.u64_unless(11, self.inode, 0);
        map.u64_unless(12, u64::from(self.device), 0);
        map.u64_unless(13, self.links, 1);
        if !self.target.is_empty() {
            map.bytes(14, &self.target);
        }
        if self.rdev != (0, 0) {
            ok(map.entry(15).array(2).and_then(|e| e.u32(self.rdev.0)).and_then(|e| e.u32(self.rdev.1)));
        }
        if !self.xattrs.is_empty() {
            let entry = map.entry(16);
            ok(entry.array(self.xattrs.len() as u64));
            for xattr in &self.xattrs {
                ok(entry.array(2).and_then(|e| e.bytes(&xattr.name)).and_then(|e| e.bytes(&xattr.value)));
            }
        }
        map.u64_unless(17, u64::from(self.flags), 0);
        match &self.content {
            Some(Content::Inline(bytes)) => map.bytes(18, bytes),
            Some(Content::Extents(extents)) => {
                let entry = map.entry(19);
                ok(entry.array(extents.len() as u64));
                for extent in extents {
                    write_extent(entry, extent);
                }
            }
            Some(Content::Nested(id)) => map.bytes(20, &id.0),
            None => {}
        }
        if let Some(tree) = &self.tree {
            map.bytes(21, &tree.0);
        }
        map.finish()
    }

    /// Checks what a writer takes from a file system: name, owners' names, link target and attributes within their limits.
    ///
    /// # Errors
    /// The first limit that is exceeded.
    pub fn check_limits(&self) -> Result<(), FormatError> {
        check_name(&self.name)?;
        for name in [&self.user, &self.group].into_iter().flatten() {
            check_limit("length of an owner's name", name.len(), NAME_MAX)?;
        }
        check_limit("length of a link target", self.target.len(), TARGET_MAX)?;
        let attributes = self.xattrs.iter().map(|xattr| xattr.name.len() + xattr.value.len()).sum();
        check_limit("bytes of extended attributes", attributes, XATTRS_MAX)
    }

    fn read(decoder: &mut Decoder<'_>) -> Result<Self, FormatError> {
        let mut map = MapReader::new(decoder, NODE)?;
        let mut node = Self::new(b"", NodeKind::File);
        let mut seen = 0_u32;
        while let Some(key) = map.next_key()? {
            if key < 5 {
                seen |= 1 << key;
            }
            node.read_field(key, &mut map)?;
        }
        if seen != 0b1_1111 {
            return Err(missing(NODE, "name, kind, mode, uid or gid"));
        }
        node.check()?;
        Ok(node)
    }

    fn read_field(&mut self, key: u64, map: &mut MapReader<'_, '_>) -> Result<(), FormatError> {
        match key {
            0 => self.name = map.bytes(NAME_MAX)?.to_vec(),
            1 => self.kind = NodeKind::from_number(map.u64()?)?,
            2 => self.mode = map.u32()?,
            3 => self.uid = map.u32()?,
            4 => self.gid = map.u32()?,
            5 => self.user = Some(map.text(NAME_MAX)?),
            6 => self.group = Some(map.text(NAME_MAX)?),
            7 => self.mtime = Some(map.time()?),
            8 => self.ctime = Some(map.time()?),
            9 => self.birth = Some(map.time()?),
            10 => self.size = map.u64()?,
            11 => self.inode = map.u64()?,
            12 => self.device = map.u32()?,
            13 => self.links = map.u64()?,
            14 => self.target = map.bytes(TARGET_MAX)?.to_vec(),
            15 => {
                map.array(2, 2)?;
                self.rdev = (map.u32()?, map.u32()?);
            }
            16 => self.xattrs = read_xattrs(map)?,
            17 => self.flags = map.u32()?,
            18 => self.set_content(Content::Inline(map.bytes(INLINE_MAX)?.to_vec()))?,
            19 => {
                let count = map.array(0, NODE_EXTENTS_MAX)?;
                let extents = (0..count).map(|_| read_extent(map.decoder())).collect::<Result<_, _>>()?;
                self.set_content(Content::Extents(extents))?;
            }
            20 => self.set_content(Content::Nested(ChunkId(map.fixed()?)))?,
            21 => self.tree = Some(ChunkId(map.fixed()?)),
            _ => map.skip()?,
        }
        Ok(())
    }

    fn set_content(&mut self, content: Content) -> Result<(), FormatError> {
        match self.content.replace(content) {
            None => Ok(()),
            Some(_) => Err(FormatError::Invalid { what: "content of a node" }),
        }
    }

    fn check(&self) -> Result<(), FormatError> {
        check_name(&self.name)?;
        check_limit("mode of a node", self.mode as usize, 0o7777)?;
        if self.content.is_some() != (self.kind == NodeKind::File) {
            return Err(FormatError::Invalid { what: "content of a node" });
        }
        if self.tree.is_some() != (self.kind == NodeKind::Directory) {
            return Err(FormatError::Invalid { what: "tree of a node" });
        }
        let length = match &self.content {
            Some(Content::Inline(bytes)) => Some(bytes.len() as u64),
            Some(Content::Extents(extents)) => extents.iter().try_fold(0, |sum: u64, e| sum.checked_add(e.len())),
            Some(Content::Nested(_)) => return Ok(()),
            None => Some(0),
        };
        if length != Some(self.size) {
            return Err(FormatError::Invalid { what: "size of a node" });
        }
        Ok(())
    }
}

impl Extent {
    /// Bytes of the file that it covers.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Chunk { length, .. } => u64::from(*length),
            Self::Hole { length } => *length,
        }
    }

    /// Whether it covers nothing; never true of an extent that was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn write_extent(encoder: &mut Encoder<Vec<u8>>, extent: &Extent) {
    match extent {
        Extent::Chunk { id, length } => ok(encoder.array(2).and_then(|e| e.bytes(&id.0)).and_then(|e| e.u32(*length))),
        Extent::Hole { length } => ok(encoder.u64(*length)),
    }
}

fn read_extent(decoder: &mut Decoder<'_>) -> Result<Extent, FormatError> {
    use minicbor::data::Type;
    let extent = match decoder.datatype().map_err(|e| record_error("extent", &e))? {
        Type::Array => {
            array(decoder, "extent", 2, 2)?;
            let id = read_id(decoder)?;
            let length = decoder.u32().map_err(|e| record_error("extent", &e))?;
            check_limit("length of a chunk", length as usize, BLOCK_PLAIN_MAX as usize)?;
            Extent::Chunk { id, length }
        }
        _ => Extent::Hole { length: decoder.u64().map_err(|e| record_error("extent", &e))? },
    };
    if extent.is_empty() {
        return Err(FormatError::Invalid { what: "length of an extent" });
    }
    Ok(extent)
}

fn read_id(decoder: &mut Decoder<'_>) -> Result<ChunkId, FormatError> {
    let bytes = decoder.bytes().map_err(|e| record_error("chunk id", &e))?;
    bytes.try_into().map(ChunkId).map_err(|_| FormatError::Invalid { what: "chunk id" })
}

fn read_xattrs(map: &mut MapReader<'_, '_>) -> Result<Vec<Xattr>, FormatError> {
    let count = map.array(0, XATTRS_MAX)?;
    let (mut xattrs, mut size) = (Vec::new(), 0);
    for _ in 0..count {
        map.array(2, 2)?;
        let xattr = Xattr { name: map.bytes(XATTRS_MAX)?.to_vec(), value: map.bytes(XATTRS_MAX)?.to_vec() };
        size += xattr.name.len() + xattr.value.len();
        check_limit("bytes of extended attributes", size, XATTRS_MAX)?;
        if xattr.name.is_empty() || xattr.name.contains(&0) {
            return Err(FormatError::Invalid { what: "name of an extended attribute" });
        }
        xattrs.push(xattr);
    }
    if xattrs.windows(2).any(|pair| pair[0].name >= pair[1].name) {
        return Err(FormatError::Invalid { what: "order of extended attributes" });
    }
    Ok(xattrs)
}

#[cfg(test)]
mod tests {
    use super::TreeChunk;
    use crate::format::{ChunkId, Content, Extent, Node, NodeKind, Time, Xattr};
    use proptest::prelude::*;

    fn file(name: &[u8]) -> Node {
        let mut node = Node::new(name, NodeKind::File);
        node.content = Some(Content::Inline(vec![]));
        node
    }

    fn full() -> Node {
        let mut node = file(b"full \xff name");
        node.mode = 0o6755;
        (node.uid, node.gid) = (1000, u32::MAX);
        (node.user, node.group) = (Some("u".into()), Some("g".into()));
        let time = |seconds| Some(Time { seconds, nanos: 999_999_999 });
        (node.mtime, node.ctime, node.birth) = (time(-1), time(0), time(i64::MAX));
        (node.inode, node.device, node.links, node.flags) = (u64::MAX, 2, 3, 16);
        node.xattrs = vec![
            Xattr { name: b"user.a".to_vec(), value: vec![] },
            Xattr { name: b"user.b".to_vec(), value: vec![0, 1] },
        ];
        let chunk = Extent::Chunk { id: ChunkId([7; 32]), length: 4 << 20 };
        node.content = Some(Content::Extents(vec![chunk, Extent::Hole { length: 1 << 40 }]));
        node.size = (4 << 20) + (1 << 40);
        node
    }

    fn others() -> Vec<Node> {
        let mut link = Node::new(b"zlink", NodeKind::Symlink);
        link.target = b"../\xff".to_vec();
        let mut device = Node::new(b"zz", NodeKind::BlockDevice);
        device.rdev = (8, 17);
        let mut directory = Node::new(b"zzz", NodeKind::Directory);
        directory.tree = Some(ChunkId([1; 32]));
        let mut nested = Node::new(b"zzzz", NodeKind::File);
        (nested.size, nested.content) = (9, Some(Content::Nested(ChunkId([2; 32]))));
        vec![link, device, directory, nested]
    }

    #[test]
    fn every_kind_of_tree_chunk_survives_its_bytes() {
        let nodes: Vec<_> = [vec![full()], others()].concat();
        let id = ChunkId([3; 32]);
        for tree in [
            TreeChunk::Leaf(vec![]),
            TreeChunk::Leaf(nodes),
            TreeChunk::Branch(vec![(b"a".to_vec(), id), (b"b".to_vec(), id)]),
            TreeChunk::ExtentLeaf(vec![Extent::Hole { length: 1 }, Extent::Chunk { id, length: 1 }]),
            TreeChunk::ExtentBranch(vec![(u64::MAX, id)]),
        ] {
            assert_eq!(TreeChunk::from_bytes(&tree.to_bytes()), Ok(tree));
        }
    }

    #[test]
    fn an_empty_list_of_attributes_means_none() {
        let node = file(b"a").to_bytes();
        let (fields, content) = node.split_at(node.len() - 2);
        assert_eq!((fields[0], content), (0xa6, &[18, 0x40][..]));
        // A tree of type 1 with one node, whose map has one entry more.
        let leaf = [&[0xa2, 0, 1, 1, 0x81, 0xa7], &fields[1..], &[16, 0x80], content].concat();
        assert_eq!(TreeChunk::from_bytes(&leaf), Ok(TreeChunk::Leaf(vec![file(b"a")])));
    }

    #[test]
    fn hostile_trees_are_refused() {
        for name in [&b".."[..], b".", b"", b"a/b", b"/etc", b"a\0", &[b'x'; 256]] {
            assert!(TreeChunk::from_bytes(&TreeChunk::Leaf(vec![file(name)]).to_bytes()).is_err(), "{name:?}");
        }
        let twice = TreeChunk::Leaf(vec![file(b"a"), file(b"a")]);
        assert!(TreeChunk::from_bytes(&twice.to_bytes()).is_err());
        let unsorted = TreeChunk::Leaf(vec![file(b"b"), file(b"a")]);
        assert!(TreeChunk::from_bytes(&unsorted.to_bytes()).is_err());
        let many = TreeChunk::ExtentLeaf(vec![Extent::Hole { length: 1 }; 2049]);
        assert!(TreeChunk::from_bytes(&many.to_bytes()).is_err());
        let nothing = TreeChunk::ExtentLeaf(vec![Extent::Hole { length: 0 }]);
        assert!(TreeChunk::from_bytes(&nothing.to_bytes()).is_err());
        let mut short = file(b"a");
        short.size = 1;
        assert!(TreeChunk::from_bytes(&TreeChunk::Leaf(vec![short]).to_bytes()).is_err());
        let mut huge = full();
        huge.content = Some(Content::Extents(vec![Extent::Hole { length: u64::MAX }, Extent::Hole { length: 9 }]));
        huge.size = 8;
        assert!(TreeChunk::from_bytes(&TreeChunk::Leaf(vec![huge]).to_bytes()).is_err());
        let mut bytes = TreeChunk::Leaf(vec![full()]).to_bytes();
        bytes.push(0);
        assert!(TreeChunk::from_bytes(&bytes).is_err(), "bytes behind the record");
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_tree_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = TreeChunk::from_bytes(&bytes);
        }

        #[test]
        fn a_flipped_byte_ends_in_a_valid_tree_or_an_error(at in 0_usize..300, flip in 1_u8..=255) {
            let mut bytes = TreeChunk::Leaf(vec![full()]).to_bytes();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            if let Ok(tree) = TreeChunk::from_bytes(&bytes) {
                prop_assert_eq!(TreeChunk::from_bytes(&tree.to_bytes()), Ok(tree));
            }
        }
    }
}
