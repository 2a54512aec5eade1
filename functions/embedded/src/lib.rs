//! The functions of the catalog, compiled for a fixed baseline processor and embedded.
//!
//! [`Catalog`] resolves every public name of a catalog function to its embedded module: all prefixes that its images
//! ever had, short names, any tag and any digest. Nothing is looked up in a registry.
//!
//! The modules are made by `cargo xtask functions`. A build without them has an empty catalog, which says so when it is
//! asked for a function that it should have.

mod absent;
mod modules;
mod names;
mod published;

use portico_runtime::image::ImageRef;
use portico_runtime::{FunctionError, FunctionModule, FunctionSource};

use crate::names::CatalogName;
use crate::published::{PUBLISHED, published};

/// The embedded functions as a source of functions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Catalog;

/// What there is to know of an embedded function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionInfo {
    /// `set-labels`.
    pub name: &'static str,
    /// What it does, in a few words; empty for functions that the public catalog does not have.
    pub purpose: &'static str,
    /// The module that holds it; several functions may share one.
    pub module: &'static str,
    /// Bytes of the WebAssembly module.
    pub wasm_bytes: usize,
    /// Bytes that are embedded for the module.
    pub embedded_bytes: usize,
    /// `sha256:…` of the WebAssembly module.
    pub digest: &'static str,
    /// The tags under which the public catalog published it, oldest first.
    pub tags: &'static [&'static str],
}

impl Catalog {
    /// The embedded functions, by name.
    pub fn functions(&self) -> Vec<FunctionInfo> {
        let mut all: Vec<FunctionInfo> = modules::functions()
            .map(|(name, _, module)| FunctionInfo {
                name,
                purpose: published(name).map_or("", |known| known.purpose),
                module: module.name,
                wasm_bytes: module.wasm_bytes,
                embedded_bytes: module.embedded_bytes(),
                digest: module.digest,
                tags: published(name).map_or(&[], |known| known.tags),
            })
            .collect();
        all.sort_by_key(|function| function.name);
        all
    }

    /// The function that an image name stands for, whatever its prefix, tag and digest; `None` when it is not embedded.
    pub fn function(&self, image: &str) -> Option<FunctionInfo> {
        let image = ImageRef::parse(image).ok()?;
        let name = CatalogName::of(&image.name)?;
        self.functions().into_iter().find(|function| function.name == name.function)
    }
}

impl FunctionSource for Catalog {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        let parsed = ImageRef::parse(image)?;
        let Some(name) = CatalogName::of(&parsed.name) else { return Ok(None) };
        if let Some((function, number, _)) = modules::functions().find(|(known, ..)| *known == name.function) {
            return Ok(Some(FunctionModule { name: function.to_owned(), code: modules::code(number) }));
        }
        let empty = modules::functions().next().is_none();
        if empty && PUBLISHED.iter().any(|known| known.name == name.function) {
            return Err(FunctionError::Source {
                image: image.to_owned(),
                reason: "this program was built without the catalog; run `cargo xtask functions`, then build it again"
                    .to_owned(),
            });
        }
        Ok(None)
    }

    fn tags(&self, image: &str) -> Vec<String> {
        let Some(name) = CatalogName::of(image) else { return Vec::new() };
        let Some(known) = published(name.function) else { return Vec::new() };
        let tags = if name.wasm { known.wasm_tags } else { known.tags };
        tags.iter().map(|tag| (*tag).to_owned()).collect()
    }

    fn names(&self) -> Vec<String> {
        modules::functions().map(|(name, ..)| name.to_owned()).collect()
    }

    fn absence(&self, image: &str) -> Option<String> {
        let parsed = ImageRef::parse(image).ok()?;
        absent::absent(CatalogName::of(&parsed.name)?.function)
    }

    fn notice(&self, image: &str) -> Option<String> {
        let parsed = ImageRef::parse(image).ok()?;
        let known = published(CatalogName::of(&parsed.name)?.function)?;
        let older = known.older.as_ref()?;
        let newest = known.tags.last()?;
        older
            .covers(parsed.tag.as_deref()?)
            .then(|| format!("`{image}` runs as {} {newest}: {}", known.name, older.difference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_outside_the_catalog_resolve_to_nothing() {
        for image in
            ["ghcr.io/kptdev/krm-functions-catalog/dne:latest", "not-exist:latest", "docker.io/acme/set-labels:v1"]
        {
            assert!(Catalog.resolve(image).is_ok_and(|module| module.is_none()), "{image}");
        }
    }

    #[test]
    fn a_function_that_stays_out_says_what_to_do_instead() {
        let told = |image: &str| Catalog.absence(image).unwrap_or_default();
        assert!(told("gcr.io/kpt-fn/render-helm-chart:v0.2.3").contains("run `helm template`"));
        assert!(told("gcr.io/kpt-fn-contrib/sops:v0.3").contains("runs `sops`"));
        assert!(told("format").contains("`--function format=FILE.wasm`"));
        for image in ["docker.io/acme/sops", "set-labels", "not-exist", "a b"] {
            assert_eq!(told(image), "", "{image}");
        }
    }

    #[test]
    fn published_functions_resolve_or_say_why_not() {
        let image = "gcr.io/kpt-fn/set-labels:v0.2.0";
        match Catalog.resolve(image) {
            Ok(Some(module)) => assert_eq!(module.name, "set-labels"),
            Ok(None) => panic!("a published function is not there and nobody says why"),
            Err(error) => assert!(error.to_string().contains("cargo xtask functions"), "{error}"),
        }
    }

    #[test]
    fn tags_come_from_the_published_list() {
        let tags = Catalog.tags("ghcr.io/kptdev/krm-functions-catalog/set-labels");
        assert_eq!(tags.last().map(String::as_str), Some("v0.2.5"));
        assert_eq!(Catalog.tags("ghcr.io/kptdev/krm-functions-catalog/wasm/set-namespace"), ["v0.5.1"]);
        assert!(Catalog.tags("docker.io/acme/set-labels").is_empty());
    }

    #[test]
    fn an_older_generation_gets_a_notice_and_a_current_one_none() {
        assert!(Catalog.notice("gcr.io/kpt-fn/set-namespace:v0.1").is_some_and(|text| text.contains("v0.4.5")));
        assert_eq!(Catalog.notice("gcr.io/kpt-fn/set-namespace:v0.4.1"), None);
        assert_eq!(Catalog.notice("set-labels"), None);
    }
}
