//! What a render in kpt style with one function that changes nothing does to a file.

use portico_krm::reconcile::{copy_comments_as_kpt, sync_order_as_kpt};
use portico_krm::yaml::{
    EmitOptions, Kind, NodeId, ParseLimits, SeqStyle, SourceFile, Style, Tree, emit, emit_document_as_kpt,
};

const INTERNAL: &str = "internal.config.kubernetes.io/";

/// What a render in kpt style with an identity function makes of a file; the refusal as text.
pub(crate) fn render(bytes: &[u8]) -> Result<String, String> {
    let limits = ParseLimits::default();
    let file = SourceFile::parse(bytes, &limits)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let mut inputs = Vec::new();
    for (index, document) in file.documents().iter().enumerate() {
        let mut tree = document.tree.clone();
        check(&tree)?;
        stamp(&mut tree, index, document.seq_style);
        inputs.push(tree);
    }
    let mut list = Tree::new_mapping();
    let root = list.root();
    let items = list.sequence(Style::Block);
    for tree in &inputs {
        let item = list.copy_from(tree, tree.root());
        list.push(items, item);
    }
    list.set(root, "items", items);
    let mut text = String::new();
    emit(&list, root, &EmitOptions::default(), &mut text);
    let back = Tree::parse(text, &limits).map_err(|e| format!("the list does not parse: {e}"))?;
    let mut out = String::new();
    let Some(back) = back else { return Ok(out) };
    let outputs: Vec<NodeId> = back.get(back.root(), "items").map(|i| back.elements(i).collect()).unwrap_or_default();
    for (n, ((item, input), document)) in outputs.into_iter().zip(&inputs).zip(file.documents()).enumerate() {
        let mut tree = back.clone();
        tree.set_root(item);
        let mut copy = Tree::new_mapping();
        let root = copy.copy_from(&tree, item);
        copy.set_root(root);
        copy_comments_as_kpt(input, &mut copy);
        sync_order_as_kpt(input, &mut copy);
        unstamp(&mut copy);
        if n > 0 {
            out.push_str("---\n");
        }
        emit_document_as_kpt(&copy, &EmitOptions { sequences: document.seq_style }, &mut out);
    }
    Ok(out)
}

fn check(tree: &Tree) -> Result<(), String> {
    let root = tree.root();
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        if tree.entries(id).any(|(key, _)| !tree.is_scalar(key) && tree.kind(key) != Kind::Alias) {
            return Err("a key is no scalar".to_owned());
        }
        stack.extend(tree.children(id));
    }
    let kustomization = tree.text_at(root, &["kind"]) == Some("Kustomization");
    for path in [&["apiVersion"][..], &["kind"], &["metadata", "name"]] {
        let missing = tree.text_at(root, path).is_none_or(str::is_empty);
        if missing && !(kustomization && path.len() == 2) {
            return Err(format!("resource must have `{}`", path.join(".")));
        }
    }
    Ok(())
}

fn stamp(tree: &mut Tree, index: usize, seq_style: SeqStyle) {
    let root = tree.root();
    let metadata = tree.ensure_mapping(root, "metadata");
    let annotations = tree.ensure_mapping(metadata, "annotations");
    let index = index.to_string();
    for (prefix, key, value) in [
        ("config.kubernetes.io/", "index", index.as_str()),
        ("config.kubernetes.io/", "path", "in.yaml"),
        (INTERNAL, "index", index.as_str()),
        (INTERNAL, "package-path", "/p"),
        (INTERNAL, "path", "in.yaml"),
        (INTERNAL, "seqindent", seq_style.as_str()),
        (INTERNAL, "id", index.as_str()),
        ("config.k8s.io/", "id", index.as_str()),
    ] {
        let value = tree.scalar(value, Style::SingleQuoted);
        tree.set(annotations, &format!("{prefix}{key}"), value);
    }
}

fn unstamp(tree: &mut Tree) {
    let root = tree.root();
    let Some(metadata) = tree.get(root, "metadata") else { return };
    let Some(annotations) = tree.get(metadata, "annotations") else { return };
    let keys: Vec<String> = tree.entries(annotations).map(|(k, _)| tree.text(k).to_owned()).collect();
    for key in keys.iter().filter(|k| k.starts_with(INTERNAL) || k.starts_with("config.k8s.io/") || is_legacy(k)) {
        tree.remove(annotations, key);
    }
    if tree.is_empty(annotations) {
        tree.remove(metadata, "annotations");
    }
    if tree.is_empty(metadata) {
        tree.remove(root, "metadata");
    }
}

fn is_legacy(key: &str) -> bool {
    matches!(key, "config.kubernetes.io/index" | "config.kubernetes.io/path")
}
