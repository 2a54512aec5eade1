//! Which objects a list or a watch is of.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use portico_scheduler::model::Revision;
use serde_json::Value;

use super::document::Document;
use super::request::Query;
use super::status::Status;
use super::types::Kind;
use crate::schema::select::{FieldSelector, LabelSelector};

/// Which objects a list or a watch is of.
#[derive(Debug, Clone)]
pub(super) struct Selection {
    namespace: Option<Arc<str>>,
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    /// Of a namespace, or of all; by the selectors of a query.
    pub(super) fn of(kind: Kind, namespace: Option<&str>, query: &Query) -> Result<Self, Status> {
        let bad = |error: crate::schema::select::SelectError| Status::bad_request(error.to_string());
        Ok(Self {
            namespace: namespace.map(Into::into),
            labels: LabelSelector::parse(&query.labels).map_err(bad)?,
            fields: FieldSelector::parse(&query.fields, kind).map_err(bad)?,
        })
    }

    /// The namespace, if it is one.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Whether it is by selectors, and not all that there is.
    pub(super) fn selects(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }

    /// Whether this revision is of it.
    pub(super) fn has(&self, revision: &Revision) -> bool {
        let here = self.namespace.as_ref().is_none_or(|namespace| *namespace == revision.key.namespace);
        here && self.labels.matches(&revision.labels) && self.has_fields(revision)
    }

    fn has_fields(&self, revision: &Revision) -> bool {
        if self.fields.is_empty() {
            return true;
        }
        // Asked by name alone, as clients do that wait for one object, nothing need be decoded.
        if self.fields.exactly("metadata.name").is_some_and(|name| *name != *revision.key.name) {
            return false;
        }
        let document = Document::of(revision);
        self.fields.matches(|field| match field {
            "metadata.name" => (&*revision.key.name).into(),
            "metadata.namespace" => (&*revision.key.namespace).into(),
            "spec.packageName" => (&*document.package_name).into(),
            "spec.repository" => (&*revision.repository).into(),
            "spec.workspaceName" => (&*document.workspace_name).into(),
            "spec.revision" => document.revision.to_string().into(),
            "spec.lifecycle" => format!("{:?}", revision.lifecycle).into(),
            _ => {
                let labels = document.package_metadata.as_ref().map(|metadata| &metadata.labels);
                let value = crate::schema::select::package_label(field).and_then(|key| labels?.get(key));
                value.map_or(Cow::Borrowed(""), |value| Cow::Borrowed(value))
            }
        })
    }

    /// Whether the selectors choose this object, whose fields of that name they are about.
    pub(super) fn has_object(&self, object: &Value) -> bool {
        let labels: BTreeMap<String, String> =
            serde_json::from_value(object["metadata"]["labels"].clone()).unwrap_or_default();
        self.labels.matches(&labels)
            && self.fields.matches(|field| {
                // In `core/v1` it is told in two places.
                let field = if field == "source" { "source.component" } else { field };
                let found = field.split('.').try_fold(object, |value, name| value.get(name));
                found.and_then(Value::as_str).unwrap_or_default().into()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::super::convert::tests::sample;
    use super::*;

    fn has(kind: Kind, labels: &str, fields: &str) -> bool {
        let query = Query { labels: labels.into(), fields: fields.into(), ..Query::default() };
        Selection::of(kind, Some("ns"), &query).unwrap().has(&sample())
    }

    #[test]
    fn revisions_are_selected_by_labels_and_porchs_fields() {
        assert!(has(Kind::PackageRevision, "team=a", ""));
        assert!(!has(Kind::PackageRevision, "team!=a", ""));
        for fields in [
            "metadata.name=r.net.core.v1",
            "spec.packageName=net/core",
            "spec.repository==r",
            "spec.workspaceName!=v2",
            "spec.revision=0",
            "spec.lifecycle=Draft",
            "spec.packageMetadata.labels[app]!=x",
        ] {
            assert!(has(Kind::PackageRevision, "", fields), "{fields}");
        }
        assert!(!has(Kind::PackageRevision, "", "metadata.name=other"));
        assert!(!has(Kind::PackageRevision, "", "spec.lifecycle=Published"));
        let query = Query { fields: "status.x=y".into(), ..Query::default() };
        assert_eq!(Selection::of(Kind::PackageRevision, None, &query).unwrap_err().code, 400);
        let elsewhere = Selection::of(Kind::PackageRevision, Some("other"), &Query::default()).unwrap();
        assert!(!elsewhere.has(&sample()));
    }

    #[test]
    fn events_are_selected_by_their_fields() {
        let event =
            serde_json::json!({"involvedObject": {"name": "a"}, "source": {"component": "c"}, "type": "Normal"});
        let of = |fields: &str| {
            let query = Query { fields: fields.into(), ..Query::default() };
            Selection::of(Kind::CoreEvent, None, &query).unwrap().has_object(&event)
        };
        assert!(of("involvedObject.name=a,source=c,type!=Warning"));
        assert!(!of("involvedObject.uid=x"));
    }
}
