//! Small files in which this host remembers something: whole or not at all, with a sum over what is in them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Reads what [`write()`] wrote under the same magic; `None` where there is no file.
///
/// # Errors
/// When it cannot be read, has more than `limit` bytes, or is not what was written.
pub fn read(file: &Path, magic: &[u8; 8], limit: u64) -> io::Result<Option<Vec<u8>>> {
    let opened = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mut bytes = Vec::new();
    opened.take(limit + 1).read_to_end(&mut bytes)?;
    let body = (bytes.len() as u64 <= limit).then(|| open(&bytes, *magic)).flatten();
    body.map(|body| Some(body.to_vec())).ok_or_else(|| io::Error::other("it is damaged"))
}

/// What is inside the bytes of such a file.
fn open(bytes: &[u8], magic: [u8; 8]) -> Option<&[u8]> {
    let (sealed, sum) = bytes.split_last_chunk::<32>()?;
    (blake3::hash(sealed) == *sum).then(|| sealed.strip_prefix(&magic)).flatten()
}

/// The bytes of such a file.
fn seal(magic: [u8; 8], body: &[u8]) -> Vec<u8> {
    let mut bytes = [&magic, body].concat();
    let sum = blake3::hash(&bytes);
    bytes.extend_from_slice(sum.as_bytes());
    bytes
}

/// Writes a file for the owner only, in a folder that is made if it is missing.
///
/// # Errors
/// As the file system says; the file is then as it was.
pub fn write(file: &Path, magic: &[u8; 8], body: &[u8]) -> io::Result<()> {
    make_folder(file)?;
    let mut temporary = file.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let written = (|| {
        let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        out.write_all(&seal(*magic, body))?;
        out.sync_all()?;
        fs::rename(&temporary, file)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Holds off other processes that [`lock()`] the same file, until it is dropped.
///
/// # Errors
/// As the file system says.
pub fn lock(file: &Path) -> io::Result<File> {
    make_folder(file)?;
    let mut beside = file.as_os_str().to_owned();
    beside.push(".lock");
    let held = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(beside)?;
    held.lock()?;
    Ok(held)
}

fn make_folder(file: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(file.parent().unwrap_or(Path::new(".")))
}

#[cfg(test)]
mod tests {
    use super::{read, write};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const MAGIC: &[u8; 8] = b"TESTING1";

    #[test]
    fn what_was_written_is_read_and_what_is_damaged_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/down/memo");
        assert_eq!(read(&file, MAGIC, 100).unwrap(), None);
        write(&file, MAGIC, b"hello").unwrap();
        write(&file, MAGIC, b"hello again").unwrap();
        assert_eq!(read(&file, MAGIC, 100).unwrap().unwrap(), b"hello again");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(read(&file, b"ANOTHER1", 100).is_err() && read(&file, MAGIC, 20).is_err());
        let good = fs::read(&file).unwrap();
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            fs::write(&file, &bytes).unwrap();
            assert!(read(&file, MAGIC, 100).is_err());
            fs::write(&file, &good[..at]).unwrap();
            assert!(read(&file, MAGIC, 100).is_err());
        }
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(read(&file, MAGIC, 100).is_err() && write(&file, MAGIC, b"").is_err());
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing half-written stays");
    }
}
