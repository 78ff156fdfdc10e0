//! A stand-in for libqatzip: the same functions, layouts and return codes, with deflate computed on the CPU, latencies made
//! by sleeping, and faults on demand. It is a simulation for tests; nothing about the speed of a device follows from it.
//!
//! The script comes from the variable `QATZIP_SIM` (see the README of this crate) or from [`qatzip_sim_control`]; what was
//! seen is read with [`qatzip_sim_counter`], or, from outside of the process, in the file named by `QATZIP_SIM_COUNTERS`.

mod deflate;
mod device;
mod script;
mod session;

use device::hold;
use qatzip_sys::{
    QZ_BUF_ERROR, QZ_DATA_ERROR, QZ_DUPLICATE, QZ_FAIL, QZ_NOSW_NO_INST_ATTACH, QZ_OK, QZ_PARAMS, QzSession,
    QzSessionParamsDeflate,
};
use script::{Fault, Script};
use session::{Record, Standing};
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint};
use std::slice;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// A code that no header knows.
const UNKNOWN: c_int = -77;

unsafe extern "C" {
    /// `int atexit(void (*)(void))` of C.
    fn atexit(handler: extern "C" fn()) -> c_int;
}

/// The library frees its devices when the process exits, and here, as may be there, waits for what they still do.
extern "C" fn at_exit() {
    while hold().state().counters.in_flight > 0 {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Writes why and ends the process: what the real library does with `abort`, and what a test with a broken set-up needs.
fn stop(why: &str) -> ! {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "qatzip-sim: {why}");
    std::process::abort()
}

/// Begins the process's use of the device, or of `session` when another session has begun it.
///
/// # Safety
/// `session` is null or points to a session that stays where it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qzInit(session: *mut QzSession, software_backup: c_uchar) -> c_int {
    // SAFETY: the caller's promise.
    let Some(session) = (unsafe { session.as_mut() }) else { return QZ_PARAMS };
    let mut held = hold();
    let state = held.state();
    if state.refused {
        state.counters.calls_after_refusal += 1;
    }
    state.counters.differing_sessions += u64::from(software_backup != 0);
    let answer = match state.init {
        Some(QZ_OK) => QZ_DUPLICATE,
        Some(refused) => refused,
        None => -c_int::try_from(state.script.init).unwrap_or(c_int::MAX),
    };
    if state.init.is_none() && answer == QZ_OK {
        // SAFETY: the handler is a function without conditions, and the library stays loaded.
        unsafe { atexit(at_exit) };
    }
    state.init.get_or_insert(answer);
    state.refused = answer < 0;
    session.hw_session_stat = answer.min(QZ_OK).into();
    device::report(state);
    answer
}

/// Gives `session` its settings.
///
/// # Safety
/// Both pointers are null or valid, and `session` stays where it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qzSetupSessionDeflate(
    session: *mut QzSession,
    settings: *mut QzSessionParamsDeflate,
) -> c_int {
    // SAFETY: the caller's promise.
    let (Some(session), Some(settings)) = (unsafe { session.as_mut() }, unsafe { settings.as_ref() }) else {
        return QZ_PARAMS;
    };
    let mut held = hold();
    let state = held.state();
    let answer = session::set_up(state, session, settings);
    device::report(state);
    answer
}

/// Fills in the settings of a session that asks for nothing in particular.
///
/// # Safety
/// `settings` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qzGetDefaultsDeflate(settings: *mut QzSessionParamsDeflate) -> c_int {
    // SAFETY: the caller's promise.
    let Some(settings) = (unsafe { settings.as_mut() }) else { return QZ_PARAMS };
    session::defaults(settings);
    QZ_OK
}

/// Compresses `*source_len` bytes in one request; both lengths become what was taken and what was written.
///
/// # Safety
/// The pointers are null or valid for the given lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qzCompress(
    session: *mut QzSession,
    source: *const c_uchar,
    source_len: *mut c_uint,
    target: *mut c_uchar,
    target_len: *mut c_uint,
    last: c_uint,
) -> c_int {
    if session.is_null() || source.is_null() || target.is_null() {
        return QZ_PARAMS;
    }
    // SAFETY: the caller's promise.
    let (Some(taken), Some(written)) = (unsafe { source_len.as_mut() }, unsafe { target_len.as_mut() }) else {
        return QZ_PARAMS;
    };
    // SAFETY: the caller promises that many bytes behind both pointers.
    let plain = unsafe { slice::from_raw_parts(source, *taken as usize) };
    // SAFETY: as above, and nobody else reads or writes them during the call.
    let room = unsafe { slice::from_raw_parts_mut(target, *written as usize) };
    (*taken, *written) = (0, 0);

    let mut held = hold();
    let state = held.state();
    // SAFETY: it is not null, and the caller's own.
    let standing = Record::standing(unsafe { &*session }, session, state);
    let Standing::Ready { buffer } = standing else {
        if matches!(standing, Standing::Absent) {
            state.counters.calls_without_setup += 1;
        } else {
            state.counters.calls_after_refusal += 1;
        }
        device::report(state);
        drop(held);
        return gzip_in_software(plain, room, taken, written);
    };
    state.counters.divided_calls += u64::from(last != 1 || plain.len() > buffer as usize);
    let Some(request) = state.enter() else {
        device::report(state);
        return QZ_NOSW_NO_INST_ATTACH;
    };
    let script = state.script.clone();
    drop(held);

    let answer = serve(&script, request, plain, room);
    let mut held = hold();
    let state = held.state();
    state.counters.in_flight -= 1;
    match &answer {
        Ok((_, true)) => state.counters.right += 1,
        Ok((_, false)) => state.counters.wrong += 1,
        Err(_) => state.counters.failed += 1,
    }
    device::report(state);
    match answer {
        Ok(((from, to), _)) => {
            (*taken, *written) = (from, to);
            QZ_OK
        }
        Err(code) => code,
    }
}

/// Bytes taken and written.
type Lengths = (c_uint, c_uint);

/// The device at work: lengths and whether all is right, or the code of a failure.
fn serve(script: &Script, request: u64, plain: &[u8], room: &mut [u8]) -> Result<(Lengths, bool), c_int> {
    match script.latency(request, plain.len() as u64) {
        Some(latency) => std::thread::sleep(latency),
        None => loop {
            std::thread::sleep(Duration::from_hours(1));
        },
    }
    let fault = script.fault(request);
    match fault {
        Some(Fault::Fail) => return Err(QZ_FAIL),
        Some(Fault::Buffer) => return Err(QZ_BUF_ERROR),
        Some(Fault::Unknown) => return Err(UNKNOWN),
        _ => {}
    }
    let taken = if fault == Some(Fault::Short) { plain.len() / 2 } else { plain.len() };
    let capacity = room.len();
    let made = device::own_time(|| deflate::raw(&plain[..taken], room)).ok_or(QZ_BUF_ERROR)?;
    let long = |n: usize| c_uint::try_from(n).unwrap_or(c_uint::MAX);
    let lengths = match fault {
        Some(Fault::Empty) => (long(taken), 0),
        Some(Fault::Long) => (long(taken), long(capacity + 1)),
        Some(Fault::Greedy) => (long(taken + 1), long(made)),
        _ => (long(taken), long(made)),
    };
    if fault == Some(Fault::Corrupt) {
        room[made / 2] ^= 0x10;
    }
    Ok((lengths, fault.is_none()))
}

/// What the real library does with a session it does not know: success, and a format nobody asked for.
fn gzip_in_software(plain: &[u8], room: &mut [u8], taken: &mut c_uint, written: &mut c_uint) -> c_int {
    match deflate::gzip(plain, room) {
        None => QZ_BUF_ERROR,
        Some(length) => {
            *taken = c_uint::try_from(plain.len()).unwrap_or(c_uint::MAX);
            *written = c_uint::try_from(length).unwrap_or(c_uint::MAX);
            QZ_OK
        }
    }
}

/// Decompresses one raw deflate stream.
///
/// # Safety
/// The pointers are null or valid for the given lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qzDecompress(
    session: *mut QzSession,
    source: *const c_uchar,
    source_len: *mut c_uint,
    target: *mut c_uchar,
    target_len: *mut c_uint,
) -> c_int {
    if session.is_null() || source.is_null() || target.is_null() {
        return QZ_PARAMS;
    }
    // SAFETY: the caller's promise.
    let (Some(taken), Some(written)) = (unsafe { source_len.as_ref() }, unsafe { target_len.as_mut() }) else {
        return QZ_PARAMS;
    };
    // SAFETY: the caller promises that many bytes behind both pointers.
    let stream = unsafe { slice::from_raw_parts(source, *taken as usize) };
    // SAFETY: as above, and nobody else reads or writes them during the call.
    let room = unsafe { slice::from_raw_parts_mut(target, *written as usize) };
    *written = 0;
    match deflate::inflate(stream, room) {
        None => QZ_DATA_ERROR,
        Some(length) => {
            *written = c_uint::try_from(length).unwrap_or(c_uint::MAX);
            QZ_OK
        }
    }
}

/// Ends a session.
///
/// # Safety
/// `session` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qzTeardownSession(session: *mut QzSession) -> c_int {
    // SAFETY: the caller's promise.
    let Some(owned) = (unsafe { session.as_mut() }) else { return QZ_PARAMS };
    let mut held = hold();
    let state = held.state();
    if matches!(Record::standing(owned, session, state), Standing::Refused) {
        state.counters.calls_after_refusal += 1;
    }
    if Record::take(owned) {
        state.counters.torn_down += 1;
    }
    device::report(state);
    QZ_OK
}

/// Ends the process's use of the device.
///
/// # Safety
/// `session` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qzClose(session: *mut QzSession) -> c_int {
    let mut held = hold();
    let state = held.state();
    if state.refused {
        state.counters.calls_after_refusal += 1;
    }
    device::report(state);
    if session.is_null() { QZ_PARAMS } else { QZ_OK }
}

/// Sets how much the library logs; gives the level before.
#[unsafe(no_mangle)]
pub extern "C" fn qzSetLogLevel(level: c_int) -> c_int {
    static LEVEL: AtomicI32 = AtomicI32::new(3);
    LEVEL.swap(level, Ordering::Relaxed)
}

/// Instances that this process has, once `qzInit` has succeeded.
///
/// # Safety
/// `count` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cpaDcGetNumInstances(count: *mut u16) -> c_int {
    // SAFETY: the caller's promise.
    let Some(count) = (unsafe { count.as_mut() }) else { return -1 };
    let mut held = hold();
    let state = held.state();
    if state.init != Some(QZ_OK) {
        return -1;
    }
    *count = u16::try_from(state.script.instances).unwrap_or(u16::MAX);
    0
}

/// Replaces the script; 0 when it was understood.
///
/// # Safety
/// `text` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qatzip_sim_control(text: *const c_char) -> c_int {
    if text.is_null() {
        return -1;
    }
    // SAFETY: it is not null, and the caller promises that it ends.
    let script = unsafe { CStr::from_ptr(text) }.to_str().ok().and_then(Script::parse);
    let Some(script) = script else { return -1 };
    hold().state().script = script;
    0
}

/// The counter of that name; the greatest number when there is none.
///
/// # Safety
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qatzip_sim_counter(name: *const c_char) -> u64 {
    if name.is_null() {
        return u64::MAX;
    }
    // SAFETY: it is not null, and the caller promises that it ends.
    let name = unsafe { CStr::from_ptr(name) };
    let counters = hold().state().counters().named();
    counters.into_iter().find(|(known, _)| known.as_bytes() == name.to_bytes()).map_or(u64::MAX, |(_, count)| count)
}
