//! The folder in which a demo happens; removed at the end, also when a step fails.

use crate::base::hex;
use crate::commands::{CommandError, Context};
use crate::ui::escape;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A new folder that only its owner can look into.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Scratch {
    /// Makes a folder with a random name in `parent`.
    pub(super) fn make(parent: &Path, context: &Context) -> Result<Self, CommandError> {
        let mut random = [0; 8];
        let failed = |error: io::Error| {
            CommandError::failed(
                format!("could not make a scratch folder in `{}`", escape(parent.as_os_str().as_bytes())),
                error.to_string(),
                "choose another place with `--dir`",
            )
        };
        context.environment.entropy.fill(&mut random).map_err(failed)?;
        let parent = std::path::absolute(parent).map_err(failed)?;
        let path = parent.join(format!("nightjar-demo-{}", hex::encode(&random)));
        DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        Ok(Self { path, keep: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the folder behind.
    pub(super) fn keep(mut self) {
        self.keep = true;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            // What cannot be removed stays under a name that says what it is.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Copies the files below `from` to a new folder `to`; gives their bytes.
pub(super) fn copy_tree(from: &Path, to: &Path) -> io::Result<u64> {
    let (mut copied, mut open) = (0, vec![(from.to_path_buf(), to.to_path_buf())]);
    while let Some((from, to)) = open.pop() {
        DirBuilder::new().mode(0o700).create(&to)?;
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (inner, target) = (entry.path(), to.join(entry.file_name()));
            if entry.file_type()?.is_dir() {
                open.push((inner, target));
            } else {
                copied += fs::copy(inner, target)?;
            }
        }
    }
    Ok(copied)
}
