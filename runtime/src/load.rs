//! From the files of a package to packages with their functions and resources: everything is read, and everything
//! that is wrong is found, before the first function runs.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use portico_krm::annotations::Origin;
use portico_krm::kptfile::{ConfigFile, ConfigFileError, Experiments, Function, FunctionKind, ValidateError};
use portico_krm::paths::clean;
use portico_krm::yaml::{NodeId, ParseError, ParseLimits, SourceFile, Style, Tree};
use portico_krm::{Kptfile, Resource};

use crate::limits::Limits;
use crate::outcome::{Failure, FailureKind, RenderError};
use crate::package::{KptfileEntry, LimitExceeded, OtherPath, PackageFiles, PackageNode};
use crate::pipeline::{ConfigSource, Item, Package, PlannedFunction, Source};

/// Under this key a document that is a sequence travels as a mapping, as in kpt.
pub(crate) const BARE_SEQUENCE: &str = "bareSeqNodeWrappingKey";

/// Room that the annotations of a fresh resource take in a tree: nodes, and bytes of text.
pub(crate) const ANNOTATIONS: (usize, usize) = (18, 576);

/// A package tree, read.
pub(crate) struct Loaded {
    /// The root first.
    pub(crate) packages: Vec<Package>,
    pub(crate) root_kptfile: Kptfile,
    /// Paths by the numbers that [`Source::file`] holds.
    pub(crate) files: Vec<String>,
    /// What is wrong with subpackages and files; nothing may run then.
    pub(crate) failure: Option<Failure>,
}

/// Something wrong with a file of the package.
struct Problem {
    package: usize,
    /// Ours, with file and line.
    message: String,
    kpt_condition: String,
    kpt_error: String,
}

/// Reads the package tree.
pub(crate) fn load(files: &PackageFiles, limits: &Limits, experiments: Experiments) -> Result<Loaded, RenderError> {
    let root_kptfile = root_kptfile(files, experiments)?;
    let functions = plan(files, files.root_package(), &root_kptfile, &limits.yaml).map_err(|error| {
        RenderError::Kptfile { message: error.located("Kptfile"), kpt: error.to_string().trim_end().to_owned() }
    })?;
    let mut problems = Vec::new();
    let mut packages: Vec<Package> = Vec::with_capacity(files.packages.len());
    let mut root = Some((functions, root_kptfile.clone()));
    let mut kptfiles: Vec<Option<Kptfile>> = Vec::with_capacity(files.packages.len());
    for (at, node) in files.packages.iter().enumerate() {
        let name = match node.parent {
            None => files.name.clone(),
            Some(parent) => {
                let last = node.path.rsplit('/').next().unwrap_or(&node.path);
                format!("{}/{last}", packages.get(parent).map_or("", |p| &p.name))
            }
        };
        let read = root.take().or_else(|| subpackage(files, node, at, experiments, &limits.yaml, &mut problems));
        let (functions, kptfile) =
            read.map_or_else(Default::default, |(functions, kptfile)| (functions, Some(kptfile)));
        kptfiles.push(kptfile);
        packages.push(Package {
            path: node.path.clone(),
            name,
            abs: files.absolute_path(node),
            children: node.children.clone(),
            mutators: functions.0,
            validators: functions.1,
            missing_config: None,
            own: Vec::new(),
        });
    }
    let mut paths = Vec::new();
    let mut resources = 0;
    'packages: for (at, node) in files.packages.iter().enumerate() {
        let mut own_paths = HashSet::new();
        for path in &node.files {
            let Some(file) = files.files.get(path) else { continue };
            if kptfiles[at].is_none() && *path == node.kptfile_path() {
                continue;
            }
            let number = paths.len() as u32;
            paths.push(path.clone());
            match SourceFile::parse(&file.bytes, &limits.yaml) {
                Ok(parsed) => {
                    let complex: Vec<ParseError> =
                        parsed.documents().iter().filter_map(|d| complex_key(&d.tree)).collect();
                    if !complex.is_empty() {
                        malformed(files, node, at, path, &file.bytes, &complex, &mut problems);
                        continue;
                    }
                    resources += parsed.documents().len() as u64;
                    if let Err(error) = check_resources(path, limits, resources) {
                        problems.push(too_many(files, node, at, &error));
                        break 'packages;
                    }
                    if add_resources(&mut packages[at], node, path, number, parsed) {
                        own_paths.insert(node.relative(path).unwrap_or(path).to_owned());
                    }
                }
                Err(errors) => malformed(files, node, at, path, &file.bytes, &errors, &mut problems),
            }
        }
        packages[at].missing_config =
            kptfiles[at].as_ref().and_then(|kptfile| missing_config(kptfile, &own_paths, &node.kptfile_path()));
    }
    Ok(Loaded { packages, root_kptfile, files: paths, failure: failure_of(problems, files) })
}

fn root_kptfile(files: &PackageFiles, experiments: Experiments) -> Result<Kptfile, RenderError> {
    let node = files.root_package();
    let bytes = match (node.kptfile, files.kptfile(node)) {
        (KptfileEntry::File, Some(file)) => &file.bytes,
        (KptfileEntry::Missing | KptfileEntry::File, _) => {
            return Err(RenderError::MissingKptfile { path: files.root.clone() });
        }
        (entry, _) => {
            let (what, kpt) = odd_kptfile(entry, &files.root);
            return Err(RenderError::Kptfile { message: format!("Kptfile: {what}"), kpt });
        }
    };
    Kptfile::parse_with(bytes, experiments).map_err(|error| RenderError::Kptfile {
        message: error.located("Kptfile"),
        kpt: error.kpt_message(&files.root),
    })
}

fn odd_kptfile(entry: KptfileEntry, dir: &str) -> (&'static str, String) {
    let what = match entry {
        KptfileEntry::Directory => "is a directory",
        KptfileEntry::Link => "is a symbolic link, which is not followed",
        _ => "is no regular file",
    };
    (what, format!("Error: Kptfile at \"{dir}\" can't be read.\n\nDetails:\nread {dir}/Kptfile: {what}"))
}

type Functions = (Vec<PlannedFunction>, Vec<PlannedFunction>);

fn subpackage(
    files: &PackageFiles,
    node: &PackageNode,
    at: usize,
    experiments: Experiments,
    limits: &ParseLimits,
    problems: &mut Vec<Problem>,
) -> Option<(Functions, Kptfile)> {
    let shown = dot(&node.path);
    let parent = node.parent.unwrap_or(0);
    let parent_shown = dot(&files.packages[parent].path);
    let file = node.kptfile_path();
    let mut unreadable = |text: &str, message: String, kpt_error: String| {
        let kpt_condition = format!(
            "pkg.render: pkg {parent_shown}:\n\tpkg.Subpackages: pkg {shown}: error reading Kptfile at \"{shown}\": {text}"
        );
        problems.push(Problem { package: at, message, kpt_condition, kpt_error });
    };
    let bytes = match (node.kptfile, files.kptfile(node)) {
        (KptfileEntry::File, Some(content)) => &content.bytes,
        (entry, _) => {
            let (what, kpt) = odd_kptfile(entry, &files.absolute_path(node));
            unreadable(what, format!("{file}: {what}"), kpt);
            return None;
        }
    };
    let kptfile = match Kptfile::parse_with(bytes, experiments) {
        Ok(kptfile) => kptfile,
        Err(error) => {
            let kpt = error.kpt_message(&files.absolute_path(node));
            unreadable(error.kpt_text(), error.located(&file), kpt);
            return None;
        }
    };
    match plan(files, node, &kptfile, limits) {
        Ok(functions) => Some((functions, kptfile)),
        Err(error) => {
            problems.push(Problem {
                package: at,
                message: error.located(&file),
                kpt_condition: format!("pkg.render: pkg {shown}: {error}"),
                kpt_error: error.to_string().trim_end().to_owned(),
            });
            None
        }
    }
}

/// How kpt shows a package below the root: `.`, `./db`.
pub(crate) fn dot(path: &str) -> String {
    if path.is_empty() { ".".to_owned() } else { format!("./{path}") }
}

/// Validates a pipeline and reads the functionConfigs.
fn plan(
    files: &PackageFiles,
    node: &PackageNode,
    kptfile: &Kptfile,
    limits: &ParseLimits,
) -> Result<Functions, ValidateError> {
    kptfile.validate(|path| config_file(files, node, path))?;
    let functions = |list: &[Function]| list.iter().map(|function| planned(files, node, function, limits)).collect();
    Ok((functions(&kptfile.pipeline.mutators), functions(&kptfile.pipeline.validators)))
}

/// What stands at a functionConfig's path, for the validation.
fn config_file<'a>(files: &'a PackageFiles, node: &PackageNode, clean: &str) -> ConfigFile<'a> {
    let from_root = node.path_of(clean);
    if let Some(file) = files.files.get(&from_root) {
        return Ok(Cow::Borrowed(&file.bytes[..]));
    }
    let file = absolute(files, &from_root);
    Err(ConfigFileError(match files.others.get(&from_root) {
        Some(OtherPath::Ignored) => format!("open {file}: the file is named in .krmignore"),
        Some(OtherPath::File) => format!("open {file}: only Kptfile, *.yaml, *.yml and *.json are read"),
        Some(OtherPath::Directory) => format!("read {file}: is a directory"),
        Some(OtherPath::Link) => format!("open {file}: symbolic links are not followed"),
        Some(OtherPath::Special | OtherPath::Git) => format!("open {file}: not a regular file of the package"),
        None => format!("open {file}: no such file or directory"),
    }))
}

fn absolute(files: &PackageFiles, path: &str) -> String {
    format!("{}/{path}", files.root.trim_end_matches('/'))
}

fn planned(files: &PackageFiles, node: &PackageNode, function: &Function, limits: &ParseLimits) -> PlannedFunction {
    let config = if !function.config_map.is_empty() {
        ConfigSource::Map(config_map(&function.config_map))
    } else if function.config_path.is_empty() {
        ConfigSource::None
    } else {
        let path = clean(&function.config_path);
        let file = files.files.get(&node.path_of(&path));
        let parsed = file.and_then(|file| SourceFile::parse(&file.bytes, limits).ok());
        let document = parsed.and_then(|parsed| parsed.into_documents().into_iter().next());
        match document.and_then(|document| Resource::new(document.tree).ok()) {
            Some(on_disk) => ConfigSource::Path { path, on_disk },
            // The validation has read it: it holds one resource.
            None => ConfigSource::None,
        }
    };
    PlannedFunction {
        name: function.name.clone(),
        image: function.image.clone(),
        tag: function.tag.clone(),
        exec: function.exec.clone(),
        config,
        selectors: function.selectors.clone(),
        exclude: function.exclude.clone(),
        condition: function.condition.clone(),
    }
}

/// The functionConfig that `configMap` stands for.
pub(crate) fn config_map(entries: &[(String, String)]) -> Resource {
    let mut tree = Tree::new_mapping();
    let root = tree.root();
    for (key, value) in [("apiVersion", "v1"), ("kind", "ConfigMap")] {
        let value = tree.string(value);
        tree.set(root, key, value);
    }
    let metadata = tree.ensure_mapping(root, "metadata");
    let name = tree.string("function-input");
    tree.set(metadata, "name", name);
    let data = tree.ensure_mapping(root, "data");
    for (key, value) in entries {
        let value = tree.string(value);
        tree.set(data, key, value);
    }
    Resource { tree }
}

/// The functionConfig of a function must be one of its package's own resources.
fn missing_config(kptfile: &Kptfile, own: &HashSet<String>, file: &str) -> Option<(String, String)> {
    let pipeline = &kptfile.pipeline;
    let lists = [(FunctionKind::Mutator, &pipeline.mutators), (FunctionKind::Validator, &pipeline.validators)];
    for (kind, functions) in lists {
        for (index, function) in functions.iter().enumerate() {
            if !function.config_path.is_empty() && !own.contains(&clean(&function.config_path)) {
                let error = kptfile.missing_config(kind, index, function);
                return Some((error.located(file), error.to_string()));
            }
        }
    }
    None
}

/// True when the file holds a resource.
fn add_resources(package: &mut Package, node: &PackageNode, path: &str, number: u32, parsed: SourceFile) -> bool {
    let before = package.own.len();
    let relative = node.relative(path).unwrap_or(path);
    for (index, document) in parsed.into_documents().into_iter().enumerate() {
        let mut resource = Resource { tree: as_mapping(document.tree) };
        resource.tree.reserve(ANNOTATIONS.0, ANNOTATIONS.1);
        resource.stamp_origin(&Origin {
            path: relative,
            index,
            package_path: &package.abs,
            sequences: document.seq_style,
        });
        let source = Source { file: number, document: index as u32, offset: document.span.start as u32 };
        package.own.push(Item { resource, source: Some(source) });
    }
    package.own.len() > before
}

/// Fails when there are more resources than a render may hold; `path` is where the one too many stands.
pub(crate) fn check_resources(path: &str, limits: &Limits, found: u64) -> Result<(), LimitExceeded> {
    LimitExceeded::check(path, "resources", "resources at least", limits.resources, found)
}

fn too_many(files: &PackageFiles, node: &PackageNode, at: usize, error: &LimitExceeded) -> Problem {
    let kpt = error.to_string();
    let kpt_condition = format!("pkg.render: pkg {}: {kpt}", dot(&node.path));
    Problem { package: at, message: kpt, kpt_condition, kpt_error: format!("Error: {}: {error}", files.root) }
}

/// A mapping key that is itself a mapping or a sequence: YAML allows it, no resource has one, kpt refuses it.
fn complex_key(tree: &Tree) -> Option<ParseError> {
    let mut stack = vec![tree.root()];
    while let Some(id) = stack.pop() {
        for (key, _) in tree.entries(id) {
            if tree.is_mapping(key) || tree.is_sequence(key) {
                let position = tree.position(key)?;
                return Some(ParseError::new("a mapping key must be a scalar, not a mapping or a sequence", position));
            }
        }
        stack.extend(tree.children(id).filter(|child| !tree.is_scalar(*child)));
    }
    None
}

/// A document that is no mapping becomes the value of [`BARE_SEQUENCE`]; the KRM check refuses it if a function is to
/// get it.
pub(crate) fn as_mapping(mut tree: Tree) -> Tree {
    let root = tree.root();
    if !tree.is_mapping(root) {
        let wrapper: NodeId = tree.mapping(Style::Block);
        tree.set(wrapper, BARE_SEQUENCE, root);
        tree.set_root(wrapper);
    }
    tree
}

fn malformed(
    files: &PackageFiles,
    node: &PackageNode,
    at: usize,
    path: &str,
    bytes: &[u8],
    errors: &[ParseError],
    problems: &mut Vec<Problem>,
) {
    for error in errors {
        let line = error.position.line;
        let mut message = format!("{path}:{line}: {} (column {})", error.message, error.position.column);
        if let Some((what, place)) = &error.related {
            _ = write!(message, "; {what} on line {}", place.line);
        }
        let related = error.related.iter().map(|(_, place)| place.line);
        // Where the text ends too early, the line on which its last part began tells more.
        if let Some(text) = [line].into_iter().chain(related).find_map(|line| source_line(bytes, line)) {
            _ = write!(message, "\n    {text}");
        }
        let kpt = format!("{}: MalformedYAMLError: {}", absolute(files, path), error.go_text());
        let shown = kpt.replace(files.root.as_str(), ".");
        problems.push(Problem {
            package: at,
            message,
            kpt_condition: format!("pkg.render: pkg {}: {shown}", dot(&node.path)),
            kpt_error: format!("Error: {kpt}"),
        });
    }
}

/// A line of a file for a message, if there is anything on it.
fn source_line(bytes: &[u8], line: u32) -> Option<String> {
    let text = bytes.split(|b| *b == b'\n').nth(line.saturating_sub(1) as usize)?;
    let text = String::from_utf8_lossy(&text[..text.len().min(200)]);
    let shown: String =
        text.trim_end().chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect();
    (!shown.is_empty()).then_some(shown)
}

fn failure_of(problems: Vec<Problem>, files: &PackageFiles) -> Option<Failure> {
    let message = problems.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("\n");
    let first = problems.into_iter().next()?;
    Some(Failure {
        kind: FailureKind::Package,
        package: files.packages[first.package].path.clone(),
        step: None,
        message,
        kpt_condition: first.kpt_condition,
        kpt_error: Some(first.kpt_error),
    })
}
