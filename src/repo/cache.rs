//! Objects of a repository that is far away, kept on this host: sealed as they are there, so that every use verifies them.
//!
//! Index objects and snapshots are kept whole, and verified by the hash that is their name; blocks of tree packs one by one,
//! and verified by being opened. Everything may vanish or be damaged at any time, also while it is used. What exists is
//! always asked of the storage, so that nothing comes back from here that was removed there. Several processes share a
//! cache: files appear under their names whole, and one that has gone is a miss.

use crate::base::clock::Clock;
use bytes::Bytes;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// A use is noted in the file's time when that is older than this.
const TOUCH: Duration = Duration::from_hours(1);
/// Files that a process was writing when it was killed are removed after this.
const ABANDONED: Duration = Duration::from_hours(24);
/// A larger file is none of ours.
const FILE_MAX: u64 = 300 << 20;
/// So much of the file system stays free at least: the smaller of the two.
const FREE_BYTES: u64 = 1 << 30;
const FREE_SHARE: u64 = 20;
/// What marks a folder as one that need not be backed up (<https://bford.info/cachedir/>).
const TAG: &str =
    "Signature: 8a477f597d28d172789f06886806bc55\n# This is the cache of nightjar; it may be deleted at any time.\n";

/// Where a cache is, and how large it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachePlace {
    /// The folder for caches of all repositories.
    pub folder: PathBuf,
    /// Most bytes of the cache of one repository.
    pub limit: u64,
}

/// What became of the uses of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// Found and whole.
    pub hits: u64,
    /// Not there.
    pub misses: u64,
    /// There and damaged.
    pub damaged: u64,
}

/// The cache of one repository.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
    clock: Arc<dyn Clock>,
    hits: AtomicU64,
    misses: AtomicU64,
    damaged: AtomicU64,
    serial: AtomicU64,
    /// Bytes in it, once they were counted.
    size: Mutex<Option<u64>>,
}

impl Cache {
    /// The cache of the repository `id`.
    ///
    /// # Errors
    /// When the folder cannot be made, or belongs to others or can be written to by others.
    pub fn open(place: &CachePlace, id: &[u8; 16], clock: Arc<dyn Clock>) -> io::Result<Self> {
        let folder = place.folder.join(crate::base::hex::encode(id));
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        for folder in [&place.folder, &folder] {
            let metadata = fs::metadata(folder)?;
            if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.permissions().mode() & 0o022 != 0 {
                return Err(io::Error::other(format!("others can write to `{}`", folder.display())));
            }
        }
        let tag = place.folder.join("CACHEDIR.TAG");
        if !tag.exists() {
            let _ = fs::write(tag, TAG);
        }
        Ok(Self {
            folder,
            limit: place.limit,
            clock,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            damaged: AtomicU64::new(0),
            serial: AtomicU64::new(0),
            size: Mutex::new(None),
        })
    }

    /// The folder it is in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How it was used so far.
    #[must_use]
    pub fn usage(&self) -> CacheUse {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheUse { hits: read(&self.hits), misses: read(&self.misses), damaged: read(&self.damaged) }
    }

    /// What was kept under `key`, if `verify` makes something of it; else what `fetch` gives and `verify` takes, which is kept.
    pub(super) fn through<T, E>(
        &self,
        key: &str,
        fetch: impl FnOnce() -> Result<Bytes, E>,
        verify: impl Fn(&Bytes) -> Result<T, E>,
    ) -> Result<T, E> {
        match self.get(key).map(|bytes| verify(&bytes)) {
            Some(Ok(found)) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                return Ok(found);
            }
            Some(Err(_)) => {
                self.damaged.fetch_add(1, Ordering::Relaxed);
                let _ = fs::remove_file(self.folder.join(key));
            }
            None => _ = self.misses.fetch_add(1, Ordering::Relaxed),
        }
        let bytes = fetch()?;
        let made = verify(&bytes)?;
        // A cache that is full or gone is no reason to fail.
        let _ = self.put(key, &bytes);
        Ok(made)
    }

    fn get(&self, key: &str) -> Option<Bytes> {
        let path = self.folder.join(key);
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() <= FILE_MAX)?;
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).ok()?);
        (&file).take(FILE_MAX).read_to_end(&mut bytes).ok()?;
        // So that what is used stays, and what is not goes first.
        let now = self.now();
        if metadata.modified().is_ok_and(|then| now.duration_since(then).is_ok_and(|age| age > TOUCH)) {
            let _ = file.set_modified(now);
        }
        Some(bytes.into())
    }

    fn put(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len() as u64;
        let mut size = self.size.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match *size {
            Some(size) => size,
            None => self.files()?.iter().map(|(_, _, length)| length).sum(),
        };
        if length > self.limit || !self.has_room(length)? {
            return Ok(());
        }
        let before =
            if before + length > self.limit { self.evict(self.limit - self.limit / 10 - length)? } else { before };
        *size = Some(before + length);
        drop(size);
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let temporary = self.folder.join(format!("{}-{serial}.tmp", std::process::id()));
        let written = (|| {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
            file.write_all(bytes)?;
            fs::rename(&temporary, self.folder.join(key))
        })();
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    fn now(&self) -> SystemTime {
        let nanos = u64::try_from(self.clock.unix_nanos()).unwrap_or(0);
        SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos)
    }

    /// Whether the file system keeps enough free.
    fn has_room(&self, length: u64) -> io::Result<bool> {
        let system = rustix::fs::statvfs(&self.folder)?;
        let (all, free) = (system.f_blocks * system.f_frsize, system.f_bavail * system.f_frsize);
        Ok(free >= length + FREE_BYTES.min(all / FREE_SHARE))
    }

    /// All files: path, time of the last use, length.
    fn files(&self) -> io::Result<Vec<(PathBuf, SystemTime, u64)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            // One that has gone meanwhile counts for nothing.
            let Ok(metadata) = entry.metadata() else { continue };
            found.push((entry.path(), metadata.modified()?, metadata.len()));
        }
        Ok(found)
    }

    /// Removes what was not used for longest until at most `goal` bytes are left; gives how many are.
    fn evict(&self, goal: u64) -> io::Result<u64> {
        let mut files = self.files()?;
        files.sort_by_key(|(_, used, _)| *used);
        let now = self.now();
        let mut left: u64 = files.iter().map(|(_, _, length)| length).sum();
        for (path, used, length) in files {
            let is_temporary = path.extension().is_some_and(|extension| extension == "tmp");
            let is_old = now.duration_since(used).is_ok_and(|age| age > ABANDONED);
            if if is_temporary { is_old } else { left > goal } {
                let _ = fs::remove_file(path);
                left = left.saturating_sub(length);
            }
        }
        Ok(left)
    }
}

/// Number and bytes of the files in the folder of a cache.
///
/// # Errors
/// As the file system says.
pub fn cache_size(folder: &Path) -> io::Result<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder)? {
        let metadata = entry?.metadata()?;
        if metadata.is_file() {
            files += 1;
            bytes += metadata.len();
        }
    }
    Ok((files, bytes))
}

#[cfg(test)]
mod tests {
    use super::{Cache, CachePlace};
    use crate::base::clock::{Clock, SystemClock};
    use bytes::Bytes;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(SystemClock::default())
    }

    fn cache(folder: &std::path::Path, limit: u64) -> Cache {
        Cache::open(&CachePlace { folder: folder.join("cache"), limit }, &[7; 16], clock()).unwrap()
    }

    fn through(cache: &Cache, key: &str, there: Option<&str>) -> Result<String, String> {
        let good = |bytes: &Bytes| {
            let text = String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string())?;
            if text.starts_with("good") { Ok(text) } else { Err("bad".to_owned()) }
        };
        let fetch = || there.map(|text| Bytes::from(text.to_owned())).ok_or("not there".to_owned());
        cache.through(key, fetch, good)
    }

    #[test]
    fn what_was_fetched_is_kept_and_what_is_damaged_is_fetched_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), 1 << 20);
        assert_eq!(through(&cache, "a", None), Err("not there".into()));
        assert_eq!(through(&cache, "a", Some("bad")), Err("bad".into()));
        assert_eq!(through(&cache, "a", None), Err("not there".into()), "what does not verify is not kept");
        assert_eq!(through(&cache, "a", Some("good 1")), Ok("good 1".into()));
        assert_eq!(through(&cache, "a", None), Ok("good 1".into()));
        for damage in ["", "bad", "\u{fffd}"] {
            fs::write(cache.folder().join("a"), damage).unwrap();
            assert_eq!(through(&cache, "a", Some("good 2")), Ok("good 2".into()));
            assert_eq!(through(&cache, "a", None), Ok("good 2".into()));
        }
        let usage = cache.usage();
        assert_eq!((usage.hits, usage.damaged), (4, 3));
        // Deleted under our feet.
        fs::remove_dir_all(cache.folder()).unwrap();
        assert_eq!(through(&cache, "a", Some("good 3")), Ok("good 3".into()));
        assert_eq!(through(&cache, "a", None), Err("not there".into()));
    }

    #[test]
    fn it_stays_within_its_limit_and_keeps_what_was_used_last() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), 10_000);
        let text = format!("good {}", "x".repeat(995));
        for n in 0..50_u64 {
            through(&cache, &format!("k{n:02}"), Some(&text)).unwrap();
            let (files, bytes) = super::cache_size(cache.folder()).unwrap();
            assert!(bytes <= 10_000 && files <= 10, "{n}: {files} files, {bytes} bytes");
            let file = fs::File::options().write(true).open(cache.folder().join(format!("k{n:02}"))).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(n)).unwrap();
        }
        assert!(through(&cache, "k49", None).is_ok() && through(&cache, "k00", None).is_err());
        let large = format!("good {}", "x".repeat(20_000));
        assert!(through(&cache, "large", Some(&large)).is_ok() && through(&cache, "large", None).is_err());
        // Another process finds what is there, and counts it.
        let other =
            super::Cache::open(&CachePlace { folder: folder.path().join("cache"), limit: 10_000 }, &[7; 16], clock())
                .unwrap();
        for n in 50..70 {
            through(&other, &format!("k{n}"), Some(&text)).unwrap();
        }
        assert!(super::cache_size(cache.folder()).unwrap().1 <= 10_000);
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let place = CachePlace { folder: folder.path().join("cache"), limit: 1_000 };
        Cache::open(&place, &[1; 16], clock()).unwrap();
        assert!(place.folder.join("CACHEDIR.TAG").exists());
        fs::set_permissions(&place.folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Cache::open(&place, &[1; 16], clock()).is_err());
    }
}
