//! The function as a whole: a `ResourceList` in, results out.

mod constraints;
mod hostile;
mod policies;
mod results;

use portico_fn::{FunctionResult, ResourceList, yaml::ParseLimits};

/// Runs the function on documents; gives the results and the exit code.
fn run(documents: &[&str]) -> (Vec<FunctionResult>, u8) {
    let output = crate::program(list(documents).into_bytes());
    let list = ResourceList::parse(&output.stdout, &ParseLimits::default()).unwrap();
    (list.results, output.exit_code)
}

fn list(documents: &[&str]) -> String {
    let mut text = String::from("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n");
    for document in documents {
        text += "- ";
        text += &document.trim_end().replace('\n', "\n  ");
        text += "\n";
    }
    text
}

/// The first lines of the messages: without the constraint's name.
fn messages(documents: &[&str]) -> Vec<String> {
    run(documents).0.iter().map(|result| result.message.lines().next().unwrap_or_default().to_owned()).collect()
}

/// The one message of a run that could not check anything.
fn failure(documents: &[&str]) -> String {
    let (results, exit_code) = run(documents);
    assert_eq!((results.len(), exit_code), (1, 1), "{results:?}");
    assert_eq!(results[0].resource_ref, None, "{results:?}");
    results[0].message.clone()
}

/// The lines with something before each.
fn indented(text: &str, by: &str) -> String {
    text.lines().fold(String::new(), |out, line| out + by + line + "\n")
}

/// A template of kind `Policy` with this Rego below `package policy`.
fn template(rego: &str) -> String {
    let rego = indented(rego, "      ");
    format!(
        "apiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata: {{name: policy}}\nspec:\n  crd: \
         {{spec: {{names: {{kind: Policy}}}}}}\n  targets:\n  - target: admission.k8s.gatekeeper.sh\n    rego: \
         |\n      package policy\n{rego}"
    )
}

/// A constraint of that kind for config maps, with this `spec` in flow style.
fn constraint(spec: &str) -> String {
    format!("apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: Policy\nmetadata: {{name: rule}}\nspec: {spec}\n")
}

/// About config maps only.
const MAPS: &str = "{match: {kinds: [{apiGroups: [''], kinds: [ConfigMap]}]}}";

/// A policy that is never content.
const NEVER: &str = "violation[{\"msg\": m}] { m := input.review.name }";

/// A config map.
const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map, namespace: default}\ndata: {a: b}\n";

/// The message of a policy on one config map.
fn says(rego: &str) -> Vec<String> {
    messages(&[&template(rego), &constraint(MAPS), MAP])
}
