//! One session with the device: the only calls into the library.

use crate::codec::deflate_level;
use qatzip_sys::{
    Api, QZ_BUSY_POLLING, QZ_DEFLATE, QZ_DEFLATE_RAW, QZ_DIR_COMPRESS, QZ_DYNAMIC_HDR, QZ_HW_BUFF_MAX_SZ, QZ_OK,
    QZ_PERIODICAL_POLLING, QzSession, QzSessionParamsCommon, QzSessionParamsDeflate, Version,
};
use std::ffi::{c_int, c_uint};

/// The settings of every session of the process; the library wants them all alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// 1 to 9.
    pub(super) level: i32,
    /// Whether a waiting thread looks for the answer all the time.
    pub(super) busy: bool,
}

impl Settings {
    fn parameters(self, version: Version) -> QzSessionParamsDeflate {
        let most = if version == Version::Before1_3 { 9 } else { 12 };
        QzSessionParamsDeflate {
            common: QzSessionParamsCommon {
                direction: QZ_DIR_COMPRESS,
                comp_lvl: deflate_level(self.level).clamp(1, most).unsigned_abs(),
                comp_algorithm: QZ_DEFLATE,
                max_forks: 0,
                sw_backup: 0,
                hw_buff_sz: QZ_HW_BUFF_MAX_SZ,
                strm_buff_sz: 64 << 10,
                input_sz_thrshold: 128,
                req_cnt_thrshold: 32,
                wait_cnt_thrshold: 8,
                polling_mode: if self.busy { QZ_BUSY_POLLING } else { QZ_PERIODICAL_POLLING },
                is_sensitive_mode: 0,
            },
            huffman_hdr: QZ_DYNAMIC_HDR,
            data_fmt: QZ_DEFLATE_RAW,
            spare: [0; 4],
        }
    }
}

/// Why a request has no output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The library's code.
    Code(c_int),
    /// Success was answered with lengths that cannot be.
    Lengths,
}

/// A call that the library refused when a session was to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) call: &'static str,
    pub(super) code: c_int,
}

/// A session of the calling thread. It holds a raw pointer, so it cannot be sent to another.
#[derive(Debug)]
pub(super) struct Session {
    api: Api,
    /// From `Box::into_raw`; the library keeps a pointer to it.
    raw: *mut QzSession,
    /// Where the library writes.
    room: Vec<u8>,
}

impl Session {
    /// Begins a session. After an error the library must not be asked again.
    pub(super) fn begin(api: Api, settings: Settings) -> Result<Self, Refused> {
        // Never freed after a failure: the library may keep the pointer.
        let raw = Box::into_raw(Box::new(QzSession::zeroed()));
        // SAFETY: `raw` is a zeroed session of this thread that stays where it is.
        let code = unsafe { (api.qz_init)(raw, 0) };
        if code < QZ_OK {
            return Err(Refused { call: "qzInit", code });
        }
        let mut parameters = settings.parameters(api.version());
        // SAFETY: the session is initialised, the parameters are whole and have spare bytes behind.
        let code = unsafe { (api.qz_setup_session_deflate)(raw, &raw mut parameters) };
        if code < QZ_OK {
            return Err(Refused { call: "qzSetupSessionDeflate", code });
        }
        Ok(Self { api, raw, room: vec![0; bound(QZ_HW_BUFF_MAX_SZ as usize)] })
    }

    /// Instances of the process, where the library tells.
    pub(super) fn instances(&self) -> Option<usize> {
        let count = self.api.cpa_dc_get_num_instances?;
        let mut found = 0_u16;
        // SAFETY: the process is initialised, which the existence of a session shows, and the pointer is valid.
        let code = unsafe { count(&raw mut found) };
        (code == 0).then_some(usize::from(found))
    }

    /// Makes the raw deflate stream of `plain`, of at most [`QZ_HW_BUFF_MAX_SZ`] bytes, and gives its length. May never
    /// return.
    pub(super) fn compress(&mut self, plain: &[u8]) -> Result<usize, Failure> {
        let room = bound(plain.len()).min(self.room.len());
        let (Ok(given), Ok(capacity)) = (c_uint::try_from(plain.len()), c_uint::try_from(room)) else {
            return Err(Failure::Lengths);
        };
        let (mut taken, mut written) = (given, capacity);
        // SAFETY: the session is this thread's own and set up; the pointers are valid for the lengths beside them, and both
        // buffers belong to this thread for as long as the call lasts, even if it never ends.
        let code = unsafe {
            (self.api.qz_compress)(
                self.raw,
                plain.as_ptr(),
                &raw mut taken,
                self.room.as_mut_ptr(),
                &raw mut written,
                1,
            )
        };
        match code {
            QZ_OK if taken == given && written > 0 && written <= capacity => Ok(written as usize),
            QZ_OK => Err(Failure::Lengths),
            code => Err(Failure::Code(code)),
        }
    }

    /// The stream of the last call, of the length it gave.
    pub(super) fn stream(&self, length: usize) -> &[u8] {
        &self.room[..length]
    }

    /// Ends the session.
    pub(super) fn end(self) {
        // SAFETY: the session is set up, this thread's own, and not used afterwards.
        unsafe {
            (self.api.qz_teardown_session)(self.raw);
            drop(Box::from_raw(self.raw));
        }
    }
}

/// Most bytes of output for so many of input, after the library's own formula.
fn bound(plain: usize) -> usize {
    plain + plain / 8 + (8 * plain * 155 / 7) / 4096 + 2048
}

#[cfg(test)]
mod tests {
    use super::{Settings, bound};
    use qatzip_sys::Version;

    #[test]
    fn levels_stay_within_what_the_version_takes() {
        let level = |level, version| Settings { level, busy: false }.parameters(version).common.comp_lvl;
        assert_eq!([1, 5, 9].map(|n| level(n, Version::From1_3)), [1, 6, 12]);
        assert_eq!([1, 5, 9].map(|n| level(n, Version::Before1_3)), [1, 6, 9]);
    }

    #[test]
    fn the_room_for_the_output_is_larger_than_the_input() {
        assert!(bound(0) >= 2048);
        assert_eq!(bound(524_288), 524_288 + 65_536 + 22_674 + 2048);
    }
}
