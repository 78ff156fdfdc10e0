//! Which library is loaded.

use qatzip_sys::{Api, LoadError};
use std::path::{Path, PathBuf};

/// Where the library is looked for when nobody says where it is, in this order.
#[must_use]
pub fn library_names() -> [&'static Path; 2] {
    [Path::new("libqatzip.so.3"), Path::new("libqatzip.so")]
}

/// Loads QATzip: `library`, or the first of [`library_names`] that is there.
///
/// # Errors
/// What was tried, and why the first of them cannot be used.
pub fn load(library: Option<&Path>) -> Result<(Api, PathBuf), (PathBuf, LoadError)> {
    let names = library.map_or_else(|| library_names().to_vec(), |path| vec![path]);
    let mut first = None;
    for name in names {
        match Api::load(name) {
            Ok(api) => return Ok((api, name.to_owned())),
            Err(error) => _ = first.get_or_insert((name.to_owned(), error)),
        }
    }
    Err(first.expect("at least one name was tried"))
}
