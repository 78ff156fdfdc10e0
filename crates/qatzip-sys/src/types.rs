//! The structures that cross the border, with their layouts asserted.

use std::ffi::{c_int, c_long, c_uchar, c_uint, c_ulong, c_void};
use std::mem::{align_of, offset_of, size_of};
use std::ptr;

/// `QzSession_T`: one stream of requests. One thread's own; must not be moved once the library has seen it, so box it.
#[repr(C)]
#[derive(Debug)]
pub struct QzSession {
    /// What `qzInit` found.
    pub hw_session_stat: c_long,
    /// State of the session.
    pub thd_sess_stat: c_int,
    /// The library's own.
    pub internal: *mut c_void,
    /// Bytes taken by all calls of this session.
    pub total_in: c_ulong,
    /// Bytes written by all calls of this session.
    pub total_out: c_ulong,
}

impl QzSession {
    /// A session as the library wants it before `qzInit`.
    #[must_use]
    pub const fn zeroed() -> Self {
        Self { hw_session_stat: 0, thd_sess_stat: 0, internal: ptr::null_mut(), total_in: 0, total_out: 0 }
    }
}

/// `QzSessionParamsCommon_T`: the settings that all kinds of sessions have.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QzSessionParamsCommon {
    /// `QZ_DIR_COMPRESS`, `QZ_DIR_DECOMPRESS` or `QZ_DIR_BOTH`.
    pub direction: c_uint,
    /// Level, from 1.
    pub comp_lvl: c_uint,
    /// `QZ_DEFLATE`.
    pub comp_algorithm: c_uchar,
    /// Most forks of the process.
    pub max_forks: c_uint,
    /// Whether the library may compute in software. With 1, raw deflate and a failure in mid-call, OK comes with a truncated
    /// stream.
    pub sw_backup: c_uchar,
    /// Size of the device's buffers in bytes, a power of two of 1 KiB to 512 KiB; the first session of the process decides.
    pub hw_buff_sz: c_uint,
    /// Size of the buffer of the streaming calls in bytes.
    pub strm_buff_sz: c_uint,
    /// Below this many bytes of input the library computes in software.
    pub input_sz_thrshold: c_uint,
    /// Requests of one call in flight.
    pub req_cnt_thrshold: c_uint,
    /// How often no instance may be found before the library tries for one again.
    pub wait_cnt_thrshold: c_uint,
    /// `QZ_PERIODICAL_POLLING` or `QZ_BUSY_POLLING`.
    pub polling_mode: c_uint,
    /// Whether a small number of requests counts for more than throughput.
    pub is_sensitive_mode: c_uint,
}

/// `QzSessionParamsDeflate_T`: the settings of a deflate session, with 16 spare bytes behind, so that a library which knows
/// more fields writes into them and not past the end.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QzSessionParamsDeflate {
    /// The settings of all sessions.
    pub common: QzSessionParamsCommon,
    /// `QZ_DYNAMIC_HDR` or `QZ_STATIC_HDR`.
    pub huffman_hdr: c_uint,
    /// `QZ_DEFLATE_RAW`, or another format.
    pub data_fmt: c_uint,
    /// Not the library's as far as is known; zero.
    pub spare: [u32; 4],
}

/// Size of `QzSessionParamsDeflate_T` in the library.
const DEFLATE_LEN: usize = 56;

const _: () = {
    assert!(size_of::<QzSession>() == 40 && align_of::<QzSession>() == 8);
    assert!(offset_of!(QzSession, hw_session_stat) == 0);
    assert!(offset_of!(QzSession, thd_sess_stat) == 8);
    assert!(offset_of!(QzSession, internal) == 16);
    assert!(offset_of!(QzSession, total_in) == 24);
    assert!(offset_of!(QzSession, total_out) == 32);

    assert!(size_of::<QzSessionParamsCommon>() == 48 && align_of::<QzSessionParamsCommon>() == 4);
    assert!(offset_of!(QzSessionParamsCommon, direction) == 0);
    assert!(offset_of!(QzSessionParamsCommon, comp_lvl) == 4);
    assert!(offset_of!(QzSessionParamsCommon, comp_algorithm) == 8);
    assert!(offset_of!(QzSessionParamsCommon, max_forks) == 12);
    assert!(offset_of!(QzSessionParamsCommon, sw_backup) == 16);
    assert!(offset_of!(QzSessionParamsCommon, hw_buff_sz) == 20);
    assert!(offset_of!(QzSessionParamsCommon, strm_buff_sz) == 24);
    assert!(offset_of!(QzSessionParamsCommon, input_sz_thrshold) == 28);
    assert!(offset_of!(QzSessionParamsCommon, req_cnt_thrshold) == 32);
    assert!(offset_of!(QzSessionParamsCommon, wait_cnt_thrshold) == 36);
    assert!(offset_of!(QzSessionParamsCommon, polling_mode) == 40);
    assert!(offset_of!(QzSessionParamsCommon, is_sensitive_mode) == 44);

    assert!(align_of::<QzSessionParamsDeflate>() == 4);
    assert!(offset_of!(QzSessionParamsDeflate, common) == 0);
    assert!(offset_of!(QzSessionParamsDeflate, huffman_hdr) == 48);
    assert!(offset_of!(QzSessionParamsDeflate, data_fmt) == 52);
    assert!(offset_of!(QzSessionParamsDeflate, spare) == DEFLATE_LEN);
    assert!(size_of::<QzSessionParamsDeflate>() == DEFLATE_LEN + 16);
};
