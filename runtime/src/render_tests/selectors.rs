use super::harness::*;

fn select(entries: &str) -> String {
    format!("{}{entries}", kptfile("app", "label"))
}

fn labelled(rendered: &Rendered) -> Vec<&str> {
    rendered.files.iter().filter(|(_, content)| content.contains("probe: ")).map(|(path, _)| path.as_str()).collect()
}

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: b\n  labels:\n    tier: web\n";

#[test]
fn a_resource_that_two_selectors_match_is_given_once() {
    let kptfile = select("    selectors:\n    - kind: ConfigMap\n    - name: a\n");
    let rendered =
        render(&[("Kptfile", &kptfile), ("a.yaml", &config_map("a")), ("b.yaml", SERVICE)], Functions::new()).passed();
    assert_eq!(labelled(&rendered), ["a.yaml"]);
    assert_eq!(rendered.functions.input("label").matches("kind: ConfigMap").count(), 1);
    let step = &rendered.outcome.steps[0];
    assert_eq!((step.resources, step.selective), (Some(1), true));
}

#[test]
fn exclusions_win_and_an_empty_one_excludes_nothing() {
    let kptfile = select("    exclude:\n    - kind: Kptfile\n    - labels:\n        tier: web\n    - {}\n");
    let rendered =
        render(&[("Kptfile", &kptfile), ("a.yaml", &config_map("a")), ("b.yaml", SERVICE)], Functions::new()).passed();
    assert_eq!(labelled(&rendered), ["a.yaml"]);
}

#[test]
fn a_function_whose_selectors_match_nothing_still_runs() {
    let kptfile = select("    selectors:\n    - kind: Nothing\n");
    let rendered = render(&[("Kptfile", &kptfile)], Functions::new()).passed();
    assert!(rendered.functions.input("label").contains("items: []"));
    assert_eq!(rendered.changed(), Vec::<&str>::new());
}

#[test]
fn chosen_resources_keep_their_place_deleted_ones_go_and_new_ones_stand_at_the_end() {
    let mut functions = Functions::new();
    functions.items("label", |list| {
        list.items.retain(|item| item.name() != "one");
        list.items.reverse();
        let mut new = list.items[0].clone();
        new.set_name("new");
        new.remove_annotations(|_| true);
        list.items.insert(0, new);
    });
    let kptfile = select("    selectors:\n    - kind: ConfigMap\n") + "  - image: identity\n";
    let all = ["one", "two", "three"].map(config_map).join("---\n");
    let rendered = render(&[("Kptfile", &kptfile), ("a.yaml", &all), ("b.yaml", SERVICE)], functions).passed();
    let input = rendered.functions.input("identity");
    let names: Vec<&str> = input.lines().filter_map(|line| line.strip_prefix("    name: ")).collect();
    assert_eq!(names, ["app", "two", "three", "b", "new"]);
    assert!(!input.contains("kpt-resource-id"), "{input}");
    assert_eq!(rendered.files["a.yaml"], ["two", "three"].map(config_map).join("---\n"));
    assert!(rendered.files.contains_key("configmap_new.yaml"));
}

#[test]
fn internal_annotations_can_be_selected_by() {
    let kptfile = select("    selectors:\n    - annotations:\n        internal.config.kubernetes.io/path: b.yaml\n");
    let rendered =
        render(&[("Kptfile", &kptfile), ("a.yaml", &config_map("a")), ("b.yaml", SERVICE)], Functions::new()).passed();
    assert_eq!(labelled(&rendered), ["b.yaml"]);
}

#[test]
fn a_document_that_is_no_resource_may_stay_when_no_function_gets_it() {
    let kptfile = select("    selectors:\n    - kind: ConfigMap\n");
    let files = [
        ("Kptfile", kptfile.as_str()),
        ("a.yaml", &config_map("a")),
        ("values.yaml", "replicas:   3\n"),
        ("list.yaml", "- a\n-   b\n"),
    ];
    let rendered = render(&files, Functions::new()).passed();
    assert_eq!(rendered.changed(), ["a.yaml"]);
}
