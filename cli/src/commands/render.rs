//! `portico render`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use portico_krm::kptfile::Experiments;
use portico_runtime::package::{PackageDir, check_new_directory};
use portico_runtime::{
    DecidedLimits, Outcome, RenderError, RenderOptions, StatusMode, to_documents, to_files, to_resource_list,
};

use crate::args::{RenderArgs, StatusArg, YamlStyle};
use crate::commands::{Sink, read, verified, write_results};
use crate::printer::{Printer, write_stdout};
use crate::progress::{Lines, not_run, summary};
use crate::{Exit, explain, setup};

/// Where the result goes.
pub(crate) enum Target {
    InPlace,
    ResourceList,
    Documents,
    Directory(PathBuf),
}

impl Target {
    /// Reads `-o`; a directory must not exist yet.
    pub(crate) fn of(output: Option<&str>) -> Result<Target> {
        Ok(match output {
            None => Target::InPlace,
            Some("stdout") => Target::ResourceList,
            Some("unwrap") => Target::Documents,
            Some(directory) => {
                let path = PathBuf::from(directory);
                check_new_directory(&path)?;
                Target::Directory(path)
            }
        })
    }
}

/// Renders.
pub(crate) fn run(arguments: &RenderArgs) -> Result<Exit> {
    let printer = Printer::new(&arguments.messages, arguments.output.yaml_style == YamlStyle::Kpt);
    let configuration = setup::configuration(&arguments.limits.config)?;
    let granted = configuration.grants.clone();
    let (isolation, compile_limits) = (configuration.isolation.clone(), configuration.compiler.limits());
    let limits = setup::limits(&arguments.limits, configuration, &printer);
    if arguments.limits.explain_limits {
        write_stdout(explain::table(&limits).as_bytes())?;
        return Ok(Exit::Passed);
    }
    let target = Target::of(arguments.output.output.as_deref())?;
    if let Some(directory) = &arguments.output.results_dir {
        std::fs::create_dir_all(directory).with_context(|| format!("`--results-dir {}`", directory.display()))?;
    }
    let cancel = setup::cancelled_by_signals()?;
    let package = PackageDir::open(&arguments.package)?;
    let files = read(&package, &limits.limits.package, &printer)?;
    let in_place = matches!(target, Target::InPlace);
    let only_looks = arguments.diff || arguments.check;
    let grants = setup::grants(&arguments.grants, &granted, &printer)?;
    let options = RenderOptions {
        call: setup::calls(&arguments.functions, &limits, grants, arguments.allow_exec),
        style: setup::style(arguments.output.yaml_style),
        status: match arguments.status {
            // The recorded status is no change that a diff or a check speaks of.
            _ if only_looks => StatusMode::None,
            StatusArg::Full => StatusMode::Full,
            StatusArg::Conditions => StatusMode::Conditions,
            StatusArg::None => StatusMode::None,
        },
        out_of_place: !in_place,
        attribution: std::env::var_os("KRM_DISABLE_ATTRIBUTION").is_none_or(|v| v.is_empty()),
        experiments: Experiments { conditions: arguments.experimental_conditions },
        changes: None,
    };
    let renderer = setup::renderer(&arguments.functions, &limits.limits, compile_limits)?;
    let renderer = setup::isolated(renderer, arguments.isolation, isolation.as_deref(), arguments.allow_exec)?;
    let verify = arguments.functions.verify_determinism;
    let result = if verify {
        renderer.verify(&files, &options, &cancel, &mut Lines(&printer))
    } else {
        renderer.render(&files, &options, &cancel, &mut Lines(&printer)).map(|outcome| (outcome, None))
    };
    let (mut outcome, difference) = match result {
        Ok(result) => result,
        Err(RenderError::Cancelled) => return Ok(interrupted(&printer)),
        Err(error) => {
            report(&printer, &error);
            return Ok(Exit::Failed);
        }
    };
    if setup::interrupted() {
        return Ok(interrupted(&printer));
    }
    if verify && !verified(&printer, &outcome, difference.as_ref()) {
        return Ok(Exit::Failed);
    }
    let changed = if in_place {
        let sink = Sink { package: &package, files: &files, diff: arguments.diff, check: arguments.check };
        sink.take(&printer, &outcome.changes)?
    } else {
        if outcome.failure.is_none() {
            emit(&target, std::mem::take(&mut outcome.resources))?;
        }
        false
    };
    finish(&printer, &outcome, &limits, in_place && !only_looks, arguments.output.results_dir.as_deref())?;
    Ok(if outcome.failure.is_some() || (arguments.check && changed) { Exit::Failed } else { Exit::Passed })
}

/// What an interrupted command says.
pub(crate) fn interrupted(printer: &Printer) -> Exit {
    printer.error("error: interrupted; nothing was written");
    Exit::Interrupted
}

/// Puts resources onto standard output or into a fresh directory.
pub(crate) fn emit(target: &Target, resources: Vec<portico_krm::Resource>) -> Result<()> {
    match target {
        Target::InPlace => {}
        Target::ResourceList => write_stdout(to_resource_list(resources, None).as_bytes())?,
        Target::Documents => write_stdout(to_documents(resources).as_bytes())?,
        Target::Directory(directory) => {
            let files = to_files(resources)?;
            portico_runtime::package::write_new_directory(directory, files.iter().map(|(p, b)| (p.as_str(), &**b)))?;
        }
    }
    Ok(())
}

/// Summary, results, and the failure in the end.
pub(crate) fn finish(
    printer: &Printer,
    outcome: &Outcome,
    limits: &DecidedLimits,
    in_place: bool,
    results: Option<&Path>,
) -> Result<()> {
    summary(printer, outcome, in_place);
    write_results(printer, results, &outcome.results())?;
    if let Some(failure) = &outcome.failure {
        if printer.kpt_words {
            // kpt's line first; then what our words add to it.
            let said = failure.kpt_error.as_deref().unwrap_or_default();
            if !said.is_empty() {
                printer.error(&format!("{said} "));
            }
            let rest = match failure.message.strip_suffix(said.trim_start_matches("Error: ")) {
                Some(rest) if !said.is_empty() => rest.trim_end_matches(": "),
                _ => &failure.message,
            };
            if !rest.is_empty() {
                printer.error(rest);
            }
        } else {
            printer.error(&format!("error: {}", failure.message));
        }
        let step = failure.step.and_then(|step| outcome.steps.get(step));
        if let Some(advice) = step.and_then(|step| explain::advice(limits, step)) {
            printer.error(&advice);
        }
    }
    // Behind the error: kpt's lines come first.
    not_run(printer, outcome);
    Ok(())
}

/// A render that could not begin.
pub(crate) fn report(printer: &Printer, error: &RenderError) {
    match error {
        RenderError::Kptfile { message, kpt } if printer.kpt_words => {
            printer.error(kpt);
            printer.error(message);
        }
        RenderError::MissingKptfile { path } if printer.kpt_words => {
            printer.error(&format!("Error: No Kptfile found at \"{path}\". "));
        }
        RenderError::Kptfile { message, .. } => printer.error(&format!("error: {message}")),
        other => printer.error(&format!("error: {other}")),
    }
}
