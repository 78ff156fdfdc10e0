//! Which packs are read: all, a share, a part of several, or those that were not read for long.

use super::Verified;
use std::time::Duration;

/// How much is read in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subset {
    /// Everything.
    All,
    /// A share of the bytes, in thousandths.
    Share(u32),
    /// The nth of so many parts, by name; the parts together are everything.
    Part(u32, u32),
    /// At least so many bytes, if there are.
    Bytes(u64),
}

/// Which packs are read.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// How much.
    pub subset: Subset,
    /// What was read within this time is passed over.
    pub every: Option<Duration>,
}

/// An object that may be read.
#[derive(Clone, Debug)]
pub(super) struct Candidate<T> {
    pub(super) name: [u8; 32],
    pub(super) length: u64,
    pub(super) what: T,
}

impl Sample {
    /// Chooses among candidates; those that were read longest ago come first, and among those that were never read the
    /// order is that of `turn`, a random number, so that shares of several runs are different ones.
    pub(super) fn choose<T>(
        &self,
        mut all: Vec<Candidate<T>>,
        verified: &Verified,
        now: i64,
        turn: u64,
    ) -> Vec<Candidate<T>> {
        let total: u64 = all.iter().map(|one| one.length).sum();
        if let Some(every) = self.every {
            let seconds = i64::try_from(every.as_secs()).unwrap_or(i64::MAX);
            // What was read in the future was read by a wrong clock.
            all.retain(|one| verified.when(&one.name).is_none_or(|then| then > now || now - then >= seconds));
        }
        all.sort_by_key(|one| (verified.when(&one.name).unwrap_or(i64::MIN), front(&one.name) ^ turn, one.name));
        let enough = match self.subset {
            Subset::All => return all,
            Subset::Part(n, of) => {
                all.retain(|one| front(&one.name) % u64::from(of.max(1)) == u64::from(n.saturating_sub(1)));
                return all;
            }
            Subset::Share(thousandths) => u128::from(total) * u128::from(thousandths) / 1000,
            Subset::Bytes(bytes) => u128::from(bytes),
        };
        let mut sum = 0_u128;
        all.into_iter().take_while(|one| (sum < enough, sum += u128::from(one.length)).0).collect()
    }
}

fn front(name: &[u8; 32]) -> u64 {
    u64::from_le_bytes([name[0], name[1], name[2], name[3], name[4], name[5], name[6], name[7]])
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Sample, Subset};
    use crate::check::Verified;
    use std::time::Duration;

    fn candidates(number: u8) -> Vec<Candidate<u8>> {
        let name = |n: u8| *blake3::hash(&[n]).as_bytes();
        (0..number).map(|n| Candidate { name: name(n), length: 100, what: n }).collect()
    }

    fn chosen(subset: Subset, every: Option<Duration>, verified: &Verified, turn: u64) -> Vec<u8> {
        let sample = Sample { subset, every };
        sample.choose(candidates(50), verified, 1_000_000, turn).into_iter().map(|one| one.what).collect()
    }

    #[test]
    fn parts_together_are_everything_and_nothing_twice() {
        let none = Verified::default();
        let mut all: Vec<u8> = (1..=7).flat_map(|n| chosen(Subset::Part(n, 7), None, &none, 5)).collect();
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn shares_are_as_large_as_they_must_be_and_differ_from_run_to_run() {
        let none = Verified::default();
        assert_eq!(chosen(Subset::Share(100), None, &none, 0).len(), 5);
        assert_eq!(chosen(Subset::Share(0), None, &none, 0).len(), 0);
        assert_eq!(chosen(Subset::Share(1), None, &none, 0).len(), 1);
        assert_eq!(chosen(Subset::Bytes(250), None, &none, 0).len(), 3);
        assert_eq!(chosen(Subset::Bytes(u64::MAX), None, &none, 0).len(), 50);
        assert_ne!(chosen(Subset::Share(100), None, &none, 0), chosen(Subset::Share(100), None, &none, u64::MAX / 3));
    }

    #[test]
    fn what_was_read_lately_waits_and_what_was_read_longest_ago_comes_first() {
        let mut verified = Verified::default();
        for one in candidates(50) {
            verified.note(one.name, 1_000_000 - 1_000 * i64::from(one.what));
        }
        let every = Some(Duration::from_mins(750));
        assert_eq!(chosen(Subset::All, every, &verified, 0), [49, 48, 47, 46, 45]);
        assert_eq!(chosen(Subset::Bytes(200), None, &verified, 9), [49, 48]);
        // A clock that was wrong once must not keep anything from being read for years.
        verified.note(candidates(1)[0].name, 2_000_000);
        assert!(chosen(Subset::All, every, &verified, 0).contains(&0));
    }
}
