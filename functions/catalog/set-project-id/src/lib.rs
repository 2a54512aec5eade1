#![doc = include_str!("../README.md")]

mod setter;
#[cfg(test)]
mod tests;

use portico_fn::yaml::Style;
use portico_fn::{Error, Output, Resource, ResourceList, Results, Verdict, run};

/// Key of the setter and of the function's configuration.
const KEY: &str = "project-id";
/// The annotation of Config Connector's resources.
const ANNOTATION: &str = "cnrm.cloud.google.com/project-id";
const CONFIG_CONNECTOR: &str = ".cnrm.cloud.google.com";

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
#[expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]
pub fn program(input: Vec<u8>) -> Output {
    run(&function(), &input)
}

/// The function, ready for [`portico_fn::as_main`] or [`portico_fn::run`].
pub fn function() -> impl portico_fn::Processor {
    |list: &mut ResourceList| -> Result<Verdict, Error> { Ok(process(list)) }
}

fn process(list: &mut ResourceList) -> Verdict {
    let project = list.function_config.as_ref().map_or("", |config| config.string_at(&["data", KEY])).to_owned();
    let done = if project.is_empty() {
        Err(format!("`data.{KEY}` must name the project"))
    } else {
        setter::set(&mut list.items, &project).map_err(|reason| format!("failed to set {KEY} setter: {reason}"))
    };
    match done {
        Ok(()) => {
            list.items.iter_mut().filter(|item| is_project_resource(item)).for_each(|item| annotate(item, &project));
            Verdict::Pass
        }
        Err(message) => {
            let mut results = Results::from(std::mem::take(&mut list.results));
            results.error(message);
            list.results = results.into_vec();
            Verdict::Fail
        }
    }
}

/// `SERVICE.cnrm.cloud.google.com/VERSION`, but for Config Connector's own configuration.
fn is_project_resource(item: &Resource) -> bool {
    let word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    item.api_version().split_once('/').is_some_and(|(group, version)| {
        let service = group.strip_suffix(CONFIG_CONNECTOR);
        word(version) && service.is_some_and(|service| word(service) && service != "core")
    })
}

/// Adds the annotation unless it is there.
fn annotate(item: &mut Resource, project: &str) {
    if item.annotation(ANNOTATION).is_some() {
        return;
    }
    let root = item.root();
    let tree = &mut item.tree;
    let metadata = tree.ensure_mapping(root, "metadata");
    let annotations = tree.ensure_mapping(metadata, "annotations");
    if tree.is_empty(annotations) {
        tree.set_style(annotations, Style::Block);
    }
    let value = tree.string(project);
    tree.set(annotations, ANNOTATION, value);
}
