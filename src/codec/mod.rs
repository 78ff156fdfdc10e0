//! Floor 4: compression of blocks (`repo-format.md`, chapter 7).

mod choice;
mod compress;
mod decompress;
mod sample;

pub use choice::{Compression, CompressionError};
pub use compress::{Compressor, deflate_level, deflated_block};
pub use decompress::{CodecError, Decompressor};
pub(crate) use sample::looks_compressible;
