//! Links, pipes, sockets and devices: made under a temporary name and renamed.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode, linkat, makedev, mknodat, symlinkat};
use rustix::io::Errno;

use super::error::{At as _, TargetError, check_name};
use super::{DirId, Target, locked};
use crate::format::{Node, NodeKind};

impl Target {
    /// Makes a symbolic link, pipe, socket or device in `dir` as `node` says, under the node's name. The list tells
    /// what of the metadata could not be set.
    ///
    /// # Errors
    /// When the name is not valid, the node is a file or directory, it cannot be made (devices need root), or a
    /// directory stands in its place.
    pub fn create_special(&self, dir: DirId, node: &Node) -> Result<Vec<TargetError>, TargetError> {
        let kind = match node.kind {
            NodeKind::Symlink => None,
            NodeKind::Fifo => Some(FileType::Fifo),
            NodeKind::Socket => Some(FileType::Socket),
            NodeKind::CharDevice => Some(FileType::CharacterDevice),
            NodeKind::BlockDevice => Some(FileType::BlockDevice),
            NodeKind::File | NodeKind::Directory => {
                let wrong = io::Error::new(io::ErrorKind::InvalidInput, "neither a link nor a special file");
                return Err(wrong).at(self, dir, &node.name, "create");
            }
        };
        let device = if matches!(kind, Some(FileType::CharacterDevice | FileType::BlockDevice)) {
            makedev(node.rdev.0, node.rdev.1)
        } else {
            0
        };
        let mut warnings = Vec::new();
        self.place(
            dir,
            &node.name,
            |handle, temporary| match kind {
                None => symlinkat(node.target.as_slice(), handle, temporary),
                Some(kind) => mknodat(handle, temporary, kind, Mode::RUSR | Mode::WUSR, device),
            },
            |handle, temporary| {
                self.describe_name(handle, temporary, node, |action, source| {
                    warnings.push(TargetError { path: self.path(dir, &node.name), action, source });
                });
            },
        )?;
        Ok(warnings)
    }

    /// Makes `name` in `dir` another name of the entry `from`, given as directory and name within the target.
    ///
    /// # Errors
    /// When a name is not valid, the file system refuses the link, or a directory stands in its place.
    pub fn create_hard_link(&self, from: (DirId, &[u8]), dir: DirId, name: &[u8]) -> Result<(), TargetError> {
        check_name(from.1).at(self, from.0, from.1, "link to")?;
        let source = self.handle(from.0)?;
        self.place(
            dir,
            name,
            |handle, temporary| linkat(&source, from.1, handle, temporary, AtFlags::empty()),
            |_, _| {},
        )
    }

    /// Makes something under a temporary name, lets `describe` finish it, and renames it.
    fn place(
        &self,
        dir: DirId,
        name: &[u8],
        make: impl Fn(&OwnedFd, &[u8]) -> Result<(), Errno>,
        describe: impl FnOnce(&OwnedFd, &[u8]),
    ) -> Result<(), TargetError> {
        check_name(name).at(self, dir, name, "create")?;
        let handle = self.handle(dir)?;
        let temporary = loop {
            let temporary = self.temporary_name();
            match make(&handle, &temporary) {
                Ok(()) => break temporary,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(io::Error::from(error)).at(self, dir, name, "create"),
            }
        };
        locked(&self.unfinished).insert(temporary.clone(), dir);
        describe(&handle, &temporary);
        let result = self.rename(dir, &temporary, name);
        // Renaming onto another name of the same file does nothing and leaves the temporary name.
        self.remove_temporary(dir, &temporary);
        result
    }
}
