//! When each object was last read and found whole: a file of this host, which may be lost at any time.

use crate::base::memo;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"NJVERIF1";
const RECORD: usize = 40;
/// A file of more bytes is not read: 3 million objects.
const LENGTH_MAX: u64 = 120 << 20;

/// When objects were last read, in seconds since 1970, by the name of the object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    times: HashMap<[u8; 32], i64>,
}

impl Verified {
    /// When an object was last found whole.
    #[must_use]
    pub fn when(&self, name: &[u8; 32]) -> Option<i64> {
        self.times.get(name).copied()
    }

    /// Notes that an object was found whole.
    pub fn note(&mut self, name: [u8; 32], time: i64) {
        self.times.insert(name, time);
    }

    /// Notes that an object was not found whole, so that it is read again the next time.
    pub fn forget(&mut self, name: &[u8; 32]) {
        self.times.remove(name);
    }

    /// Keeps only objects that are still there.
    pub fn retain(&mut self, is_there: impl Fn(&[u8; 32]) -> bool) {
        self.times.retain(|name, _| is_there(name));
    }

    /// The longest that any of these objects has not been read; `None` when one never was.
    #[must_use]
    pub fn oldest<'n>(&self, mut names: impl Iterator<Item = &'n [u8; 32]>) -> Option<i64> {
        names.try_fold(i64::MAX, |oldest, name| Some(oldest.min(self.when(name)?)))
    }

    /// The file of a repository in the state folder; `depth` tells what "read" means.
    #[must_use]
    pub fn file(state: &Path, repository: &[u8; 16], depth: &str) -> PathBuf {
        state.join("verified").join(format!("{}-{depth}", crate::base::hex::encode(repository)))
    }

    /// Reads the file; without one nothing was ever read.
    ///
    /// # Errors
    /// When it cannot be read or is damaged; then nothing is known, and everything is read again in time.
    pub fn load(file: &Path) -> io::Result<Self> {
        let Some(body) = memo::read(file, MAGIC, LENGTH_MAX)? else { return Ok(Self::default()) };
        Self::from_bytes(&body).ok_or_else(|| io::Error::other("it is damaged"))
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// As the file system says.
    pub fn store(&self, file: &Path) -> io::Result<()> {
        memo::write(file, MAGIC, &self.to_bytes())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let records = self.times.iter();
        records.flat_map(|(name, time)| name.iter().copied().chain(time.to_le_bytes())).collect()
    }

    /// The inverse; `None` for anything else.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (records, []) = bytes.as_chunks::<RECORD>() else { return None };
        let mut verified = Self::default();
        for record in records {
            let (name, time) = record.split_first_chunk::<32>()?;
            verified.note(*name, i64::from_le_bytes(*time.first_chunk()?));
        }
        Some(verified)
    }
}

#[cfg(test)]
mod tests {
    use super::Verified;
    use proptest::prelude::*;
    use std::fs;

    #[test]
    fn what_was_noted_is_known_again_and_a_damaged_file_knows_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = Verified::file(&folder.path().join("deep/down"), &[7; 16], "read");
        assert_eq!(Verified::load(&file).unwrap(), Verified::default());
        let mut verified = Verified::default();
        for n in 0..100 {
            verified.note([n; 32], i64::from(n) * 1_000);
        }
        verified.store(&file).unwrap();
        assert_eq!(Verified::load(&file).unwrap(), verified);
        assert_eq!(verified.oldest([[3; 32], [2; 32]].iter()), Some(2_000));
        assert_eq!(verified.oldest([[3; 32], [200; 32]].iter()), None);
        let mut bytes = fs::read(&file).unwrap();
        bytes[60] ^= 1;
        fs::write(&file, &bytes).unwrap();
        assert!(Verified::load(&file).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_times_or_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let read = Verified::from_bytes(&bytes);
            prop_assert_eq!(read.is_some(), bytes.len() % 40 == 0);
        }
    }
}
