//! Schemas of custom resources, from the definitions in the package.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use portico_fn::yaml::{NodeId, Tree, from_tree};
use portico_fn::{Resource, plain_copy};
use serde_json::{Map, Value, json};

use crate::read::{Base, Reader};
use crate::schema::Schema;
use crate::schemas::LookupError;

/// The metadata of every object.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The versions of the custom resources that a package defines.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    /// By apiVersion and kind; the first definition counts.
    kinds: HashMap<(String, String), Definition>,
}

#[derive(Debug)]
struct Definition {
    /// Name of the definition, for errors.
    name: String,
    /// Its place: `spec.versions[0].schema.openAPIV3Schema`, the node of that; `None` for a version without schema.
    schema: Option<(Rc<Tree>, NodeId)>,
    read: OnceCell<Result<Rc<Schema>, LookupError>>,
}

impl Definitions {
    /// Finds the definitions among the items. Objects that are no proper definition define nothing.
    pub(crate) fn of(items: &[Resource]) -> Definitions {
        let mut definitions = Definitions::default();
        for item in items {
            if item.kind() == "CustomResourceDefinition" && item.group() == "apiextensions.k8s.io" {
                definitions.add(item);
            }
        }
        definitions
    }

    fn add(&mut self, item: &Resource) {
        let Ok(plain) = plain_copy(item, false) else { return };
        let tree = Rc::new(plain.tree);
        let root = tree.root();
        let (Some(group), Some(kind)) =
            (tree.text_at(root, &["spec", "group"]), tree.text_at(root, &["spec", "names", "kind"]))
        else {
            return;
        };
        // v1beta1 may have one schema for all versions, and one version without a list
        let shared = tree.get_path(root, &["spec", "validation", "openAPIV3Schema"]);
        let mut versions: Vec<(&str, Option<NodeId>)> = Vec::new();
        if let Some(list) = tree.get_path(root, &["spec", "versions"]) {
            for version in tree.elements(list) {
                if let Some(name) = tree.text_at(version, &["name"]) {
                    versions.push((name, tree.get_path(version, &["schema", "openAPIV3Schema"]).or(shared)));
                }
            }
        }
        if let (true, Some(name)) = (versions.is_empty(), tree.text_at(root, &["spec", "version"])) {
            versions.push((name, shared));
        }
        for (version, schema) in versions {
            self.kinds.entry((format!("{group}/{version}"), kind.to_owned())).or_insert_with(|| Definition {
                name: item.name().to_owned(),
                schema: schema.map(|id| (Rc::clone(&tree), id)),
                read: OnceCell::new(),
            });
        }
    }

    /// The schema of a kind that the package defines.
    pub(crate) fn find(&self, api_version: &str, kind: &str, strict: bool) -> Result<Option<Rc<Schema>>, LookupError> {
        // no definitions is the usual case
        if self.kinds.is_empty() {
            return Ok(None);
        }
        let Some(definition) = self.kinds.get(&(api_version.to_owned(), kind.to_owned())) else { return Ok(None) };
        definition.read.get_or_init(|| definition.schema(strict)).clone().map(Some)
    }
}

impl Definition {
    fn schema(&self, strict: bool) -> Result<Rc<Schema>, LookupError> {
        let unreadable = |fault: String| LookupError::Definition { name: self.name.clone(), fault };
        let mut value = match &self.schema {
            Some((tree, id)) => from_tree(tree, *id).map_err(|error| unreadable(error.to_string()))?,
            None => json!({}),
        };
        adapt(&mut value, strict);
        complete(&mut value, strict && self.schema.is_some());
        let reader = Reader { base: Base::Kubernetes, closed: false };
        reader.read(&value).map(Rc::new).map_err(|error| unreadable(error.to_string()))
    }
}

/// Turns a structural schema of `OpenAPI` v3 into JSON Schema: `nullable`, integers that may be strings, embedded
/// objects; and the strict form, where only the structure is closed, not the conditions in `allOf` and the like.
fn adapt(value: &mut Value, strict: bool) {
    let Value::Object(map) = value else { return };
    let is = |map: &Map<String, Value>, key: &str| map.get(key) == Some(&Value::Bool(true));
    if is(map, "x-kubernetes-int-or-string") {
        map.insert("type".to_owned(), json!(["integer", "string"]));
        // it says the same once more
        map.remove("anyOf");
    }
    if is(map, "nullable")
        && let Some(Value::String(one)) = map.get("type").cloned()
    {
        map.insert("type".to_owned(), json!([one, "null"]));
    }
    // not the word of JSON Schema: definitions have no references
    map.remove("$ref");
    if is(map, "x-kubernetes-embedded-resource") {
        add_object_fields(map);
    }
    let open = is(map, "x-kubernetes-preserve-unknown-fields") || map.contains_key("additionalProperties");
    if strict && !open && map.contains_key("properties") {
        map.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(|value| adapt(value, strict));
    }
    for key in ["items", "additionalProperties"] {
        if let Some(value) = map.get_mut(key) {
            adapt(value, strict);
        }
    }
}

/// What every custom resource has, whether its schema says so or not.
fn complete(value: &mut Value, strict: bool) {
    let Value::Object(map) = value else { return };
    let meta = map
        .get("properties")
        .and_then(|properties| properties.get("metadata"))
        .cloned()
        .unwrap_or_else(|| json!({"type": "object"}));
    add_object_fields(map);
    let open = map.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    if strict && !open {
        map.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        // the definition may narrow the name, nothing else
        let mut narrowed = meta;
        if let Value::Object(narrowed) = &mut narrowed {
            narrowed.remove("additionalProperties");
        }
        properties.insert("metadata".to_owned(), json!({"allOf": [{"$ref": OBJECT_META}, narrowed]}));
    }
}

fn add_object_fields(map: &mut Map<String, Value>) {
    let properties = map.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        for (name, of) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
            properties.entry(name).or_insert_with(|| json!({"type": of}));
        }
    }
}
