//! Functions that name files, packages and resources that are not theirs.
#![expect(clippy::format_collect, reason = "a table reads best so, and is made once")]

use super::text::adding;
use super::{End, Row, row};

const PATH: &str = "internal.config.kubernetes.io/path";
const LEGACY_PATH: &str = "config.kubernetes.io/path";
const INDEX: &str = "internal.config.kubernetes.io/index";
const PACKAGE: &str = "internal.config.kubernetes.io/package-path";
const ID: &str = "internal.config.kubernetes.io/id";
const LEGACY_ID: &str = "config.k8s.io/id";
const MIGRATION: &str = "internal.config.kubernetes.io/annotations-migration-resource-id";
const CHOSEN: &str = "internal.config.kubernetes.io/kpt-resource-id";
const SEQUENCES: &str = "internal.config.kubernetes.io/seqindent";

/// An item with these annotations; values are YAML.
fn item(name: &str, annotations: &[(&str, &str)]) -> String {
    let lines: String = annotations.iter().map(|(key, value)| format!("      {key}: {value}\n")).collect();
    let annotations = if lines.is_empty() { String::new() } else { format!("    annotations:\n{lines}") };
    format!("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: {name}\n{annotations}")
}

/// Gives its input back with one more item.
fn added(name: impl Into<String>, item: impl Into<String>) -> Row {
    let item = item.into();
    row(name, move || adding(&item))
}

fn refused_path(value: &str, words: &str) -> [Row; 2] {
    [PATH, LEGACY_PATH].map(|key| {
        let spelling = if key == PATH { "path" } else { "older path" };
        let shown: String = value.chars().take(40).collect();
        added(format!("{spelling} {shown}"), item("added", &[(key, value)])).ends(End::BadOutput, &[words])
    })
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let outside = "function must not modify resources outside of package";
    for value in ["../x.yaml", "../../../../etc/passwd", "a/../../x.yaml", "/../x.yaml", "..", "a/b/../../../c"] {
        rows.extend(refused_path(value, outside));
    }
    for value in [".", "a/", "a/..", "./", "/"] {
        rows.extend(refused_path(value, "which names no file"));
    }
    for value in [".git/config", "a/.GIT/hooks/post-commit", ".git"] {
        rows.extend(refused_path(value, "belongs to git"));
    }
    for value in [r#""a\0b.yaml""#, r#""a\nb.yaml""#, r#""a\rb.yaml""#] {
        rows.extend(refused_path(value, "must not contain a line break or NUL"));
    }
    rows.extend(refused_path(r#""\e[2J.yaml""#, "holds a control character"));
    rows.extend(refused_path(&format!("{}.yaml", "n".repeat(300)), "is too long"));
    rows.extend(refused_path(&"d/".repeat(3_000).replace("d/d/d/", "d/d/x/"), "names no file"));
    rows.extend(refused_path(&format!("{}x.yaml", "d/".repeat(3_000)), "is too long"));
    rows.extend(refused_path("Kptfile", "function must not put other resources into a Kptfile"));
    rows.push(
        added("the place of another resource", item("added", &[(PATH, "a.yaml"), (INDEX, "'0'")]))
            .ends(End::BadOutput, &["resource at path \"a.yaml\" and index \"0\" already exists"]),
    );

    rows.extend([
        added("a path below a file", item("added", &[(PATH, "a.yaml/b.yaml")]))
            .ends(End::BadFiles, &["needs a directory where `a.yaml` is a file"]),
        added("an absolute path", item("added", &[(PATH, "/etc/passwd")])).ends(End::Passes, &[]),
        added("a path that is a list", item("added", &[(PATH, "[a.yaml]")])).ends(End::Passes, &[]),
        added("an empty path", item("added", &[(PATH, "''")])).ends(End::Passes, &[]),
        added("two spellings of the path that differ", item("added", &[(PATH, "x.yaml"), (LEGACY_PATH, "y.yaml")]))
            .ends(End::BadOutput, &["mismatched legacy and internal path annotations"]),
        added("a subpackage that was not there", {
            "- apiVersion: kpt.dev/v1\n  kind: Kptfile\n  metadata:\n    name: sub\n    annotations:\n      \
             internal.config.kubernetes.io/path: sub/Kptfile\n  pipeline:\n    mutators:\n    - exec: rm -rf /\n"
        })
        .ends(End::Passes, &[]),
        added("a name that is a path", item("../../../etc/passwd", &[])).ends(End::BadOutput, &[outside]),
        added("a name that leads into git", item("x/../.git/config", &[])).ends(End::BadOutput, &["belongs to git"]),
        added("a namespace that is a path", {
            "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: added\n    namespace: ../..\n"
        })
        .ends(End::BadOutput, &[outside]),
        added("a kind that is a path", "- apiVersion: v1\n  kind: ../../x\n  metadata:\n    name: added\n")
            .ends(End::BadOutput, &[outside]),
        added("a name with a line break", item(r#""a\nb""#, &[]))
            .ends(End::BadOutput, &["must not contain a line break or NUL"]),
    ]);
    for value in ["x", "99999999999999999999", "1e9", "'0x1'"] {
        rows.push(
            added(format!("index {value}"), item("added", &[(PATH, "b.yaml"), (INDEX, value)]))
                .ends(End::BadFiles, &["an index is a whole number"]),
        );
    }
    for value in ["-1", "'-1'", "''", "[1]"] {
        rows.push(added(format!("index {value}"), item("added", &[(PATH, "b.yaml"), (INDEX, value)])));
    }
    for value in ["/etc", "../..", "/", "..", "a"] {
        rows.push(
            added(format!("package {value}"), item("added", &[(PATH, "b.yaml"), (PACKAGE, value)]))
                .ends(End::BadFiles, &["is not a descendant of"]),
        );
    }
    for key in [ID, LEGACY_ID, MIGRATION, CHOSEN] {
        let short = key.rsplit_once('/').map_or(key, |(_, short)| short);
        for value in ["0", "1", "2", "-1", "'1'", "99999999999999999999", "x", "'+1'", "[1]", "''"] {
            rows.push(added(format!("{key}: {value} ({short})"), item("added", &[(PATH, "b.yaml"), (key, value)])));
        }
    }
    rows.extend([
        added("two items with one id", {
            item("added", &[(PATH, "b.yaml"), (ID, "'2'")]) + &item("more", &[(PATH, "c.yaml"), (ID, "'2'")])
        }),
        added("two spellings of the id that differ", item("added", &[(ID, "'1'"), (LEGACY_ID, "'2'")])),
        added("a style of sequences that nobody knows", item("added", &[(SEQUENCES, "sideways")])),
        added("annotations that are a list", {
            "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: added\n    annotations: [a]\n"
        }),
        added("annotations that are a word", {
            "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: added\n    annotations: a\n"
        }),
        added("annotations that are an alias", {
            "- apiVersion: v1\n  kind: ConfigMap\n  data: &a {b: c}\n  metadata:\n    name: added\n    annotations: *a\n"
        }),
        added("annotations that are not text", item("added", &[("a", "7"), ("b", "~"), ("c", "[d]"), ("e", "{f: g}")])),
        added("an annotation of 100,000 characters", item("added", &[(&"k".repeat(1_000), &"v".repeat(100_000))])),
        added("5,000 annotations", {
            let lines: String = (0..5_000).map(|n| format!("      a{n}: b\n")).collect();
            item("added", &[("z", "z")]) + &lines
        }),
    ]);
    rows
}
