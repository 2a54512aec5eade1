//! Steps with conditions.

use std::fmt::Write as _;

use portico_krm::kptfile::Experiments;

use super::harness::*;
use crate::{RenderOptions, StatusMode, StepState};

fn with_conditions() -> RenderOptions {
    RenderOptions { experiments: Experiments { conditions: true }, ..quiet() }
}

/// A pipeline: list, function, condition.
fn kptfile_with(steps: &[(&str, &str, &str)]) -> String {
    let mut text = kptfile("app", "");
    text.push_str("pipeline:\n");
    for list in ["mutators", "validators"] {
        let own: Vec<_> = steps.iter().filter(|step| step.0 == list).collect();
        if !own.is_empty() {
            _ = writeln!(text, "  {list}:");
        }
        for (_, function, condition) in own {
            _ = writeln!(text, "  - image: {function}\n    condition: {condition}");
        }
    }
    text
}

#[test]
fn a_false_condition_skips_a_mutator_and_a_validator_and_the_rest_runs() {
    let steps = [
        ("mutators", "label", "resources.exists(r, r.kind == 'Secret')"),
        ("mutators", "identity", "resources.exists(r, r.kind == 'ConfigMap')"),
        ("validators", "fail3", "size(resources) > 100"),
    ];
    let files = [("Kptfile", kptfile_with(&steps)), ("a.yaml", config_map("a"))];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let rendered = render_as(&files, Functions::new(), &with_conditions()).passed();
    assert_eq!(
        rendered.log,
        [
            "package app",
            "skip label:latest",
            "run identity:latest",
            "pass identity:latest",
            "skip fail3:latest",
            "end app"
        ]
    );
    let states: Vec<StepState> = rendered.outcome.steps.iter().map(|step| step.state).collect();
    assert_eq!(states, [StepState::Skipped, StepState::Passed, StepState::Skipped]);
    assert_eq!(rendered.outcome.executed(), 1);
    assert!(rendered.changed().is_empty());
    let results = rendered.outcome.results().to_yaml();
    assert_eq!(results.matches("state: skipped").count(), 2, "{results}");

    let full = RenderOptions { status: StatusMode::Full, ..with_conditions() };
    let rendered = render_as(&files, Functions::new(), &full).passed();
    let kptfile = &rendered.files["Kptfile"];
    assert_eq!(kptfile.matches("state: skipped").count(), 2, "{kptfile}");
    let again: Vec<(&str, &str)> = vec![("Kptfile", kptfile), files[1]];
    render_as(&again, Functions::new(), &full).passed();
}

#[test]
fn a_condition_sees_what_the_steps_before_it_left() {
    let steps = [
        ("mutators", "label", "resources.all(r, !has(r.metadata.labels))"),
        ("mutators", "fail3", "resources.all(r, !has(r.metadata.labels))"),
    ];
    let kptfile = kptfile_with(&steps);
    let a = config_map("a");
    let rendered = render_as(&[("Kptfile", &kptfile), ("a.yaml", &a)], Functions::new(), &with_conditions()).passed();
    assert_eq!(rendered.outcome.steps[1].state, StepState::Skipped);
}

#[test]
fn with_selectors_a_condition_sees_what_they_select() {
    let mut kptfile =
        kptfile_with(&[("mutators", "identity", "size(resources) == 1 && resources[0].kind == 'ConfigMap'")]);
    kptfile.push_str("    selectors:\n    - kind: ConfigMap\n");
    let a = config_map("a");
    let rendered = render_as(&[("Kptfile", &kptfile), ("a.yaml", &a)], Functions::new(), &with_conditions()).passed();
    assert_eq!(rendered.outcome.steps[0].state, StepState::Passed);
    let kptfile = kptfile.replace("size(resources) == 1", "size(resources) == 2");
    let rendered = render_as(&[("Kptfile", &kptfile), ("a.yaml", &a)], Functions::new(), &with_conditions()).passed();
    assert_eq!(rendered.outcome.steps[0].state, StepState::Skipped);
    assert!(rendered.changed().is_empty(), "the marks of the selection are gone");
}

#[test]
fn a_condition_that_cannot_be_evaluated_fails_its_step() {
    let kptfile =
        kptfile_with(&[("mutators", "identity", "'true'"), ("mutators", "label", "resources.all(r, r.spec.n > 0)")]);
    let a = config_map("a");
    let rendered = render_as(&[("Kptfile", &kptfile), ("a.yaml", &a)], Functions::new(), &with_conditions());
    let message = rendered.message();
    assert!(message.contains("(step 2 of package \"app\"): condition `resources.all(r, r.spec.n > 0)`: "), "{message}");
    assert!(message.contains("there is no field `spec` in "), "{message}");
    assert_eq!(rendered.outcome.steps[1].state, StepState::Failed);
    assert!(rendered.changed().is_empty());
}

#[test]
fn without_the_experiment_the_field_is_refused() {
    let kptfile = kptfile_with(&[("mutators", "identity", "'true'")]);
    let error =
        try_render(&[("Kptfile", &kptfile)], Functions::new(), &quiet()).err().expect("an unknown field").to_string();
    assert!(
        error.contains("unknown field pipeline.mutators[0].condition") && error.contains("--experimental-conditions"),
        "{error}"
    );
}
