//! Functions that objects of the package used to name in an annotation.

use portico_fn::yaml::{ParseLimits, Tree};
use portico_fn::{Resource, annotations};

use crate::{file_name, free_path};

const ANNOTATIONS: [&str; 2] = ["config.kubernetes.io/function", "config.k8s.io/function"];

/// A step of the pipeline to come.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) image: String,
    /// File of its configuration, beside the Kptfile.
    pub(crate) config_path: String,
}

/// Moves each configuration with a container to a file of its own beside the Kptfile, and takes its annotation away.
pub(crate) fn take_functions(
    items: &mut [Resource],
    members: &[usize],
    directory: &str,
) -> Result<Vec<Function>, String> {
    let mut functions = Vec::new();
    for member in members {
        let item = &items[*member];
        let Some(text) = ANNOTATIONS.iter().find_map(|key| item.annotation(key)) else { continue };
        let parsed = Tree::parse(text, &ParseLimits { depth: 32, bytes: 64 << 10, ..ParseLimits::default() });
        let tree = parsed
            .map_err(|error| format!("`{}`: the function's annotation is no YAML: {error}", crate::shown(item)))?;
        let image = tree.as_ref().and_then(|tree| tree.text_at(tree.root(), &["container", "image"]));
        // Functions of other kinds (`exec`, `starlark`) have no image, so no pipeline can name them: they stay as they are.
        let Some(image) = image.filter(|image| !image.is_empty()).map(str::to_owned) else { continue };
        let name = item.name();
        if name.is_empty() || name.contains('/') {
            return Err(format!(
                "`{}`: a function's configuration needs a name to name its file by",
                crate::shown(item)
            ));
        }
        let path = free_path(items, directory, name);
        let item = &mut items[*member];
        item.remove_annotations(|key| ANNOTATIONS.contains(&key));
        item.clear_empty_annotations();
        for key in [annotations::PATH, annotations::LEGACY_PATH] {
            if item.annotation(key).is_some() {
                item.set_annotation(key, &path);
            }
        }
        for key in [annotations::INDEX, annotations::LEGACY_INDEX] {
            if item.annotation(key).is_some() {
                item.set_annotation(key, "0");
            }
        }
        functions.push(Function { image, config_path: file_name(&path).to_owned() });
    }
    Ok(functions)
}
