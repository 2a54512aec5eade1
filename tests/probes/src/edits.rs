//! Probes that read and edit the list.
#![expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]

use portico_fn::yaml::{NodeId, ParseLimits};
use portico_fn::{Error, Output, Resource, ResourceList, Results, Severity, Verdict, annotations, field, plain_copy};

/// Runs an edit; items keep the order that the edit gives them (the SDK's own `run` sorts them).
fn edit(input: &[u8], edit: impl FnOnce(&mut ResourceList) -> Result<Verdict, Error>) -> Output {
    let mut list = match ResourceList::parse(input, &ParseLimits::default()) {
        Ok(list) => list,
        Err(error) => return Output { stdout: Vec::new(), stderr: format!("{error}\n"), exit_code: 1 },
    };
    let (stderr, exit_code) = match edit(&mut list) {
        Ok(Verdict::Pass) => (String::new(), 0),
        Ok(Verdict::Fail) => (String::new(), 1),
        Err(error) => (format!("{error}\n"), 1),
    };
    Output { stdout: list.to_yaml().into(), stderr, exit_code }
}

fn is_kptfile(item: &Resource) -> bool {
    item.kind() == "Kptfile"
}

/// Parses every item into plain values and writes it back with its keys sorted.
pub(crate) fn reserialise(input: Vec<u8>) -> Output {
    edit(&input, |list| {
        for item in &mut list.items {
            *item = plain_copy(item, true)?;
        }
        Ok(Verdict::Pass)
    })
}

/// Sets a label on every item but the Kptfile.
pub(crate) fn label_all(input: Vec<u8>) -> Output {
    edit(&input, |list| {
        for item in list.items.iter_mut().filter(|item| !is_kptfile(item)) {
            let root = item.tree.root();
            field::set_nested_string(&mut item.tree, root, &["metadata", "labels", "probe"], "yes")?;
        }
        Ok(Verdict::Pass)
    })
}

/// Inserts a container before all others of every pod template.
pub(crate) fn insert_first_container(input: Vec<u8>) -> Output {
    edit(&input, |list| {
        for item in &mut list.items {
            let tree = &mut item.tree;
            let path = ["spec", "template", "spec", "containers"];
            let Some(containers) = tree.get_path(tree.root(), &path).filter(|id| tree.is_sequence(*id)) else {
                continue;
            };
            let guard = tree.mapping(portico_fn::yaml::Style::Block);
            for (key, value) in [("name", "guard"), ("image", "guard:1")] {
                let value = tree.string(value);
                tree.set(guard, key, value);
            }
            let all: Vec<NodeId> = std::iter::once(guard).chain(tree.elements(containers)).collect();
            tree.set_children(containers, &all);
        }
        Ok(Verdict::Pass)
    })
}

/// Reverses the order of the items.
pub(crate) fn reverse_items(input: Vec<u8>) -> Output {
    edit(&input, |list| {
        list.items.reverse();
        Ok(Verdict::Pass)
    })
}

/// Removes the first item that is neither the Kptfile nor the function's configuration.
pub(crate) fn delete_first(input: Vec<u8>) -> Output {
    edit(&input, |list| {
        let config = list.function_config.as_ref().map(|c| (c.kind().to_owned(), c.name().to_owned()));
        let is_config = |item: &Resource| {
            config.as_ref().is_some_and(|(kind, name)| item.kind() == kind && item.name() == name)
                || item.api_version().starts_with("fn.kpt.dev/")
        };
        if let Some(first) = list.items.iter().position(|item| !is_kptfile(item) && !is_config(item)) {
            list.items.remove(first);
        }
        Ok(Verdict::Pass)
    })
}

/// Adds a `ConfigMap` named as the configuration says, with path and index where it gives them. One that is there
/// already is left as it is, so that a second render changes nothing.
pub(crate) fn generate(input: Vec<u8>) -> Output {
    edit(&input, |list| {
        let config = list.function_config.as_ref();
        let data = |key: &str| config.map_or(String::new(), |config| config.string_at(&["data", key]).to_owned());
        let is_there = |item: &Resource| item.kind() == "ConfigMap" && item.name() == data("name");
        if list.items.iter().any(is_there) {
            return Ok(Verdict::Pass);
        }
        let mut made = Resource { tree: portico_fn::yaml::Tree::new_mapping() };
        let root = made.tree.root();
        for (key, value) in [("apiVersion", "v1"), ("kind", "ConfigMap")] {
            let value = made.tree.string(value);
            made.tree.set(root, key, value);
        }
        made.set_name(&data("name"));
        for (key, annotation) in [("path", annotations::PATH), ("index", annotations::INDEX)] {
            let value = data(key);
            if !value.is_empty() {
                made.set_annotation(annotation, &value);
            }
        }
        list.items.push(made);
        Ok(Verdict::Pass)
    })
}

/// Tells where each item says that it lies, then gives its input back.
pub(crate) fn print_paths(input: Vec<u8>) -> Output {
    let list = match ResourceList::parse(&input, &ParseLimits::default()) {
        Ok(list) => list,
        Err(error) => return Output { stdout: Vec::new(), stderr: format!("{error}\n"), exit_code: 1 },
    };
    let lines = list.items.iter().map(|item| {
        let annotation = |key: &str| item.annotation(key).unwrap_or_default();
        format!(
            "{} {} {}\n",
            annotation(annotations::PATH),
            annotation(annotations::INDEX),
            annotation(annotations::PACKAGE_PATH)
        )
    });
    let stderr = lines.collect();
    Output { stdout: input, stderr, exit_code: 0 }
}

/// Reports an error with everything that a result can hold and a warning with nothing, and fails.
pub(crate) fn two_results(input: Vec<u8>) -> Output {
    edit(&input, |list| {
        let mut results = Results::new();
        if let Some(item) = list.items.iter().find(|item| !is_kptfile(item)).or(list.items.first()) {
            let message = "the value is not allowed";
            results.about_field(item, Severity::Error, message, "spec.replicas", Some("3"), Some("1"));
        }
        results.warning("the package has no owner");
        list.results = results.into_vec();
        Ok(Verdict::Fail)
    })
}
