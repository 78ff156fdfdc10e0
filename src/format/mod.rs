//! Floor 3: the nouns of a repository and their bytes (`repo-format.md`).
//!
//! Pure: no input or output, no clock, no cryptography, no threads. Every decoder takes hostile bytes:
//! it checks each limit before it allocates, and never panics.

mod config;
mod error;
mod header;
mod index;
mod lease;
pub mod limits;
mod mark;
mod node;
mod pack;
mod record;
mod slot;
mod snapshot;
mod tree;

pub use config::{ChunkSizes, Config};
pub use error::FormatError;
pub use header::{Class, Header, MAGIC, PackKind, Part, Suite, VERSION};
pub use index::{INDEX_PREFIX_LEN, IndexTable, IndexedPack, PACK_RECORD_LEN, pack_len, segment_lens};
pub use lease::Lease;
pub use mark::{Census, Honoured, Mark};
pub use node::{Content, Extent, Node, NodeKind, Time, Xattr};
pub use pack::{
    BLOCK_PREFIX_LEN, BLOCK_RECORD_LEN, BlockRecord, CHUNK_RECORD_LEN, ChunkRecord, CodecId, PackTable, TAIL_LEN,
    TRAILER_LEN, Trailer, block_prefix, split_block,
};
pub use slot::{KDF_LEN, Kdf, Keyring};
pub use snapshot::{FailedItem, Snapshot, Statistics};
pub use tree::{TreeChunk, check_name};

/// The keyed BLAKE3 of a chunk's plain bytes (`repo-format.md`, chapter 4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkId(pub [u8; 32]);

impl std::fmt::Debug for ChunkId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::base::hex::encode(&self.0))
    }
}

impl std::fmt::Display for ChunkId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::base::hex::encode(&self.0))
    }
}
