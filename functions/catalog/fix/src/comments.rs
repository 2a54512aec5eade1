//! Comments that tie fields to setters, in their old form.

use portico_fn::Resource;
use portico_fn::yaml::{ParseLimits, Tree};

use crate::definitions::{Definitions, short};

/// Writes each comment anew that refers to a setter or substitution.
pub(crate) fn rewrite(item: &mut Resource, definitions: &Definitions) -> Result<(), String> {
    let tree = &item.tree;
    let mut open = vec![tree.root()];
    let mut found = Vec::new();
    while let Some(id) = open.pop() {
        if let Some(name) = tree.line_comment(id).and_then(reference) {
            let pattern = definitions.pattern(&name).map_err(|reason| format!("`{}`: {reason}", crate::shown(item)))?;
            found.push((id, format!("# kpt-set: {pattern}")));
        }
        open.extend(tree.children(id));
    }
    for (id, comment) in found {
        item.tree.set_line_comment(id, Some(&comment));
    }
    Ok(())
}

/// The name that a comment refers to: `# {"$kpt-set":"x"}`, `# {"$openapi":"x"}` or
/// `# {"$ref":"#/definitions/io.k8s.cli.setters.x"}`.
fn reference(comment: &str) -> Option<String> {
    let text = comment.trim_start_matches('#').trim();
    if !text.starts_with('{') {
        return None;
    }
    let tree = Tree::parse(text, &ParseLimits { depth: 8, bytes: 4 << 10, ..ParseLimits::default() }).ok()??;
    let root = tree.root();
    let name = ["$kpt-set", "$openapi", "$ref"].into_iter().find_map(|key| tree.text_at(root, &[key]))?;
    let name = short(name);
    (!name.is_empty()).then(|| name.to_owned())
}
