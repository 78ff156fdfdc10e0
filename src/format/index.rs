//! The table inside an index object (`repo-format.md`, chapter 8).

use super::header::Header;
use super::limits::{
    HEADER_LEN, INDEX_SEGMENTS_MAX, PACK_ALIGN, PACK_BLOCKS_MAX, PACK_LEN_MAX, SEGMENT_PLAIN, TAG_LEN,
};
use super::pack::{BLOCK_RECORD_LEN, CHUNK_RECORD_LEN, PackTable, check_range};
use super::{Class, FormatError};

/// Bytes of the counts in front of an index table.
pub const INDEX_PREFIX_LEN: usize = 24;
/// Bytes of a pack record.
pub const PACK_RECORD_LEN: usize = 168;

/// One pack as an index object describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedPack {
    /// Name of the pack: the BLAKE3 of its bytes.
    pub name: [u8; 32],
    /// Its header, so that a block can be opened without reading it from the pack.
    pub header: Header,
    /// Length of the pack in bytes.
    pub length: u32,
    /// Its blocks and chunks.
    pub table: PackTable,
}

/// The content of an index object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexTable {
    /// Names of index objects that this one replaces.
    pub superseded: Vec<[u8; 32]>,
    /// Packs.
    pub packs: Vec<IndexedPack>,
}

impl IndexTable {
    /// Bytes that `to_bytes` will give, without the packs' chunks being copied.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let packs: usize = self.packs.iter().map(pack_len).sum();
        INDEX_PREFIX_LEN + self.superseded.len() * 32 + packs
    }

    /// The table's bytes, to be cut into segments of [`SEGMENT_PLAIN`] bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let segments = self.encoded_len().div_ceil(SEGMENT_PLAIN);
        assert!(segments <= INDEX_SEGMENTS_MAX as usize, "an index object is within its limit");
        let (mut packs, mut blocks, mut chunks) = (Vec::new(), Vec::new(), Vec::new());
        for pack in &self.packs {
            packs.extend_from_slice(&pack.name);
            packs.extend_from_slice(&pack.header.to_bytes());
            packs.extend_from_slice(&pack.length.to_le_bytes());
            packs.extend_from_slice(&count(pack.table.blocks.len()));
            pack.table.append_records(&mut blocks, &mut chunks);
        }
        let mut bytes = Vec::with_capacity(self.encoded_len());
        bytes.extend_from_slice(&count(segments));
        bytes.extend_from_slice(&count(self.superseded.len()));
        bytes.extend_from_slice(&count(self.packs.len()));
        bytes.extend_from_slice(&count(blocks.len() / BLOCK_RECORD_LEN));
        bytes.extend_from_slice(&count(chunks.len() / CHUNK_RECORD_LEN));
        bytes.extend_from_slice(&[0; 4]);
        for name in &self.superseded {
            bytes.extend_from_slice(name);
        }
        for part in [packs, blocks, chunks] {
            bytes.extend_from_slice(&part);
        }
        bytes
    }

    /// Reads the opened segments of an index object, laid end to end.
    ///
    /// # Errors
    /// When the counts do not fit the bytes, or a record is outside its limits.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let Some((prefix, rest)) = bytes.split_first_chunk::<INDEX_PREFIX_LEN>() else {
            return Err(FormatError::Truncated { what: "index" });
        };
        let field = |n: usize| u32::from_le_bytes([prefix[n], prefix[n + 1], prefix[n + 2], prefix[n + 3]]) as usize;
        if field(0) != bytes.len().div_ceil(SEGMENT_PLAIN) {
            return Err(FormatError::Invalid { what: "number of segments" });
        }
        if field(20) != 0 {
            return Err(FormatError::Invalid { what: "zero field of an index" });
        }
        let lengths =
            [field(4) * 32, field(8) * PACK_RECORD_LEN, field(12) * BLOCK_RECORD_LEN, field(16) * CHUNK_RECORD_LEN];
        if lengths.iter().sum::<usize>() != rest.len() {
            return Err(FormatError::Invalid { what: "counts of an index" });
        }
        let (superseded, rest) = rest.split_at(lengths[0]);
        let (packs, rest) = rest.split_at(lengths[1]);
        let (mut blocks, mut chunks) = rest.split_at(lengths[2]);
        let mut table = Self {
            superseded: superseded.chunks_exact(32).map(array32).collect(),
            packs: Vec::with_capacity(field(8)),
        };
        for record in packs.chunks_exact(PACK_RECORD_LEN) {
            table.packs.push(indexed_pack(record, &mut blocks, &mut chunks)?);
        }
        if !blocks.is_empty() || !chunks.is_empty() {
            return Err(FormatError::Invalid { what: "counts of an index" });
        }
        Ok(table)
    }
}

/// Bytes that a pack takes in an index table.
#[must_use]
pub fn pack_len(pack: &IndexedPack) -> usize {
    PACK_RECORD_LEN + pack.table.blocks.len() * BLOCK_RECORD_LEN + pack.table.chunks.len() * CHUNK_RECORD_LEN
}

/// The sealed lengths of the segments of an index object of `length` bytes, header included.
///
/// # Errors
/// When no whole segments make up this length, or there are too many.
pub fn segment_lens(length: u64) -> Result<Vec<usize>, FormatError> {
    let sealed = (SEGMENT_PLAIN + TAG_LEN) as u64;
    let body = length.saturating_sub(HEADER_LEN as u64);
    let (whole, last) = (body / sealed, body % sealed);
    if body == 0 || (last > 0 && last <= TAG_LEN as u64) {
        return Err(FormatError::Truncated { what: "index" });
    }
    check_range("number of segments", whole + u64::from(last > 0), u64::from(INDEX_SEGMENTS_MAX))?;
    let mut lens = vec![SEGMENT_PLAIN + TAG_LEN; usize::try_from(whole).expect("at most 256 segments")];
    if last > 0 {
        lens.push(usize::try_from(last).expect("shorter than a segment"));
    }
    Ok(lens)
}

fn indexed_pack(record: &[u8], blocks: &mut &[u8], chunks: &mut &[u8]) -> Result<IndexedPack, FormatError> {
    let field = |n: usize| u32::from_le_bytes([record[n], record[n + 1], record[n + 2], record[n + 3]]);
    let (length, count) = (field(160), field(164) as usize);
    check_range("length of a pack", u64::from(length), u64::from(PACK_LEN_MAX))?;
    if !u64::from(length).is_multiple_of(PACK_ALIGN) {
        return Err(FormatError::Invalid { what: "length of a pack" });
    }
    check_range("number of blocks of a pack", count as u64, PACK_BLOCKS_MAX as u64)?;
    let Some((own, rest)) = blocks.split_at_checked(count * BLOCK_RECORD_LEN) else {
        return Err(FormatError::Truncated { what: "block records" });
    };
    *blocks = rest;
    let (table, rest) = PackTable::from_records(own, chunks, u64::from(length))?;
    *chunks = rest;
    let header = Header::from_bytes(&record[32..160])?;
    if header.class != Class::Pack {
        return Err(FormatError::Invalid { what: "class of an indexed pack" });
    }
    Ok(IndexedPack { name: array32(&record[..32]), header, length, table })
}

fn array32(bytes: &[u8]) -> [u8; 32] {
    let mut array = [0; 32];
    array.copy_from_slice(bytes);
    array
}

fn count(number: usize) -> [u8; 4] {
    u32::try_from(number).expect("counts stay below the limits of an index").to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::{IndexTable, IndexedPack, segment_lens};
    use crate::format::limits::{SEGMENT_PLAIN, TAG_LEN};
    use crate::format::{BlockRecord, ChunkId, ChunkRecord, Class, Header, PackKind, PackTable, Suite};
    use proptest::prelude::*;

    fn pack(seed: u8, chunks: u16) -> IndexedPack {
        let header = Header {
            class: Class::Pack,
            kind: Some(PackKind::Data),
            suite: Suite::Aes256Gcm,
            epoch: 1,
            repository: [seed; 16],
            salt: [seed; 32],
            commitment: [seed; 32],
        };
        let blocks =
            vec![BlockRecord { number: 0, offset: 128, sealed_len: 30, plain_len: 10 * u32::from(chunks), chunks }];
        let chunks = (0..chunks).map(|_| ChunkRecord { id: ChunkId([seed; 32]), length: 10 }).collect();
        IndexedPack { name: [seed; 32], header, length: 4096, table: PackTable { blocks, chunks } }
    }

    #[test]
    fn an_index_of_two_segments_survives_its_bytes() {
        let packs = (0..40).map(|n| pack(n, 1000)).collect();
        let table = IndexTable { superseded: vec![[9; 32], [8; 32]], packs };
        let bytes = table.to_bytes();
        assert!(bytes.len() > SEGMENT_PLAIN);
        assert_eq!(bytes.len(), table.encoded_len());
        assert_eq!(IndexTable::from_bytes(&bytes), Ok(table));
        assert!(IndexTable::from_bytes(&bytes[..SEGMENT_PLAIN]).is_err(), "a missing segment is seen");
        assert!(IndexTable::from_bytes(&bytes[..bytes.len() - 36]).is_err(), "a missing record is seen");
    }

    #[test]
    fn segments_are_found_by_the_length_alone() {
        assert_eq!(segment_lens(128 + 17), Ok(vec![17]));
        assert_eq!(segment_lens((128 + SEGMENT_PLAIN + TAG_LEN) as u64), Ok(vec![SEGMENT_PLAIN + TAG_LEN]));
        for bad in [0, 128, 128 + 16, (128 + SEGMENT_PLAIN + TAG_LEN + 1) as u64, u64::MAX] {
            assert!(segment_lens(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_an_index_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = IndexTable::from_bytes(&bytes);
        }

        #[test]
        fn a_flipped_byte_never_panics(at in 0_usize..500, flip in 1_u8..=255) {
            let mut bytes = IndexTable { superseded: vec![], packs: vec![pack(1, 3), pack(2, 2)] }.to_bytes();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            let _ = IndexTable::from_bytes(&bytes);
        }
    }
}
