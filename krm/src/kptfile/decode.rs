//! Strict reading: every key must be known, every value of the right kind. All faults are collected, each in Go's
//! words, which kpt prints, and in ours.

use super::Experiments;
use super::error::{FaultKind, KptfileError, Problem};
use super::schema::{KPTFILE, Shape, Type};
use super::suggest;
use super::view::{MAX_VALUES, View};
use crate::resource::string_value;
use crate::yaml::{Kind, NodeId, Position, Tree};

/// More faults than this are not listed: nobody reads them.
const MAX_PROBLEMS: usize = 50;

/// What to tell about the one experimental field.
const CONDITIONS_HINT: &str =
    "steps with a condition are an experiment that kpt does not know: render with --experimental-conditions";

/// Checks apiVersion and kind, then every field.
pub(super) fn check(tree: &Tree, experiments: Experiments) -> Result<(), KptfileError> {
    check_type(tree)?;
    let mut checker = Checker { view: View::new(tree), experiments, go: Vec::new(), problems: Vec::new() };
    checker.mapping(tree.root(), &KPTFILE, "", false);
    if checker.view.exhausted() {
        let message = format!("its aliases expand to more than {MAX_VALUES} values");
        checker.problems = vec![problem(None, "", message)];
        checker.go = vec!["document contains excessive aliasing".to_owned()];
        return Err(KptfileError::new(
            FaultKind::Fields,
            "yaml: document contains excessive aliasing",
            checker.problems,
        ));
    }
    if checker.go.is_empty() {
        return Ok(());
    }
    let go = format!("yaml: unmarshal errors:\n  {}", checker.go.join("\n  "));
    Err(KptfileError::new(FaultKind::Fields, go, checker.problems))
}

fn problem(position: Option<Position>, field: &str, message: String) -> Problem {
    Problem { position, field: field.to_owned(), message }
}

fn check_type(tree: &Tree) -> Result<(), KptfileError> {
    let root = tree.root();
    if !tree.is_mapping(root) {
        let message = format!("a Kptfile must be a mapping, not {}", in_words(tree, root));
        let go = format!("wrong node kind: expected MappingNode but got {}", crate::resource::go_kind(tree, root));
        return Err(KptfileError::new(FaultKind::NoResource, go, vec![problem(tree.position(root), "", message)]));
    }
    let text = |key| tree.get(root, key).map_or("", |id| string_value(tree, id));
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if ["apiVersion", "kind", "metadata"].iter().all(|key| tree.get(root, key).is_none()) {
        let message = "it has no apiVersion, kind and metadata: a Kptfile starts with `apiVersion: kpt.dev/v1` and \
                       `kind: Kptfile`";
        let problems = vec![problem(tree.position(root), "", message.to_owned())];
        return Err(KptfileError::new(FaultKind::NoResource, "missing Resource metadata", problems));
    }
    let at = |key| tree.get(root, key).and_then(|id| tree.position(id)).or_else(|| tree.position(root));
    match (api_version, kind) {
        ("kpt.dev/v1", "Kptfile") => Ok(()),
        ("kpt.dev/v1alpha1" | "kpt.dev/v1alpha2", "Kptfile") => {
            let version = api_version.rsplit('/').next().unwrap_or_default();
            let message = format!("apiVersion {api_version} is an old version of the Kptfile schema: use kpt.dev/v1");
            Err(KptfileError::new(
                FaultKind::OldVersion(version.to_owned()),
                format!("old resource version \"{version}\" found in Kptfile"),
                vec![problem(at("apiVersion"), "apiVersion", message)],
            ))
        }
        _ => {
            let (group, version) = match api_version.split_once('/') {
                Some(parts) => parts,
                None => ("", api_version),
            };
            let gvk = format!("{group}/{version}, Kind={kind}");
            let field = if kind == "Kptfile" { "apiVersion" } else { "kind" };
            let message = if field == "kind" && kind.is_empty() {
                "kind must be Kptfile, and is missing".to_owned()
            } else if field == "kind" {
                format!("kind must be Kptfile, not {kind}")
            } else if api_version.is_empty() {
                "apiVersion must be kpt.dev/v1, and is missing".to_owned()
            } else {
                format!("apiVersion must be kpt.dev/v1, not {api_version}")
            };
            Err(KptfileError::new(
                FaultKind::UnknownType(gvk.clone()),
                format!("unknown resource type {} found in Kptfile", super::error::go_quote(&gvk)),
                vec![problem(at(field), field, message)],
            ))
        }
    }
}

struct Checker<'t> {
    view: View<'t>,
    experiments: Experiments,
    go: Vec<String>,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    fn mapping(&mut self, id: NodeId, here: &'static Type, path: &str, open: bool) {
        let tree = self.view.tree;
        let entries = self.view.entries(id);
        let mut taken: Option<Vec<&str>> = None;
        for (key, value) in &entries {
            if self.problems.len() >= MAX_PROBLEMS {
                return;
            }
            let name = tree.text(*key);
            let known = here.field(name);
            let Some(field) = known.filter(|field| !field.experimental || self.experiments.conditions) else {
                if !open {
                    let taken = taken.get_or_insert_with(|| {
                        entries
                            .iter()
                            .filter_map(|(key, _)| here.field(tree.text(*key)))
                            .map(|field| field.key)
                            .collect()
                    });
                    let hint = match known {
                        Some(_) => CONDITIONS_HINT.to_owned(),
                        None => suggest::hint(name, here, path, |key| taken.contains(&key)),
                    };
                    let at = join(path, shorten(name));
                    let go = format!("field {name} not found in type {}", here.go);
                    self.fault(*key, &go, &at, format!("unknown field {at} ({hint})"));
                }
                continue;
            };
            self.value(*value, field.shape, &join(path, name));
        }
    }

    fn value(&mut self, id: NodeId, shape: Shape, path: &str) {
        let tree = self.view.tree;
        if tree.is_null(id) || self.problems.len() >= MAX_PROBLEMS {
            return;
        }
        match (shape, tree.kind(id)) {
            (Shape::Text(_), Kind::Scalar) | (Shape::AnyText, _) => {}
            (Shape::Number, Kind::Scalar) if self.view.number(id).is_some() => {}
            (Shape::Texts, Kind::Sequence) => {
                for (at, element) in self.view.elements(id).into_iter().enumerate() {
                    self.value(element, Shape::Text("string"), &format!("{path}[{at}]"));
                }
            }
            (Shape::Strings, Kind::Mapping) => {
                for (key, value) in self.view.entries(id) {
                    let path = join(path, shorten(tree.text(key)));
                    self.value(value, Shape::Text("string"), &path);
                }
            }
            (Shape::Inline(inner) | Shape::One(inner), Kind::Mapping) => self.mapping(id, inner, path, false),
            (Shape::Open(inner), Kind::Mapping) => self.mapping(id, inner, path, true),
            (Shape::Many(inner), Kind::Sequence) => {
                for (at, element) in self.view.elements(id).into_iter().enumerate() {
                    self.value(element, Shape::Inline(inner), &format!("{path}[{at}]"));
                }
            }
            _ => self.wrong_kind(id, shape, path),
        }
    }

    fn wrong_kind(&mut self, id: NodeId, shape: Shape, path: &str) {
        let tree = self.view.tree;
        let go_type = match shape {
            Shape::Text(go) => go.to_owned(),
            Shape::AnyText => "string".to_owned(),
            Shape::Number => "int".to_owned(),
            Shape::Texts => "[]string".to_owned(),
            Shape::Strings => "map[string]string".to_owned(),
            Shape::Inline(t) | Shape::One(t) | Shape::Open(t) => t.go.to_owned(),
            Shape::Many(t) => format!("[]{}", t.go),
        };
        let go_value = match tree.kind(id) {
            Kind::Mapping => "!!map".to_owned(),
            Kind::Sequence => "!!seq".to_owned(),
            _ => {
                let text = tree.text(id);
                let text = if text.len() > 10 { format!("{}...", cut(text, 7)) } else { text.to_owned() };
                format!("{} `{text}`", go_tag(tree, id))
            }
        };
        let expected = match shape {
            Shape::Text(_) | Shape::AnyText => "a string",
            Shape::Number => "a whole number",
            Shape::Texts => "a list of strings",
            Shape::Strings => "a mapping from strings to strings",
            Shape::Inline(_) | Shape::One(_) | Shape::Open(_) => "a mapping",
            Shape::Many(_) => "a list",
        };
        let go = format!("cannot unmarshal {go_value} into {go_type}");
        self.fault(id, &go, path, format!("{path} must be {expected}, not {}", in_words(tree, id)));
    }

    fn fault(&mut self, id: NodeId, go: &str, path: &str, message: String) {
        let position = self.view.tree.position(id);
        self.go.push(format!("line {}: {go}", position.map_or(0, |at| at.line)));
        self.problems.push(problem(position, path, message));
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// A key as messages show it: keys of any length may come.
fn shorten(key: &str) -> &str {
    cut(key, 100)
}

fn cut(text: &str, at: usize) -> &str {
    &text[..text.floor_char_boundary(at)]
}

fn in_words(tree: &Tree, id: NodeId) -> &'static str {
    match tree.kind(id) {
        Kind::Mapping => "a mapping",
        Kind::Sequence => "a list",
        Kind::Alias => "an alias",
        Kind::Scalar => "a single value",
    }
}

fn go_tag(tree: &Tree, id: NodeId) -> &'static str {
    use crate::yaml::ScalarType;
    match tree.scalar_type(id) {
        ScalarType::Null => "!!null",
        ScalarType::Bool => "!!bool",
        ScalarType::Int => "!!int",
        ScalarType::Float => "!!float",
        ScalarType::Timestamp => "!!timestamp",
        ScalarType::Binary => "!!binary",
        ScalarType::Merge => "!!merge",
        ScalarType::Str => "!!str",
    }
}
