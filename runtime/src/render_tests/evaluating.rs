use super::harness::*;
use crate::eval::{EvalConfig, EvalInput, EvalOptions, eval_with, source, to_documents, to_files, to_resource_list};
use crate::outcome::{Outcome, RenderError};
use crate::package::Change;
use portico_krm::Selector;

fn options(image: &str) -> EvalOptions {
    EvalOptions { image: image.to_owned(), ..EvalOptions::default() }
}

fn eval(input: EvalInput<'_>, options: &EvalOptions) -> (Outcome, Functions, Vec<String>) {
    let (mut functions, mut log) = (Functions::new(), Log::default());
    let outcome = eval_with(input, options, &mut functions, &mut log).unwrap_or_else(|error| panic!("{error}"));
    (outcome, functions, log.0)
}

#[test]
fn a_function_runs_on_all_resources_below_a_directory_without_package_annotations() {
    let sub = kptfile("sub", "fail3");
    let files = package(&[("a.yaml", &config_map("a")), ("sub/Kptfile", &sub), ("sub/b.yaml", &config_map("b"))]);
    let (outcome, functions, log) = eval(EvalInput::Package(&files), &options("label"));
    assert_eq!(outcome.failure, None);
    assert_eq!(log, ["run label:latest", "pass label:latest"]);
    let input = functions.input("label");
    assert!(input.contains("path: 'sub/b.yaml'") && !input.contains("package-path"), "{input}");
    assert_eq!(outcome.changes.iter().map(Change::path).collect::<Vec<_>>(), ["a.yaml", "sub/Kptfile", "sub/b.yaml"]);
}

#[test]
fn arguments_become_the_data_of_a_config_map() {
    let files = package(&[("a.yaml", &config_map("a"))]);
    let config = EvalConfig::Arguments(vec![("foo".to_owned(), "1".to_owned())]);
    let (_, functions, _) = eval(EvalInput::Package(&files), &EvalOptions { config, ..options("identity") });
    assert!(functions.input("identity").ends_with("    name: function-input\n  data:\n    foo: \"1\"\n"));
}

#[test]
fn a_function_config_file_must_hold_one_resource() {
    let files = package(&[("a.yaml", &config_map("a"))]);
    for (bytes, expected) in [
        ("a: 1\n", "function config `c.yaml`: resource must have `apiVersion`"),
        ("", "function config `c.yaml`: it must hold exactly one resource, got 0"),
    ] {
        let config = EvalConfig::File { path: "c.yaml".to_owned(), bytes: bytes.into() };
        let options = EvalOptions { config, ..options("identity") };
        let error = eval_with(EvalInput::Package(&files), &options, &mut Functions::new(), &mut Log::default());
        assert!(matches!(&error, Err(RenderError::Input(text)) if text == expected), "{error:?}");
    }
}

#[test]
fn selectors_choose_and_the_rest_stays() {
    let files = package(&[("a.yaml", &config_map("a")), ("b.yaml", "apiVersion: v1\nkind: B\nmetadata:\n  name: b\n")]);
    let selectors = vec![Selector { kind: "B".to_owned(), ..Selector::default() }];
    let (outcome, _, _) = eval(EvalInput::Package(&files), &EvalOptions { selectors, ..options("label") });
    assert_eq!(outcome.changes.iter().map(Change::path).collect::<Vec<_>>(), ["b.yaml"]);
}

#[test]
fn files_whose_resources_a_function_deleted_are_deleted() {
    let files = package(&[("a.yaml", &config_map("a")), ("Kptfile", &kptfile("app", ""))]);
    let (outcome, _, _) = eval(EvalInput::Package(&files), &options("drop-configmaps"));
    assert_eq!(outcome.changes, [Change::Delete { path: "a.yaml".to_owned() }]);
}

#[test]
fn a_stream_goes_in_and_comes_out_with_its_paths() {
    let files = package(&[("a.yaml", &config_map("a")), ("x/b.yaml", &config_map("b"))]);
    let resources = source(&files, &crate::Limits::default()).unwrap_or_else(|error| panic!("{error}"));
    let stream = to_resource_list(resources, None);
    let (outcome, _, _) = eval(EvalInput::Stream(stream.as_bytes()), &options("identity"));
    assert_eq!(to_resource_list(outcome.resources, None), stream);
}

#[test]
fn bare_documents_are_a_stream_too_and_get_default_files() {
    let stream = ["a", "b"].map(config_map).join("---\n");
    let (outcome, _, _) = eval(EvalInput::Stream(stream.as_bytes()), &options("identity"));
    assert_eq!(to_documents(outcome.resources.clone()), stream);
    let files = to_files(outcome.resources).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(files.keys().collect::<Vec<_>>(), ["configmap_a.yaml", "configmap_b.yaml"]);
    assert_eq!(files["configmap_a.yaml"], config_map("a").as_bytes());
}

#[test]
fn a_failed_function_changes_nothing() {
    let files = package(&[("a.yaml", &config_map("a"))]);
    let (outcome, _, _) = eval(EvalInput::Package(&files), &options("fail3"));
    assert!(outcome.changes.is_empty() && outcome.failure.is_some());
    assert_eq!(outcome.steps[0].exit_code, 3);
}

#[test]
fn files_that_would_lie_in_each_other_are_refused() {
    let stream = "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    config.kubernetes.io/path: a\n---\napiVersion: v1\nkind: A\nmetadata:\n  name: b\n  annotations:\n    config.kubernetes.io/path: a/b.yaml\n";
    let resources = crate::eval::read_resources(stream.as_bytes(), &crate::Limits::default());
    let error = to_files(resources.unwrap_or_else(|error| panic!("{error}"))).expect_err("`a` is both");
    assert_eq!(error.to_string(), "failed to save resources: path `a` is a file and a directory at once");
}
