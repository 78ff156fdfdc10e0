//! The directories of a target by number, opened one component at a time and never through a link.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2};
use rustix::io::Errno;

use super::error::{TargetError, check_name};

/// How many directories are kept open.
const MAX_HANDLES: usize = 128;

/// A directory of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirId(usize);

impl DirId {
    /// The target directory itself.
    pub const TOP: Self = Self(0);
}

#[derive(Debug)]
struct Row {
    parent: DirId,
    name: Vec<u8>,
    /// Device and inode, so that no other directory is taken for it later.
    identity: (u64, u64),
}

#[derive(Debug)]
pub(super) struct Table {
    location: Vec<u8>,
    top: Arc<OwnedFd>,
    rows: Vec<Row>,
    ids: HashMap<(DirId, Vec<u8>), DirId>,
    /// Open handles and when they were used last.
    open: HashMap<DirId, (Arc<OwnedFd>, u64)>,
    clock: u64,
    without_openat2: bool,
}

impl Table {
    pub(super) fn create(dir: &Path) -> Result<Self, TargetError> {
        let location = dir.as_os_str().as_bytes().to_vec();
        let fail = |action, source| TargetError { path: location.clone(), action, source };
        std::fs::create_dir_all(dir).map_err(|source| fail("create the directory", source))?;
        let top = File::open(dir).map_err(|source| fail("open the directory", source))?;
        let identity = identity(&top).map_err(|source| fail("open the directory", source))?;
        Ok(Self {
            top: Arc::new(top.into()),
            rows: vec![Row { parent: DirId::TOP, name: Vec::new(), identity }],
            ids: HashMap::new(),
            open: HashMap::new(),
            clock: 0,
            without_openat2: false,
            location,
        })
    }

    pub(super) fn path(&self, dir: DirId, name: &[u8]) -> Vec<u8> {
        let mut names = vec![name];
        let mut at = dir;
        while let Some(row) = self.rows.get(at.0).filter(|_| at != DirId::TOP) {
            names.push(&row.name);
            at = row.parent;
        }
        names.push(&self.location);
        names.reverse();
        names.retain(|name| !name.is_empty());
        names.join(&b'/')
    }

    pub(super) fn add(&mut self, parent: DirId, name: &[u8]) -> Result<DirId, TargetError> {
        if let Some(id) = self.ids.get(&(parent, name.to_vec())) {
            return Ok(*id);
        }
        let above = self.handle(parent)?;
        let made = check_name(name).and_then(|()| match mkdirat(&*above, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => self.open_below(&above, name),
            Err(error) => Err(error.into()),
        });
        let made = made.and_then(|handle| Ok((identity(&handle)?, handle)));
        let (identity, handle) =
            made.map_err(|source| TargetError { path: self.path(parent, name), action: "make the directory", source })?;
        let id = DirId(self.rows.len());
        self.rows.push(Row { parent, name: name.to_vec(), identity });
        self.ids.insert((parent, name.to_vec()), id);
        self.keep(id, Arc::new(handle));
        Ok(id)
    }

    /// The handle of a directory; opened anew, step by step from the nearest open one, when it was closed meanwhile.
    pub(super) fn handle(&mut self, dir: DirId) -> Result<Arc<OwnedFd>, TargetError> {
        let mut chain = Vec::new();
        let mut at = dir;
        let mut handle = loop {
            if at == DirId::TOP {
                break Arc::clone(&self.top);
            }
            self.clock += 1;
            if let Some((handle, used)) = self.open.get_mut(&at) {
                *used = self.clock;
                break Arc::clone(handle);
            }
            chain.push(at);
            at = self.rows[at.0].parent;
        };
        for id in chain.into_iter().rev() {
            let Row { name, identity: expected, .. } = &self.rows[id.0];
            let (name, expected) = (name.clone(), *expected);
            let opened = self.open_below(&handle, &name).and_then(|opened| {
                if identity(&opened)? == expected {
                    return Ok(Arc::new(opened));
                }
                Err(io::Error::other("another directory stands there now"))
            });
            handle = opened.map_err(|source| TargetError {
                path: self.path(id, b""),
                action: "come back to the directory",
                source,
            })?;
            self.keep(id, Arc::clone(&handle));
        }
        Ok(handle)
    }

    fn keep(&mut self, id: DirId, handle: Arc<OwnedFd>) {
        self.clock += 1;
        self.open.insert(id, (handle, self.clock));
        if self.open.len() > MAX_HANDLES {
            let oldest = self.open.iter().min_by_key(|(_, (_, used))| *used).map(|(id, _)| *id);
            oldest.and_then(|id| self.open.remove(&id));
        }
    }

    fn open_below(&mut self, above: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if !self.without_openat2 {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match openat2(above, name, flags, Mode::empty(), resolve) {
                // Old kernels and sandboxes; one component without links is as safe by openat.
                Err(Errno::NOSYS | Errno::PERM) => self.without_openat2 = true,
                result => return result.map_err(not_a_directory),
            }
        }
        openat(above, name, flags, Mode::empty()).map_err(not_a_directory)
    }
}

fn not_a_directory(error: Errno) -> io::Error {
    match error {
        Errno::LOOP | Errno::NOTDIR => {
            io::Error::new(io::ErrorKind::NotADirectory, "a link or another kind of entry stands there")
        }
        error => error.into(),
    }
}

/// Device and inode of an open file.
pub(super) fn identity(handle: impl AsFd) -> io::Result<(u64, u64)> {
    let stat = fstat(handle)?;
    Ok((stat.st_dev, stat.st_ino))
}

#[cfg(test)]
mod tests {
    use super::{DirId, Table};

    #[test]
    fn links_are_refused_on_kernels_without_openat2_too() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("outside")).unwrap();
        std::fs::create_dir(dir.path().join("to")).unwrap();
        std::os::unix::fs::symlink("../outside", dir.path().join("to/link")).unwrap();
        for without_openat2 in [false, true] {
            let mut table = Table::create(&dir.path().join("to")).unwrap();
            table.without_openat2 = without_openat2;
            assert!(table.add(DirId::TOP, b"link").is_err());
            let below = table.add(DirId::TOP, b"real").unwrap();
            assert_eq!(table.add(DirId::TOP, b"real").unwrap(), below);
            table.add(below, b"more").unwrap();
        }
        assert_eq!(std::fs::read_dir(dir.path().join("outside")).unwrap().count(), 0);
    }

    #[test]
    fn a_file_in_the_way_of_a_directory_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        let mut table = Table::create(dir.path()).unwrap();
        let error = table.add(DirId::TOP, b"file").unwrap_err();
        assert!(error.path.ends_with(b"/file") && error.action == "make the directory");
    }
}
