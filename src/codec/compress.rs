//! Compressing a block.

use super::Compression;
use super::sample::looks_compressible;
use crate::format::limits::TAG_LEN;
use crate::format::{BLOCK_PREFIX_LEN, CodecId, block_prefix};
use zstd::zstd_safe::CParameter;

/// Level of zstd, and the logarithm of its search attempts where that is not the level's own.
type ZstdChoice = (i32, Option<u32>);

/// The contexts of all codecs, kept from block to block; one thread's own.
#[derive(Default)]
pub struct Compressor {
    zstd: Option<(ZstdChoice, zstd::bulk::Compressor<'static>)>,
    deflate: Option<(i32, libdeflater::Compressor)>,
    gzip: Option<flate2::Compress>,
    /// Where payloads are written before their length is known; kept, so that its pages stay warm.
    room: Vec<u8>,
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Compressor(..)")
    }
}

impl Compressor {
    /// No contexts yet; each is made when its codec is first wanted.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The block as it will be sealed: prefix and payload, with room for the tag. A block that does not shrink by 3 % is stored.
    ///
    /// # Errors
    /// When a codec reports a failure of its own (not enough memory).
    pub fn compress(&mut self, compression: Compression, plain: &[u8]) -> Result<Vec<u8>, String> {
        let limit = worthwhile(plain.len());
        if compression != Compression::Off && looks_compressible(plain) {
            let mut room = std::mem::take(&mut self.room);
            if room.len() < limit {
                room.resize(limit, 0);
            }
            let written = self.payload(compression, plain, &mut room[..limit]);
            let block = written.map(|found| found.map(|(codec, length)| block(codec, plain, &room[..length])));
            self.room = room;
            if let Some(block) = block? {
                return Ok(block);
            }
        }
        Ok(block(CodecId::Stored, plain, plain))
    }

    /// Codec and length of the payload written to `room`, or `None` when it does not fit there.
    fn payload(
        &mut self,
        compression: Compression,
        plain: &[u8],
        room: &mut [u8],
    ) -> Result<Option<(CodecId, usize)>, String> {
        let written = match compression {
            Compression::Off => return Ok(None),
            Compression::Zstd(level) => self.zstd((level, None), plain, room)?,
            Compression::Better => self.zstd((6, Some(2)), plain, room)?,
            Compression::Max => self.zstd((19, None), plain, room)?,
            Compression::Deflate(level) => {
                let length = self.deflate(level)?.deflate_compress(plain, room);
                length.ok().map(|length| (CodecId::Deflate, length))
            }
            Compression::Lz4 => {
                // This codec wants room for the worst case, so it gets a buffer of its own.
                let payload = lz4_flex::block::compress(plain);
                room.get_mut(..payload.len()).map(|room| {
                    room.copy_from_slice(&payload);
                    (CodecId::Lz4, payload.len())
                })
            }
        };
        Ok(written)
    }

    /// The raw deflate stream of `plain` by zlib at level 6, as `gzip -6` and ZFS's `gzip-6` make it: for measuring.
    ///
    /// # Errors
    /// When the codec reports a failure of its own.
    pub fn gzip(&mut self, plain: &[u8]) -> Result<Vec<u8>, String> {
        let gzip = self.gzip.get_or_insert_with(|| flate2::Compress::new(flate2::Compression::new(6), false));
        gzip.reset();
        // The most that deflate adds to what does not shrink: 5 bytes for each 16 KiB.
        let mut stream = Vec::with_capacity(plain.len() + plain.len() / 1024 + 64);
        match gzip.compress_vec(plain, &mut stream, flate2::FlushCompress::Finish) {
            Ok(flate2::Status::StreamEnd) => Ok(stream),
            Ok(_) => Err("zlib did not finish".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn zstd(&mut self, how: ZstdChoice, plain: &[u8], room: &mut [u8]) -> Result<Option<(CodecId, usize)>, String> {
        if self.zstd.as_ref().is_none_or(|(known, _)| *known != how) {
            let mut context = zstd::bulk::Compressor::new(how.0).map_err(|e| e.to_string())?;
            if let Some(log) = how.1 {
                context.set_parameter(CParameter::SearchLog(log)).map_err(|e| e.to_string())?;
            }
            self.zstd = Some((how, context));
        }
        let context = &mut self.zstd.as_mut().expect("it was made above").1;
        // The only failure of a context that exists is that the output does not fit.
        Ok(context.compress_to_buffer(plain, room).ok().map(|length| (CodecId::Zstd, length)))
    }

    fn deflate(&mut self, level: i32) -> Result<&mut libdeflater::Compressor, String> {
        if self.deflate.as_ref().is_none_or(|(known, _)| *known != level) {
            let own = libdeflater::CompressionLvl::new(deflate_level(level)).map_err(|e| format!("{e:?}"))?;
            self.deflate = Some((level, libdeflater::Compressor::new(own)));
        }
        Ok(&mut self.deflate.as_mut().expect("it was made above").1)
    }
}

/// Levels 1..9 as people choose them, spread over the 1..12 that libdeflate and accelerators have.
#[must_use]
pub fn deflate_level(level: i32) -> i32 {
    (level * 11 - 3) / 8
}

/// The block, as [`Compressor::compress`] makes it, of `plain` and its raw deflate stream from elsewhere; `None` when that
/// is not worthwhile.
#[must_use]
pub fn deflated_block(plain: &[u8], stream: &[u8]) -> Option<Vec<u8>> {
    (stream.len() <= worthwhile(plain.len())).then(|| block(CodecId::Deflate, plain, stream))
}

/// Most bytes of a payload for so many plain ones; with more, the block is stored.
fn worthwhile(plain: usize) -> usize {
    plain - plain * 3 / 100
}

/// Prefix and payload in a buffer with just the room for the tag.
fn block(codec: CodecId, plain: &[u8], payload: &[u8]) -> Vec<u8> {
    let plain_len = u32::try_from(plain.len()).expect("a block is within its limit");
    let mut block = Vec::with_capacity(BLOCK_PREFIX_LEN + payload.len() + TAG_LEN);
    block.extend_from_slice(&block_prefix(codec, plain_len));
    block.extend_from_slice(payload);
    block
}
