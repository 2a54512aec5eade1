//! `sprintf` as Go's OPA prints: a wrong verb or a missing argument is told in the text, never an error, so that no
//! violation is lost over its message.

use std::fmt::Write as _;

use regorus::Value;

use crate::value::rego_text;

/// Widest field: Go's own bound is a million, which a loop could turn into gigabytes.
const WIDTH: usize = 10_000;

#[derive(Default)]
struct Verb {
    minus: bool,
    plus: bool,
    zero: bool,
    space: bool,
    sharp: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// Formats the arguments.
pub(crate) fn sprintf(format: &str, args: &[&Value]) -> String {
    let mut out = String::with_capacity(format.len());
    let mut chars = format.chars().peekable();
    let mut args_left = args.iter();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut verb = Verb::default();
        while let Some(flag) = chars.next_if(|c| "-+0 #".contains(*c)) {
            match flag {
                '-' => verb.minus = true,
                '+' => verb.plus = true,
                '0' => verb.zero = true,
                ' ' => verb.space = true,
                _ => verb.sharp = true,
            }
        }
        let digits = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>| {
            let mut number = None;
            while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
                chars.next();
                number = Some((number.unwrap_or(0) * 10 + digit as usize).min(WIDTH));
            }
            number
        };
        verb.width = digits(&mut chars);
        if chars.next_if_eq(&'.').is_some() {
            verb.precision = Some(digits(&mut chars).unwrap_or(0));
        }
        match chars.next() {
            None => out.push_str("%!(NOVERB)"),
            Some('%') => out.push('%'),
            Some(letter) => match args_left.next() {
                None => {
                    let _ = write!(out, "%!{letter}(MISSING)");
                }
                Some(arg) => verb.print(letter, arg, &mut out),
            },
        }
    }
    let extra: Vec<String> = args_left.map(|arg| format!("{}={}", go_type(arg), plain(arg))).collect();
    if !extra.is_empty() {
        let _ = write!(out, "%!(EXTRA {})", extra.join(", "));
    }
    out
}

/// Values as `%v` prints them: strings without quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => rego_text(other),
    }
}

/// The Go type that OPA hands to the formatter.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Number(number) if number.is_integer() => "int",
        Value::Number(_) => "float64",
        _ => "string",
    }
}

impl Verb {
    fn print(&self, letter: char, arg: &Value, out: &mut String) {
        let number = match arg {
            Value::Number(number) => Some(number),
            _ => None,
        };
        let int = number.filter(|number| number.is_integer());
        let text = match (letter, number, int) {
            ('v' | 's', None, _) => self.cut(plain(arg)),
            ('q', None, _) => format!("{:?}", plain(arg)),
            ('T', ..) => go_type(arg).to_owned(),
            ('x' | 'X', None, _) => plain(arg).bytes().fold(String::new(), |mut hex, byte| {
                let _ = if letter == 'x' { write!(hex, "{byte:02x}") } else { write!(hex, "{byte:02X}") };
                hex
            }),
            ('v', Some(_), _) | ('d', _, Some(_)) => self.signed(plain(arg)),
            ('b' | 'o' | 'x' | 'X' | 'c' | 'U' | 'q', _, Some(int)) => match int.as_i64() {
                Some(int) => self.based(letter, int),
                None => plain(arg),
            },
            ('e' | 'E' | 'f' | 'F' | 'g' | 'G', Some(number), None) => match number.as_f64() {
                Some(float) => self.signed(self.float(letter, float)),
                None => plain(arg),
            },
            _ => format!("%!{letter}({}={})", go_type(arg), plain(arg)),
        };
        self.pad(&text, number.is_some(), out);
    }

    fn signed(&self, text: String) -> String {
        match (text.starts_with('-'), self.plus, self.space) {
            (false, true, _) => format!("+{text}"),
            (false, false, true) => format!(" {text}"),
            _ => text,
        }
    }

    fn cut(&self, text: String) -> String {
        match self.precision {
            Some(precision) => text.chars().take(precision).collect(),
            None => text,
        }
    }

    fn based(&self, letter: char, int: i64) -> String {
        let (sign, size) = (if int < 0 { "-" } else { "" }, int.unsigned_abs());
        let prefix = if self.sharp { letter } else { ' ' };
        match letter {
            'c' | 'q' => {
                let char = u32::try_from(int).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
                if letter == 'c' { char.to_string() } else { format!("{char:?}") }
            }
            'U' => format!("U+{size:04X}"),
            'b' if prefix == 'b' => format!("{sign}0b{size:b}"),
            'b' => format!("{sign}{size:b}"),
            'o' if prefix == 'o' => format!("{sign}0{size:o}"),
            'o' => format!("{sign}{size:o}"),
            'x' if prefix == 'x' => format!("{sign}0x{size:x}"),
            'x' => format!("{sign}{size:x}"),
            _ if prefix == 'X' => format!("{sign}0X{size:X}"),
            _ => format!("{sign}{size:X}"),
        }
    }

    fn float(&self, letter: char, float: f64) -> String {
        let scientific = |precision: Option<usize>| {
            let text = precision.map_or_else(|| format!("{float:e}"), |precision| format!("{float:.precision$e}"));
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(digits) => ('-', digits),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{digits:0>2}")
        };
        match letter {
            'e' => scientific(Some(self.precision.unwrap_or(6))),
            'E' => scientific(Some(self.precision.unwrap_or(6))).to_uppercase(),
            'f' | 'F' => format!("{float:.*}", self.precision.unwrap_or(6)),
            _ if float != 0.0 && !(1e-4..1e21).contains(&float.abs()) => scientific(None),
            _ => float.to_string(),
        }
    }

    fn pad(&self, text: &str, is_number: bool, out: &mut String) {
        let missing = self.width.unwrap_or(0).saturating_sub(text.chars().count());
        let padding = |with: &str| with.repeat(missing);
        if self.minus {
            out.push_str(text);
            out.push_str(&padding(" "));
        } else if self.zero && is_number {
            let digits = text.trim_start_matches(['-', '+', ' ']);
            out.push_str(&text[..text.len() - digits.len()]);
            out.push_str(&padding("0"));
            out.push_str(digits);
        } else {
            out.push_str(&padding(if self.zero { "0" } else { " " }));
            out.push_str(text);
        }
    }
}
