//! What is to be found, and what is to be put there.

use std::collections::BTreeMap;

use go_regex::Regex;
use portico_fn::Resource;
use setters_core::{data_of, go_quoted};

use crate::field_path::FieldPath;
use crate::glob;

const KEYS: [&str; 6] = ["by-value", "by-file-path", "by-value-regex", "by-path", "put-value", "put-comment"];

/// Which values are meant.
#[derive(Debug)]
pub(crate) enum ByValue {
    Any,
    Exactly(String),
    Matching(Regex),
}

/// The configuration.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) value: ByValue,
    pub(crate) path: Option<FieldPath>,
    pub(crate) file: Option<Regex>,
    pub(crate) put_value: Option<String>,
    pub(crate) put_comment: Option<String>,
}

impl Settings {
    pub(crate) fn read(config: Option<&Resource>) -> Result<Settings, String> {
        let mut data = data_of(config)?;
        if let Some(key) = data.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let known: Vec<String> = KEYS.iter().map(|key| go_quoted(key)).collect();
            return Err(format!("invalid matcher {}, must be one of [{}]", go_quoted(key), known.join(" ")));
        }
        let value = match (take(&mut data, "by-value"), take(&mut data, "by-value-regex")) {
            (Some(_), Some(_)) => {
                return Err(r#"only one of ["by-value", "by-value-regex"] can be provided"#.to_owned());
            }
            (Some(value), None) => ByValue::Exactly(value),
            (None, Some(pattern)) => {
                let regex = go_regex::compile(&pattern);
                ByValue::Matching(regex.map_err(|error| format!("error parsing regexp: {error}"))?)
            }
            (None, None) => ByValue::Any,
        };
        let file = take(&mut data, "by-file-path").map(|pattern| glob::compile(&pattern)).transpose()?;
        Ok(Settings {
            value,
            path: take(&mut data, "by-path").map(FieldPath::new),
            file,
            put_value: take(&mut data, "put-value"),
            put_comment: take(&mut data, "put-comment"),
        })
    }

    /// True when fields that are found get something.
    pub(crate) fn puts(&self) -> bool {
        self.put_value.is_some() || self.put_comment.is_some()
    }

    /// The path and the value when one certain field is to be set, whether or not it is there.
    pub(crate) fn exact_path(&self) -> Option<(&str, &str)> {
        let path = self.path.as_ref().filter(|path| path.is_exact())?;
        let value = self.put_value.as_deref()?;
        matches!(self.value, ByValue::Any).then(|| (path.text(), value))
    }
}

/// The setting of this name; an empty one is none.
fn take(data: &mut BTreeMap<String, String>, key: &str) -> Option<String> {
    data.remove(key).filter(|value| !value.is_empty())
}
