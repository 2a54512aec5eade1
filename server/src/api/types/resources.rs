//! `PackageRevisionResources`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ObjectMeta;
use super::meta::is_zero;

/// The files of a package revision of the same name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageRevisionResources {
    /// The version of the schema: `porch.kpt.dev/v1alpha1`.
    pub api_version: String,
    /// The kind of object: `PackageRevisionResources`.
    pub kind: String,
    /// Standard object metadata. Labels are those of the package revision, and are changed there; annotations are this
    /// object's own.
    pub metadata: ObjectMeta,
    /// The files.
    pub spec: PackageRevisionResourcesSpec,
    /// What became of their render. Set by the server.
    pub status: PackageRevisionResourcesStatus,
}

/// The files of a package revision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageRevisionResourcesSpec {
    /// The package. Set by the server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub package_name: String,
    /// The workspace. Set by the server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub workspace_name: String,
    /// The number of the revision among the published ones; 0 before. Set by the server.
    #[serde(skip_serializing_if = "is_zero")]
    pub revision: i64,
    /// The repository. Set by the server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub repository: String,
    /// The files: path to content. Slashes separate folders; no path begins with one. Files that are no text stand in the
    /// annotation `portico.dev/binary-files`. Each write that brings other files asks for a render.
    pub resources: BTreeMap<String, String>,
}

/// What became of the render of the files.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageRevisionResourcesStatus {
    /// The last render of these files; empty while one is scheduled or runs.
    pub render_status: RenderStatus,
}

/// How a render ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RenderStatus {
    /// What the functions said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<RenderResultList>,
    /// Why it failed; empty where it did not.
    #[serde(skip_serializing_if = "String::is_empty", rename = "error")]
    pub error: String,
}

/// What the functions of a render said: kpt's `FunctionResultList`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RenderResultList {
    /// `kpt.dev/v1`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// `FunctionResultList`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// 0 where all went well.
    pub exit_code: i64,
    /// One entry a function, in the order in which they ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub items: Vec<RenderResult>,
}

/// What one function said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RenderResult {
    /// The function's image.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// The function's executable.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub exec: String,
    /// What it wrote to standard error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// How it ended: 0 for success.
    pub exit_code: i64,
    /// Its results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub results: Vec<RenderResultItem>,
}

/// A result of a function.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RenderResultItem {
    /// What it says.
    pub message: String,
    /// `error`, `warning` or `info`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub severity: String,
    /// The resource that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_ref: Option<ResultReference>,
    /// The field that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<ResultField>,
    /// The file that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<ResultFile>,
    /// What the function adds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// The resource that a result is about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResultReference {
    /// Its group and version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Its kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// The field that a result is about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResultField {
    /// Its path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub current_value: Option<Value>,
    /// What it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub proposed_value: Option<Value>,
}

/// The file that a result is about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResultFile {
    /// Its path in the package.
    pub path: String,
    /// Which of the file's documents.
    #[serde(skip_serializing_if = "is_zero")]
    pub index: i64,
}
