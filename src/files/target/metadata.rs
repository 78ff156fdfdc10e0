//! Owner, attributes, mode and times of restored entries, in the order in which one does not undo another: a change of
//! owner clears set-id bits and capabilities, an ACL changes mode bits, any change moves the times, and flags may forbid
//! everything after them.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT, chmodat, chownat, fchmod, fchown, fstat,
    futimens, openat, statat, utimensat,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use super::Target;
use crate::files::attributes::{Place, write_flags, write_xattr};
use crate::format::{Node, NodeKind};

/// Set-user-id and set-group-id.
const SET_ID: u32 = 0o6000;

impl Target {
    /// Describes an open file or directory, flags too.
    pub(super) fn describe_open(&self, file: impl AsFd, node: &Node, mut fail: impl FnMut(&'static str, io::Error)) {
        self.describe_file(file.as_fd(), node, &mut fail);
        if let Err(error) = write_flags(file.as_fd(), node.flags) {
            fail("set the flags of", error);
        }
    }

    /// All but flags.
    pub(super) fn describe_file(&self, file: impl AsFd, node: &Node, mut fail: impl FnMut(&'static str, io::Error)) {
        let file = file.as_fd();
        let chown = |uid, gid| fchown(file, uid, gid);
        let owned = self.set_owner(fstat(file), node, chown, &mut fail);
        self.set_xattrs(Place::Handle(file), node, &mut fail);
        if let Err(error) = fchmod(file, mode_of(node, owned)) {
            fail("set the mode of", error.into());
        }
        if let Some(times) = times_of(node)
            && let Err(error) = futimens(file, &times)
        {
            fail("set the times of", error.into());
        }
    }

    /// All but flags, of what cannot be opened: links, pipes, sockets, devices.
    pub(super) fn describe_name(
        &self,
        dir: impl AsFd,
        name: &[u8],
        node: &Node,
        mut fail: impl FnMut(&'static str, io::Error),
    ) {
        let dir = dir.as_fd();
        let chown = |uid, gid| chownat(dir, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW);
        let owned = self.set_owner(statat(dir, name, AtFlags::SYMLINK_NOFOLLOW), node, chown, &mut fail);
        self.set_xattrs(Place::Name(dir, name), node, &mut fail);
        if node.kind != NodeKind::Symlink
            && let Err(error) = set_mode(dir, name, mode_of(node, owned))
        {
            fail("set the mode of", error.into());
        }
        if let Some(times) = times_of(node)
            && let Err(error) = utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW)
        {
            fail("set the times of", error.into());
        }
    }

    /// Whether the owner is now the one of the node.
    fn set_owner(
        &self,
        stat: Result<Stat, Errno>,
        node: &Node,
        chown: impl Fn(Option<Uid>, Option<Gid>) -> Result<(), Errno>,
        fail: &mut impl FnMut(&'static str, io::Error),
    ) -> bool {
        if stat.is_ok_and(|stat| stat.st_uid == node.uid && stat.st_gid == node.gid) {
            return true;
        }
        // -1 means "leave it" to the system, and rustix takes it for a mistake of the program.
        let result = if node.uid == u32::MAX || node.gid == u32::MAX {
            Err(Errno::INVAL)
        } else {
            let (uid, gid) = (Uid::from_raw(node.uid), Gid::from_raw(node.gid));
            chown(Some(uid), Some(gid)).inspect_err(|_| {
                // A member of the group may at least give the file to it.
                let _ = chown(None, Some(gid));
            })
        };
        match result {
            Ok(()) => true,
            Err(error) => {
                if self.is_root {
                    fail("set the owner of", error.into());
                }
                false
            }
        }
    }

    fn set_xattrs(&self, place: Place<'_>, node: &Node, fail: &mut impl FnMut(&'static str, io::Error)) {
        for xattr in &node.xattrs {
            if let Err(error) = write_xattr(place, xattr) {
                // Without root's rights these spaces are closed, as owners are.
                let privileged = xattr.name.starts_with(b"trusted.") || xattr.name.starts_with(b"security.");
                if self.is_root || !privileged {
                    let name = String::from_utf8_lossy(&xattr.name).into_owned();
                    fail("set an attribute of", io::Error::new(error.kind(), format!("{name}: {error}")));
                }
            }
        }
    }
}

/// Without its owner, a file must not run with somebody else's rights.
fn mode_of(node: &Node, owned: bool) -> Mode {
    Mode::from_raw_mode(node.mode & if owned { 0o7777 } else { 0o7777 & !SET_ID })
}

fn times_of(node: &Node) -> Option<Timestamps> {
    let mtime = node.mtime?;
    let omit = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let last_modification = Timespec { tv_sec: mtime.seconds, tv_nsec: i64::from(mtime.nanos.min(999_999_999)) };
    Some(Timestamps { last_access: omit, last_modification })
}

/// `chmod` follows links; by way of a handle there is nothing to follow.
fn set_mode(dir: impl AsFd, name: &[u8], mode: Mode) -> Result<(), Errno> {
    let handle = openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    chmodat(CWD, format!("/proc/self/fd/{}", handle.as_raw_fd()), mode, AtFlags::empty())
}
