//! Kpt style against kpt's own output: each case goes through what a render with one function that changes nothing does
//! (annotations, `ResourceList`, comments and key order from the input, annotations away).
//!
//! The cases of the conformance data are read where `PORTICO_CONFORMANCE` names them; `tests/cases` holds our own.
#![expect(clippy::print_stdout, reason = "what was skipped is to be seen")]

use std::path::{Path, PathBuf};
use std::process::Command;

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

const KPTFILE: &str =
    "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\npipeline:\n  mutators:\n  - exec: cat\n";

/// What the real kpt makes of a file; `None` where it is not installed.
fn kpt(text: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("Kptfile"), KPTFILE).unwrap();
    std::fs::write(folder.path().join("in.yaml"), text).unwrap();
    let run = Command::new("kpt").args(["fn", "render", "--allow-exec"]).arg(folder.path()).output();
    let Ok(run) = run else {
        println!("skipped: the comparison with kpt, because it is not on the PATH");
        return None;
    };
    assert!(run.status.success(), "{}\n{text}", String::from_utf8_lossy(&run.stderr));
    Some(std::fs::read_to_string(folder.path().join("in.yaml")).unwrap())
}

#[test]
fn our_recorded_cases_are_what_kpt_writes() {
    let folder = folders().remove(0);
    for case in std::fs::read_dir(folder).unwrap() {
        let case = case.unwrap().path();
        let Some(found) = kpt(&std::fs::read_to_string(case.join("in.yaml")).unwrap()) else { return };
        assert_eq!(found, std::fs::read_to_string(case.join("kpt.yaml")).unwrap(), "{}", case.display());
    }
}

/// A manifest whose fields hold pieces of text in every style that can carry them.
fn torture(seed: usize) -> String {
    let pieces = [
        "a", " b", "x: y", " #c", "'", "\"", "\\", "é", "日", "- ", "{", "]", ",", "1", "true", "%", "@", "😀", "?",
        ":",
    ];
    let mut out = String::from("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n");
    for n in 0..60 {
        let at = |k: usize| pieces[(seed * 7919 + n * 31 + k * 17 + n * n) % pieces.len()];
        let text = format!("{}{}{}{}", at(1), at(2), at(3), at(4));
        let doubled = text.replace('\'', "''");
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        let value = match n % 4 {
            0 => format!("'{doubled}' # c{n}"),
            1 => format!("\"{escaped}\""),
            2 => format!("|\n    {}\n      {text}\n", text.trim_start()),
            _ => format!("['{doubled}', \"{escaped}\"]"),
        };
        out.extend(["  k", &n.to_string(), ": ", &value, "\n"]);
    }
    out
}

#[test]
fn scalars_come_out_as_the_real_kpt_writes_them() {
    for seed in 0..6 {
        let text = torture(seed);
        let Some(expected) = kpt(&text) else { return };
        assert_eq!(render(text.as_bytes()).unwrap(), expected, "{text}");
    }
}
