//! Numbers and timestamps: which texts are some, and when two are the same.

/// The value of a number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    /// Equal by value: `1`, `1.0` and `0x1` are. Every NaN equals every other.
    pub(super) fn same(self, other: Number) -> bool {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a == b,
            #[expect(clippy::float_cmp, reason = "two texts are the same number when they read as the same bits")]
            (Number::Float(a), Number::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Number::Int(i), Number::Float(f)) | (Number::Float(f), Number::Int(i)) => exactly(f) == Some(i),
        }
    }
}

/// The integer that a float is.
fn exactly(f: f64) -> Option<i128> {
    let whole = f.fract() == 0.0 && f.abs() < 1e30;
    whole.then_some(f as i128)
}

/// The integer in a text: decimal, or with `0x`, `0o`, `0`, `0b` before it; underscores are ignored; 64 bits, signed or
/// not.
pub fn parse_int(text: &str) -> Option<i128> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        b'0'..=b'9' => (false, text),
        _ => return None,
    };
    let signed = digits.len() < text.len();
    let mut rest = digits.bytes().filter(|b| *b != b'_').peekable();
    let mut base: u32 = 10;
    let mut any = false;
    if rest.peek() == Some(&b'0') {
        rest.next();
        base = match rest.peek() {
            Some(b'x' | b'X') => 16,
            Some(b'o' | b'O') => 8,
            Some(b'b' | b'B') => 2,
            _ => {
                any = true;
                8
            }
        };
        if !any {
            rest.next();
        }
    }
    let mut value: i128 = 0;
    for byte in rest {
        value = value * i128::from(base) + i128::from(char::from(byte).to_digit(base)?);
        any = true;
        if value > i128::from(u64::MAX) {
            return None;
        }
    }
    if negative {
        value = -value;
    }
    let fits = value >= i128::from(i64::MIN) && (!signed || value <= i128::from(i64::MAX));
    (any && fits).then_some(value)
}

/// The float in a text: `1.5`, `.5`, `1.`, `1e3`, `.inf`, `.nan`; underscores are ignored behind a digit or sign.
pub fn parse_float(text: &str) -> Option<f64> {
    match text {
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    let plain: String;
    let text = if text.contains('_') && !text.starts_with('.') {
        plain = text.replace('_', "");
        plain.as_str()
    } else {
        text
    };
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mantissa_fits = digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    let exponent_fits = exponent.is_none_or(|e| {
        let e = e.strip_prefix(['+', '-']).unwrap_or(e);
        !e.is_empty() && digits(e)
    });
    if !mantissa_fits || !exponent_fits {
        return None;
    }
    // A number that no double holds is a string.
    text.parse::<f64>().ok().filter(|f| f.is_finite())
}

/// The number in a text that is an int or a float.
pub(super) fn parse_number(text: &str) -> Option<Number> {
    parse_int(text).map(Number::Int).or_else(|| parse_float(text).map(Number::Float))
}

pub(super) fn is_int(text: &str) -> bool {
    parse_int(text).is_some()
}

pub(super) fn is_float(text: &str) -> bool {
    parse_float(text).is_some()
}

/// A date, or date and time: with `T` and a zone, or with spaces and none.
pub(super) fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || bytes[4] != b'-' || !bytes[..4].iter().all(u8::is_ascii_digit) {
        return false;
    }
    parse_timestamp(&text[..4], &text[5..]).is_some()
}

fn parse_timestamp(year: &str, rest: &str) -> Option<()> {
    let year: u32 = year.parse().ok()?;
    let (month, rest) = short_number(rest)?;
    let (day, rest) = short_number(rest.strip_prefix('-')?)?;
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        1..=12 => 31,
        _ => return None,
    };
    if day == 0 || day > days {
        return None;
    }
    if rest.is_empty() {
        return Some(());
    }
    let time = rest.trim_start_matches(' ');
    let spaced = time.len() < rest.len();
    let time = if spaced { time } else { rest.strip_prefix(['T', 't'])? };
    let (hour, rest) = short_number(time)?;
    let (minute, rest) = short_number(rest.strip_prefix(':')?)?;
    let (second, mut rest) = short_number(rest.strip_prefix(':')?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    if let Some(fraction) = rest.strip_prefix(['.', ','])
        && fraction.starts_with(|c: char| c.is_ascii_digit())
    {
        rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    if spaced { rest.is_empty().then_some(()) } else { parse_zone(rest) }
}

fn parse_zone(zone: &str) -> Option<()> {
    if zone == "Z" {
        return Some(());
    }
    let (hours, minutes) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
    let two = |s: &str| (s.len() == 2 && s.bytes().all(|b| b.is_ascii_digit())).then(|| s.parse::<u32>().ok())?;
    (two(hours)? <= 24 && two(minutes)? <= 60).then_some(())
}

/// One or two digits.
fn short_number(text: &str) -> Option<(u32, &str)> {
    let len = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    Some((text[..len].parse().ok()?, &text[len..]))
}
