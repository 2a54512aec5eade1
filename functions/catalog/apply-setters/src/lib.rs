#![doc = include_str!("../README.md")]

mod apply;
mod redact;
mod secrets;
#[cfg(test)]
mod tests;

use portico_fn::{
    FunctionResult, Output, Resource, ResourceList, ResourceRef, ResultField, ResultFile, Results, Severity, Verdict,
    run_in_order,
};
use setters_core::{data_of, go_quoted};

use crate::apply::{Change, Setters};
use crate::redact::shown;

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
    let verdict = match data_of(list.function_config.as_ref()) {
        Ok(values) => apply_setters(list, &Setters::new(values), &mut results),
        Err(message) => {
            results.error(failed(&message));
            Verdict::Fail
        }
    };
    list.results = results.into_vec();
    verdict
}

fn apply_setters(list: &mut ResourceList, setters: &Setters, results: &mut Results) -> Verdict {
    let before = results.len();
    for item in &mut list.items {
        match setters.apply(item) {
            Ok(changes) => {
                for change in changes {
                    results.push(about(item, &change));
                }
            }
            Err(error) => {
                // what was set before is of no use in a package that stays half set
                results.truncate(before);
                results.about_field(item, Severity::Error, failed(&error.to_string()), error.path(), None, None);
                return Verdict::Fail;
            }
        }
    }
    if results.len() == before {
        results
            .push(FunctionResult { message: "no matches for input setter(s)".to_owned(), ..FunctionResult::default() });
    }
    Verdict::Pass
}

fn failed(reason: &str) -> String {
    format!("failed to apply setters: {reason}")
}

fn about(item: &Resource, change: &Change) -> FunctionResult {
    let current = shown(&change.old, &change.path, &change.names);
    let proposed = shown(&change.new, &change.path, &change.names);
    let message = format!("set field value to {}", go_quoted(&proposed));
    let some = |text: String| (!text.is_empty()).then_some(text);
    FunctionResult {
        resource_ref: Some(ResourceRef::of(item)),
        field: Some(ResultField {
            path: change.path.clone(),
            current_value: some(current),
            proposed_value: some(proposed),
        }),
        file: item.path().map(|path| ResultFile { path: path.to_owned(), index: 0 }),
        ..FunctionResult::new(Severity::Info.as_str(), message)
    }
}
