//! Kpt style against kpt's own output: each case goes through what a render with one function that changes nothing does
//! (annotations, `ResourceList`, comments and key order from the input, annotations away).
//!
//! The cases of the conformance data are read where `PORTICO_CONFORMANCE` names them; `tests/cases` holds our own.
#![expect(clippy::print_stdout, reason = "what was skipped is to be seen")]

use std::path::{Path, PathBuf};

use portico_krm::reconcile::{copy_comments_as_kpt, fold_as_kpt, sync_order};
use portico_krm::yaml::{
    EmitOptions, NodeId, ParseLimits, SeqStyle, SourceFile, Style, Tree, emit, emit_document_as_kpt,
};

const INTERNAL: &str = "internal.config.kubernetes.io/";

/// What a render in kpt style with an identity function makes of a file; the refusal as text.
fn render(bytes: &[u8]) -> Result<String, String> {
    let limits = ParseLimits::default();
    let file = SourceFile::parse(bytes, &limits)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let mut inputs = Vec::new();
    for (index, document) in file.documents().iter().enumerate() {
        let mut tree = document.tree.clone();
        check(&tree)?;
        fold_as_kpt(&mut tree);
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
        sync_order(input, &mut copy);
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
        if tree.entries(id).any(|(key, _)| !tree.is_scalar(key) && tree.kind(key) != portico_krm::yaml::Kind::Alias) {
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

/// Folders that hold cases, with their expected output.
fn folders() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases/kpt-style")];
    match std::env::var_os("PORTICO_CONFORMANCE") {
        Some(root) => folders.push(Path::new(&root).join("yaml")),
        None => println!("skipped: the conformance cases, because PORTICO_CONFORMANCE is not set"),
    }
    folders
}

/// Cases that we answer differently on purpose: values that kpt changes.
const DIFFERENT: [&str; 3] = ["f01-flow-maps", "x08-dup-keys", "x09-dup-keys-meta"];

#[test]
fn every_case_comes_out_as_kpt_writes_it() {
    let mut failures = Vec::new();
    let mut count = 0;
    for folder in folders() {
        let mut cases: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        cases.sort();
        for case in cases {
            let name = case.file_name().unwrap().to_string_lossy().into_owned();
            if DIFFERENT.contains(&&*name) || !case.join("in.yaml").exists() {
                continue;
            }
            count += 1;
            let result = render(&std::fs::read(case.join("in.yaml")).unwrap());
            match (std::fs::read_to_string(case.join("kpt.yaml")), result) {
                (Ok(expected), Ok(actual)) if expected == actual => {}
                (Ok(expected), Ok(actual)) => {
                    failures.push(format!("{name}: expected\n{expected}\nfound\n{actual}"));
                }
                (Ok(_), Err(message)) => failures.push(format!("{name}: refused: {message}")),
                (Err(_), Ok(actual)) => failures.push(format!("{name}: kpt refuses it, found\n{actual}")),
                (Err(_), Err(_)) => {}
            }
        }
    }
    println!("{count} cases");
    assert!(failures.is_empty(), "{} of {count} cases differ:\n{}", failures.len(), failures.join("\n====\n"));
}
