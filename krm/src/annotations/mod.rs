//! The annotations that an orchestrator and its functions exchange, and the rules for keeping them.
//!
//! A resource on its way through a pipeline says in its annotations where it came from: file, place in the file,
//! package. The names exist twice, as today's `internal.config.kubernetes.io/…` and as older names that functions still
//! use; [`mirror`] keeps the two in step. None of them reaches a user's file: [`Resource::strip_internal`].

use crate::Resource;
use crate::yaml::SeqStyle;

pub mod mirror;

/// Slash path of the file that holds the resource, relative to its package.
pub const PATH: &str = "internal.config.kubernetes.io/path";
/// The older name of [`PATH`].
pub const LEGACY_PATH: &str = "config.kubernetes.io/path";
/// Place among the documents of the file, from 0.
pub const INDEX: &str = "internal.config.kubernetes.io/index";
/// The older name of [`INDEX`].
pub const LEGACY_INDEX: &str = "config.kubernetes.io/index";
/// Names a resource for the length of one function call, so that comments can be carried over.
pub const ID: &str = "internal.config.kubernetes.io/id";
/// The older name of [`ID`].
pub const LEGACY_ID: &str = "config.k8s.io/id";
/// Absolute directory of the package that owns the resource.
pub const PACKAGE_PATH: &str = "internal.config.kubernetes.io/package-path";
/// `compact` or `wide`: how the sequences of the resource's document were indented.
pub const SEQ_INDENT: &str = "internal.config.kubernetes.io/seqindent";
/// Position of the resource in a function's input, from 0; lets the path and index pairs be reconciled afterwards.
pub const MIGRATION_ID: &str = "internal.config.kubernetes.io/annotations-migration-resource-id";
/// Position of the resource in the whole list when a function sees only a selection of it.
pub const KPT_RESOURCE_ID: &str = "internal.config.kubernetes.io/kpt-resource-id";
/// `true` marks a resource that is not meant for a cluster.
pub const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";
/// Where Config Connector resources record the tools that made them.
pub const CNRM_BLUEPRINT: &str = "cnrm.cloud.google.com/blueprint";
/// On the root Kptfile: `true` asks to write what was reached when a render fails.
pub const SAVE_ON_RENDER_FAILURE: &str = "kpt.dev/save-on-render-failure";
/// On the root Kptfile: `true` asks for the top-down order.
pub const BFS_RENDERING: &str = "kpt.dev/bfs-rendering";

/// What [`Resource::strip_internal`] removes.
const INTERNAL: [&str; 10] =
    [PATH, LEGACY_PATH, INDEX, LEGACY_INDEX, SEQ_INDENT, PACKAGE_PATH, MIGRATION_ID, KPT_RESOURCE_ID, ID, LEGACY_ID];

/// True for the annotations that only travel between an orchestrator and its functions: no user ever writes them.
pub fn is_internal(key: &str) -> bool {
    INTERNAL.contains(&key)
}

/// Where a resource was read from.
#[derive(Clone, Debug)]
pub struct Origin<'a> {
    /// Slash path of the file, relative to the package.
    pub path: &'a str,
    /// Place among the kept documents of the file, from 0.
    pub index: usize,
    /// Absolute directory of the package.
    pub package_path: &'a str,
    /// Indentation of the document's sequences.
    pub sequences: SeqStyle,
}

impl Resource {
    /// Adds the annotations of a freshly read resource, in the order and spelling that kpt gives them.
    pub fn stamp_origin(&mut self, origin: &Origin<'_>) {
        mirror::fill_missing(self);
        let index = origin.index.to_string();
        self.set_annotation(LEGACY_INDEX, &index);
        self.set_annotation(LEGACY_PATH, origin.path);
        self.set_annotation(INDEX, &index);
        self.set_annotation(PACKAGE_PATH, origin.package_path);
        self.set_annotation(PATH, origin.path);
        let style = match origin.sequences {
            SeqStyle::Compact => "compact",
            SeqStyle::Wide => "wide",
        };
        self.set_annotation(SEQ_INDENT, style);
    }

    /// The file of the resource: the internal annotation, else the older one; `None` when both are missing.
    pub fn path(&self) -> Option<&str> {
        self.annotation(PATH).or_else(|| self.annotation(LEGACY_PATH))
    }

    /// The place in the file as it is written: the internal annotation, else the older one.
    pub fn index(&self) -> Option<&str> {
        self.annotation(INDEX).or_else(|| self.annotation(LEGACY_INDEX))
    }

    /// The id of this call: the internal annotation, else the older one.
    pub fn id(&self) -> Option<&str> {
        self.annotation(ID).or_else(|| self.annotation(LEGACY_ID))
    }

    /// The directory of the owning package.
    pub fn package_path(&self) -> Option<&str> {
        self.annotation(PACKAGE_PATH)
    }

    /// The sequence style that the document had; compact when nothing says otherwise.
    pub fn seq_style(&self) -> SeqStyle {
        match self.annotation(SEQ_INDENT) {
            Some("wide") => SeqStyle::Wide,
            _ => SeqStyle::Compact,
        }
    }

    /// Sets path in both spellings.
    pub fn set_path(&mut self, path: &str) {
        self.set_annotation(PATH, path);
        self.set_annotation(LEGACY_PATH, path);
    }

    /// Sets the call id in both spellings.
    pub fn set_id(&mut self, id: &str) {
        self.set_annotation(ID, id);
        self.set_annotation(LEGACY_ID, id);
    }

    /// Removes the call id in both spellings.
    pub fn clear_id(&mut self) {
        self.remove_annotation(ID);
        self.remove_annotation(LEGACY_ID);
    }

    /// Removes every annotation that must not reach a user's file, then what became or was empty: `annotations`, and
    /// `metadata` with nothing in it.
    pub fn strip_internal(&mut self) {
        self.remove_annotations(|key| INTERNAL.contains(&key));
        self.clear_empty_annotations();
    }

    /// Records a function as one of the tools that made a Config Connector resource. Resources of other kinds stay.
    pub fn attribute_to_functions(&mut self) {
        if !self.api_version().contains(".cnrm.") {
            return;
        }
        let new = match self.annotation(CNRM_BLUEPRINT) {
            None | Some("") => "krm-fn".to_owned(),
            Some(old) => blueprint(old),
        };
        self.set_annotation(CNRM_BLUEPRINT, &new);
    }
}

/// Adds `fn` to the value of [`CNRM_BLUEPRINT`]: the part `krm-…` lists what acted on the resource, in fixed order.
fn blueprint(old: &str) -> String {
    let Some((before, actors, after)) = krm_part(old) else {
        return format!("{old},krm-fn");
    };
    let has = |actor: &str| actors.split('-').any(|a| a == actor);
    let mut part = "krm".to_owned();
    for actor in ["pkg", "fn", "live"] {
        if actor == "fn" || has(actor) {
            part.push('-');
            part.push_str(actor);
        }
    }
    format!("{before}{part}{after}")
}

/// Splits a comma list at its first `krm-…` part: text before it, the names behind `krm-`, text after it.
fn krm_part(value: &str) -> Option<(&str, &str, &str)> {
    let mut start = 0;
    for part in value.split(',') {
        let end = start + part.len();
        if let Some(actors) = part.strip_prefix("krm-") {
            return Some((&value[..start], actors, &value[end..]));
        }
        start = end + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::testing::resource;

    #[test]
    fn the_reader_annotates_in_the_order_of_kpt() {
        let mut r = resource("v1", "ConfigMap", "a");
        r.set_annotation("mine", "x");
        r.stamp_origin(&Origin { path: "a.yaml", index: 0, package_path: "/p", sequences: SeqStyle::Wide });
        let keys: Vec<&str> = r.annotations().map(|(k, _)| k).collect();
        assert_eq!(keys, ["mine", LEGACY_INDEX, LEGACY_PATH, INDEX, PACKAGE_PATH, PATH, SEQ_INDENT]);
        assert_eq!((r.path(), r.index(), r.package_path()), (Some("a.yaml"), Some("0"), Some("/p")));
        assert_eq!(r.seq_style(), SeqStyle::Wide);
    }

    #[test]
    fn annotations_on_disk_are_overwritten_by_the_reader() {
        let mut r = resource("v1", "ConfigMap", "a");
        r.set_annotation(LEGACY_PATH, "elsewhere.yaml");
        r.stamp_origin(&Origin { path: "a.yaml", index: 2, package_path: "/p", sequences: SeqStyle::Compact });
        assert_eq!(r.annotation(LEGACY_PATH), Some("a.yaml"));
        assert_eq!(r.annotation(PATH), Some("a.yaml"));
        assert_eq!(r.annotation(LEGACY_INDEX), Some("2"));
    }

    #[test]
    fn stripping_removes_only_internal_annotations() {
        let mut r = resource("v1", "ConfigMap", "a");
        r.set_annotation("mine", "x");
        r.stamp_origin(&Origin { path: "a.yaml", index: 0, package_path: "/p", sequences: SeqStyle::Compact });
        r.set_id("1");
        r.set_annotation(MIGRATION_ID, "0");
        r.set_annotation(KPT_RESOURCE_ID, "0");
        r.strip_internal();
        assert_eq!(r.annotations().collect::<Vec<_>>(), [("mine", "x")]);
    }

    #[test]
    fn stripping_removes_annotations_and_metadata_that_became_empty() {
        let mut r = resource("v1", "ConfigMap", "a");
        r.set_path("a.yaml");
        r.strip_internal();
        assert!(r.tree.get_path(r.tree.root(), &["metadata", "annotations"]).is_none());
        assert!(r.tree.get_path(r.tree.root(), &["metadata", "name"]).is_some());

        let mut r = resource("v1", "ConfigMap", "a");
        let (root, metadata) = (r.tree.root(), r.tree.get(r.tree.root(), "metadata"));
        r.tree.remove(metadata.expect("there"), "name");
        r.strip_internal();
        assert!(r.tree.get(root, "metadata").is_none());
    }

    #[test]
    fn the_blueprint_annotation_gets_fn_once_and_in_order() {
        for (old, new) in [
            ("krm-pkg", "krm-pkg-fn"),
            ("krm-live", "krm-fn-live"),
            ("krm-pkg-fn", "krm-pkg-fn"),
            ("cnrm/sample:v1", "cnrm/sample:v1,krm-fn"),
            ("cnrm/sample:v1,krm-live-pkg,other", "cnrm/sample:v1,krm-pkg-fn-live,other"),
        ] {
            assert_eq!(blueprint(old), new, "{old}");
        }
        let mut r = resource("storage.cnrm.cloud.google.com/v1beta1", "StorageBucket", "a");
        r.attribute_to_functions();
        assert_eq!(r.annotation(CNRM_BLUEPRINT), Some("krm-fn"));
        let mut r = resource("v1", "ConfigMap", "a");
        r.attribute_to_functions();
        assert_eq!(r.annotation(CNRM_BLUEPRINT), None);
    }
}
