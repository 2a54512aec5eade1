use std::borrow::Cow;

use std::fmt::Write as _;

use super::*;

const HEAD: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n";

fn parse(rest: &str) -> Result<Kptfile, KptfileError> {
    Kptfile::parse(format!("{HEAD}{rest}").as_bytes())
}

fn refused(text: &str) -> KptfileError {
    Kptfile::parse(text.as_bytes()).expect_err(text)
}

/// A pipeline with these lines below its first mutator.
fn mutator(lines: &str) -> Kptfile {
    parse(&format!("pipeline:\n  mutators:\n  - {}\n", lines.replace('\n', "\n    "))).expect("fields fit")
}

fn no_file(path: &str) -> ConfigFile<'static> {
    Err(ConfigFileError(format!("open case/{path}: no such file or directory")))
}

fn invalid(file: &Kptfile) -> ValidateError {
    file.validate(no_file).expect_err("invalid")
}

#[test]
fn all_fields_are_read() {
    let file = Kptfile::parse(
        b"apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
  namespace: ns
  labels: {a: b}
  annotations:
    kpt.dev/bfs-rendering: 'TRUE'
upstream:
  type: git
  git: {repo: r, directory: d, ref: v1}
  updateStrategy: resource-merge
upstreamLock:
  type: git
  git: {repo: r, directory: d, ref: v1, commit: abc}
info:
  site: s
  emails: [e]
  readinessGates:
  - conditionType: Ready
pipeline:
  mutators:
  - image: set-labels:v0.1
    name: first
    tag: ~0.2
    configMap: {b: 1, a: true, n: null, v: 1.50}
    selectors:
    - {kind: Deployment, labels: {x: y}}
    exclude:
    - kind: Kptfile
  validators:
  - exec: ./check.sh
    configPath: c.yaml
inventory: {name: i, namespace: n, inventoryID: id}
status:
  conditions:
  - {type: Ready, status: \"True\"}
",
    )
    .expect("a Kptfile");
    assert_eq!((file.metadata.name.as_str(), file.metadata.labels["a"].as_str()), ("app", "b"));
    assert!(file.flag(crate::annotations::BFS_RENDERING));
    assert!(!file.flag(crate::annotations::SAVE_ON_RENDER_FAILURE));
    assert_eq!(file.upstream.expect("there").git.expect("there").reference, "v1");
    assert_eq!(file.upstream_lock.expect("there").git.expect("there").commit, "abc");
    assert_eq!(file.info.expect("there").readiness_gates, ["Ready"]);
    let [function] = file.pipeline.mutators.as_slice() else { panic!("one mutator") };
    let config: Vec<(&str, &str)> = function.config_map.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(config, [("b", "1"), ("a", "true"), ("n", ""), ("v", "1.50")]);
    assert_eq!((function.tag.as_str(), function.name.as_str()), ("~0.2", "first"));
    assert_eq!(function.selectors[0].labels["x"], "y");
    assert_eq!(function.exclude[0].kind, "Kptfile");
    assert_eq!(file.pipeline.validators[0].config_path, "c.yaml");
    assert_eq!(file.inventory.expect("there").inventory_id, "id");
    assert_eq!(file.conditions[0].kind, "Ready");
}

#[test]
fn aliases_and_merge_keys_are_followed() {
    let file = parse(
        "pipeline:
  mutators:
  - &first
    image: a
    configMap: &map {x: y}
  - <<: *first
    name: second
  - image: b
    configMap: *map
",
    )
    .expect("a Kptfile");
    let mutators = &file.pipeline.mutators;
    assert_eq!((mutators[1].image.as_str(), mutators[1].name.as_str()), ("a", "second"));
    assert_eq!(mutators[2].config_map, mutators[0].config_map);
}

#[test]
fn aliases_that_expand_without_bound_are_refused() {
    let mut text = String::from("pipeline:\n  mutators:\n  - image: a\n    selectors: &s [");
    text.push_str(&"{kind: A},".repeat(1100));
    text.push_str("]\n");
    text.push_str(&"  - {image: a, selectors: *s}\n".repeat(1100));
    let error = parse(&text).expect_err("too much");
    assert_eq!(error.to_string(), "its aliases expand to more than 1000000 values");
}

#[test]
fn only_the_first_document_is_the_kptfile() {
    assert!(parse("---\nkind: Other\nnot: known\n").is_ok());
}

// ---- the texts of kpt's own cases ----

#[test]
fn invalid_kptfile() {
    let error = refused("# Invalid Kptfile\napiVersion: kpt.dev/v1\nkslsls\n;s;s;s\n");
    assert_eq!(
        error.kpt_message("/tmp/x/Kptfile"),
        "Error: Kptfile at \"/tmp/x/Kptfile\" can't be read.\n\nDetails:\nyaml: line 3: could not find expected ':'"
    );
    assert_eq!(error.kind, FaultKind::Syntax);
}

#[test]
fn subpkg_has_invalid_kptfile() {
    let error = refused(
        "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: db
pipeline:
  mutators:
    - image: ghcr.io/kptdev/krm-functions-catalog/set-namespace:latest
      configMap:
        namespace: db
    - image: a: b
",
    );
    assert_eq!(error.kpt_text(), "yaml: line 10: mapping values are not allowed in this context");
}

#[test]
fn invalid_configmap_fnconfig() {
    let error = refused(
        "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
pipeline:
  mutators:
    - image: ghcr.io/kptdev/krm-functions-catalog/set-namespace:latest
      configMap:
        namespace: staging
    - image: ghcr.io/kptdev/krm-functions-catalog/set-labels:latest
      configMap: # invalid config
        tier: backend
        envs: # lists are not allowed in configmap
         - dev
         - staging
         - production
",
    );
    assert_eq!(error.kpt_text(), "yaml: unmarshal errors:\n  line 14: cannot unmarshal !!seq into string");
    assert_eq!(
        error.located("Kptfile"),
        "Kptfile:14: pipeline.mutators[1].configMap.envs must be a string, not a list (column 10)"
    );
}

#[test]
fn no_format_on_failure() {
    let error = refused(
        "apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app-with-db
pipeline:
  mutators:
    - image: ghcr.io/kptdev/krm-functions-catalog/set-namespace:latest
      configMap:
        namespace:
          hello: world
",
    );
    let message = error.kpt_message("/p/Kptfile");
    assert!(
        message.ends_with(
            "can't be read.\n\nDetails:\nyaml: unmarshal errors:\n  line 10: cannot unmarshal !!map into string"
        ),
        "{message}"
    );
}

#[test]
fn invalid_inline_fnconfig() {
    let error = parse("pipeline:\n  mutators:\n  - image: a\n    config: {a: b}\n").expect_err("inline");
    assert_eq!(error.kpt_text(), "yaml: unmarshal errors:\n  line 8: field config not found in type v1.Function");
    assert_eq!(
        error.to_string(),
        "line 8, column 5: unknown field pipeline.mutators[0].config (did you mean configMap, or configPath for a \
         config in a file?)"
    );
}

#[test]
fn kptfile_unknown_fields() {
    let error = parse("pipeline:\n  mutators: []\n  targetResources: x\n").expect_err("unknown");
    assert_eq!(
        error.kpt_text(),
        "yaml: unmarshal errors:\n  line 7: field targetResources not found in type v1.Pipeline"
    );
}

#[test]
fn a_misplaced_field_is_sent_to_its_place() {
    let error =
        parse("info:\n  description: text\n  pipeline:\n    mutators:\n    - image: a\n").expect_err("misplaced");
    assert_eq!(
        error.located("Kptfile"),
        "Kptfile:7: unknown field info.pipeline (did you mean top-level pipeline?) (column 3)"
    );
}

#[test]
fn old_versions_are_refused_with_advice() {
    let error = refused("apiVersion: kpt.dev/v1alpha1\nkind: Kptfile\nmetadata:\n  name: nginx\n");
    assert_eq!(
        error.kpt_message("/p/Kptfile"),
        "Error: Kptfile at \"/p/Kptfile\" has an old version (\"v1alpha1\") of the Kptfile schema.\nPlease update the \
         package to the latest format by following https://kpt.dev/installation/migration."
    );
    let error = refused("apiVersion: kpt.dev/v1alpha2\nkind: Kptfile\nmetadata:\n  name: nginx\n");
    assert_eq!(error.kind, FaultKind::OldVersion("v1alpha2".into()));
    assert!(error.kpt_message("/p").contains("has an old version (\"v1alpha2\") of the Kptfile schema"));
    assert_eq!(
        error.located("Kptfile"),
        "Kptfile:1: apiVersion kpt.dev/v1alpha2 is an old version of the Kptfile schema: use kpt.dev/v1 (column 13)"
    );
}

#[test]
fn other_files_are_no_kptfiles() {
    for (text, kpt, own) in [
        ("", "EOF", "it is empty: a Kptfile starts with `apiVersion: kpt.dev/v1` and `kind: Kptfile`"),
        (
            "a: b\n",
            "missing Resource metadata",
            "line 1, column 1: it has no apiVersion, kind and metadata: a Kptfile starts with `apiVersion: kpt.dev/v1` \
             and `kind: Kptfile`",
        ),
        (
            "kind: Kptfile\n",
            "unknown resource type \"/, Kind=Kptfile\" found in Kptfile",
            "line 1, column 1: apiVersion must be kpt.dev/v1, and is missing",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\n",
            "unknown resource type \"/v1, Kind=ConfigMap\" found in Kptfile",
            "line 2, column 7: kind must be Kptfile, not ConfigMap",
        ),
        (
            "- a\n",
            "wrong node kind: expected MappingNode but got SequenceNode",
            "line 1, column 1: a Kptfile must be a mapping, not a list",
        ),
    ] {
        let error = refused(text);
        assert_eq!((error.kpt_text(), error.to_string().as_str()), (kpt, own), "{text:?}");
    }
    let message = refused("apiVersion: x/v2\nkind: Kptfile\n").kpt_message("/p");
    assert_eq!(message, "Error: Kptfile at \"/p\" has an unknown resource type (\"x/v2, Kind=Kptfile\").");
}

#[test]
fn all_faults_are_listed_in_document_order() {
    let error =
        parse("infos: {}\npipeline: [x]\nstatus:\n  renderStatus:\n    mutationSteps:\n    - exitCode: many things\n")
            .expect_err("three faults");
    assert_eq!(
        error.kpt_text(),
        "yaml: unmarshal errors:
  line 5: field infos not found in type v1.KptFile
  line 6: cannot unmarshal !!seq into v1.Pipeline
  line 10: cannot unmarshal !!str `many th...` into int"
    );
    assert_eq!(
        error.to_string(),
        "line 5, column 1: unknown field infos (did you mean info?)
line 6, column 11: pipeline must be a mapping, not a list
line 10, column 17: status.renderStatus.mutationSteps[0].exitCode must be a whole number, not a single value"
    );
}

#[test]
fn a_hostile_number_of_faults_is_cut() {
    let mut keys = String::new();
    for n in 0..20_000 {
        _ = writeln!(keys, "k{n}: x");
    }
    assert_eq!(parse(&keys).expect_err("unknown keys").problems.len(), 50);
    let list = format!("pipeline: {{mutators: [{}]}}\n", "x,".repeat(100_000));
    assert_eq!(parse(&list).expect_err("no mappings").problems.len(), 50);
}

// ---- validation ----

#[test]
fn missing_fnconfig() {
    let file = mutator("image: a/set-labels:latest\nconfigPath: labelconfig1.yaml");
    let error = invalid(&file);
    assert_eq!(
        error.to_string(),
        "Kptfile is invalid:\nField: `pipeline.mutators[0].configPath`\nValue: \"labelconfig1.yaml\"\nReason: failed to \
         open functionConfig from path \"labelconfig1.yaml\": open case/labelconfig1.yaml: no such file or directory\n"
    );
    assert!(error.located("Kptfile").starts_with("Kptfile:8: pipeline.mutators[0].configPath: failed to open"));
}

#[test]
fn fnconfig_not_relative_and_outside_package() {
    let reason = |path: &str| invalid(&mutator(&format!("image: a\nconfigPath: {path}"))).reason;
    assert_eq!(reason("/some/root/labelconfig.yaml"), "path must be relative");
    assert_eq!(reason("some/../../home/.kube/config"), "path must not be outside the package");
    assert_eq!(reason("'  '"), "path must not be empty");
    assert_eq!(reason("\"a\\nb\""), "path must not contain a line break or NUL");
    // a name with two dots in it is a name
    assert!(reason("x..y.yaml").starts_with("failed to open"));
    let error = invalid(&mutator("image: a\nconfigPath: some/../../x"));
    assert!(error.to_string().contains("Field: `pipeline.mutators[0].configPath`\nValue: \"some/../../x\"\nReason: "));
}

#[test]
fn multiple_fnconfig() {
    let error = invalid(&mutator("image: a\nconfigPath: c.yaml\nconfigMap: {a: b}"));
    assert_eq!(
        error.to_string(),
        "Kptfile is invalid:\nField: `pipeline.mutators[0]`\nReason: functionConfig must not specify both `configMap` \
         and `configPath` at the same time\n"
    );
}

#[test]
fn image_pull_policy() {
    let error = invalid(&mutator("image: pull ghcr.io/kptdev/krm-functions-catalog/foo:latest"));
    assert_eq!(
        error.to_string(),
        "Kptfile is invalid:\nField: `pipeline.mutators[0].image`\nValue: \"pull \
         ghcr.io/kptdev/krm-functions-catalog/foo:latest\"\nReason: invalid reference format\n"
    );
}

#[test]
fn a_function_has_an_image_or_a_command() {
    let reason = |lines: &str| invalid(&mutator(lines)).reason;
    assert_eq!(reason("name: x"), "must specify a functon (`image` or `exec`) to execute");
    assert_eq!(reason("image: a\nexec: b"), "must not specify both `image` and `exec` at the same time");
    assert!(mutator("exec: sed -e 's/a/b/'").validate(no_file).is_ok());
}

#[test]
fn a_functionconfig_file_holds_one_resource() {
    let reason = |text: &'static str| {
        let file = mutator("image: a\nconfigPath: ./conf/../labelconfig.yaml");
        file.validate(|path| {
            assert_eq!(path, "labelconfig.yaml");
            Ok(Cow::Borrowed(text.as_bytes()))
        })
        .expect_err(text)
        .reason
    };
    let quoted = "functionConfig \"./conf/../labelconfig.yaml\"";
    assert_eq!(reason("apiVersion: v1\nkind: ConfigMap\n"), format!("{quoted}: resource must have `metadata.name`"));
    assert_eq!(reason("kind: A\n---\nkind: B\n"), format!("{quoted} must not contain more than one config, got 2"));
    assert_eq!(reason("# nothing\n"), format!("{quoted} must contain one config, but it is empty"));
    assert!(
        reason("a: b: c\n").starts_with(&format!("failed to read {quoted}: MalformedYAMLError: line 1, column 5: "))
    );
    assert_eq!(reason("- a\n"), format!("{quoted}: resource must have `apiVersion`"));
}

#[test]
fn mutators_are_checked_before_validators() {
    let file =
        parse("pipeline:\n  validators:\n  - {}\n  mutators:\n  - {image: a}\n  - {image: B}\n").expect("fields fit");
    assert_eq!(invalid(&file).field, "pipeline.mutators[1].image");
}

#[test]
fn fnconfig_cannot_refer_subpkgs() {
    let file =
        mutator("image: ghcr.io/kptdev/krm-functions-catalog/set-labels:latest\nconfigPath: db/labelconfig.yaml");
    let error = file.missing_config(FunctionKind::Mutator, 0, &file.pipeline.mutators[0]);
    assert_eq!(
        error.to_string(),
        "Kptfile is invalid:
Field: `pipeline.mutators[0].configPath`
Value: \"db/labelconfig.yaml\"
Reason: functionConfig resource for mutator \"set-labels\" is missing from path \"db/labelconfig.yaml\", this also \
         occurs if \"db/labelconfig.yaml\" is part of a subpackage\n"
    );
}

/// What Go's decoder does with values that fit no better.
#[test]
fn odd_values_read_as_in_go() {
    let file = parse(
        "info:
  keywords: [1, null, yes]
pipeline:
  mutators:
  - ~
  - image: a
    configMap: {e: =, o: \"on\", t: 12:30, n: ~, s: ' lead', m: \"a\\nb\\n\"}
status:
  renderStatus:
    mutationSteps:
    - exitCode: 0x10
",
    )
    .expect("a Kptfile");
    assert_eq!(file.info.as_ref().expect("there").keywords, ["1", "yes"]);
    assert_eq!(file.pipeline.mutators.len(), 1);
    let nothing = StatusUpdate {
        condition: Condition::rendered(),
        render_status: RenderStatus::default(),
        mode: StatusMode::None,
    };
    let yaml = file.to_kpt_yaml(&nothing).expect("marshals");
    assert!(
        yaml.ends_with(
            "info:
  keywords:
    - \"1\"
    - \"yes\"
pipeline:
  mutators:
    - image: a
      configMap:
        e: =
        m: |
          a
          b
        \"n\": \"\"
        o: \"on\"
        s: ' lead'
        t: \"12:30\"
status:
  renderStatus:
    mutationSteps:
      - exitCode: 16
"
        ),
        "{yaml}"
    );
}

#[test]
fn a_key_that_stands_twice_is_named_with_both_lines() {
    let error = parse("info:\n  man: a\n  man: b\n").expect_err("twice");
    assert_eq!(error.kpt_text(), "yaml: unmarshal errors:\n  line 7: mapping key \"man\" already defined at line 6");
    assert!(error.to_string().starts_with("line 7, column 3: mapping key `man` is already defined"), "{error}");
    assert!(error.to_string().contains("line 6, column 3"), "{error}");
}
