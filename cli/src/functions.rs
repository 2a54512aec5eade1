//! Functions named on the command line: `--function IMAGE=FILE.wasm` and `--function-dir DIR`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use portico_runtime::{FunctionError, FunctionModule, FunctionSource, ModuleCode};

use crate::args::FunctionArgs;

/// `--function`: modules of single images.
pub(crate) struct Named(Vec<(String, PathBuf)>);

/// `--function-dir`: NAME.wasm for any image whose last part is NAME.
pub(crate) struct Directory(PathBuf);

/// The sources of the command line, in the order in which they are asked; the catalog comes behind them.
pub(crate) fn sources(arguments: &FunctionArgs) -> Result<Vec<Box<dyn FunctionSource>>> {
    let mut named = Vec::new();
    for pair in &arguments.function {
        let Some((image, file)) = pair.split_once('=') else {
            bail!("`--function {pair}`: write IMAGE=FILE.wasm");
        };
        let path = PathBuf::from(file);
        ensure!(path.is_file(), "`--function {pair}`: `{file}` is no file");
        named.push((image.to_owned(), path));
    }
    let mut sources: Vec<Box<dyn FunctionSource>> = Vec::new();
    if !named.is_empty() {
        sources.push(Box::new(Named(named)));
    }
    for directory in &arguments.function_dir {
        let real = directory.canonicalize().with_context(|| format!("`--function-dir {}`", directory.display()))?;
        ensure!(real.is_dir(), "`--function-dir {}` is no directory", directory.display());
        sources.push(Box::new(Directory(real)));
    }
    Ok(sources)
}

/// The image without tag and digest.
fn untagged(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or(image);
    match image.rfind(':') {
        Some(at) if !image[at..].contains('/') => &image[..at],
        _ => image,
    }
}

/// The last part of the image's path.
fn base(image: &str) -> &str {
    untagged(image).rsplit('/').next().unwrap_or(image)
}

fn module(name: &str, file: &Path) -> FunctionModule {
    FunctionModule { name: name.to_owned(), code: ModuleCode::File(file.to_path_buf()) }
}

impl FunctionSource for Named {
    /// The image as given, with the tag or without, with the default prefix or without.
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        let found = self.0.iter().find(|(name, _)| {
            name == image
                || name == untagged(image)
                || (!name.contains('/') && (name == base(image) || image.ends_with(&format!("/{name}"))))
        });
        Ok(found.map(|(_, file)| module(base(image), file)))
    }

    fn tags(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

impl FunctionSource for Directory {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        let name = base(image);
        let file = self.0.join(format!("{name}.wasm"));
        // A name of an image has no separator, so that the file lies in the directory.
        Ok(file.is_file().then(|| module(name, &file)))
    }

    fn tags(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_named_with_or_without_its_tag_and_prefix() {
        let source = Named(vec![("fn-a".into(), "/a.wasm".into()), ("reg.example:5000/x/b:v1".into(), "/b.wasm".into())]);
        let finds = |image: &str| source.resolve(image).expect("cannot fail").is_some();
        assert!(finds("fn-a"));
        assert!(finds("ghcr.io/kptdev/krm-functions-catalog/fn-a:latest"));
        assert!(finds("reg.example:5000/x/b:v1"));
        assert!(!finds("reg.example:5000/x/b:v2"));
        assert!(!finds("ghcr.io/kptdev/krm-functions-catalog/other:latest"));
    }

    #[test]
    fn the_port_of_a_registry_is_no_tag() {
        assert_eq!(untagged("reg.example:5000/x/b"), "reg.example:5000/x/b");
        assert_eq!(untagged("reg.example:5000/x/b:v1@sha256:00"), "reg.example:5000/x/b");
        assert_eq!(base("probe.local/identity:v1"), "identity");
    }
}
