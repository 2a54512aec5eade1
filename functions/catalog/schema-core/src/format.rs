//! The formats that are checked: those of dates and times.

/// What is wrong with a text of this format; `None` when it is right, or when the format is not one that is checked.
/// Unknown formats are notes for people, as the JSON Schema drafts say.
pub(crate) fn fault(format: &str, text: &str) -> Option<String> {
    match format {
        "date-time" => date_time(text).err(),
        "date" => date(text).err(),
        _ => None,
    }
}

/// RFC 3339, `yyyy-mm-ddThh:mm:ss[.fraction](Z|±hh:mm)`.
fn date_time(text: &str) -> Result<(), String> {
    if text.len() < 20 {
        return Err("less than 20 characters long".to_owned());
    }
    let (Some(day), Some(time)) = (text.get(..10), text.get(11..)) else {
        return Err("11th character must be t or T".to_owned());
    };
    if !matches!(text.as_bytes()[10], b't' | b'T') {
        return Err("11th character must be t or T".to_owned());
    }
    date(day).map_err(|fault| format!("invalid date element: {fault}"))?;
    self::time(time).map_err(|fault| format!("invalid time element: {fault}"))
}

fn date(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 {
        return Err("must be 10 characters long".to_owned());
    }
    let (Some(year), Some(month), Some(day)) = (digits(bytes, 0, 4), digits(bytes, 5, 2), digits(bytes, 8, 2)) else {
        return Err("not a date".to_owned());
    };
    if bytes[4] != b'-' || bytes[7] != b'-' {
        return Err("not a date".to_owned());
    }
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return Err("month out of range".to_owned()),
    };
    if (1..=days).contains(&day) { Ok(()) } else { Err("day out of range".to_owned()) }
}

fn time(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    let (Some(hour), Some(minute), Some(second)) = (digits(bytes, 0, 2), digits(bytes, 3, 2), digits(bytes, 6, 2))
    else {
        return Err("not hh:mm:ss".to_owned());
    };
    if bytes[2] != b':' || bytes[5] != b':' {
        return Err("missing colon in correct place".to_owned());
    }
    // a leap second is the last of a minute
    if hour > 23 || minute > 59 || second > 60 {
        return Err("hour, minute or second out of range".to_owned());
    }
    let mut rest = &bytes[8..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return Err("no digits in second fraction".to_owned());
        }
        rest = &fraction[length..];
    }
    match rest {
        b"z" | b"Z" => Ok(()),
        [b'+' | b'-', zone @ ..] if zone.len() == 5 && zone[2] == b':' => {
            match (digits(zone, 0, 2), digits(zone, 3, 2)) {
                (Some(0..=23), Some(0..=59)) => Ok(()),
                _ => Err("zone out of range".to_owned()),
            }
        }
        _ => Err("no Z and no offset behind the time".to_owned()),
    }
}

/// The number that some digits are.
fn digits(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let digits = bytes.get(at..at + count)?;
    digits.iter().try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_rfc_3339_pass() {
        for text in ["2024-02-29T23:59:60Z", "2024-01-31t10:00:00.123456z", "2024-01-31T10:00:00+02:00"] {
            assert_eq!(fault("date-time", text), None, "{text}");
        }
        assert_eq!(fault("date", "2000-02-29"), None);
        assert_eq!(fault("int-or-string", "x"), None);
    }

    #[test]
    fn other_texts_say_what_is_wrong() {
        for (text, expected) in [
            ("yesterday", "less than 20 characters long"),
            ("2024-01-31 10:00:00Z", "11th character must be t or T"),
            ("2023-02-29T10:00:00Z", "invalid date element: day out of range"),
            ("2023-13-01T10:00:00Z", "invalid date element: month out of range"),
            ("2024-01-31T10:00:00 UTC", "invalid time element: no Z and no offset behind the time"),
            ("2024-01-31T1ü:00:00Z!!!!", "invalid time element: not hh:mm:ss"),
        ] {
            assert_eq!(fault("date-time", text).as_deref(), Some(expected), "{text}");
        }
    }
}
