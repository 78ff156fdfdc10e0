//! One thing met by a walk: what `statx` says of it, and the way to its content.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, OFlags, Statx, StatxFlags, StatxTimestamp, major, makedev, readlinkat, statx};

use super::attributes::{Place, read_flags, read_xattrs};
use super::directory::{Directory, open_quietly};
use crate::format::{Node, NodeKind, Time};

/// A file, directory or anything else found by a walk.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Absolute path, for messages only.
    pub path: Vec<u8>,
    /// What is known of it. From the walk: all but extended attributes and flags, which [`Entry::complete`] adds, and
    /// content, tree and device number, which are the caller's. Of an ancestor: kind, mode and owner only.
    pub node: Node,
    /// Device it is on (`st_dev`).
    pub device: u64,
    /// A directory above the roots that was not itself selected.
    pub ancestor: bool,
    /// One of the roots.
    pub root: bool,
    /// Bytes that the file takes on its disk, known once it was opened; fewer than its size when it has holes.
    pub allocated: u64,
    pub(super) parent: Arc<Directory>,
    /// The directory itself, where this is one that could be opened.
    pub(super) own: Option<Arc<Directory>>,
}

impl Entry {
    /// Opens a regular file for reading, without touching its access time where permitted, and brings the node up to
    /// date with it. Nothing else is ever opened. Where another regular file of the same file system has taken the
    /// place of the one that the walk met (editors save like that), that one is meant.
    ///
    /// # Errors
    /// `InvalidInput` when this is no regular file; `NotFound` when something else stands there now; else as `open`.
    pub fn open(&mut self) -> io::Result<File> {
        if self.node.kind != NodeKind::File {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        // NONBLOCK: should a FIFO have taken the file's place, opening it does not wait.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = open_quietly(&*self.parent.handle()?, &self.node.name, flags)?;
        let stat = statx(&file, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::BTIME)?;
        let regular = FileType::from_raw_mode(u32::from(stat.stx_mode)) == FileType::RegularFile;
        if !regular || device_of(&stat) != self.device {
            return Err(io::Error::new(io::ErrorKind::NotFound, "something else has taken its place"));
        }
        self.allocated = stat.stx_blocks.saturating_mul(512);
        let owner = (self.node.uid, self.node.gid);
        if let Some(bare) = bare_node_of(&self.node.name, &stat) {
            (self.node.mode, self.node.uid, self.node.gid) = (bare.mode, bare.uid, bare.gid);
        }
        if owner != (self.node.uid, self.node.gid) {
            let mut owners = Owners::default();
            (self.node.user, self.node.group) = (owners.user(self.node.uid), owners.group(self.node.gid));
        }
        set_details(&mut self.node, &stat);
        Ok(File::from(file))
    }

    /// Adds extended attributes and inode flags to the node; may be called on any thread. `file`, when at hand, is what
    /// [`Entry::open`] gave: without it a regular file is opened for its flags. Nothing is done for ancestors.
    ///
    /// # Errors
    /// When attributes cannot be read; what could be read stands in the node.
    pub fn complete(&mut self, file: Option<&File>) -> io::Result<()> {
        if self.ancestor {
            return Ok(());
        }
        let own = match &self.own {
            Some(own) if own.is_listable() => Some(own.handle()?),
            _ => None,
        };
        let opened;
        let handle = match (file, &own) {
            (Some(file), _) => Some(file.as_fd()),
            (None, Some(own)) => Some(own.as_fd()),
            (None, None) if self.node.kind == NodeKind::File && self.parent.pool().has_flags(self.device) => {
                opened = self.open().ok();
                opened.as_ref().map(File::as_fd)
            }
            _ => None,
        };
        if let Some(handle) = handle.filter(|_| self.parent.pool().has_flags(self.device)) {
            match read_flags(handle) {
                Ok(Some(flags)) => self.node.flags = flags,
                Ok(None) => self.parent.pool().remember_without_flags(self.device),
                Err(_) => {}
            }
        }
        self.node.xattrs = match handle {
            Some(handle) => read_xattrs(Place::Handle(handle))?,
            None => read_xattrs(Place::Name(self.parent.handle()?.as_fd(), &self.node.name))?,
        };
        Ok(())
    }
}

/// The node of `name` as `stat` describes it; `None` for what is no kind of entry Linux knows.
pub(super) fn node_of(name: &[u8], stat: &Statx, owners: &mut Owners) -> Option<Node> {
    let mut node = bare_node_of(name, stat)?;
    node.user = owners.user(stat.stx_uid);
    node.group = owners.group(stat.stx_gid);
    set_details(&mut node, stat);
    Some(node)
}

/// Times, inode, links, and size or device numbers as `stat` tells.
fn set_details(node: &mut Node, stat: &Statx) {
    node.mtime = Some(time(stat.stx_mtime));
    node.ctime = Some(time(stat.stx_ctime));
    node.birth = (stat.stx_mask & rustix::fs::StatxFlags::BTIME.bits() != 0).then(|| time(stat.stx_btime));
    node.inode = stat.stx_ino;
    node.links = u64::from(stat.stx_nlink);
    match node.kind {
        NodeKind::File => node.size = stat.stx_size,
        NodeKind::CharDevice | NodeKind::BlockDevice => node.rdev = (stat.stx_rdev_major, stat.stx_rdev_minor),
        _ => {}
    }
}

/// A node with kind, mode and owner only.
pub(super) fn bare_node_of(name: &[u8], stat: &Statx) -> Option<Node> {
    let kind = match FileType::from_raw_mode(u32::from(stat.stx_mode)) {
        FileType::RegularFile => NodeKind::File,
        FileType::Directory => NodeKind::Directory,
        FileType::Symlink => NodeKind::Symlink,
        FileType::Fifo => NodeKind::Fifo,
        FileType::CharacterDevice => NodeKind::CharDevice,
        FileType::BlockDevice => NodeKind::BlockDevice,
        FileType::Socket => NodeKind::Socket,
        FileType::Unknown => return None,
    };
    let mut node = Node::new(name, kind);
    node.mode = u32::from(stat.stx_mode) & 0o7777;
    node.uid = stat.stx_uid;
    node.gid = stat.stx_gid;
    Some(node)
}

/// Where the symbolic link `name` in `dir` points.
pub(super) fn target_of(dir: &Directory, name: &[u8]) -> io::Result<Vec<u8>> {
    Ok(readlinkat(&*dir.handle()?, name, Vec::with_capacity(256))?.into_bytes())
}

/// `st_dev` of what `stat` describes.
pub(super) fn device_of(stat: &Statx) -> u64 {
    let device = makedev(stat.stx_dev_major, stat.stx_dev_minor);
    debug_assert_eq!(major(device), stat.stx_dev_major);
    device
}

/// File systems in user space may say anything; a record with a billion nanoseconds could not be read again.
fn time(time: StatxTimestamp) -> Time {
    Time { seconds: time.tv_sec, nanos: time.tv_nsec.min(999_999_999) }
}

/// Names of users and groups, asked of the system once each.
#[derive(Debug, Default)]
pub(super) struct Owners {
    users: HashMap<u32, Option<String>>,
    groups: HashMap<u32, Option<String>>,
}

impl Owners {
    fn user(&mut self, uid: u32) -> Option<String> {
        let look = || uzers::get_user_by_uid(uid)?.name().to_str().map(str::to_owned);
        self.users.entry(uid).or_insert_with(look).clone()
    }

    fn group(&mut self, gid: u32) -> Option<String> {
        let look = || uzers::get_group_by_gid(gid)?.name().to_str().map(str::to_owned);
        self.groups.entry(gid).or_insert_with(look).clone()
    }
}
