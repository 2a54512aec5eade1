#![doc = include_str!("../README.md")]

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use portico_fn::yaml::{Style, Tree};
use portico_fn::{
    Error, FunctionResult, KubeObject, LOCAL_CONFIG, Output, Resource, ResourceList, Results, Severity, Verdict,
    annotations, run,
};

const GROUP: &str = "blueprints.cloud.google.com";
const KIND: &str = "ProjectServiceSet";
/// On each service: the set that it was made for.
const OWNER: &str = "blueprints.cloud.google.com/ownerReference";
const SERVICE_VERSION: &str = "serviceusage.cnrm.cloud.google.com/v1beta1";

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
    let items = &mut list.items;
    let sets: Vec<usize> = (0..items.len()).filter(|at| is_set(&items[*at])).collect();
    // All sets are looked at before anything changes: a package is changed whole or not at all.
    let mut made = Vec::new();
    let mut failed = false;
    for at in &sets {
        match services(&items[*at]) {
            Ok(of_set) => made.extend(of_set),
            Err(message) => {
                failed = true;
                results.about(&items[*at], Severity::Error, format!("failed to add services: {message}"));
            }
        }
    }
    if failed {
        list.results = results.into_vec();
        return Verdict::Fail;
    }
    let owners: HashSet<String> = sets.iter().map(|at| owner(&items[*at])).collect();
    for at in sets {
        items[at].set_annotation(LOCAL_CONFIG, "true");
    }
    let mut changes = Vec::new();
    let identity = |object: &Resource| [object.kind(), object.namespace(), object.name()].map(str::to_owned);
    let wanted: HashSet<[String; 3]> = made.iter().map(identity).collect();
    let mut known = HashSet::new();
    items.retain(|item| {
        let ours = !is_set(item) && item.annotation(OWNER).is_some_and(|owner| owners.contains(owner));
        if ours && !wanted.contains(&identity(item)) {
            changes.push(change(item, "pruned service"));
        } else if ours {
            known.insert(identity(item));
        }
        !ours
    });
    for service in made {
        let message = if known.contains(&identity(&service)) { "recreated service" } else { "generated service" };
        changes.push(change(&service, message));
        items.push(service);
    }
    changes.sort_by(|a, b| key(a).cmp(&key(b)));
    for change in changes {
        results.push(change);
    }
    list.results = results.into_vec();
    Verdict::Pass
}

fn is_set(item: &Resource) -> bool {
    item.is_gvk(GROUP, "v1alpha1", KIND)
}

fn owner(set: &Resource) -> String {
    format!("{GROUP}/{KIND}/{}", set.name())
}

fn change(object: &Resource, message: &str) -> FunctionResult {
    let mut results = Results::new();
    results.about(object, Severity::Info, message);
    results.into_vec().remove(0)
}

/// By file, place in it, and text.
fn key(result: &FunctionResult) -> (&str, i64, String) {
    let file = result.file.as_ref();
    (file.map_or("", |file| &file.path), file.map_or(0, |file| file.index), result.to_string())
}

/// The services of a set; the error says what is wrong with it.
fn services(set: &Resource) -> Result<Vec<Resource>, String> {
    let tree = &set.tree;
    let services = tree.get_path(set.root(), &["spec", "services"]).filter(|list| tree.is_sequence(*list));
    let services: Vec<_> = services.into_iter().flat_map(|list| tree.elements(list)).collect();
    if services.is_empty() {
        return Err("at least one service must be specified under `spec.services[]`".to_owned());
    }
    let mut seen = HashSet::new();
    let mut made = Vec::new();
    for id in services {
        let service = if tree.is_scalar(id) { tree.text(id) } else { "" };
        let parts: Vec<&str> = service.split('.').collect();
        if parts.len() < 3 || parts.iter().any(|part| part.is_empty()) {
            return Err(format!("invalid service specified: {service}"));
        }
        // Twice in the list is once in the project.
        if seen.insert(parts[0]) {
            made.push(service_object(set, service, parts[0])?);
        } else if !made.iter().any(|known: &Resource| known.string_at(&["spec", "resourceID"]) == service) {
            return Err(format!("two services would be called `{}-{}`: {service}", set.name(), parts[0]));
        }
    }
    Ok(made)
}

fn service_object(set: &Resource, service: &str, label: &str) -> Result<Resource, String> {
    let name = format!("{}-{label}", set.name());
    let mut tree = Tree::new_mapping();
    let root = tree.root();
    let mut put = |map, key: &str, text: &str| {
        let value = tree.string(text);
        tree.set(map, key, value);
    };
    put(root, "apiVersion", SERVICE_VERSION);
    put(root, "kind", "Service");
    let metadata = tree.mapping(Style::Block);
    tree.set(root, "metadata", metadata);
    let mut put = |map, key: &str, text: &str| {
        let value = tree.string(text);
        tree.set(map, key, value);
    };
    put(metadata, "name", &name);
    if !set.namespace().is_empty() {
        put(metadata, "namespace", set.namespace());
    }
    let spec = tree.mapping(Style::Block);
    tree.set(root, "spec", spec);
    let resource_id = tree.string(service);
    tree.set(spec, "resourceID", resource_id);
    let project = set.string_at(&["spec", "projectID"]);
    if !project.is_empty() {
        let (reference, external) = (tree.mapping(Style::Block), tree.string(project));
        tree.set(reference, "external", external);
        tree.set(spec, "projectRef", reference);
    }
    let mut object = Resource::new(tree).map_err(|error| error.to_string())?;
    for (key, value) in set.annotations() {
        if key != LOCAL_CONFIG && !annotations::is_internal(key) && !PLACE.contains(&key) {
            object.set_annotation(key, value);
        }
    }
    object.set_annotation(OWNER, &owner(set));
    object.set_annotation(annotations::PATH, &path(set, &name));
    object.set_annotation(annotations::INDEX, "0");
    Ok(object)
}

/// Annotations that say where an object lies.
const PLACE: [&str; 4] = [annotations::PATH, annotations::INDEX, annotations::LEGACY_PATH, annotations::LEGACY_INDEX];

/// Where kpt would put an object without a path, below the directory of the set.
fn path(set: &Resource, name: &str) -> String {
    let directory = set.path().and_then(|path| path.rsplit_once('/')).map_or("", |(directory, _)| directory);
    let file = format!("service_{name}.yaml");
    [directory, set.namespace(), &file].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}
