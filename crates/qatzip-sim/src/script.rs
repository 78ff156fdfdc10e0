//! What the simulated device is told to do: one text of `name=number` pairs.

use std::time::Duration;

/// The variable that holds the script from the start; `qatzip_sim_control` replaces it later.
pub(crate) const VARIABLE: &str = "QATZIP_SIM";

/// How the device is built and how it fails. Of every `…_every`, 0 means never; requests count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// Instances, of which each serves one request at a time.
    pub(crate) instances: u64,
    /// What a request takes at least, in microseconds.
    pub(crate) base_us: u64,
    /// What each byte of input adds, in picoseconds.
    pub(crate) byte_ps: u64,
    /// What `qzInit` answers the first time, as a positive number: 101 is `-101`.
    pub(crate) init: u64,
    /// What `qzSetupSessionDeflate` answers, likewise.
    pub(crate) setup: u64,
    /// Every such request answers `-2`.
    pub(crate) fail_every: u64,
    /// Every such request answers `-3`.
    pub(crate) buffer_every: u64,
    /// Every such request answers a code that no header knows.
    pub(crate) unknown_every: u64,
    /// Every such request answers OK having taken only half of its input.
    pub(crate) short_every: u64,
    /// Every such request answers OK with one byte of its output changed.
    pub(crate) corrupt_every: u64,
    /// Every such request answers OK with an output length of 0.
    pub(crate) empty_every: u64,
    /// Every such request answers OK with more output than there was room.
    pub(crate) long_every: u64,
    /// Every such request answers OK with more input taken than was given.
    pub(crate) greedy_every: u64,
    /// From this request on, all fail with `-2`; 0 means never.
    pub(crate) dead_from: u64,
    /// This request does not come back before `hang_ms` are over.
    pub(crate) hang_at: u64,
    /// How long a hanging request hangs, then it writes its output like any other; 0 means for ever.
    pub(crate) hang_ms: u64,
    /// Every such request takes `slow_us` more.
    pub(crate) slow_every: u64,
    /// See `slow_every`.
    pub(crate) slow_us: u64,
    /// From this request on, `lose` instances are gone; 0 means never.
    pub(crate) lose_from: u64,
    /// See `lose_from`.
    pub(crate) lose: u64,
    /// Instances that another process holds.
    pub(crate) taken: u64,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            instances: 1,
            base_us: 0,
            byte_ps: 0,
            init: 0,
            setup: 0,
            fail_every: 0,
            buffer_every: 0,
            unknown_every: 0,
            short_every: 0,
            corrupt_every: 0,
            empty_every: 0,
            long_every: 0,
            greedy_every: 0,
            dead_from: 0,
            hang_at: 0,
            hang_ms: 0,
            slow_every: 0,
            slow_us: 0,
            lose_from: 0,
            lose: 0,
            taken: 0,
        }
    }
}

impl Script {
    /// Reads `name=number` pairs with commas between them; `None` when a name is unknown or a number is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut script = Self::default();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (name, number) = pair.split_once('=')?;
            *script.field(name)? = number.parse().ok()?;
        }
        Some(script)
    }

    fn field(&mut self, name: &str) -> Option<&mut u64> {
        Some(match name {
            "instances" => &mut self.instances,
            "base-us" => &mut self.base_us,
            "byte-ps" => &mut self.byte_ps,
            "init" => &mut self.init,
            "setup" => &mut self.setup,
            "fail-every" => &mut self.fail_every,
            "buffer-every" => &mut self.buffer_every,
            "unknown-every" => &mut self.unknown_every,
            "short-every" => &mut self.short_every,
            "corrupt-every" => &mut self.corrupt_every,
            "empty-every" => &mut self.empty_every,
            "long-every" => &mut self.long_every,
            "greedy-every" => &mut self.greedy_every,
            "dead-from" => &mut self.dead_from,
            "hang-at" => &mut self.hang_at,
            "hang-ms" => &mut self.hang_ms,
            "slow-every" => &mut self.slow_every,
            "slow-us" => &mut self.slow_us,
            "lose-from" => &mut self.lose_from,
            "lose" => &mut self.lose,
            "taken" => &mut self.taken,
            _ => return None,
        })
    }

    /// Instances that request number `request` finds, free or not.
    pub(crate) fn instances_at(&self, request: u64) -> u64 {
        let lost = if self.lose_from != 0 && request >= self.lose_from { self.lose } else { 0 };
        self.instances.saturating_sub(self.taken).saturating_sub(lost)
    }

    /// How long request number `request` of `length` bytes takes; `None` when it never ends.
    pub(crate) fn latency(&self, request: u64, length: u64) -> Option<Duration> {
        if request == self.hang_at {
            return (self.hang_ms != 0).then(|| Duration::from_millis(self.hang_ms));
        }
        let slow = if falls_on(self.slow_every, request) { self.slow_us } else { 0 };
        let bytes = Duration::from_nanos(length.saturating_mul(self.byte_ps) / 1000);
        Some(Duration::from_micros(self.base_us.saturating_add(slow)).saturating_add(bytes))
    }

    /// What goes wrong with request number `request`, if anything.
    pub(crate) fn fault(&self, request: u64) -> Option<Fault> {
        if self.dead_from != 0 && request >= self.dead_from {
            return Some(Fault::Fail);
        }
        let faults = [
            (self.fail_every, Fault::Fail),
            (self.buffer_every, Fault::Buffer),
            (self.unknown_every, Fault::Unknown),
            (self.short_every, Fault::Short),
            (self.corrupt_every, Fault::Corrupt),
            (self.empty_every, Fault::Empty),
            (self.long_every, Fault::Long),
            (self.greedy_every, Fault::Greedy),
        ];
        faults.into_iter().find(|(every, _)| falls_on(*every, request)).map(|(_, fault)| fault)
    }
}

fn falls_on(every: u64, request: u64) -> bool {
    every != 0 && request.is_multiple_of(every)
}

/// One way in which a request goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Fail,
    Buffer,
    Unknown,
    Short,
    Corrupt,
    Empty,
    Long,
    Greedy,
}

#[cfg(test)]
mod tests {
    use super::{Fault, Script};
    use std::time::Duration;

    #[test]
    fn a_script_is_read_and_what_is_not_understood_is_refused() {
        let script = Script::parse("instances=8,base-us=20,byte-ps=1000,fail-every=7").unwrap();
        assert_eq!((script.instances, script.fail_every), (8, 7));
        assert_eq!(script.latency(1, 500), Some(Duration::from_nanos(20_500)));
        assert_eq!(Script::parse(""), Some(Script::default()));
        for text in ["instances", "instances=", "instances=-1", "instance=1", "fail-every=often"] {
            assert_eq!(Script::parse(text), None, "{text}");
        }
    }

    #[test]
    fn faults_fall_where_they_were_put() {
        let script = Script::parse("fail-every=3,dead-from=10,hang-at=5,lose-from=4,lose=2,instances=3").unwrap();
        let failing: Vec<u64> = (1..13).filter(|n| script.fault(*n) == Some(Fault::Fail)).collect();
        assert_eq!(failing, [3, 6, 9, 10, 11, 12]);
        assert_eq!(script.latency(5, 1), None);
        assert_eq!((script.instances_at(3), script.instances_at(4)), (3, 1));
    }
}
