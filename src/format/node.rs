//! One directory entry (`repo-format.md`, chapter 9).

use super::ChunkId;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// A Unix socket.
    Socket,
}

/// A moment: seconds since 1970 (UTC, negative before) and nanoseconds (below 10^9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
    /// Nanoseconds after that second, below 1,000,000,000.
    pub nanos: u32,
}

/// An extended attribute; ACLs and file capabilities are among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xattr {
    /// Full name with its namespace, such as `user.mime_type`.
    pub name: Vec<u8>,
    /// Value.
    pub value: Vec<u8>,
}

/// A piece of a file's content, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Stored bytes: `length` bytes (1..=4 MiB) with this id.
    Chunk {
        /// Id of the chunk.
        id: ChunkId,
        /// Its length in bytes.
        length: u32,
    },
    /// `length` zero bytes that are not stored.
    Hole {
        /// Length in bytes, at least 1.
        length: u64,
    },
}

/// The content of a regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// At most 256 bytes, kept in the node.
    Inline(Vec<u8>),
    /// At most 1,024 extents, kept in the node.
    Extents(Vec<Extent>),
    /// The id of an extent list kept as tree chunks.
    Nested(ChunkId),
}

/// One directory entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name in its directory: 1 to 255 bytes without `/` and NUL, not `.` or `..`.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: NodeKind,
    /// Permission bits with set-id and sticky bits (`0o7777`).
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Name of the owner, if it has one.
    pub user: Option<String>,
    /// Name of the group, if it has one.
    pub group: Option<String>,
    /// Last change of content; `None` where it was not recorded (folders above the sources).
    pub mtime: Option<Time>,
    /// Last change of content or metadata.
    pub ctime: Option<Time>,
    /// Creation, where the file system knows it.
    pub birth: Option<Time>,
    /// Length of the content in bytes; 0 for everything but regular files.
    pub size: u64,
    /// Inode number at the source.
    pub inode: u64,
    /// Number of the file system within the snapshot, from 1; 0 where not recorded.
    pub device: u32,
    /// Number of hard links at the source.
    pub links: u64,
    /// Where a symbolic link points.
    pub target: Vec<u8>,
    /// Major and minor number of a device.
    pub rdev: (u32, u32),
    /// Extended attributes, sorted by name.
    pub xattrs: Vec<Xattr>,
    /// Inode flags as `FS_IOC_GETFLAGS` gives them, reduced to those a restore can set.
    pub flags: u32,
    /// Content of a regular file; `None` for everything else.
    pub content: Option<Content>,
    /// Tree of a directory; `None` for everything else.
    pub tree: Option<ChunkId>,
}

impl Node {
    /// A node of this name and kind with nothing else known.
    #[must_use]
    pub fn new(name: &[u8], kind: NodeKind) -> Self {
        Self {
            name: name.to_vec(),
            kind,
            mode: 0,
            uid: 0,
            gid: 0,
            user: None,
            group: None,
            mtime: None,
            ctime: None,
            birth: None,
            size: 0,
            inode: 0,
            device: 0,
            links: 1,
            target: Vec::new(),
            rdev: (0, 0),
            xattrs: Vec::new(),
            flags: 0,
            content: None,
            tree: None,
        }
    }
}
