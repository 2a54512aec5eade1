//! Limits as they are written: in a configuration file, and behind `--limit`.

use std::fmt;
use std::time::Duration;

use portico_krm::yaml::Lined;
use portico_runtime::{LimitName, LimitUnit, LimitValue};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use crate::units::{Bound, parse_bytes, parse_count, parse_duration};

/// The limits of a mapping, in the order in which they stand there.
#[derive(Debug, Default)]
pub(super) struct LimitFields(pub(super) Vec<(LimitName, Lined<LimitValue>)>);

/// Reads a value as the limit's unit has it: `64MiB`, `90s`, `2G`, `unlimited`.
pub(crate) fn parse_limit(name: LimitName, text: &str) -> Result<LimitValue, String> {
    let value = match name.unit() {
        LimitUnit::Count => LimitValue::Count(plain(parse_count(text)?, u64::MAX)),
        LimitUnit::Bytes => LimitValue::Bytes(plain(parse_bytes(text)?, u64::MAX)),
        LimitUnit::Time => LimitValue::Time(plain(parse_duration(text)?, Duration::MAX)),
    };
    // Flags of old take 0 for no limit. Here nothing can be misread: 0 is nothing where that makes sense.
    match (text, name) {
        ("0", LimitName::FuelPerStep | LimitName::FuelPerInputByte | LimitName::RetainedMemory | LimitName::Stderr) => {
            Ok(match value {
                LimitValue::Count(_) => LimitValue::Count(0),
                _ => LimitValue::Bytes(0),
            })
        }
        ("0", _) => Err(format!("nothing could run with `{name}` at 0; for no limit write `unlimited`")),
        _ => Ok(value),
    }
}

/// The value of a bound; `most` where there is none.
pub(super) fn plain<T>(bound: Bound<T>, most: T) -> T {
    match bound {
        Bound::Unlimited => most,
        Bound::At(value) => value,
    }
}

/// A mapping in `limits`: the outer one, or a section of it.
#[derive(Clone, Copy)]
struct Section(&'static str);

impl<'de> Deserialize<'de> for LimitFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LimitFields, D::Error> {
        Section("").deserialize(deserializer)
    }
}

impl<'de> DeserializeSeed<'de> for Section {
    type Value = LimitFields;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<LimitFields, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Section {
    type Value = LimitFields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping of limits")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LimitFields, A::Error> {
        let mut fields = LimitFields::default();
        while let Some(key) = map.next_key_seed(Key(self))? {
            match key {
                Known::Limit(name) => {
                    let Lined { line, value } = map.next_value_seed(LinedLimit(name))?;
                    fields.0.push((name, Lined { line, value }));
                }
                Known::Section(section) => fields.0.extend(map.next_value_seed(section)?.0),
            }
        }
        Ok(fields)
    }
}

/// A key that is known here.
enum Known {
    Limit(LimitName),
    Section(Section),
}

struct Key(Section);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Known;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Known, D::Error> {
        let key = String::deserialize(deserializer)?;
        let Section(prefix) = self.0;
        if prefix.is_empty() {
            match key.as_str() {
                "package" => return Ok(Known::Section(Section("package."))),
                "yaml" => return Ok(Known::Section(Section("yaml."))),
                _ => {}
            }
        }
        // No dots in a key: `package.files` is written as `files` below `package`.
        let name = LimitName::of(&format!("{prefix}{key}")).filter(|_| !key.contains('.'));
        name.map(Known::Limit).ok_or_else(|| D::Error::custom(unknown(&key, prefix)))
    }
}

fn unknown(key: &str, prefix: &str) -> String {
    let mut known: Vec<&str> = LimitName::ALL
        .iter()
        .filter_map(|name| name.as_str().strip_prefix(prefix))
        .filter(|name| !name.contains('.'))
        .collect();
    if prefix.is_empty() {
        known.extend(["package", "yaml"]);
    }
    let elsewhere = LimitName::ALL.iter().find(|name| name.as_str().rsplit('.').next() == Some(key));
    match elsewhere {
        Some(name) => format!("unknown limit `{key}`; did you mean `{name}`?"),
        None => format!("unknown limit `{key}`; known here: {}", known.join(", ")),
    }
}

/// The value of a limit, with its line.
struct LinedLimit(LimitName);

impl<'de> DeserializeSeed<'de> for LinedLimit {
    type Value = Lined<LimitValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let Lined { line, value: Text(text) } = Lined::<Text>::deserialize(deserializer)?;
        let value = parse_limit(self.0, &text)
            .map_err(|advice| D::Error::custom(format!("`{text}` is no value for it: {advice}")))?;
        Ok(Lined { line, value })
    }
}

/// A scalar as text: `5` and `"5"` are the same here.
#[derive(Debug)]
pub(super) struct Text(pub(super) String);

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
