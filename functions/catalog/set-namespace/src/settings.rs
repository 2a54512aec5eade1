//! What the function is asked to do.

use portico_fn::{FieldSpec, KubeObject, Resource, config};
use serde::Deserialize;

/// `metadata.name` of the `ConfigMap` that describes a package.
const PACKAGE_CONTEXT: &str = "kptfile.kpt.dev";

/// The configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The namespace to write; never empty.
    pub(crate) namespace: String,
    /// Replace only this namespace; empty: replace all.
    pub(crate) matcher: String,
    /// Further fields that hold a namespace.
    pub(crate) additional: Vec<FieldSpec>,
}

/// The object form.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SetNamespace {
    namespace: String,
    namespace_matcher: String,
    additional_namespace_fields: Option<Vec<FieldSpec>>,
    field_specs: Option<Vec<FieldSpec>>,
}

impl Settings {
    /// Reads the configuration object; the error is the message of the result.
    pub(crate) fn read(object: Option<&Resource>) -> Result<Settings, String> {
        let Some(object) = object.filter(|o| !(o.api_version().is_empty() && o.kind().is_empty())) else {
            return Err(
                "FunctionConfig is missing. Expect `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`".to_owned()
            );
        };
        if object.is_gvk("", "v1", "ConfigMap") {
            return Settings::of_config_map(object);
        }
        if object.is_gvk("fn.kpt.dev", "v1alpha1", "SetNamespace") {
            return Settings::of_object(object);
        }
        Err(format!(
            "unknown functionConfig Kind={} ApiVersion={}, expect `ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`",
            object.kind(),
            object.api_version()
        ))
    }

    fn of_config_map(object: &Resource) -> Result<Settings, String> {
        let data = |key: &str| object.string_at(&["data", key]).to_owned();
        let mut namespace = data("namespace");
        if namespace.is_empty() && object.name() == PACKAGE_CONTEXT {
            namespace = data("name");
        }
        if namespace.is_empty() {
            return Err("`data.namespace` should not be empty".to_owned());
        }
        Ok(Settings { namespace, matcher: data("namespaceMatcher"), additional: Vec::new() })
    }

    fn of_object(object: &Resource) -> Result<Settings, String> {
        let read: SetNamespace = config::decode(object).map_err(|error| error.to_string())?;
        let additional = match (read.additional_namespace_fields, read.field_specs) {
            (Some(_), Some(_)) => {
                return Err(
                    "`fieldSpecs` has been deprecated, please rename it to `additionalNamespaceFields`".to_owned()
                );
            }
            (new, old) => new.or(old).unwrap_or_default(),
        };
        if read.namespace.is_empty() {
            return Err("`namespace` should not be empty".to_owned());
        }
        Ok(Settings { namespace: read.namespace, matcher: read.namespace_matcher, additional })
    }
}
