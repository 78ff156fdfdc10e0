//! What the process asks of the system before it begins.

use crate::base::cancel::Cancel;
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Keeps keys out of core dumps and debuggers, and lets as many files be open as the system allows. Where the system
/// refuses, the work goes on without.
pub(super) fn harden() {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let _ = setrlimit(Resource::Core, none);
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let files = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, maximum: files.maximum });
}

/// Has the first SIGINT, SIGTERM or SIGHUP ask for a stop, and the second end the process at once. A limit of file sizes
/// becomes an error of the write that exceeds it.
pub(super) fn listen_for_signals(cancel: &Cancel) -> io::Result<()> {
    let asked = Arc::new(AtomicBool::new(false));
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // They run in the order in which they are registered, so the first signal finds the flag not yet set.
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))?;
        flag::register(signal, Arc::clone(&asked))?;
        flag::register_usize(signal, cancel.cell(), usize::try_from(signal).unwrap_or(usize::MAX))?;
    }
    Ok(())
}
