//! Instants are milliseconds since 1970-01-01 UTC ([`Millis`]); nobody in this room asks what time it is.

use jiff::Timestamp;

/// Milliseconds since the Unix epoch, UTC; as a difference, milliseconds.
pub type Millis = i64;

/// One second in milliseconds.
pub const SECOND_MS: Millis = 1_000;

/// RFC 3339 with milliseconds, in UTC: `2026-11-30T14:50:00.000Z`.
pub fn rfc3339(at: Millis) -> String {
    match Timestamp::from_millisecond(at) {
        Ok(stamp) => format!("{stamp:.3}"),
        Err(_) => format!("{at} ms"),
    }
}

/// A short age for a card: `now`, `12s`, `4m`, `3h`, `2d`.
pub fn short_age(age: Millis) -> String {
    let seconds = age.max(0) / SECOND_MS;
    match seconds {
        0 => "now".to_owned(),
        1..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A running time that moves by the second: `7s`, `4m12s`, `3h05m`, `2d04h`.
pub fn running_time(age: Millis) -> String {
    let seconds = age.max(0) / SECOND_MS;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// A measured length for the detail: `0.42 s`, `12.3 s`, `4 m 12 s`.
pub fn precise(length: Millis) -> String {
    let length = length.max(0);
    match length {
        0..60_000 => format!("{}.{:02} s", length / 1_000, length % 1_000 / 10),
        _ => format!("{} m {:02} s", length / 60_000, length % 60_000 / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        assert_eq!(short_age(-5), "now");
        assert_eq!(short_age(59_999), "59s");
        assert_eq!(short_age(240_000), "4m");
        assert_eq!(short_age(3 * 3_600_000), "3h");
        assert_eq!(short_age(50 * 3_600_000), "2d");
        assert_eq!(running_time(252_000), "4m12s");
    }

    #[test]
    fn instants_read_as_rfc_3339() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(1_796_050_200_123), "2026-11-30T14:50:00.123Z");
    }
}
