//! Typed configuration.

use std::collections::BTreeMap;

use portico_krm::Resource;
use portico_krm::yaml::{Kind, NodeId, ScalarType, Tree};
use serde::de::DeserializeOwned;

/// Reads a configuration object into a type; the error names the field, and the line where there is one.
pub fn decode<T: DeserializeOwned>(object: &Resource) -> Result<T, DecodeError> {
    portico_krm::yaml::from_tree(&object.tree, object.tree.root())
}

pub use portico_krm::yaml::DecodeError;

/// Reads a field of a configuration object as a map of strings, with the messages of Go's JSON decoder, which golden
/// files of the function catalog hold. `go_type` is the Go name of the type (`setlabels.SetLabels`).
pub fn go_string_map(object: &Resource, field: &str, go_type: &str) -> Result<BTreeMap<String, String>, String> {
    let tree = &object.tree;
    let Some(map) = tree.get(tree.root(), field).filter(|id| !tree.is_null(*id)) else {
        return Ok(BTreeMap::new());
    };
    let short = go_type.rsplit('.').next().unwrap_or(go_type);
    let refuse = |id: NodeId, want: &str| {
        format!(
            "unable to convert object to *{go_type} with error: json: cannot unmarshal {} into Go struct field \
             {short}.{field} of type {want}",
            go_json_kind(tree, id)
        )
    };
    if !tree.is_mapping(map) {
        return Err(refuse(map, "map[string]string"));
    }
    let mut out = BTreeMap::new();
    for (key, value) in tree.entries(map) {
        let text = match go_json_kind(tree, value) {
            "string" => tree.text(value),
            "null" => "",
            _ => return Err(refuse(value, "string")),
        };
        out.insert(tree.text(key).to_owned(), text.to_owned());
    }
    Ok(out)
}

/// What Go's JSON decoder calls a value.
fn go_json_kind(tree: &Tree, id: NodeId) -> &'static str {
    match tree.kind(id) {
        Kind::Mapping => "object",
        Kind::Sequence => "array",
        Kind::Alias => "string",
        Kind::Scalar => match tree.scalar_type(id) {
            ScalarType::Null => "null",
            ScalarType::Bool => "bool",
            ScalarType::Int | ScalarType::Float => "number",
            _ => "string",
        },
    }
}
