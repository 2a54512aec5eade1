#![doc = include_str!("../README.md")]

#[cfg(test)]
mod tests;
mod words;

use portico_fn::yaml::ScalarType;
use portico_fn::{Error, Output, Resource, ResourceList, Results, Severity, Verdict, run};
use schema_core::{ClosedOrder, Options, Schemas, Settings, check_object};

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
#[expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]
pub fn program(input: Vec<u8>) -> Output {
    run(&validate, &input)
}

/// The function, ready for [`portico_fn::as_main`] or [`portico_fn::run`].
pub fn validate(list: &mut ResourceList) -> Result<Verdict, Error> {
    let options = Options::new(&settings(list.function_config.as_ref()))?;
    let schemas = Schemas::new(&options, &list.items)?;
    let mut found = Results::new();
    for item in &list.items {
        if options.skips(item.api_version(), item.kind()) {
            continue;
        }
        match check_object(item, &schemas, ClosedOrder::Last) {
            // whether or not it is to be ignored, a kind without a schema is passed over: the function always did that
            Ok(None) => {}
            Ok(Some(violations)) => {
                for violation in violations {
                    let path = violation.path.join(".").replace('/', ".");
                    let message = words::message(&violation.problem);
                    found.about_field(item, Severity::Error, message, &path, None, None);
                }
            }
            Err(error) => found.about(item, Severity::Error, error.to_string()),
        }
    }
    let verdict = Verdict::from(!found.has_errors());
    list.results.extend(found.into_vec());
    Ok(verdict)
}

/// Every setting may be a field of the object or of its `data`.
fn settings(config: Option<&Resource>) -> Settings {
    let text = |key: &str| -> String {
        let Some(config) = config else { return String::new() };
        let tree = &config.tree;
        let places = [&[key][..], &["data", key][..]];
        let values = places.iter().filter_map(|path| tree.get_path(config.root(), path));
        let texts = values.filter(|id| tree.is_scalar(*id) && tree.scalar_type(*id) != ScalarType::Null);
        texts.map(|id| tree.text(id).to_owned()).find(|text| !text.is_empty()).unwrap_or_default()
    };
    let flag = |key: &str| {
        let text = text(key);
        text.eq_ignore_ascii_case("true") || text == "1"
    };
    Settings {
        schema_location: text("schema_location"),
        additional_schema_locations: text("additional_schema_locations"),
        version: text("kubernetes_version"),
        skip_kinds: text("skip_kinds"),
        strict: flag("strict"),
        ignore_missing: flag("ignore_missing_schemas"),
    }
}
