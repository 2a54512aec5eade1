//! What the API keeps of an object beside what the store knows: [`Revision::document`], as JSON.

use std::collections::BTreeMap;

use bytes::Bytes;
use portico_scheduler::model::Revision;
use serde::{Deserialize, Serialize};

use super::types::{Locator, ManagedFieldsEntry, OwnerReference, PackageMetadata, ReadinessGate, Task};

/// The rest of a package revision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Document {
    /// The package; empty in a revision that did not come through this API: then it is its name.
    pub(super) package_name: String,
    pub(super) workspace_name: String,
    /// The number among the published ones; 0 before.
    pub(super) revision: i64,
    pub(super) generation: i64,
    /// The object version that the last write of a client replaced: whoever has seen a later one has seen that write.
    pub(super) replaced: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) generate_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deletion_timestamp: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) finalizers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) owner_references: Vec<OwnerReference>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) managed_fields: Vec<ManagedFieldsEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tasks: Vec<Task>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) readiness_gates: Vec<ReadinessGate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) package_metadata: Option<PackageMetadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) upstream_lock: Option<Locator>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) published_by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) publish_timestamp: Option<String>,
    /// Of the `PackageRevisionResources`, whose annotations are its own: `kubectl apply` keeps what it applied last in one.
    #[serde(skip_serializing_if = "ResourcesDocument::is_empty")]
    pub(super) resources: ResourcesDocument,
}

/// The rest of a package revision's resources.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ResourcesDocument {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) managed_fields: Vec<ManagedFieldsEntry>,
}

impl ResourcesDocument {
    fn is_empty(&self) -> bool {
        self.annotations.is_empty() && self.managed_fields.is_empty()
    }
}

impl Document {
    /// That of a revision. What another program than this API has made, or damaged, reads as if nothing were there.
    pub(super) fn of(revision: &Revision) -> Self {
        let mut document: Self = if revision.document.is_empty() {
            Self::default()
        } else {
            serde_json::from_slice(&revision.document).unwrap_or_else(|error| {
                tracing::warn!(key = %revision.key, %error, "the API's document of a package revision can't be read");
                Self::default()
            })
        };
        if document.package_name.is_empty() {
            revision.key.name.as_ref().clone_into(&mut document.package_name);
        }
        document.generation = document.generation.max(1);
        document
    }

    /// As the store keeps it.
    pub(super) fn to_bytes(&self) -> Bytes {
        // Strings, numbers and maps with text keys: nothing that JSON could refuse.
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_it_has_written_and_leaves_out_what_is_empty() {
        let document = Document { package_name: "p".into(), generation: 3, revision: 2, ..Document::default() };
        let bytes = document.to_bytes();
        assert_eq!(serde_json::from_slice::<Document>(&bytes).unwrap(), document);
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        assert!(!text.contains("finalizers") && !text.contains("resources"), "{text}");
    }
}
