//! Limits and profiles of functions as they are written: in configuration files, and behind `--limit`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use portico_krm::yaml::Lined;
use portico_runtime::{FunctionPattern, LimitName, LimitProfile, LimitSettings, LimitSource, LimitUnit, LimitValue};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value, json};

use super::error::ConfigError;
use super::units::{Text, parse_bytes, parse_count, parse_duration};

/// The limits of a mapping, in the order in which they stand there.
#[derive(Debug, Default, Clone)]
pub struct LimitFields(pub(super) Vec<(LimitName, Lined<LimitValue>)>);

impl LimitFields {
    /// What the file `path` sets here; `None` where that is nothing.
    pub fn settings(self, path: &str) -> Option<LimitSettings> {
        let source = |line| LimitSource::File { path: path.to_owned(), line };
        (!self.0.is_empty()).then(|| settings(self, source))
    }
}

fn settings(fields: LimitFields, source: impl Fn(u32) -> LimitSource) -> LimitSettings {
    let mut settings = LimitSettings::default();
    for (name, Lined { line, value }) in fields.0 {
        settings.set(name, value, source(line));
    }
    settings
}

/// Limits for some functions, as a file has them.
#[derive(Debug, Default, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase", expecting = "a mapping with `name`, `image`, `limits`")]
pub struct ProfileFields {
    /// The last part of the image without its tag, or the file name of a program; a star stands for any characters.
    name: Option<String>,
    /// The whole image with registry, path and tag; a star stands for any characters.
    image: Option<String>,
    /// What these functions may use instead.
    limits: LimitFields,
}

impl ProfileFields {
    /// The profile; it stands in the file `path` at this line.
    pub fn profile(self, path: &str, line: u32) -> Result<LimitProfile, ConfigError> {
        let Self { name, image, limits } = self;
        let wrong = |line, text: String| ConfigError::Field { path: path.to_owned(), line, text };
        if name.is_none() && image.is_none() {
            let text = "say by `name` or `image` which functions this is for; a star stands for all";
            return Err(wrong(line, text.to_owned()));
        }
        if let Some((name, Lined { line, .. })) = limits.0.iter().find(|(name, _)| !name.is_of_step()) {
            let known: Vec<&str> =
                LimitName::ALL.into_iter().filter(|name| name.is_of_step()).map(LimitName::as_str).collect();
            let known = known.join(", ");
            let text = format!("`{name}` is a limit of the whole render, not of a function; known here: {known}");
            return Err(wrong(*line, text));
        }
        let functions = FunctionPattern { name, image };
        let source = |line| LimitSource::Profile { functions: functions.clone(), path: path.to_owned(), line };
        let settings = settings(limits, source);
        Ok(LimitProfile { functions, settings })
    }
}

/// Reads a value as the limit's unit has it: `64MiB`, `90s`, `2G`, `unlimited`.
pub fn parse_limit(name: LimitName, text: &str) -> Result<LimitValue, String> {
    let value = match name.unit() {
        LimitUnit::Count => LimitValue::Count(parse_count(text)?.or(u64::MAX)),
        LimitUnit::Bytes => LimitValue::Bytes(parse_bytes(text)?.or(u64::MAX)),
        LimitUnit::Time => LimitValue::Time(parse_duration(text)?.or(Duration::MAX)),
    };
    // Flags of old take 0 for no limit. Here nothing can be misread: 0 is nothing where that makes sense.
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let is_nothing = !number.is_empty() && number.bytes().all(|digit| digit == b'0');
    match (is_nothing, name) {
        (
            true,
            LimitName::FuelPerStep | LimitName::FuelPerInputByte | LimitName::RetainedMemory | LimitName::Stderr,
        ) => Ok(match value {
            LimitValue::Count(_) => LimitValue::Count(0),
            _ => LimitValue::Bytes(0),
        }),
        (true, _) => Err(format!("nothing could run with `{name}` at 0; for no limit write `unlimited`")),
        _ => Ok(value),
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

impl schemars::JsonSchema for LimitFields {
    fn schema_name() -> Cow<'static, str> {
        "Limits".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut own = Map::new();
        let mut sections: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
        for name in LimitName::ALL {
            let what = match name.unit() {
                LimitUnit::Count => "a whole number, perhaps with K, M or G behind it, or `unlimited`",
                LimitUnit::Bytes => "bytes, such as `64MiB`, or `unlimited`",
                LimitUnit::Time => "a time, such as `90s`, or `unlimited`",
            };
            let value = json!({"type": ["string", "integer"], "description": what});
            match name.as_str().split_once('.') {
                Some((section, name)) => _ = sections.entry(section).or_default().insert(name.to_owned(), value),
                None => _ = own.insert(name.as_str().to_owned(), value),
            }
        }
        for (section, properties) in sections {
            let value = json!({"type": "object", "additionalProperties": false, "properties": properties});
            own.insert(section.to_owned(), value);
        }
        json_schema!({"type": "object", "additionalProperties": false, "properties": own})
    }
}
