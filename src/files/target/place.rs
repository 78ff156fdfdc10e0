//! Regular files: written under a temporary name, then put in their place, set aside, or discarded.

use std::fs::File;
use std::io;

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fstat, ftruncate, linkat, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

use super::error::{At as _, TargetError, check_name};
use super::table::identity;
use super::{DirId, Target, locked};
use crate::files::attributes::write_flags;
use crate::format::Node;

/// Longest name of an entry, in bytes.
const MAX_NAME: usize = 255;

/// A file being restored that is not open; [`Target::resume`] opens it again.
#[derive(Debug)]
pub struct Part {
    /// The directory it stands in.
    pub dir: DirId,
    /// Its final name.
    pub name: Vec<u8>,
    /// Its name until it is finished.
    pub temporary: Vec<u8>,
    /// Device and inode, so that no other file is taken for it later.
    identity: (u64, u64),
}

/// A file being restored. When dropped unfinished, it is removed together with the [`Target`].
#[derive(Debug)]
pub struct FileHandle {
    /// The open file, to be written with [`super::write_sparse_at`].
    pub file: File,
    part: Part,
}

impl FileHandle {
    /// Closes the file for now.
    #[must_use]
    pub fn park(self) -> Part {
        self.part
    }
}

impl Target {
    /// Makes a new file (mode 0600) under a temporary name, `size` bytes long and all hole.
    ///
    /// # Errors
    /// When the name is not valid or the file cannot be made.
    pub fn create_file(&self, dir: DirId, name: &[u8], size: u64) -> Result<FileHandle, TargetError> {
        const ACTION: &str = "create the file";
        check_name(name).at(self, dir, name, ACTION)?;
        let handle = self.handle(dir)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let temporary = self.temporary_name();
            match openat(&*handle, &temporary, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    locked(&self.unfinished).insert(temporary.clone(), dir);
                    ftruncate(&file, size).map_err(io::Error::from).at(self, dir, name, ACTION)?;
                    let identity = identity(&file).at(self, dir, name, ACTION)?;
                    let part = Part { dir, name: name.to_vec(), temporary, identity };
                    return Ok(FileHandle { file: file.into(), part });
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(io::Error::from(error)).at(self, dir, name, ACTION),
            }
        }
    }

    /// Opens a parked file again.
    ///
    /// # Errors
    /// When it is gone or cannot be opened.
    pub fn resume(&self, part: Part) -> Result<FileHandle, TargetError> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = openat(&*self.handle(part.dir)?, &part.temporary, flags, Mode::empty());
        let verified = opened.map_err(io::Error::from).and_then(|file| {
            if identity(&file)? == part.identity {
                return Ok(File::from(file));
            }
            Err(io::Error::other("another file stands there now"))
        });
        let file = verified.at(self, part.dir, &part.name, "open the unfinished file")?;
        Ok(FileHandle { file, part })
    }

    /// Gives the file the length and metadata of `node` and its final name, replacing what stands there. The list tells
    /// what of the metadata could not be set.
    ///
    /// # Errors
    /// When it could not be put in its place (a directory stands there, say); then it is removed.
    pub fn finish(&self, handle: FileHandle, node: &Node) -> Result<Vec<TargetError>, TargetError> {
        const ACTION: &str = "put in its place";
        let FileHandle { file, part } = handle;
        let Part { dir, name, temporary, .. } = &part;
        let mut warnings = Vec::new();
        let size_is_right = fstat(&file).is_ok_and(|stat| u64::try_from(stat.st_size) == Ok(node.size));
        if !size_is_right && let Err(error) = ftruncate(&file, node.size) {
            self.discard_part(&part);
            return Err(io::Error::from(error)).at(self, *dir, name, ACTION);
        }
        let mut warn = |action, source| {
            warnings.push(TargetError { path: self.path(*dir, name), action, source });
        };
        self.describe_file(&file, node, &mut warn);
        self.rename(*dir, temporary, name).inspect_err(|_| self.discard_part(&part))?;
        locked(&self.unfinished).remove(temporary);
        if let Err(error) = write_flags(&file, node.flags) {
            warn("set the flags of", error);
        }
        Ok(warnings)
    }

    /// Keeps a damaged file as `<name>.damaged` beside its place (numbered where that exists); gives that name.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn set_aside(&self, handle: FileHandle) -> Result<Vec<u8>, TargetError> {
        let Part { dir, name, temporary, .. } = handle.park();
        let open = self.handle(dir)?;
        for number in 1_u64.. {
            let suffix = if number == 1 { ".damaged".to_owned() } else { format!(".damaged-{number}") };
            let mut aside = name[..name.len().min(MAX_NAME - suffix.len())].to_vec();
            aside.extend_from_slice(suffix.as_bytes());
            let renamed = match renameat_with(&*open, &temporary, &*open, &aside, RenameFlags::NOREPLACE) {
                // The file system cannot rename without replacing, but links never replace.
                Err(Errno::INVAL | Errno::NOSYS) => linkat(&*open, &temporary, &*open, &aside, AtFlags::empty())
                    .and_then(|()| unlinkat(&*open, &temporary, AtFlags::empty())),
                result => result,
            };
            match renamed {
                Ok(()) => {
                    locked(&self.unfinished).remove(&temporary);
                    return Ok(aside);
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(io::Error::from(error)).at(self, dir, &name, "set aside the damaged"),
            }
        }
        Ok(name)
    }

    /// Removes an unfinished file.
    pub fn discard(&self, handle: FileHandle) {
        self.discard_part(&handle.park());
    }

    fn discard_part(&self, part: &Part) {
        self.remove_temporary(part.dir, &part.temporary);
    }

    /// Removes a temporary entry; one that cannot be removed now is tried again with the target's end.
    pub(super) fn remove_temporary(&self, dir: DirId, temporary: &[u8]) {
        let Ok(handle) = self.handle(dir) else { return };
        if matches!(unlinkat(&*handle, temporary, AtFlags::empty()), Ok(()) | Err(Errno::NOENT)) {
            locked(&self.unfinished).remove(temporary);
        }
    }

    /// Gives a temporary entry its final name; a link standing there is replaced, a directory is an error.
    pub(super) fn rename(&self, dir: DirId, temporary: &[u8], name: &[u8]) -> Result<(), TargetError> {
        let handle = self.handle(dir)?;
        renameat(&*handle, temporary, &*handle, name).map_err(io::Error::from).at(self, dir, name, "put in its place")
    }
}
