//! Work that is done in child processes. This program is its own child, as `portico` is.

mod compile;
#[path = "../sandbox/guests.rs"]
#[expect(dead_code, reason = "shared with the tests of the sandbox")]
mod guests;
mod isolation;
mod programs;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// The tests of a module, by the names of their functions.
#[macro_export]
macro_rules! trials {
    ($($test:path),* $(,)?) => {
        vec![$($crate::trial(stringify!($test), $test)),*]
    };
}

pub(crate) fn trial(name: &str, test: fn()) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}

fn main() -> ExitCode {
    if let Some(code) = portico_runtime::serve_child(portico_runtime::Sources::default) {
        return code;
    }
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == isolation::FOR_EVER) {
        isolation::for_ever(arguments.next().expect("the worker's program").into());
        return ExitCode::SUCCESS;
    }
    let trials = compile::trials().into_iter().chain(isolation::trials()).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
