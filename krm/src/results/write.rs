//! Writes results in kpt's key order.

use super::FunctionResult;
use crate::build::{number, put_mapping, put_node, put_some, put_strings};
use crate::yaml::{EmitOptions, NodeId, Style, Tree, emit};

/// Appends the results under `key` as a list; nothing for an empty list.
pub(crate) fn push_results<'a>(
    tree: &mut Tree,
    map: NodeId,
    key: &str,
    results: impl IntoIterator<Item = &'a FunctionResult>,
) {
    let list = tree.sequence(Style::Block);
    for result in results {
        let item = item(tree, result);
        tree.push(list, item);
    }
    if !tree.is_empty(list) {
        put_node(tree, map, key, list);
    }
}

fn item(tree: &mut Tree, result: &FunctionResult) -> NodeId {
    let item = tree.mapping(Style::Block);
    put_some(tree, item, "message", &result.message);
    put_some(tree, item, "severity", result.severity.as_deref().unwrap_or_default());
    if let Some(r) = &result.resource_ref {
        put_mapping(tree, item, "resourceRef", true, |tree, map| {
            put_some(tree, map, "apiVersion", &r.api_version);
            put_some(tree, map, "kind", &r.kind);
            put_some(tree, map, "name", &r.name);
            put_some(tree, map, "namespace", &r.namespace);
        });
    }
    if let Some(field) = &result.field {
        put_mapping(tree, item, "field", true, |tree, map| {
            put_some(tree, map, "path", &field.path);
            for (key, value) in [("currentValue", &field.current_value), ("proposedValue", &field.proposed_value)] {
                put_some(tree, map, key, value.as_deref().unwrap_or_default());
            }
        });
    }
    if let Some(file) = &result.file {
        put_mapping(tree, item, "file", true, |tree, map| {
            put_some(tree, map, "path", &file.path);
            if file.index != 0 {
                let index = number(tree, file.index);
                put_node(tree, map, "index", index);
            }
        });
    }
    put_strings(tree, item, "tags", &result.tags);
    if tree.is_empty(item) {
        tree.set_style(item, Style::Flow);
    }
    item
}

/// A collection as YAML, without the final line break.
pub(crate) fn yaml_text(tree: &Tree, id: NodeId) -> String {
    let mut text = String::new();
    emit(tree, id, &EmitOptions::default(), &mut text);
    text.trim().to_owned()
}
