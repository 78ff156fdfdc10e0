//! What a repository was set up with (`repo-format.md`, chapter 6).

use super::limits::BLOCK_PLAIN_MAX;
use super::record::{MapReader, MapWriter, missing, whole};
use super::{FormatError, Time};

const CONFIG: &str = "config";

/// Sizes between which chunks are cut, in bytes; each a power of two, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSizes {
    /// Smallest, 4 KiB to 1 MiB.
    pub min: u32,
    /// Average, 8 KiB to 2 MiB.
    pub avg: u32,
    /// Largest, 16 KiB to 4 MiB.
    pub max: u32,
}

impl Default for ChunkSizes {
    fn default() -> Self {
        Self { min: 32 << 10, avg: 128 << 10, max: 256 << 10 }
    }
}

impl ChunkSizes {
    /// Checks the limits of chapter 6.
    ///
    /// # Errors
    /// When a size is not a power of two, outside its limits or not larger than the one before.
    pub fn check(&self) -> Result<(), FormatError> {
        let fits = |size: u32, least: u32| size.is_power_of_two() && (least..=least << 8).contains(&size);
        let sizes = fits(self.min, 4 << 10) && fits(self.avg, 8 << 10) && fits(self.max, 16 << 10);
        if !sizes || self.min >= self.avg || self.avg >= self.max {
            return Err(FormatError::Invalid { what: "chunk sizes" });
        }
        Ok(())
    }
}

/// The record of a config object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The config with the highest generation is in force.
    pub generation: u64,
    /// The repository.
    pub repository: [u8; 16],
    /// How content is cut.
    pub chunks: ChunkSizes,
    /// Most plain bytes that a writer lays into a block; 64 KiB to 4 MiB, at least the largest chunk.
    pub block: u32,
    /// Bytes at which a writer ends a data pack; 1 to 128 MiB.
    pub data_pack: u32,
    /// Bytes at which a writer ends a tree pack; 1 to 128 MiB.
    pub tree_pack: u32,
    /// Compression for writers, as on the command line.
    pub compression: String,
    /// When the repository was made.
    pub created: Time,
    /// Bytes that are kept back for prunes on a full disk, at most 1 GiB; 0 for none.
    pub reserve: u32,
}

impl Config {
    /// The record's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut map = MapWriter::new();
        map.u64(0, self.generation);
        map.bytes(1, &self.repository);
        let sizes = [self.chunks.min, self.chunks.avg, self.chunks.max, self.block, self.data_pack, self.tree_pack];
        for (key, size) in (2..).zip(sizes) {
            map.u64(key, u64::from(size));
        }
        map.text(8, &self.compression);
        map.time(9, self.created);
        map.u64_unless(10, u64::from(self.reserve), 0);
        map.finish()
    }

    /// Reads an opened config.
    ///
    /// # Errors
    /// When the record, a field or a limit is broken.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        whole(bytes, CONFIG, |decoder| {
            let mut map = MapReader::new(decoder, CONFIG)?;
            let (mut sizes, mut seen) = ([0; 6], 0_u32);
            let mut config = Self {
                generation: 0,
                repository: [0; 16],
                chunks: ChunkSizes::default(),
                block: 0,
                data_pack: 0,
                tree_pack: 0,
                compression: String::new(),
                created: Time { seconds: 0, nanos: 0 },
                reserve: 0,
            };
            while let Some(key) = map.next_key()? {
                if key < 10 {
                    seen |= 1 << key;
                }
                match key {
                    0 => config.generation = map.u64()?,
                    1 => config.repository = map.fixed()?,
                    2..=7 => sizes[usize::try_from(key - 2).expect("below 6")] = map.u32()?,
                    8 => config.compression = map.text(64)?,
                    9 => config.created = map.time()?,
                    10 => config.reserve = map.u32()?,
                    _ => map.skip()?,
                }
            }
            if seen != 0b11_1111_1111 {
                return Err(missing(CONFIG, "a field"));
            }
            config.chunks = ChunkSizes { min: sizes[0], avg: sizes[1], max: sizes[2] };
            (config.block, config.data_pack, config.tree_pack) = (sizes[3], sizes[4], sizes[5]);
            config.check()?;
            Ok(config)
        })
    }

    /// Checks the limits of chapter 6.
    ///
    /// # Errors
    /// Names the first size outside its limits.
    pub fn check(&self) -> Result<(), FormatError> {
        self.chunks.check()?;
        if !(64 << 10..=BLOCK_PLAIN_MAX).contains(&self.block) || self.block < self.chunks.max {
            return Err(FormatError::Invalid { what: "block size" });
        }
        if ![self.data_pack, self.tree_pack].iter().all(|size| (1 << 20..=128 << 20).contains(size)) {
            return Err(FormatError::Invalid { what: "pack size" });
        }
        if self.reserve > 1 << 30 {
            return Err(FormatError::Invalid { what: "reserve" });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{ChunkSizes, Config};
    use crate::format::Time;
    use proptest::prelude::*;

    fn config() -> Config {
        Config {
            generation: 3,
            repository: [7; 16],
            chunks: ChunkSizes::default(),
            block: 1 << 20,
            data_pack: 32 << 20,
            tree_pack: 8 << 20,
            compression: "zstd:3".into(),
            created: Time { seconds: 1, nanos: 2 },
            reserve: 5 << 20,
        }
    }

    #[test]
    fn a_config_survives_its_bytes() {
        assert_eq!(Config::from_bytes(&config().to_bytes()), Ok(config()));
    }

    #[test]
    fn sizes_outside_their_limits_are_refused() {
        let sizes = |min, avg, max| ChunkSizes { min, avg, max }.check().is_ok();
        assert!(sizes(4096, 8192, 16384) && sizes(1 << 20, 2 << 20, 4 << 20));
        assert!(!sizes(4096, 8192, 16385) && !sizes(2048, 8192, 16384) && !sizes(8192, 8192, 16384));
        assert!(!sizes(4096, 16384, 16384) && !sizes(1 << 20, 2 << 20, 8 << 20) && !sizes(0, 0, 0));
        for broken in [
            Config { block: 8 << 20, ..config() },
            Config { block: 128 << 10, ..config() },
            Config { data_pack: 1, ..config() },
            Config { tree_pack: 256 << 20, ..config() },
        ] {
            assert!(Config::from_bytes(&broken.to_bytes()).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_config_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Config::from_bytes(&bytes);
        }
    }
}
