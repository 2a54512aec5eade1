//! What surrounds a function, and the parts that need whole objects.

use std::collections::BTreeMap;

use crate::*;

const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Service
  metadata:
    name: b # c
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: a
";

fn text(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

fn object(yaml: &str) -> Resource {
    let tree = yaml::Tree::parse(yaml, &yaml::ParseLimits::default()).expect("yaml").expect("a document");
    Resource::new(tree).expect("a mapping")
}

#[test]
fn a_function_that_does_nothing_gives_the_list_back_sorted() {
    let output = run(&|_: &mut ResourceList| Ok(Verdict::Pass), LIST.as_bytes());
    assert_eq!((output.exit_code, output.stderr.as_str()), (0, ""));
    let (deployment, service) = (text(&output).find("Deployment"), text(&output).find("name: b # c"));
    assert!(deployment.is_some() && deployment < service, "{}", text(&output));
}

#[test]
fn a_failure_writes_the_list_all_the_same() {
    let fail = |list: &mut ResourceList| {
        list.results.push(FunctionResult::new("error", "no good"));
        Ok(Verdict::Fail)
    };
    let output = run(&fail, LIST.as_bytes());
    assert_eq!(output.exit_code, 1);
    assert_eq!(output.stderr, "failed to evaluate function: error: function failure\n");
    assert!(text(&output).contains("message: no good"), "{}", text(&output));
}

#[test]
fn a_function_run_in_order_keeps_the_items_where_they_are_and_tells_its_error_results() {
    let output = run_in_order(&|_: &mut ResourceList| Ok(Verdict::Pass), LIST.as_bytes());
    assert_eq!((output.exit_code, output.stderr.as_str()), (0, ""));
    assert!(text(&output).find("Service") < text(&output).find("Deployment"), "{}", text(&output));
    let fail = |list: &mut ResourceList| {
        list.results.push(FunctionResult::new("info", "by the way"));
        list.results.push(FunctionResult::new("error", "no good"));
        Ok(Verdict::Fail)
    };
    let output = run_in_order(&fail, LIST.as_bytes());
    assert_eq!((output.exit_code, output.stderr.as_str()), (1, "[error]: no good\n"));
    assert!(text(&output).contains("message: no good"), "{}", text(&output));
}

#[test]
fn an_error_is_told_on_stderr() {
    let output = run(&|_: &mut ResourceList| Err("out of luck".into()), LIST.as_bytes());
    assert_eq!((output.exit_code, output.stderr.as_str()), (1, "failed to evaluate function: out of luck\n"));
    assert!(text(&output).contains("kind: Service"));
}

#[test]
fn input_that_is_no_list_is_refused() {
    let pass = |_: &mut ResourceList| Ok(Verdict::Pass);
    let output = run(&pass, b"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n");
    assert_eq!(output.exit_code, 1);
    let expected = "failed to evaluate function: input was of unexpected kind \"Pod\"; expected ResourceList\n";
    assert_eq!(output.stderr, expected);
    assert!(output.stdout.is_empty());
    for bad in ["a: [", "", "\u{0}", "- x\n"] {
        let output = run(&pass, bad.as_bytes());
        assert_eq!(output.exit_code, 1, "{bad:?}");
        assert!(output.stderr.starts_with("failed to evaluate function: "), "{bad:?}: {}", output.stderr);
    }
}

#[test]
fn an_empty_part_is_a_wildcard_on_either_side() {
    let knative = object("apiVersion: serving.knative.dev/v1\nkind: Service\n");
    assert!(knative.is_gvk("", "v1", "Service"));
    assert!(!knative.is_group_version_kind("", "v1", "Service"));
    let core = object("apiVersion: v1\nkind: StatefulSet\n");
    assert!(core.is_gvk("apps", "", "StatefulSet"));
    assert!(!object("apiVersion: extensions/v1\nkind: StatefulSet\n").is_gvk("apps", "", "StatefulSet"));
}

#[test]
fn scope_comes_from_the_table_or_from_the_object() {
    assert!(object("apiVersion: v1\nkind: Service\n").is_namespace_scoped());
    assert!(object("apiVersion: v1\nkind: Namespace\nmetadata:\n  namespace: x\n").is_cluster_scoped());
    assert!(object("apiVersion: a.io/v1\nkind: X\nmetadata:\n  namespace: x\n").is_namespace_scoped());
    assert!(object("apiVersion: a.io/v1\nkind: X\n").is_cluster_scoped());
}

#[test]
fn local_configuration_is_any_value_but_false_and_nothing() {
    let with = |value: &str| {
        object(&format!("metadata:\n  annotations:\n    config.kubernetes.io/local-config: {value}\n"))
            .is_local_config()
    };
    assert!(with("\"true\"") && with("\"yes\""));
    assert!(!with("\"false\"") && !with("\"\""));
    assert!(!object("metadata: {}\n").is_local_config());
}

#[test]
fn the_origin_is_the_upstream_identifier_or_the_object_itself() {
    let own = object("apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n");
    assert_eq!(own.origin_id().namespace, "default");
    assert!(!own.has_upstream_origin());
    let up = object(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n  annotations:\n    internal.kpt.dev/upstream-identifier: '|Service|up|t'\n",
    );
    assert_eq!((up.origin_id().namespace.as_str(), up.origin_id().name.as_str()), ("up", "t"));
    assert_eq!(own.short_string(), "Resource(apiVersion=v1, kind=Service, namespace=, name=s)");
}

#[test]
fn a_string_is_set_by_path_and_keeps_style_or_comment() {
    let mut o = object("a:\n  b: 'x' # c\n");
    let root = o.tree.root();
    field::set_nested_string(&mut o.tree, root, &["a", "b"], "x").expect("set");
    let b = o.tree.get_path(root, &["a", "b"]).expect("b");
    assert_eq!(o.tree.style(b), yaml::Style::SingleQuoted);
    field::set_nested_string(&mut o.tree, root, &["a", "b"], "y").expect("set");
    assert_eq!((o.tree.style(b), o.tree.line_comment(b)), (yaml::Style::Plain, Some("# c")));
    field::set_nested_string(&mut o.tree, root, &["n", "e", "w"], "z").expect("made");
    assert_eq!(field::nested_string(&o.tree, root, &["n", "e", "w"]), Ok(Some("z")));
    assert_eq!(field::nested_string(&o.tree, root, &["n", "o"]), Ok(None));
    let error = field::set_nested_string(&mut o.tree, root, &["a", "b", "c"], "z").expect_err("no mapping");
    assert_eq!(error.to_string(), "`a.b` is a string, expected a mapping");
}

#[test]
fn field_specs_walk_lists_and_make_mappings() {
    let mut o = object("apiVersion: apps/v1\nkind: D\nspec:\n  list:\n  - a: {}\n  - b: 1\n");
    let spec = |path: &str, create| FieldSpec { kind: "D".into(), ..FieldSpec::everywhere(path, create) };
    let count = |o: &mut Resource, path: &str, create| {
        spec(path, create).targets(o, yaml::Kind::Mapping).map(|found| found.len())
    };
    assert_eq!(count(&mut o, "spec/list/a", false), Ok(1));
    assert_eq!(count(&mut o, "spec/list[]/a", true), Ok(2));
    assert_eq!(count(&mut o, "spec/new/labels", false), Ok(0));
    assert_eq!(count(&mut o, "spec/new/labels", true), Ok(1));
    assert_eq!(count(&mut o, "spec/gone[]/labels", true), Ok(0));
    let error = count(&mut o, "spec/list/b/c", false).expect_err("a number");
    assert_eq!(error.to_string(), "`spec.list[1].b` is a number, expected a mapping");
    let other = FieldSpec { group: "batch".into(), ..spec("spec", false) };
    assert_eq!(other.targets(&mut o, yaml::Kind::Mapping), Ok(Vec::new()));
}

#[test]
fn a_field_spec_with_an_endless_path_is_refused() {
    let mut o = object("apiVersion: apps/v1\nkind: D\n");
    let deep = |keys: usize| FieldSpec::everywhere(&"a/".repeat(keys), true);
    assert!(deep(MAX_PATH_KEYS).targets(&mut o, yaml::Kind::Mapping).is_ok());
    let error = deep(MAX_PATH_KEYS + 1).targets(&mut o, yaml::Kind::Mapping).expect_err("too deep");
    assert!(error.to_string().contains("more than 100 keys"), "{error}");
}

#[derive(Default)]
struct Echo(BTreeMap<String, String>);

impl Runner for Echo {
    const KIND: &'static str = "Echo";

    fn from_data(data: BTreeMap<String, String>) -> Result<Echo, String> {
        Ok(Echo(data))
    }

    fn from_object(object: &Resource) -> Result<Echo, String> {
        config::decode(object).map(Echo).map_err(|error| error.to_string())
    }

    fn run(&mut self, config: RunnerConfig<'_>, _: &mut [Resource], results: &mut Results) -> bool {
        results.info(format!("{:?} {}", self.0, config.is_missing()));
        true
    }
}

#[test]
fn a_runner_takes_the_data_of_a_config_map_as_text() {
    let config = "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data:\n    a: 1\n    b: null\n";
    let output = run(&with_runner::<Echo>(), format!("{LIST}{config}").as_bytes());
    assert_eq!(output.exit_code, 0);
    assert!(text(&output).contains(r#"{"a": "1", "b": ""} false"#), "{}", text(&output));
    let nested = config.replace("a: 1", "a: [1]");
    let output = run(&with_runner::<Echo>(), format!("{LIST}{nested}").as_bytes());
    assert_eq!(output.exit_code, 1);
    assert!(text(&output).contains("`data.a` is a list, expected a string"), "{}", text(&output));
}

#[test]
fn a_missing_configuration_is_told_and_the_runner_runs() {
    let output = run(&with_runner::<Echo>(), LIST.as_bytes());
    assert_eq!(output.exit_code, 0);
    assert!(text(&output).contains("`FunctionConfig` is not given"), "{}", text(&output));
    assert!(text(&output).contains("{} true"), "{}", text(&output));
}

#[test]
fn plain_copies_lose_comments_and_styles_and_can_sort_keys() {
    let o = object("b: 'x' # c\na: {z: 1, y: \"2\"}\n");
    let copy = plain_copy(&o, true).expect("plain");
    let keys: Vec<&str> = copy.tree.entries(copy.tree.root()).map(|(key, _)| copy.tree.text(key)).collect();
    assert_eq!(keys, ["a", "b"]);
    let b = copy.tree.get(copy.tree.root(), "b").expect("b");
    assert_eq!((copy.tree.style(b), copy.tree.line_comment(b)), (yaml::Style::Plain, None));
    let error = plain_copy(&object("a: &x [*x]\n"), false).err();
    assert_eq!(error, Some(PlainError::UnknownAlias("x".to_owned())));
}
