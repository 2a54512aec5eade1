//! Putting a value into the fields of an object.

use portico_fn::yaml::{Kind, NodeId, ScalarType, Style, Tree, plain_type};
use portico_fn::{FieldError, Resource};

use crate::embedded::Embedded;
use crate::path::{FieldPath, Step};
use crate::settings::Options;
use crate::value::{Budget, Value};

/// Puts one value into objects.
pub(crate) struct Writer<'a> {
    pub(crate) value: &'a Value,
    pub(crate) options: &'a Options,
    pub(crate) budget: &'a mut Budget,
}

/// True when the element has this value in the field; when it is this value itself for an empty field.
pub(crate) fn is_element(tree: &Tree, element: NodeId, field: &str, value: &str) -> bool {
    let node = if field.is_empty() { Some(element) } else { tree.get(element, field) };
    node.is_some_and(|node| tree.is_scalar(node) && tree.text(node) == value)
}

impl Writer<'_> {
    /// Puts the value into every field that the path leads to; the error is a message.
    pub(crate) fn write(&mut self, object: &mut Resource, path: &FieldPath) -> Result<(), String> {
        let root = object.tree.root();
        let written = Walk { writer: self, path }.go(&mut object.tree, root, &path.steps, 1)?;
        if written > 0 {
            return Ok(());
        }
        let or_create = if self.options.create { " or create" } else { "" };
        Err(format!("unable to find{or_create} field \"{}\" in replacement target", path.text))
    }

    /// Puts the value in the place of a node.
    fn put(&mut self, tree: &mut Tree, at: NodeId, depth: usize) -> Result<(), String> {
        if !self.options.delimiter.is_empty() {
            let (true, Some(text)) = (tree.is_scalar(at), self.value.text()) else {
                return Err("delimiter option can only be used with scalar nodes".to_owned());
            };
            let new = join_part(if tree.is_null(at) { "" } else { tree.text(at) }, text, self.options);
            return self.set_text(tree, at, &new, depth);
        }
        match self.value.text() {
            Some(text) if tree.is_scalar(at) => self.set_text(tree, at, text, depth),
            _ => self.copy(self.value, tree, at, depth),
        }
    }

    fn copy(&mut self, value: &Value, tree: &mut Tree, at: NodeId, depth: usize) -> Result<(), String> {
        let new = value.put(tree, depth, self.budget)?;
        tree.replace_with(at, new);
        Ok(())
    }

    /// Changes the text of a scalar. What was a string stays one, a number takes a number; where nothing was, the value
    /// comes with its own type.
    fn set_text(&mut self, tree: &mut Tree, at: NodeId, text: &str, depth: usize) -> Result<(), String> {
        let old = tree.scalar_type(at);
        if old == ScalarType::Null {
            return self.copy(&self.value.with_text(text), tree, at, depth);
        }
        if tree.text(at) == text {
            return Ok(());
        }
        self.budget.take(text.len())?;
        let numeric = |kind| matches!(kind, ScalarType::Int | ScalarType::Float);
        let new = plain_type(text);
        let keeps_type = match old {
            ScalarType::Bool | ScalarType::Int | ScalarType::Float => {
                old == new || numeric(old) && numeric(new) || !self.value.is_string() && new != ScalarType::Null
            }
            // the quotes or the tag say that it is a string
            _ => tree.style(at) != Style::Plain || tree.tag(at).is_some(),
        };
        if keeps_type {
            tree.set_text(at, text);
        } else {
            tree.set_string(at, text);
        }
        Ok(())
    }
}

/// Puts a part between the parts of a text: in front for an index below 0, behind for one past the end, else in the
/// place of that part.
fn join_part(text: &str, part: &str, options: &Options) -> String {
    if text.is_empty() {
        return part.to_owned();
    }
    let delimiter = options.delimiter.as_str();
    let mut parts: Vec<&str> = text.split(delimiter).collect();
    match usize::try_from(options.index) {
        Err(_) => parts.insert(0, part),
        Ok(index) if index >= parts.len() => parts.push(part),
        Ok(index) => parts[index] = part,
    }
    parts.join(delimiter)
}

struct Walk<'w, 'a> {
    writer: &'w mut Writer<'a>,
    path: &'w FieldPath,
}

impl Walk<'_, '_> {
    /// Goes on at a node, `depth` levels below the root, and says how many fields were written. The depth is bounded by
    /// the length of the path.
    fn go(&mut self, tree: &mut Tree, at: NodeId, steps: &[Step], depth: usize) -> Result<usize, String> {
        let Some((step, rest)) = steps.split_first() else {
            self.writer.put(tree, at, depth)?;
            return Ok(1);
        };
        match tree.kind(at) {
            Kind::Mapping => self.in_mapping(tree, at, step, rest, depth),
            Kind::Sequence => self.in_sequence(tree, at, step, rest, depth),
            Kind::Scalar if tree.is_null(at) => {
                if !self.writer.options.create || *step == Step::Every {
                    return Ok(0);
                }
                let new = make(tree, steps);
                tree.replace_with(at, new);
                self.go(tree, at, steps, depth)
            }
            Kind::Scalar => self.in_text(tree, at, steps),
            Kind::Alias => Err(self.wrong(tree, at, steps, "the value itself")),
        }
    }

    fn in_mapping(
        &mut self,
        tree: &mut Tree,
        at: NodeId,
        step: &Step,
        rest: &[Step],
        depth: usize,
    ) -> Result<usize, String> {
        let Step::Key(key) = step else {
            let steps = &self.path.steps[self.path.steps.len() - rest.len() - 1..];
            return Err(self.wrong(tree, at, steps, "a list"));
        };
        let next = match tree.get(at, key) {
            Some(next) => next,
            None if self.writer.options.create && rest.first() != Some(&Step::Every) => {
                let new = make(tree, rest);
                tree.set(at, key, new);
                new
            }
            None => return Ok(0),
        };
        self.go(tree, next, rest, depth + 1)
    }

    fn in_sequence(
        &mut self,
        tree: &mut Tree,
        at: NodeId,
        step: &Step,
        rest: &[Step],
        depth: usize,
    ) -> Result<usize, String> {
        let elements: Vec<NodeId> = tree.elements(at).collect();
        let create = self.writer.options.create;
        let chosen = match step {
            Step::Every => elements,
            Step::Element { field, value } => {
                let chosen: Vec<NodeId> =
                    elements.into_iter().filter(|element| is_element(tree, *element, field, value)).collect();
                if chosen.is_empty() && create {
                    let new = make_element(tree, field, value);
                    tree.push(at, new);
                    vec![new]
                } else {
                    chosen
                }
            }
            Step::Key(key) => {
                let Some(index) = step.index() else {
                    let steps = &self.path.steps[self.path.steps.len() - rest.len() - 1..];
                    return Err(self.wrong(tree, at, steps, "a mapping"));
                };
                match elements.get(index) {
                    Some(element) => vec![*element],
                    None if create && index == elements.len() => {
                        let new = make(tree, rest);
                        tree.push(at, new);
                        vec![new]
                    }
                    None => {
                        let count = elements.len();
                        return Err(format!(
                            "index {key} of field \"{}\" specified but only {count} elements found",
                            self.path.text
                        ));
                    }
                }
            }
        };
        let mut written = 0;
        for element in chosen {
            written += self.go(tree, element, rest, depth + 1)?;
        }
        Ok(written)
    }

    /// A text that holds YAML or JSON: the rest of the path leads into it.
    fn in_text(&mut self, tree: &mut Tree, at: NodeId, steps: &[Step]) -> Result<usize, String> {
        let Some(mut inner) = Embedded::read(tree.text(at)) else { return Ok(0) };
        self.writer.budget.take(tree.text(at).len())?;
        let root = inner.tree.root();
        let written = self.go(&mut inner.tree, root, steps, 1)?;
        if written > 0 {
            let text = inner.into_text();
            self.writer.budget.take(text.len())?;
            if tree.style(at) == Style::Plain { tree.set_string(at, &text) } else { tree.set_text(at, &text) }
        }
        Ok(written)
    }

    /// The node before the remaining `steps` is not what they need.
    fn wrong(&self, tree: &Tree, at: NodeId, steps: &[Step], expected: &'static str) -> String {
        let done = &self.path.steps[..self.path.steps.len() - steps.len()];
        let keys: Vec<String> = done
            .iter()
            .map(|step| match step {
                Step::Key(key) => key.clone(),
                Step::Element { field, value } => format!("[{field}={value}]"),
                Step::Every => "*".to_owned(),
            })
            .collect();
        let reason = FieldError::at(tree, at, &keys, expected);
        format!("unable to find field \"{}\" in replacement target: {reason}", self.path.text)
    }
}

/// A new node for what the steps find in it: the collection that the first one needs, or null to be replaced.
fn make(tree: &mut Tree, steps: &[Step]) -> NodeId {
    match steps.first() {
        None => tree.scalar("null", Style::Plain),
        Some(Step::Element { .. } | Step::Every) => tree.sequence(Style::Block),
        Some(step @ Step::Key(_)) if step.index().is_some() => tree.sequence(Style::Block),
        Some(Step::Key(_)) => tree.mapping(Style::Block),
    }
}

/// A new element that the condition finds. Names are strings, other values what they look like.
fn make_element(tree: &mut Tree, field: &str, value: &str) -> NodeId {
    let value = if field == "name" { tree.string(value) } else { tree.scalar(value, Style::Plain) };
    if field.is_empty() {
        return value;
    }
    let new = tree.mapping(Style::Block);
    tree.set(new, field, value);
    new
}
