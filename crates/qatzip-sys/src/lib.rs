//! Raw bindings to Intel QATzip (`libqatzip.so.3`, 1.0.9 to 1.3.x), loaded at run time.
//!
//! Nothing is linked: [`Api::load`] opens the library by path or SONAME and gives a table of its functions, so that a
//! program built with this crate runs on hosts without QuickAssist. There is no policy here: no session is made, no
//! fallback, no thread. What the C header promises is what you get, and its rules are yours to keep; the most important
//! ones stand at the functions they belong to.
//!
//! ```no_run
//! use qatzip_sys::{Api, QZ_OK, QzSession};
//! use std::path::Path;
//!
//! let api = Api::load(Path::new("libqatzip.so.3"))?;
//! let mut session = Box::new(QzSession::zeroed());
//! // SAFETY: the session is boxed, used by this thread only, and stays where it is.
//! let answer = unsafe { (api.qz_init)(&raw mut *session, 0) };
//! assert!(answer >= QZ_OK, "no device: {answer}");
//! # Ok::<(), qatzip_sys::LoadError>(())
//! ```
//!
//! The layouts are those of x86-64 and other 64-bit targets with C's usual alignment, asserted when the crate is compiled.

mod api;
mod types;

pub use api::{
    Api, CpaDcGetNumInstances, LoadError, QzCompress, QzDecompress, QzGetDefaultsDeflate, QzInit, QzOfSession,
    QzSetLogLevel, QzSetupSessionDeflate, Version,
};
pub use types::{QzSession, QzSessionParamsCommon, QzSessionParamsDeflate};

use std::ffi::c_int;

/// Success.
pub const QZ_OK: c_int = 0;
/// The process, or the session, is set up already: as good as success.
pub const QZ_DUPLICATE: c_int = 1;
/// A parameter is out of its range.
pub const QZ_PARAMS: c_int = -1;
/// The call failed, and the library does not say why.
pub const QZ_FAIL: c_int = -2;
/// The output does not fit.
pub const QZ_BUF_ERROR: c_int = -3;
/// The input is damaged.
pub const QZ_DATA_ERROR: c_int = -4;
/// The device found its own output to be wrong.
pub const QZ_INTEG: c_int = -100;
/// There is no device, and software was not allowed.
pub const QZ_NOSW_NO_HW: c_int = -101;
/// There is no memory driver, and software was not allowed.
pub const QZ_NOSW_NO_MDRV: c_int = -102;
/// No instance is free, and software was not allowed.
pub const QZ_NOSW_NO_INST_ATTACH: c_int = -103;
/// There is too little memory, and software was not allowed.
pub const QZ_NOSW_LOW_MEM: c_int = -104;
/// The format is not supported, and software was not allowed.
pub const QZ_NOSW_UNSUPPORTED_FMT: c_int = -116;

/// Direction of a session: compress only.
pub const QZ_DIR_COMPRESS: u32 = 0;
/// Direction of a session: decompress only.
pub const QZ_DIR_DECOMPRESS: u32 = 1;
/// Direction of a session: both.
pub const QZ_DIR_BOTH: u32 = 2;
/// Huffman codes made for each request.
pub const QZ_DYNAMIC_HDR: u32 = 0;
/// Huffman codes of the standard.
pub const QZ_STATIC_HDR: u32 = 1;
/// Raw deflate (RFC 1951), without a header or a checksum.
pub const QZ_DEFLATE_RAW: u32 = 3;
/// The waiting thread sleeps between looks at the device.
pub const QZ_PERIODICAL_POLLING: u32 = 0;
/// The waiting thread looks all the time.
pub const QZ_BUSY_POLLING: u32 = 1;
/// The algorithm of sessions of [`QzSessionParamsDeflate`].
pub const QZ_DEFLATE: u8 = 8;
/// The largest buffer of a session in bytes, and so the largest request.
pub const QZ_HW_BUFF_MAX_SZ: u32 = 512 * 1024;
