use super::harness::*;
use portico_krm::Resource;
use portico_krm::annotations::{INDEX, LEGACY_PATH, PATH};
use portico_krm::yaml::Tree;

fn made(name: &str) -> Resource {
    let text: &str = config_map(name).leak();
    let tree = Tree::parse(text, &portico_krm::yaml::ParseLimits::default()).expect("YAML").expect("a document");
    Resource { tree }
}

/// Renders a package in which `make` adds resources.
fn generate(make: impl Fn(&mut Vec<Resource>) + 'static, extra: &[(&str, &str)]) -> Rendered {
    let mut functions = Functions::new();
    functions.items("make", move |list| make(&mut list.items));
    let kptfile = kptfile("app", "make");
    let mut files = vec![("Kptfile", kptfile.as_str())];
    files.extend(extra);
    render(&files, functions)
}

#[test]
fn a_generated_resource_gets_a_file_by_namespace_kind_and_name() {
    let rendered = generate(
        |items| {
            items.push(made("gen1"));
            let mut second = made("gen2");
            second.set_namespace("ns1");
            items.push(second);
        },
        &[],
    )
    .passed();
    let files: Vec<&String> = rendered.files.keys().collect();
    assert_eq!(files, ["Kptfile", "configmap_gen1.yaml", "ns1/configmap_gen2.yaml"]);
    assert_eq!(rendered.files["configmap_gen1.yaml"], config_map("gen1"));
}

#[test]
fn generated_files_go_next_to_the_function_config_however_its_path_is_spelt() {
    for (path, expected) in [
        ("conf/c.yaml", "conf/configmap_made.yaml"),
        ("./conf/c.yaml", "conf/configmap_made.yaml"),
        ("functions/c.yaml", "configmap_made.yaml"),
    ] {
        let mut functions = Functions::new();
        functions.items("make", |list| list.items.push(made("made")));
        let kptfile = kptfile("app", "make") + &format!("    configPath: {path}\n");
        let file = path.trim_start_matches("./");
        let rendered = render(&[("Kptfile", &kptfile), (file, &config_map("c"))], functions).passed();
        assert!(rendered.files.contains_key(expected), "{path}: {:?}", rendered.files.keys());
    }
}

#[test]
fn an_absolute_path_counts_from_the_package_and_a_path_out_of_it_is_refused() {
    let rendered = generate(
        |items| {
            let mut new = made("a");
            new.set_annotation(PATH, "/etc/x.yaml");
            items.push(new);
        },
        &[],
    )
    .passed();
    assert!(rendered.files.contains_key("etc/x.yaml"));
    for path in ["../x.yaml", "a/../../x.yaml"] {
        let rendered = generate(
            move |items| {
                let mut new = made("a");
                new.set_annotation(PATH, path);
                items.push(new);
            },
            &[],
        );
        assert!(
            rendered
                .message()
                .contains("function must not modify resources outside of package: resource has path ../x.yaml"),
            "{}",
            rendered.message()
        );
        assert!(rendered.message().contains("make:latest"), "{}", rendered.message());
    }
}

#[test]
fn paths_of_git_and_with_control_characters_are_refused() {
    for path in [".git/config", "a\u{7}.yaml"] {
        let rendered = generate(
            move |items| {
                let mut new = made("a");
                let map = new.tree.ensure_mapping(new.tree.root(), "metadata");
                let annotations = new.tree.ensure_mapping(map, "annotations");
                let value = new.tree.scalar(path, portico_krm::yaml::Style::DoubleQuoted);
                new.tree.set(annotations, PATH, value);
                items.push(new);
            },
            &[],
        );
        assert_eq!(rendered.changed(), Vec::<&str>::new(), "{}", rendered.message());
    }
}

#[test]
fn a_function_may_not_put_another_resource_into_a_kptfile() {
    let rendered = generate(
        |items| {
            let mut new = made("a");
            new.set_path("./Kptfile");
            items.push(new);
        },
        &[],
    );
    assert!(rendered.message().contains("v1/ConfigMap/a has path Kptfile"), "{}", rendered.message());
}

#[test]
fn two_resources_may_not_claim_one_place_of_a_file() {
    let rendered = generate(
        |items| {
            let mut new = made("b");
            new.set_annotation(PATH, "./a.yaml");
            new.set_annotation(INDEX, "0");
            items.push(new);
        },
        &[("a.yaml", &config_map("a"))],
    );
    assert!(
        rendered.message().contains("resource at path \"a.yaml\" and index \"0\" already exists"),
        "{}",
        rendered.message()
    );
}

#[test]
fn the_older_path_annotation_renames_too() {
    let rendered = generate(
        |items| {
            for item in items.iter_mut().filter(|item| item.name() == "a") {
                item.set_annotation(LEGACY_PATH, "b.yaml");
            }
        },
        &[("a.yaml", "# kept\napiVersion: v1\nkind:   ConfigMap\nmetadata:\n  name: a\n")],
    )
    .passed();
    assert_eq!(rendered.files.keys().collect::<Vec<_>>(), ["Kptfile", "b.yaml"]);
    assert_eq!(rendered.files["b.yaml"], "# kept\napiVersion: v1\nkind:   ConfigMap\nmetadata:\n  name: a\n");
}

#[test]
fn two_different_new_paths_are_an_error() {
    let rendered = generate(
        |items| {
            for item in items.iter_mut().filter(|item| item.name() == "a") {
                item.set_annotation(LEGACY_PATH, "b.yaml");
                item.set_annotation(PATH, "c.yaml");
            }
        },
        &[("a.yaml", &config_map("a"))],
    );
    assert!(
        rendered.message().contains("resource input to function has mismatched legacy and internal path annotations"),
        "{}",
        rendered.message()
    );
    assert!(rendered.log.contains(&"fail make:latest".to_owned()));
}

#[test]
fn documents_are_sorted_by_index_and_one_without_goes_behind_the_last() {
    let rendered = generate(
        |items| {
            for item in items.iter_mut().filter(|item| item.name() == "a") {
                item.set_annotation(INDEX, "5");
            }
            let mut new = made("c");
            new.set_path("all.yaml");
            items.push(new);
        },
        &[("all.yaml", &["a", "b"].map(config_map).join("---\n"))],
    )
    .passed();
    assert_eq!(rendered.files["all.yaml"], ["b", "a", "c"].map(config_map).join("---\n"));
}

#[test]
fn an_index_must_be_a_number() {
    let rendered = generate(
        |items| {
            let mut new = made("b");
            new.set_path("b.yaml");
            new.set_annotation(INDEX, "first");
            items.push(new);
        },
        &[],
    );
    assert!(rendered.message().starts_with("failed to save resources: "), "{}", rendered.message());
    assert!(rendered.message().contains("index \"first\""), "{}", rendered.message());
}

#[test]
fn a_path_that_is_a_directory_is_refused_and_two_dots_in_a_name_are_not() {
    let at = |path: &'static str| {
        generate(
            move |items| {
                let mut new = made("b");
                new.set_path(path);
                items.push(new);
            },
            &[("dir/a.yaml", &config_map("a"))],
        )
    };
    assert!(at("dir").message().contains("`dir` is a directory"));
    assert!(at("dir/a.yaml/x").message().contains("`dir/a.yaml` is a file"));
    assert!(at("x..y.yaml").passed().files.contains_key("x..y.yaml"));
}

#[test]
fn a_file_that_the_functions_do_not_get_is_replaced_with_a_warning() {
    let rendered = generate(
        |items| {
            let mut new = made("b");
            new.set_path("notes.txt");
            items.push(new);
        },
        &[("notes.txt", "mine")],
    )
    .passed();
    assert_eq!(rendered.files["notes.txt"], config_map("b"));
    assert!(rendered.log.iter().any(|line| line.starts_with("warn \"notes.txt\" is replaced")), "{:?}", rendered.log);
}

#[test]
fn a_package_path_outside_of_the_root_is_refused() {
    let rendered = generate(
        |items| {
            let mut new = made("b");
            new.set_annotation(portico_krm::annotations::PACKAGE_PATH, "/w/application");
            items.push(new);
        },
        &[],
    );
    assert!(
        rendered.message().contains("subpackage \"/w/application\" is not a descendant of \"/w/app\""),
        "{}",
        rendered.message()
    );
}

#[test]
fn a_root_function_may_put_a_file_into_a_subpackage() {
    let sub = kptfile("db", "");
    let rendered = generate(
        |items| {
            let mut new = made("b");
            new.set_path("db/cm.yaml");
            items.push(new);
        },
        &[("db/Kptfile", &sub), ("db/cm.yaml", &config_map("a"))],
    )
    .passed();
    assert_eq!(rendered.files["db/cm.yaml"].matches("kind: ConfigMap").count(), 2);
}
