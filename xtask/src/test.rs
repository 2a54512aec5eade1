//! `cargo xtask test` and `cargo xtask soak`.

use anyhow::Result;

use crate::{cargo, cargo_with, functions, say};

/// Builds what the tests need and runs every quick test.
pub(crate) fn run(soak: bool) -> Result<()> {
    say("test: building the functions and probes");
    functions::build(&functions::Options::default())?;
    say("test: building the program");
    cargo(&["build", "--release", "--package", "portico"])?;
    let mut variables: Vec<(&str, &str)> = Vec::new();
    if soak {
        say("test: the long versions; this takes an hour and more");
        // The tests that have a long version look at this variable. It is set for the children alone.
        variables.push(("PORTICO_SOAK", "1"));
    }
    // Two selections: built together, the functions' dependencies would switch on features below wasmtime, and it
    // would be compiled once more.
    let (mut host, mut guests) = (vec!["test", "--release"], vec!["test", "--release", "--workspace"]);
    for package in HOST {
        host.extend(["--package", package]);
        guests.extend(["--exclude", package]);
    }
    say("test: the host");
    cargo_with(&host, &variables)?;
    say("test: the functions, on the host");
    cargo_with(&guests, &variables)?;
    if soak {
        say("test: traces; they are another build of the server");
        cargo_with(&TRACES, &variables)?;
    }
    Ok(())
}

/// Traces, sent to a collector.
const TRACES: [&str; 8] = ["test", "--release", "--package", "portico", "--features", "otlp", "--test", "traces"];

/// What is built for the host alone; all other packages are guests, tested on the host.
const HOST: [&str; 11] = [
    "portico-krm",
    "portico-runtime",
    "portico-scheduler",
    "portico-server",
    "portico-c",
    "portico-fn",
    "portico-catalog",
    "portico",
    "portico-tests",
    "embed-scheduler",
    "xtask",
];
