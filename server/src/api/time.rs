//! Times as Kubernetes writes them.

use jiff::Timestamp;

fn format(ms: u64, format: &str) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX);
    time.strftime(format).to_string()
}

/// `2026-11-30T09:07:53Z`; `ms` since 1970.
pub(super) fn seconds(ms: u64) -> String {
    format(ms, "%Y-%m-%dT%H:%M:%SZ")
}

/// `2026-11-30T09:07:53.000000Z`.
pub(super) fn micros(ms: u64) -> String {
    format(ms, "%Y-%m-%dT%H:%M:%S.%6fZ")
}

/// Now, in milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0)
}

/// How long ago that was, in the few letters that `kubectl get` shows: two units at most, and the larger the fewer.
pub(super) fn age(since_ms: u64, now_ms: u64) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    const YEAR: u64 = 365 * DAY;
    let age = now_ms.saturating_sub(since_ms) / 1000;
    let two = |large: u64, name: char, small: u64, small_name: char| match age % large / small {
        0 => format!("{}{name}", age / large),
        rest => format!("{}{name}{rest}{small_name}", age / large),
    };
    if age < 2 * MINUTE {
        format!("{age}s")
    } else if age < 10 * MINUTE {
        two(MINUTE, 'm', 1, 's')
    } else if age < 3 * HOUR {
        format!("{}m", age / MINUTE)
    } else if age < 8 * HOUR {
        two(HOUR, 'h', MINUTE, 'm')
    } else if age < 2 * DAY {
        format!("{}h", age / HOUR)
    } else if age < 8 * DAY {
        two(DAY, 'd', HOUR, 'h')
    } else if age < 2 * YEAR {
        format!("{}d", age / DAY)
    } else if age < 8 * YEAR {
        two(YEAR, 'y', DAY, 'd')
    } else {
        format!("{}y", age / YEAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(seconds(0), "1970-01-01T00:00:00Z");
        assert_eq!(seconds(1_790_000_000_999), "2026-09-21T14:13:20Z");
        assert_eq!(micros(1_500), "1970-01-01T00:00:01.500000Z");
        assert_eq!(&seconds(u64::MAX)[..4], "9999");
    }

    #[test]
    fn ages_are_short() {
        let of = |seconds: u64| age(0, seconds * 1000);
        assert_eq!([of(0), of(119), of(120), of(301)], ["0s", "119s", "2m", "5m1s"]);
        assert_eq!([of(3600), of(3 * 3600), of(5 * 3600 + 120)], ["60m", "3h", "5h2m"]);
        assert_eq!([of(47 * 3600), of(3 * 86_400), of(3 * 86_400 + 7200)], ["47h", "3d", "3d2h"]);
        assert_eq!([of(100 * 86_400), of(3 * 365 * 86_400)], ["100d", "3y"]);
        assert_eq!(age(10, 5), "0s", "a clock that went back");
    }
}
