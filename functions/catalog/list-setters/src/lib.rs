#![doc = include_str!("../README.md")]

mod fields;
mod kptfile;
mod setters;
#[cfg(test)]
mod tests;

use portico_fn::{FunctionResult, Output, ResourceList, Results, Verdict, run_in_order};

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
    let mut setters = Setters::default();
    let verdict = match kptfile::given_values(&list.items) {
        Ok(values) => {
            for (name, value) in values {
                setters.give(name, value);
            }
            for item in &list.items {
                fields::count(item, &mut setters);
            }
            report(&setters, &mut results);
            Verdict::Pass
        }
        Err(error) => {
            results.error(format!("failed to list setters: unable to read Kptfile: {error}"));
            Verdict::Fail
        }
    };
    list.results = results.into_vec();
    verdict
}

fn report(setters: &Setters, results: &mut Results) {
    let messages = setters.messages();
    if messages.is_empty() {
        results.warning("no setters found");
    }
    for message in messages {
        results.push(FunctionResult { message, ..FunctionResult::default() });
    }
}
