use super::harness::*;
use crate::report::StepState;

#[test]
fn an_item_carries_the_annotations_of_kpt_in_its_order() {
    let kptfile = kptfile("app", "identity");
    let files = [
        ("Kptfile", kptfile.as_str()),
        ("sub/a.yaml", "apiVersion: v1\nkind: A\nmetadata:\n  name: a\nlist:\n  - x\n"),
    ];
    let rendered = render(&files, Functions::new()).passed();
    let input = rendered.functions.input("identity");
    let item = "- apiVersion: v1
  kind: A
  metadata:
    name: a
    annotations:
      config.kubernetes.io/index: '0'
      config.kubernetes.io/path: 'sub/a.yaml'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/package-path: '/w/app'
      internal.config.kubernetes.io/path: 'sub/a.yaml'
      internal.config.kubernetes.io/seqindent: 'wide'
      internal.config.kubernetes.io/annotations-migration-resource-id: '1'
      internal.config.kubernetes.io/id: '2'
      config.k8s.io/id: '2'
  list:
  - x
";
    assert!(input.starts_with("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"), "{input}");
    assert!(input.contains(item), "{input}");
}

#[test]
fn a_validator_gets_no_migration_id_and_what_it_changes_is_ignored() {
    let kptfile = kptfile("app", "| label");
    let files = [("Kptfile", kptfile.as_str()), ("a.yaml", &config_map("a"))];
    let rendered = render(&files, Functions::new()).passed();
    assert!(!rendered.functions.input("label").contains("annotations-migration-resource-id"));
    assert_eq!(rendered.changed(), Vec::<&str>::new());
}

#[test]
fn config_map_entries_become_a_function_config_in_the_order_of_the_file() {
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n  - image: identity\n    configMap:\n      b: 1\n      a: text\n";
    let rendered = render(&[("Kptfile", kptfile)], Functions::new()).passed();
    let input = rendered.functions.input("identity");
    let config = "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: function-input\n  data:\n    b: \"1\"\n    a: text\n";
    assert!(input.ends_with(config), "{input}");
}

fn with_config(path: &str, functions: &str) -> String {
    format!("{}    configPath: {path}\n", kptfile("app", functions))
}

#[test]
fn a_function_config_that_an_earlier_step_changed_is_seen_as_it_is() {
    let kptfile = with_config("./c.yaml", "label identity");
    let rendered = render(&[("Kptfile", &kptfile), ("c.yaml", &config_map("c"))], Functions::new()).passed();
    let input = rendered.functions.input("identity");
    let config = input.split("functionConfig:").nth(1).expect("there is one");
    assert!(config.contains("probe: ") && config.contains("config.k8s.io/id: '2'"), "{input}");
}

#[test]
fn a_function_config_that_an_earlier_step_deleted_is_taken_from_the_file() {
    let kptfile = with_config("c.yaml", "drop-configmaps identity");
    let rendered = render(&[("Kptfile", &kptfile), ("c.yaml", &config_map("c"))], Functions::new()).passed();
    let config = rendered.functions.input("identity").split("functionConfig:").nth(1).expect("there is one");
    assert_eq!(config, "\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n");
}

#[test]
fn empty_output_with_exit_code_zero_fails_the_step() {
    let kptfile = kptfile("app", "empty");
    let rendered = render(&[("Kptfile", &kptfile), ("a.yaml", &config_map("a"))], Functions::new());
    assert!(
        rendered.message().contains("empty:latest\" (step 1 of package \"app\") wrote no ResourceList"),
        "{}",
        rendered.message()
    );
    assert_eq!(rendered.changed(), Vec::<&str>::new());
}

#[test]
fn a_step_that_removes_the_kptfile_of_its_pipeline_fails() {
    let kptfile = kptfile("app", "drop-all");
    let rendered = render(&[("Kptfile", &kptfile), ("a.yaml", &config_map("a"))], Functions::new());
    assert!(rendered.message().contains("the Kptfile that declares the pipeline is missing"), "{}", rendered.message());
}

#[test]
fn output_that_is_no_yaml_is_shown_with_place_function_and_stderr() {
    let mut functions = Functions::new();
    functions.add("garbage", |_| {
        Ok(crate::pipeline::FunctionOutput {
            stdout: b"this: is: not: yaml\nmore\n".to_vec(),
            stderr: b"garbage: about to print\n".to_vec(),
            ..Default::default()
        })
    });
    let kptfile = kptfile("app", "identity garbage");
    let rendered = render(&[("Kptfile", &kptfile)], functions);
    let message = rendered.message();
    for part in [
        "garbage:latest",
        "step 2 of package \"app\"",
        "line 1, column 9",
        "this: is: not: yaml",
        "garbage: about to print",
    ] {
        assert!(message.contains(part), "{part} is missing in: {message}");
    }
}

#[test]
fn an_exit_code_is_reported_even_when_the_output_is_invalid() {
    let mut functions = Functions::new();
    functions.add("broken", |_| {
        Ok(crate::pipeline::FunctionOutput {
            exit_code: 7,
            stdout: b"a: b: c".to_vec(),
            stderr: b"no such table\n".to_vec(),
            ..Default::default()
        })
    });
    let kptfile = kptfile("app", "broken");
    let rendered = render(&[("Kptfile", &kptfile)], functions);
    let step = &rendered.outcome.steps[0];
    assert_eq!((step.exit_code, step.execution_error.as_deref(), step.recorded), (7, None, true));
    assert!(rendered.message().contains("exit code 7: no such table"), "{}", rendered.message());
}

#[test]
fn an_error_result_without_an_exit_code_is_a_pass() {
    let mut functions = Functions::new();
    functions.text("complain", |input| format!("{input}results:\n- message: bad\n  severity: error\n"));
    let kptfile = kptfile("app", "complain");
    let rendered = render(&[("Kptfile", &kptfile)], functions).passed();
    assert_eq!(rendered.outcome.steps[0].state, StepState::Passed);
    assert!(rendered.outcome.steps[0].results[0].is_error());
}

#[test]
fn every_function_is_found_before_the_first_one_runs() {
    let kptfile = kptfile("app", "identity dne | identity");
    let rendered = render(&[("Kptfile", &kptfile)], Functions::new());
    assert!(rendered.functions.inputs.is_empty(), "nothing runs");
    let states: Vec<StepState> = rendered.outcome.steps.iter().map(|step| step.state).collect();
    assert_eq!(states, [StepState::NotRun, StepState::Failed, StepState::NotRun]);
    assert_eq!(rendered.outcome.steps[1].execution_error.as_deref(), Some("no such function"));
    assert_eq!(rendered.outcome.steps[1].image, "ghcr.io/kptdev/krm-functions-catalog/dne:latest");
}

#[test]
fn a_cancelled_render_ends_without_an_outcome() {
    let mut functions = Functions::new();
    functions.add("stop", |_| Err(crate::pipeline::RunFailure::Cancelled));
    let kptfile = kptfile("app", "stop");
    let result = try_render(&[("Kptfile", &kptfile)], functions, &quiet());
    assert!(matches!(result, Err(crate::RenderError::Cancelled)));
}

#[test]
fn comments_and_key_order_come_back_from_the_input() {
    let mut functions = Functions::new();
    functions.text("rewrite", |input| {
        let lines = input.lines().filter(|line| !line.trim_start().starts_with('#'));
        lines
            .map(|line| line.split(" # ").next().unwrap_or(line))
            .collect::<Vec<_>>()
            .join("\n")
            .replace("v: 1", "v: 2")
            + "\n"
    });
    let kptfile = kptfile("app", "rewrite");
    let a = "# top\napiVersion: v1\nkind: A\nmetadata:\n  name: a # named\nspec:\n  # why\n  v: 1 # one\n";
    let rendered = render(&[("Kptfile", &kptfile), ("a.yaml", a)], functions).passed();
    assert_eq!(rendered.files["a.yaml"], a.replace("v: 1", "v: 2"));
}
