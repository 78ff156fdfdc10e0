//! Which snapshots of a group are kept; pure.
//!
//! The group is in the order in which its snapshots were made, by Lamport number, whatever their clocks said; the newest is
//! the last. A rule such as `daily 7` keeps the newest snapshot of each of the 7 most recent days that have one. Days, ISO
//! weeks, months and years are those of one time zone; an hour is told apart from the hour of the same name behind the end
//! of daylight saving time. A rule such as `within 30d` counts back from the newest time in the group, as restic does.
//! Snapshots that are partial, or from the future, are counted by no rule and removed by none.

use crate::format::Time;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan, ZonedDateTime};
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

/// A snapshot is from the future when it is more than this ahead, in seconds: clocks differ.
const AHEAD: i64 = 3600;

/// The periods that rules count by; the first is no period: every snapshot by itself.
pub const PERIODS: [&str; 6] = ["last", "hourly", "daily", "weekly", "monthly", "yearly"];

/// A span of calendar time such as `1y5m7d2h`: years, months, days and hours.
#[derive(Clone, Copy, Debug)]
pub struct Age {
    years: i32,
    months: i32,
    days: i32,
    hours: i32,
}

impl Age {
    fn span(self) -> Span {
        self.years.years().months(self.months).days(self.days).hours(self.hours)
    }
}

impl FromStr for Age {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is no span; write years, months, days and hours such as 1y6m, 30d or 12h");
        let (mut age, mut rest, mut last) = (Self { years: 0, months: 0, days: 0, hours: 0 }, text, 0);
        while !rest.is_empty() {
            let end = rest.find(|c: char| !c.is_ascii_digit()).filter(|end| (1..=4).contains(end)).ok_or_else(wrong)?;
            let number: i32 = rest[..end].parse().map_err(|_| wrong())?;
            let (place, field) = match rest.as_bytes()[end] {
                b'y' => (1, &mut age.years),
                b'm' => (2, &mut age.months),
                b'd' => (3, &mut age.days),
                b'h' => (4, &mut age.hours),
                _ => return Err(wrong()),
            };
            if place <= last {
                return Err(wrong());
            }
            (*field, last, rest) = (number, place, &rest[end + 1..]);
        }
        let some = age.years > 0 || age.months > 0 || age.days > 0 || age.hours > 0;
        if some { Ok(age) } else { Err(wrong()) }
    }
}

/// What is kept.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// How many of each of [`PERIODS`].
    pub counts: [Option<u32>; 6],
    /// All, or one of each of [`PERIODS`], that are no older.
    pub within: [Option<Age>; 6],
    /// Snapshots that have all tags of one of these lists.
    pub tags: Vec<Vec<String>>,
    /// Snapshots with these names.
    pub ids: Vec<[u8; 32]>,
    /// Whether a group may be left with nothing.
    pub allow_empty: bool,
}

impl Policy {
    /// Whether there is any rule.
    #[must_use]
    pub fn says_nothing(&self) -> bool {
        let counted = self.counts.iter().any(Option::is_some) || self.within.iter().any(Option::is_some);
        !counted && self.tags.is_empty() && self.ids.is_empty()
    }
}

/// What a policy looks at.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The snapshot's name.
    pub name: [u8; 32],
    /// When it was made.
    pub time: Time,
    /// Its tags.
    pub tags: Vec<String>,
    /// Whether it lacks something.
    pub partial: bool,
    /// Whether much had vanished from its source.
    pub suspicious: bool,
}

/// Why a snapshot is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is one of so many of a period: which of [`PERIODS`], and the period in words.
    Period(usize, String),
    /// As `Period`, among those that are no older than the rule says.
    Within(usize, String),
    /// It has the tags of a list.
    Tags(String),
    /// It was named.
    Id,
    /// It is from the future, and counts for nothing.
    Future,
    /// It is partial, and counts for nothing.
    Partial,
    /// Much had vanished from its source, and it counts for nothing.
    Suspicious,
    /// Nothing else of its group would be left.
    OnlyOne,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Period(0, _) => f.write_str("last"),
            Self::Period(period, name) => write!(f, "{} {name}", PERIODS[*period]),
            Self::Within(0, _) => f.write_str("within"),
            Self::Within(period, name) => write!(f, "within {} {name}", PERIODS[*period]),
            Self::Tags(tags) => write!(f, "tags {tags}"),
            Self::Id => f.write_str("id"),
            Self::Future => f.write_str("from the future"),
            Self::Partial => f.write_str("partial"),
            Self::Suspicious => f.write_str("suspicious"),
            Self::OnlyOne => f.write_str("only one left"),
        }
    }
}

/// Why each snapshot of `group`, oldest first, is kept, in the same order; without a reason it goes.
#[must_use]
pub fn select(policy: &Policy, group: &[Candidate], now: Time, zone: &TimeZone) -> Vec<Vec<Reason>> {
    let mut reasons: Vec<Vec<Reason>> = group.iter().map(|candidate| aside(candidate, now)).collect();
    // Those that rules count, newest first, with their local times.
    let counted: Vec<(usize, ZonedDateTime)> =
        (0..group.len()).rev().filter(|n| reasons[*n].is_empty()).map(|n| (n, local(group[n].time, zone))).collect();
    let newest = counted.iter().map(|(_, time)| time).max().cloned();
    for period in 0..PERIODS.len() {
        let limit = policy.within[period].zip(newest.as_ref()).map(|(age, newest)| newest.checked_sub(age.span()).ok());
        let mut left = policy.counts[period].unwrap_or(0);
        let (mut seen, mut seen_within) = (HashSet::new(), HashSet::new());
        for (n, time) in &counted {
            let name = if period == 0 { n.to_string() } else { label(period, time) };
            if left > 0 && seen.insert(name.clone()) {
                left -= 1;
                reasons[*n].push(Reason::Period(period, name.clone()));
            }
            // A span that reaches back before the calendar begins holds everything.
            let inside = limit.as_ref().is_some_and(|limit| limit.as_ref().is_none_or(|limit| time > limit));
            if inside && seen_within.insert(name.clone()) {
                reasons[*n].push(Reason::Within(period, name));
            }
        }
    }
    for (n, _) in &counted {
        let candidate = &group[*n];
        let has = |list: &&Vec<String>| list.iter().all(|tag| candidate.tags.contains(tag));
        reasons[*n].extend(policy.tags.iter().find(has).map(|list| Reason::Tags(list.join(","))));
    }
    for (n, candidate) in group.iter().enumerate().filter(|(_, candidate)| policy.ids.contains(&candidate.name)) {
        debug_assert_eq!(group[n].name, candidate.name);
        reasons[n].push(Reason::Id);
    }
    // Not only those that no rule counts are left: what they lack may be what is needed.
    if let Some((newest, _)) = counted.first()
        && !policy.allow_empty
        && counted.iter().all(|(n, _)| reasons[*n].is_empty())
    {
        reasons[*newest].push(Reason::OnlyOne);
    }
    reasons
}

/// Why a snapshot stays out of all rules, if it does.
fn aside(candidate: &Candidate, now: Time) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if candidate.time.seconds > now.seconds.saturating_add(AHEAD) {
        reasons.push(Reason::Future);
    }
    if candidate.partial {
        reasons.push(Reason::Partial);
    }
    if candidate.suspicious {
        reasons.push(Reason::Suspicious);
    }
    reasons
}

fn local(time: Time, zone: &TimeZone) -> ZonedDateTime {
    let nanos = i32::try_from(time.nanos).unwrap_or(0);
    let limit = if time.seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::new(time.seconds, nanos).unwrap_or(limit).to_zoned_datetime(zone.clone())
}

/// The name of the period that a time is in, the same for all times in it and for no other.
fn label(period: usize, time: &ZonedDateTime) -> String {
    match period {
        1 => format!("{} {:02}h{}", time.date(), time.hour(), time.offset()),
        2 => time.date().to_string(),
        3 => {
            let week = time.date().iso_week_date();
            format!("{}-W{:02}", week.year(), week.week())
        }
        4 => format!("{}-{:02}", time.year(), time.month()),
        _ => time.year().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Age, Candidate, PERIODS, Policy, Reason, select};
    use crate::format::Time;
    use jiff::Timestamp;
    use jiff::tz::TimeZone;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
    const NOW: Time = Time { seconds: 1_790_000_000, nanos: 0 };

    fn at(seconds: i64) -> Candidate {
        let mut name = [0; 32];
        name[..8].copy_from_slice(&seconds.to_le_bytes());
        Candidate { name, time: Time { seconds, nanos: 0 }, tags: Vec::new(), partial: false, suspicious: false }
    }

    fn when(text: &str) -> Candidate {
        at(text.parse::<Timestamp>().unwrap().as_second())
    }

    fn kept(policy: &Policy, group: &[Candidate], zone: &TimeZone) -> Vec<usize> {
        let reasons = select(policy, group, NOW, zone);
        (0..group.len()).filter(|n| !reasons[*n].is_empty()).collect()
    }

    fn count(period: usize, number: u32) -> Policy {
        let mut policy = Policy::default();
        policy.counts[period] = Some(number);
        policy
    }

    #[test]
    fn each_period_keeps_its_newest() {
        let group: Vec<_> =
            ["2024-12-30T10:00:00Z", "2024-12-31T09:00:00Z", "2024-12-31T09:59:59Z", "2025-01-01T00:00:00Z"]
                .map(when)
                .into();
        for (period, expected) in [&[2, 3][..], &[2, 3], &[2, 3], &[3], &[2, 3], &[2, 3]].iter().enumerate() {
            assert_eq!(kept(&count(period, 2), &group, &TimeZone::UTC), *expected, "{}", PERIODS[period]);
        }
        // Both days of the year's turn are in the first ISO week of 2025.
        let reasons = select(&count(3, 2), &group, NOW, &TimeZone::UTC);
        assert_eq!(reasons[3], [Reason::Period(3, "2025-W01".into())]);
    }

    #[test]
    fn an_hour_that_comes_twice_is_two_hours() {
        let zone = TimeZone::posix(BERLIN).unwrap();
        // 02:30 in summer time, then 02:30 in winter time.
        let group: Vec<_> = ["2025-10-26T00:30:00Z", "2025-10-26T01:30:00Z"].map(when).into();
        assert_eq!(kept(&count(1, 5), &group, &zone), [0, 1]);
        assert_eq!(kept(&count(2, 5), &group, &zone), [1]);
    }

    #[test]
    fn within_counts_back_from_the_newest() {
        let group: Vec<_> = ["2026-01-31T12:00:00Z", "2026-02-28T12:00:00Z", "2026-03-31T12:00:00Z"].map(when).into();
        let mut policy = Policy::default();
        policy.within[0] = Some("1m".parse().unwrap());
        // A month before the 31st of March is the 28th of February, at the same time: not within.
        assert_eq!(kept(&policy, &group, &TimeZone::UTC), [2]);
        policy.within[0] = Some("1m1h".parse().unwrap());
        assert_eq!(kept(&policy, &group, &TimeZone::UTC), [1, 2]);
    }

    #[test]
    fn the_future_the_partial_and_the_suspicious_are_not_counted_and_not_removed() {
        let mut group: Vec<_> = (0..7).map(|n| at(NOW.seconds - 10_000 + n)).collect();
        group[4].partial = true;
        group[5].time.seconds = NOW.seconds + 4000;
        group[6].suspicious = true;
        assert_eq!(kept(&count(0, 2), &group, &TimeZone::UTC), [2, 3, 4, 5, 6]);
    }

    #[test]
    fn order_is_that_of_the_group_and_not_that_of_the_clocks() {
        let group = [at(5000), at(9000), at(7000)];
        assert_eq!(kept(&count(0, 1), &group, &TimeZone::UTC), [2]);
    }

    #[test]
    fn a_group_is_not_emptied_unless_that_is_said() {
        let group = [at(1000), at(2000)];
        let mut policy = Policy { tags: vec![vec!["keep".into()]], ..Policy::default() };
        assert_eq!(select(&policy, &group, NOW, &TimeZone::UTC)[1], [Reason::OnlyOne]);
        let mut partial = group.clone();
        partial[1].partial = true;
        assert_eq!(kept(&policy, &partial, &TimeZone::UTC), [0, 1], "a partial one is not enough");
        policy.allow_empty = true;
        assert!(kept(&policy, &group, &TimeZone::UTC).is_empty());
        assert!(select(&policy, &[], NOW, &TimeZone::UTC).is_empty());
    }

    #[test]
    fn tags_and_names_keep() {
        let mut group = vec![at(1000), at(2000), at(3000)];
        group[0].tags = vec!["a".into(), "b".into()];
        group[1].tags = vec!["a".into()];
        let policy = Policy { tags: vec![vec!["a".into(), "b".into()]], ids: vec![group[2].name], ..Policy::default() };
        assert_eq!(kept(&policy, &group, &TimeZone::UTC), [0, 2]);
    }

    #[test]
    fn spans_are_calendar_time() {
        for good in ["1y", "1y5m7d2h", "30d", "9999h", "0y1h"] {
            assert!(good.parse::<Age>().is_ok(), "{good}");
        }
        for bad in ["", "0d", "-1d", "1w", "d", "1", "1d1d", "1h1d", "10000d", "1.5d", " 1d", "1d "] {
            assert!(bad.parse::<Age>().is_err(), "{bad}");
        }
    }

    /// The definition, word for word and slowly: a snapshot is kept by a rule when it is the newest of its period, and
    /// fewer than so many periods of the group have a newer snapshot.
    fn brute_force(period: usize, number: u32, group: &[Candidate], zone: &TimeZone) -> Vec<usize> {
        let of = |n: usize| {
            let time = Timestamp::new(group[n].time.seconds, 0).unwrap();
            let local = zone.to_datetime(time);
            let offset = zone.to_offset(time).seconds();
            let week = local.date().iso_week_date();
            match period {
                0 => vec![i64::try_from(n).unwrap()],
                1 => vec![time.as_second().saturating_add(i64::from(offset)).div_euclid(3600), i64::from(offset)],
                2 => vec![time.as_second().saturating_add(i64::from(offset)).div_euclid(86_400)],
                3 => vec![i64::from(week.year()), i64::from(week.week())],
                4 => vec![i64::from(local.year()), i64::from(local.month())],
                _ => vec![i64::from(local.year())],
            }
        };
        let newest = |n: usize| (n + 1..group.len()).all(|newer| of(newer) != of(n));
        let before = |n: usize| (n + 1..group.len()).map(of).collect::<BTreeSet<_>>().len();
        (0..group.len()).filter(|n| newest(*n) && before(*n) < number as usize).collect()
    }

    proptest! {
        #[test]
        fn rules_are_their_definition_across_both_changes_of_the_clock(
            // Of Berlin, New York and Lord Howe, without a database of zones.
            zone in prop::sample::select(vec!["UTC0", BERLIN, "EST5EDT,M3.2.0,M11.1.0", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"]),
            change in prop::sample::select(vec![1_774_746_000_i64, 1_792_890_000, 1_772_953_200, 1_793_512_800, 1_775_314_800, 1_759_590_000]),
            steps in prop::collection::vec(0_i64..9000, 1..40),
            period in 0_usize..6,
            number in 1_u32..12,
        ) {
            let zone = TimeZone::posix(zone).unwrap();
            let mut time = change - 60_000;
            let group: Vec<_> = steps.into_iter().map(|step| { time += step; at(time) }).collect();
            let mut policy = count(period, number);
            policy.allow_empty = true;
            let now = Time { seconds: time, nanos: 0 };
            let reasons = select(&policy, &group, now, &zone);
            let kept: Vec<_> = (0..group.len()).filter(|n| !reasons[*n].is_empty()).collect();
            prop_assert_eq!(&kept, &brute_force(period, number, &group, &zone));
            // Keeping more never removes, and what is kept is kept again.
            policy.counts[period] = Some(number + 1);
            let more = select(&policy, &group, now, &zone);
            prop_assert!(kept.iter().all(|n| !more[*n].is_empty()));
            policy.counts[period] = Some(number);
            let rest: Vec<_> = kept.iter().map(|n| group[*n].clone()).collect();
            prop_assert!(select(&policy, &rest, now, &zone).iter().all(|reasons| !reasons.is_empty()));
        }
    }
}
