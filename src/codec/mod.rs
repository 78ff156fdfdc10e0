//! Floor 4: compression of blocks (`repo-format.md`, chapter 7).

mod choice;
mod compress;
mod decompress;
mod sample;

pub use choice::{Compression, CompressionError};
pub use compress::Compressor;
pub use decompress::{CodecError, Decompressor};
