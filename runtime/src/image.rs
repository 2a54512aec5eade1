//! Names of function images: `[registry/]name[:tag][@digest]`.

use std::fmt;

/// Where short names live unless `--image-prefix` or `KPT_IMAGE_PREFIX` says otherwise.
pub const DEFAULT_IMAGE_PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog";

/// The longest tag that a registry accepts.
const MAX_TAG: usize = 128;
/// The longest repository name that a registry accepts.
const MAX_NAME: usize = 255;

/// A parsed image reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImageRef {
    /// Everything before the tag: `ghcr.io/acme/set-labels`.
    pub name: String,
    /// The tag without its colon.
    pub tag: Option<String>,
    /// The digest without its `@`: `sha256:…`.
    pub digest: Option<String>,
}

/// Why a text is no image reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("image `{image}` is invalid: {reason}")]
pub struct ImageError {
    /// The text as given.
    pub image: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl ImageRef {
    /// Parses by the grammar of OCI references.
    pub fn parse(image: &str) -> Result<ImageRef, ImageError> {
        let fail = |reason| ImageError { image: image.to_owned(), reason };
        let (rest, digest) = match image.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (image, None),
        };
        // A colon behind the last slash starts the tag; one before it belongs to the registry's port.
        let slash = rest.rfind('/').map_or(0, |at| at + 1);
        let (name, tag) = match rest[slash..].find(':') {
            Some(at) => (&rest[..slash + at], Some(&rest[slash + at + 1..])),
            None => (rest, None),
        };
        if name.is_empty() {
            return Err(fail("the name is empty"));
        }
        if name.len() > MAX_NAME {
            return Err(fail("the name is longer than 255 characters"));
        }
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(fail("the tag must be letters, digits, `_`, `.` and `-`, at most 128 of them"));
        }
        if digest.is_some_and(|digest| !is_digest(digest)) {
            return Err(fail("the digest must look like `sha256:` and hexadecimal digits"));
        }
        let mut parts = name.split('/').peekable();
        let first = parts.peek().copied().unwrap_or_default();
        let has_registry = name.contains('/')
            && (first.contains(['.', ':', '[']) || first == "localhost" || !is_path_component(first));
        if has_registry {
            if !is_registry(first) {
                return Err(fail("the registry must be a host name with an optional port"));
            }
            parts.next();
        }
        if !parts.all(is_path_component) {
            return Err(fail(
                "each part of the name must be lower-case letters and digits, joined by `.`, `_`, `__` or `-`",
            ));
        }
        Ok(ImageRef { name: name.to_owned(), tag: tag.map(str::to_owned), digest: digest.map(str::to_owned) })
    }
}

impl fmt::Display for ImageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// True for a text that a registry accepts as a tag.
pub fn is_tag(tag: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tag.len() <= MAX_TAG && tag.starts_with(word) && tag.chars().all(|c| word(c) || c == '.' || c == '-')
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else { return false };
    algorithm.starts_with(|c: char| c.is_ascii_alphabetic())
        && algorithm.chars().all(|c| c.is_ascii_alphanumeric() || "+._-".contains(c))
        && hex.len() >= 32
        && hex.chars().all(|c| c.is_ascii_hexdigit())
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    };
    if port.is_some_and(|port| port.is_empty() || !port.chars().all(|c| c.is_ascii_digit())) {
        return false;
    }
    if let Some(v6) = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
        return !v6.is_empty() && v6.chars().all(|c| c.is_ascii_hexdigit() || c == ':');
    }
    host.split('.').all(|label| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    })
}

fn is_path_component(part: &str) -> bool {
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if !part.starts_with(lower) || !part.ends_with(lower) {
        return false;
    }
    part.split(lower).all(|between| matches!(between, "" | "." | "_" | "__") || between.chars().all(|c| c == '-'))
}

/// A registry and path that short image names are put under.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ImagePrefix(String);

impl Default for ImagePrefix {
    fn default() -> Self {
        ImagePrefix(DEFAULT_IMAGE_PREFIX.to_owned())
    }
}

impl ImagePrefix {
    /// Checks a prefix; slashes at its end are dropped; an empty one leaves short names as they are.
    pub fn new(prefix: &str) -> Result<ImagePrefix, ImageError> {
        let fail = |reason| ImageError { image: prefix.to_owned(), reason };
        let prefix = prefix.trim_end_matches('/');
        if prefix.contains("://") {
            return Err(fail("an image prefix has no scheme"));
        }
        if prefix.contains(['?', '#']) {
            return Err(fail("an image prefix has no query and no fragment"));
        }
        if prefix.starts_with('/') {
            return Err(fail("an image prefix starts with a host"));
        }
        Ok(ImagePrefix(prefix.to_owned()))
    }

    /// The full name: the prefix stands before a name without any slash.
    pub fn apply(&self, image: &str) -> String {
        if image.contains('/') || self.0.is_empty() { image.to_owned() } else { format!("{}/{image}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_tag_and_digest_are_told_apart() {
        let image = ImageRef::parse("localhost:5000/acme/set-labels:v0.1").unwrap();
        assert_eq!((image.name.as_str(), image.tag.as_deref()), ("localhost:5000/acme/set-labels", Some("v0.1")));
        let digest = format!("sha256:{}", "a".repeat(64));
        let image = ImageRef::parse(&format!("set-labels@{digest}")).unwrap();
        assert_eq!((image.tag, image.digest), (None, Some(digest)));
        assert_eq!(ImageRef::parse("probe.local/identity:v1").unwrap().to_string(), "probe.local/identity:v1");
    }

    #[test]
    fn texts_that_are_no_references_are_refused() {
        for bad in [
            "",
            ":tag",
            "pull ghcr.io/foo:latest",
            "Foo",
            "a//b",
            "a/b:",
            "a/b:t t",
            "a@sha256:xyz",
            "-a/b",
            "a/b/",
            "host:port/x",
            "a..b",
        ] {
            assert!(ImageRef::parse(bad).is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn only_a_name_without_any_slash_gets_the_prefix() {
        let prefix = ImagePrefix::default();
        assert_eq!(prefix.apply("set-labels:v0.1"), "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.1");
        assert_eq!(prefix.apply("acme/set-labels"), "acme/set-labels");
        assert_eq!(ImagePrefix::new("reg.io/x//").unwrap().apply("fn"), "reg.io/x/fn");
        assert_eq!(ImagePrefix::new("").unwrap().apply("fn"), "fn");
    }

    #[test]
    fn a_prefix_is_neither_an_address_nor_without_host() {
        for bad in ["https://reg.io", "reg.io?x", "reg.io#x", "/x"] {
            assert!(ImagePrefix::new(bad).is_err(), "{bad:?} was accepted");
        }
    }
}
