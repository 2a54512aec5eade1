//! Packages from maps, functions from closures.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use portico_krm::ResourceList;
use portico_krm::yaml::ParseLimits;

use crate::function::full_image;
use crate::image::ImagePrefix;
use crate::outcome::{Outcome, RenderError};
use crate::package::{Change, PackageFiles, PackageLimits};
use crate::pipeline::{FunctionName, FunctionOutput, FunctionRunner, Resolved, RunFailure, Unresolved};
use crate::renderer::{RenderOptions, render_with};
use crate::report::{Event, Observer};
use crate::write_back::WriteStyle;

type Function = Box<dyn FnMut(&str) -> Result<FunctionOutput, RunFailure>>;

/// Functions by the last part of their image, `label-all` and the like always among them.
pub(super) struct Functions {
    by_name: HashMap<String, Function>,
    names: Vec<String>,
    /// The inputs of all calls, by function.
    pub(super) inputs: Vec<(String, String)>,
    pub(super) cancelled: bool,
}

impl Functions {
    pub(super) fn new() -> Functions {
        let mut functions =
            Functions { by_name: HashMap::new(), names: Vec::new(), inputs: Vec::new(), cancelled: false };
        functions.text("identity", str::to_owned);
        functions.items("label", |list| {
            for item in &mut list.items {
                item.set_label("probe", "yes");
            }
        });
        functions.items("drop-all", |list| list.items.clear());
        functions.items("drop-configmaps", |list| list.items.retain(|item| item.kind() != "ConfigMap"));
        functions.add("empty", |_| Ok(FunctionOutput::default()));
        functions.add("fail3", |input| {
            Ok(FunctionOutput {
                exit_code: 3,
                stdout: input.as_bytes().to_vec(),
                stderr: b"cannot reach the quota table\n".to_vec(),
                ..FunctionOutput::default()
            })
        });
        functions
    }

    pub(super) fn add(
        &mut self,
        name: &str,
        function: impl FnMut(&str) -> Result<FunctionOutput, RunFailure> + 'static,
    ) {
        self.by_name.insert(name.to_owned(), Box::new(function));
    }

    /// A function from text to text.
    pub(super) fn text(&mut self, name: &str, mut function: impl FnMut(&str) -> String + 'static) {
        self.add(name, move |input| {
            Ok(FunctionOutput { stdout: function(input).into_bytes(), ..FunctionOutput::default() })
        });
    }

    /// A function that edits the list.
    pub(super) fn items(&mut self, name: &str, mut function: impl FnMut(&mut ResourceList) + 'static) {
        self.text(name, move |input| {
            let mut list = ResourceList::parse(input.as_bytes(), &ParseLimits::default()).expect("the host's own list");
            function(&mut list);
            list.to_yaml()
        });
    }

    /// The input of the only call of a function.
    pub(super) fn input(&self, name: &str) -> &str {
        let mut calls = self.inputs.iter().filter(|(called, _)| called == name);
        let (_, input) = calls.next().expect("the function was called");
        assert!(calls.next().is_none(), "{name} was called more than once");
        input
    }
}

impl FunctionRunner for Functions {
    fn resolve(&mut self, name: FunctionName<'_>) -> Result<Resolved, Unresolved> {
        let tags = |_: &str| ["v0.2.1", "v0.2.5", "v0.3.0"].map(str::to_owned).to_vec();
        let cause = crate::report::Cause::NotFound;
        let unresolved =
            |image: String, message| Unresolved { image, exec: name.exec.to_owned(), message, kpt: None, cause };
        let image = full_image(name.image, name.tag, &ImagePrefix::default(), &tags)
            .map_err(|error| unresolved(name.image.to_owned(), error.to_string()))?
            .image;
        let short = image.rsplit('/').next().and_then(|last| last.split(':').next()).unwrap_or_default().to_owned();
        if !self.by_name.contains_key(&short) {
            return Err(unresolved(image, "no such function".to_owned()));
        }
        self.names.push(short);
        Ok(Resolved { image, exec: String::new(), handle: self.names.len() - 1, warning: None })
    }

    fn run(&mut self, handle: usize, stdin: Vec<u8>) -> Result<FunctionOutput, RunFailure> {
        let name = self.names[handle].clone();
        let input = String::from_utf8(stdin).expect("the host writes UTF-8");
        let output = self.by_name.get_mut(&name).expect("resolved")(&input);
        self.inputs.push((name, input));
        output
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled
    }
}

/// What progress lines would say.
#[derive(Default)]
pub(super) struct Log(pub(super) Vec<String>);

impl Observer for Log {
    fn event(&mut self, event: &Event<'_>) {
        let short = |function: &str| function.rsplit('/').next().unwrap_or_default().to_owned();
        self.0.push(match event {
            Event::PackageStarted { name, .. } => format!("package {name}"),
            Event::StepStarted(step) => format!("run {}", short(step.function())),
            Event::StepPassed(step) => format!("pass {}", short(step.function())),
            Event::StepSkipped { step, .. } => format!("skip {}", short(step.function())),
            Event::StepFailed(step) => format!("fail {}", short(step.function())),
            Event::PackageFinished { name, .. } => format!("end {name}"),
            Event::Warning(text) => format!("warn {text}"),
        });
    }
}

/// One render, with everything to look at afterwards.
pub(super) struct Rendered {
    pub(super) outcome: Outcome,
    pub(super) functions: Functions,
    pub(super) log: Vec<String>,
    /// The files after the render.
    pub(super) files: BTreeMap<String, String>,
}

pub(super) fn package(files: &[(&str, &str)]) -> PackageFiles {
    let map = files.iter().map(|(path, content)| ((*path).to_owned(), content.as_bytes().to_vec()));
    PackageFiles::from_map("/w/app", map, &PackageLimits::default()).expect("a package")
}

pub(super) fn try_render(
    files: &[(&str, &str)],
    mut functions: Functions,
    options: &RenderOptions,
) -> Result<Rendered, RenderError> {
    let mut log = Log::default();
    let outcome = render_with(&package(files), options, &mut functions, &mut log)?;
    let mut after: BTreeMap<String, String> = files.iter().map(|(p, c)| ((*p).to_owned(), (*c).to_owned())).collect();
    for change in &outcome.changes {
        match change {
            Change::Write { path, bytes } => {
                after.insert(path.clone(), String::from_utf8(bytes.clone()).expect("UTF-8"));
            }
            Change::Delete { path } => {
                after.remove(path);
            }
        }
    }
    Ok(Rendered { outcome, functions, log: log.0, files: after })
}

pub(super) fn render_as(files: &[(&str, &str)], functions: Functions, options: &RenderOptions) -> Rendered {
    try_render(files, functions, options).unwrap_or_else(|error| panic!("{error}"))
}

/// A render in preserve style without a status.
pub(super) fn render(files: &[(&str, &str)], functions: Functions) -> Rendered {
    render_as(files, functions, &quiet())
}

pub(super) fn quiet() -> RenderOptions {
    RenderOptions { status: crate::StatusMode::None, ..RenderOptions::default() }
}

pub(super) fn kpt_style() -> RenderOptions {
    RenderOptions { style: WriteStyle::Kpt, ..RenderOptions::default() }
}

/// A Kptfile with these mutators, validators behind `|`: `label identity | fail3`.
pub(super) fn kptfile(name: &str, pipeline: &str) -> String {
    let (mutators, validators) = pipeline.split_once('|').unwrap_or((pipeline, ""));
    let mut text = format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n");
    if mutators.trim().is_empty() && validators.trim().is_empty() {
        return text;
    }
    text.push_str("pipeline:\n");
    for (key, list) in [("mutators", mutators), ("validators", validators)] {
        if list.trim().is_empty() {
            continue;
        }
        _ = writeln!(text, "  {key}:");
        for function in list.split_whitespace() {
            _ = writeln!(text, "  - image: {function}");
        }
    }
    text
}

pub(super) fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}

impl Rendered {
    pub(super) fn passed(self) -> Rendered {
        assert_eq!(self.outcome.failure, None);
        self
    }

    /// The message of the failure.
    pub(super) fn message(&self) -> &str {
        &self.outcome.failure.as_ref().expect("the render fails").message
    }

    pub(super) fn changed(&self) -> Vec<&str> {
        self.outcome.changes.iter().map(Change::path).collect()
    }
}
