//! Where functions come from: from the name of an image to a WebAssembly module.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::image::{ImagePrefix, ImageRef, is_tag};
use crate::module::{FunctionModule, ModuleCode};
use crate::report::Cause;
use crate::tags::{TagRequest, highest};

/// A place that knows functions: the command line, a directory, the catalog, a registry.
pub trait FunctionSource: Send + Sync {
    /// The module of a full image name (`registry/name:tag`, perhaps with a digest); `Ok(None)` when this source does
    /// not know it, an error when it knows it and cannot give it.
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError>;

    /// The published tags of an image, given without tag and digest; empty when there are none or nobody knows.
    fn tags(&self, image: &str) -> Vec<String> {
        let _ = image;
        Vec::new()
    }

    /// Last names of the functions it has, as far as it can list them: for telling what a misspelt name may have meant.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why a function that one may expect of this source is not there, and what to do instead: the rest of a sentence
    /// that begins with the function. Asked when no source knows the image.
    fn absence(&self, image: &str) -> Option<String> {
        let _ = image;
        None
    }

    /// What a user of this image should know, told once a render: that a function behaves otherwise than the release
    /// whose tag was asked for.
    fn notice(&self, image: &str) -> Option<String> {
        let _ = image;
        None
    }
}

/// Why a function cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// No source knows the image.
    #[error(
        "no function is known by the name `{image}`{}; give its module with `--function IMAGE=FILE.wasm` or put it into a directory given with `--function-dir`",
        perhaps(.similar.as_deref())
    )]
    Unknown {
        /// The full name.
        image: String,
        /// The name of a function that there is, if one is nearly spelt so.
        similar: Option<String>,
    },
    /// The name is no image reference.
    #[error(transparent)]
    Image(#[from] crate::image::ImageError),
    /// No published tag lies in the range of the `tag` field.
    #[error("no tag could be found matching the version constraint `{range}` for image `{image}`; known tags: {}", known(.tags))]
    NoTag {
        /// The image without tag.
        image: String,
        /// The range as given.
        range: String,
        /// What was there to choose from.
        tags: Vec<String>,
    },
    /// The `tag` field is neither a version, nor a range, nor anything that a registry would take.
    #[error("tag `{tag}` of image `{image}` is neither a tag nor a version constraint")]
    BadTag {
        /// The image without tag.
        image: String,
        /// The field.
        tag: String,
    },
    /// The module's file cannot be used.
    #[error("cannot use `{}` as function `{image}`", .path.display())]
    File {
        /// The full name.
        image: String,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// What another process said of it, with all causes.
    #[error("{text}")]
    Told {
        /// Its words.
        text: String,
        /// Why a step with it cannot run.
        cause: Cause,
    },
    /// Anything else that a source has to say.
    #[error("function `{image}` cannot be had: {reason}")]
    Source {
        /// The full name.
        image: String,
        /// Why.
        reason: String,
    },
}

impl FunctionError {
    /// Why a step with this function cannot run.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            FunctionError::Told { cause, .. } => *cause,
            _ => Cause::NotFound,
        }
    }

    /// No source knows the image.
    pub(crate) fn unknown(image: &str, sources: &Sources) -> FunctionError {
        match sources.absence(image) {
            Some(reason) => FunctionError::Source { image: image.to_owned(), reason },
            None => FunctionError::unlisted(image, &sources.names()),
        }
    }

    /// As above; `names` are the functions that there are.
    fn unlisted(image: &str, names: &[String]) -> FunctionError {
        // A name may be long: comparing costs the product of the lengths.
        let name = ImageRef::parse(image).map(|image| last_name(&image.name).to_owned()).unwrap_or_default();
        let bound = if name.len() > 100 { 0 } else { name.len().div_ceil(4).min(3) };
        let near = |known: &&String| strsim::damerau_levenshtein(&name, known) <= bound;
        let similar = if bound == 0 { None } else { names.iter().find(near).cloned() };
        FunctionError::Unknown { image: image.to_owned(), similar }
    }
}

fn perhaps(similar: Option<&str>) -> String {
    similar.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

fn known(tags: &[String]) -> String {
    if tags.is_empty() { "none".to_owned() } else { tags.join(", ") }
}

/// What the `image` and `tag` fields of a function stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedImage {
    /// Prefix, name, and the tag or `latest`.
    pub(crate) image: String,
    pub(crate) warning: Option<String>,
}

/// Puts the prefix before a short name and finds the tag: from the `tag` field, where any tag or digest of `image`
/// counts no longer, else from `image`, else `latest`.
pub(crate) fn full_image(
    image: &str,
    tag: &str,
    prefix: &ImagePrefix,
    tags_of: &dyn Fn(&str) -> Vec<String>,
) -> Result<ResolvedImage, FunctionError> {
    let mut image = ImageRef::parse(&prefix.apply(image))?;
    let mut warning = None;
    if tag.is_empty() {
        if image.tag.is_none() && image.digest.is_none() {
            image.tag = Some("latest".to_owned());
        }
        return Ok(ResolvedImage { image: image.to_string(), warning });
    }
    image.digest = None;
    image.tag = Some(match TagRequest::parse(tag) {
        TagRequest::Range(range) => {
            let tags = tags_of(&image.name);
            match highest(&range, &tags) {
                Some(tag) => tag.to_owned(),
                None => return Err(FunctionError::NoTag { image: image.name, range: tag.to_owned(), tags }),
            }
        }
        TagRequest::Literal | TagRequest::Opaque if !is_tag(tag) => {
            return Err(FunctionError::BadTag { image: image.name, tag: tag.to_owned() });
        }
        TagRequest::Literal => tag.to_owned(),
        TagRequest::Opaque => {
            warning = Some(format!(
                "tag `{tag}` of image `{}` is neither a version nor a version constraint; it is used as it stands",
                image.name
            ));
            tag.to_owned()
        }
    });
    Ok(ResolvedImage { image: image.to_string(), warning })
}

/// Sources in order of preference: the first that knows an image gives it.
#[derive(Clone, Default)]
pub struct Sources(Vec<Arc<dyn FunctionSource>>);

impl Sources {
    /// Takes the sources, the preferred one first.
    pub fn new(sources: Vec<Arc<dyn FunctionSource>>) -> Sources {
        Sources(sources)
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Sources").field(&self.0.len()).finish()
    }
}

impl FunctionSource for Sources {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        for source in &self.0 {
            if let Some(module) = source.resolve(image)? {
                return Ok(Some(module));
            }
        }
        Ok(None)
    }

    fn tags(&self, image: &str) -> Vec<String> {
        let mut tags: Vec<String> = self.0.iter().flat_map(|source| source.tags(image)).collect();
        tags.sort_unstable();
        tags.dedup();
        tags
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.0.iter().flat_map(|source| source.names()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn absence(&self, image: &str) -> Option<String> {
        self.0.iter().find_map(|source| source.absence(image))
    }

    fn notice(&self, image: &str) -> Option<String> {
        let gives = |source: &&Arc<dyn FunctionSource>| source.resolve(image).is_ok_and(|module| module.is_some());
        self.0.iter().find(gives)?.notice(image)
    }
}

/// Single modules given by name, as `--function IMAGE=FILE.wasm` does.
///
/// A name with a tag stands for that image alone, one without for all its tags; one without any slash stands for the
/// image of that last name in whatever registry.
#[derive(Debug, Clone, Default)]
pub struct FunctionFiles {
    entries: Vec<(ImageRef, PathBuf)>,
}

impl FunctionFiles {
    /// Adds a module; a later one of the same name wins.
    pub fn add(&mut self, image: &str, file: impl Into<PathBuf>) -> Result<(), FunctionError> {
        self.entries.push((ImageRef::parse(image)?, file.into()));
        Ok(())
    }

    fn find<'s>(&'s self, image: &'s ImageRef) -> impl Iterator<Item = &'s (ImageRef, PathBuf)> {
        self.entries.iter().rev().filter(move |(entry, _)| same_name(entry, &image.name))
    }
}

fn same_name(entry: &ImageRef, name: &str) -> bool {
    entry.name == name || (!entry.name.contains('/') && last_name(name) == entry.name)
}

fn last_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

impl FunctionSource for FunctionFiles {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        let wanted = ImageRef::parse(image)?;
        let found = self.find(&wanted).find(|(entry, _)| {
            (entry.tag.is_none() || entry.tag == wanted.tag)
                && (entry.digest.is_none() || entry.digest == wanted.digest)
        });
        found.map(|(_, file)| module_of(image, &wanted, file)).transpose()
    }

    fn tags(&self, image: &str) -> Vec<String> {
        let Ok(wanted) = ImageRef::parse(image) else { return Vec::new() };
        self.find(&wanted).filter_map(|(entry, _)| entry.tag.clone()).collect()
    }

    fn names(&self) -> Vec<String> {
        self.entries.iter().map(|(entry, _)| last_name(&entry.name).to_owned()).collect()
    }
}

/// A directory of modules, as `--function-dir DIR` gives it: `NAME.wasm` serves every tag of the images whose last
/// name is NAME, `NAME@TAG.wasm` that tag alone and before the other.
#[derive(Debug, Clone)]
pub struct FunctionDir {
    dir: PathBuf,
}

impl FunctionDir {
    /// Takes the directory; it is looked into at each resolution.
    pub fn new(dir: impl Into<PathBuf>) -> FunctionDir {
        FunctionDir { dir: dir.into() }
    }
}

impl FunctionSource for FunctionDir {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        let wanted = ImageRef::parse(image)?;
        let name = last_name(&wanted.name);
        let tagged = wanted.tag.as_ref().map(|tag| self.dir.join(format!("{name}@{tag}.wasm")));
        let any = self.dir.join(format!("{name}.wasm"));
        let file = tagged.into_iter().chain([any]).find(|file| file.is_file());
        file.map(|file| module_of(image, &wanted, &file)).transpose()
    }

    fn tags(&self, image: &str) -> Vec<String> {
        let (Ok(wanted), Ok(entries)) = (ImageRef::parse(image), std::fs::read_dir(&self.dir)) else {
            return Vec::new();
        };
        let start = format!("{}@", last_name(&wanted.name));
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| Some(name.strip_prefix(&start)?.strip_suffix(".wasm")?.to_owned())).collect()
    }

    fn names(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| Some(name.strip_suffix(".wasm")?.split('@').next()?.to_owned())).collect()
    }
}

/// The module in a file; that it is there is checked now, so that the message names both.
fn module_of(image: &str, wanted: &ImageRef, file: &Path) -> Result<FunctionModule, FunctionError> {
    let path = file.to_owned();
    if let Err(source) = std::fs::File::open(file) {
        return Err(FunctionError::File { image: image.to_owned(), path, source });
    }
    Ok(FunctionModule { name: last_name(&wanted.name).to_owned(), code: ModuleCode::File(path) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(image: &str, tag: &str) -> Result<ResolvedImage, FunctionError> {
        let tags = |name: &str| match name {
            "reg.io/f" => ["v0.1.0", "v0.2.3", "v0.2.10"].map(str::to_owned).to_vec(),
            _ => Vec::new(),
        };
        full_image(image, tag, &ImagePrefix::default(), &tags)
    }

    #[test]
    fn an_image_without_tag_and_digest_is_the_latest() {
        assert_eq!(full("no-op", "").unwrap().image, "ghcr.io/kptdev/krm-functions-catalog/no-op:latest");
        let pinned = format!("reg.io/f@sha256:{}", "0".repeat(64));
        assert_eq!(full(&pinned, "").unwrap().image, pinned);
    }

    #[test]
    fn a_misspelt_function_gets_a_guess_and_a_strange_one_none() {
        let names = ["set-labels".to_owned(), "starlark".to_owned()];
        let told = |image: &str| FunctionError::unlisted(image, &names).to_string();
        assert!(told("reg.io/set-label:v1").contains("`reg.io/set-label:v1` (did you mean `set-labels`?); give"));
        assert!(!told("reg.io/gatekeeper:v1").contains("did you mean"));
        assert!(!told(&format!("reg.io/{}", "x".repeat(200))).contains("did you mean"));
    }

    #[test]
    fn the_tag_field_replaces_tag_and_digest_of_the_image() {
        let pinned = format!("reg.io/f:v9@sha256:{}", "0".repeat(64));
        assert_eq!(full(&pinned, "v1").unwrap().image, "reg.io/f:v1");
        assert_eq!(full("reg.io/f:v9", "~0.2").unwrap().image, "reg.io/f:v0.2.10");
    }

    #[test]
    fn a_range_without_a_published_tag_is_an_error_that_lists_what_there_is() {
        let error = full("reg.io/f", "~0.9").unwrap_err().to_string();
        assert!(error.starts_with("no tag could be found matching the version constraint `~0.9`"), "{error}");
        assert!(error.contains("v0.2.10"), "{error}");
    }

    #[test]
    fn a_tag_that_is_no_version_is_used_with_a_warning_and_nonsense_refused() {
        let resolved = full("reg.io/f", "unstable").unwrap();
        assert_eq!(resolved.image, "reg.io/f:unstable");
        assert!(resolved.warning.is_some());
        assert!(matches!(full("reg.io/f", "not a tag"), Err(FunctionError::BadTag { .. })));
    }

    #[test]
    fn the_first_source_that_knows_an_image_gives_it() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["one.wasm", "f.wasm", "f@v2.wasm"] {
            std::fs::write(dir.path().join(name), b"\0asm").unwrap();
        }
        let mut files = FunctionFiles::default();
        files.add("reg.io/f:v1", dir.path().join("one.wasm")).unwrap();
        let sources = Sources::new(vec![Arc::new(files), Arc::new(FunctionDir::new(dir.path()))]);
        let file = |image: &str| match sources.resolve(image).unwrap().map(|module| module.code) {
            Some(ModuleCode::File(path)) => path.file_name().unwrap().to_str().unwrap().to_owned(),
            _ => "none".to_owned(),
        };
        assert_eq!(file("reg.io/f:v1"), "one.wasm");
        assert_eq!(file("reg.io/f:v2"), "f@v2.wasm");
        assert_eq!(file("other.io/f:v3"), "f.wasm");
        assert_eq!(file("reg.io/g:v1"), "none");
        assert_eq!(sources.tags("reg.io/f"), ["v1", "v2"]);
    }

    #[test]
    fn a_short_name_on_the_command_line_stands_for_any_registry_and_a_missing_file_is_named() {
        let mut files = FunctionFiles::default();
        files.add("f", "/no/such/file.wasm").unwrap();
        assert!(files.resolve("reg.io/g:v1").unwrap().is_none());
        let error = files.resolve("reg.io/f:v1").unwrap_err().to_string();
        assert_eq!(error, "cannot use `/no/such/file.wasm` as function `reg.io/f:v1`");
    }
}
