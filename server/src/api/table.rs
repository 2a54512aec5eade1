//! Tables: what `kubectl get` shows.

use portico_scheduler::events::RenderEvent;
use portico_scheduler::model::Revision;
use serde_json::{Value, json};

use super::convert;
use super::document::Document;
use super::time;
use super::types::{Kind, LATEST_REVISION};

/// A column: name, type, format, whether it is shown only with `-o wide`, what it says.
type Column = (&'static str, &'static str, &'static str, bool, &'static str);

const NAME: Column = ("Name", "string", "name", false, "The object's name.");
const AGE: Column = ("Age", "string", "", false, "How long ago it was made.");

const REVISIONS: &[Column] = &[
    NAME,
    ("Package", "string", "", false, "The package."),
    ("Workspace", "string", "", false, "What tells the revisions of the package apart."),
    ("Revision", "string", "", false, "The number among the published ones."),
    ("Lifecycle", "string", "", false, "Draft, Proposed, Published or DeletionProposed."),
    ("Rendered", "string", "", false, "True, False, Scheduled or Rendering."),
    AGE,
    ("Latest", "string", "", true, "Whether it is the newest published one of the package."),
    ("Repository", "string", "", true, "The repository."),
    ("Reason", "string", "", true, "Why the render stands as it does, in one word."),
    ("Message", "string", "", true, "Why, in words."),
];

const RESOURCES: &[Column] = &[
    NAME,
    ("Package", "string", "", false, "The package."),
    ("Workspace", "string", "", false, "What tells the revisions of the package apart."),
    ("Revision", "string", "", false, "The number among the published ones."),
    ("Files", "integer", "", false, "How many files there are."),
    AGE,
    ("Repository", "string", "", true, "The repository."),
];

const EVENTS: &[Column] = &[
    ("Last Seen", "string", "", false, "When it happened last."),
    ("Type", "string", "", false, "Normal or Warning."),
    ("Reason", "string", "", false, "What happened, in one word."),
    ("Object", "string", "", false, "What it is about."),
    ("Message", "string", "", false, "What happened, in words."),
    ("Source", "string", "", true, "Who tells of it."),
    ("First Seen", "string", "", true, "When it happened first."),
    ("Count", "string", "", true, "How often it happened."),
    ("Name", "string", "name", true, "The event's name."),
];

const NAMESPACES: &[Column] = &[NAME, ("Status", "string", "", false, "Active."), AGE];

/// The columns of a kind's table.
pub(super) fn columns(kind: Kind) -> Value {
    let columns = match kind {
        Kind::PackageRevision => REVISIONS,
        Kind::PackageRevisionResources => RESOURCES,
        Kind::CoreEvent | Kind::Event => EVENTS,
        Kind::Namespace => NAMESPACES,
    };
    let shown = columns.iter().map(|(name, kind, format, wide, description)| {
        let priority = i32::from(*wide);
        json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority})
    });
    shown.collect()
}

/// The cells of a package revision.
pub(super) fn revision(revision: &Revision, document: &Document, now_ms: u64) -> Value {
    // One line: a table has no room for more.
    let (reason, message) = convert::rendered_why(revision);
    let message = message.lines().next().unwrap_or_default();
    let message = &message[..message.floor_char_boundary(120)];
    json!([
        &*revision.key.name,
        document.package_name,
        document.workspace_name,
        number(document.revision),
        format!("{:?}", revision.lifecycle),
        convert::rendered(revision),
        time::age(revision.created_ms, now_ms),
        revision.labels.get(LATEST_REVISION).map_or("false", |value| value),
        &*revision.repository,
        reason,
        message,
    ])
}

/// The cells of a package revision's resources.
pub(super) fn resources(revision: &Revision, document: &Document, files: usize, now_ms: u64) -> Value {
    json!([
        &*revision.key.name,
        document.package_name,
        document.workspace_name,
        number(document.revision),
        files,
        time::age(revision.created_ms, now_ms),
        &*revision.repository,
    ])
}

/// The cells of an event.
pub(super) fn event(event: &RenderEvent, name: &str, component: &str, now_ms: u64) -> Value {
    json!([
        time::age(event.last_ms, now_ms),
        event.kind.as_str(),
        event.reason.as_str(),
        format!("packagerevision/{}", event.regarding.name),
        &*event.note,
        component,
        time::age(event.first_ms, now_ms),
        event.count.to_string(),
        name,
    ])
}

/// The cells of a namespace.
pub(super) fn namespace(name: &str, since_ms: u64, now_ms: u64) -> Value {
    json!([name, "Active", time::age(since_ms, now_ms)])
}

/// Empty before it is published.
fn number(revision: i64) -> String {
    if revision == 0 { String::new() } else { revision.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_as_many_cells_as_there_are_columns() {
        let count = |value: &Value| value.as_array().unwrap().len();
        let sample = super::super::convert::tests::sample();
        let document = Document::of(&sample);
        assert_eq!(count(&columns(Kind::PackageRevision)), count(&revision(&sample, &document, 0)));
        assert_eq!(count(&columns(Kind::PackageRevisionResources)), count(&resources(&sample, &document, 1, 0)));
        assert_eq!(count(&columns(Kind::Namespace)), count(&namespace("a", 0, 0)));
    }
}
