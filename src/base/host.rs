//! Which host and process this is, as far as the system says.

use std::fs;
use std::time::Duration;

/// What tells this host and process from others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Name of the host.
    pub name: String,
    /// `/etc/machine-id`, empty where there is none.
    pub machine: String,
    /// Boot id, empty where there is none.
    pub boot: String,
    /// Process id.
    pub pid: u64,
    /// Start of the process in clock ticks since boot, 0 where unknown.
    pub started: u64,
    /// Number of the PID namespace, 0 where unknown.
    pub namespace: u64,
}

impl Host {
    /// Asks the system.
    #[must_use]
    pub fn this() -> Self {
        let line = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").ok().and_then(|link| number_in(link.to_str()?));
        Self {
            name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            machine: line("/etc/machine-id"),
            boot: line("/proc/sys/kernel/random/boot_id"),
            pid: u64::from(std::process::id()),
            started: start_of("self").unwrap_or(0),
            namespace: namespace.unwrap_or(0),
        }
    }
}

/// The most memory that this process has had resident so far, in bytes; `None` where the system does not tell.
#[must_use]
pub fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Processor time that all threads of this process have taken so far.
#[must_use]
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The digits in `pid:[4026531836]`.
fn number_in(link: &str) -> Option<u64> {
    link.split_once('[')?.1.strip_suffix(']')?.parse().ok()
}

/// Field 22 of `/proc/<pid>/stat`; the second field may hold spaces and parentheses.
fn start_time(stat: &[u8]) -> Option<u64> {
    let name_end = stat.iter().rposition(|b| *b == b')')?;
    let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    rest.split_ascii_whitespace().nth(22 - 3)?.parse().ok()
}

/// When a process (its number, or `self`) started, in clock ticks since boot; `None` where the system does not tell.
#[must_use]
pub fn start_of(process: &str) -> Option<u64> {
    start_time(&fs::read(format!("/proc/{process}/stat")).ok()?)
}

#[cfg(test)]
mod tests {
    use super::{Host, number_in, start_time};

    #[test]
    fn the_start_time_is_found_behind_any_program_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 12345 1000 1 18446744073709551615";
        assert_eq!(start_time(stat.as_bytes()), Some(12345));
        assert_eq!(start_time(b"7 (cut"), None);
        assert_eq!(number_in("pid:[4026531836]"), Some(4_026_531_836));
    }

    #[test]
    fn this_host_has_a_name() {
        assert!(!Host::this().name.is_empty());
    }
}
