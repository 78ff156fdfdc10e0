//! What must hold for any bytes that come from outside, one function for each decoder.
//!
//! The same functions are the bodies of the cargo-fuzz targets in `fuzz_targets/` and of the property tests in
//! `tests/fuzz.rs`. Each takes arbitrary bytes and panics when a promise is broken: what is decoded comes out the same
//! when it is encoded and decoded again, limits hold, and whatever is wrong ends in an error.

use nightjar::base::hex;
use nightjar::codec::{Compression, Compressor, Decompressor};
use nightjar::crypto::RecoveryKey;
use nightjar::files::{Case, Selection};
use nightjar::format::limits::{
    BLOCK_PLAIN_MAX, EPOCHS_MAX, HEADER_LEN, INDEX_SEGMENTS_MAX, INLINE_MAX, MARK_NAMES_MAX, NAME_MAX,
    NODE_EXTENTS_MAX, PACK_CHUNKS_MAX, PACK_LEN_MAX, SEGMENT_PLAIN, SNAPSHOT_ITEMS_MAX, TAG_LEN, TARGET_MAX,
    TREE_ENTRIES_MAX, XATTRS_MAX,
};
use nightjar::format::{
    Census, Config, Content, Extent, Header, Honoured, IndexTable, KDF_LEN, Kdf, Keyring, Lease, Mark, Node, PackTable,
    Snapshot, TAIL_LEN, Trailer, TreeChunk, check_name, segment_lens, split_block,
};
use nightjar::repo::{Seen, SnapshotRef};
use nightjar::storage::{Folder, ObjectName};

/// What must hold for these bytes.
pub type Target = fn(&[u8]);

/// Every target with its name, which is also the name of its file in `fuzz_targets/`.
pub const TARGETS: &[(&str, Target)] = &[
    ("block", block),
    ("census", census),
    ("compression", compression),
    ("config", config),
    ("exclude", exclude),
    ("exclude_file", exclude_file),
    ("footer", footer),
    ("header", header),
    ("honoured", honoured),
    ("index", index),
    ("kdf", kdf),
    ("keyring", keyring),
    ("lease", lease),
    ("mark", mark),
    ("object_name", object_name),
    ("recovery_key", recovery_key),
    ("seen", seen),
    ("segments", segments),
    ("snapshot", snapshot),
    ("snapshot_ref", snapshot_ref),
    ("trailer", trailer),
    ("tree", tree),
];

/// The plain length up to which a block that was opened is compressed again with every codec.
const COMPRESSED_AGAIN: usize = 16 << 10;

/// An opened block decompresses to exactly the length that it promises, or not at all.
pub fn block(bytes: &[u8]) {
    let promised = match split_block(bytes) {
        Ok((_, promised, _)) => promised,
        Err(_) => 1,
    };
    let mut decompressor = Decompressor::new();
    for wrong in [promised - 1, promised + 1] {
        assert!(decompressor.decompress(bytes.to_vec(), wrong).is_err());
    }
    let Ok(plain) = decompressor.decompress(bytes.to_vec(), promised) else {
        return;
    };
    assert_eq!(plain.len(), promised as usize);
    assert!((1..=BLOCK_PLAIN_MAX).contains(&promised));
    assert!(plain.capacity() <= bytes.len().max(promised as usize), "memory is bounded");
    if plain.len() > COMPRESSED_AGAIN {
        return;
    }
    let mut compressor = Compressor::new();
    for compression in [Compression::Off, Compression::Zstd(1), Compression::Deflate(1), Compression::Lz4] {
        let again = compressor.compress(compression, &plain).expect("a block can be compressed");
        assert!(again.len() <= plain.len() + 4, "what does not shrink is stored");
        assert_eq!(decompressor.decompress(again, promised).as_ref(), Ok(&plain));
    }
}

/// The name of a compression survives being shown, and has no second spelling of its number.
pub fn compression(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(compression) = text.parse::<Compression>() else {
        return;
    };
    assert_eq!(compression.to_string().parse(), Ok(compression));
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b':';
    assert!(text.bytes().all(plain), "{text}");
}

/// A config survives its bytes, and its sizes are within their limits.
pub fn config(bytes: &[u8]) {
    let Ok(config) = Config::from_bytes(bytes) else { return };
    assert_eq!(config.check(), Ok(()));
    assert!(config.created.nanos < 1_000_000_000);
    assert_eq!(Config::from_bytes(&config.to_bytes()), Ok(config));
}

/// The first line is a pattern, every other one a path that is matched against it; `exclude_if_present` sees the pattern too.
pub fn exclude(bytes: &[u8]) {
    let mut lines = bytes.split(|b| *b == b'\n');
    let pattern = lines.next().unwrap_or_default();
    for case in [Case::Sensitive, Case::Ignored] {
        let mut selection = Selection::new();
        if let Err(error) = selection.exclude(pattern, case) {
            assert!(!error.to_string().is_empty());
            continue;
        }
        for line in lines.clone() {
            for path in [line.to_vec(), [b"/", line].concat()] {
                for base in [0, 1, path.len() / 2, path.len()] {
                    let file = selection.excludes(&path, base, false);
                    let directory = selection.excludes(&path, base, true);
                    assert!(directory || !file, "what leaves out a file leaves out a directory of that name");
                }
            }
        }
    }
    let _ = Selection::new().exclude_if_present(pattern);
}

/// An exclude file means what its lines mean one by one, whatever its line ends.
pub fn exclude_file(bytes: &[u8]) {
    let mut whole = Selection::new();
    let read = whole.exclude_file("excludes", bytes, Case::Sensitive);
    let mut single = Selection::new();
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let lines: Vec<&[u8]> = text.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
    let added = lines.iter().all(|line| single.exclude(line, Case::Sensitive).is_ok());
    assert_eq!(read.is_ok(), added);
    for path in lines.iter().take(if added { 8 } else { 0 }) {
        let path = [b"/", *path].concat();
        for is_directory in [false, true] {
            assert_eq!(whole.excludes(&path, 1, is_directory), single.excludes(&path, 1, is_directory));
        }
    }
}

/// Bytes 0 to 3 are the number of blocks, 4 to 7 the offset of the footer, the rest is the opened footer.
pub fn footer(bytes: &[u8]) {
    let (Some(blocks), Some(offset)) = (number(bytes, 0), number(bytes, 4)) else {
        return;
    };
    let footer = &bytes[8..];
    let offset = u64::from(offset);
    let Ok(table) = PackTable::from_footer(footer, blocks, offset) else {
        return;
    };
    assert_eq!(table.blocks.len(), blocks as usize);
    check_table(&table);
    let last = table.blocks.last().expect("a footer has blocks");
    assert_eq!(u64::from(last.offset) + u64::from(last.sealed_len), offset);
    let again = table.to_footer();
    let same = again.len().min(footer.len());
    assert_eq!(again[..same], footer[..same]);
    assert!(again[same..].iter().chain(&footer[same..]).all(|b| *b == 0));
    assert_eq!(PackTable::from_footer(&again, blocks, offset), Ok(table));
}

/// A header has one form only.
pub fn header(bytes: &[u8]) {
    if let Ok(header) = Header::from_bytes(bytes) {
        assert_eq!(header.to_bytes()[..], bytes[..HEADER_LEN]);
    }
}

/// The table of an index object, with all its block and chunk records, has one form only.
pub fn index(bytes: &[u8]) {
    let Ok(table) = IndexTable::from_bytes(bytes) else {
        return;
    };
    assert_eq!(table.encoded_len(), bytes.len());
    assert_eq!(table.to_bytes(), bytes);
    for pack in &table.packs {
        assert!(!pack.table.blocks.is_empty() && pack.length <= PACK_LEN_MAX);
        check_table(&pack.table);
    }
}

/// The costs of a password hash have one form only and are within their limits.
pub fn kdf(bytes: &[u8]) {
    let Some(bytes) = bytes.first_chunk::<KDF_LEN>() else {
        return;
    };
    let Ok(kdf) = Kdf::from_bytes(bytes) else { return };
    assert_eq!(kdf.to_bytes(), *bytes);
    if let Kdf::Argon2id { memory_kib, passes, lanes } = kdf {
        assert!((8 << 10..=2 << 20).contains(&memory_kib));
        assert!((1..=16).contains(&passes) && (1..=16).contains(&lanes));
    }
}

/// A keyring survives its bytes and has at least one secret.
pub fn keyring(bytes: &[u8]) {
    let Ok(keyring) = Keyring::from_bytes(bytes) else {
        return;
    };
    assert!((1..=EPOCHS_MAX).contains(&keyring.masters.len()));
    assert!(keyring.label.len() <= 256);
    assert_eq!(Keyring::from_bytes(&keyring.to_bytes()), Ok(keyring));
}

/// A census survives its bytes, and its leases ascend.
pub fn census(bytes: &[u8]) {
    if let Ok(census) = Census::from_bytes(bytes) {
        assert!(census.leases.len() <= MARK_NAMES_MAX);
        assert!(census.leases.iter().all(|(id, counter)| census.counter(id) == Some(*counter)));
        assert_eq!(Census::from_bytes(&census.to_bytes()), Ok(census));
    }
}

/// What is honoured of a lease survives its bytes.
pub fn honoured(bytes: &[u8]) {
    if let Ok(honoured) = Honoured::from_bytes(bytes) {
        assert!(honoured.snapshots.len() <= MARK_NAMES_MAX);
        assert_eq!(Honoured::from_bytes(&honoured.to_bytes()), Ok(honoured));
    }
}

/// What a host has seen survives its bytes.
pub fn seen(bytes: &[u8]) {
    if let Some(seen) = Seen::from_bytes(bytes) {
        assert_eq!(Seen::from_bytes(&seen.to_bytes()), Some(seen));
    }
}

/// A mark survives its bytes.
pub fn mark(bytes: &[u8]) {
    if let Ok(mark) = Mark::from_bytes(bytes) {
        assert!([&mark.packs, &mark.forgotten, &mark.gone].iter().all(|names| names.len() <= MARK_NAMES_MAX));
        assert_eq!(Mark::from_bytes(&mark.to_bytes()), Ok(mark));
    }
}

/// A lease survives its bytes.
pub fn lease(bytes: &[u8]) {
    if let Ok(lease) = Lease::from_bytes(bytes) {
        assert_eq!(Lease::from_bytes(&lease.to_bytes()), Ok(lease));
    }
}

/// The name of an object is the text it was read from, and its path stays below the repository.
pub fn object_name(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for folder in Folder::ALL {
        let Some(name) = ObjectName::parse(folder, text) else {
            continue;
        };
        assert_eq!((name.folder(), name.base()), (folder, text));
        let path = name.path();
        assert!(path.starts_with(folder.as_str()) && path.ends_with(text) && path.len() < 100);
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'/' | b'-');
        assert!(path.bytes().all(plain), "{path}");
        if let Some(hash) = name.hash() {
            assert_eq!(hex::encode(&hash), text);
            assert_eq!(ObjectName::hashed(folder, &hash), name);
        }
    }
}

/// A recovery key survives both of its written forms.
pub fn recovery_key(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some(key) = RecoveryKey::parse(text) else { return };
    assert!(RecoveryKey::parse(&key.to_text()).as_ref() == Some(&key));
    assert!(RecoveryKey::parse(&key.to_words().join(" ")).as_ref() == Some(&key));
}

/// Segments fill an index object exactly, all but the last are whole, and none holds nothing.
pub fn segments(bytes: &[u8]) {
    let Some(length) = bytes.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes)) else {
        return;
    };
    // Most lengths are far too long; the shorter one tells more.
    for length in [length, length % (300 << 20)] {
        let Ok(lens) = segment_lens(length) else { continue };
        assert_eq!(lens.iter().sum::<usize>() as u64 + HEADER_LEN as u64, length);
        assert!(lens.len() <= INDEX_SEGMENTS_MAX as usize);
        let (last, whole) = lens.split_last().expect("an index has a segment");
        assert!((TAG_LEN + 1..=TAG_LEN + SEGMENT_PLAIN).contains(last));
        assert!(whole.iter().all(|len| *len == TAG_LEN + SEGMENT_PLAIN));
    }
}

/// A snapshot survives its bytes.
pub fn snapshot(bytes: &[u8]) {
    let Ok(snapshot) = Snapshot::from_bytes(bytes) else {
        return;
    };
    assert!(snapshot.failed.len() <= SNAPSHOT_ITEMS_MAX);
    assert!(snapshot.time.nanos < 1_000_000_000);
    assert!(snapshot.lamport < 1 << 63);
    assert_eq!(Snapshot::from_bytes(&snapshot.to_bytes()), Ok(snapshot));
}

/// A reference to a snapshot is `latest`, `latest~N` or the beginning of a name, and the path is what stands behind the first colon.
pub fn snapshot_ref(bytes: &[u8]) {
    let Ok(wanted) = SnapshotRef::parse(bytes) else { return };
    let mut split = bytes.splitn(2, |b| *b == b':');
    let name = split.next().unwrap_or_default();
    assert_eq!(wanted.path.as_deref(), split.next());
    let back = name.strip_prefix(b"latest").and_then(|rest| rest.strip_prefix(b"~"));
    let valid = match back {
        Some(digits) => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        None => name == b"latest" || name.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
    };
    assert!(valid && !name.is_empty(), "{}", String::from_utf8_lossy(name));
    assert_eq!(SnapshotRef::parse(bytes).as_ref().ok(), Some(&wanted));
}

/// Bytes 0 to 7 are the length of the pack, the rest is the opened trailer.
pub fn trailer(bytes: &[u8]) {
    let Some((length, trailer)) = bytes.split_first_chunk::<8>() else {
        return;
    };
    for length in [u64::from_le_bytes(*length), u64::from_le_bytes(*length) % u64::from(PACK_LEN_MAX)] {
        let Ok(read) = Trailer::from_bytes(trailer, length) else {
            continue;
        };
        assert_eq!(read.to_bytes()[..], *trailer);
        let outside = (HEADER_LEN + TAIL_LEN) as u64;
        assert!(u64::from(read.footer_len) + outside <= length && length <= u64::from(PACK_LEN_MAX));
    }
}

/// A tree chunk survives its bytes, and every rule that holds within one holds.
pub fn tree(bytes: &[u8]) {
    let Ok(tree) = TreeChunk::from_bytes(bytes) else { return };
    let count = match &tree {
        TreeChunk::Leaf(nodes) => {
            nodes.iter().for_each(check_node);
            assert!(nodes.is_sorted_by(|a, b| a.name < b.name));
            nodes.len()
        }
        TreeChunk::Branch(below) => {
            assert!(below.is_sorted_by(|a, b| a.0 < b.0));
            below.len()
        }
        TreeChunk::ExtentLeaf(extents) => {
            check_extents(extents);
            extents.len()
        }
        TreeChunk::ExtentBranch(below) => below.len(),
    };
    assert!(count <= TREE_ENTRIES_MAX);
    assert_eq!(TreeChunk::from_bytes(&tree.to_bytes()), Ok(tree));
}

fn check_node(node: &Node) {
    assert_eq!(check_name(&node.name), Ok(()));
    assert!(node.name.len() <= NAME_MAX && node.mode <= 0o7777 && node.target.len() <= TARGET_MAX);
    assert!(node.xattrs.is_sorted_by(|a, b| a.name < b.name));
    let xattrs: usize = node.xattrs.iter().map(|x| x.name.len() + x.value.len()).sum();
    assert!(xattrs <= XATTRS_MAX);
    match &node.content {
        Some(Content::Inline(content)) => {
            assert!(content.len() <= INLINE_MAX && content.len() as u64 == node.size);
        }
        Some(Content::Extents(extents)) => {
            assert!(extents.len() <= NODE_EXTENTS_MAX);
            check_extents(extents);
            assert_eq!(extents.iter().map(Extent::len).sum::<u64>(), node.size);
        }
        Some(Content::Nested(_)) => {}
        None => assert_eq!(node.size, 0),
    }
}

fn check_extents(extents: &[Extent]) {
    for extent in extents {
        assert!(!extent.is_empty());
        if let Extent::Chunk { length, .. } = extent {
            assert!(*length <= BLOCK_PLAIN_MAX);
        }
    }
}

/// Blocks follow one another, and their chunks fill them.
fn check_table(table: &PackTable) {
    assert!(table.chunks.len() <= PACK_CHUNKS_MAX);
    let mut offset = u64::try_from(HEADER_LEN).expect("a small number");
    let mut chunks = table.chunks.iter();
    for block in &table.blocks {
        assert_eq!(u64::from(block.offset), offset);
        offset += u64::from(block.sealed_len);
        let length: u64 = chunks.by_ref().take(usize::from(block.chunks)).map(|chunk| u64::from(chunk.length)).sum();
        assert_eq!(length, u64::from(block.plain_len));
        assert!(block.sealed_len <= block.plain_len + 20);
    }
    assert!(chunks.next().is_none());
}

/// The little-endian number that begins at byte `at`.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}
