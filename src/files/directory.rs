//! Directories of the source, held by handle; handles are closed and opened again as needed, so that neither depth nor
//! the number of waiting entries decides how many are open.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, fstat, openat};
use rustix::io::Errno;

/// How many directory handles a walk keeps open (entries in use may hold a few more for a moment).
const MAX_HANDLES: usize = 256;

/// Opens without touching the access time where that is permitted.
pub(super) fn open_quietly(dir: impl AsFd, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    match openat(dir.as_fd(), name, flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => openat(dir.as_fd(), name, flags, Mode::empty()),
        result => result,
    }
}

/// The open handles of a walk, oldest first.
#[derive(Debug, Default)]
pub(super) struct Pool {
    open: AtomicUsize,
    queue: Mutex<VecDeque<Weak<Directory>>>,
    /// Devices whose file system knows no inode flags.
    without_flags: Mutex<Vec<u64>>,
}

impl Pool {
    fn admit(&self, directory: &Arc<Directory>) {
        self.open.fetch_add(1, Ordering::Relaxed);
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push_back(Arc::downgrade(directory));
        while self.open.load(Ordering::Relaxed) > MAX_HANDLES {
            let Some(oldest) = queue.pop_front() else { break };
            if let Some(oldest) = oldest.upgrade() {
                oldest.close();
            }
        }
        if queue.len() > 8 * MAX_HANDLES {
            queue.retain(|weak| weak.strong_count() > 0);
        }
    }

    pub(super) fn has_flags(&self, device: u64) -> bool {
        !self.without_flags.lock().unwrap_or_else(PoisonError::into_inner).contains(&device)
    }

    pub(super) fn remember_without_flags(&self, device: u64) {
        self.without_flags.lock().unwrap_or_else(PoisonError::into_inner).push(device);
    }
}

/// A directory met by a walk. Whoever holds one can open what stands in it, however the tree is moved meanwhile.
#[derive(Debug)]
pub struct Directory {
    parent: Option<Arc<Directory>>,
    name: Vec<u8>,
    flags: OFlags,
    device: u64,
    inode: u64,
    handle: Mutex<Option<Arc<OwnedFd>>>,
    pool: Arc<Pool>,
}

impl Directory {
    /// The directory `/`, to walk from.
    pub(super) fn top(pool: &Arc<Pool>) -> io::Result<Arc<Self>> {
        Self::adopt(None, b"/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Arc::clone(pool))
    }

    /// Opens the directory `name` in `parent`; `flags` say how (to list it, or as a mere path; following links or not).
    pub(super) fn open(parent: &Arc<Self>, name: &[u8], flags: OFlags) -> io::Result<Arc<Self>> {
        let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Self::adopt(Some(parent), name, flags, Arc::clone(&parent.pool))
    }

    fn adopt(parent: Option<&Arc<Self>>, name: &[u8], flags: OFlags, pool: Arc<Pool>) -> io::Result<Arc<Self>> {
        let handle = match parent {
            Some(parent) => open_quietly(&*parent.handle()?, name, flags)?,
            None => openat(CWD, name, flags, Mode::empty())?,
        };
        let stat = fstat(&handle)?;
        let directory = Arc::new(Self {
            parent: parent.map(Arc::clone),
            name: name.to_vec(),
            flags,
            device: stat.st_dev,
            inode: stat.st_ino,
            handle: Mutex::new(Some(Arc::new(handle))),
            pool,
        });
        directory.pool.admit(&directory);
        Ok(directory)
    }

    pub(super) fn is(&self, device: u64, inode: u64) -> bool {
        self.device == device && self.inode == inode
    }

    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Whether this handle can be listed and asked for attributes.
    pub(super) fn is_listable(&self) -> bool {
        !self.flags.contains(OFlags::PATH)
    }

    fn held(&self) -> Option<Arc<OwnedFd>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn close(&self) {
        if self.handle.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            self.pool.open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn verified(&self, handle: OwnedFd) -> io::Result<Arc<OwnedFd>> {
        let stat = fstat(&handle)?;
        if self.is(stat.st_dev, stat.st_ino) {
            return Ok(Arc::new(handle));
        }
        Err(io::Error::new(io::ErrorKind::NotFound, "the directory was replaced while it was read"))
    }

    /// The handle, opened again from the nearest open directory above when it was closed; every step must lead to the
    /// same directory as before.
    pub(super) fn handle(&self) -> io::Result<Arc<OwnedFd>> {
        if let Some(handle) = self.held() {
            return Ok(handle);
        }
        let mut chain = vec![self];
        let mut above = self.parent.as_deref();
        let mut handle = loop {
            let Some(directory) = above else { break None };
            match directory.held() {
                Some(handle) => break Some(handle),
                None => chain.push(directory),
            }
            above = directory.parent.as_deref();
        };
        for directory in chain.into_iter().rev() {
            let opened = match &handle {
                Some(handle) => open_quietly(handle, &directory.name, directory.flags)?,
                None => openat(CWD, &directory.name, directory.flags, Mode::empty())?,
            };
            handle = Some(directory.verified(opened)?);
        }
        handle.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// Comes back to this directory from a `child`: when its handle was closed meanwhile, it is opened by way of `..`,
    /// which costs one step however deep the tree. A failure is no loss: [`Self::handle`] goes the long way.
    pub(super) fn return_from(self: &Arc<Self>, child: &Self) {
        if self.held().is_none()
            && let Some(below) = child.held()
            && let Ok(opened) = open_quietly(&*below, b"..", self.flags)
            && let Ok(handle) = self.verified(opened)
        {
            self.hold(handle);
        }
    }

    /// Keeps the handle open until its turn to be closed comes again; for the directory being walked.
    pub(super) fn keep_open(self: &Arc<Self>) {
        if self.held().is_none()
            && let Ok(handle) = self.handle()
        {
            self.hold(handle);
        }
    }

    fn hold(self: &Arc<Self>, handle: Arc<OwnedFd>) {
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
        self.pool.admit(self);
    }
}

impl Drop for Directory {
    /// Lets go of the directories above one by one: they may be too many for recursion.
    fn drop(&mut self) {
        self.close();
        let mut above = self.parent.take();
        while let Some(mut directory) = above.and_then(Arc::into_inner) {
            above = directory.parent.take();
        }
    }
}

/// The names in a directory, sorted by their bytes.
#[derive(Debug, Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    entries: Vec<(usize, u16, FileType)>,
}

impl Names {
    /// Reads all names of `dir`; those read before an error are kept.
    pub(super) fn read(dir: impl AsFd, buffer: &mut Vec<u8>) -> (Self, io::Result<()>) {
        let mut names = Self::default();
        buffer.clear();
        let mut list = RawDir::new(dir.as_fd(), buffer.spare_capacity_mut());
        let mut result = Ok(());
        while let Some(entry) = list.next() {
            match entry {
                Ok(entry) => match entry.file_name().to_bytes() {
                    b"." | b".." => {}
                    name => names.push(name, entry.file_type()),
                },
                Err(error) => {
                    result = Err(error.into());
                    break;
                }
            }
        }
        names.sort();
        (names, result)
    }

    pub(super) fn push(&mut self, name: &[u8], kind: FileType) {
        if let Ok(length) = u16::try_from(name.len()) {
            self.entries.push((self.bytes.len(), length, kind));
            self.bytes.extend_from_slice(name);
        }
    }

    pub(super) fn sort(&mut self) {
        let bytes = &self.bytes;
        let name = |(at, length, _): &(usize, u16, FileType)| &bytes[*at..*at + usize::from(*length)];
        self.entries.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        // A name may be told twice while others are renamed over it; a tree that held it twice could not be read again.
        self.entries.dedup_by(|a, b| name(a) == name(b));
    }

    pub(super) fn get(&self, index: usize) -> Option<(&[u8], FileType)> {
        let (at, length, kind) = self.entries.get(index)?;
        Some((&self.bytes[*at..*at + usize::from(*length)], *kind))
    }

    pub(super) fn has(&self, name: &[u8]) -> bool {
        let bytes = &self.bytes;
        self.entries.binary_search_by_key(&name, |(at, length, _)| &bytes[*at..*at + usize::from(*length)]).is_ok()
    }
}

/// Whether `name` in `dir` begins with `header`; an empty header asks for nothing but presence.
pub(super) fn begins_with(dir: impl AsFd, name: &[u8], header: &[u8]) -> bool {
    if header.is_empty() {
        return true;
    }
    let is_file = rustix::fs::statat(dir.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if !is_file {
        return false;
    }
    let Ok(file) = open_quietly(dir, name, flags).map(std::fs::File::from) else {
        return false;
    };
    let mut found = Vec::with_capacity(header.len());
    let read = io::Read::read_to_end(&mut io::Read::take(file, header.len() as u64), &mut found);
    read.is_ok() && found == header
}

#[cfg(test)]
mod tests {
    use super::Names;
    use rustix::fs::FileType;

    #[test]
    fn a_name_that_is_told_twice_is_there_once() {
        let mut names = Names::default();
        for name in [&b"b"[..], b"a", b"b", b"a", b"c"] {
            names.push(name, FileType::RegularFile);
        }
        names.sort();
        let all: Vec<_> = (0..).map_while(|n| names.get(n).map(|(name, _)| name.to_vec())).collect();
        assert_eq!(all, [b"a", b"b", b"c"]);
    }
}
