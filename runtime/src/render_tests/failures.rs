use super::harness::*;
use crate::outcome::RenderError;
use crate::report::StepState;

#[test]
fn all_documents_that_are_no_resources_are_named_before_anything_runs() {
    let kptfile = kptfile("app", "identity");
    let two = "apiVersion: v1\nkind: ConfigMap\ndata: {}\n---\napiVersion: v1\nkind: ConfigMap\ndata: {}\n";
    let rendered = render(&[("Kptfile", &kptfile), ("two.yaml", two), ("values.yaml", "a: 1\n")], Functions::new());
    let message = rendered.message();
    for part in [
        "two.yaml:1: resource must have `metadata.name`",
        "two.yaml:4: resource must have `metadata.name`",
        "values.yaml:1: resource must have `apiVersion`",
        ".krmignore",
    ] {
        assert!(message.contains(part), "{part} is missing in: {message}");
    }
    assert!(rendered.functions.inputs.is_empty());
    assert_eq!(
        rendered.outcome.failure.as_ref().map(|f| f.kpt_condition.as_str()),
        Some(
            "pkg.render: pkg .:\n\tpipeline.run: input resource list must contain only KRM resources: two.yaml: resource must have `metadata.name`"
        )
    );
}

#[test]
fn a_package_without_pipeline_is_checked_too() {
    let kptfile = kptfile("app", "");
    let rendered = render(&[("Kptfile", &kptfile), ("values.yaml", "a: 1\n")], Functions::new());
    let failure = rendered.outcome.failure.expect("it fails");
    assert_eq!(
        failure.kpt_condition,
        "pkg.render: pkg .: input resource list must contain only KRM resources: values.yaml: resource must have `apiVersion`"
    );
}

#[test]
fn malformed_yaml_is_reported_for_all_files_at_once_with_line_and_text() {
    let kptfile = kptfile("app", "identity");
    let files = [
        ("Kptfile", kptfile.as_str()),
        ("a/bad.yaml", "apiVersion: v1\nkind: [\n"),
        ("b/tab.yaml", "a:\n\tb: c\n"),
        ("good.yaml", &config_map("a")),
    ];
    let rendered = render(&files, Functions::new());
    let message = rendered.message();
    assert!(message.contains("a/bad.yaml:") && message.contains("b/tab.yaml:2: "), "{message}");
    assert!(message.contains("b: c"), "the source line is shown: {message}");
    assert_eq!(rendered.outcome.steps[0].state, StepState::NotRun);
}

#[test]
fn after_a_failure_nothing_is_written_and_later_steps_are_not_run() {
    let (root, sub) = (kptfile("app", "label fail3 identity"), kptfile("sub", "label"));
    let files = [
        ("Kptfile", root.as_str()),
        ("a.yaml", &config_map("a")),
        ("sub/Kptfile", &sub),
        ("sub/b.yaml", &config_map("b")),
    ];
    let rendered = render(&files, Functions::new());
    assert_eq!(rendered.changed(), Vec::<&str>::new());
    let steps: Vec<(&str, StepState, i32)> =
        rendered.outcome.steps.iter().map(|s| (s.package.as_str(), s.state, s.exit_code)).collect();
    assert_eq!(
        steps,
        [
            ("sub", StepState::Passed, 0),
            ("", StepState::Passed, 0),
            ("", StepState::Failed, 3),
            ("", StepState::NotRun, 0)
        ]
    );
    assert_eq!(rendered.outcome.steps[2].stderr, "cannot reach the quota table");
    assert!(
        rendered.message().ends_with("failed with exit code 3: cannot reach the quota table"),
        "{}",
        rendered.message()
    );
    let failure = rendered.outcome.failure.as_ref().expect("it fails");
    assert_eq!((failure.step, failure.kpt_error.as_deref()), (Some(2), None));
    assert_eq!(failure.kpt_condition, "pkg.render: pkg .:\n\tpipeline.run: already handled error");
}

fn saving(name: &str, functions: &str) -> String {
    kptfile(name, functions).replace(
        &format!("  name: {name}\n"),
        &format!("  name: {name}\n  annotations:\n    kpt.dev/save-on-render-failure: \"true\"\n"),
    )
}

#[test]
fn the_annotation_saves_what_was_reached() {
    let root = saving("app", "label fail3 identity");
    let rendered = render(&[("Kptfile", &root), ("a.yaml", &config_map("a"))], Functions::new());
    assert!(rendered.outcome.saved_on_failure);
    assert!(rendered.files["a.yaml"].contains("probe: "));
    for content in rendered.files.values() {
        assert!(!content.contains("config.kubernetes.io"), "{content}");
    }
}

#[test]
fn the_annotation_saves_a_failure_two_levels_down_and_deletes_nothing() {
    let (root, a, b) = (saving("app", "label"), kptfile("a", "label"), kptfile("b", "drop-configmaps fail3"));
    let files = [
        ("Kptfile", root.as_str()),
        ("a/Kptfile", &a),
        ("a/a.yaml", &config_map("a")),
        ("a/b/Kptfile", &b),
        ("a/b/b.yaml", &config_map("b")),
        ("a/b/c.yaml", "apiVersion: v1\nkind: C\nmetadata:\n  name: c\n"),
        ("z/Kptfile", &a),
    ];
    let rendered = render(&files, Functions::new());
    assert!(rendered.outcome.saved_on_failure);
    assert!(rendered.files.contains_key("a/b/b.yaml"), "a failed render deletes no file");
    assert_eq!(rendered.files["a/a.yaml"], config_map("a"), "its package was not reached");
}

#[test]
fn a_failed_validator_saves_the_mutated_resources_without_marks() {
    let root = saving("app", "label | fail3");
    let rendered = render(&[("Kptfile", &root), ("a.yaml", &config_map("a"))], Functions::new());
    assert!(rendered.files["a.yaml"].contains("probe: "));
    assert!(!rendered.files["a.yaml"].contains("id"), "{}", rendered.files["a.yaml"]);
}

#[test]
fn a_subpackage_with_a_broken_kptfile_fails_the_render_in_the_words_of_kpt() {
    let kptfile = kptfile("app", "identity");
    let rendered = render(
        &[("Kptfile", &kptfile), ("db/Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nwrong: 1\n")],
        Functions::new(),
    );
    let failure = rendered.outcome.failure.as_ref().expect("it fails");
    assert!(failure.message.starts_with("db/Kptfile:3: "), "{}", failure.message);
    assert!(
        failure
            .kpt_condition
            .starts_with("pkg.render: pkg .:\n\tpkg.Subpackages: pkg ./db: error reading Kptfile at \"./db\": "),
        "{}",
        failure.kpt_condition
    );
    assert!(rendered.functions.inputs.is_empty());
}

#[test]
fn a_root_without_a_kptfile_or_with_a_bad_one_does_not_begin() {
    let result = try_render(&[("a.yaml", &config_map("a"))], Functions::new(), &quiet());
    assert!(matches!(result, Err(RenderError::MissingKptfile { .. })));
    let bad = kptfile("app", "identity") + "    configPath: /abs.yaml\n";
    let Err(RenderError::Kptfile { message, kpt }) = try_render(&[("Kptfile", &bad)], Functions::new(), &quiet())
    else {
        panic!("an absolute path was taken");
    };
    assert!(message.starts_with("Kptfile:8: pipeline.mutators[0].configPath: path must be relative"), "{message}");
    assert_eq!(
        kpt,
        "Kptfile is invalid:\nField: `pipeline.mutators[0].configPath`\nValue: \"/abs.yaml\"\nReason: path must be relative"
    );
}

#[test]
fn a_function_config_of_a_subpackage_is_refused_when_the_pipeline_begins() {
    let root = kptfile("app", "identity") + "    configPath: db/c.yaml\n";
    let sub = kptfile("db", "");
    let rendered =
        render(&[("Kptfile", &root), ("db/Kptfile", &sub), ("db/c.yaml", &config_map("c"))], Functions::new());
    let failure = rendered.outcome.failure.as_ref().expect("it fails");
    assert_eq!(
        failure.kpt_condition,
        "pkg.render: pkg .: Kptfile is invalid:\nField: `pipeline.mutators[0].configPath`\nValue: \"db/c.yaml\"\n\
         Reason: functionConfig resource for mutator \"identity\" is missing from path \"db/c.yaml\", this also occurs if \
         \"db/c.yaml\" is part of a subpackage\n"
    );
}

#[test]
fn a_function_that_a_limit_ended_is_named_with_its_step() {
    let mut functions = Functions::new();
    functions.add("spin", |_| {
        Err(crate::pipeline::RunFailure::Ended {
            kpt: None,
            message: "time limit 2s exceeded".to_owned(),
            so_far: Box::new(crate::pipeline::FunctionOutput {
                exit_code: 1,
                stderr: b"begun\n".to_vec(),
                ..Default::default()
            }),
        })
    });
    let kptfile = kptfile("app", "spin");
    let rendered = render(&[("Kptfile", &kptfile)], functions);
    assert_eq!(
        rendered.message(),
        "time limit 2s exceeded in step 1 (ghcr.io/kptdev/krm-functions-catalog/spin:latest) of package \"app\""
    );
    assert_eq!(rendered.outcome.steps[0].stderr, "begun");
}
