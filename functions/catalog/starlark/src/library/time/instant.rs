//! Points in time and spans of it.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// Nanoseconds of the units of a duration, longest first.
pub(super) const HOUR: i64 = 3_600_000_000_000;
pub(super) const MINUTE: i64 = 60_000_000_000;
pub(super) const SECOND: i64 = 1_000_000_000;
pub(super) const MILLISECOND: i64 = 1_000_000;
pub(super) const MICROSECOND: i64 = 1_000;

/// A zone that is always the same distance from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Zone {
    /// East of UTC.
    pub(super) seconds: i32,
}

impl Zone {
    pub(super) const UTC: Zone = Zone { seconds: 0 };

    /// `UTC`, or the offset as Go names a zone without a name.
    pub(super) fn name(self) -> String {
        if self.seconds == 0 {
            return "UTC".to_owned();
        }
        let sign = if self.seconds < 0 { '-' } else { '+' };
        let minutes = self.seconds.abs() / 60;
        format!("{sign}{:02}{:02}", minutes / 60, minutes % 60)
    }
}

/// The parts of a time on a calendar and a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) nanosecond: i64,
    /// 0 is Sunday; not read.
    pub(super) weekday: i64,
}

/// A point in time and the zone that it is shown in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instant {
    pub(super) at: Timestamp,
    pub(super) zone: Zone,
}

impl Instant {
    /// The time that a calendar and a clock show in a zone; `None` where there is no such day or hour.
    pub(super) fn of(civil: &Civil, zone: Zone) -> Option<Instant> {
        let small = |value: i64| i8::try_from(value).ok();
        let date = DateTime::new(
            i16::try_from(civil.year).ok()?,
            small(civil.month)?,
            small(civil.day)?,
            small(civil.hour)?,
            small(civil.minute)?,
            small(civil.second)?,
            i32::try_from(civil.nanosecond).ok()?,
        )
        .ok()?;
        let at = Offset::from_seconds(zone.seconds).ok()?.to_timestamp(date).ok()?;
        Some(Instant { at, zone })
    }

    pub(super) fn civil(&self) -> Civil {
        let offset = Offset::from_seconds(self.zone.seconds).unwrap_or(Offset::UTC);
        let date = offset.to_datetime(self.at);
        Civil {
            year: date.year().into(),
            month: date.month().into(),
            day: date.day().into(),
            hour: date.hour().into(),
            minute: date.minute().into(),
            second: date.second().into(),
            nanosecond: date.subsec_nanosecond().into(),
            weekday: date.weekday().to_sunday_zero_offset().into(),
        }
    }

    /// The time this many nanoseconds later; `None` beyond year 9999.
    pub(super) fn later(self, nanoseconds: i64) -> Option<Instant> {
        let at = Timestamp::from_nanosecond(self.at.as_nanosecond() + i128::from(nanoseconds)).ok()?;
        Some(Instant { at, ..self })
    }
}

/// A duration as Go shows it: `1h15m30.918s`, `1.5ms`, `0s`.
pub(super) fn duration_text(nanoseconds: i64) -> String {
    let mut out = String::new();
    if nanoseconds < 0 {
        out.push('-');
    }
    let total = nanoseconds.unsigned_abs();
    let decimal = |out: &mut String, value: u64, unit: u64, name: &str| {
        let _ = write!(out, "{}", value / unit);
        let digits = unit.ilog10() as usize;
        let fraction = format!("{:0digits$}", value % unit);
        let fraction = fraction.trim_end_matches('0');
        if !value.is_multiple_of(unit) {
            out.push('.');
            out.push_str(fraction);
        }
        out.push_str(name);
    };
    match total {
        0 => out.push_str("0s"),
        1..1_000 => {
            let _ = write!(out, "{total}ns");
        }
        1_000..1_000_000 => decimal(&mut out, total, 1_000, "µs"),
        1_000_000..1_000_000_000 => decimal(&mut out, total, 1_000_000, "ms"),
        _ => {
            let (hours, minutes) = (total / HOUR as u64, total / MINUTE as u64 % 60);
            if hours > 0 {
                let _ = write!(out, "{hours}h");
            }
            if hours > 0 || minutes > 0 {
                let _ = write!(out, "{minutes}m");
            }
            decimal(&mut out, total % MINUTE as u64, SECOND as u64, "s");
        }
    }
    out
}

/// Reads what [`duration_text`] writes, and any other sum of numbers with units.
pub(super) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total: i64 = 0;
    loop {
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let (digits, behind) = rest.split_at(number);
        let unit = behind.len() - behind.trim_start_matches(|c: char| !c.is_ascii_digit() && c != '.').len();
        let (unit, behind) = behind.split_at(unit);
        let unit = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => MICROSECOND,
            "ms" => MILLISECOND,
            "s" => SECOND,
            "m" => MINUTE,
            "h" => HOUR,
            _ => return None,
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(unit)?)?;
        let mut scale = unit;
        for digit in fraction.bytes() {
            scale /= 10;
            total = total.checked_add(scale * i64::from(digit - b'0'))?;
        }
        rest = behind;
        if rest.is_empty() {
            return Some(if negative { -total } else { total });
        }
    }
}
