#![doc = include_str!("../README.md")]

#[cfg(test)]
mod tests;
mod words;

use portico_fn::yaml::ScalarType;
use portico_fn::{Error, Output, Resource, ResourceList, Results, Severity, Verdict, run_silently};
use schema_core::{ClosedOrder, Options, Schemas, Settings, check_object};
use thiserror::Error as ThisError;

/// A flag that is none.
#[derive(Debug, ThisError)]
#[error("`{key}: {given}` must be `true` or `false`")]
pub struct FlagError {
    key: &'static str,
    given: String,
}

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
#[expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]
pub fn program(input: Vec<u8>) -> Output {
    run_silently(&validate, &input)
}

/// The function, ready for [`portico_fn::run_silently`].
pub fn validate(list: &mut ResourceList) -> Result<Verdict, Error> {
    let options = Options::new(&settings(list.function_config.as_ref())?)?;
    let schemas = Schemas::new(&options, &list.items)?;
    let mut found = Results::new();
    for item in &list.items {
        if options.skips(item.api_version(), item.kind()) {
            continue;
        }
        match check_object(item, &schemas, ClosedOrder::First) {
            Ok(None) if options.ignore_missing => {}
            Ok(None) => found.about(item, Severity::Error, words::missing_schema(item, &schemas)),
            Ok(Some(violations)) => {
                for (field, message) in violations.iter().flat_map(words::messages) {
                    found.about_field(item, Severity::Error, message, &field, None, None);
                }
            }
            Err(error) => found.about(item, Severity::Error, error.to_string()),
        }
    }
    let verdict = Verdict::from(!found.has_errors());
    list.results.extend(found.into_vec());
    Ok(verdict)
}

/// The settings are the `data` of a `ConfigMap`.
fn settings(config: Option<&Resource>) -> Result<Settings, FlagError> {
    let text = |key: &str| -> String {
        let Some(config) = config else { return String::new() };
        let tree = &config.tree;
        let value = tree.get_path(config.root(), &["data", key]);
        let value = value.filter(|id| tree.is_scalar(*id) && tree.scalar_type(*id) != ScalarType::Null);
        value.map(|id| tree.text(id).to_owned()).unwrap_or_default()
    };
    let flag = |key: &'static str| match text(key).trim() {
        "" | "false" => Ok(false),
        "true" => Ok(true),
        other => Err(FlagError { key, given: other.to_owned() }),
    };
    Ok(Settings {
        schema_location: text("schema_location"),
        additional_schema_locations: text("additional_schema_locations"),
        version: text("kubernetes_version"),
        skip_kinds: text("skip_kinds"),
        strict: flag("strict")?,
        ignore_missing: flag("ignore_missing_schemas")?,
    })
}
