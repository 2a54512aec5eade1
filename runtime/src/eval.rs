//! One function on a package or on a stream of resources, and packages as streams: `eval`, `source` and `sink`.

use std::collections::{BTreeMap, HashSet};

use portico_krm::annotations::{Origin, PACKAGE_PATH};
use portico_krm::yaml::{EmitOptions, ParseLimits, SourceFile, emit_document};
use portico_krm::{Resource, ResourceList, Selector};

use crate::call::{Caller, with_causes};
use crate::cancel::CancelToken;
use crate::limits::Limits;
use crate::load::{ANNOTATIONS, as_mapping, check_resources, config_map};
use crate::outcome::{Failure, FailureKind, Outcome, RenderError};
use crate::package::{PackageFiles, PackageNode};
use crate::pipeline::{ConfigSource, FunctionRunner, Item, Package, PlannedFunction, Run, Source, StopReason};
use crate::renderer::{CallOptions, Renderer, out_of_place, place};
use crate::report::{Event, Observer, StepKind};
use crate::write_back::{WriteBack, WriteStyle, write_new};

/// Where `eval` takes its resources from.
#[derive(Debug, Clone, Copy)]
pub enum EvalInput<'a> {
    /// All resources of a directory, subpackages included. It need not be a package.
    Package(&'a PackageFiles),
    /// A `ResourceList`, or bare documents.
    Stream(&'a [u8]),
}

/// The functionConfig of `eval`.
#[derive(Debug, Clone, Default)]
pub enum EvalConfig {
    /// None was given: a stream's own is used.
    #[default]
    None,
    /// A file.
    File {
        /// How messages name it.
        path: String,
        /// Its content: one resource.
        bytes: Vec<u8>,
    },
    /// `key=value` arguments: the data of a `ConfigMap`.
    Arguments(Vec<(String, String)>),
}

/// The function of `eval` and what it gets.
#[derive(Debug, Clone)]
pub struct EvalOptions {
    /// How the function is called. `exec` needs no leave here: it was typed by the user.
    pub call: CallOptions,
    /// The image; empty when `exec` is given.
    pub image: String,
    /// A tag or version constraint for the image, or empty.
    pub tag: String,
    /// The command; empty when `image` is given.
    pub exec: String,
    /// Its configuration.
    pub config: EvalConfig,
    /// A validator's output is checked and dropped.
    pub kind: StepKind,
    /// Which resources it gets; all when empty.
    pub selectors: Vec<Selector>,
    /// Which it does not get.
    pub exclude: Vec<Selector>,
    /// How changed files are written.
    pub style: WriteStyle,
    /// True when the result goes elsewhere: the outcome holds resources instead of changes. Always so for a stream.
    pub out_of_place: bool,
}

impl Default for EvalOptions {
    fn default() -> Self {
        EvalOptions {
            call: CallOptions::default(),
            image: String::new(),
            tag: String::new(),
            exec: String::new(),
            config: EvalConfig::None,
            kind: StepKind::Mutator,
            selectors: Vec::new(),
            exclude: Vec::new(),
            style: WriteStyle::default(),
            out_of_place: false,
        }
    }
}

impl Renderer {
    /// Runs one function. Nothing is written: the outcome says what is to be. No Kptfile gets a status.
    pub fn eval(
        &self,
        input: EvalInput<'_>,
        options: &EvalOptions,
        cancel: &CancelToken,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RenderError> {
        self.not_isolated("running a single function")?;
        let call = CallOptions { allow_exec: true, ..options.call.clone() };
        let mut caller = Caller::new(&self.engine, &self.sources, &call, cancel);
        let mut outcome = eval_with(input, options, &mut caller, observer)?;
        outcome.stores = caller.stores_created();
        Ok(outcome)
    }
}

/// [`Renderer::eval`] with whatever runs functions.
pub(crate) fn eval_with(
    input: EvalInput<'_>,
    options: &EvalOptions,
    runner: &mut dyn FunctionRunner,
    observer: &mut dyn Observer,
) -> Result<Outcome, RenderError> {
    let mut stream_config = None;
    let (items, paths) = match input {
        EvalInput::Package(files) => own_and_below(files, &options.call.limits)?,
        EvalInput::Stream(bytes) => {
            let list = read_stream(bytes, &options.call.limits)?;
            stream_config = list.function_config;
            (list.items.into_iter().map(|resource| Item { resource, source: None }).collect(), Vec::new())
        }
    };
    let root = match input {
        EvalInput::Package(files) => files.root.clone(),
        EvalInput::Stream(_) => "/".to_owned(),
    };
    let config = match &options.config {
        EvalConfig::None => stream_config.map_or(ConfigSource::None, ConfigSource::Map),
        EvalConfig::Arguments(entries) => ConfigSource::Map(config_map(entries)),
        EvalConfig::File { path, bytes } => ConfigSource::Map(config_file(path, bytes, &options.call.limits.yaml)?),
    };
    let function = PlannedFunction {
        name: String::new(),
        image: options.image.clone(),
        tag: options.tag.clone(),
        exec: options.exec.clone(),
        config,
        selectors: options.selectors.clone(),
        exclude: options.exclude.clone(),
        condition: String::new(),
    };
    let (mut mutators, mut validators) = (Vec::new(), Vec::new());
    if options.kind == StepKind::Mutator {
        mutators.push(function);
    } else {
        validators.push(function);
    }
    let package = Package {
        path: String::new(),
        name: String::new(),
        abs: root.clone(),
        children: Vec::new(),
        mutators,
        validators,
        missing_config: None,
        own: Vec::new(),
    };
    let inputs: HashSet<u32> = items.iter().filter_map(|item| Some(item.source?.file)).collect();
    let kpt_style = options.style == WriteStyle::Kpt;
    let (limits, resources) = (&options.call.limits, items.len() as u64);
    let mut run = Run {
        runner,
        observer,
        steps: Vec::new(),
        reached: HashSet::new(),
        kpt_style,
        announce: false,
        limits,
        changes: None,
        resources,
    };
    let (items, outcome) = run.package(std::slice::from_ref(&package), 0, items);
    let mut result = Outcome { steps: std::mem::take(&mut run.steps), packages: 1, ..Outcome::default() };
    if let Err(stop) = outcome {
        let StopReason::Failed { kind, step, message, kpt, .. } = stop.reason else {
            return Err(RenderError::Cancelled);
        };
        let kpt_condition = kpt.clone().unwrap_or_else(|| "already handled error".to_owned());
        let kpt_error = kpt.map(|text| format!("Error: {text}"));
        result.failure = Some(Failure { kind, package: String::new(), step, message, kpt_condition, kpt_error });
        return Ok(result);
    }
    let placed = place(items, &root, false);
    let finished = placed.and_then(|items| match input {
        EvalInput::Package(files) if !options.out_of_place => {
            let write = WriteBack { files, paths: &paths, style: options.style, limits: &options.call.limits.yaml };
            let written = write.changes(items, Some(&inputs), None)?;
            for warning in &written.warnings {
                observer.event(&Event::Warning(warning));
            }
            result.changes = written.changes;
            Ok(())
        }
        _ => {
            result.resources = items.into_iter().map(|item| out_of_place(item).resource).collect();
            Ok(())
        }
    });
    if let Err(text) = finished {
        result.failure = Some(Failure {
            kind: FailureKind::Output,
            package: String::new(),
            step: None,
            message: format!("failed to save resources: {text}"),
            kpt_condition: format!("failed to save resources: {text}"),
            kpt_error: Some(format!("Error: failed to save resources: {text}")),
        });
    }
    Ok(result)
}

fn config_file(path: &str, bytes: &[u8], limits: &ParseLimits) -> Result<Resource, RenderError> {
    let input = |text: String| RenderError::Input(format!("function config `{path}`: {text}"));
    let parsed = SourceFile::parse(bytes, limits)
        .map_err(|errors| input(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))?;
    let mut documents = parsed.into_documents();
    if documents.len() != 1 {
        return Err(input(format!("it must hold exactly one resource, got {}", documents.len())));
    }
    let tree = documents.swap_remove(0).tree;
    portico_krm::check::is_krm_tree(&tree, path).map_err(|missing| input(missing.to_string()))?;
    Resource::new(tree).map_err(|error| input(error.to_string()))
}

/// The resources of a stream: a `ResourceList`, a `List` or bare documents. An empty stream holds none.
fn read_stream(bytes: &[u8], limits: &Limits) -> Result<ResourceList, RenderError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(ResourceList::default());
    }
    let list = ResourceList::parse_output(bytes, &limits.yaml)
        .map_err(|error| RenderError::Input(format!("the input is no ResourceList: {}", with_causes(&error))))?;
    check_resources("-", limits, list.items.len() as u64).map_err(|error| RenderError::Input(error.to_string()))?;
    Ok(list)
}

/// All resources in kpt's walking order: packages before what lies in them, paths from the root.
fn own_and_below(files: &PackageFiles, limits: &Limits) -> Result<(Vec<Item>, Vec<String>), RenderError> {
    let mut paths: Vec<String> =
        files.packages.iter().flat_map(|package: &PackageNode| package.files.clone()).collect();
    paths.sort_by(|a, b| a.split('/').cmp(b.split('/')));
    let (mut items, mut problems) = (Vec::new(), Vec::new());
    for (number, path) in paths.iter().enumerate() {
        let Some(file) = files.files.get(path) else { continue };
        let parsed = match SourceFile::parse(&file.bytes, &limits.yaml) {
            Ok(parsed) => parsed,
            Err(errors) => {
                problems
                    .extend(errors.iter().map(|error| format!("{path}:{}: {}", error.position.line, error.message)));
                continue;
            }
        };
        let found = items.len() as u64 + parsed.documents().len() as u64;
        check_resources(path, limits, found).map_err(|error| RenderError::Input(error.to_string()))?;
        for (index, document) in parsed.into_documents().into_iter().enumerate() {
            let mut resource = Resource { tree: as_mapping(document.tree) };
            resource.tree.reserve(ANNOTATIONS.0, ANNOTATIONS.1);
            let origin = Origin { path, index, package_path: "", sequences: document.seq_style };
            resource.stamp_origin(&origin);
            resource.remove_annotation(PACKAGE_PATH);
            let source = Source { file: number as u32, document: index as u32, offset: document.span.start as u32 };
            items.push(Item { resource, source: Some(source) });
        }
    }
    if problems.is_empty() { Ok((items, paths)) } else { Err(RenderError::Input(problems.join("\n"))) }
}

/// The resources of a directory, as `source` gives them.
pub fn source(files: &PackageFiles, limits: &Limits) -> Result<Vec<Resource>, RenderError> {
    let (items, _) = own_and_below(files, limits)?;
    Ok(items.into_iter().map(|item| item.resource).collect())
}

/// The resources of a stream, as `sink` reads them.
pub fn read_resources(bytes: &[u8], limits: &Limits) -> Result<Vec<Resource>, RenderError> {
    Ok(read_stream(bytes, limits)?.items)
}

/// One `ResourceList`, as `-o stdout` prints it.
pub fn to_resource_list(resources: Vec<Resource>, function_config: Option<Resource>) -> String {
    ResourceList { items: resources, function_config, results: Vec::new() }.to_yaml()
}

/// The documents behind each other without travelling annotations, as `-o unwrap` prints them.
pub fn to_documents(resources: Vec<Resource>) -> String {
    let mut text = String::new();
    for (at, mut resource) in resources.into_iter().enumerate() {
        if at > 0 {
            text.push_str("---\n");
        }
        let sequences = resource.seq_style();
        resource.strip_internal();
        emit_document(&resource.tree, &EmitOptions { sequences }, &mut text);
    }
    text
}

/// The files of a new directory, as `-o DIR` and `sink` write them: by root-relative path. A resource without a path
/// gets kpt's default one.
pub fn to_files(resources: Vec<Resource>) -> Result<BTreeMap<String, Vec<u8>>, RenderError> {
    let mut items = Vec::with_capacity(resources.len());
    for mut resource in resources {
        if resource.path().unwrap_or_default().is_empty() {
            let path = portico_krm::paths::default_path("", &resource);
            resource.set_path(&path);
        }
        items.push(Item { resource, source: None });
    }
    let write = |text: String| RenderError::Input(format!("failed to save resources: {text}"));
    let items = place(items, "/", false).map_err(write)?;
    write_new(items).map_err(write)
}
