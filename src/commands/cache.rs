//! `nightjar cache`: what is kept of repositories on this host.

use super::quantity::parse_size;
use super::{CommandError, Context, Exit};
use crate::base::hex;
use crate::repo::{CachePlace, cache_size};
use crate::ui::{bytes, several};
use serde_json::json;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Magic numbers of file systems that are on other hosts: NFS, SMB in its three forms, Ceph, AFS, 9P, and FUSE, behind which
/// another host may be.
const REMOTE: [u32; 8] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x00c3_6400, 0x5346_414f, 0x0102_1997, 0x6573_5546];

/// Whether, where and how much is kept.
#[derive(Clone, Debug)]
pub struct CacheSettings {
    /// Whether anything may be kept.
    pub wanted: bool,
    /// Whether the folder was named.
    pub is_given: bool,
    /// The folder.
    pub folder: PathBuf,
    /// Most bytes for one repository.
    pub limit: u64,
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSize(pub u64);

impl Default for CacheSize {
    fn default() -> Self {
        Self(2 << 30)
    }
}

impl FromStr for CacheSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_size(text).map(Self)
    }
}

impl CacheSettings {
    /// Where objects of the repository in the folder `repository` are kept, if they are.
    pub(super) fn place(&self, repository: &Path) -> Option<CachePlace> {
        let wanted = self.wanted && (self.is_given || is_remote(repository));
        wanted.then(|| CachePlace { folder: self.folder.clone(), limit: self.limit })
    }
}

/// Whether a folder is on another host, as far as the system says.
fn is_remote(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|system| {
        // Only the low half is the same on all architectures.
        let magic = u32::try_from(i128::from(system.f_type) & 0xffff_ffff).unwrap_or(0);
        REMOTE.contains(&magic)
    })
}

/// Options of `cache`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Clone, Copy, Debug, clap::Subcommand)]
enum Action {
    /// Show where it is and what each repository takes
    Show,
    /// Remove all of it
    Clear,
}

/// Runs `cache`.
///
/// # Errors
/// When the folder cannot be read or cleared.
pub fn run(args: &Args, context: &Context) -> Result<Exit, CommandError> {
    let folder = &context.cache.folder;
    let failed = |error: io::Error| {
        CommandError::failed(
            format!("could not look through the cache in `{}`", folder.display()),
            error.to_string(),
            "check who the folder belongs to; nothing in it is needed, so it may be deleted",
        )
    };
    let clear = matches!(args.action, Action::Clear);
    let (mut files, mut sum) = (0, 0);
    for (id, path) in caches(folder).map_err(failed)? {
        let (number, length) = cache_size(&path).map_err(failed)?;
        (files, sum) = (files + number, sum + length);
        if clear {
            fs::remove_dir_all(&path).map_err(failed)?;
            continue;
        }
        context.output.line(&format!("{id}  {} in {}", bytes(length), several(number, "file")))?;
        context.output.record(&json!({"type": "cache", "repository": id, "files": number, "bytes": length}))?;
    }
    let did = if clear { "removed" } else { "kept" };
    let all = several(files, "file");
    context.output.line(&format!("{} in {all} {did} in `{}`", bytes(sum), folder.display()))?;
    context.output.record(&json!({
        "type": "summary", "command": "cache", "folder": folder.to_string_lossy(), "files": files, "bytes": sum,
        "cleared": clear,
    }))?;
    context.output.flush()?;
    Ok(Exit::Done)
}

/// The caches of all repositories.
fn caches(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Nothing else in there is ours to remove.
        if hex::decode::<16>(&name).is_some() && entry.file_type()?.is_dir() {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}
