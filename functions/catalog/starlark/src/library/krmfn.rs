//! `krmfn`: questions about a resource.

use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::dict::DictRef;

/// The string at a path of keys; empty where something on the way is missing or of another type.
fn text_at<'v>(resource: Value<'v>, path: &[&str]) -> &'v str {
    let mut at = resource;
    for key in path {
        let Some(next) = DictRef::from_value(at).and_then(|dict| dict.get_str(key)) else { return "" };
        at = next;
    }
    at.unpack_str().unwrap_or_default()
}

#[starlark_module]
pub(super) fn register(module: &mut GlobalsBuilder) {
    /// Whether the resource has this `apiVersion` (`apps/v1`, whole) and `kind`.
    fn match_gvk<'v>(resource: Value<'v>, api_version: &str, kind: &str) -> anyhow::Result<bool> {
        Ok(text_at(resource, &["apiVersion"]) == api_version && text_at(resource, &["kind"]) == kind)
    }

    /// Whether the resource has this name.
    fn match_name<'v>(resource: Value<'v>, name: &str) -> anyhow::Result<bool> {
        Ok(text_at(resource, &["metadata", "name"]) == name)
    }

    /// Whether the resource has this namespace.
    fn match_namespace<'v>(resource: Value<'v>, namespace: &str) -> anyhow::Result<bool> {
        Ok(text_at(resource, &["metadata", "namespace"]) == namespace)
    }
}
