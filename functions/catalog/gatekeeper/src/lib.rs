#![doc = include_str!("../README.md")]

mod builtins;
mod calls;
mod constraint;
mod error;
mod matching;
mod review;
mod scan;
mod schema;
mod sprintf;
mod template;
#[cfg(test)]
mod tests;
mod tokens;
mod value;

use std::cell::RefCell;

use portico_fn::{FunctionResult, Output, ResourceList, Severity, Verdict};

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out. The items keep their order; stderr tells
/// the error results as the catalog's function does.
#[expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]
pub fn program(input: Vec<u8>) -> Output {
    let told = RefCell::new(String::new());
    let process = |list: &mut ResourceList| {
        let verdict = process(list);
        told.replace(blocks(&list.results));
        Ok(verdict)
    };
    let mut output = portico_fn::run_in_order(&process, &input);
    let told = told.into_inner();
    if output.exit_code != 0 && !told.is_empty() {
        output.stderr = told;
    }
    output
}

fn process(list: &mut ResourceList) -> Verdict {
    match review::check(&list.items) {
        Ok(results) => {
            let passed = !results.has_errors();
            list.results = results.into_vec();
            passed.into()
        }
        Err(error) => {
            list.results = vec![FunctionResult::new(Severity::Error.as_str(), error.to_string())];
            Verdict::Fail
        }
    }
}

/// The error results, a block each: `[error] object : message`, the message in its own lines.
fn blocks(results: &[FunctionResult]) -> String {
    let block = |result: &FunctionResult| {
        let parts = result.resource_ref.as_ref().map(|r| [&*r.api_version, &*r.kind, &*r.namespace, &*r.name]);
        let object = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        let space = if object.is_empty() { "" } else { " " };
        format!("[error] {object}{space}: {}\n", result.message)
    };
    results.iter().filter(|result| result.is_error()).map(block).collect::<Vec<_>>().join("\n")
}
