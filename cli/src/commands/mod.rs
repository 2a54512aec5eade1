//! One file a command.

pub(crate) mod eval;
pub(crate) mod functions;
pub(crate) mod limits;
pub(crate) mod logs;
pub(crate) mod push;
pub(crate) mod render;
pub(crate) mod save;
pub(crate) mod serve;
pub(crate) mod sink;
pub(crate) mod source;
pub(crate) mod token;

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use clap::CommandFactory;
use portico_krm::results::ResultDocument;
use portico_runtime::package::{Change, PackageDir, PackageFiles, PackageLimits, ReadError};
use portico_runtime::{Difference, LimitName, Outcome};

use crate::printer::{Printer, write_stdout};
use crate::{Exit, diff, explain};

/// `portico completion`.
pub(crate) fn completion(shell: clap_complete::Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::args::Cli::command(), "portico", &mut script);
    write_stdout(&script)?;
    Ok(Exit::Passed)
}

/// Runs a command that speaks to a server.
pub(crate) fn in_runtime<T>(command: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(command)
}

/// Reads a package; its warnings are said.
pub(crate) fn read(directory: &PackageDir, limits: &PackageLimits, printer: &Printer) -> Result<PackageFiles> {
    let files = directory.read(limits).map_err(|error| match error {
        ReadError::Limit(limit) => {
            let flag = LimitName::of(limit.setting).map(|name| format!(" with {}", explain::flag(name)));
            anyhow!("{limit}{}", flag.unwrap_or_default())
        }
        error => error.into(),
    })?;
    for warning in &files.warnings {
        printer.warning(&warning.to_string());
    }
    Ok(files)
}

/// Says what two renders came to; false when they did not come to the same.
pub(crate) fn verified(printer: &Printer, outcome: &Outcome, difference: Option<&Difference>) -> bool {
    if let Some(difference) = difference {
        printer.error(&format!("error: {}; nothing was written", difference.message(&outcome.steps)));
        return false;
    }
    printer.line("Every function wrote the same bytes and used the same fuel twice.");
    true
}

/// Writes `results.yaml` and says so.
pub(crate) fn write_results(printer: &Printer, directory: Option<&Path>, results: &ResultDocument) -> Result<()> {
    let Some(directory) = directory else { return Ok(()) };
    std::fs::create_dir_all(directory).with_context(|| format!("`--results-dir {}`", directory.display()))?;
    let path = directory.join("results.yaml");
    std::fs::write(&path, results.to_yaml()).with_context(|| format!("cannot write `{}`", path.display()))?;
    printer.line(&format!("For complete results, see {}", path.display()));
    Ok(())
}

/// What becomes of changes to a package: a diff, a check, or files.
pub(crate) struct Sink<'a> {
    pub(crate) package: &'a PackageDir,
    pub(crate) files: &'a PackageFiles,
    pub(crate) diff: bool,
    pub(crate) check: bool,
}

impl Sink<'_> {
    /// Prints, checks or writes; true when something changes.
    pub(crate) fn take(&self, printer: &Printer, changes: &[Change]) -> Result<bool> {
        if self.diff {
            write_stdout(diff::unified(changes, self.files).as_bytes())?;
        }
        if self.check && !self.diff {
            for change in changes {
                printer.line(&format!("would change: {}", change.path()));
            }
        }
        if !self.diff && !self.check {
            let applied = self.package.apply(changes, self.files)?;
            for warning in &applied.warnings {
                printer.warning(&warning.to_string());
            }
        }
        Ok(!changes.is_empty())
    }
}
