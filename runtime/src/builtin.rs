//! The function that kpt itself brings.

use portico_krm::annotations::{LOCAL_CONFIG, PACKAGE_PATH};
use portico_krm::yaml::{ParseLimits, Tree};
use portico_krm::{FunctionResult, Resource, ResourceList};

use crate::pipeline::FunctionOutput;

/// Its name in a Kptfile.
pub(crate) const PACKAGE_CONTEXT: &str = "builtins/gen-pkg-context";

/// The resource that it makes, and its file.
const NAME: &str = "kptfile.kpt.dev";
const FILE: &str = "package-context.yaml";

/// Puts a `ConfigMap` with the package's name next to each Kptfile, in the place of an older one.
pub(crate) fn package_context(stdin: &[u8], limits: &ParseLimits) -> FunctionOutput {
    let mut list = match ResourceList::parse(stdin, limits) {
        Ok(list) => list,
        Err(error) => {
            return FunctionOutput {
                exit_code: 1,
                stderr: error.to_string().into_bytes(),
                ..FunctionOutput::default()
            };
        }
    };
    list.items.retain(|item| item.kind() != "ConfigMap" || item.name() != NAME);
    let contexts: Vec<Resource> = list
        .items
        .iter()
        .filter(|item| item.kind() == "Kptfile" && item.path() == Some("Kptfile"))
        .map(|kptfile| context(kptfile.name(), kptfile.package_path()))
        .collect();
    for _ in &contexts {
        list.results.push(FunctionResult::new("info", "generated package context"));
    }
    list.items.extend(contexts);
    list.function_config = None;
    FunctionOutput { stdout: list.to_yaml().into_bytes(), ..FunctionOutput::default() }
}

fn context(name: &str, package_path: Option<&str>) -> Resource {
    let mut tree = Tree::new_mapping();
    let root = tree.root();
    for (key, value) in [("apiVersion", "v1"), ("kind", "ConfigMap")] {
        let value = tree.string(value);
        tree.set(root, key, value);
    }
    let mut resource = Resource { tree };
    resource.set_name(NAME);
    resource.set_annotation(LOCAL_CONFIG, "true");
    resource.set_path(FILE);
    if let Some(package_path) = package_path {
        resource.set_annotation(PACKAGE_PATH, package_path);
    }
    let data = resource.tree.ensure_mapping(root, "data");
    let name = resource.tree.string(name);
    resource.tree.set(data, "name", name);
    resource
}
