//! The fields of a Kptfile as values.

use std::collections::BTreeMap;

use super::view::View;
use crate::Selector;
use crate::resource::string_value;
use crate::yaml::NodeId;

/// `metadata` of a Kptfile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Name of the package.
    pub name: String,
    /// Rarely set.
    pub namespace: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations; some change how a render works.
    pub annotations: BTreeMap<String, String>,
}

/// Where a package came from, as its author wrote it: `upstream`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Upstream {
    /// `git` or `generic`.
    pub origin: String,
    /// The Git source.
    pub git: Option<Git>,
    /// `resource-merge`, `fast-forward`, `force-delete-replace` or `copy-merge`.
    pub update_strategy: String,
}

/// Where a package came from, resolved: `upstreamLock`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamLock {
    /// `git` or `generic`.
    pub origin: String,
    /// The Git source, with its commit.
    pub git: Option<Git>,
    /// Another store.
    pub generic: Option<Generic>,
}

/// A place in a Git repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Git {
    /// URL of the repository.
    pub repo: String,
    /// Directory in it.
    pub directory: String,
    /// Branch, tag or commit.
    pub reference: String,
    /// The commit that was fetched; only in `upstreamLock`.
    pub commit: String,
}

/// A package in another store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generic {
    /// Kind of store.
    pub store_id: String,
    /// The package in it.
    pub resource_id: String,
    /// The version that was fetched.
    pub resource_version: String,
}

/// What people should know about a package: `info`. A render only carries it along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Web page.
    pub site: String,
    /// Authors.
    pub emails: Vec<String>,
    /// SPDX identifier.
    pub license: String,
    /// File with the licence.
    pub license_file: String,
    /// What it is.
    pub description: String,
    /// Words to find it by.
    pub keywords: Vec<String>,
    /// File with its documentation.
    pub man: String,
    /// Condition types that must be true before the package counts as ready.
    pub readiness_gates: Vec<String>,
}

/// The functions of a package: `pipeline`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// Functions that change resources, in order.
    pub mutators: Vec<Function>,
    /// Functions that look at the result, in order.
    pub validators: Vec<Function>,
}

impl Pipeline {
    /// True without any function.
    pub fn is_empty(&self) -> bool {
        self.mutators.is_empty() && self.validators.is_empty()
    }
}

/// One function of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// The image as it is written; empty when `exec` is used.
    pub image: String,
    /// A command line; empty when `image` is used.
    pub exec: String,
    /// File of the functionConfig, relative to the package; empty for none.
    pub config_path: String,
    /// Entries of a functionConfig of kind `ConfigMap`, in the order of the file.
    pub config_map: Vec<(String, String)>,
    /// Label for people and merges.
    pub name: String,
    /// Tag, or a version constraint that selects one; empty for the image's own.
    pub tag: String,
    /// Which resources it gets; all when empty.
    pub selectors: Vec<Selector>,
    /// Which it does not get.
    pub exclude: Vec<Selector>,
    /// A CEL expression that says whether it runs; empty for always. See [`super::Experiments`].
    pub condition: String,
}

/// What `kpt live` keeps: `inventory`. A render only carries it along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Namespace of the inventory object.
    pub namespace: String,
    /// Name of the inventory object.
    pub name: String,
    /// Its id in the cluster.
    pub inventory_id: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// Reads values from a tree that [`super::decode`] has checked.
impl View<'_> {
    pub(super) fn text(&self, map: NodeId, key: &str) -> String {
        self.get(map, key).map_or(String::new(), |id| string_value(self.tree, id).to_owned())
    }

    /// The value of a key unless it is missing or null.
    pub(super) fn section(&self, map: NodeId, key: &str) -> Option<NodeId> {
        self.get(map, key).filter(|id| !self.tree.is_null(*id))
    }

    fn texts(&self, map: NodeId, key: &str) -> Vec<String> {
        let elements = self.section(map, key).map(|id| self.elements(id)).unwrap_or_default();
        elements.into_iter().map(|id| string_value(self.tree, id).to_owned()).collect()
    }

    pub(super) fn pairs(&self, map: NodeId, key: &str) -> Vec<(String, String)> {
        let entries = self.section(map, key).map(|id| self.entries(id)).unwrap_or_default();
        let owned = |(key, value)| (self.tree.text(key).to_owned(), string_value(self.tree, value).to_owned());
        entries.into_iter().map(owned).collect()
    }

    fn strings(&self, map: NodeId, key: &str) -> BTreeMap<String, String> {
        self.pairs(map, key).into_iter().collect()
    }

    /// The elements of a list of mappings.
    fn list<T>(&self, map: NodeId, key: &str, read: impl Fn(NodeId) -> T) -> Vec<T> {
        let elements = self.section(map, key).map(|id| self.elements(id)).unwrap_or_default();
        elements.into_iter().map(read).collect()
    }

    pub(super) fn metadata(&self, root: NodeId) -> Metadata {
        let Some(map) = self.section(root, "metadata") else { return Metadata::default() };
        Metadata {
            name: self.text(map, "name"),
            namespace: self.text(map, "namespace"),
            labels: self.strings(map, "labels"),
            annotations: self.strings(map, "annotations"),
        }
    }

    pub(super) fn upstream(&self, root: NodeId) -> Option<Upstream> {
        let map = self.section(root, "upstream")?;
        Some(Upstream {
            origin: self.text(map, "type"),
            git: self.git(map),
            update_strategy: self.text(map, "updateStrategy"),
        })
    }

    pub(super) fn upstream_lock(&self, root: NodeId) -> Option<UpstreamLock> {
        let map = self.section(root, "upstreamLock")?;
        let generic = self.section(map, "generic").map(|map| Generic {
            store_id: self.text(map, "storeID"),
            resource_id: self.text(map, "resourceID"),
            resource_version: self.text(map, "resourceVersion"),
        });
        Some(UpstreamLock { origin: self.text(map, "type"), git: self.git(map), generic })
    }

    fn git(&self, map: NodeId) -> Option<Git> {
        let map = self.section(map, "git")?;
        Some(Git {
            repo: self.text(map, "repo"),
            directory: self.text(map, "directory"),
            reference: self.text(map, "ref"),
            commit: self.text(map, "commit"),
        })
    }

    pub(super) fn info(&self, root: NodeId) -> Option<Info> {
        let map = self.section(root, "info")?;
        Some(Info {
            site: self.text(map, "site"),
            emails: self.texts(map, "emails"),
            license: self.text(map, "license"),
            license_file: self.text(map, "licenseFile"),
            description: self.text(map, "description"),
            keywords: self.texts(map, "keywords"),
            man: self.text(map, "man"),
            readiness_gates: self.list(map, "readinessGates", |gate| self.text(gate, "conditionType")),
        })
    }

    pub(super) fn pipeline(&self, root: NodeId) -> Pipeline {
        let Some(map) = self.section(root, "pipeline") else { return Pipeline::default() };
        Pipeline {
            mutators: self.list(map, "mutators", |id| self.function(id)),
            validators: self.list(map, "validators", |id| self.function(id)),
        }
    }

    fn function(&self, map: NodeId) -> Function {
        Function {
            image: self.text(map, "image"),
            exec: self.text(map, "exec"),
            config_path: self.text(map, "configPath"),
            config_map: self.pairs(map, "configMap"),
            name: self.text(map, "name"),
            tag: self.text(map, "tag"),
            selectors: self.list(map, "selectors", |id| self.selector(id)),
            exclude: self.list(map, "exclude", |id| self.selector(id)),
            condition: self.text(map, "condition"),
        }
    }

    fn selector(&self, map: NodeId) -> Selector {
        Selector {
            api_version: self.text(map, "apiVersion"),
            kind: self.text(map, "kind"),
            name: self.text(map, "name"),
            namespace: self.text(map, "namespace"),
            labels: self.strings(map, "labels"),
            annotations: self.strings(map, "annotations"),
        }
    }

    pub(super) fn inventory(&self, root: NodeId) -> Option<Inventory> {
        let map = self.section(root, "inventory")?;
        Some(Inventory {
            namespace: self.text(map, "namespace"),
            name: self.text(map, "name"),
            inventory_id: self.text(map, "inventoryID"),
            labels: self.strings(map, "labels"),
            annotations: self.strings(map, "annotations"),
        })
    }
}
