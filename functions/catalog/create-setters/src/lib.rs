#![doc = include_str!("../README.md")]

mod mark;
mod setters;
#[cfg(test)]
mod tests;

use portico_fn::{FunctionResult, Output, ResourceList, ResultField, ResultFile, Results, Verdict, run_in_order};
use setters_core::go_quoted;

use crate::mark::mark;
use crate::setters::Setters;

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
    let verdict = match create_setters(list, &mut results) {
        Ok(()) => Verdict::Pass,
        Err(message) => {
            results.error(format!("failed to create setters: {message}"));
            Verdict::Fail
        }
    };
    list.results = results.into_vec();
    verdict
}

fn create_setters(list: &mut ResourceList, results: &mut Results) -> Result<(), String> {
    let setters = Setters::read(list.function_config.as_ref())?;
    let before = results.len();
    for item in &mut list.items {
        for marked in mark(item, &setters) {
            let comment = go_quoted(&format!("kpt-set: {}", marked.pattern));
            results.push(FunctionResult {
                message: format!("Added line comment {comment} for field with value {}", go_quoted(&marked.value)),
                field: Some(ResultField { path: marked.path, ..ResultField::default() }),
                file: item.path().map(|path| ResultFile { path: path.to_owned(), index: 0 }),
                ..FunctionResult::default()
            });
        }
    }
    if results.len() == before {
        return Err("no matches for the input list of setters".to_owned());
    }
    Ok(())
}
