//! The configuration.

use portico_fn::{Resource, config};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::path::FieldPath;
use crate::value::Value;

const API_VERSION: &str = "fn.kpt.dev/v1alpha1";
const KIND: &str = "ApplyReplacements";
/// The field that a source or target means when it names none.
const DEFAULT_PATH: &str = "metadata.name";

/// What is to be replaced, in order.
pub(crate) struct Settings {
    pub(crate) replacements: Vec<Replacement>,
}

/// One value and the fields that it goes to.
pub(crate) struct Replacement {
    pub(crate) source: Source,
    pub(crate) targets: Vec<Target>,
}

/// Where the value comes from.
pub(crate) enum Source {
    /// It stands in the configuration.
    Given(Value),
    /// It is a field of an item.
    Field { selector: SourceSelector, path: FieldPath },
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Document {
    replacements: Option<Vec<Entry>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    source: Option<SourceSelector>,
    source_value: Option<IgnoredAny>,
    targets: Option<Vec<Target>>,
}

/// Which item, and which of its fields. Parts that are given must be equal.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SourceSelector {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
    field_path: String,
    pub(crate) options: Options,
}

/// Which items, and which of their fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Target {
    pub(crate) select: Option<Select>,
    pub(crate) reject: Vec<Select>,
    field_paths: Vec<String>,
    pub(crate) options: Options,
}

/// Items by patterns that must match a whole part, and by labels and annotations.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Select {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) label_selector: String,
    pub(crate) annotation_selector: String,
}

/// Parts of values, and whether missing fields are made.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Options {
    /// Empty: the whole value.
    pub(crate) delimiter: String,
    pub(crate) index: i64,
    pub(crate) create: bool,
    /// Kustomize accepts it and does nothing with it.
    #[serde(rename = "encoding")]
    _encoding: Option<IgnoredAny>,
}

impl Settings {
    /// Reads the configuration object; the error is the message of the result.
    pub(crate) fn read(object: Option<&Resource>) -> Result<Settings, String> {
        let missing = |object: &Resource| object.api_version().is_empty() && object.kind().is_empty();
        let Some(object) = object.filter(|object| !missing(object)) else {
            return Err(format!("FunctionConfig is missing. Expect `{KIND}`"));
        };
        if object.api_version() != API_VERSION || object.kind() != KIND {
            return Err(format!(
                "received functionConfig of kind {} and apiVersion {}, only functionConfig of kind {KIND} and \
                 apiVersion {API_VERSION} is supported",
                object.kind(),
                object.api_version()
            ));
        }
        let document: Document = config::decode(object).map_err(|error| {
            format!("cannot read the function's configuration: `{}`: {}", error.path, error.message)
        })?;
        let entries = document.replacements.unwrap_or_default();
        let replacements = entries
            .into_iter()
            .enumerate()
            .map(|(number, entry)| entry.check(object, number).map_err(|e| format!("replacements[{number}]: {e}")))
            .collect::<Result<_, _>>()?;
        Ok(Settings { replacements })
    }
}

impl Entry {
    fn check(self, object: &Resource, number: usize) -> Result<Replacement, String> {
        let source = match (self.source, self.source_value) {
            (Some(_), Some(_)) => return Err("`source` and `sourceValue` exclude each other".to_owned()),
            (None, None) => return Err("must specify a `source` or a `sourceValue`".to_owned()),
            (None, Some(_)) => Source::Given(given_value(object, number)?),
            (Some(selector), None) => {
                let text = if selector.field_path.is_empty() { DEFAULT_PATH } else { &selector.field_path };
                let path = FieldPath::parse(text)?;
                Source::Field { selector, path }
            }
        };
        match self.targets {
            Some(targets) if !targets.is_empty() => Ok(Replacement { source, targets }),
            _ => Err("must specify `targets`".to_owned()),
        }
    }
}

/// The value of `sourceValue`, with the type that it has in the document.
fn given_value(object: &Resource, number: usize) -> Result<Value, String> {
    let tree = &object.tree;
    let node = tree
        .get(tree.root(), "replacements")
        .and_then(|list| tree.elements(list).nth(number))
        .and_then(|entry| tree.get(entry, "sourceValue"))
        .filter(|node| tree.is_scalar(*node))
        .ok_or("`sourceValue` must be a single value")?;
    Ok(Value::scalar_of(tree, node))
}

impl Target {
    /// The paths that are meant, the default one where none is given; the error is a message.
    pub(crate) fn paths(&self) -> Result<Vec<FieldPath>, String> {
        if self.field_paths.is_empty() {
            return FieldPath::parse(DEFAULT_PATH).map(|path| vec![path]);
        }
        self.field_paths.iter().map(|text| FieldPath::parse(text)).collect()
    }
}
