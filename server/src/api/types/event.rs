//! Events, in the two forms that Kubernetes has for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ObjectMeta;

/// A turning point in the life of a render, in the form of `core/v1`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreEvent {
    /// The version of the schema: `v1`.
    pub api_version: String,
    /// The kind of object: `Event`.
    pub kind: String,
    /// Standard object metadata.
    pub metadata: ObjectMeta,
    /// The object that it is about.
    pub involved_object: ObjectReference,
    /// What happened, in one word.
    pub reason: String,
    /// What happened, in words.
    pub message: String,
    /// Who tells of it.
    pub source: EventSource,
    /// When it happened first, in RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub first_timestamp: Option<String>,
    /// When it happened last, in RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub last_timestamp: Option<String>,
    /// How often it happened.
    pub count: u64,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub kind_of_event: String,
    /// When it happened first, in RFC 3339 with microseconds.
    #[schemars(extend("format" = "date-time"))]
    pub event_time: Option<String>,
    /// Its repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<EventSeries>,
    /// What was done to the object.
    pub action: String,
    /// Who tells of it.
    pub reporting_component: String,
    /// Which instance of them.
    pub reporting_instance: String,
}

/// A turning point in the life of a render, in the form of `events.k8s.io/v1`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Event {
    /// The version of the schema: `events.k8s.io/v1`.
    pub api_version: String,
    /// The kind of object: `Event`.
    pub kind: String,
    /// Standard object metadata.
    pub metadata: ObjectMeta,
    /// When it happened first, in RFC 3339 with microseconds.
    #[schemars(extend("format" = "date-time"))]
    pub event_time: Option<String>,
    /// Its repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<EventSeries>,
    /// Who tells of it.
    pub reporting_controller: String,
    /// Which instance of them.
    pub reporting_instance: String,
    /// What was done to the object.
    pub action: String,
    /// What happened, in one word.
    pub reason: String,
    /// The object that it is about.
    pub regarding: ObjectReference,
    /// What happened, in words.
    pub note: String,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub kind_of_event: String,
    /// Who tells of it, for older clients.
    pub deprecated_source: EventSource,
    /// When it happened first, for older clients.
    #[schemars(extend("format" = "date-time"))]
    pub deprecated_first_timestamp: Option<String>,
    /// When it happened last, for older clients.
    #[schemars(extend("format" = "date-time"))]
    pub deprecated_last_timestamp: Option<String>,
    /// How often it happened, for older clients.
    pub deprecated_count: u64,
}

/// The object that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// Its group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// Who tells of an event.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EventSource {
    /// The program.
    pub component: String,
}

/// The repetitions of an event.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EventSeries {
    /// How often it happened.
    pub count: u64,
    /// When it happened last, in RFC 3339 with microseconds.
    #[schemars(extend("format" = "date-time"))]
    pub last_observed_time: Option<String>,
}
