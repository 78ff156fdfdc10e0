//! Extended attributes (ACLs among them) and inode flags, read and written.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{
    IFlags, XattrFlags, fgetxattr, flistxattr, fsetxattr, ioctl_getflags, ioctl_setflags, lgetxattr, llistxattr,
    lsetxattr,
};
use rustix::io::Errno;

use crate::format::Xattr;
use crate::format::limits::XATTRS_MAX;

/// The largest attribute value and the largest list of names Linux knows (`XATTR_SIZE_MAX`, `XATTR_LIST_MAX`).
const LARGEST: usize = 65_536;

/// The inode flags a restore can set; all others describe the file system's own business.
pub(super) const SETTABLE: IFlags = IFlags::APPEND
    .union(IFlags::IMMUTABLE)
    .union(IFlags::NODUMP)
    .union(IFlags::NOATIME)
    .union(IFlags::SYNC)
    .union(IFlags::DIRSYNC)
    .union(IFlags::NOCOW)
    .union(IFlags::COMPRESSED)
    .union(IFlags::JOURNALING)
    .union(IFlags::NOTAIL)
    .union(IFlags::TOPDIR)
    .union(IFlags::SECURE_REMOVAL)
    .union(IFlags::UNRM);

/// Something with attributes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    /// An open file or directory (not opened as a mere path).
    Handle(BorrowedFd<'a>),
    /// A name in a directory; a link standing there is not followed.
    Name(BorrowedFd<'a>, &'a [u8]),
}

/// A path that leads, by way of the handle, to `name` in `dir`: for calls that know no directory handles.
fn by_handle(dir: BorrowedFd<'_>, name: &[u8]) -> Vec<u8> {
    let mut path = format!("/proc/self/fd/{}/", dir.as_raw_fd()).into_bytes();
    path.extend_from_slice(name);
    path
}

/// Reads all attributes, sorted by name; empty where the file system has none.
///
/// # Errors
/// When one cannot be read, or all together take more than a node may hold.
pub(super) fn read_xattrs(place: Place<'_>) -> io::Result<Vec<Xattr>> {
    let path = match place {
        Place::Handle(_) => Vec::new(),
        Place::Name(dir, name) => by_handle(dir, name),
    };
    let list = growing(|buffer| match place {
        Place::Handle(file) => flistxattr(file, buffer),
        Place::Name(..) => llistxattr(&path, buffer),
    });
    let list = match list {
        Ok(list) => list,
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
        // Without /proc there is no way to those of a link or pipe.
        Err(Errno::NOENT) if !path.is_empty() && !std::path::Path::new("/proc/self/fd").exists() => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error.into()),
    };
    let (mut xattrs, mut left) = (Vec::new(), XATTRS_MAX);
    for name in list.split(|b| *b == 0).filter(|name| !name.is_empty()) {
        let value = growing(|buffer| match place {
            Place::Handle(file) => fgetxattr(file, name, buffer),
            Place::Name(..) => lgetxattr(&path, name, buffer),
        });
        match value {
            Ok(value) => {
                left = less(left, name.len() + value.len())?;
                xattrs.push(Xattr { name: name.to_vec(), value });
            }
            Err(Errno::NODATA) => {}
            Err(error) => return Err(error.into()),
        }
    }
    xattrs.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(xattrs)
}

/// What is left of the bytes that the attributes of a node may take.
fn less(left: usize, length: usize) -> io::Result<usize> {
    left.checked_sub(length)
        .ok_or_else(|| io::Error::other(format!("they take more than {} MiB together", XATTRS_MAX >> 20)))
}

/// Calls with a small buffer first and with the largest one when that was too small.
fn growing(mut call: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut small = [0; 512];
    match call(&mut small) {
        Ok(length) => Ok(small.get(..length).unwrap_or_default().to_vec()),
        Err(Errno::RANGE) => {
            let mut large = vec![0; LARGEST];
            let length = call(&mut large)?;
            large.truncate(length);
            large.shrink_to_fit();
            Ok(large)
        }
        Err(error) => Err(error),
    }
}

/// Sets one attribute.
pub(super) fn write_xattr(place: Place<'_>, xattr: &Xattr) -> io::Result<()> {
    match place {
        Place::Handle(file) => fsetxattr(file, &xattr.name, &xattr.value, XattrFlags::empty())?,
        Place::Name(dir, name) => {
            lsetxattr(by_handle(dir, name), &xattr.name, &xattr.value, XattrFlags::empty())?;
        }
    }
    Ok(())
}

/// The flags a restore can set; `None` where the file system has no flags.
pub(super) fn read_flags(file: impl AsFd) -> io::Result<Option<u32>> {
    match ioctl_getflags(file) {
        Ok(flags) => Ok(Some(flags.intersection(SETTABLE).bits())),
        Err(Errno::NOTTY | Errno::NOTSUP | Errno::NOSYS | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Gives a file or directory the settable `flags`; where not all can be set together, as many as can.
pub(super) fn write_flags(file: impl AsFd, flags: u32) -> io::Result<()> {
    let wanted = IFlags::from_bits_retain(flags).intersection(SETTABLE);
    let current = match ioctl_getflags(file.as_fd()) {
        Ok(current) => current,
        Err(_) if wanted.is_empty() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let missing = wanted.difference(current);
    if missing.is_empty() {
        return Ok(());
    }
    let Err(first) = ioctl_setflags(file.as_fd(), current.union(missing)) else {
        return Ok(());
    };
    // Flags that forbid further changes come last.
    let locks = IFlags::APPEND.union(IFlags::IMMUTABLE);
    let mut now = current;
    for flag in missing.difference(locks).iter().chain(missing.intersection(locks).iter()) {
        if ioctl_setflags(file.as_fd(), now.union(flag)).is_ok() {
            now = now.union(flag);
        }
    }
    if now.contains(wanted) { Ok(()) } else { Err(first.into()) }
}

#[cfg(test)]
mod tests {
    use super::less;
    use crate::format::limits::XATTRS_MAX;

    #[test]
    fn attributes_that_no_node_can_hold_are_refused_when_they_are_read() {
        assert_eq!(less(XATTRS_MAX, XATTRS_MAX).unwrap(), 0);
        let error = less(65_536, 65_537).unwrap_err();
        assert_eq!(error.to_string(), "they take more than 3 MiB together");
    }
}
