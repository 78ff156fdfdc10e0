//! Floor 3: the nouns of a repository and their bytes (`repo-format.md`).
//!
//! Pure: no input or output, no clock, no cryptography, no threads. Every decoder takes hostile bytes:
//! it checks each limit before it allocates, and never panics.

mod error;
mod node;

pub use error::FormatError;
pub use node::{Content, Extent, Node, NodeKind, Time, Xattr};

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
