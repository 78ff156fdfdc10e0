//! What a session knows of itself, behind the pointer that the library calls `internal`.

use crate::device::State;
use qatzip_sys::{QZ_DUPLICATE, QZ_OK, QZ_PARAMS, QzSession, QzSessionParamsCommon, QzSessionParamsDeflate};
use std::ffi::c_int;
use std::thread::{self, ThreadId};

/// Buffer sizes that the library takes, in bytes.
const BUFFERS: std::ops::RangeInclusive<u32> = (1 << 10)..=(512 << 10);

/// The record behind `internal`.
pub(crate) struct Record {
    thread: ThreadId,
    /// Where the session was when it was set up.
    place: usize,
    /// Its buffer, in bytes; `None` when the set-up was refused.
    buffer: Option<u32>,
}

/// How a session stands to the device.
pub(crate) enum Standing {
    /// It was never set up.
    Absent,
    /// Its set-up, or the start of the whole process, was refused.
    Refused,
    /// It may be used for requests of up to `buffer` bytes.
    Ready { buffer: u32 },
}

impl Record {
    /// How `session`, found at `place`, stands; a use from elsewhere than where it was set up is counted.
    pub(crate) fn standing(session: &QzSession, place: *const QzSession, state: &mut State) -> Standing {
        if state.refused {
            return Standing::Refused;
        }
        // SAFETY: `internal` is null or was made by `set_up` below, and only `take` frees it and then clears the pointer.
        let Some(record) = (unsafe { session.internal.cast::<Self>().as_ref() }) else { return Standing::Absent };
        let foreign = record.thread != thread::current().id() || record.place != place.addr();
        state.counters.foreign_calls += u64::from(foreign);
        record.buffer.map_or(Standing::Refused, |buffer| Standing::Ready { buffer })
    }

    /// Frees the record of `session`; says whether it was one that had been set up.
    pub(crate) fn take(session: &mut QzSession) -> bool {
        let record = std::mem::replace(&mut session.internal, std::ptr::null_mut()).cast::<Self>();
        if record.is_null() {
            return false;
        }
        // SAFETY: it was made by `Box::into_raw` in `set_up`, and the pointer to it is gone.
        unsafe { Box::from_raw(record) }.buffer.is_some()
    }
}

/// Answers a set-up as the library does.
pub(crate) fn set_up(state: &mut State, session: &mut QzSession, settings: &QzSessionParamsDeflate) -> c_int {
    let place: *const QzSession = session;
    match Record::standing(session, place, state) {
        Standing::Refused => {
            state.counters.calls_after_refusal += 1;
            return state.init.filter(|code| *code < 0).unwrap_or(QZ_PARAMS);
        }
        Standing::Ready { .. } => return QZ_DUPLICATE,
        Standing::Absent => {}
    }
    let answer = match state.script.setup {
        0 if acceptable(settings) => QZ_OK,
        0 => QZ_PARAMS,
        code => -c_int::try_from(code).unwrap_or(c_int::MAX),
    };
    let words = words(settings);
    let first = *state.settings.get_or_insert(words);
    if answer == QZ_OK {
        if settings.common.hw_buff_sz > first[BUFFER_WORD] {
            crate::stop("a session asks for a larger buffer than the first of the process had");
        }
        state.counters.differing_sessions += u64::from(words != first);
        state.counters.sessions += 1;
    }
    let buffer = (answer == QZ_OK).then_some(settings.common.hw_buff_sz);
    let record = Record { thread: thread::current().id(), place: place.addr(), buffer };
    session.internal = Box::into_raw(Box::new(record)).cast();
    session.thd_sess_stat = answer;
    answer
}

fn acceptable(settings: &QzSessionParamsDeflate) -> bool {
    let common = &settings.common;
    common.direction <= 2
        && (1..=12).contains(&common.comp_lvl)
        && common.comp_algorithm == 8
        && common.sw_backup <= 1
        && common.hw_buff_sz.is_power_of_two()
        && BUFFERS.contains(&common.hw_buff_sz)
        && (1 << 10..2 << 20).contains(&common.strm_buff_sz)
        && (128..=BUFFERS.end() * 2).contains(&common.input_sz_thrshold)
        && (1..=32).contains(&common.req_cnt_thrshold)
        && common.polling_mode <= 1
        && common.is_sensitive_mode <= 1
        && settings.huffman_hdr <= 1
        && settings.data_fmt <= 3
}

/// Where `words` has the size of the buffer.
const BUFFER_WORD: usize = 5;

/// The settings as words that can be compared.
fn words(settings: &QzSessionParamsDeflate) -> [u32; 14] {
    let common = &settings.common;
    [
        common.direction,
        common.comp_lvl,
        common.comp_algorithm.into(),
        common.max_forks,
        common.sw_backup.into(),
        common.hw_buff_sz,
        common.strm_buff_sz,
        common.input_sz_thrshold,
        common.req_cnt_thrshold,
        common.wait_cnt_thrshold,
        common.polling_mode,
        common.is_sensitive_mode,
        settings.huffman_hdr,
        settings.data_fmt,
    ]
}

/// The settings of a session that asks for nothing in particular.
pub(crate) fn defaults(settings: &mut QzSessionParamsDeflate) {
    settings.common = QzSessionParamsCommon {
        direction: 2,
        comp_lvl: 1,
        comp_algorithm: 8,
        max_forks: 3,
        sw_backup: 1,
        hw_buff_sz: 64 << 10,
        strm_buff_sz: 64 << 10,
        input_sz_thrshold: 1024,
        req_cnt_thrshold: 32,
        wait_cnt_thrshold: 8,
        polling_mode: 0,
        is_sensitive_mode: 0,
    };
    settings.huffman_hdr = 0;
    settings.data_fmt = 2;
}
