//! `portico eval`.

use std::io::Read;

use anyhow::{Context, Result, bail, ensure};
use portico_krm::Selector;
use portico_runtime::package::{PackageDir, PackageFiles};
use portico_runtime::{DecidedLimits, EvalConfig, EvalInput, EvalOptions, RenderError, StepKind};

use crate::args::{EvalArgs, FunctionType, SelectionArgs, YamlStyle};
use crate::commands::render::{Target, emit, finish, interrupted, report};
use crate::commands::{Sink, read, save, verified};
use crate::config::Granted;
use crate::printer::{Printer, write_stdout};
use crate::progress::Lines;
use crate::{Exit, explain, setup};

/// Runs one function.
pub(crate) fn run(arguments: &EvalArgs) -> Result<Exit> {
    let printer = Printer::new(&arguments.messages, arguments.output.yaml_style == YamlStyle::Kpt);
    let configuration = setup::configuration(&arguments.limits.config)?;
    let granted = configuration.grants.clone();
    let (isolation, compile_limits) = (configuration.isolation.clone(), configuration.compiler.limits());
    let limits = setup::limits(&arguments.limits, configuration, &printer);
    if arguments.limits.explain_limits {
        write_stdout(explain::table(&limits).as_bytes())?;
        return Ok(Exit::Passed);
    }
    if let Some(place) = isolation {
        bail!(
            "{place}: `isolation: process` keeps functions out of this process, and `eval` runs its function here: add it to a Kptfile and use `render`"
        );
    }
    let cancel = setup::cancelled_by_signals()?;
    let from_stdin = arguments.directory.as_os_str() == "-";
    let target = match Target::of(arguments.output.output.as_deref())? {
        // A stream has no place to be written back to.
        Target::InPlace if from_stdin => Target::ResourceList,
        target => target,
    };
    ensure!(!(arguments.save && from_stdin), "`--save` needs a package directory, not standard input");
    let mut stream = Vec::new();
    let mut package: Option<(PackageDir, PackageFiles)> = None;
    if from_stdin {
        std::io::stdin().lock().read_to_end(&mut stream).context("cannot read standard input")?;
    } else {
        let directory = PackageDir::open(&arguments.directory)?;
        let files = read(&directory, &limits.limits.package, &printer)?;
        if arguments.save {
            save::kptfile(&files)?;
        }
        package = Some((directory, files));
    }
    let options = options(arguments, &limits, &granted, matches!(target, Target::InPlace), &printer)?;
    let input = match &package {
        Some((_, files)) => EvalInput::Package(files),
        None => EvalInput::Stream(&stream),
    };
    let renderer = setup::renderer(&arguments.functions, &limits.limits, compile_limits)?;
    let verify = arguments.functions.verify_determinism;
    let result = if verify {
        renderer.verify_eval(input, &options, &cancel, &mut Lines(&printer))
    } else {
        renderer.eval(input, &options, &cancel, &mut Lines(&printer)).map(|outcome| (outcome, None))
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
    let mut changed = false;
    if outcome.failure.is_none() {
        match (&target, &package) {
            (Target::InPlace, Some((directory, files))) => {
                let sink = Sink { package: directory, files, diff: arguments.diff, check: arguments.check };
                changed = sink.take(&printer, &outcome.changes)?;
            }
            _ => emit(&target, std::mem::take(&mut outcome.resources))?,
        }
        if arguments.save && !arguments.diff && !arguments.check {
            let function = save::SavedFunction::of(arguments)?;
            let list = save::into_kptfile(&arguments.directory, &function, &limits.limits.package)?;
            printer.line(&format!("Added \"{}\" as {} in the Kptfile.", function.label(), list.trim_end_matches('s')));
        }
    }
    finish(&printer, &outcome, &limits, false, arguments.output.results_dir.as_deref())?;
    Ok(if outcome.failure.is_some() || (arguments.check && changed) { Exit::Failed } else { Exit::Passed })
}

fn options(
    arguments: &EvalArgs,
    limits: &DecidedLimits,
    granted: &[Granted],
    in_place: bool,
    printer: &Printer,
) -> Result<EvalOptions> {
    let grants = setup::grants(&arguments.grants, granted, printer)?;
    let call = setup::calls(&arguments.functions, limits, grants, true);
    let config = if let Some(path) = &arguments.fn_config {
        let bytes = std::fs::read(path).with_context(|| format!("`--fn-config {}`", path.display()))?;
        EvalConfig::File { path: path.display().to_string(), bytes }
    } else if arguments.arguments.is_empty() {
        EvalConfig::None
    } else {
        EvalConfig::Arguments(arguments.arguments.clone())
    };
    Ok(EvalOptions {
        call,
        image: arguments.image.clone().unwrap_or_default(),
        tag: arguments.tag.clone().unwrap_or_default(),
        exec: arguments.exec.clone().unwrap_or_default(),
        config,
        kind: match arguments.function_type {
            FunctionType::Mutator => StepKind::Mutator,
            FunctionType::Validator => StepKind::Validator,
        },
        selectors: matching(&arguments.selection).into_iter().collect(),
        exclude: excluding(&arguments.selection).into_iter().collect(),
        style: setup::style(arguments.output.yaml_style),
        out_of_place: !in_place,
    })
}

/// The selector of the `--match-…` flags; `None` without any.
pub(crate) fn matching(from: &SelectionArgs) -> Option<Selector> {
    selector(
        [&from.match_api_version, &from.match_kind, &from.match_name, &from.match_namespace],
        &from.match_labels,
        &from.match_annotations,
    )
}

/// The selector of the `--exclude-…` flags; `None` without any.
pub(crate) fn excluding(from: &SelectionArgs) -> Option<Selector> {
    selector(
        [&from.exclude_api_version, &from.exclude_kind, &from.exclude_name, &from.exclude_namespace],
        &from.exclude_labels,
        &from.exclude_annotations,
    )
}

type Pairs = [(String, String)];

fn selector(fields: [&Option<String>; 4], labels: &Pairs, annotations: &Pairs) -> Option<Selector> {
    if fields.iter().all(|f| f.is_none()) && labels.is_empty() && annotations.is_empty() {
        return None;
    }
    let [api_version, kind, name, namespace] = fields.map(|f| f.clone().unwrap_or_default());
    Some(Selector {
        api_version,
        kind,
        name,
        namespace,
        labels: labels.iter().cloned().collect(),
        annotations: annotations.iter().cloned().collect(),
    })
}
