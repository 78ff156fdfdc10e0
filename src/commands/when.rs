//! Moments as people and programs read them.

use crate::format::Time;
use jiff::Timestamp;
use jiff::tz::TimeZone;

fn timestamp(time: Time) -> Option<Timestamp> {
    Timestamp::new(time.seconds, i32::try_from(time.nanos).ok()?).ok()
}

/// Date, time and offset in the time zone `zone`.
pub(super) fn local(time: Time, zone: &TimeZone) -> String {
    match timestamp(time) {
        Some(moment) => moment.to_zoned_datetime(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %:z").to_string(),
        None => format!("@{}", time.seconds),
    }
}

/// RFC 3339 in UTC with nanoseconds.
pub(super) fn utc(time: Time) -> Option<String> {
    timestamp(time).map(|moment| moment.to_string())
}

#[cfg(test)]
mod tests {
    use super::{local, utc};
    use crate::format::Time;
    use jiff::tz::{Offset, TimeZone};

    #[test]
    fn moments_are_shown_here_and_written_in_utc() {
        let zone = TimeZone::fixed(Offset::constant(2));
        let time = |seconds, nanos| Time { seconds, nanos };
        assert_eq!(local(time(0, 0), &zone), "1970-01-01 02:00:00 +02:00");
        assert_eq!(utc(time(-1, 500_000_000)).unwrap(), "1969-12-31T23:59:59.5Z");
        assert_eq!(local(time(i64::MAX, 0), &zone), format!("@{}", i64::MAX));
        assert_eq!(utc(time(i64::MAX, 0)), None);
    }
}
