//! `PackageRevision`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ObjectMeta;
use super::meta::is_zero;

/// A revision of a package: its names, its lifecycle and what became of its renders. Its files are the
/// `PackageRevisionResources` of the same name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageRevision {
    /// The version of the schema: `porch.kpt.dev/v1alpha1`.
    pub api_version: String,
    /// The kind of object: `PackageRevision`.
    pub kind: String,
    /// Standard object metadata.
    pub metadata: ObjectMeta,
    /// What is desired.
    pub spec: PackageRevisionSpec,
    /// What is so. Set by the server, except conditions of other types than `RenderFinished` and `Rendered`.
    pub status: PackageRevisionStatus,
}

/// What is desired of a package revision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageRevisionSpec {
    /// The package. Slashes separate folders. It can't be changed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub package_name: String,
    /// The repository that the package is in. It can't be changed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub repository: String,
    /// Tells the revisions of a package apart from the first draft on. It can't be changed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub workspace_name: String,
    /// The number of the revision among the published ones of its package, from 1 on; 0 before it is published. Set by
    /// the server.
    #[serde(skip_serializing_if = "is_zero")]
    pub revision: i64,
    /// Where the revision stands: `Draft`, `Proposed`, `Published` or `DeletionProposed`. A draft can be edited. To propose and to
    /// publish it needs a render that succeeded. Publishing, and going back to Draft, is done through the subresource
    /// `approval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<Lifecycle>,
    /// Where the content of a new revision comes from: at most one of them. Without one an empty package is made. It can't
    /// be changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub tasks: Vec<Task>,
    /// Conditions that are to be true before the revision is published. Checked by clients.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["conditionType"]))]
    pub readiness_gates: Vec<ReadinessGate>,
    /// Labels and annotations of the package, as its Kptfile had them when the files were written last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_metadata: Option<PackageMetadata>,
}

/// Where a revision stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Lifecycle {
    /// Can be edited; is rendered after each edit.
    Draft,
    /// Waits for approval.
    Proposed,
    /// Fixed.
    Published,
    /// Fixed, and may be deleted.
    DeletionProposed,
}

/// Where the content of a new revision comes from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Task {
    /// `init`, `clone`, `edit` or `upgrade`; the field of the same name says more.
    #[serde(rename = "type")]
    pub kind: String,
    /// An empty package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init: Option<PackageInitTask>,
    /// The content of a revision of another package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clone: Option<PackageCloneTask>,
    /// The content of a published revision of the same package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<PackageEditTask>,
    /// A merge with a newer revision of the upstream. Not supported by this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<PackageUpgradeTask>,
}

/// An empty package, as `kpt pkg init` makes it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageInitTask {
    /// The folder of a subpackage. Not supported by this server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subpackage: String,
    /// What the package is, in a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Words to find it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub keywords: Vec<String>,
    /// A web page about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub site: String,
}

/// The content of a revision of another package.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageCloneTask {
    /// Which.
    pub upstream_ref: Upstream,
    /// How later upgrades merge; kept, not used.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub strategy: String,
}

/// A package elsewhere.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Upstream {
    /// `git` or `oci`; empty with `upstreamRef`.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// A folder of a git repository. Not supported by this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitPackage>,
    /// An image of an OCI registry. Not supported by this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oci: Option<OciPackage>,
    /// A package revision of the same namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_ref: Option<NameReference>,
}

/// A folder of a git repository.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GitPackage {
    /// The repository's address.
    pub repo: String,
    /// A branch, tag or commit.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The folder.
    pub directory: String,
    /// The secret to read it with.
    pub secret_ref: NameReference,
}

/// An image of an OCI registry.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OciPackage {
    /// The image's address.
    pub image: String,
}

/// An object of the same namespace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NameReference {
    /// Its name.
    pub name: String,
}

/// The content of a published revision of the same package.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageEditTask {
    /// Which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<NameReference>,
}

/// A merge with a newer revision of the upstream.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageUpgradeTask {
    /// The upstream's revision that the package is of.
    pub old_upstream_ref: NameReference,
    /// The one that it is to be of.
    pub new_upstream_ref: NameReference,
    /// The package.
    pub local_package_revision_ref: NameReference,
    /// How to merge.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub strategy: String,
}

/// A condition that is to be true before the revision is published.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadinessGate {
    /// The condition's type.
    pub condition_type: String,
}

/// Labels and annotations of a package.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageMetadata {
    /// Labels of the Kptfile.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the Kptfile.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// What is so with a package revision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageRevisionStatus {
    /// Where the content came from, as the Kptfile says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_lock: Option<Locator>,
    /// Where the content is kept; of repositories elsewhere only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_lock: Option<Locator>,
    /// Who published it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub published_by: String,
    /// When it was published, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub publish_timestamp: Option<String>,
    /// Whether the repository is one that clusters are deployed from.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deployment: bool,
    /// `RenderFinished` and `Rendered` tell of the render of the newest content; others are the package's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When the status became what it is, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: Option<String>,
}

/// A place that content came from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Locator {
    /// The kind of place: `git`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A commit of a git repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitLock>,
}

/// A folder of a commit of a git repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GitLock {
    /// The repository's address.
    pub repo: String,
    /// The folder.
    pub directory: String,
    /// The branch or tag.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit.
    pub commit: String,
}
