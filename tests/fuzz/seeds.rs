//! Valid inputs of every fuzz target, made with the encoders.

use nightjar::codec::{Compression, Compressor};
use nightjar::crypto::RecoveryKey;
use nightjar::format::{
    BlockRecord, Census, ChunkId, ChunkRecord, ChunkSizes, Class, Config, Content, Extent, FailedItem, Header,
    Honoured, IndexTable, IndexedPack, Kdf, Keyring, Lease, Mark, Node, NodeKind, PackKind, PackTable, Snapshot,
    Statistics, Suite, Time, Trailer, TreeChunk, Xattr,
};
use nightjar::repo::{NamedSnapshot, Seen};
use std::collections::BTreeMap;
use zeroize::Zeroizing;

const TIME: Time = Time { seconds: -1, nanos: 999_999_999 };

/// The valid inputs of the target `name`.
pub(crate) fn seeds(name: &str) -> Vec<Vec<u8>> {
    let texts = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let hash = "0f".repeat(32);
    let id = "0f".repeat(16);
    match name {
        "block" => blocks(),
        "census" => vec![Census { mark: [1; 32], leases: vec![([2; 16], 3), ([4; 16], 5)] }.to_bytes()],
        "compression" => texts(&["off", "fast", "auto", "better", "max", "lz4", "zstd:19", "deflate:1"]),
        "config" => vec![config().to_bytes()],
        "exclude" => texts(&["*.o\na.o\ndir/a.o", "/**/b*[!x[:alpha:]]/**\na/b1/c\nx", "!a\\ b/\na b", "ÄÖ?\näöx"]),
        "exclude_file" => texts(&["# rules\r\n*.o\r\n!keep.o\n/target/\n", "\u{feff}a/**/b\n\\#x\n"]),
        "footer" => vec![footer()],
        "header" => vec![header(Class::Pack).to_bytes().to_vec(), header(Class::Index).to_bytes().to_vec()],
        "honoured" => vec![Honoured { lease: [1; 16], snapshots: vec![[2; 32], [3; 32]] }.to_bytes()],
        "index" => [IndexTable::default(), index()].iter().map(IndexTable::to_bytes).collect(),
        "kdf" => [Kdf::STANDARD, Kdf::STRONG, Kdf::Key].map(|kdf| kdf.to_bytes().to_vec()).into(),
        "keyring" => vec![keyring().to_bytes().to_vec()],
        "lease" => vec![lease().to_bytes()],
        "mark" => {
            let created = Time { seconds: 1, nanos: 2 };
            vec![Mark { created, packs: vec![[3; 32]], forgotten: vec![[4; 32]], gone: vec![[5; 32]] }.to_bytes()]
        }
        "object_name" => texts(&[&hash, &format!("{id}-0"), &format!("{id}-end"), &format!("{id}-honoured")]),
        "recovery_key" => {
            let key = RecoveryKey::new(Zeroizing::new([7; 32]));
            texts(&[&key.to_text(), &key.to_words().join(" ")])
        }
        "seen" => {
            let named = |job: &str| NamedSnapshot {
                name: [7; 32],
                snapshot: Snapshot { job: (!job.is_empty()).then(|| job.to_owned()), ..snapshot() },
            };
            vec![Seen::of(&[named("nightly"), named("")]).to_bytes()]
        }
        "segments" => [145, 128 + (1 << 20) + 16, 200 << 20].map(|n: u64| n.to_le_bytes().to_vec()).into(),
        "snapshot" => vec![snapshot().to_bytes()],
        "snapshot_ref" => texts(&["latest", "latest~12", "0af4:/home/x", &hash]),
        "trailer" => {
            let trailer = Trailer { footer_len: 3000, blocks: 2 };
            vec![[&8192_u64.to_le_bytes()[..], &trailer.to_bytes()].concat()]
        }
        "tree" => trees().iter().map(TreeChunk::to_bytes).collect(),
        _ => Vec::new(),
    }
}

fn blocks() -> Vec<Vec<u8>> {
    let plain = b"a backup that was never restored is a hope. ".repeat(20);
    let all = [Compression::Off, Compression::Zstd(3), Compression::Deflate(6), Compression::Lz4];
    let block = |compression| Compressor::new().compress(compression, &plain).unwrap();
    all.map(block).into()
}

fn config() -> Config {
    Config {
        generation: 1,
        repository: [1; 16],
        chunks: ChunkSizes::default(),
        block: 1 << 20,
        data_pack: 32 << 20,
        tree_pack: 8 << 20,
        compression: "zstd:3".into(),
        created: TIME,
        reserve: 1 << 20,
    }
}

fn header(class: Class) -> Header {
    Header {
        class,
        kind: (class == Class::Pack).then_some(PackKind::Data),
        suite: Suite::Aes256Gcm,
        epoch: 1,
        repository: [1; 16],
        salt: [2; 32],
        commitment: [3; 32],
    }
}

fn table() -> PackTable {
    let block = |number, offset, chunks| BlockRecord {
        number,
        offset,
        sealed_len: 100,
        plain_len: 200 * u32::from(chunks),
        chunks,
    };
    let chunk = |n| ChunkRecord { id: ChunkId([n; 32]), length: 200 };
    PackTable { blocks: vec![block(1, 128, 2), block(0, 228, 1)], chunks: (0..3).map(chunk).collect() }
}

fn footer() -> Vec<u8> {
    let (blocks, offset) = (2_u32.to_le_bytes(), 328_u32.to_le_bytes());
    // Most of the padding is cut off, so that mutations meet records.
    let footer = table().to_footer();
    [&blocks[..], &offset, &footer[..2 * 20 + 3 * 36 + 9]].concat()
}

fn index() -> IndexTable {
    let pack = |n| IndexedPack { name: [n; 32], header: header(Class::Pack), length: 4096, table: table() };
    IndexTable { superseded: vec![[9; 32]], packs: vec![pack(1), pack(2)] }
}

fn keyring() -> Keyring {
    Keyring {
        repository: [1; 16],
        secret: [2; 32],
        masters: BTreeMap::from([(1, Zeroizing::new([3; 32])), (70_000, Zeroizing::new([4; 32]))]),
        label: "password".into(),
        created: TIME,
    }
}

fn lease() -> Lease {
    Lease {
        id: [1; 16],
        counter: 2,
        host: "nas".into(),
        pid: 3,
        boot: "b".into(),
        started: 4,
        operation: "backup".into(),
        namespace: 5,
    }
}

fn snapshot() -> Snapshot {
    Snapshot {
        time: TIME,
        zone_seconds: -3600,
        job: Some("nightly".into()),
        host: "nas".into(),
        user: "root".into(),
        paths: vec![b"/home".to_vec(), b"/\xff".to_vec()],
        tags: vec!["a".into()],
        root: ChunkId([1; 32]),
        parent: Some([2; 32]),
        program: "nightjar".into(),
        options: vec!["--exclude=*.o".into()],
        statistics: Statistics { files_new: 300, ..Statistics::default() },
        failed: vec![FailedItem { path: b"/x".to_vec(), reason: "it vanished".into() }],
        partial: true,
        suspicious: true,
        lease: [3; 16],
        writer: [4; 16],
        sequence: 5,
        previous: Some([6; 32]),
        lamport: 7,
        original: Some([8; 32]),
    }
}

fn trees() -> Vec<TreeChunk> {
    let id = ChunkId([5; 32]);
    let extents = vec![Extent::Chunk { id, length: 300 }, Extent::Hole { length: 1 << 40 }];
    let mut file = Node::new(b"a", NodeKind::File);
    (file.mode, file.uid, file.user) = (0o6755, 1000, Some("u".into()));
    (file.mtime, file.ctime, file.birth) = (Some(TIME), Some(TIME), Some(TIME));
    (file.inode, file.device, file.links, file.flags) = (1 << 33, 1, 2, 16);
    (file.size, file.content) = ((1 << 40) + 300, Some(Content::Extents(extents.clone())));
    file.xattrs = [&b"user.a"[..], b"user.b"].map(|name| Xattr { name: name.to_vec(), value: vec![1, 2] }).into();
    let mut small = Node::new(b"b", NodeKind::File);
    (small.size, small.content) = (3, Some(Content::Inline(b"abc".to_vec())));
    let mut nested = Node::new(b"c", NodeKind::File);
    (nested.size, nested.content) = (9, Some(Content::Nested(id)));
    let mut link = Node::new(b"d", NodeKind::Symlink);
    link.target = b"../\xff".to_vec();
    let mut device = Node::new(b"e", NodeKind::BlockDevice);
    device.rdev = (8, 17);
    let mut directory = Node::new(b"f", NodeKind::Directory);
    directory.tree = Some(id);
    vec![
        TreeChunk::Leaf(vec![file, small, nested, link, device, directory]),
        TreeChunk::Branch(vec![(b"a".to_vec(), id), (b"b".to_vec(), id)]),
        TreeChunk::ExtentLeaf(extents),
        TreeChunk::ExtentBranch(vec![(300, id), (1 << 40, id)]),
    ]
}
