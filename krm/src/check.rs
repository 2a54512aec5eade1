//! What every document of a package must have to be a resource.

use crate::paths;
use crate::resource::{Resource, string_value};
use crate::yaml::Tree;

/// A field that a resource must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// No `apiVersion`.
    #[error("resource must have `apiVersion`")]
    ApiVersion,
    /// No `kind`.
    #[error("resource must have `kind`")]
    Kind,
    /// No `metadata.name`.
    #[error("resource must have `metadata.name`")]
    Name,
}

/// A document that is no resource. [`std::fmt::Display`] gives kpt's text: `PATH: resource must have …`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {missing}")]
pub struct NotKrm {
    /// Path relative to the package; empty for a resource that a function made without one.
    pub path: String,
    /// Line of the document in its file or in the function's output, from 1.
    pub line: Option<u32>,
    /// Its place in the list, from 0.
    pub index: usize,
    /// The first field that is missing.
    pub missing: Missing,
}

impl NotKrm {
    /// Path, line and what is missing: `a.yaml:7: resource must have …`.
    pub fn located(&self) -> String {
        match (self.path.as_str(), self.line) {
            ("", None) => format!("item {}: {}", self.index, self.missing),
            ("", Some(line)) => format!("item {} at line {line}: {}", self.index, self.missing),
            (path, None) => format!("{path}: {}", self.missing),
            (path, Some(line)) => format!("{path}:{line}: {}", self.missing),
        }
    }
}

/// Checks a whole list. All documents that fail are named; kpt prints the first.
pub fn are_krm<'a>(resources: impl IntoIterator<Item = &'a Resource>) -> Result<(), Vec<NotKrm>> {
    let mut bad = Vec::new();
    for (index, resource) in resources.into_iter().enumerate() {
        if let Err(missing) = is_krm(resource) {
            let line = resource.tree.position(resource.root()).map(|at| at.line);
            bad.push(NotKrm { path: resource.path().unwrap_or_default().to_owned(), line, index, missing });
        }
    }
    if bad.is_empty() { Ok(()) } else { Err(bad) }
}

/// Checks one resource. Kustomize's files are exempt: they have no name.
pub fn is_krm(resource: &Resource) -> Result<(), Missing> {
    is_krm_tree(&resource.tree, resource.path().unwrap_or_default())
}

/// Checks one document of the file at `path`.
pub fn is_krm_tree(tree: &Tree, path: &str) -> Result<(), Missing> {
    let text = |keys: &[&str]| tree.get_path(tree.root(), keys).map_or("", |id| string_value(tree, id));
    let (api_version, kind) = (text(&["apiVersion"]), text(&["kind"]));
    let kustomize = matches!(paths::base(path), "kustomization.yaml" | "kustomization.yml" | "Kustomization")
        || api_version.starts_with("kustomize.config.k8s.io")
        || (api_version.is_empty() && kind == "Kustomization");
    if kustomize {
        Ok(())
    } else if api_version.is_empty() {
        Err(Missing::ApiVersion)
    } else if kind.is_empty() {
        Err(Missing::Kind)
    } else if text(&["metadata", "name"]).is_empty() {
        Err(Missing::Name)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::testing::resource;

    #[test]
    fn the_first_missing_field_is_named() {
        assert_eq!(is_krm(&resource("", "", "")), Err(Missing::ApiVersion));
        assert_eq!(is_krm(&resource("v1", "", "a")), Err(Missing::Kind));
        assert_eq!(is_krm(&resource("v1", "ConfigMap", "")), Err(Missing::Name));
        assert_eq!(is_krm(&resource("v1", "ConfigMap", "a")), Ok(()));
    }

    #[test]
    fn kustomize_files_are_exempt() {
        assert_eq!(is_krm(&resource("", "Kustomization", "")), Ok(()));
        assert_eq!(is_krm(&resource("kustomize.config.k8s.io/v1beta1", "", "")), Ok(()));
        for path in ["kustomization.yaml", "a/kustomization.yml", "Kustomization"] {
            let mut r = resource("", "", "");
            r.set_path(path);
            assert_eq!(is_krm(&r), Ok(()), "{path}");
        }
        let mut r = resource("", "", "");
        r.set_path("my-kustomization.yaml");
        assert_eq!(is_krm(&r), Err(Missing::ApiVersion));
    }

    #[test]
    fn all_documents_that_fail_are_named_and_the_first_has_the_text_of_kpt() {
        let (mut a, b, mut c) = (resource("", "x", ""), resource("v1", "ConfigMap", "b"), resource("v1", "", ""));
        a.set_path("non-krm.yaml");
        c.set_path("c.yaml");
        let bad = are_krm([&a, &b, &c]).expect_err("two are bad");
        assert_eq!(bad.len(), 2);
        assert_eq!(bad[0].to_string(), "non-krm.yaml: resource must have `apiVersion`");
        assert_eq!((bad[1].index, bad[1].located().as_str()), (2, "c.yaml: resource must have `kind`"));
    }
}
