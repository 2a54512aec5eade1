//! Kpt style against kpt's own output: each case goes through what a render with one function that changes nothing does
//! (annotations, `ResourceList`, comments and key order from the input, annotations away).
//!
//! The cases of the conformance data are read where `PORTICO_CONFORMANCE` names them; `tests/cases` holds our own.
#![expect(clippy::print_stdout, reason = "what was skipped is to be seen")]

use std::path::{Path, PathBuf};

use common::render;

mod common;

/// Folders that hold cases, with their expected output.
fn folders() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases/kpt-style")];
    match std::env::var_os("PORTICO_CONFORMANCE") {
        Some(root) => folders.push(Path::new(&root).join("yaml")),
        None => println!("skipped: the conformance cases, because PORTICO_CONFORMANCE is not set"),
    }
    folders
}

/// Cases that we answer differently on purpose: values that kpt changes.
const DIFFERENT: [&str; 3] = ["f01-flow-maps", "x08-dup-keys", "x09-dup-keys-meta"];

#[test]
fn every_case_comes_out_as_kpt_writes_it() {
    let mut failures = Vec::new();
    let mut count = 0;
    for folder in folders() {
        let mut cases: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        cases.sort();
        for case in cases {
            let name = case.file_name().unwrap().to_string_lossy().into_owned();
            if DIFFERENT.contains(&&*name) || !case.join("in.yaml").exists() {
                continue;
            }
            count += 1;
            let result = render(&std::fs::read(case.join("in.yaml")).unwrap());
            match (std::fs::read_to_string(case.join("kpt.yaml")), result) {
                (Ok(expected), Ok(actual)) if expected == actual => {}
                (Ok(expected), Ok(actual)) => {
                    failures.push(format!("{name}: expected\n{expected}\nfound\n{actual}"));
                }
                (Ok(_), Err(message)) => failures.push(format!("{name}: refused: {message}")),
                (Err(_), Ok(actual)) => failures.push(format!("{name}: kpt refuses it, found\n{actual}")),
                (Err(_), Err(_)) => {}
            }
        }
    }
    println!("{count} cases");
    assert!(failures.is_empty(), "{} of {count} cases differ:\n{}", failures.len(), failures.join("\n====\n"));
}
