//! The footer and trailer of a pack, and the records of blocks and chunks (`repo-format.md`, chapter 7).

use super::limits::{
    BLOCK_CHUNKS_MAX, BLOCK_PLAIN_MAX, HEADER_LEN, PACK_ALIGN, PACK_BLOCKS_MAX, PACK_CHUNKS_MAX, PACK_LEN_MAX, TAG_LEN,
};
use super::{ChunkId, FormatError};

/// Bytes of a block record.
pub const BLOCK_RECORD_LEN: usize = 20;
/// Bytes of a chunk record.
pub const CHUNK_RECORD_LEN: usize = 36;
/// Bytes of the opened trailer.
pub const TRAILER_LEN: usize = 8;
/// Bytes at the end of a pack that one read fetches to get at key and footer length: copy of the header and sealed trailer.
pub const TAIL_LEN: usize = HEADER_LEN + TRAILER_LEN + TAG_LEN;
/// Bytes in front of the payload of an opened block: codec and plain length.
pub const BLOCK_PREFIX_LEN: usize = 4;

/// Where a block lies in its pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRecord {
    /// Counter of its nonce, unique in the pack.
    pub number: u32,
    /// Offset in the pack in bytes.
    pub offset: u32,
    /// Sealed length in bytes.
    pub sealed_len: u32,
    /// Plain length in bytes.
    pub plain_len: u32,
    /// Number of chunks in it.
    pub chunks: u16,
}

/// A chunk of a block, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRecord {
    /// Id of the chunk.
    pub id: ChunkId,
    /// Length in bytes.
    pub length: u32,
}

/// How a compressed block was compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CodecId {
    /// Not at all.
    Stored = 0,
    /// One zstd frame.
    Zstd = 1,
    /// One raw deflate stream.
    Deflate = 2,
    /// One LZ4 block.
    Lz4 = 3,
}

impl CodecId {
    /// The codec of this number.
    ///
    /// # Errors
    /// When there is none.
    pub fn from_u8(number: u8) -> Result<Self, FormatError> {
        match number {
            0 => Ok(Self::Stored),
            1 => Ok(Self::Zstd),
            2 => Ok(Self::Deflate),
            3 => Ok(Self::Lz4),
            _ => Err(FormatError::Invalid { what: "codec" }),
        }
    }
}

/// The four bytes in front of a block's payload.
#[must_use]
pub fn block_prefix(codec: CodecId, plain_len: u32) -> [u8; BLOCK_PREFIX_LEN] {
    assert!(plain_len <= BLOCK_PLAIN_MAX, "a block is within its limit");
    let length = plain_len.to_le_bytes();
    [codec as u8, length[0], length[1], length[2]]
}

/// Splits an opened block into codec, plain length and payload.
///
/// # Errors
/// When it is cut short, the codec is unknown or the length is outside its limits.
pub fn split_block(opened: &[u8]) -> Result<(CodecId, u32, &[u8]), FormatError> {
    let Some((prefix, payload)) = opened.split_first_chunk::<BLOCK_PREFIX_LEN>() else {
        return Err(FormatError::Truncated { what: "block" });
    };
    let plain_len = u32::from_le_bytes([prefix[1], prefix[2], prefix[3], 0]);
    check_range("plain length of a block", u64::from(plain_len), u64::from(BLOCK_PLAIN_MAX))?;
    Ok((CodecId::from_u8(prefix[0])?, plain_len, payload))
}

/// The blocks and chunks of a pack, from its footer or from an index object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackTable {
    /// Blocks in the order of their offsets.
    pub blocks: Vec<BlockRecord>,
    /// Chunks, those of the first block first.
    pub chunks: Vec<ChunkRecord>,
}

impl PackTable {
    /// Appends block and chunk records to two byte strings.
    pub(crate) fn append_records(&self, blocks: &mut Vec<u8>, chunks: &mut Vec<u8>) {
        for block in &self.blocks {
            for field in [block.number, block.offset, block.sealed_len, block.plain_len, u32::from(block.chunks)] {
                blocks.extend_from_slice(&field.to_le_bytes());
            }
        }
        for chunk in &self.chunks {
            chunks.extend_from_slice(&chunk.id.0);
            chunks.extend_from_slice(&chunk.length.to_le_bytes());
        }
    }

    /// Reads block records, then as many chunk records as these announce; returns the bytes behind.
    ///
    /// # Errors
    /// When a record is missing or outside its limits, or lengths do not add up.
    pub(crate) fn from_records<'b>(
        blocks: &[u8],
        mut chunks: &'b [u8],
        end: u64,
    ) -> Result<(Self, &'b [u8]), FormatError> {
        let mut table = Self::default();
        let mut offset = HEADER_LEN as u64;
        let mut numbers = Vec::with_capacity(blocks.len() / BLOCK_RECORD_LEN);
        for record in blocks.chunks_exact(BLOCK_RECORD_LEN) {
            let block = block_record(record)?;
            if u64::from(block.offset) != offset {
                return Err(FormatError::Invalid { what: "offset of a block" });
            }
            offset += u64::from(block.sealed_len);
            let mut length = 0;
            for _ in 0..block.chunks {
                let Some((record, rest)) = chunks.split_first_chunk::<CHUNK_RECORD_LEN>() else {
                    return Err(FormatError::Truncated { what: "chunk records" });
                };
                chunks = rest;
                let chunk = chunk_record(record)?;
                length += u64::from(chunk.length);
                table.chunks.push(chunk);
            }
            if length != u64::from(block.plain_len) {
                return Err(FormatError::Invalid { what: "sum of the chunk lengths of a block" });
            }
            numbers.push(block.number);
            table.blocks.push(block);
        }
        if offset > end {
            return Err(FormatError::Invalid { what: "end of the blocks" });
        }
        numbers.sort_unstable();
        if numbers.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(FormatError::Invalid { what: "number of a block" });
        }
        if table.chunks.len() > PACK_CHUNKS_MAX {
            let (value, limit) = (table.chunks.len() as u64, PACK_CHUNKS_MAX as u64);
            return Err(FormatError::Limit { what: "number of chunks of a pack", value, limit });
        }
        Ok((table, chunks))
    }

    /// The opened footer: records and the zeros that bring the pack to a multiple of 4 KiB.
    #[must_use]
    pub fn to_footer(&self) -> Vec<u8> {
        let (mut footer, mut chunks) = (Vec::new(), Vec::new());
        self.append_records(&mut footer, &mut chunks);
        footer.extend_from_slice(&chunks);
        let blocks: u64 = self.blocks.iter().map(|b| u64::from(b.sealed_len)).sum();
        let rest = (HEADER_LEN + TAG_LEN + TAIL_LEN) as u64;
        let length = blocks + rest + footer.len() as u64;
        let padding = length.next_multiple_of(PACK_ALIGN) - length;
        footer.resize(footer.len() + usize::try_from(padding).expect("padding is below 4096"), 0);
        footer
    }

    /// Reads an opened footer of a pack with `block_count` blocks whose sealed footer begins at `footer_offset`.
    ///
    /// # Errors
    /// When a record is missing or outside its limits, lengths do not add up, or the padding is not zero.
    pub fn from_footer(footer: &[u8], block_count: u32, footer_offset: u64) -> Result<Self, FormatError> {
        let count = block_count as usize;
        check_range("number of blocks of a pack", count as u64, PACK_BLOCKS_MAX as u64)?;
        let Some((blocks, chunks)) = footer.split_at_checked(count * BLOCK_RECORD_LEN) else {
            return Err(FormatError::Truncated { what: "footer" });
        };
        let (table, padding) = Self::from_records(blocks, chunks, footer_offset)?;
        let end: u64 = HEADER_LEN as u64 + table.blocks.iter().map(|b| u64::from(b.sealed_len)).sum::<u64>();
        if end != footer_offset {
            return Err(FormatError::Invalid { what: "end of the blocks" });
        }
        if padding.iter().any(|b| *b != 0) {
            return Err(FormatError::Invalid { what: "padding of the footer" });
        }
        Ok(table)
    }
}

fn block_record(record: &[u8]) -> Result<BlockRecord, FormatError> {
    let field = |n: usize| u32::from_le_bytes([record[n], record[n + 1], record[n + 2], record[n + 3]]);
    let block = BlockRecord {
        number: field(0),
        offset: field(4),
        sealed_len: field(8),
        plain_len: field(12),
        chunks: u16::from_le_bytes([record[16], record[17]]),
    };
    if record[18..20] != [0, 0] {
        return Err(FormatError::Invalid { what: "zero field of a block record" });
    }
    check_range("plain length of a block", u64::from(block.plain_len), u64::from(BLOCK_PLAIN_MAX))?;
    check_range("number of chunks of a block", u64::from(block.chunks), BLOCK_CHUNKS_MAX as u64)?;
    let overhead = u32::try_from(BLOCK_PREFIX_LEN + TAG_LEN).expect("the overhead is 20 bytes");
    if block.sealed_len <= overhead || block.sealed_len > block.plain_len + overhead {
        return Err(FormatError::Invalid { what: "sealed length of a block" });
    }
    Ok(block)
}

fn chunk_record(record: &[u8; CHUNK_RECORD_LEN]) -> Result<ChunkRecord, FormatError> {
    let mut id = [0; 32];
    id.copy_from_slice(&record[..32]);
    let length = u32::from_le_bytes([record[32], record[33], record[34], record[35]]);
    check_range("length of a chunk", u64::from(length), u64::from(BLOCK_PLAIN_MAX))?;
    Ok(ChunkRecord { id: ChunkId(id), length })
}

pub(crate) fn check_range(what: &'static str, value: u64, limit: u64) -> Result<(), FormatError> {
    match value {
        0 => Err(FormatError::Invalid { what }),
        v if v > limit => Err(FormatError::Limit { what, value, limit }),
        _ => Ok(()),
    }
}

/// The opened trailer of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Length of the sealed footer in bytes.
    pub footer_len: u32,
    /// Number of blocks.
    pub blocks: u32,
}

impl Trailer {
    /// The trailer's 8 bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; TRAILER_LEN] {
        let mut bytes = [0; TRAILER_LEN];
        bytes[..4].copy_from_slice(&self.footer_len.to_le_bytes());
        bytes[4..].copy_from_slice(&self.blocks.to_le_bytes());
        bytes
    }

    /// Reads an opened trailer of a pack of `pack_len` bytes.
    ///
    /// # Errors
    /// When its length is wrong, or a footer of this length cannot be in the pack.
    pub fn from_bytes(bytes: &[u8], pack_len: u64) -> Result<Self, FormatError> {
        let Ok(bytes) = <&[u8; TRAILER_LEN]>::try_from(bytes) else {
            return Err(FormatError::Truncated { what: "trailer" });
        };
        let field = |n: usize| u32::from_le_bytes([bytes[n], bytes[n + 1], bytes[n + 2], bytes[n + 3]]);
        let trailer = Self { footer_len: field(0), blocks: field(4) };
        check_range("length of a pack", pack_len, u64::from(PACK_LEN_MAX))?;
        check_range("number of blocks of a pack", u64::from(trailer.blocks), PACK_BLOCKS_MAX as u64)?;
        let room = pack_len.saturating_sub((HEADER_LEN + TAIL_LEN) as u64);
        check_range("length of the footer", u64::from(trailer.footer_len), room)?;
        Ok(trailer)
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_PREFIX_LEN, BlockRecord, ChunkRecord, PackTable, TAIL_LEN, Trailer};
    use crate::format::ChunkId;
    use crate::format::limits::{HEADER_LEN, PACK_ALIGN, TAG_LEN};
    use proptest::prelude::*;

    /// A table with one block for each list of chunk lengths, numbered backwards.
    fn table(blocks: &[Vec<u32>]) -> PackTable {
        let mut table = PackTable::default();
        let mut offset = 128;
        for (n, lengths) in blocks.iter().enumerate() {
            let plain_len: u32 = lengths.iter().sum();
            let sealed_len = plain_len / 2 + 21;
            let number = u32::try_from(blocks.len() - n).unwrap();
            let chunks = u16::try_from(lengths.len()).unwrap();
            table.blocks.push(BlockRecord { number, offset, sealed_len, plain_len, chunks });
            offset += sealed_len;
            let id = ChunkId([u8::try_from(n % 256).unwrap(); 32]);
            table.chunks.extend(lengths.iter().map(|length| ChunkRecord { id, length: *length }));
        }
        table
    }

    fn end(table: &PackTable) -> u64 {
        128 + table.blocks.iter().map(|b| u64::from(b.sealed_len)).sum::<u64>()
    }

    proptest! {
        #[test]
        fn a_footer_survives_its_bytes_and_pads_the_pack(
            blocks in proptest::collection::vec(proptest::collection::vec(1_u32..5_000, 1..40), 1..30)
        ) {
            let table = table(&blocks);
            let footer = table.to_footer();
            let count = u32::try_from(blocks.len()).unwrap();
            prop_assert_eq!((end(&table) + (footer.len() + TAG_LEN + TAIL_LEN) as u64) % PACK_ALIGN, 0);
            prop_assert_eq!(PackTable::from_footer(&footer, count, end(&table)).unwrap(), table);
        }

        #[test]
        fn any_bytes_end_in_a_footer_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..500), count in 0_u32..9) {
            let _ = PackTable::from_footer(&bytes, count, 1000);
            let _ = Trailer::from_bytes(&bytes, 1000);
        }

        #[test]
        fn a_flipped_byte_of_a_footer_is_an_error_or_another_id(at in 0_usize..140, flip in 1_u8..=255) {
            let table = table(&[vec![100, 30], vec![7]]);
            let mut footer = table.to_footer();
            footer[at] ^= flip;
            if let Ok(other) = PackTable::from_footer(&footer, 2, end(&table)) {
                let same_shape = other.blocks.iter().zip(&table.blocks).all(|(a, b)| a.plain_len == b.plain_len);
                prop_assert!(same_shape && (other.chunks != table.chunks || other.blocks != table.blocks));
            }
        }
    }

    #[test]
    fn a_trailer_that_does_not_fit_its_pack_is_refused() {
        let trailer = Trailer { footer_len: 500, blocks: 3 };
        assert_eq!(Trailer::from_bytes(&trailer.to_bytes(), 4096).unwrap(), trailer);
        assert!(Trailer::from_bytes(&trailer.to_bytes(), (HEADER_LEN + TAIL_LEN + 499) as u64).is_err());
        assert!(Trailer::from_bytes(&trailer.to_bytes()[1..], 4096).is_err());
        assert!(Trailer::from_bytes(&Trailer { footer_len: 500, blocks: 0 }.to_bytes(), 4096).is_err());
        assert_eq!(BLOCK_PREFIX_LEN, 4);
    }
}
