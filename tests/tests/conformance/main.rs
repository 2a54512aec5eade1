//! The conformance runner: cases of public projects and of bug reports, and this project's own.
//!
//! `PORTICO_CONFORMANCE` names the directory of the shared cases; without it only `tests/cases` runs. Every case runs
//! the real binary. A case that is answered differently on purpose stands in `tests/conformance/differences.yaml`.

mod differences;
mod golden;
mod reports;
mod yaml;

use anyhow::Result;
use libtest_mimic::{Arguments, Failed, Trial};

/// What a case came to, apart from passing.
pub(crate) enum Verdict {
    Passed,
    /// It could not run here, with the reason.
    Skipped(String),
}

/// One case: its name (`group/path`) and what runs it.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) run: Box<dyn FnOnce() -> Result<Verdict> + Send>,
}

fn main() -> Result<()> {
    let arguments = Arguments::from_args();
    let mut cases = golden::own_cases()?;
    match portico_tests::conformance_directory() {
        Some(root) => {
            cases.extend(golden::cases(&root, "kpt")?);
            cases.extend(golden::cases(&root, "catalog")?);
            cases.extend(yaml::cases(&root)?);
            cases.extend(reports::cases(&root)?);
        }
        None => note("PORTICO_CONFORMANCE names no directory: only the project's own cases run"),
    }
    let trials = cases
        .into_iter()
        .map(|case| {
            let Case { name, run } = case;
            let shown = name.clone();
            Trial::test(name, move || match run() {
                Ok(Verdict::Passed) => Ok(()),
                Ok(Verdict::Skipped(why)) => {
                    SKIPPED.lock().expect("not poisoned").push(format!("{shown}: {why}"));
                    Ok(())
                }
                Err(error) => Err(Failed::from(format!("{error:#}"))),
            })
        })
        .collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    let skipped = SKIPPED.lock().expect("not poisoned");
    for line in skipped.iter() {
        note(&format!("skipped {line}"));
    }
    note(&format!(
        "conformance: {} passed, {} failed, {} skipped, {} of them differing on purpose",
        conclusion.num_passed as usize - skipped.len(),
        conclusion.num_failed,
        skipped.len(),
        differences::all()?.values().filter(|difference| !difference.outdated).count()
    ));
    conclusion.exit()
}

static SKIPPED: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());

#[expect(clippy::print_stderr, reason = "a test program reports on standard error")]
fn note(text: &str) {
    eprintln!("{text}");
}
