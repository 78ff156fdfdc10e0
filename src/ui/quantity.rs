//! Numbers as people read them.

use std::time::Duration;

const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// A number of bytes with three or four digits: `0 B`, `1023 B`, `1.5 KiB`, `318 MiB`.
#[must_use]
pub fn bytes(number: u64) -> String {
    if number < 1024 {
        return format!("{number} B");
    }
    let mut value = as_float(number);
    let mut unit = "";
    for name in UNITS {
        value /= 1024.0;
        unit = name;
        // What would be rounded to 1024 is one of the next unit.
        if value < 1023.5 {
            break;
        }
    }
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$} {unit}")
}

/// A number with commas between its thousands.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 folder`, `2 folders`, `2 entries`.
#[must_use]
pub fn several(number: u64, thing: &str) -> String {
    match thing.strip_suffix('y') {
        _ if number == 1 => format!("1 {thing}"),
        Some(stem) => format!("{} {stem}ies", count(number)),
        None => format!("{} {thing}s", count(number)),
    }
}

/// A time span: `0.42 s`, `12.3 s`, `4:05`, `1:02:03`.
#[must_use]
pub fn duration(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    if seconds < 9.995 {
        return format!("{seconds:.2} s");
    }
    if seconds < 59.95 {
        return format!("{seconds:.1} s");
    }
    let whole = span.as_secs() + u64::from(span.subsec_millis() >= 500);
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Bytes in a time span as bytes per second, 0 for no time at all.
#[must_use]
pub fn rate(number: u64, span: Duration) -> f64 {
    if span.is_zero() { 0.0 } else { as_float(number) / span.as_secs_f64() }
}

/// How many times `part` goes into `whole`; `None` when `part` is nothing.
#[must_use]
pub fn ratio(whole: u64, part: u64) -> Option<f64> {
    (part > 0).then(|| as_float(whole) / as_float(part))
}

#[expect(clippy::cast_precision_loss, reason = "people and graphs need no more than the first 15 digits")]
fn as_float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::{bytes, count, duration, ratio, several};
    use std::time::Duration;

    #[test]
    fn numbers_are_short_and_never_lie_by_rounding() {
        for (number, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1536, "1.50 KiB"),
            (10 << 20, "10.0 MiB"),
            (318 << 20, "318 MiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(number), text);
        }
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
        for (millis, text) in [(0, "0.00 s"), (9_999, "10.0 s"), (59_960, "1:00"), (3_723_000, "1:02:03")] {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
        for (number, thing, text) in
            [(0, "pack", "0 packs"), (1, "entry", "1 entry"), (2_000, "entry", "2,000 entries")]
        {
            assert_eq!(several(number, thing), text);
        }
        assert_eq!(ratio(10, 0), None);
        assert_eq!(ratio(10, 4), Some(2.5));
    }
}
