//! `encoding/yaml.star`: `loads`, `dumps`.

use portico_krm::yaml::{EmitOptions, NodeId, ParseLimits, Tree, emit_document};
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::{Heap, Value};

use super::Fault;
use crate::convert::{self, DEPTH, Keys};

#[starlark_module]
pub(super) fn register(module: &mut GlobalsBuilder) {
    /// The value of a text with one document; None where it is empty.
    fn loads<'v>(#[starlark(require = pos)] source: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let limits = ParseLimits { depth: DEPTH, ..ParseLimits::default() };
        let Some(tree) = Tree::parse(source, &limits).map_err(|e| Fault(format!("yaml.loads: {e}")))? else {
            return Ok(Value::new_none());
        };
        let told = |unfit: convert::Unfit| Fault(format!("yaml.loads: {}", unfit.message()));
        let expanded = convert::expanded(&tree).map_err(told)?;
        let base = expanded.as_ref().unwrap_or(&tree);
        Ok(convert::to_value(base, base.root(), heap, &mut Keys::new()).map_err(told)?)
    }

    /// A value as YAML, keys sorted.
    fn dumps<'v>(#[starlark(require = pos)] obj: Value<'v>, heap: Heap<'v>) -> anyhow::Result<String> {
        let mut tree = Tree::new_mapping();
        let root = convert::build(&mut tree, obj, heap, DEPTH)
            .map_err(|unfit| Fault(format!("yaml.dumps: {}", unfit.message())))?;
        sort(&mut tree, root);
        tree.set_root(root);
        let mut out = String::new();
        emit_document(&tree, &EmitOptions::default(), &mut out);
        Ok(out)
    }
}

/// Sorts the keys of all mappings.
fn sort(tree: &mut Tree, root: NodeId) {
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        stack.extend(tree.children(id));
        if tree.is_mapping(id) {
            let mut entries: Vec<(NodeId, NodeId)> = tree.entries(id).collect();
            entries.sort_by(|a, b| tree.text(a.0).cmp(tree.text(b.0)));
            let children: Vec<NodeId> = entries.into_iter().flat_map(|(key, value)| [key, value]).collect();
            tree.set_children(id, &children);
        }
    }
}
