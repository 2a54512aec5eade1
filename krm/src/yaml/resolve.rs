//! Which type a scalar has, as go-yaml v3 resolves it for kyaml: a mix of YAML 1.1 and 1.2.
use super::numbers::{is_float, is_int, is_timestamp};
use super::tree::{NodeId, Style, Tree};

/// The type of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarType {
    /// Nothing, `~`, `null`.
    Null,
    /// `true`, `false`; not `yes`, `no`, `on`, `off`.
    Bool,
    /// Decimal, `0x1F`, `0o17`, `017`, `0b11`, with underscores; within 64 bits.
    Int,
    /// `1.5`, `1e3`, `.inf`, `.nan`.
    Float,
    /// `2024-01-31`, `2024-01-31T10:00:00Z`.
    Timestamp,
    /// Only with the tag `!!binary`.
    Binary,
    /// The key `<<`.
    Merge,
    /// Everything else.
    Str,
}

impl Tree {
    /// The type of a scalar; [`ScalarType::Str`] for other nodes.
    pub fn scalar_type(&self, id: NodeId) -> ScalarType {
        if !self.is_scalar(id) || self.is_forced_string(id) {
            return ScalarType::Str;
        }
        resolve(self.text(id), self.style(id), self.tag(id))
    }

    /// True for a scalar that reads as null.
    pub fn is_null(&self, id: NodeId) -> bool {
        self.is_scalar(id) && self.scalar_type(id) == ScalarType::Null
    }
}

/// The type of a scalar with this text, style and explicit tag.
pub(super) fn resolve(text: &str, style: Style, tag: Option<&str>) -> ScalarType {
    match tag {
        None if style == Style::Plain => plain_type(text),
        Some("!!null") => ScalarType::Null,
        Some("!!bool") => ScalarType::Bool,
        Some("!!int") => ScalarType::Int,
        Some("!!float") => ScalarType::Float,
        Some("!!timestamp") => ScalarType::Timestamp,
        Some("!!binary") => ScalarType::Binary,
        Some("!!merge") => ScalarType::Merge,
        None | Some(_) => ScalarType::Str,
    }
}

/// The type of a plain scalar without a tag.
pub fn plain_type(text: &str) -> ScalarType {
    let Some(first) = text.as_bytes().first() else { return ScalarType::Null };
    match first {
        b't' | b'T' | b'f' | b'F' => match text {
            "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => ScalarType::Bool,
            _ => ScalarType::Str,
        },
        b'n' | b'N' | b'~' => match text {
            "~" | "null" | "Null" | "NULL" => ScalarType::Null,
            _ => ScalarType::Str,
        },
        b'<' if text == "<<" => ScalarType::Merge,
        b'0'..=b'9' | b'+' | b'-' | b'.' => number_type(text),
        _ => ScalarType::Str,
    }
}

fn number_type(text: &str) -> ScalarType {
    if is_timestamp(text) {
        ScalarType::Timestamp
    } else if is_int(text) {
        ScalarType::Int
    } else if is_float(text) {
        ScalarType::Float
    } else {
        ScalarType::Str
    }
}

/// True when a string with this text must be quoted, because written plain it reads as another type here or in a
/// YAML 1.1 reader: `yes`, `on`, `1:30` and the like.
pub fn plain_is_ambiguous(text: &str) -> bool {
    plain_type(text) != ScalarType::Str || is_old_bool(text) || is_base60(text)
}

/// The booleans of YAML 1.1 that are strings today.
fn is_old_bool(text: &str) -> bool {
    matches!(
        text,
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF"
    )
}

/// Numbers of YAML 1.1 with base 60: `1:30`, `-12:30:45.5`.
fn is_base60(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let Some((first, rest)) = digits.split_once(':') else { return false };
    let (groups, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    first.starts_with(|c: char| c.is_ascii_digit())
        && first.bytes().all(|b| b.is_ascii_digit() || b == b'_')
        && groups.split(':').all(|group| matches!(group.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']))
        && fraction.bytes().all(|b| b.is_ascii_digit() || b == b'_')
}
