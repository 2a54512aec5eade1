//! The configuration.

use portico_fn::{FieldSpec, Resource, config, field};
use serde::Deserialize;

/// Longest substring, in bytes: names are no longer.
const MAX_SUBSTRING: usize = 253;

/// Where the substring goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EditMode {
    Prepend,
    Append,
}

/// What names are to hold, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Not empty.
    pub(crate) substring: String,
    pub(crate) mode: EditMode,
    /// The fields that hold names, `metadata/name` first.
    pub(crate) fields: Vec<FieldSpec>,
}

/// The object form.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct EnsureNameSubstring {
    substring: String,
    edit_mode: String,
    additional_name_fields: Option<Vec<FieldSpec>>,
    field_specs: Option<Vec<FieldSpec>>,
}

impl EditMode {
    fn read(text: &str) -> Result<EditMode, String> {
        match text {
            "prepend" => Ok(EditMode::Prepend),
            "append" => Ok(EditMode::Append),
            _ => Err(format!("unknown editMode: {text}, only prepend and append are allowed")),
        }
    }
}

impl Settings {
    /// Reads the configuration object; the error is a message.
    pub(crate) fn read(object: Option<&Resource>) -> Result<Settings, String> {
        let given = object.map(|object| (object, object.api_version(), object.kind()));
        let (substring, mode, additional) = match given {
            Some((object, "v1", "ConfigMap")) => of_config_map(object)?,
            Some((object, "fn.kpt.dev/v1alpha1", "EnsureNameSubstring")) => of_object(object)?,
            _ => {
                return Err("function config must be either a `ConfigMap` of `v1` or an `EnsureNameSubstring` of \
                            `fn.kpt.dev/v1alpha1`"
                    .to_owned());
            }
        };
        if substring.is_empty() {
            return Err("substring must not be empty".to_owned());
        }
        if substring.len() > MAX_SUBSTRING {
            return Err(format!("substring must not be longer than {MAX_SUBSTRING} characters"));
        }
        let mut fields = vec![FieldSpec::everywhere("metadata/name", false)];
        fields.extend(additional);
        Ok(Settings { substring, mode, fields })
    }

    /// A name with the substring.
    pub(crate) fn edited(&self, name: &str) -> String {
        match self.mode {
            EditMode::Prepend => format!("{}{name}", self.substring),
            EditMode::Append => format!("{name}{}", self.substring),
        }
    }
}

type Parts = (String, EditMode, Vec<FieldSpec>);

fn of_config_map(object: &Resource) -> Result<Parts, String> {
    let data = match object.tree.get(object.root(), "data") {
        Some(data) => field::string_map(&object.tree, data, &["data"]).map_err(|error| error.to_string())?,
        None => Vec::new(),
    };
    let [(mode, substring)] = data.as_slice() else {
        return Err(format!("only 1 entry is allowed in the ConfigMap, but got: {}", data.len()));
    };
    Ok((substring.clone(), EditMode::read(mode)?, Vec::new()))
}

fn of_object(object: &Resource) -> Result<Parts, String> {
    let read: EnsureNameSubstring = config::decode(object).map_err(|error| error.to_string())?;
    let additional = match (read.additional_name_fields, read.field_specs) {
        (Some(_), Some(_)) => {
            return Err("`fieldSpecs` has been deprecated, please rename it to `additionalNameFields`".to_owned());
        }
        (new, old) => new.or(old).unwrap_or_default(),
    };
    let mode = if read.edit_mode.is_empty() { EditMode::Prepend } else { EditMode::read(&read.edit_mode)? };
    Ok((read.substring, mode, additional))
}
