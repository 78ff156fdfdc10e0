//! The system calls that change a folder or make a change durable, behind one trait, so that their order can be
//! watched and each of them made to fail.

use rustix::fs::{CWD, Mode, OFlags, RenameFlags};
use rustix::io::{Errno, retry_on_intr};
use std::fmt::Debug;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// What [`super::LocalStorage`] asks of the system besides looking.
pub(super) trait Calls: Debug + Send + Sync {
    /// Opens a file for reading; never waits (a named pipe is opened too, the caller looks at what it got).
    fn open(&self, path: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        Ok(retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?.into())
    }

    /// Makes a file that was not there, with mode 0600.
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
    }

    /// Appends to a file.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    /// Makes a file's bytes and length durable. Full disks and quotas may be reported only here.
    fn sync_file(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    /// Gives a file a second name that must not exist yet.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    /// Renames to a name that must not exist yet.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
    }

    /// Renames, replacing what has the name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    /// Makes the names in a folder durable.
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        match File::open(path)?.sync_all() {
            // SMB and some FUSE file systems have no such call for folders; the server decides there.
            Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::INVAL | Errno::OPNOTSUPP)) => Ok(()),
            synced => synced,
        }
    }

    /// Makes a folder that was not there, with mode 0700.
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }
}

/// The calls of the running system.
#[derive(Debug)]
pub(super) struct SystemCalls;

impl Calls for SystemCalls {}

/// Does `call`, once more if a path led to a file that the NFS server has replaced meanwhile (ESTALE).
pub(super) fn reopening<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    match call() {
        Err(e) if e.kind() == io::ErrorKind::StaleNetworkFileHandle => call(),
        result => result,
    }
}
