//! The functions of the library as a table.

use crate::{QzSession, QzSessionParamsDeflate};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{c_int, c_uchar, c_uint};
use std::fmt;
use std::path::{Path, PathBuf};

/// `int qzInit(QzSession_T *sess, unsigned char sw_backup)`
pub type QzInit = unsafe extern "C" fn(*mut QzSession, c_uchar) -> c_int;
/// `int qzSetupSessionDeflate(QzSession_T *sess, QzSessionParamsDeflate_T *params)`
pub type QzSetupSessionDeflate = unsafe extern "C" fn(*mut QzSession, *mut QzSessionParamsDeflate) -> c_int;
/// `int qzGetDefaultsDeflate(QzSessionParamsDeflate_T *defaults)`
pub type QzGetDefaultsDeflate = unsafe extern "C" fn(*mut QzSessionParamsDeflate) -> c_int;
/// `int qzCompress(QzSession_T *sess, const unsigned char *src, unsigned int *src_len, unsigned char *dest, unsigned int
/// *dest_len, unsigned int last)`
pub type QzCompress =
    unsafe extern "C" fn(*mut QzSession, *const c_uchar, *mut c_uint, *mut c_uchar, *mut c_uint, c_uint) -> c_int;
/// `int qzDecompress(QzSession_T *sess, const unsigned char *src, unsigned int *src_len, unsigned char *dest, unsigned int
/// *dest_len)`
pub type QzDecompress =
    unsafe extern "C" fn(*mut QzSession, *const c_uchar, *mut c_uint, *mut c_uchar, *mut c_uint) -> c_int;
/// `int qzTeardownSession(QzSession_T *sess)`, `int qzClose(QzSession_T *sess)`
pub type QzOfSession = unsafe extern "C" fn(*mut QzSession) -> c_int;
/// `QzLogLevel_T qzSetLogLevel(QzLogLevel_T level)`
pub type QzSetLogLevel = unsafe extern "C" fn(c_int) -> c_int;
/// `CpaStatus cpaDcGetNumInstances(Cpa16U *pNumInstances)`
pub type CpaDcGetNumInstances = unsafe extern "C" fn(*mut u16) -> c_int;

/// The functions of a loaded library. It stays loaded until the process ends, because its threads do.
#[derive(Clone, Copy)]
pub struct Api {
    /// Begins the process's use of the devices. After a failure nothing may be called any more.
    pub qz_init: QzInit,
    /// Gives a session its settings. After a failure the session must not be used: the library would answer OK with gzip
    /// made in software.
    pub qz_setup_session_deflate: QzSetupSessionDeflate,
    /// Fills in the library's defaults.
    pub qz_get_defaults_deflate: QzGetDefaultsDeflate,
    /// Compresses; both lengths are room before and use after the call. It has no timeout. Calls longer than the session's
    /// buffer become several requests, and after a failure late answers of one call can land in a later one.
    pub qz_compress: QzCompress,
    /// Ends a session.
    pub qz_teardown_session: QzOfSession,
    /// Decompresses.
    pub qz_decompress: Option<QzDecompress>,
    /// Ends the process's use of the devices.
    pub qz_close: Option<QzOfSession>,
    /// Sets how much the library prints, from 0 (nothing); 1.3 and later.
    pub qz_set_log_level: Option<QzSetLogLevel>,
    /// Instances for compression that the process has, where the library of the driver answers through the same handle; to
    /// be called after `qzInit`.
    pub cpa_dc_get_num_instances: Option<CpaDcGetNumInstances>,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("version", &self.version()).finish_non_exhaustive()
    }
}

/// Why a library cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The loader refuses the file.
    #[error("{0}")]
    Loader(String),
    /// The library lacks a function without which nothing can be done.
    #[error("`{library}` has no function `{function}`", library = .library.display())]
    Function {
        /// The library as it was named.
        library: PathBuf,
        /// The function.
        function: &'static str,
    },
}

/// What the functions that are there tell of the library's version; the library itself says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Without `qzSetLogLevel`.
    Before1_3,
    /// With it.
    From1_3,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Before1_3 => "QATzip before 1.3",
            Self::From1_3 => "QATzip 1.3 or later",
        })
    }
}

impl Api {
    /// Opens the library at `path` (or, without a slash, found by the system's loader) for good.
    ///
    /// # Errors
    /// [`LoadError`]. A library that was opened and lacks a function stays open, like any other.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        // SAFETY: initialisers of a library run when it is opened; whoever names a library trusts it with the process.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|error| LoadError::Loader(chain(&error)))?;
        let missing = |function| LoadError::Function { library: path.to_owned(), function };
        // SAFETY: the types are those of the header for all versions of this SONAME, here and in the lines below.
        let api = unsafe {
            Self {
                qz_init: find(&library, c"qzInit").ok_or_else(|| missing("qzInit"))?,
                qz_setup_session_deflate: find(&library, c"qzSetupSessionDeflate")
                    .ok_or_else(|| missing("qzSetupSessionDeflate"))?,
                qz_get_defaults_deflate: find(&library, c"qzGetDefaultsDeflate")
                    .ok_or_else(|| missing("qzGetDefaultsDeflate"))?,
                qz_compress: find(&library, c"qzCompress").ok_or_else(|| missing("qzCompress"))?,
                qz_teardown_session: find(&library, c"qzTeardownSession")
                    .ok_or_else(|| missing("qzTeardownSession"))?,
                qz_decompress: find(&library, c"qzDecompress"),
                qz_close: find(&library, c"qzClose"),
                qz_set_log_level: find(&library, c"qzSetLogLevel"),
                cpa_dc_get_num_instances: find(&library, c"cpaDcGetNumInstances"),
            }
        };
        // Its own threads and exit handlers may run until the process ends.
        std::mem::forget(library);
        Ok(api)
    }

    /// What can be told of the library's version.
    #[must_use]
    pub fn version(&self) -> Version {
        if self.qz_set_log_level.is_some() { Version::From1_3 } else { Version::Before1_3 }
    }
}

/// The function of that name.
///
/// # Safety
/// `F` must be the type of a pointer to it.
unsafe fn find<F: Copy>(library: &Library, name: &std::ffi::CStr) -> Option<F> {
    // SAFETY: the caller's promise.
    let symbol = unsafe { library.get::<F>(name.to_bytes_with_nul()) };
    symbol.ok().map(|symbol| *symbol)
}

/// An error with what is behind it, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Api, LoadError};
    use std::path::Path;

    #[test]
    fn a_file_that_is_no_library_and_a_library_without_the_functions_are_told_apart() {
        let own = std::env::current_exe().unwrap().with_file_name("no-such-library.so");
        assert!(matches!(Api::load(&own), Err(LoadError::Loader(_))));
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(matches!(Api::load(&manifest), Err(LoadError::Loader(_))));
        let error = Api::load(Path::new("libc.so.6")).unwrap_err();
        assert!(matches!(&error, LoadError::Function { function: "qzInit", .. }), "{error}");
        assert_eq!(error.to_string(), "`libc.so.6` has no function `qzInit`");
    }
}
