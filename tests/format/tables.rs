//! The tables of `repo-format.md` against the constants of the code.

use nightjar::format::limits::{
    BLOCK_CHUNKS_MAX, BLOCK_PLAIN_MAX, BRANCH_LEVELS_MAX, EPOCHS_MAX, HEADER_LEN, INDEX_SEGMENTS_MAX, INLINE_MAX,
    LEASE_LEN_MAX, MARK_NAMES_MAX, NAME_MAX, NODE_EXTENTS_MAX, PACK_ALIGN, PACK_BLOCKS_MAX, PACK_CHUNKS_MAX,
    PACK_LEN_MAX, RECORD_LEN_MAX, SEGMENT_PLAIN, SNAPSHOT_ITEMS_MAX, SNAPSHOT_TEXT_MAX, TAG_LEN, TARGET_MAX,
    TREE_ENTRIES_MAX, XATTRS_MAX,
};
use nightjar::format::{
    BLOCK_PREFIX_LEN, BLOCK_RECORD_LEN, CHUNK_RECORD_LEN, Class, CodecId, INDEX_PREFIX_LEN, KDF_LEN, NodeKind,
    PACK_RECORD_LEN, PackKind, Part, Suite, TRAILER_LEN, VERSION,
};
use std::collections::BTreeMap;

fn document() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/repo-format.md")).unwrap()
}

/// The rows of the table whose header row begins with these cells.
pub(crate) fn table(header: &[&str]) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let document = document();
    let mut lines = document.lines().skip_while(|line| {
        let row = cells(line);
        !line.starts_with('|') || row.len() < header.len() || row.iter().zip(header).any(|(a, b)| a != b)
    });
    assert!(lines.next().is_some(), "repo-format.md has no table {header:?}");
    lines.skip(1).take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// Name and number of each row.
fn numbers(header: &[&str]) -> BTreeMap<String, u64> {
    let rows = table(header);
    assert!(!rows.is_empty());
    rows.into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect()
}

fn named<const N: usize>(pairs: [(&str, u64); N]) -> BTreeMap<String, u64> {
    pairs.into_iter().map(|(name, number)| (name.to_owned(), number)).collect()
}

#[test]
fn classes_suites_codecs_and_kinds_have_the_numbers_of_the_document() {
    let classes = [Class::Pack, Class::Index, Class::Snapshot, Class::Config, Class::KeySlot, Class::Mark];
    assert_eq!(numbers(&["class", "number"]), named(classes.map(|class| (class.as_str(), class as u64))));
    assert_eq!(
        numbers(&["suite", "number"]),
        named([
            ("AES-256-GCM", Suite::Aes256Gcm as u64),
            ("ChaCha20-Poly1305 (RFC 8439)", Suite::ChaCha20Poly1305 as u64)
        ])
    );
    assert_eq!(
        numbers(&["codec", "number"]),
        named([
            ("stored", CodecId::Stored as u64),
            ("zstd", CodecId::Zstd as u64),
            ("deflate", CodecId::Deflate as u64),
            ("lz4", CodecId::Lz4 as u64)
        ])
    );
    assert_eq!(
        numbers(&["node kind", "number"]),
        named([
            ("file", NodeKind::File.number()),
            ("directory", NodeKind::Directory.number()),
            ("symlink", NodeKind::Symlink.number()),
            ("fifo", NodeKind::Fifo.number()),
            ("character device", NodeKind::CharDevice.number()),
            ("block device", NodeKind::BlockDevice.number()),
            ("socket", NodeKind::Socket.number())
        ])
    );
    assert_eq!((PackKind::Data as u8, PackKind::Tree as u8, VERSION), (1, 2, 1));
    assert!(document().contains("| 9 | 1 | kind: of a pack 1 data, 2 tree; otherwise 0 |"));
    assert!(document().contains("| 7 | 1 | format version: 1 |"));
}

#[test]
fn nonce_tags_are_those_of_the_document() {
    let parts = [
        ("block", Part::Block),
        ("pack footer", Part::Footer),
        ("pack trailer", Part::Trailer),
        ("index segment", Part::Segment),
        ("snapshot", Part::Snapshot),
        ("key slot", Part::KeySlot),
        ("config", Part::Config),
        ("mark", Part::Mark),
    ];
    assert_eq!(numbers(&["sealed part", "nonce tag"]), named(parts.map(|(name, part)| (name, part as u64))));
    assert_eq!(Part::Segment.nonce(0x0102), [16, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn limits_are_those_of_the_document() {
    let limits = [
        ("header", HEADER_LEN as u64),
        ("plain bytes of a block", u64::from(BLOCK_PLAIN_MAX)),
        ("chunks in a block", BLOCK_CHUNKS_MAX as u64),
        ("blocks in a pack", PACK_BLOCKS_MAX as u64),
        ("chunks in a pack", PACK_CHUNKS_MAX as u64),
        ("bytes of a pack", u64::from(PACK_LEN_MAX)),
        ("multiple of the length of a pack", PACK_ALIGN),
        ("plain bytes of an index segment", SEGMENT_PLAIN as u64),
        ("segments of an index object", u64::from(INDEX_SEGMENTS_MAX)),
        ("bytes of a snapshot, config or key slot", RECORD_LEN_MAX),
        ("bytes of a lease", LEASE_LEN_MAX),
        ("names in each list of a mark, leases in a census", MARK_NAMES_MAX as u64),
        ("entries of a tree chunk", TREE_ENTRIES_MAX as u64),
        ("extents in a node", NODE_EXTENTS_MAX as u64),
        ("inline content", INLINE_MAX as u64),
        ("bytes of a name", NAME_MAX as u64),
        ("bytes of a link target", TARGET_MAX as u64),
        ("bytes of all extended attributes of a node", XATTRS_MAX as u64),
        ("entries of each list in a snapshot", SNAPSHOT_ITEMS_MAX as u64),
        ("bytes of a text in a snapshot", SNAPSHOT_TEXT_MAX as u64),
        ("levels of branches", BRANCH_LEVELS_MAX as u64),
        ("master secrets in a keyring", EPOCHS_MAX as u64),
    ];
    assert_eq!(numbers(&["limit", "value"]), named(limits));
}

/// Sum of the field sizes of a layout table, which must lie without gaps.
fn layout(third: &str, first_row: &str) -> usize {
    let document = document();
    let header = format!("| offset | size | {third} |");
    let found = document.split(&header).skip(1).find(|behind| behind.lines().nth(2).unwrap().contains(first_row));
    let rows = found.unwrap_or_else(|| panic!("no layout {third} that begins with {first_row}"));
    let mut end = 0;
    for row in rows.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells[0].parse::<usize>().unwrap(), end, "{row}");
        if let Ok(size) = cells[1].parse::<usize>() {
            end += size;
        }
    }
    end
}

#[test]
fn layouts_have_the_lengths_of_the_code_and_no_gaps() {
    assert_eq!(layout("field", "magic"), HEADER_LEN);
    assert_eq!(layout("field", "kdf"), KDF_LEN);
    assert_eq!(layout("field", "codec"), BLOCK_PREFIX_LEN);
    assert_eq!(layout("field", "length of the sealed footer"), TRAILER_LEN);
    assert_eq!(layout("field of a block record", "block number"), BLOCK_RECORD_LEN);
    assert_eq!(layout("field of a chunk record", "chunk id"), CHUNK_RECORD_LEN);
    assert_eq!(layout("field", "number of segments"), INDEX_PREFIX_LEN);
    assert_eq!(layout("field of a pack record", "name of the pack"), PACK_RECORD_LEN);
    let suites = table(&["suite", "number", "key", "nonce", "tag"]);
    assert!(suites.iter().all(|row| row[2] == "32" && row[3] == "12" && row[4].parse() == Ok(TAG_LEN)));
}
