//! Path annotations: from what a function says to a file of the package.

use portico_krm::Resource;
use portico_krm::annotations::PACKAGE_PATH;
use portico_krm::paths::{PathError, clean, default_path, leads_out, output_path};

use super::step::Scope;

/// Gives a resource that lacks them its file and its package.
pub(crate) fn set_defaults(resource: &mut Resource, scope: &Scope<'_>) {
    if resource.path().unwrap_or_default().is_empty() {
        let path = default_path(scope.default_dir, resource);
        resource.set_path(&path);
    }
    if resource.package_path().unwrap_or_default().is_empty() {
        resource.set_annotation(PACKAGE_PATH, scope.package_path);
    }
}

/// True for the Kptfile in the root of the package.
pub(crate) fn is_kptfile_of(resource: &Resource, package_path: &str) -> bool {
    resource.kind() == "Kptfile"
        && resource.package_path() == Some(package_path)
        && resource.path().is_some_and(|path| clean(path) == "Kptfile")
}

/// The root-relative path of a resource; `Err` when its package is not below the root, in kpt's words.
pub(crate) fn root_relative(resource: &Resource, root: &str) -> Result<String, String> {
    let path = output_path(resource.path().unwrap_or_default()).map_err(|error: PathError| error.to_string())?;
    let package = resource.package_path().unwrap_or(root);
    if package == root {
        return Ok(path);
    }
    let below = package.strip_prefix(root.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    match below.map(clean) {
        Some(dir) if dir == "." => Ok(path),
        Some(dir) if !leads_out(&dir) => Ok(format!("{dir}/{path}")),
        _ => Err(format!("subpackage \"{package}\" is not a descendant of \"{root}\"")),
    }
}
