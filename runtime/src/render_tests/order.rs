use super::harness::*;

fn tree() -> Vec<(&'static str, String)> {
    vec![
        ("Kptfile", kptfile("app", "label")),
        ("z.yaml", config_map("root")),
        ("db/Kptfile", kptfile("db", "identity")),
        ("db/cm.yaml", config_map("db")),
        ("db/inner/Kptfile", kptfile("inner", "drop-configmaps")),
        ("db/inner/cm.yaml", config_map("inner")),
        ("web/Kptfile", kptfile("web", "")),
        ("web/cm.yaml", config_map("web")),
    ]
}

fn borrowed(files: &[(&'static str, String)]) -> Vec<(&'static str, &'static str)> {
    files.iter().map(|(path, content)| (*path, &*content.clone().leak())).collect()
}

#[test]
fn subpackages_run_before_their_parent_in_depth_first_order() {
    let rendered = render(&borrowed(&tree()), Functions::new()).passed();
    assert_eq!(
        rendered.log,
        [
            "package app/db/inner",
            "run drop-configmaps:latest",
            "pass drop-configmaps:latest",
            "end app/db/inner",
            "package app/db",
            "run identity:latest",
            "pass identity:latest",
            "end app/db",
            "package app/web",
            "end app/web",
            "package app",
            "run label:latest",
            "pass label:latest",
            "end app",
        ]
    );
    assert_eq!(rendered.outcome.packages, 4);
    assert_eq!(rendered.outcome.executed(), 3);
}

#[test]
fn a_parent_gets_its_own_resources_first_and_all_of_its_descendants() {
    let rendered = render(&borrowed(&tree()), Functions::new()).passed();
    let names: Vec<&str> =
        rendered.functions.input("label").lines().filter_map(|l| l.strip_prefix("    name: ")).collect();
    assert_eq!(names, ["app", "root", "db", "db", "inner", "web", "web"]);
    assert!(!rendered.files.contains_key("db/inner/cm.yaml"), "the subpackage's function deleted it");
    assert!(
        rendered.files["web/cm.yaml"].contains("probe: \"yes\"")
            || rendered.files["web/cm.yaml"].contains("probe: yes")
    );
}

#[test]
fn the_annotation_turns_the_order_top_down() {
    let mut files = tree();
    files[0].1 =
        files[0].1.replace("  name: app\n", "  name: app\n  annotations:\n    kpt.dev/bfs-rendering: \"True\"\n");
    let rendered = render(&borrowed(&files), Functions::new()).passed();
    let packages: Vec<&String> = rendered.log.iter().filter(|line| line.starts_with("package")).collect();
    assert_eq!(packages, ["package app", "package app/db", "package app/web", "package app/db/inner"]);
}

#[test]
fn top_down_a_parent_may_delete_all_resources_of_a_descendant() {
    let root = kptfile("app", "drop-sub")
        .replace("  name: app\n", "  name: app\n  annotations:\n    kpt.dev/bfs-rendering: \"true\"\n");
    let sub = kptfile("sub", "");
    let files = [("Kptfile", root.as_str()), ("sub/Kptfile", &sub), ("sub/cm.yaml", &config_map("a"))];
    let mut functions = Functions::new();
    functions.items("drop-sub", |list| list.items.retain(|item| item.name() == "app"));
    let rendered = render(&files, functions).passed();
    assert_eq!(rendered.files.keys().collect::<Vec<_>>(), ["Kptfile"]);
}

#[test]
fn siblings_are_ordered_by_the_bytes_of_their_paths() {
    let p = kptfile("p", "identity");
    let files = [
        ("Kptfile", kptfile("app", "").leak() as &str),
        ("x-a/Kptfile", &p),
        ("x/.b/Kptfile", &p),
        ("x/sub/Kptfile", &p),
    ];
    let rendered = render(&files, Functions::new()).passed();
    let packages: Vec<&String> = rendered.log.iter().filter(|line| line.starts_with("package")).collect();
    assert_eq!(packages, ["package app/x-a", "package app/.b", "package app/sub", "package app"]);
}

#[test]
fn a_function_that_edits_the_kptfile_does_not_change_the_running_pipeline() {
    let mut functions = Functions::new();
    functions.text("swap", |input| input.replace("image: identity", "image: drop-configmaps"));
    let kptfile = kptfile("app", "swap identity");
    let files = [("Kptfile", kptfile.as_str()), ("a.yaml", &config_map("a"))];
    let rendered = render(&files, functions).passed();
    assert!(rendered.files.contains_key("a.yaml"));
    assert!(rendered.files["Kptfile"].contains("image: drop-configmaps"));
}
