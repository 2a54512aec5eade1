//! The objects of the API, with Porch's and Kubernetes' field names. Their doc comments are what `kubectl explain` shows.

mod event;
mod meta;
mod resources;
mod revision;

use std::fmt;

pub use event::{CoreEvent, Event, EventSeries, EventSource, ObjectReference};
pub use meta::{ManagedFieldsEntry, ObjectMeta, OwnerReference};
pub use resources::{
    PackageRevisionResources, PackageRevisionResourcesSpec, PackageRevisionResourcesStatus, RenderResult,
    RenderResultItem, RenderResultList, RenderStatus, ResultField, ResultFile, ResultReference,
};
pub use revision::{
    Condition, GitLock, GitPackage, Lifecycle, Locator, NameReference, OciPackage, PackageCloneTask, PackageEditTask,
    PackageInitTask, PackageMetadata, PackageRevision, PackageRevisionSpec, PackageRevisionStatus, PackageUpgradeTask,
    ReadinessGate, Task, Upstream,
};

/// The group of Porch's objects.
pub const GROUP: &str = "porch.kpt.dev";

/// Its version.
pub const VERSION: &str = "v1alpha1";

/// Group and version as they stand in an object's `apiVersion`.
pub const API_VERSION: &str = "porch.kpt.dev/v1alpha1";

/// The label that the newest published revision of a package has, and no other.
pub const LATEST_REVISION: &str = "kpt.dev/latest-revision";

/// The annotation of a `PackageRevisionResources` that names the files that it can't show, as JSON: path to size in
/// bytes. They are not UTF-8; they stay in the package for as long as an update leaves this annotation as it is.
pub const BINARY_FILES: &str = "portico.dev/binary-files";

/// The kinds of objects that the API has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A package revision: names, lifecycle, conditions.
    PackageRevision,
    /// The files of a package revision.
    PackageRevisionResources,
    /// An event in `core/v1`.
    CoreEvent,
    /// An event in `events.k8s.io/v1`.
    Event,
    /// A namespace: one that has a package revision.
    Namespace,
}

impl Kind {
    /// The API group; empty for the core.
    pub fn group(self) -> &'static str {
        match self {
            Self::PackageRevision | Self::PackageRevisionResources => GROUP,
            Self::Event => "events.k8s.io",
            Self::CoreEvent | Self::Namespace => "",
        }
    }

    /// The version within the group.
    pub fn version(self) -> &'static str {
        match self {
            Self::PackageRevision | Self::PackageRevisionResources => VERSION,
            Self::Event | Self::CoreEvent | Self::Namespace => "v1",
        }
    }

    /// As it stands in an object's `apiVersion`.
    pub fn api_version(self) -> &'static str {
        match self {
            Self::PackageRevision | Self::PackageRevisionResources => API_VERSION,
            Self::Event => "events.k8s.io/v1",
            Self::CoreEvent | Self::Namespace => "v1",
        }
    }

    /// As it stands in an object's `kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::PackageRevision => "PackageRevision",
            Self::PackageRevisionResources => "PackageRevisionResources",
            Self::CoreEvent | Self::Event => "Event",
            Self::Namespace => "Namespace",
        }
    }

    /// As it stands in a path.
    pub fn plural(self) -> &'static str {
        match self {
            Self::PackageRevision => "packagerevisions",
            Self::PackageRevisionResources => "packagerevisionresources",
            Self::CoreEvent | Self::Event => "events",
            Self::Namespace => "namespaces",
        }
    }

    /// As `kind` of a list of them.
    pub fn list_name(self) -> &'static str {
        match self {
            Self::PackageRevision => "PackageRevisionList",
            Self::PackageRevisionResources => "PackageRevisionResourcesList",
            Self::CoreEvent | Self::Event => "EventList",
            Self::Namespace => "NamespaceList",
        }
    }

    /// The resource with its group, as Kubernetes names it in messages.
    pub fn qualified(self) -> String {
        match self.group() {
            "" => self.plural().to_owned(),
            group => format!("{}.{group}", self.plural()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
