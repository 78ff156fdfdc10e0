//! Paths as the user named them, made absolute without following links where none need be followed.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// `path` as an absolute path: joined to `cwd`, without `.`, double and trailing slashes.
///
/// Links stay as they are, except before a `..`: there the part before it is canonicalised, because only the file
/// system knows what lies above a link.
///
/// # Errors
/// When the part before a `..` cannot be canonicalised, or `cwd` is needed and not absolute.
pub fn absolute(path: &Path, cwd: &Path) -> io::Result<PathBuf> {
    let joined = cwd.join(path);
    let bytes = joined.as_os_str().as_bytes();
    if bytes.first() != Some(&b'/') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the working directory is not absolute"));
    }
    if bytes.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a path cannot hold a NUL byte"));
    }
    let mut result = PathBuf::from("/");
    for part in bytes.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                result = std::fs::canonicalize(&result)?;
                result.pop();
            }
            name => result.push(OsStr::from_bytes(name)),
        }
    }
    Ok(result)
}

/// A path to be saved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Root {
    /// Where it is; absolute and normal, as [`absolute`] gives it.
    pub path: PathBuf,
    /// Whether a symbolic link standing there is followed (the user wrote a slash at the end).
    pub follow: bool,
}

impl Root {
    /// The root a user means by `path`, seen from the directory `cwd`.
    ///
    /// # Errors
    /// As [`absolute`].
    pub fn new(path: &Path, cwd: &Path) -> io::Result<Self> {
        let text = path.as_os_str().as_bytes();
        Ok(Self { path: absolute(path, cwd)?, follow: text.ends_with(b"/") || text.ends_with(b"/.") || text == b"." })
    }
}

#[cfg(test)]
mod tests {
    use super::{Root, absolute};
    use std::path::{Path, PathBuf};

    #[test]
    fn dots_and_double_slashes_vanish_and_links_stay() {
        let at = |path: &str| absolute(Path::new(path), Path::new("/work/dir")).unwrap();
        assert_eq!(at("a//b/./c/"), PathBuf::from("/work/dir/a/b/c"));
        assert_eq!(at("/"), PathBuf::from("/"));
        assert_eq!(at("."), PathBuf::from("/work/dir"));
        assert_eq!(at("/../.."), PathBuf::from("/"));
        assert!(absolute(Path::new("a"), Path::new("b")).is_err());
    }

    #[test]
    fn what_lies_above_a_link_is_found_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("real/sub")).unwrap();
        std::os::unix::fs::symlink("real/sub", base.join("link")).unwrap();
        assert_eq!(absolute(Path::new("link/../x"), &base).unwrap(), base.join("real/x"));
        assert_eq!(absolute(Path::new("link/x"), &base).unwrap(), base.join("link/x"));
        assert!(absolute(Path::new("missing/../x"), &base).is_err());
    }

    #[test]
    fn a_slash_at_the_end_means_the_link_is_followed() {
        for (path, follow) in [("a", false), ("a/", true), ("a/.", true), (".", true), ("a.", false)] {
            assert_eq!(Root::new(Path::new(path), Path::new("/")).unwrap().follow, follow, "{path}");
        }
    }
}
