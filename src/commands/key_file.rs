//! Key files: a recovery key as the one line of a file, for hosts where nobody types (`repo-format.md`, chapter 5).

use super::CommandError;
use crate::crypto::RecoveryKey;
use crate::ui::escape;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Makes a key file that only its owner can read, durable when this returns. Never touches a file that is there.
///
/// # Errors
/// When there is one already, or it cannot be written; then nothing is left of it.
pub(super) fn create(path: &Path, key: &RecoveryKey) -> Result<(), CommandError> {
    let failed = |error: io::Error| {
        let what = format!("could not make the key file `{}`", escape(path.as_os_str().as_bytes()));
        if error.kind() == io::ErrorKind::AlreadyExists {
            let because = "there is a file of this name, and a key file never replaces anything";
            return CommandError::failed(what, because, "choose another name");
        }
        CommandError::failed(what, error.to_string(), "choose a folder that you may write to")
    };
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    fill(file, path, key).map_err(|error| {
        discard(path);
        failed(error)
    })
}

/// Takes a key file away that opens nothing.
pub(super) fn discard(path: &Path) {
    // What stays opens nothing.
    let _ = fs::remove_file(path);
}

fn fill(mut file: File, path: &Path, key: &RecoveryKey) -> io::Result<()> {
    // Whatever the umask took away.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(key.to_text().as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
