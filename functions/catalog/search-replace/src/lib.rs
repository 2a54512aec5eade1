#![doc = include_str!("../README.md")]

mod field_path;
mod glob;
mod put;
mod search;
mod settings;
#[cfg(test)]
mod tests;

use portico_fn::{
    FunctionResult, Output, Resource, ResourceList, ResultField, ResultFile, Results, Verdict, run_in_order,
};
use setters_core::go_quoted;

use crate::search::search;
use crate::settings::Settings;

/// A field that was found.
#[derive(Debug)]
struct Hit {
    path: String,
    /// What it holds in the end, as YAML with its comment.
    value: String,
}

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
#[expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]
pub fn program(input: Vec<u8>) -> Output {
    run_in_order(&function(), &input)
}

/// The function, ready for [`portico_fn::run_in_order`].
pub fn function() -> impl portico_fn::Processor {
    |list: &mut ResourceList| Ok(process(list))
}

fn process(list: &mut ResourceList) -> Verdict {
    let mut results = Results::from(std::mem::take(&mut list.results));
    let verdict = match search_replace(list) {
        Ok(found) => {
            results.extend(found);
            Verdict::Pass
        }
        Err(message) => {
            results.error(format!("failed to perform search-replace operation: {}", go_quoted(&message)));
            Verdict::Fail
        }
    };
    list.results = results.into_vec();
    verdict
}

fn search_replace(list: &mut ResourceList) -> Result<Vec<FunctionResult>, String> {
    let settings = Settings::read(list.function_config.as_ref())?;
    let mut results = Vec::new();
    for item in &mut list.items {
        if settings.file.as_ref().is_some_and(|file| !file.is_match(item.path().unwrap_or_default())) {
            continue;
        }
        let hits = match settings.exact_path() {
            Some((path, value)) => vec![put::at_path(item, path, value, settings.put_comment.as_deref())?],
            None => search(item, &settings)?,
        };
        results.extend(hits.into_iter().map(|hit| about(item, &settings, hit)));
    }
    if results.is_empty() {
        results.push(FunctionResult { message: "no matches".to_owned(), ..FunctionResult::default() });
    }
    Ok(results)
}

fn about(item: &Resource, settings: &Settings, hit: Hit) -> FunctionResult {
    let value = go_quoted(&hit.value);
    let message = if settings.puts() {
        format!("Mutated field value to {value}")
    } else {
        format!("Matched field value {value}")
    };
    FunctionResult {
        message,
        field: Some(ResultField { path: hit.path, ..ResultField::default() }),
        file: item.path().map(|path| ResultFile { path: path.to_owned(), index: 0 }),
        ..FunctionResult::default()
    }
}
