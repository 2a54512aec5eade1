//! The objects and verbs of the Kubernetes API: PackageRevision, PackageRevisionResources, Event.
