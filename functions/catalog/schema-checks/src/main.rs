//! The functions that check objects against schemas, in one module: they share the schemas and the validator.
//! `argv[0]` says which one is meant.

use std::process::ExitCode;

use portico_fn::{Output, main_of};

fn main() -> ExitCode {
    let called = std::env::args_os().next().map(|name| name.display().to_string()).unwrap_or_default();
    let file = called.rsplit('/').next().unwrap_or(&called);
    match file.strip_suffix(".wasm").unwrap_or(file) {
        "kubeconform" => main_of(kubeconform::program),
        "kubeval" => main_of(kubeval::program),
        _ => main_of(|_| unknown(&called)),
    }
}

fn unknown(called: &str) -> Output {
    Output {
        stdout: Vec::new(),
        stderr: format!("no function `{called}` in this module; it is called `kubeconform` or `kubeval`\n"),
        exit_code: 2,
    }
}
