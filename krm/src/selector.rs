//! Which resources a function of a pipeline gets.

use std::collections::BTreeMap;

use crate::Resource;

/// One entry of `selectors` or `exclude`. All given fields must match; comparison is exact, without patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// The whole `apiVersion`; empty matches all.
    pub api_version: String,
    /// `kind`; empty matches all.
    pub kind: String,
    /// `metadata.name`; empty matches all.
    pub name: String,
    /// `metadata.namespace` as it is written; empty matches all.
    pub namespace: String,
    /// Labels that must be there with these values.
    pub labels: BTreeMap<String, String>,
    /// Annotations that must be there with these values; the internal ones can be asked for too.
    pub annotations: BTreeMap<String, String>,
}

impl Selector {
    /// True when every given field matches. A selector without fields matches everything.
    pub fn matches(&self, resource: &Resource) -> bool {
        let same = |wanted: &str, got: &str| wanted.is_empty() || wanted == got;
        same(&self.api_version, resource.api_version())
            && same(&self.kind, resource.kind())
            && same(&self.name, resource.name())
            && same(&self.namespace, resource.namespace())
            && self.labels.iter().all(|(key, value)| resource.label(key) == Some(value))
            && self.annotations.iter().all(|(key, value)| resource.annotation(key) == Some(value))
    }

    /// True when no field is given.
    pub fn is_empty(&self) -> bool {
        *self == Selector::default()
    }
}

/// True when a function with these `selectors` and `exclude` lists gets the resource: it matches any selector (or
/// there is none) and no exclusion. An exclusion without fields excludes nothing.
pub fn selects(selectors: &[Selector], exclude: &[Selector], resource: &Resource) -> bool {
    (selectors.is_empty() || selectors.iter().any(|s| s.matches(resource)))
        && !exclude.iter().any(|s| !s.is_empty() && s.matches(resource))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::testing::resource;

    fn deployment() -> Resource {
        let mut r = resource("apps/v1", "Deployment", "web");
        r.set_label("app", "web");
        r.set_label("tier", "front");
        r.set_annotation("internal.config.kubernetes.io/path", "a.yaml");
        r
    }

    #[test]
    fn all_given_fields_must_match_exactly() {
        let r = deployment();
        let by = |f: fn(&mut Selector)| {
            let mut s = Selector::default();
            f(&mut s);
            s.matches(&r)
        };
        assert!(by(|_| {}));
        assert!(by(|s| s.api_version = "apps/v1".into()));
        assert!(!by(|s| s.api_version = "apps".into()));
        assert!(by(|s| s.kind = "Deployment".into()));
        assert!(!by(|s| s.kind = "deployment".into()));
        assert!(!by(|s| s.name = "we.*".into()));
        assert!(!by(|s| {
            s.name = "web".into();
            s.kind = "Service".into();
        }));
        assert!(!by(|s| s.namespace = "default".into()), "a missing namespace is not `default`");
    }

    #[test]
    fn listed_labels_and_annotations_must_be_there_others_do_not_matter() {
        let r = deployment();
        let mut s = Selector::default();
        s.labels.insert("app".into(), "web".into());
        s.annotations.insert("internal.config.kubernetes.io/path".into(), "a.yaml".into());
        assert!(s.matches(&r));
        s.labels.insert("team".into(), String::new());
        assert!(!s.matches(&r), "an empty value is not a missing label");
    }

    #[test]
    fn selectors_are_alternatives_and_an_empty_exclusion_excludes_nothing() {
        let r = deployment();
        let kind = |kind: &str| Selector { kind: kind.into(), ..Selector::default() };
        assert!(selects(&[], &[], &r));
        assert!(selects(&[kind("Service"), kind("Deployment")], &[], &r));
        assert!(!selects(&[kind("Service")], &[], &r));
        assert!(!selects(&[], &[kind("Deployment")], &r));
        assert!(selects(&[], &[Selector::default()], &r));
    }
}
