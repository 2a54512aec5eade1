//! The metadata that every object has.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Metadata that all persisted resources must have.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    /// The name, unique within its namespace at one time. It can't be changed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// A prefix that the server completes to a free name, where no name is given.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub generate_name: String,
    /// The namespace that the object is in. It can't be changed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Tells objects apart that had the same name at different times. Set by the server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The version of the object: opaque, for comparisons and to watch from. An update must bring the one it saw.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Moves when what is desired changes: the spec, or the files. Set by the server.
    #[serde(skip_serializing_if = "is_zero")]
    pub generation: i64,
    /// When the object was made, in RFC 3339. Set by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub creation_timestamp: Option<String>,
    /// When deletion was asked for, in RFC 3339. The object goes when its list of finalizers is empty. Set by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub deletion_timestamp: Option<String>,
    /// How long deletion may take, in seconds. Set by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_grace_period_seconds: Option<i64>,
    /// Keys and values that objects are selected by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Keys and values that tools keep with an object.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Must be empty before the object goes. Each entry names who takes it away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub finalizers: Vec<String>,
    /// The objects that this one depends on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["uid"]))]
    pub owner_references: Vec<OwnerReference>,
    /// Who set which field: for server-side apply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub managed_fields: Vec<ManagedFieldsEntry>,
    /// Deprecated; never set.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub self_link: String,
}

/// An object that another one depends on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// Its group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Whether this is the one that manages the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether the owner stays until the object is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

/// The fields that one manager has set.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedFieldsEntry {
    /// Who.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub manager: String,
    /// `Apply` or `Update`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operation: String,
    /// In which version of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// When, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub time: Option<String>,
    /// The format of `fieldsV1`: `FieldsV1`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fields_type: String,
    /// The fields, as a tree of `f:NAME`, `k:KEYS`, `v:VALUE` and `.`.
    #[serde(rename = "fieldsV1", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    pub fields_v1: Option<Value>,
    /// Through which subresource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(super) fn is_zero(number: &i64) -> bool {
    *number == 0
}
