//! Writes a `ResourceList` as kpt does: compact sequences, keys in fixed order.

use super::ResourceList;
use crate::build::put_node;
use crate::results::push_results;
use crate::yaml::{EmitOptions, Place, Tree, emit, emit_value};

/// Bytes that an item takes at least; what a larger one needs is added as it comes.
const ITEM: usize = 1024;

impl ResourceList {
    /// The document. A list without items is written as `items: []`; an empty list of results not at all.
    pub fn to_yaml(&self) -> String {
        let mut out = String::with_capacity(256 + self.items.len() * ITEM);
        let options = EmitOptions::default();
        out.push_str("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n");
        if self.items.is_empty() {
            out.push_str("items: []\n");
        } else {
            out.push_str("items:\n");
        }
        let place = Place { column: 0, element: true, flow: false, key: false };
        for item in &self.items {
            let (tree, root) = (&item.tree, item.root());
            if let Some(head) = tree.head_comment(root) {
                out.push_str(head);
                out.push('\n');
            }
            out.push('-');
            emit_value(tree, None, root, place, &options, &mut out);
            if !out.ends_with('\n') {
                out.push('\n');
            }
            if let Some(foot) = tree.foot_comment(root) {
                out.push_str(foot);
                out.push_str("\n\n");
            }
        }
        let mut rest = Tree::new_mapping();
        let root = rest.root();
        if let Some(config) = &self.function_config {
            let config = rest.copy_from(&config.tree, config.root());
            put_node(&mut rest, root, "functionConfig", config);
        }
        push_results(&mut rest, root, "results", &self.results);
        if !rest.is_empty(root) {
            emit(&rest, root, &options, &mut out);
        }
        out
    }
}
