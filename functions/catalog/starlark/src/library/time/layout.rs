//! Go's time layouts: the reference time `Mon Jan 2 15:04:05 MST 2006` written as a time shall look.

use std::fmt::Write as _;

use super::instant::{Civil, Instant, Zone};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// One element of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element<'l> {
    Text(&'l str),
    Year,
    ShortYear,
    MonthName {
        short: bool,
    },
    Month {
        padded: bool,
    },
    DayName {
        short: bool,
    },
    Day {
        padded: bool,
        spaced: bool,
    },
    Hour,
    Hour12 {
        padded: bool,
    },
    Minute {
        padded: bool,
    },
    Second {
        padded: bool,
    },
    /// `.000` or `.999`: digits, and whether zeros at the end go.
    Fraction {
        digits: usize,
        trimmed: bool,
    },
    HalfDay {
        upper: bool,
    },
    ZoneName,
    /// `-07:00`, `-0700`, `-07`; with `Z` instead of the sign, UTC is `Z`.
    ZoneOffset {
        colon: bool,
        minutes: bool,
        zulu: bool,
    },
}

/// In the order in which they are tried: longer ones first.
const ELEMENTS: &[(&str, Element<'static>)] = &[
    ("January", Element::MonthName { short: false }),
    ("Jan", Element::MonthName { short: true }),
    ("Monday", Element::DayName { short: false }),
    ("Mon", Element::DayName { short: true }),
    ("MST", Element::ZoneName),
    ("2006", Element::Year),
    ("Z07:00", Element::ZoneOffset { colon: true, minutes: true, zulu: true }),
    ("Z0700", Element::ZoneOffset { colon: false, minutes: true, zulu: true }),
    ("Z07", Element::ZoneOffset { colon: false, minutes: false, zulu: true }),
    ("-07:00", Element::ZoneOffset { colon: true, minutes: true, zulu: false }),
    ("-0700", Element::ZoneOffset { colon: false, minutes: true, zulu: false }),
    ("-07", Element::ZoneOffset { colon: false, minutes: false, zulu: false }),
    ("PM", Element::HalfDay { upper: true }),
    ("pm", Element::HalfDay { upper: false }),
    ("_2", Element::Day { padded: false, spaced: true }),
    ("01", Element::Month { padded: true }),
    ("02", Element::Day { padded: true, spaced: false }),
    ("03", Element::Hour12 { padded: true }),
    ("04", Element::Minute { padded: true }),
    ("05", Element::Second { padded: true }),
    ("06", Element::ShortYear),
    ("15", Element::Hour),
    ("1", Element::Month { padded: false }),
    ("2", Element::Day { padded: false, spaced: false }),
    ("3", Element::Hour12 { padded: false }),
    ("4", Element::Minute { padded: false }),
    ("5", Element::Second { padded: false }),
];

/// The first element of a layout and what follows it.
fn next(layout: &str) -> Option<(Element<'_>, &str)> {
    let first = layout.chars().next()?;
    if matches!(first, '.' | ',') {
        let rest = &layout[1..];
        for (digit, trimmed) in [('0', false), ('9', true)] {
            let digits = rest.len() - rest.trim_start_matches(digit).len();
            let behind = &rest[digits..];
            if digits > 0 && !behind.starts_with(|c: char| c.is_ascii_digit()) {
                return Some((Element::Fraction { digits: digits.min(9), trimmed }, behind));
            }
        }
    }
    for (text, element) in ELEMENTS {
        if let Some(rest) = layout.strip_prefix(text) {
            return Some((*element, rest));
        }
    }
    let (text, rest) = layout.split_at(first.len_utf8());
    Some((Element::Text(text), rest))
}

/// Writes a time.
pub(super) fn format(instant: &Instant, layout: &str) -> String {
    let civil = instant.civil();
    let mut out = String::new();
    let mut rest = layout;
    while let Some((element, behind)) = next(rest) {
        rest = behind;
        write(instant, &civil, element, &mut out);
    }
    out
}

fn write(instant: &Instant, civil: &Civil, element: Element<'_>, out: &mut String) {
    let two = |out: &mut String, value: i64, padded: bool| {
        let _ = if padded { write!(out, "{value:02}") } else { write!(out, "{value}") };
    };
    let hour12 = (civil.hour + 11) % 12 + 1;
    match element {
        Element::Text(text) => out.push_str(text),
        Element::Year => {
            let _ = write!(out, "{:04}", civil.year);
        }
        Element::ShortYear => two(out, civil.year.rem_euclid(100), true),
        Element::MonthName { short } => push_name(name_at(&MONTHS, civil.month - 1), short, out),
        Element::Month { padded } => two(out, civil.month, padded),
        Element::DayName { short } => push_name(name_at(&DAYS, civil.weekday), short, out),
        Element::Day { spaced: true, .. } => {
            let _ = write!(out, "{:2}", civil.day);
        }
        Element::Day { padded, .. } => two(out, civil.day, padded),
        Element::Hour => two(out, civil.hour, true),
        Element::Hour12 { padded } => two(out, hour12, padded),
        Element::Minute { padded } => two(out, civil.minute, padded),
        Element::Second { padded } => two(out, civil.second, padded),
        Element::Fraction { digits, trimmed } => {
            let all = format!("{:09}", civil.nanosecond);
            let shown = &all[..digits];
            let shown = if trimmed { shown.trim_end_matches('0') } else { shown };
            if !shown.is_empty() {
                out.push('.');
                out.push_str(shown);
            }
        }
        Element::HalfDay { upper } => out.push_str(match (civil.hour >= 12, upper) {
            (true, true) => "PM",
            (true, false) => "pm",
            (false, true) => "AM",
            (false, false) => "am",
        }),
        Element::ZoneName => out.push_str(&instant.zone.name()),
        Element::ZoneOffset { zulu: true, .. } if instant.zone.seconds == 0 => out.push('Z'),
        Element::ZoneOffset { colon, minutes, .. } => {
            let seconds = instant.zone.seconds;
            let (sign, total) = if seconds < 0 { ('-', -seconds / 60) } else { ('+', seconds / 60) };
            let _ = write!(out, "{sign}{:02}", total / 60);
            if minutes {
                let _ = write!(out, "{}{:02}", if colon { ":" } else { "" }, total % 60);
            }
        }
    }
}

/// The name with this number, which a calendar keeps in bounds.
fn name_at(names: &[&'static str], number: i64) -> &'static str {
    usize::try_from(number).ok().and_then(|number| names.get(number)).copied().unwrap_or("???")
}

fn push_name(name: &str, short: bool, out: &mut String) {
    out.push_str(if short { &name[..3] } else { name });
}

/// Reads a time; `zone` where the text names none.
pub(super) fn parse(text: &str, layout: &str, zone: Zone) -> Option<Instant> {
    let mut civil = Civil { year: 0, month: 1, day: 1, hour: 0, minute: 0, second: 0, nanosecond: 0, weekday: 0 };
    let mut zone = zone;
    let mut afternoon = None;
    let (mut layout, mut text) = (layout, text);
    while let Some((element, behind)) = next(layout) {
        layout = behind;
        match element {
            Element::Text(expected) => text = text.strip_prefix(expected)?,
            Element::Year => civil.year = number(&mut text, 4, 4)?,
            Element::ShortYear => {
                let short = number(&mut text, 2, 2)?;
                civil.year = if short >= 69 { 1900 + short } else { 2000 + short };
            }
            Element::MonthName { short } => civil.month = name(&mut text, &MONTHS, short)? + 1,
            Element::DayName { short } => drop(name(&mut text, &DAYS, short)?),
            Element::Month { padded } => civil.month = number(&mut text, 1 + usize::from(padded), 2)?,
            Element::Day { padded, spaced } => {
                if spaced {
                    text = text.strip_prefix(' ').unwrap_or(text);
                }
                civil.day = number(&mut text, 1 + usize::from(padded), 2)?;
            }
            Element::Hour => civil.hour = number(&mut text, 1, 2)?,
            Element::Hour12 { padded } => civil.hour = number(&mut text, 1 + usize::from(padded), 2)?,
            Element::Minute { padded } => civil.minute = number(&mut text, 1 + usize::from(padded), 2)?,
            Element::Second { padded } => {
                civil.second = number(&mut text, 1 + usize::from(padded), 2)?;
                // a fraction may follow the seconds, whether the layout has one or not
                if !matches!(next(layout), Some((Element::Fraction { .. }, _))) {
                    civil.nanosecond = fraction(&mut text).unwrap_or(0);
                }
            }
            Element::Fraction { trimmed, .. } => match fraction(&mut text) {
                Some(nanosecond) => civil.nanosecond = nanosecond,
                None if trimmed => {}
                None => return None,
            },
            Element::HalfDay { upper } => {
                let marks = if upper { ["AM", "PM"] } else { ["am", "pm"] };
                let which = marks.iter().position(|mark| text.starts_with(mark))?;
                text = &text[2..];
                afternoon = Some(which == 1);
            }
            Element::ZoneName => {
                text = text.strip_prefix("UTC").or_else(|| text.strip_prefix("GMT"))?;
                zone = Zone::UTC;
            }
            Element::ZoneOffset { colon, minutes, zulu } => zone = offset(&mut text, colon, minutes, zulu)?,
        }
    }
    match afternoon {
        Some(true) if civil.hour < 12 => civil.hour += 12,
        Some(false) if civil.hour == 12 => civil.hour = 0,
        _ => {}
    }
    if text.is_empty() { Instant::of(&civil, zone) } else { None }
}

fn number(text: &mut &str, least: usize, most: usize) -> Option<i64> {
    let digits = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if digits < least {
        return None;
    }
    let (number, rest) = text.split_at(digits);
    *text = rest;
    number.parse().ok()
}

fn name(text: &mut &str, names: &[&str], short: bool) -> Option<i64> {
    names.iter().enumerate().find_map(|(i, name)| {
        let name = if short { &name[..3] } else { name };
        let head = text.get(..name.len())?;
        if !head.eq_ignore_ascii_case(name) {
            return None;
        }
        *text = &text[name.len()..];
        i64::try_from(i).ok()
    })
}

fn fraction(text: &mut &str) -> Option<i64> {
    let rest = text.strip_prefix(['.', ','])?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 {
        return None;
    }
    let nanoseconds = format!("{:0<9}", &rest[..digits.min(9)]);
    *text = &rest[digits..];
    nanoseconds.parse().ok()
}

fn offset(text: &mut &str, colon: bool, minutes: bool, zulu: bool) -> Option<Zone> {
    if zulu && let Some(rest) = text.strip_prefix('Z') {
        *text = rest;
        return Some(Zone::UTC);
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    *text = &text[1..];
    let hours = number(text, 2, 2)?;
    let mut rest = 0;
    if minutes {
        if colon {
            *text = text.strip_prefix(':')?;
        }
        rest = number(text, 2, 2)?;
    }
    (hours <= 24 && rest < 60).then_some(Zone { seconds: sign * (hours * 3600 + rest * 60) as i32 })
}
