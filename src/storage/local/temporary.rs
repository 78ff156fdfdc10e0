//! Names of the files in `tmp/`, and which of them nobody writes any more.
//!
//! A name is `<realm>-<pid>-<start>-<counter>.tmp`: the realm stands for one boot of one computer and the namespaces
//! in which its process numbers and start times mean something. Only files of one's own realm can be judged, so a
//! file that another computer or container is writing is never touched.

use crate::base::{hex, host};
use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

/// Distinguishes the files of one process.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// A process, told apart from any other one anywhere and at any time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Writer {
    /// `None` when the system does not tell; then no file can be judged.
    realm: Option<[u8; 16]>,
    pid: i32,
    /// In clock ticks since the boot.
    start: u64,
}

impl Writer {
    /// The running process.
    pub(super) fn this_process() -> Self {
        let pid = getpid().as_raw_nonzero().get();
        let start = start_of(pid);
        Self { realm: start.and_then(|_| realm(pid)), pid, start: start.unwrap_or(0) }
    }

    /// A name that this process has not used before.
    pub(super) fn next_name(&self) -> String {
        let realm = hex::encode(&self.realm.unwrap_or_default());
        let counter = COUNTER.fetch_add(1, Ordering::Relaxed);
        format!("{realm}-{}-{}-{counter}.tmp", self.pid, self.start)
    }

    /// The writer of the file `name`, if its name says so.
    pub(super) fn of(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(".tmp")?.split('-');
        let writer = Self {
            realm: Some(hex::decode(parts.next()?)?),
            pid: parts.next()?.parse().ok()?,
            start: parts.next()?.parse().ok()?,
        };
        parts.next()?.parse::<u64>().ok()?;
        parts.next().is_none().then_some(writer)
    }

    /// Whether the process that wrote the file `name` has certainly ended, as far as this process can know.
    pub(super) fn knows_ended(&self, name: &str) -> bool {
        let Some(writer) = Self::of(name) else {
            return false;
        };
        if self.realm.is_none() || writer.realm != self.realm {
            return false;
        }
        let Some(pid) = Pid::from_raw(writer.pid).filter(|_| writer.pid > 0) else {
            return false;
        };
        // Asked of the kernel, not of /proc: that may hide the processes of other users.
        test_kill_process(pid) == Err(Errno::SRCH) || start_of(writer.pid).is_some_and(|start| start != writer.start)
    }
}

/// This boot and the namespaces of process numbers and of time, hashed; `None` if /proc is missing or another
/// namespace's.
fn realm(pid: i32) -> Option<[u8; 16]> {
    if fs::read_link("/proc/self").ok()?.to_str()? != pid.to_string() {
        return None;
    }
    let boot = fs::read("/proc/sys/kernel/random/boot_id").ok()?;
    let pids = fs::read_link("/proc/self/ns/pid").ok()?;
    // Kernels before 5.6 have one time for all.
    let time = fs::read_link("/proc/self/ns/time").unwrap_or_default();
    let mut hasher = blake3::Hasher::new_derive_key("nightjar 2026 realm of a temporary file");
    for part in [boot.as_slice(), pids.as_os_str().as_encoded_bytes(), time.as_os_str().as_encoded_bytes()] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    let mut realm = [0; 16];
    hasher.finalize_xof().fill(&mut realm);
    Some(realm)
}

/// When a process started; see [`host::start_of`].
fn start_of(pid: i32) -> Option<u64> {
    host::start_of(&pid.to_string())
}

#[cfg(test)]
mod tests {
    use super::Writer;
    use std::process::Command;

    #[test]
    fn names_tell_their_writer_and_never_repeat() {
        let me = Writer::this_process();
        let (first, second) = (me.next_name(), me.next_name());
        assert_ne!(first, second);
        assert_eq!(Writer::of(&first), Some(me.clone()));
        assert!(!me.knows_ended(&first));
    }

    #[test]
    fn only_a_process_of_this_boot_that_is_gone_has_ended() {
        let me = Writer::this_process();
        let mut child = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let writer = |realm, pid, start| Writer { realm, pid, start }.next_name();
        let start = super::start_of(pid).unwrap();
        assert!(!me.knows_ended(&writer(me.realm, pid, start)), "it lives");
        assert!(me.knows_ended(&writer(me.realm, pid, start + 1)), "its number was another's");
        child.kill().unwrap();
        assert!(!me.knows_ended(&writer(me.realm, pid, start)), "not yet waited for");
        child.wait().unwrap();
        assert!(me.knows_ended(&writer(me.realm, pid, start)));
        assert!(!me.knows_ended(&writer(Some([7; 16]), pid, start)), "another boot or host");
        for unknown in ["x.tmp", ".DS_Store", "-1-2-3.tmp", &writer(me.realm, -1, start), &writer(me.realm, 0, 0)] {
            assert!(!me.knows_ended(unknown), "{unknown}");
        }
    }
}
