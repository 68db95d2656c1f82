//! Points in time as people type them: `--at 17:30`, `--at 2026-12-01T09:00`, `--in 2h30m`.

use jiff::civil::{DateTime, Time};
use jiff::{Span, Timestamp, ToSpan, ZonedDateTime};

use crate::domain::time::Millis;

/// Reads `--at`: RFC 3339, a local date with or without a time, or a local time of day (the next one).
pub fn at(text: &str) -> Result<Millis, String> {
    at_from(text, &ZonedDateTime::now())
}

/// Reads `--in`: a length such as `30s`, `5m`, `1h30m` or `2d`; gives the instant.
pub fn after(text: &str) -> Result<Millis, String> {
    after_from(text, &ZonedDateTime::now())
}

/// Reads `--older-than`: a length such as `12h`, `30d` or `8w`; gives the instant that long ago.
pub fn before(text: &str) -> Result<Millis, String> {
    before_from(text, &ZonedDateTime::now())
}

fn before_from(text: &str, now: &ZonedDateTime) -> Result<Millis, String> {
    let wrong = || "write a length as 12h, 30d or 8w".to_owned();
    let span: Span = text.trim().parse().map_err(|_| wrong())?;
    if span.is_negative() {
        return Err(wrong());
    }
    now.checked_sub(span)
        .map(|then| then.timestamp().as_millisecond())
        .map_err(|_| "that is too long ago".to_owned())
}

fn at_from(text: &str, now: &ZonedDateTime) -> Result<Millis, String> {
    let text = text.trim();
    if let Ok(stamp) = text.parse::<Timestamp>() {
        return Ok(stamp.as_millisecond());
    }
    let zone = now.time_zone().clone();
    let civil = |time: DateTime| {
        time.to_zoned_datetime(zone.clone())
            .map(|t| t.timestamp().as_millisecond())
            .map_err(|e| e.to_string())
    };
    // A date first: `Time` would read the time of day out of it and forget the date.
    if let Ok(time) = text.parse::<DateTime>() {
        return civil(time);
    }
    if let Ok(time) = text.parse::<Time>() {
        let today = now.date().to_datetime(time);
        let at = civil(today)?;
        return match at > now.timestamp().as_millisecond() {
            true => Ok(at),
            false => civil(today.checked_add(1.day()).map_err(|e| e.to_string())?),
        };
    }
    Err("write a time as 17:30, 2026-12-01, 2026-12-01T09:00 or 2026-12-01T09:00:00Z".to_owned())
}

fn after_from(text: &str, now: &ZonedDateTime) -> Result<Millis, String> {
    let wrong = || "write a length as 30s, 5m, 2h, 1h30m or 2d".to_owned();
    let span: Span = text.trim().parse().map_err(|_| wrong())?;
    if span.is_negative() {
        return Err("a card can't start in the past; leave --in out to start it now".to_owned());
    }
    now.checked_add(span)
        .map(|then| then.timestamp().as_millisecond())
        .map_err(|_| "that is too far away".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noon() -> ZonedDateTime {
        "2026-11-30T12:00:00+01:00[Europe/Berlin]".parse().unwrap()
    }

    fn reads(text: &str) -> String {
        crate::domain::time::rfc3339(at_from(text, &noon()).unwrap())
    }

    #[test]
    fn a_time_of_day_is_the_next_one() {
        assert_eq!(reads("17:30"), "2026-11-30T16:30:00.000Z");
        assert_eq!(reads("09:00"), "2026-12-01T08:00:00.000Z");
        assert_eq!(reads("12:00"), "2026-12-01T11:00:00.000Z");
    }

    #[test]
    fn dates_are_local_and_rfc_3339_is_itself() {
        assert_eq!(reads("2026-12-24"), "2026-12-23T23:00:00.000Z");
        assert_eq!(reads("2026-12-24T18:00"), "2026-12-24T17:00:00.000Z");
        assert_eq!(reads("2026-12-24 18:00:05"), "2026-12-24T17:00:05.000Z");
        assert_eq!(reads("2026-12-24T18:00:00Z"), "2026-12-24T18:00:00.000Z");
        assert_eq!(reads("2026-12-24T18:00+02:00"), "2026-12-24T16:00:00.000Z");
        assert!(at_from("tomorrow", &noon()).is_err());
        assert!(at_from("25:00", &noon()).is_err());
    }

    #[test]
    fn a_length_ago_is_an_instant() {
        let ago = |text: &str| before_from(text, &noon()).map(|at| noon().timestamp().as_millisecond() - at);
        assert_eq!((ago("0s"), ago("12h"), ago("2w")), (Ok(0), Ok(43_200_000), Ok(1_209_600_000)));
        assert!(ago("30").is_err() && ago("-1d").is_err() && ago("99999y").is_err());
    }

    #[test]
    fn lengths_have_units() {
        let after = |text: &str| {
            after_from(text, &noon()).map(|at| (at - noon().timestamp().as_millisecond()) / 1_000)
        };
        assert_eq!(after("30s"), Ok(30));
        assert_eq!(after("5m"), Ok(300));
        assert_eq!(after("1h30m"), Ok(5_400));
        assert_eq!(after("2d"), Ok(172_800));
        assert!(after("5").is_err() && after("-5m").is_err() && after("99999999999999999999d").is_err());
    }
}
