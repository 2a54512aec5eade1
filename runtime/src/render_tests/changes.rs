//! What steps say that they changed, and what they never say.

use std::time::Duration;

use super::harness::{Functions, config_map, kptfile, quiet, render, render_as};
use crate::changes::{ChangeKind, ChangeOptions, HiddenKind, ResourceChange, StepChanges};
use crate::renderer::RenderOptions;

fn telling(changes: ChangeOptions) -> RenderOptions {
    RenderOptions { changes: Some(changes), ..quiet() }
}

/// What the only step of a package says.
fn changes_with(files: &[(&str, &str)], functions: Functions, options: ChangeOptions) -> StepChanges {
    let mut outcome = render_as(files, functions, &telling(options)).passed().outcome;
    outcome.steps.remove(0).changes.expect("it was asked for")
}

fn changes(files: &[(&str, &str)], functions: Functions) -> Vec<ResourceChange> {
    let changes = changes_with(files, functions, ChangeOptions::default());
    assert_eq!(changes.left_out, 0);
    changes.resources
}

fn told(changes: &[ResourceChange]) -> Vec<String> {
    changes.iter().map(|change| format!("{:?} {} {}", change.kind, change.resource, change.path)).collect()
}

#[test]
fn a_step_says_what_it_changed_with_the_difference_of_the_yaml() {
    let map = format!("{}data:\n  a: \"1\" # why\n", config_map("map"));
    let mut functions = Functions::new();
    functions.items("edit", |list| {
        for item in &mut list.items {
            if item.kind() == "ConfigMap" {
                item.set_label("app", "web");
            }
        }
    });
    let changes = changes(&[("Kptfile", &kptfile("app", "edit")), ("map.yaml", &map)], functions);
    assert_eq!(told(&changes), ["Changed v1/ConfigMap/map map.yaml"]);
    let expected = "@@ -2,5 +2,7 @@\n kind: ConfigMap\n metadata:\n   name: map\n+  labels:\n+    app: web\n data:\n   a: \"1\" # why\n";
    assert_eq!(changes[0].diff, expected);
    assert_eq!(changes[0].old_path, None);
}

#[test]
fn what_comes_goes_moves_and_is_renamed_is_told_as_that() {
    let mut functions = Functions::new();
    functions.items("edit", |list| {
        let mut new = list.items.iter().find(|item| item.name() == "stays").unwrap().clone();
        new.clear_id();
        new.set_name("new");
        new.set_path("new.yaml");
        list.items.retain(|item| item.name() != "goes");
        for item in &mut list.items {
            match item.name() {
                "moves" => item.set_path("elsewhere.yaml"),
                "renamed" => item.set_name("other"),
                _ => {}
            }
        }
        list.items.push(new);
    });
    let names = ["stays", "goes", "moves", "renamed"];
    let files: Vec<(String, String)> = names.iter().map(|name| (format!("{name}.yaml"), config_map(name))).collect();
    let kptfile = kptfile("app", "edit");
    let mut all = vec![("Kptfile", kptfile.as_str())];
    all.extend(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let changes = changes(&all, functions);
    assert_eq!(
        told(&changes),
        [
            "Changed v1/ConfigMap/moves elsewhere.yaml",
            "Changed v1/ConfigMap/other renamed.yaml",
            "Added v1/ConfigMap/new new.yaml",
            "Removed v1/ConfigMap/goes goes.yaml",
        ]
    );
    assert_eq!((changes[0].old_path.as_deref(), changes[0].diff.as_str()), (Some("moves.yaml"), ""));
    assert!(changes[1].diff.contains("-  name: renamed\n+  name: other\n"), "{}", changes[1].diff);
    assert!(changes[2].diff.starts_with("@@ -0,0 +1,4 @@\n+apiVersion: v1\n"), "{}", changes[2].diff);
    assert!(changes[3].diff.contains("-  name: goes\n"), "{}", changes[3].diff);
}

#[test]
fn nothing_is_told_of_what_stays_and_nothing_at_all_unasked() {
    let files = [("Kptfile", &*kptfile("app", "identity")), ("map.yaml", &*config_map("map"))];
    assert_eq!(changes(&files, Functions::new()), []);
    // Written anew, with other quotes and another order of keys: the same values.
    let mut functions = Functions::new();
    functions.items("identity", |list| list.items.reverse());
    assert_eq!(changes(&files, functions), []);
    assert_eq!(render(&files, Functions::new()).outcome.steps[0].changes, None);
    // Validators change nothing, whatever they write.
    let files = [("Kptfile", &*kptfile("app", "| label")), ("map.yaml", &*config_map("map"))];
    let validated = render_as(&files, Functions::new(), &telling(ChangeOptions::default())).passed();
    assert_eq!(validated.outcome.steps[0].changes, None);
}

const SECRET: &str = "# hunter0 is above\napiVersion: v1\nkind: Secret\nmetadata:\n  name: login\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: '{\"stringData\":{\"password\":\"hunter1\"}}'\n    shown: \"yes\"\ntype: Opaque\ndata:\n  same: aHVudGVyMg==\nstringData:\n  # hunter3 is beside\n  password: hunter4 # hunter5 too\n  key: |\n    hunter6\nspec:\n  template: [hunter7]\n# hunter8 is below\n";

/// Changes every value of a secret but one, wherever it stands.
fn changing(text: &str) -> String {
    let mut out = text.replace("hunter4", "hunter14").replace("hunter6", "hunter16").replace("hunter7", "hunter17");
    out = out.replace("hunter1\"", "hunter11\"").replace("shown: \"yes\"", "shown: \"no\"");
    out
}

#[test]
fn values_of_a_secret_are_never_shown() {
    let mut functions = Functions::new();
    functions.text("edit", changing);
    let changes = changes(&[("Kptfile", &kptfile("app", "edit")), ("secret.yaml", SECRET)], functions);
    let diff = &changes[0].diff;
    assert!(!diff.contains("hunter") && !diff.contains("aHVu"), "{diff}");
    // What changed can be seen, and what did not.
    assert!(
        diff.contains("-  password: (redacted)\n") && diff.contains("+  password: (redacted, another value)\n"),
        "{diff}"
    );
    assert!(diff.contains("\n   same: (redacted)\n") && diff.contains("+    shown: \"no\"\n"), "{diff}");
    assert!(diff.contains(" type: Opaque\n"), "{diff}");
}

#[test]
fn secrets_in_lists_and_templates_and_behind_aliases_are_secrets() {
    let holder = "apiVersion: example.com/v1\nkind: Holder\nmetadata:\n  name: holder\nspec:\n  word: &word Secret\n  items:\n  # hunter1\n  - kind: Secret\n    apiVersion: v1\n    data:\n      a: hunter2\n  - kind: *word\n    stringData: {a: hunter3, b: {c: [hunter4, *word]}}\n  - data: *elsewhere\n    kind: Secret\n  plain: shown\n";
    let holder = holder.replace("  word:", "  other: &elsewhere\n    name: of nothing\n  word:");
    for (function, kind) in [("edit", ChangeKind::Changed), ("drop", ChangeKind::Removed)] {
        let mut functions = Functions::new();
        functions.items("edit", |list| {
            for item in &mut list.items {
                item.set_label("app", "web");
            }
        });
        functions.items("drop", |list| list.items.retain(|item| item.kind() == "Kptfile"));
        let files = [("Kptfile", &*kptfile("app", function)), ("holder.yaml", &*holder)];
        let changes = changes(&files, functions);
        let change = changes.iter().find(|change| change.path == "holder.yaml").unwrap();
        assert_eq!(change.kind, kind);
        assert!(!change.diff.contains("hunter"), "{}", change.diff);
        assert!(function == "edit" || change.diff.contains("plain: shown"), "{}", change.diff);
    }
}

#[test]
fn kinds_that_are_named_are_hidden_in_their_group_alone() {
    let made =
        |group: &str| format!("apiVersion: {group}/v1\nkind: Login\nmetadata:\n  name: {group}\nspec:\n  word: w\n");
    let options = ChangeOptions {
        hidden: vec![HiddenKind { group: "hidden.io".into(), kind: "Login".into() }],
        ..ChangeOptions::default()
    };
    let mut functions = Functions::new();
    functions.text("edit", |text| text.replace("word: w", "word: hunter2"));
    let files = [("Kptfile", &*kptfile("app", "edit")), ("a.yaml", &*made("hidden.io")), ("b.yaml", &*made("open.io"))];
    let changes = changes_with(&files, functions, options).resources;
    assert!(!changes[0].diff.contains("hunter2"), "{}", changes[0].diff);
    assert!(changes[1].diff.contains("hunter2"), "{}", changes[1].diff);
}

#[test]
fn what_is_told_is_bounded() {
    let lines = |count: usize| {
        let all: Vec<String> = (0..count).map(|n| format!("  key{n}: \"{n}\"\n")).collect();
        all.concat()
    };
    let large = format!("{}data:\n{}", config_map("large"), lines(20_000));
    let kptfile = kptfile("app", "edit");
    let edit = || {
        let mut functions = Functions::new();
        functions.text("edit", |text| text.replace("key", "yek"));
        functions
    };
    // Too large for a comparison by line.
    let told = changes(&[("Kptfile", &kptfile), ("large.yaml", &large)], edit());
    assert!(told[0].diff.starts_with("[too large to be compared: "), "{}", told[0].diff);
    // No time for one: shown roughly, and shortened.
    let options = ChangeOptions { text_bytes: usize::MAX, time: Duration::ZERO, ..ChangeOptions::default() };
    let told = changes_with(&[("Kptfile", &kptfile), ("large.yaml", &large)], edit(), options.clone()).resources;
    assert!(told[0].diff.len() <= options.diff_bytes, "{}", told[0].diff.len());
    assert!(told[0].diff.contains(" bytes left out]\n"), "{}", told[0].diff);

    let map = |n: usize| (format!("{n}.yaml"), format!("{}data:\n{}", config_map(&format!("m{n}")), lines(200)));
    let maps: Vec<(String, String)> = (0..50).map(map).collect();
    let mut files = vec![("Kptfile", kptfile.as_str())];
    files.extend(maps.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let options = ChangeOptions { resources: 20, ..ChangeOptions::default() };
    let told = changes_with(&files, edit(), options.clone());
    assert_eq!((told.resources.len(), told.left_out), (20, 30));
    let all: usize = told.resources.iter().map(|change| change.diff.len()).sum();
    assert!(all <= 4 * options.diff_bytes, "{all}");
}
