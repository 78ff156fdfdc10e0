//! The limits of `repo-format.md`, chapter 13; `tests/format/` compares the two.

/// Bytes of the header that every object starts with.
pub const HEADER_LEN: usize = 128;
/// Bytes that sealing adds to a plain text: the tag.
pub const TAG_LEN: usize = 16;
/// Most plain bytes of a block.
pub const BLOCK_PLAIN_MAX: u32 = 4 << 20;
/// Most chunks in a block.
pub const BLOCK_CHUNKS_MAX: usize = 4_096;
/// Most blocks in a pack.
pub const PACK_BLOCKS_MAX: usize = 16_384;
/// Most chunks in a pack.
pub const PACK_CHUNKS_MAX: usize = 65_536;
/// Most bytes of a pack.
pub const PACK_LEN_MAX: u32 = 256 << 20;
/// The length of a pack is a multiple of this.
pub const PACK_ALIGN: u64 = 4_096;
/// Plain bytes of every index segment but the last.
pub const SEGMENT_PLAIN: usize = 1 << 20;
/// Most segments of an index object.
pub const INDEX_SEGMENTS_MAX: u32 = 256;
/// Most bytes of a snapshot, config or key slot.
pub const RECORD_LEN_MAX: u64 = 16 << 20;
/// Most bytes of a lease.
pub const LEASE_LEN_MAX: u64 = 65_536;
/// Most names of each list of a mark, and most leases of a census.
pub const MARK_NAMES_MAX: usize = 131_072;
/// Most entries of a tree chunk: nodes, branches or extents.
pub const TREE_ENTRIES_MAX: usize = 2_048;
/// Most extents in a node.
pub const NODE_EXTENTS_MAX: usize = 1_024;
/// Most bytes of content kept in a node.
pub const INLINE_MAX: usize = 256;
/// Most bytes of a name.
pub const NAME_MAX: usize = 255;
/// Most bytes of the target of a symbolic link.
pub const TARGET_MAX: usize = 65_535;
/// Most bytes of all extended attributes of a node together, names and values.
pub const XATTRS_MAX: usize = 3 << 20;
/// Most entries of each list of a snapshot: paths, tags, options, items that could not be read.
pub const SNAPSHOT_ITEMS_MAX: usize = 10_000;
/// Most bytes of a text in a snapshot.
pub const SNAPSHOT_TEXT_MAX: usize = 65_536;
/// Most bytes that a writer puts into each list of a snapshot.
pub const SNAPSHOT_LIST_BYTES: usize = 2 << 20;
/// Most master secrets in a keyring.
pub const EPOCHS_MAX: usize = 1_024;
/// Branches of a tree or an extent list nest at most this deep.
pub const BRANCH_LEVELS_MAX: usize = 8;
