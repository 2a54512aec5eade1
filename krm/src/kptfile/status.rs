//! `status` of a Kptfile: what the last render of the package came to.

use super::view::View;
use super::{Kptfile, KptfileError, marshal};
use crate::FunctionResult;
use crate::build::{number, put, put_node, put_some, string};
use crate::results::push_results;
use crate::yaml::{EmitOptions, NodeId, SeqStyle, Style, Tree, emit_document};

/// The condition type that a render owns.
const RENDERED: &str = "Rendered";

/// One entry of `status.conditions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// What it is about; a render's is `Rendered`.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// One word why.
    pub reason: String,
    /// A sentence why, or empty.
    pub message: String,
}

impl Condition {
    /// A render that passed.
    pub fn rendered() -> Condition {
        Condition {
            kind: RENDERED.to_owned(),
            status: "True".to_owned(),
            reason: "RenderSuccess".to_owned(),
            message: String::new(),
        }
    }

    /// A render that failed.
    pub fn render_failed(message: impl Into<String>) -> Condition {
        Condition {
            kind: RENDERED.to_owned(),
            status: "False".to_owned(),
            reason: "RenderFailed".to_owned(),
            message: message.into(),
        }
    }
}

/// `status.renderStatus`: every step of the render.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderStatus {
    /// Mutators that were started, across all packages, in order.
    pub mutation_steps: Vec<RenderStep>,
    /// Validators that were started, likewise.
    pub validation_steps: Vec<RenderStep>,
}

/// One step of a render.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderStep {
    /// The function's `name` in the Kptfile, or empty.
    pub name: String,
    /// The image as it was resolved; empty for an executable.
    pub image: String,
    /// The command line; empty for an image.
    pub exec: String,
    /// Why the function could not be started or its output was refused; empty when it ran.
    pub execution_error: String,
    /// What it wrote to stderr.
    pub stderr: String,
    /// Its exit code.
    pub exit_code: i32,
    /// Its results.
    pub results: Vec<FunctionResult>,
    /// True when its condition said that it need not run.
    pub skipped: bool,
}

impl RenderStep {
    fn failed(&self) -> bool {
        self.exit_code != 0 || !self.execution_error.is_empty()
    }
}

impl RenderStatus {
    /// True when no function was started.
    pub fn is_empty(&self) -> bool {
        self.mutation_steps.is_empty() && self.validation_steps.is_empty()
    }

    /// One line for each step that failed; empty when none did.
    pub fn error_summary(&self) -> String {
        let steps = self.mutation_steps.iter().chain(&self.validation_steps).filter(|step| step.failed());
        let lines: Vec<String> = steps
            .map(|step| {
                let labels = [&step.name, &step.image, &step.exec];
                let label = labels.into_iter().find(|label| !label.is_empty()).map_or("", |label| label);
                if step.execution_error.is_empty() {
                    format!("{label}: exit code {}", step.exit_code)
                } else {
                    format!("{label}: {}", step.execution_error)
                }
            })
            .collect();
        lines.join("\n")
    }
}

/// How much of a render's outcome goes into the Kptfile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusMode {
    /// Condition and steps.
    #[default]
    Full,
    /// The condition alone; `renderStatus`, which older kpt versions refuse to read, is removed.
    Conditions,
    /// Nothing: the Kptfile stays as it is.
    None,
}

/// What to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusUpdate {
    /// The render's condition.
    pub condition: Condition,
    /// Its steps; without any, `renderStatus` is removed.
    pub render_status: RenderStatus,
    /// How much of it.
    pub mode: StatusMode,
}

pub(super) fn conditions(view: &View<'_>, root: NodeId) -> Vec<Condition> {
    let status = view.section(root, "status");
    let list = status.and_then(|status| view.section(status, "conditions"));
    let elements = list.map(|list| view.elements(list)).unwrap_or_default();
    elements
        .into_iter()
        .map(|map| Condition {
            kind: view.text(map, "type"),
            status: view.text(map, "status"),
            reason: view.text(map, "reason"),
            message: view.text(map, "message"),
        })
        .collect()
}

impl Kptfile {
    /// Edits `status` in the tree and nothing else: the condition is replaced where it stands, or appended. For the
    /// style that keeps a user's file as it is.
    pub fn set_status(&mut self, update: &StatusUpdate) {
        if update.mode == StatusMode::None {
            return;
        }
        let tree = &mut self.tree;
        let root = tree.root();
        let status = own_mapping(tree, root, "status");
        set_condition(tree, status, &update.condition);
        set_render_status(tree, status, update);
        self.conditions = conditions(&View::new(&self.tree), self.tree.root());
    }

    /// Sets one condition and nothing else: it is replaced where it stands, or appended.
    pub fn set_condition(&mut self, condition: &Condition) {
        let root = self.tree.root();
        let status = own_mapping(&mut self.tree, root, "status");
        set_condition(&mut self.tree, status, condition);
        self.conditions = conditions(&View::new(&self.tree), self.tree.root());
    }

    /// Removes the conditions of a type, and what is empty without them.
    pub fn remove_condition(&mut self, kind: &str) {
        let root = self.tree.root();
        let tree = &mut self.tree;
        let Some(status) = tree.get(root, "status") else { return };
        let Some(list) = tree.get(status, "conditions").filter(|list| tree.is_sequence(*list)) else { return };
        let kept: Vec<NodeId> = tree.elements(list).filter(|e| tree.text_at(*e, &["type"]) != Some(kind)).collect();
        if kept.len() == tree.len(list) {
            return;
        }
        if kept.is_empty() {
            tree.remove(status, "conditions");
        } else {
            tree.set_children(list, &kept);
        }
        if tree.is_mapping(status) && tree.is_empty(status) {
            tree.remove(root, "status");
        }
        self.conditions = conditions(&View::new(&self.tree), self.tree.root());
    }

    /// Moves the conditions of these types behind all others, in this order.
    pub fn conditions_last(&mut self, kinds: &[&str]) {
        let tree = &mut self.tree;
        let Some(status) = tree.get(tree.root(), "status") else { return };
        let Some(list) = tree.get(status, "conditions").filter(|list| tree.is_sequence(*list)) else { return };
        let elements: Vec<NodeId> = tree.elements(list).collect();
        let mut ordered = elements.clone();
        // None comes before all others: it is not one of these.
        ordered.sort_by_key(|e| tree.text_at(*e, &["type"]).and_then(|kind| kinds.iter().position(|k| *k == kind)));
        if ordered != elements {
            tree.set_children(list, &ordered);
            self.conditions = conditions(&View::new(&self.tree), self.tree.root());
        }
    }

    /// The whole Kptfile as kpt writes it after a render: known fields in fixed order, sequences wide, comments gone,
    /// the condition at the end of the list.
    pub fn to_kpt_yaml(&self, update: &StatusUpdate) -> Result<String, KptfileError> {
        let mut tree = marshal::marshal(&self.tree);
        if update.mode != StatusMode::None {
            let root = tree.root();
            let status = own_mapping(&mut tree, root, "status");
            let kept: Vec<NodeId> = match tree.get(status, "conditions") {
                Some(list) => tree.elements(list).filter(|c| tree.text_at(*c, &["type"]) != Some(RENDERED)).collect(),
                None => Vec::new(),
            };
            let list = tree.sequence(Style::Block);
            tree.set_children(list, &kept);
            let condition = condition(&mut tree, &update.condition);
            tree.push(list, condition);
            tree.set(status, "conditions", list);
            set_render_status(&mut tree, status, update);
        }
        let mut text = String::new();
        emit_document(&tree, &EmitOptions { sequences: SeqStyle::Wide }, &mut text);
        Ok(text)
    }
}

/// The mapping at a key, to be edited: an alias or an empty flow mapping is replaced by a block mapping.
fn own_mapping(tree: &mut Tree, map: NodeId, key: &str) -> NodeId {
    if let Some(value) = tree.get(map, key)
        && tree.is_mapping(value)
        && tree.is_empty(value)
    {
        tree.set_style(value, Style::Block);
    }
    tree.ensure_mapping(map, key)
}

fn condition(tree: &mut Tree, condition: &Condition) -> NodeId {
    let map = tree.mapping(Style::Block);
    put(tree, map, "type", &condition.kind);
    put(tree, map, "status", &condition.status);
    put_some(tree, map, "reason", &condition.reason);
    put_some(tree, map, "message", &condition.message);
    map
}

fn set_condition(tree: &mut Tree, status: NodeId, new: &Condition) {
    let list = match tree.get(status, "conditions") {
        Some(list) if tree.is_sequence(list) => {
            if tree.is_empty(list) {
                tree.set_style(list, Style::Block);
            }
            list
        }
        _ => {
            let list = tree.sequence(Style::Block);
            tree.set(status, "conditions", list);
            list
        }
    };
    let elements: Vec<NodeId> = tree.elements(list).collect();
    let ours = |tree: &Tree, element: NodeId| tree.text_at(element, &["type"]) == Some(&new.kind);
    let Some(first) = elements.iter().copied().find(|element| ours(tree, *element)) else {
        let element = condition(tree, new);
        tree.push(list, element);
        return;
    };
    let kept: Vec<NodeId> = elements.into_iter().filter(|e| *e == first || !ours(tree, *e)).collect();
    if kept.len() < tree.len(list) {
        tree.set_children(list, &kept);
    }
    for (key, text) in [("status", &new.status), ("reason", &new.reason), ("message", &new.message)] {
        set_text(tree, first, key, text);
    }
}

/// Sets a string field with as little change as possible; an empty text removes it.
fn set_text(tree: &mut Tree, map: NodeId, key: &str, text: &str) {
    match tree.get(map, key) {
        Some(old) if tree.is_scalar(old) && tree.text(old) == text => {}
        Some(_) if text.is_empty() => {
            tree.remove(map, key);
        }
        Some(old) if tree.is_scalar(old) && !text.contains('\n') && tree.style(old) != Style::Literal => {
            let quoted = matches!(tree.style(old), Style::SingleQuoted | Style::DoubleQuoted);
            if quoted { tree.set_text(old, text) } else { tree.set_string(old, text) }
        }
        None if text.is_empty() => {}
        _ => {
            let value = string(tree, text);
            tree.set(map, key, value);
        }
    }
}

fn set_render_status(tree: &mut Tree, status: NodeId, update: &StatusUpdate) {
    if update.mode != StatusMode::Full || update.render_status.is_empty() {
        tree.remove(status, "renderStatus");
        return;
    }
    let map = tree.mapping(Style::Block);
    let render = &update.render_status;
    for (key, list) in [("mutationSteps", &render.mutation_steps), ("validationSteps", &render.validation_steps)] {
        if !list.is_empty() {
            let steps = tree.sequence(Style::Block);
            for each in list {
                let step = step(tree, each);
                tree.push(steps, step);
            }
            put_node(tree, map, key, steps);
        }
    }
    put_some(tree, map, "errorSummary", &render.error_summary());
    tree.set(status, "renderStatus", map);
}

fn step(tree: &mut Tree, step: &RenderStep) -> NodeId {
    let map = tree.mapping(Style::Block);
    put_some(tree, map, "name", &step.name);
    put_some(tree, map, "image", &step.image);
    put_some(tree, map, "exec", &step.exec);
    put_some(tree, map, "executionError", &step.execution_error);
    put_some(tree, map, "stderr", &step.stderr);
    let exit_code = number(tree, step.exit_code.into());
    put_node(tree, map, "exitCode", exit_code);
    put_some(tree, map, "state", if step.skipped { "skipped" } else { "" });
    push_results(tree, map, "results", &step.results);
    push_results(tree, map, "errorResults", step.results.iter().filter(|result| result.is_error()));
    map
}
