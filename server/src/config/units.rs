//! Values as people write them: times, sizes, counts.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// A limit that is set to a value or switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound<T> {
    /// Switched off.
    Unlimited,
    /// At most this.
    At(T),
}

impl<T> Bound<T> {
    /// The value; `most` where it is switched off.
    pub fn or(self, most: T) -> T {
        match self {
            Bound::Unlimited => most,
            Bound::At(value) => value,
        }
    }
}

fn off(text: &str) -> bool {
    matches!(text, "0" | "unlimited" | "none")
}

/// `2s`, `1m 30s`, `500ms`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Bound<Duration>, String> {
    if off(text) {
        return Ok(Bound::Unlimited);
    }
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Bound::At(Duration::from_secs(seconds.into())));
    }
    humantime::parse_duration(text).map(Bound::At).map_err(|error| format!("{error}; write `90s`, `5m` or `unlimited`"))
}

/// `64MiB`, `1GB`, `65536`.
pub fn parse_bytes(text: &str) -> Result<Bound<u64>, String> {
    if off(text) {
        return Ok(Bound::Unlimited);
    }
    text.parse::<bytesize::ByteSize>()
        .map(|size| Bound::At(size.as_u64()))
        .map_err(|_| "write `64MiB`, `1GiB` or `unlimited`".to_owned())
}

/// `2000000000`, `500M`, `2G`.
pub fn parse_count(text: &str) -> Result<Bound<u64>, String> {
    if off(text) {
        return Ok(Bound::Unlimited);
    }
    let (digits, factor) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let value: Option<u64> = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
    value.map(Bound::At).ok_or_else(|| "write a whole number, with K, M or G behind it, or `unlimited`".to_owned())
}

/// A scalar as text: `5` and `"5"` are the same here.
#[derive(Debug, Clone)]
pub struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a size, a time or `unlimited`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }

            fn visit_u64<E: Error>(self, n: u64) -> Result<Text, E> {
                Ok(Text(n.to_string()))
            }

            fn visit_i64<E: Error>(self, n: i64) -> Result<Text, E> {
                Ok(Text(n.to_string()))
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}

/// Fields of a configuration that are read by one of the functions above.
macro_rules! written {
    ($(#[$doc:meta])* $name:ident($value:ty), $parse:ident, $most:expr, $schema:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub $value);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let Text(text) = Text::deserialize(deserializer)?;
                match $parse(&text) {
                    Ok(bound) => Ok(Self(bound.or($most))),
                    Err(advice) => Err(D::Error::custom(format!("`{text}` is no value for it: {advice}"))),
                }
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": ["string", "integer"], "format": $schema})
            }
        }
    };
}

written!(
    /// Bytes: `64MiB`, `1GB`, `65536`; `unlimited` is the largest number.
    Size(u64), parse_bytes, u64::MAX, "bytes"
);
written!(
    /// A time: `2s`, `1m 30s`, `500ms`, a bare number of seconds; `unlimited` is the largest one.
    Span(Duration), parse_duration, Duration::MAX, "time"
);
written!(
    /// A number: `2000`, `500M`, `2G`; `unlimited` is the largest one.
    Number(u64), parse_count, u64::MAX, "number"
);
