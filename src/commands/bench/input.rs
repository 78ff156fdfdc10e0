//! What is compressed.

use crate::base::specimen;
use crate::commands::CommandError;
use crate::ui::{bytes, escape};
use bytes::Bytes;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Most bytes of a file that are read.
const FILE_MAX: u64 = 256 << 20;
/// Bytes of built-in data.
const BUILT_IN: usize = 32 << 20;

/// What is compressed.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) data: Bytes,
    /// What it is, for people.
    pub(super) name: String,
}

/// The contents of `file`, or the built-in data.
pub(super) fn load(file: Option<&Path>) -> Result<Input, CommandError> {
    let Some(path) = file else {
        let name = format!(
            "built-in mixed data, {} (of eight pieces four of text, two like programs, one random, one of zeros)",
            bytes(BUILT_IN as u64)
        );
        return Ok(Input { data: Bytes::from(specimen::mixed(BUILT_IN)), name });
    };
    let shown = escape(path.as_os_str().as_bytes());
    let failed = |because: String| {
        CommandError::failed(
            format!("could not read `{shown}` to measure with"),
            because,
            "name a file with contents like those that are to be backed up, or none for built-in data",
        )
    };
    let mut data = Vec::new();
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    file.take(FILE_MAX).read_to_end(&mut data).map_err(|error| failed(error.to_string()))?;
    if data.is_empty() {
        return Err(failed("it is empty".to_owned()));
    }
    let name = format!("`{shown}`, {}", bytes(data.len() as u64));
    Ok(Input { data: Bytes::from(data), name })
}
