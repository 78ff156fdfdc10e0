//! Sizes and time spans as options write them.

use std::time::Duration;

/// A number of bytes: digits with an optional `K`, `M`, `G` or `T`, all powers of 1024 (`KiB` and the like too).
///
/// # Errors
/// A sentence that says what is possible.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no size; write a number of bytes, or one with K, M, G or T, such as 128K");
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let shift = match unit {
        "" | "B" => 0,
        "K" | "k" | "KiB" => 10,
        "M" | "m" | "MiB" => 20,
        "G" | "g" | "GiB" => 30,
        "T" | "t" | "TiB" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// A size of less than 4 GiB.
///
/// # Errors
/// A sentence that says what is possible.
pub(super) fn parse_small_size(text: &str) -> Result<u32, String> {
    u32::try_from(parse_size(text)?).map_err(|_| format!("`{text}` is too large"))
}

/// A time span: digits with an optional `s`, `m`, `h` or `d` (24 hours).
///
/// # Errors
/// A sentence that says what is possible.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time span; write a number of seconds, or one with s, m, h or d, such as 5m");
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let span = number.checked_mul(seconds).filter(|span| *span > 0);
    span.map(Duration::from_secs).ok_or_else(wrong)
}

/// A share: a number of percent with at most one decimal, in thousandths.
///
/// # Errors
/// A sentence that says what is possible.
pub(super) fn parse_share(text: &str) -> Result<u32, String> {
    let wrong = || format!("`{text}` is no share; write percents from 0% to 100%, such as 5% or 2.5%");
    let digits = text.strip_suffix('%').ok_or_else(wrong)?;
    let (whole, tenth) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |text: &str, most: usize| (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !plain(whole, 3) || !plain(tenth, 1) {
        return Err(wrong());
    }
    let thousandths = whole.parse::<u32>().map_err(|_| wrong())? * 10 + tenth.parse::<u32>().map_err(|_| wrong())?;
    if thousandths <= 1000 { Ok(thousandths) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::{parse_duration, parse_share, parse_size, parse_small_size};
    use std::time::Duration;

    #[test]
    fn shares_are_percents() {
        for (text, thousandths) in [("0%", 0), ("5%", 50), ("2.5%", 25), ("100%", 1000)] {
            assert_eq!(parse_share(text), Ok(thousandths));
        }
        for bad in ["", "%", "5", "101%", "100.1%", "-1%", "1.25%", "nan%", "1e1%", " 5%"] {
            assert!(parse_share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn time_spans_have_units() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("5m", 300), ("2h", 7200), ("30d", 2_592_000)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)));
        }
        for bad in ["", "0", "m", "1.5h", "5 m", "1w"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, size) in [("0", 0), ("4096", 4096), ("32K", 32 << 10), ("1MiB", 1 << 20), ("2g", 2 << 30)] {
            assert_eq!(parse_size(text), Ok(size));
        }
        for bad in ["", "K", "1.5M", "-1", "1KB", "99999999999T", "1 M"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
        assert!(parse_small_size("4G").is_err());
    }
}
