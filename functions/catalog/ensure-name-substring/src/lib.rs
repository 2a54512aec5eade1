#![doc = include_str!("../README.md")]

mod fields;
mod references;
mod settings;
#[cfg(test)]
mod tests;

use portico_fn::yaml::{Kind, NodeId, Style, Tree};
use portico_fn::{DEPENDS_ON, DependsOn, Error, FieldError, Output, Resource, ResourceList, Results, Verdict, run};

use crate::references::Renamed;
use crate::settings::Settings;

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
    let mut results = Results::from(std::mem::take(&mut list.results));
    let passed = match Settings::read(list.function_config.as_ref()) {
        Ok(settings) => rename_all(list, &settings, &mut results),
        Err(message) => {
            results.error(format!("failed to load the `functionConfig`: {message}"));
            false
        }
    };
    list.results = results.into_vec();
    passed.into()
}

fn rename_all(list: &mut ResourceList, settings: &Settings, results: &mut Results) -> bool {
    let own = list.function_config.as_ref().map(identity);
    let items = &mut list.items;
    let mut renamed = Renamed::default();
    let mut passed = true;
    for item in items.iter_mut().filter(|item| !keeps_its_name(item)) {
        // a pipeline may name its configuration by kind and name: with another one the next render would miss it
        if own.as_ref() == Some(&identity(item)) {
            continue;
        }
        let before = item.name().to_owned();
        renamed.expect(item, &before);
        if let Err(error) = rename(item, settings) {
            results.field_error(item, &error);
            passed = false;
        }
        if item.name() == before {
            renamed.forget(item, &before);
        }
    }
    if renamed.is_empty() {
        return passed;
    }
    for item in items.iter_mut() {
        update_depends_on(item, settings, &renamed);
        references::update(item, settings, &renamed);
    }
    passed
}

/// apiVersion, kind, namespace and name.
fn identity(object: &Resource) -> [String; 4] {
    [object.api_version(), object.kind(), object.namespace(), object.name()].map(str::to_owned)
}

/// Types whose names mean something outside of the package.
fn keeps_its_name(item: &Resource) -> bool {
    match item.kind() {
        "CustomResourceDefinition" | "Namespace" => true,
        "APIService" => item.group() == "apiregistration.k8s.io",
        "Kptfile" => item.group() == "kpt.dev",
        _ => false,
    }
}

/// Changes the name and the fields that the configuration names.
fn rename(item: &mut Resource, settings: &Settings) -> Result<(), FieldError> {
    for spec in &settings.fields {
        for target in spec.targets(item, Kind::Scalar)? {
            let current = item.tree.text(target);
            if !current.contains(&settings.substring) {
                let new = settings.edited(current);
                set(&mut item.tree, target, &new);
            }
        }
    }
    Ok(())
}

/// Sets a text, in the quotes that it has.
fn set(tree: &mut Tree, target: NodeId, new: &str) {
    if tree.style(target) == Style::Plain {
        tree.set_string(target, new);
    } else {
        tree.set_text(target, new);
    }
}

fn update_depends_on(item: &mut Resource, settings: &Settings, renamed: &Renamed) {
    let Some(reference) = item.annotation(DEPENDS_ON).and_then(DependsOn::parse) else { return };
    if !renamed.has(reference.group, reference.kind, reference.name) {
        return;
    }
    let name = settings.edited(reference.name);
    let new = DependsOn { name: &name, ..reference }.to_string();
    let root = item.root();
    if let Some(node) = item.tree.get_path(root, &["metadata", "annotations", DEPENDS_ON]) {
        set(&mut item.tree, node, &new);
    }
}
