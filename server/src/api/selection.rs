//! Which objects a list or a watch is of.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use portico_scheduler::model::Revision;
use serde_json::Value;

use super::cache::Entry;
use super::document::Document;
use super::request::Query;
use super::status::Status;
use super::types::Kind;
use crate::schema::select::{FieldSelector, LabelSelector, package_label};

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
        if self.fields.is_empty() {
            return self.may_have(revision);
        }
        self.may_have(revision) && {
            let document = Document::of(revision);
            let names = (&*document.package_name, &*document.workspace_name, document.revision);
            self.has_fields(revision, names)
        }
    }

    /// Whether this one is, whose names are known.
    pub(super) fn has_entry(&self, entry: &Entry) -> bool {
        let names = (&*entry.package.name, &*entry.workspace, entry.number);
        self.may_have(&entry.revision) && self.has_fields(&entry.revision, names)
    }

    /// Whether all holds that nothing need be decoded for.
    fn may_have(&self, revision: &Revision) -> bool {
        let named = self.fields.exactly("metadata.name").is_none_or(|name| *name == *revision.key.name);
        let here = self.namespace.as_ref().is_none_or(|namespace| *namespace == revision.key.namespace);
        named && here && self.labels.matches(&revision.labels)
    }

    fn has_fields(&self, revision: &Revision, (package, workspace, number): (&str, &str, i64)) -> bool {
        if self.fields.is_empty() {
            return true;
        }
        let document = LazyCell::new(|| Document::of(revision));
        self.fields.matches(|field| match field {
            "metadata.name" => Cow::Borrowed(&*revision.key.name),
            "metadata.namespace" => Cow::Borrowed(&*revision.key.namespace),
            "spec.packageName" => Cow::Borrowed(package),
            "spec.repository" => Cow::Borrowed(&*revision.repository),
            "spec.workspaceName" => Cow::Borrowed(workspace),
            "spec.revision" => Cow::Owned(number.to_string()),
            "spec.lifecycle" => Cow::Owned(format!("{:?}", revision.lifecycle)),
            _ => {
                let labels = document.package_metadata.as_ref().map(|metadata| &metadata.labels);
                let value = package_label(field).and_then(|key| labels?.get(key));
                Cow::Owned(value.cloned().unwrap_or_default())
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
        assert!(
            Selection::of(
                Kind::PackageRevision,
                None,
                &Query { fields: "spec.packageName=net/core".into(), ..Query::default() }
            )
            .unwrap()
            .has_entry(&Entry::sample())
        );
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
