//! The document that lists the results of every step of a render: `results.yaml`.

use super::{FunctionResult, push_results};
use crate::build::{number, put, put_mapping, put_node, put_some};
use crate::yaml::{EmitOptions, SeqStyle, Style, Tree, emit_document};

/// The `FunctionResultList` of one render.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultDocument {
    /// 0, or 1 when a step failed.
    pub exit_code: i32,
    /// One entry for each step that ran, in order.
    pub items: Vec<StepResult>,
}

/// What one step reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepResult {
    /// The image as it was resolved; empty for an executable.
    pub image: String,
    /// The command line as the Kptfile has it; empty for an image.
    pub exec: String,
    /// What the function wrote to stderr.
    pub stderr: String,
    /// The function's exit code.
    pub exit_code: i32,
    /// The function's results.
    pub results: Vec<FunctionResult>,
    /// True when its condition said that it need not run.
    pub skipped: bool,
}

impl ResultDocument {
    /// The document as kpt writes it.
    pub fn to_yaml(&self) -> String {
        let mut tree = Tree::new_mapping();
        let root = tree.root();
        put(&mut tree, root, "apiVersion", "kpt.dev/v1");
        put(&mut tree, root, "kind", "FunctionResultList");
        put_mapping(&mut tree, root, "metadata", false, |tree, map| put(tree, map, "name", "fnresults"));
        let exit_code = number(&mut tree, self.exit_code.into());
        put_node(&mut tree, root, "exitCode", exit_code);
        if !self.items.is_empty() {
            let list = tree.sequence(Style::Block);
            for step in &self.items {
                let item = tree.mapping(Style::Block);
                put_some(&mut tree, item, "image", &step.image);
                put_some(&mut tree, item, "exec", &step.exec);
                put_some(&mut tree, item, "stderr", &step.stderr);
                let exit_code = number(&mut tree, step.exit_code.into());
                put_node(&mut tree, item, "exitCode", exit_code);
                put_some(&mut tree, item, "state", if step.skipped { "skipped" } else { "" });
                push_results(&mut tree, item, "results", &step.results);
                tree.push(list, item);
            }
            put_node(&mut tree, root, "items", list);
        }
        let mut text = String::new();
        emit_document(&tree, &EmitOptions { sequences: SeqStyle::Wide }, &mut text);
        text
    }
}
