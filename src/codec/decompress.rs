//! Decompressing a block; its payload is hostile until it gave exactly the length it promised.

use crate::format::{CodecId, FormatError, split_block};

/// A payload that is not what its prefix says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The prefix breaks the format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The plain length in the prefix is not the one in the footer or index.
    #[error("block says it has {found} plain bytes, the index says {expected}")]
    Length {
        /// As in the prefix.
        found: u32,
        /// As in footer or index.
        expected: u32,
    },
    /// The payload is damaged, or longer or shorter than promised.
    #[error("payload does not decompress: {0}")]
    Payload(String),
}

/// The contexts of all codecs, kept from block to block; one thread's own.
#[derive(Default)]
pub struct Decompressor {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    deflate: Option<libdeflater::Decompressor>,
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decompressor(..)")
    }
}

impl Decompressor {
    /// No contexts yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The plain bytes of a raw deflate stream, exactly `expected` of them.
    ///
    /// # Errors
    /// When the stream is damaged or its length another.
    pub fn inflate(&mut self, stream: &[u8], expected: usize) -> Result<Vec<u8>, CodecError> {
        let mut plain = vec![0; expected];
        let inflater = self.deflate.get_or_insert_with(libdeflater::Decompressor::new);
        let written = inflater.deflate_decompress(stream, &mut plain);
        let written = written.map_err(|error| CodecError::Payload(error.to_string()))?;
        if written == expected { Ok(plain) } else { Err(CodecError::Payload("it is too short".to_owned())) }
    }

    /// The plain bytes of an opened block, exactly `expected` of them.
    ///
    /// # Errors
    /// When prefix or payload are not what they must be; never more than `expected` bytes are written.
    pub fn decompress(&mut self, mut opened: Vec<u8>, expected: u32) -> Result<Vec<u8>, CodecError> {
        let (codec, found, payload) = split_block(&opened)?;
        if found != expected {
            return Err(CodecError::Length { found, expected });
        }
        let length = expected as usize;
        let plain = match codec {
            CodecId::Stored => {
                if payload.len() != length {
                    return Err(CodecError::Payload("the length is another".to_owned()));
                }
                opened.drain(..opened.len() - length);
                return Ok(opened);
            }
            CodecId::Zstd => self.zstd(payload, length)?,
            CodecId::Deflate => self.deflate(payload, length)?,
            CodecId::Lz4 => {
                let mut plain = vec![0; length];
                let written = lz4_flex::block::decompress_into(payload, &mut plain).map_err(payload_error)?;
                plain.truncate(written);
                plain
            }
        };
        if plain.len() == length { Ok(plain) } else { Err(CodecError::Payload("it ends too early".to_owned())) }
    }

    fn zstd(&mut self, payload: &[u8], length: usize) -> Result<Vec<u8>, CodecError> {
        if self.zstd.is_none() {
            self.zstd = Some(zstd::bulk::Decompressor::new().map_err(payload_error)?);
        }
        let context = self.zstd.as_mut().expect("it was made above");
        let mut plain = Vec::with_capacity(length);
        context.decompress_to_buffer(payload, &mut plain).map_err(payload_error)?;
        Ok(plain)
    }

    fn deflate(&mut self, payload: &[u8], length: usize) -> Result<Vec<u8>, CodecError> {
        let context = self.deflate.get_or_insert_with(libdeflater::Decompressor::new);
        let mut plain = vec![0; length];
        let written = context.deflate_decompress(payload, &mut plain).map_err(payload_error)?;
        plain.truncate(written);
        Ok(plain)
    }
}

fn payload_error(error: impl std::fmt::Display) -> CodecError {
    CodecError::Payload(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{CodecError, Decompressor};
    use crate::codec::{Compression, Compressor};
    use crate::format::{CodecId, block_prefix, split_block};
    use proptest::prelude::*;

    const ALL: [Compression; 5] =
        [Compression::Off, Compression::Zstd(3), Compression::Zstd(19), Compression::Deflate(6), Compression::Lz4];

    fn codec_of(block: &[u8]) -> CodecId {
        split_block(block).unwrap().0
    }

    proptest! {
        #[test]
        fn every_codec_gives_back_what_it_was_given(word in proptest::collection::vec(any::<u8>(), 1..200), times in 1_usize..500) {
            let plain = word.repeat(times);
            let length = u32::try_from(plain.len()).unwrap();
            let (mut compressor, mut decompressor) = (Compressor::new(), Decompressor::new());
            for compression in ALL {
                let block = compressor.compress(compression, &plain).unwrap();
                prop_assert!(block.len() <= plain.len() + 4);
                prop_assert_eq!(&decompressor.decompress(block.clone(), length).unwrap(), &plain);
                prop_assert!(decompressor.decompress(block, length + 1).is_err());
            }
        }

        #[test]
        fn any_payload_ends_in_the_promised_length_or_an_error(
            codec in 0_u8..5, length in 1_u32..5000, payload in proptest::collection::vec(any::<u8>(), 0..300)
        ) {
            let mut block = block_prefix(CodecId::Stored, length).to_vec();
            block[0] = codec;
            block.extend_from_slice(&payload);
            if let Ok(plain) = Decompressor::new().decompress(block, length) {
                prop_assert_eq!(plain.len(), length as usize);
            }
        }
    }

    #[test]
    fn text_shrinks_with_every_codec_and_noise_is_stored() {
        let text = b"the quick brown fox jumps over the lazy dog, said the backup. ".repeat(300);
        let mut noise = vec![0; 20_000];
        blake3::Hasher::new().finalize_xof().fill(&mut noise);
        let mut compressor = Compressor::new();
        let codecs = [CodecId::Stored, CodecId::Zstd, CodecId::Zstd, CodecId::Deflate, CodecId::Lz4];
        for (compression, codec) in ALL.into_iter().zip(codecs) {
            assert_eq!(codec_of(&compressor.compress(compression, &text).unwrap()), codec);
            assert_eq!(codec_of(&compressor.compress(compression, &noise).unwrap()), CodecId::Stored);
        }
    }

    #[test]
    fn a_bomb_stops_at_the_promised_length() {
        let bomb = vec![0; 4 << 20];
        for compression in &ALL[1..] {
            let mut block = Compressor::new().compress(*compression, &bomb).unwrap();
            block[1..4].copy_from_slice(&[100, 0, 0]);
            let error = Decompressor::new().decompress(block, 100).unwrap_err();
            assert!(matches!(error, CodecError::Payload(_)), "{compression}: {error}");
        }
    }
}
