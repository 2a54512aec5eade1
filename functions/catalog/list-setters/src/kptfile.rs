//! The values that the package gives to `apply-setters`.

use std::collections::BTreeMap;

use portico_fn::Resource;
use portico_krm::{Kptfile, KptfileError};
use setters_core::data_of;

/// Path of the root package's Kptfile.
const KPTFILE: &str = "Kptfile";
/// What an image name contains when the function is `apply-setters`.
const APPLY_SETTERS: &str = "apply-setters";

/// The values by name. What cannot be found, a Kptfile, a pipeline or the file of the values, gives none.
pub(crate) fn given_values(items: &[Resource]) -> Result<BTreeMap<String, String>, KptfileError> {
    let mut values = BTreeMap::new();
    let Some(item) = items.iter().find(|item| item.path() == Some(KPTFILE)) else { return Ok(values) };
    let kptfile = Kptfile::from_tree(item.tree.clone())?;
    for function in kptfile.pipeline.mutators.iter().filter(|function| function.image.contains(APPLY_SETTERS)) {
        if function.config_map.is_empty() {
            let file = items.iter().find(|item| item.path() == Some(function.config_path.as_str()));
            // data that is no text is for apply-setters to complain about
            values.extend(data_of(file).unwrap_or_default());
        } else {
            values.extend(function.config_map.iter().cloned());
        }
    }
    Ok(values)
}
