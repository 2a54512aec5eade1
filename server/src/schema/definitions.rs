//! The JSON schemas of the API's types, under the names that Kubernetes' clients know.

use std::sync::OnceLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::structure::Structure;
use crate::api::types::{CoreEvent, Event, Kind, PackageRevision, PackageRevisionResources};

/// Where definitions are in a document of `OpenAPI`.
pub(super) const PREFIX: &str = "#/components/schemas/";

const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// Kinds that are described.
pub(super) const KINDS: [Kind; 4] =
    [Kind::PackageRevision, Kind::PackageRevisionResources, Kind::CoreEvent, Kind::Event];

/// How objects of a kind are built. A namespace may be anything: nobody writes one here.
pub fn structure(kind: Kind) -> &'static Structure {
    static ALL: OnceLock<[Structure; 5]> = OnceLock::new();
    let [revision, resources, core_event, event, namespace] = ALL.get_or_init(|| {
        let of = |kind| Structure::read(definitions(), &name(kind));
        [
            of(Kind::PackageRevision),
            of(Kind::PackageRevisionResources),
            of(Kind::CoreEvent),
            of(Kind::Event),
            of(Kind::Namespace),
        ]
    });
    match kind {
        Kind::PackageRevision => revision,
        Kind::PackageRevisionResources => resources,
        Kind::CoreEvent => core_event,
        Kind::Event => event,
        Kind::Namespace => namespace,
    }
}

/// All definitions by their full names: of the kinds, of lists of them, and of what they are made of.
pub(super) fn definitions() -> &'static Map<String, Value> {
    static ALL: OnceLock<Map<String, Value>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut generator = SchemaSettings::openapi3().into_generator();
        generator.subschema_for::<PackageRevision>();
        generator.subschema_for::<PackageRevisionResources>();
        generator.subschema_for::<CoreEvent>();
        generator.subschema_for::<Event>();
        let mut all = Map::new();
        for (short, mut schema) in generator.take_definitions(true) {
            plain(&mut schema);
            all.insert(full_name(&short), schema);
        }
        inline_enums(&mut all);
        for kind in KINDS {
            if let Some(Value::Object(schema)) = all.get_mut(&name(kind)) {
                schema.insert(GVK.to_owned(), json!([gvk(kind, kind.name())]));
            }
            all.insert(list_name(kind), list(kind));
        }
        all.insert(LIST_META.to_owned(), list_meta());
        all
    })
}

/// The extension that says which kind a definition, or an operation, is of.
pub(super) const GVK: &str = "x-kubernetes-group-version-kind";

/// A kind as that extension has it.
pub(super) fn gvk(kind: Kind, name: &str) -> Value {
    json!({"group": kind.group(), "version": kind.version(), "kind": name})
}

/// The name of a kind's definition.
pub(super) fn name(kind: Kind) -> String {
    format!("{}.{}", package(kind), kind.name())
}

/// The name of the definition of a list of them.
pub(super) fn list_name(kind: Kind) -> String {
    format!("{}.{}", package(kind), kind.list_name())
}

fn package(kind: Kind) -> &'static str {
    match kind {
        Kind::PackageRevision | Kind::PackageRevisionResources => "dev.kpt.porch.v1alpha1",
        Kind::CoreEvent | Kind::Namespace => "io.k8s.api.core.v1",
        Kind::Event => "io.k8s.api.events.v1",
    }
}

/// The full name of a type of ours.
fn full_name(short: &str) -> String {
    match short {
        "ObjectMeta" | "ManagedFieldsEntry" | "OwnerReference" => {
            format!("io.k8s.apimachinery.pkg.apis.meta.v1.{short}")
        }
        "CoreEvent" => name(Kind::CoreEvent),
        "Event" => name(Kind::Event),
        "ObjectReference" | "EventSource" | "EventSeries" => format!("io.k8s.api.core.v1.{short}"),
        _ => format!("dev.kpt.porch.v1alpha1.{short}"),
    }
}

fn list(kind: Kind) -> Value {
    json!({
        "description": format!("A list of {}.", kind.name()),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string", "description": format!("The version of the schema: `{}`.", kind.api_version())},
            "kind": {"type": "string", "description": format!("The kind of object: `{}`.", kind.list_name())},
            "metadata": {"allOf": [{"$ref": format!("{PREFIX}{LIST_META}")}], "description": "Standard list metadata."},
            "items": {
                "type": "array",
                "description": "The objects, by namespace and name.",
                "items": {"$ref": format!("{PREFIX}{}", name(kind))},
            },
        },
        GVK: [gvk(kind, kind.list_name())],
    })
}

fn list_meta() -> Value {
    json!({
        "description": "The metadata of a list.",
        "type": "object",
        "properties": {
            "resourceVersion": {"type": "string", "description": "The version of the list, to watch from."},
            "continue": {"type": "string", "description": "Gets the next page, where there is one."},
            "remainingItemCount": {
                "type": "integer",
                "format": "int64",
                "description": "How many objects the next pages have, where that is known.",
            },
        },
    })
}

/// Makes a schema what Kubernetes' clients expect: full names, one type with the values of an enum, and neither defaults
/// nor nulls, which say nothing here but that a field may be left out.
fn plain(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    for word in ["default", "title", "$schema", "nullable"] {
        object.remove(word);
    }
    if let Some(Value::String(description)) = object.get_mut("description") {
        *description = one_line_each(description);
    }
    let is_null = |case: &Value| case.get("enum") == Some(&json!([null]));
    if let Some(Value::Array(mut cases)) = object.remove("anyOf") {
        cases.retain(|case| !is_null(case));
        object.insert(if cases.len() == 1 { "allOf" } else { "anyOf" }.to_owned(), Value::Array(cases));
    }
    if let Some(Value::String(reference)) = object.get_mut("$ref")
        && let Some(short) = reference.strip_prefix(PREFIX)
    {
        *reference = format!("{PREFIX}{}", full_name(short));
    }
    if let Some(values) = object.get("oneOf").and_then(Value::as_array).and_then(|cases| enum_values(cases)) {
        object.remove("oneOf");
        object.insert("type".to_owned(), "string".into());
        object.insert("enum".to_owned(), values);
    }
    for (word, inner) in object.iter_mut() {
        match (&**word, inner) {
            ("properties", Value::Object(fields)) => fields.values_mut().for_each(plain),
            ("items" | "additionalProperties", inner) => plain(inner),
            ("allOf" | "anyOf" | "oneOf", Value::Array(cases)) => cases.iter_mut().for_each(plain),
            _ => {}
        }
    }
}

/// Puts the values of an enum where it is used, as Kubernetes does: `kubectl explain` shows them there alone.
fn inline_enums(all: &mut Map<String, Value>) {
    let is_enum = |schema: &Value| schema.get("enum").is_some() && schema.get("properties").is_none();
    let enums: Map<String, Value> =
        all.iter().filter(|(_, schema)| is_enum(schema)).map(|(name, schema)| (name.clone(), schema.clone())).collect();
    all.retain(|name, _| !enums.contains_key(name));
    let fields = all.values_mut().filter_map(|schema| schema.get_mut("properties")?.as_object_mut());
    for field in fields.flat_map(Map::values_mut) {
        let Some(of) = super::structure::reference(field).and_then(|name| enums.get(name)).cloned() else { continue };
        let Value::Object(field) = field else { continue };
        field.retain(|word, _| word == "description");
        for (word, value) in of.as_object().into_iter().flatten() {
            field.entry(word.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// Paragraphs on one line each: those who show them break lines themselves.
fn one_line_each(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// The values of the cases, where each is of strings.
fn enum_values(cases: &[Value]) -> Option<Value> {
    let mut values = Vec::new();
    for case in cases {
        values.extend_from_slice(case.get("enum")?.as_array()?);
    }
    Some(Value::Array(values))
}
