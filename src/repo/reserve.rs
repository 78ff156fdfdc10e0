//! Space that is kept back, so that a prune can still write what it has to write when the disk is full
//! (`repo-format.md`, chapter 15).

use super::{RepoError, Repository, object};
use crate::storage::{Folder, ObjectMeta, ObjectName, PutMode, StorageFault};
use bytes::Bytes;

/// One object of the reserve has at most this many bytes.
const OBJECT_LEN: u64 = 16 << 20;
/// What there must be beyond the largest index object: leases, marks, censuses.
const BESIDES: u64 = 256 << 10;

impl RepoError {
    /// Whether the storage is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Storage(error) if error.fault == StorageFault::NoSpace)
    }
}

impl Repository {
    /// Gives the reserved space free; gives how many bytes that were.
    ///
    /// # Errors
    /// The storage.
    pub fn release_reserve(&self) -> Result<u64, RepoError> {
        let mut freed = 0;
        for meta in self.reserve()? {
            self.storage().delete(&meta.name)?;
            freed += meta.length;
        }
        Ok(freed)
    }

    /// Makes the reserve as large as it is to be: as the config says, and large enough to replace the largest index
    /// object; nothing where the config says 0.
    ///
    /// # Errors
    /// The storage, which may be full.
    pub fn renew_reserve(&self) -> Result<(), RepoError> {
        let configured = u64::from(self.config().reserve);
        if configured == 0 {
            return self.release_reserve().map(|_| ());
        }
        let index = object::list(&**self.storage(), Folder::Index)?;
        let largest = index.iter().map(|meta| meta.length).max().unwrap_or(0);
        let wanted = configured.max(largest + BESIDES);
        let mut there: u64 = self.reserve()?.iter().map(|meta| meta.length).sum();
        while there < wanted {
            let length = (wanted - there).min(OBJECT_LEN);
            // Random, so that no file system stores it in less.
            let seed: [u8; 32] = self.salts().random()?;
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
            blake3::Hasher::new().update(&seed).finalize_xof().fill(&mut bytes);
            let name = ObjectName::hashed(Folder::Reserve, blake3::hash(&bytes).as_bytes());
            self.storage().put(&name, &[Bytes::from(bytes)], PutMode::Keep)?;
            there += length;
        }
        Ok(())
    }

    fn reserve(&self) -> Result<Vec<ObjectMeta>, RepoError> {
        // Repositories of before have none.
        object::list_if_there(&**self.storage(), Folder::Reserve)
    }
}
