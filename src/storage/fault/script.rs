//! What a [`super::FaultStorage`] was told to do, and what it was asked.

use super::{Call, Moment, ObjectName, StorageFault, Verb};
use bytes::Bytes;

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// As the storage inside says.
    Done,
    /// With an error, before or after the effect.
    Fails(Moment, StorageFault),
    /// By a power cut, before or after the effect.
    Dark(Moment),
}

/// One scripted failure.
#[derive(Debug)]
struct Rule {
    verb: Verb,
    /// Calls of `verb` until it happens; at 1 it is the next.
    left: u64,
    failure: (Moment, StorageFault),
}

/// All that is planned, and all calls so far.
#[derive(Debug, Default)]
pub(super) struct Script {
    rules: Vec<Rule>,
    pub(super) space: Option<u64>,
    pub(super) flips: Vec<(ObjectName, u64, u8)>,
    /// Changing calls until the power goes, and on which side of the last one's effect.
    pub(super) cut: Option<(u64, Moment)>,
    pub(super) dark: bool,
    pub(super) calls: Vec<Call>,
}

impl Script {
    pub(super) fn add_rule(&mut self, verb: Verb, nth: u64, failure: (Moment, StorageFault)) {
        self.rules.push(Rule { verb, left: nth.max(1), failure });
    }

    pub(super) fn clear_faults(&mut self) {
        self.rules.clear();
        self.flips.clear();
        self.space = None;
        self.cut = None;
    }

    /// Records a call and decides how it ends.
    pub(super) fn begin(&mut self, verb: Verb, object: &str) -> Outcome {
        self.calls.push(Call { verb, object: object.to_owned() });
        if self.dark {
            return Outcome::Dark(Moment::Before);
        }
        if let Some((left, moment)) = self.cut.filter(|_| verb.is_change()) {
            if left <= 1 {
                self.dark = true;
                self.cut = None;
                return Outcome::Dark(moment);
            }
            self.cut = Some((left - 1, moment));
        }
        self.next_failure(verb).map_or(Outcome::Done, |(moment, fault)| Outcome::Fails(moment, fault))
    }

    /// Counts a call of `verb` in all rules; the failure of the first whose turn it is.
    fn next_failure(&mut self, verb: Verb) -> Option<(Moment, StorageFault)> {
        let mut failure = None;
        self.rules.retain_mut(|rule| {
            if rule.verb != verb {
                return true;
            }
            rule.left -= 1;
            if rule.left == 0 {
                failure = failure.or(Some(rule.failure));
            }
            rule.left > 0
        });
        failure
    }

    /// Takes `bytes` of the space that is left; false when there is not enough.
    pub(super) fn take_space(&mut self, bytes: u64) -> bool {
        let Some(space) = self.space else {
            return true;
        };
        let left = space.checked_sub(bytes);
        self.space = Some(left.unwrap_or(space));
        left.is_some()
    }

    pub(super) fn give_space(&mut self, bytes: u64) {
        self.space = self.space.map(|space| space.saturating_add(bytes));
    }

    /// What is read of `name` from `start` on, with the bits flipped that the script flips.
    pub(super) fn flipped(&self, name: &ObjectName, start: u64, bytes: Bytes) -> Bytes {
        let mut changed: Option<Vec<u8>> = None;
        for (_, offset, mask) in self.flips.iter().filter(|(flipped, ..)| flipped == name) {
            let place = offset.checked_sub(start).and_then(|place| usize::try_from(place).ok());
            if let Some(place) = place.filter(|&place| place < bytes.len()) {
                changed.get_or_insert_with(|| bytes.to_vec())[place] ^= mask;
            }
        }
        changed.map_or(bytes, Bytes::from)
    }
}
