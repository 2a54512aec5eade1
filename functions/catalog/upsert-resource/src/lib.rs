#![doc = include_str!("../README.md")]

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use portico_fn::yaml::{Kind, Tree};
use portico_fn::{Error, Output, Resource, ResourceList, Results, Verdict, annotations, plain_copy, run};

/// Says where a new object goes.
const TARGET_PATH: &str = "config.kubernetes.io/target-path";
/// Objects with one of these describe a function and are no target.
const FUNCTION: [&str; 2] = ["config.kubernetes.io/function", "config.k8s.io/function"];
/// Where an object lies, under the present names and the older ones.
const PLACE: [&str; 4] = [annotations::PATH, annotations::INDEX, annotations::LEGACY_PATH, annotations::LEGACY_INDEX];
/// What else an orchestrator notes on an object that is replaced.
const KEPT: [&str; 3] = [annotations::SEQ_INDENT, annotations::PACKAGE_PATH, annotations::KPT_RESOURCE_ID];

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
    let objects = match objects(list.function_config.as_ref()) {
        Ok(objects) => objects,
        Err(message) => {
            let mut results = Results::from(std::mem::take(&mut list.results));
            results.error(message);
            list.results = results.into_vec();
            return Verdict::Fail;
        }
    };
    let mut known: HashMap<Identity, Vec<usize>> = HashMap::new();
    for (place, item) in list.items.iter().enumerate() {
        if FUNCTION.iter().all(|key| item.annotation(key).is_none()) {
            known.entry(identity(item)).or_default().push(place);
        }
    }
    for object in objects {
        upsert(&mut list.items, &mut known, object);
    }
    Verdict::Pass
}

/// The objects of the configuration; the error is the message of the result.
fn objects(config: Option<&Resource>) -> Result<Vec<Resource>, String> {
    let missing = "the function's configuration must be the object to add or replace, or a `List` of such objects";
    let config = config.filter(|config| !config.kind().is_empty()).ok_or(missing)?;
    if config.kind() != "List" {
        return Ok(vec![config.clone()]);
    }
    // an alias may stand for something outside of its own element
    let config = plain_unless_simple(config)?;
    let tree = &config.tree;
    let items = tree.get(tree.root(), "items").filter(|items| tree.is_sequence(*items));
    let items = items.ok_or("the configuration is a `List` without the list `items`")?;
    let mut objects = Vec::new();
    for (number, item) in tree.elements(items).enumerate() {
        let mut copy = Tree::new_mapping();
        let root = copy.copy_from(tree, item);
        copy.set_root(root);
        let object = Resource::new(copy).ok().filter(|object| !object.kind().is_empty());
        objects.push(object.ok_or_else(|| format!("`items[{number}]` of the configuration is no object with a kind"))?);
    }
    Ok(objects)
}

fn plain_unless_simple(config: &Resource) -> Result<Resource, String> {
    let tree = &config.tree;
    let mut open = vec![tree.root()];
    while let Some(id) = open.pop() {
        if tree.kind(id) == Kind::Alias {
            return plain_copy(config, false).map_err(|error| error.to_string());
        }
        open.extend(tree.children(id));
    }
    Ok(config.clone())
}

/// Group, kind, namespace and name.
type Identity = [String; 4];

fn identity(object: &Resource) -> Identity {
    [object.group(), object.kind(), object.namespace(), object.name()].map(str::to_owned)
}

/// Replaces every item that is the object, or adds it. `known` says where the items of an identity are.
fn upsert(items: &mut Vec<Resource>, known: &mut HashMap<Identity, Vec<usize>>, mut object: Resource) {
    let target_path = object.annotation(TARGET_PATH).map(str::to_owned);
    object.remove_annotations(|key| {
        key == TARGET_PATH || FUNCTION.contains(&key) || PLACE.contains(&key) || annotations::is_internal(key)
    });
    let places = known.entry(identity(&object)).or_default();
    let mut found = false;
    for place in places.iter() {
        let item = &mut items[*place];
        if target_path.as_deref().is_some_and(|path| item.path() != Some(path)) {
            continue;
        }
        found = true;
        let mut new = object.clone();
        for key in PLACE.into_iter().chain(KEPT) {
            if let Some(value) = item.annotation(key) {
                new.set_annotation(key, value);
            }
        }
        new.clear_empty_annotations();
        *item = new;
    }
    if !found {
        if let Some(path) = target_path {
            object.set_annotation(annotations::PATH, &path);
        }
        object.clear_empty_annotations();
        places.push(items.len());
        items.push(object);
    }
}
