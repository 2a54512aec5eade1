#![doc = include_str!("../README.md")]

mod fields;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use portico_fn::yaml::{Kind, NodeId, Style, Tree};
use portico_fn::{
    FUNCTION_GROUP, FieldError, FieldSpec, FunctionResult, Output, Resource, ResourceList, ResultField, ResultFile,
    Results, Severity, Verdict, config, field, group, run_in_order,
};
use serde::Deserialize;

use crate::fields::default_fields;

/// Annotations in the order in which they are added.
type Annotations = BTreeMap<String, String>;

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
#[expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]
pub fn program(input: Vec<u8>) -> Output {
    run_in_order(&function(), &input)
}

/// The function, ready for [`portico_fn::run_in_order`].
pub fn function() -> impl portico_fn::Processor {
    |list: &mut ResourceList| Ok(process(list))
}

fn process(list: &mut ResourceList) -> Verdict {
    let mut results = Results::from(std::mem::take(&mut list.results));
    let verdict = match Settings::read(list.function_config.as_ref()) {
        Ok(settings) => set_annotations(list, &settings, &mut results),
        Err(message) => {
            results.error(format!("failed to configure function: {message}"));
            Verdict::Fail
        }
    };
    list.results = results.into_vec();
    verdict
}

/// What the configuration says.
#[derive(Debug)]
struct Settings {
    annotations: Annotations,
    /// Further fields that hold annotations.
    additional: Vec<FieldSpec>,
}

/// The parts of the object form beside the annotations.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Extras {
    additional_annotation_fields: Option<Vec<FieldSpec>>,
    field_specs: Option<Vec<FieldSpec>>,
}

impl Settings {
    fn read(config: Option<&Resource>) -> Result<Settings, String> {
        let unknown = || "`functionConfig` must be a `ConfigMap` or `SetAnnotations`".to_owned();
        let config = config.ok_or_else(unknown)?;
        let (key, additional) = match (config.api_version(), config.kind()) {
            ("v1", "ConfigMap") => ("data", Vec::new()),
            (api_version, "SetAnnotations" | "SetAnnotationConfig") if group(api_version) == FUNCTION_GROUP => {
                let extras: Extras = config::decode(config).map_err(|error| error.to_string())?;
                let additional = match (extras.additional_annotation_fields, extras.field_specs) {
                    (Some(_), Some(_)) => {
                        return Err(
                            "`fieldSpecs` has been deprecated, please rename it to `additionalAnnotationFields`"
                                .to_owned(),
                        );
                    }
                    (new, old) => new.or(old).unwrap_or_default(),
                };
                ("annotations", additional)
            }
            _ => return Err(unknown()),
        };
        let annotations = match config.tree.get(config.root(), key) {
            None => Vec::new(),
            Some(map) => field::string_map(&config.tree, map, &[key]).map_err(|error| error.to_string())?,
        };
        if annotations.is_empty() {
            return Err("input annotation list cannot be empty".to_owned());
        }
        Ok(Settings { annotations: annotations.into_iter().collect(), additional })
    }
}

fn set_annotations(list: &mut ResourceList, settings: &Settings, results: &mut Results) -> Verdict {
    let message = format!("set annotations: {}", go_json(&settings.annotations));
    let fields: Vec<&FieldSpec> = settings.additional.iter().chain(default_fields()).collect();
    let mut found = Results::new();
    let mut passed = true;
    for item in &mut list.items {
        match annotate(item, &fields, &settings.annotations) {
            Ok(paths) => {
                for path in paths {
                    found.push(about_field(item, &message, path));
                }
            }
            Err(error) => {
                found.about_field(item, Severity::Error, error.to_string(), &error.path, None, None);
                passed = false;
            }
        }
    }
    if found.is_empty() {
        found.push(FunctionResult { message: "no annotations applied".to_owned(), ..FunctionResult::default() });
    }
    found.sort();
    // subpackages may each have a file of the same name: a place is told once
    found.dedup();
    results.extend(found.into_vec());
    passed.into()
}

/// Sets the annotations in all fields of one object; the paths of the fields, each once.
fn annotate(item: &mut Resource, fields: &[&FieldSpec], annotations: &Annotations) -> Result<Vec<String>, FieldError> {
    let mut paths: Vec<String> = Vec::new();
    for field in fields {
        for target in field.targets(item, Kind::Mapping)? {
            set_all(&mut item.tree, target, annotations);
            let path = dotted(&field.path);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    Ok(paths)
}

fn set_all(tree: &mut Tree, map: NodeId, annotations: &Annotations) {
    if tree.is_empty(map) {
        tree.set_style(map, Style::Block);
    }
    for (key, value) in annotations {
        match tree.get(map, key) {
            Some(old) if field::is_string(tree, old) && tree.style(old) != Style::Plain => {
                // the author's quotes stay
                if tree.text(old) != value {
                    tree.set_text(old, value);
                }
                tree.set_tag(old, None);
            }
            Some(old) if field::is_string(tree, old) && tree.text(old) == value => {}
            Some(old) if tree.is_scalar(old) => tree.set_string(old, value),
            _ => {
                let new = tree.string(value);
                tree.set(map, key, new);
            }
        }
    }
}

fn about_field(item: &Resource, message: &str, path: String) -> FunctionResult {
    let file = item.path().map(|path| ResultFile {
        path: path.to_owned(),
        index: item.index().and_then(|index| index.parse().ok()).unwrap_or(0),
    });
    let field = Some(ResultField { path, ..ResultField::default() });
    FunctionResult { message: message.to_owned(), field, file, ..FunctionResult::default() }
}

/// The path of a field specification as results show it.
fn dotted(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut chars = path.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'/') => out.extend(chars.next()),
            '/' => out.push('.'),
            c => out.push(c),
        }
    }
    out
}

/// A mapping of strings as Go's JSON encoder writes it: what could matter in HTML is escaped.
fn go_json(map: &Annotations) -> String {
    let json = serde_json::json!(map).to_string();
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out
}
