use super::harness::*;
use crate::StatusMode;
use crate::renderer::RenderOptions;

const ODD: &str = "# licence\n\napiVersion:   v1\nkind: ConfigMap\nmetadata:\n    name: 'a'\n    annotations: {}\ndata:\n    k: >\n      folded\n      text\n";

#[test]
fn a_render_that_changes_nothing_writes_nothing() {
    let kptfile = kptfile("app", "identity | identity");
    let mine = "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    config.kubernetes.io/path: 'elsewhere.yaml' # mine\n    x: y\n";
    let alone = "apiVersion: v1\nkind: A\nmetadata:\n  name: b\n  annotations: # why\n    # above\n    config.kubernetes.io/index: '3'\n";
    let files = [
        ("Kptfile", kptfile.as_str()),
        ("odd.yaml", ODD),
        ("mine.yaml", mine),
        ("alone.yaml", alone),
        ("x.json", "{\"apiVersion\": \"v1\", \"kind\": \"A\",\n \"metadata\": {\"name\": \"j\"}}"),
    ];
    let rendered = render(&files, Functions::new()).passed();
    assert_eq!(rendered.changed(), Vec::<&str>::new(), "{:?}", rendered.files);
}

#[test]
fn kpt_style_writes_every_file_anew_but_lists_only_those_that_differ() {
    let kptfile = kptfile("app", "");
    let files = [
        ("Kptfile", kptfile.as_str()),
        ("a.yaml", &config_map("a")),
        ("odd.yaml", "apiVersion:   v1\nkind: A\nmetadata: {name: a}\n"),
    ];
    let options = RenderOptions { status: StatusMode::None, ..kpt_style() };
    let rendered = render_as(&files, Functions::new(), &options).passed();
    assert_eq!(rendered.changed(), ["odd.yaml"]);
    assert_eq!(rendered.files["odd.yaml"], "apiVersion: v1\nkind: A\nmetadata: {name: a}\n");
}

#[test]
fn only_the_changed_line_differs() {
    let mut functions = Functions::new();
    functions.text("bump", |input| input.replace("v: 1", "v: 2"));
    let kptfile = kptfile("app", "bump");
    let a = "apiVersion:   v1\n\nkind: A\nmetadata:\n    name: a\n\nspec:\n    v:   1   # one\n    w:  [1,2]\n";
    let rendered = render(&[("Kptfile", &kptfile), ("a.yaml", a)], functions).passed();
    assert_eq!(rendered.changed(), ["a.yaml"]);
    assert_eq!(rendered.files["a.yaml"], a.replace("v:   1", "v:   2"));
}

#[test]
fn files_whose_resources_are_gone_are_deleted_and_those_without_any_stay() {
    let kptfile = kptfile("app", "drop-configmaps");
    let files = [("Kptfile", kptfile.as_str()), ("a.yaml", &config_map("a")), ("comments.yaml", "# nothing here\n")];
    let rendered = render(&files, Functions::new()).passed();
    assert_eq!(rendered.files.keys().collect::<Vec<_>>(), ["Kptfile", "comments.yaml"]);
}

#[test]
fn in_preserve_style_the_status_is_appended_and_the_rest_of_the_kptfile_kept() {
    let kptfile = kptfile("app", "identity").replace("pipeline:", "# why\npipeline:");
    let rendered = render_as(&[("Kptfile", &kptfile)], Functions::new(), &RenderOptions::default()).passed();
    let expected = format!(
        "{kptfile}status:\n  conditions:\n  - type: Rendered\n    status: \"True\"\n    reason: RenderSuccess\n  renderStatus:\n    mutationSteps:\n    - image: ghcr.io/kptdev/krm-functions-catalog/identity:latest\n      exitCode: 0\n"
    );
    assert_eq!(rendered.files["Kptfile"], expected);
    let again = render_as(&[("Kptfile", &rendered.files["Kptfile"])], Functions::new(), &RenderOptions::default());
    assert_eq!(again.passed().changed(), Vec::<&str>::new(), "a second render changes nothing");
}

#[test]
fn in_kpt_style_the_kptfile_is_written_from_its_fields() {
    let kptfile = kptfile("app", "identity fail3").replace("pipeline:", "# why\npipeline:");
    let rendered = render_as(&[("Kptfile", &kptfile), ("a.yaml", &config_map("a"))], Functions::new(), &kpt_style());
    assert_eq!(rendered.changed(), ["Kptfile"]);
    assert_eq!(
        rendered.files["Kptfile"],
        "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
pipeline:
  mutators:
    - image: identity
    - image: fail3
status:
  conditions:
    - type: Rendered
      status: \"False\"
      reason: RenderFailed
      message: |-
        pkg.render: pkg .:
        \tpipeline.run: already handled error
  renderStatus:
    mutationSteps:
      - image: ghcr.io/kptdev/krm-functions-catalog/identity:latest
        exitCode: 0
      - image: ghcr.io/kptdev/krm-functions-catalog/fail3:latest
        stderr: cannot reach the quota table
        exitCode: 3
    errorSummary: 'ghcr.io/kptdev/krm-functions-catalog/fail3:latest: exit code 3'
"
    );
}

#[test]
fn in_preserve_style_the_condition_carries_the_real_message() {
    let kptfile = kptfile("app", "fail3");
    let options = RenderOptions { status: StatusMode::Conditions, ..RenderOptions::default() };
    let rendered = render_as(&[("Kptfile", &kptfile)], Functions::new(), &options);
    let text = &rendered.files["Kptfile"];
    assert!(text.starts_with(&kptfile), "{text}");
    assert!(text.contains("cannot reach the quota table") && !text.contains("renderStatus"), "{text}");
}

#[test]
fn out_of_place_gives_resources_with_root_relative_paths_and_no_changes() {
    let (root, sub) = (kptfile("app", "identity"), kptfile("db", ""));
    let files = [("Kptfile", root.as_str()), ("db/Kptfile", &sub), ("db/a.yaml", &config_map("a"))];
    let options = RenderOptions { out_of_place: true, ..RenderOptions::default() };
    let rendered = render_as(&files, Functions::new(), &options).passed();
    assert!(rendered.outcome.changes.is_empty());
    let paths: Vec<_> = rendered.outcome.resources.iter().map(|r| r.path().unwrap_or_default().to_owned()).collect();
    assert_eq!(paths, ["Kptfile", "db/Kptfile", "db/a.yaml"]);
    let keys: Vec<_> = rendered.outcome.resources[2].annotations().map(|(key, _)| key.to_owned()).collect();
    assert_eq!(
        keys,
        [
            "config.kubernetes.io/index",
            "config.kubernetes.io/path",
            "internal.config.kubernetes.io/index",
            "internal.config.kubernetes.io/path",
            "internal.config.kubernetes.io/seqindent"
        ]
    );
}

#[test]
fn config_connector_resources_are_attributed_unless_switched_off() {
    let kptfile = kptfile("app", "");
    let bucket = "apiVersion: storage.cnrm.cloud.google.com/v1beta1\nkind: StorageBucket\nmetadata:\n  name: b\n";
    let files = [("Kptfile", kptfile.as_str()), ("b.yaml", bucket)];
    let rendered = render(&files, Functions::new()).passed();
    assert!(
        rendered.files["b.yaml"].contains("cnrm.cloud.google.com/blueprint: 'krm-fn'"),
        "{}",
        rendered.files["b.yaml"]
    );
    let options = RenderOptions { attribution: false, ..quiet() };
    assert_eq!(render_as(&files, Functions::new(), &options).passed().changed(), Vec::<&str>::new());
}

#[test]
fn results_list_the_functions_whose_answers_were_taken() {
    let mut functions = Functions::new();
    functions.text("tell", |input| format!("{input}results:\n- message: hello\n"));
    let kptfile = kptfile("app", "tell fail3 identity");
    let rendered = render(&[("Kptfile", &kptfile)], functions);
    assert_eq!(
        rendered.outcome.results().to_yaml(),
        "apiVersion: kpt.dev/v1
kind: FunctionResultList
metadata:
  name: fnresults
exitCode: 1
items:
  - image: ghcr.io/kptdev/krm-functions-catalog/tell:latest
    exitCode: 0
    results:
      - message: hello
  - image: ghcr.io/kptdev/krm-functions-catalog/fail3:latest
    stderr: cannot reach the quota table
    exitCode: 3
"
    );
}
