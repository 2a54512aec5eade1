//! Helpers that several groups of tests use.

use std::path::{Path, PathBuf};

use portico_krm::yaml::{Comments, Kind, NodeId, ParseError, ParseLimits, Style, Tree};

/// The document of a text that must hold one.
pub(crate) fn parse(text: &str) -> Tree {
    match try_parse(text) {
        Ok(Some(tree)) => tree,
        Ok(None) => panic!("no document in {text:?}"),
        Err(error) => panic!("{error} in {text:?}"),
    }
}

pub(crate) fn try_parse(text: &str) -> Result<Option<Tree>, ParseError> {
    Tree::parse(text, &ParseLimits::default())
}

/// The error of a text that must be refused.
pub(crate) fn refusal(text: &str) -> ParseError {
    try_parse(text).err().unwrap_or_else(|| panic!("accepted: {text:?}"))
}

/// The folder of shared conformance data below `PORTICO_CONFORMANCE`; says so where it is missing.
pub(crate) fn conformance(folder: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os("PORTICO_CONFORMANCE") else {
        println!("skipped: {folder}, because PORTICO_CONFORMANCE is not set");
        return None;
    };
    let path = Path::new(&root).join(folder);
    if !path.is_dir() {
        println!("skipped: {folder}, because {} is no directory", path.display());
        return None;
    }
    Some(path)
}

/// All YAML files and Kptfiles below a folder, in order of their paths.
pub(crate) fn manifests(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml")
                || path.file_name().is_some_and(|n| n == "Kptfile")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The texts that mutations start from: our own, and the shared ones where they are.
pub(crate) fn seeds() -> Vec<String> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files = manifests(&own);
    files.extend(conformance("yaml").iter().flat_map(|folder| manifests(folder)));
    let mut seeds: Vec<String> = files.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    seeds.extend(OWN.iter().map(ToString::to_string));
    seeds.extend(super::suite::inputs());
    seeds
}

/// Texts with one of everything.
pub(crate) const OWN: [&str; 4] = [
    "# head\n\na: &x 1 # line\nb:\n  - *x\n  # above\n  - c: 'it''s'\n    d: \"a\\tb\\u00e9\"\n  # foot\n\n  - - e\n    - f\n",
    "? complex\n: - 1\n  - 2\n? [a, b]\n: {c: d, e: [f, g: h], ? i : j,}\n!t k: !!str 5\n<<: *none\n",
    "a: |-2\n    lead\n\n  text\nb: >+\n  fold\n  more\n\n    deep\n\nc: plain\n  two\n\n  three # end\n",
    "%YAML 1.1\n%TAG !e! tag:example.com,2000:\n---\n!e!x\n- é: 日本\n- \"\u{1F600}\"\n- ~\n...\n",
];

/// A short text for a tree: what each node is, with tags, anchors and values, for comparison in tests.
pub(crate) fn outline(tree: &Tree) -> String {
    let mut out = String::new();
    write_outline(tree, tree.root(), &mut out);
    out
}

fn write_outline(tree: &Tree, id: NodeId, out: &mut String) {
    use std::fmt::Write as _;
    if let Some(anchor) = tree.anchor(id) {
        write!(out, "&{anchor} ").unwrap();
    }
    if let Some(tag) = tree.tag(id) {
        write!(out, "{tag} ").unwrap();
    }
    match tree.kind(id) {
        Kind::Alias => write!(out, "*{}", tree.text(id)).unwrap(),
        Kind::Scalar => {
            let mark = match tree.style(id) {
                Style::SingleQuoted => "'",
                Style::DoubleQuoted => "\"",
                Style::Literal => "|",
                Style::Folded => ">",
                _ => "",
            };
            write!(out, "{mark}{}", tree.text(id).escape_debug()).unwrap();
        }
        Kind::Sequence => {
            out.push('[');
            for (n, child) in tree.elements(id).enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                write_outline(tree, child, out);
            }
            out.push(']');
        }
        Kind::Mapping => {
            out.push('{');
            for (n, (key, value)) in tree.entries(id).enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                write_outline(tree, key, out);
                out.push_str(": ");
                write_outline(tree, value, out);
            }
            out.push('}');
        }
    }
}

/// All comments of a tree, one a line: the node (keys and indices from the root, `.key` for the key itself), the place,
/// the text.
pub(crate) fn comments(tree: &Tree) -> Vec<String> {
    let mut out = Vec::new();
    push_comments("document", tree.document_comments(), &mut out);
    walk_comments(tree, tree.root(), "", &mut out);
    out
}

fn push_comments(path: &str, comments: &Comments, out: &mut Vec<String>) {
    for (place, text) in [("head", &comments.head), ("line", &comments.line), ("foot", &comments.foot)] {
        if let Some(text) = text {
            out.push(format!("{path} {place} {text}").trim_start().to_owned());
        }
    }
}

fn walk_comments(tree: &Tree, id: NodeId, path: &str, out: &mut Vec<String>) {
    if let Some(comments) = tree.comments(id) {
        push_comments(if path.is_empty() { "/" } else { path }, comments, out);
    }
    for (key, value) in tree.entries(id) {
        let name = format!("{path}/{}", tree.text(key));
        if let Some(comments) = tree.comments(key) {
            push_comments(&format!("{name}.key"), comments, out);
        }
        walk_comments(tree, value, &name, out);
    }
    for (n, element) in tree.elements(id).enumerate() {
        walk_comments(tree, element, &format!("{path}/{n}"), out);
    }
}
