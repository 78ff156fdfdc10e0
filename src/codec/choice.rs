//! How people choose a compression.

use crate::format::limits::BLOCK_PLAIN_MAX;
use std::fmt;
use std::str::FromStr;

/// Codec and level for new blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Nothing is compressed.
    Off,
    /// zstd, level 1 to 19.
    Zstd(i32),
    /// Raw deflate, level 1 to 9.
    Deflate(i32),
    /// LZ4.
    Lz4,
    /// zstd, level 6 with half the search, in larger blocks.
    Better,
    /// zstd, level 19, in larger blocks.
    Max,
}

impl Compression {
    /// What `auto` stands for.
    pub const AUTO: Self = Self::Zstd(3);

    /// Most plain bytes of a block where `configured` is what the repository is set up with.
    ///
    /// 512 KiB for deflate, so that a block is one request to an accelerator. `better` and `max` look for repetitions over
    /// twice as much: level 6 with half the search over 4 MiB packs tighter than level 7 over 1 MiB, in two thirds of its time.
    #[must_use]
    pub fn block_size(self, configured: u32) -> u32 {
        match self {
            Self::Deflate(_) => configured.min(512 << 10),
            Self::Better | Self::Max => configured.saturating_mul(2).min(BLOCK_PLAIN_MAX),
            Self::Off | Self::Zstd(_) | Self::Lz4 => configured,
        }
    }
}

/// A compression that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no compression; possible are off, fast, auto, better, max, lz4, zstd:1..19 and deflate:1..9")]
pub struct CompressionError(String);

impl FromStr for Compression {
    type Err = CompressionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let level = |digits: &str, most: i32| {
            let plain = digits.bytes().all(|b| b.is_ascii_digit());
            digits.parse().ok().filter(|level| plain && (1..=most).contains(level))
        };
        let found = match text {
            "off" => Some(Self::Off),
            "fast" => Some(Self::Zstd(1)),
            "auto" => Some(Self::AUTO),
            "better" => Some(Self::Better),
            "max" => Some(Self::Max),
            "lz4" => Some(Self::Lz4),
            _ => match text.split_once(':') {
                Some(("zstd", digits)) => level(digits, 19).map(Self::Zstd),
                Some(("deflate", digits)) => level(digits, 9).map(Self::Deflate),
                _ => None,
            },
        };
        found.ok_or_else(|| CompressionError(text.to_owned()))
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Zstd(level) => write!(f, "zstd:{level}"),
            Self::Deflate(level) => write!(f, "deflate:{level}"),
            Self::Lz4 => f.write_str("lz4"),
            Self::Better => f.write_str("better"),
            Self::Max => f.write_str("max"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Compression;

    #[test]
    fn every_name_parses_and_what_is_shown_parses_again() {
        for text in ["off", "fast", "auto", "better", "max", "lz4", "zstd:1", "zstd:19", "deflate:9"] {
            let compression: Compression = text.parse().unwrap();
            assert_eq!(compression.to_string().parse(), Ok(compression));
        }
        for text in
            ["", "zstd", "zstd:0", "zstd:20", "deflate:10", "deflate:-1", "deflate:+1", "gzip", "zstd:3 ", "AUTO"]
        {
            assert!(text.parse::<Compression>().is_err(), "{text}");
        }
    }
}
