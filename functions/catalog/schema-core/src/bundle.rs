//! The schemas of Kubernetes that this program carries; `scripts/kubernetes-schemas.py` describes the file.

use std::cell::OnceCell;

use thiserror::Error;

/// Made by `scripts/kubernetes-schemas.py`.
static EMBEDDED: &[u8] = include_bytes!("../data/kubernetes.bin");
/// The first line of the file.
const MAGIC: &str = "portico-schemas 1";

/// A bundle that cannot be read; only a damaged build has one.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the embedded schemas of Kubernetes are damaged ({0}); this program was built wrong")]
pub struct BundleError(pub(crate) &'static str);

/// The definitions of all versions of Kubernetes, packed by package. A package is unpacked when a definition of it is
/// asked for.
#[derive(Debug)]
pub struct Bundle {
    versions: Vec<&'static str>,
    /// Sorted by name.
    packages: Vec<Package>,
}

#[derive(Debug)]
struct Package {
    /// `io.k8s.api.apps.v1`.
    name: &'static str,
    /// `apps/v1`; `-` for a package without kinds.
    api_version: &'static str,
    packed: &'static [u8],
    unpacked_len: usize,
    text: OnceCell<Result<Box<str>, BundleError>>,
}

/// A line of an unpacked package.
struct Line<'a> {
    name: &'a str,
    first: usize,
    last: usize,
    is_kind: bool,
    schema: &'a str,
}

impl Bundle {
    /// Reads the head of the embedded file.
    pub fn embedded() -> Result<Bundle, BundleError> {
        let end = EMBEDDED.windows(2).position(|pair| pair == b"\n\n").ok_or(BundleError("no head"))?;
        let (head, mut blobs) = EMBEDDED.split_at(end + 2);
        let head = std::str::from_utf8(head).map_err(|_| BundleError("no text"))?;
        let mut lines = head.lines();
        if lines.next() != Some(MAGIC) {
            return Err(BundleError("another format"));
        }
        let versions = lines.next().ok_or(BundleError("no versions"))?.split(' ').collect();
        let mut packages = Vec::with_capacity(64);
        for line in lines.take_while(|line| !line.is_empty()) {
            let mut words = line.split('\t');
            let (Some(name), Some(api_version), Some(Ok(packed)), Some(Ok(unpacked_len))) =
                (words.next(), words.next(), words.next().map(str::parse), words.next().map(str::parse))
            else {
                return Err(BundleError("a package without its sizes"));
            };
            let (packed, rest) = blobs.split_at_checked(packed).ok_or(BundleError("a package is cut"))?;
            blobs = rest;
            packages.push(Package { name, api_version, packed, unpacked_len, text: OnceCell::new() });
        }
        Ok(Bundle { versions, packages })
    }

    /// The versions, oldest first: `1.25`, …
    pub fn versions(&self) -> &[&'static str] {
        &self.versions
    }

    /// The full name of the definition of a kind in a version (its place in [`Bundle::versions`]).
    pub fn kind(&self, api_version: &str, kind: &str, version: usize) -> Result<Option<String>, BundleError> {
        for package in self.packages.iter().filter(|package| package.api_version == api_version) {
            let found = package.line(kind, version)?;
            if found.is_some_and(|line| line.is_kind) {
                return Ok(Some(format!("{}.{kind}", package.name)));
            }
        }
        Ok(None)
    }

    /// The JSON Schema of a definition, with references by full name; `None` where the version has no such definition.
    pub fn definition(&self, full_name: &str, version: usize) -> Result<Option<&str>, BundleError> {
        Ok(self.describe(full_name, version)?.map(|definition| definition.schema))
    }
}

/// A definition of a version, and what else is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition<'b> {
    /// The JSON Schema, with references by full name.
    pub schema: &'b str,
    /// `apps/v1` for a definition that is a kind; its name is the kind.
    pub api_version: Option<&'b str>,
}

impl Bundle {
    /// The full names of the definitions of a version. Unpacks everything.
    pub fn names(&self, version: usize) -> Result<Vec<String>, BundleError> {
        let mut names = Vec::new();
        for package in &self.packages {
            for line in package.text()?.lines().filter(|line| !line.is_empty()) {
                let line = Line::read(line).ok_or(BundleError("a definition without its fields"))?;
                if (line.first..=line.last).contains(&version) {
                    names.push(format!("{}.{}", package.name, line.name));
                }
            }
        }
        Ok(names)
    }

    /// What is known of a definition; `None` where the version has no such definition.
    pub fn describe(&self, full_name: &str, version: usize) -> Result<Option<Definition<'_>>, BundleError> {
        let Some((package, name)) = full_name.rsplit_once('.') else { return Ok(None) };
        let Ok(at) = self.packages.binary_search_by_key(&package, |package| package.name) else { return Ok(None) };
        let package = &self.packages[at];
        Ok(package
            .line(name, version)?
            .map(|line| Definition { schema: line.schema, api_version: line.is_kind.then_some(package.api_version) }))
    }
}

impl Package {
    fn text(&self) -> Result<&str, BundleError> {
        let text = self.text.get_or_init(|| {
            let bytes = miniz_oxide::inflate::decompress_to_vec_with_limit(self.packed, self.unpacked_len)
                .map_err(|_| BundleError("a package can't be unpacked"))?;
            String::from_utf8(bytes).map(String::into_boxed_str).map_err(|_| BundleError("no text"))
        });
        match text {
            Ok(text) => Ok(text),
            Err(error) => Err(error.clone()),
        }
    }

    fn line(&self, name: &str, version: usize) -> Result<Option<Line<'_>>, BundleError> {
        for line in self.text()?.lines() {
            if line.strip_prefix(name).is_some_and(|rest| rest.starts_with('\t')) {
                let line = Line::read(line).ok_or(BundleError("a definition without its fields"))?;
                if line.name == name && (line.first..=line.last).contains(&version) {
                    return Ok(Some(line));
                }
            }
        }
        Ok(None)
    }
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Option<Line<'a>> {
        let mut fields = line.splitn(5, '\t');
        Some(Line {
            name: fields.next()?,
            first: fields.next()?.parse().ok()?,
            last: fields.next()?.parse().ok()?,
            is_kind: fields.next()? == "k",
            schema: fields.next()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_of_every_version_is_readable_and_refers_to_what_is_there() {
        let bundle = Bundle::embedded().expect("bundle");
        assert_eq!(bundle.versions().first(), Some(&"1.25"));
        let mut count = 0;
        for package in &bundle.packages {
            for line in package.text().expect("text").lines() {
                let line = Line::read(line).expect("fields");
                let schema: serde_json::Value = serde_json::from_str(line.schema).expect("JSON");
                for version in line.first..=line.last {
                    let mut references = Vec::new();
                    collect(&schema, &mut references);
                    for name in references {
                        assert!(bundle.definition(name, version).expect("readable").is_some(), "{name} {version}");
                        count += 1;
                    }
                }
            }
        }
        assert!(count > 10_000, "{count} references");
    }

    fn collect<'a>(value: &'a serde_json::Value, into: &mut Vec<&'a str>) {
        match value {
            serde_json::Value::Object(map) => {
                into.extend(map.get("$ref").and_then(|name| name.as_str()));
                map.values().for_each(|value| collect(value, into));
            }
            serde_json::Value::Array(list) => list.iter().for_each(|value| collect(value, into)),
            _ => {}
        }
    }

    #[test]
    fn names_are_those_that_can_be_described() {
        let bundle = Bundle::embedded().expect("bundle");
        let names = bundle.names(0).expect("readable");
        assert!(names.len() > 500, "{}", names.len());
        assert!(names.iter().all(|name| bundle.describe(name, 0).expect("readable").is_some()));
        let of = |name| bundle.describe(name, 0).expect("readable").expect("there").api_version;
        assert_eq!(of("io.k8s.api.apps.v1.Deployment"), Some("apps/v1"));
        assert_eq!(of("io.k8s.api.apps.v1.DeploymentSpec"), None);
    }

    #[test]
    fn kinds_come_and_go_with_the_versions() {
        let bundle = Bundle::embedded().expect("bundle");
        let newest = bundle.versions().len() - 1;
        let there = |api_version, kind, version| bundle.kind(api_version, kind, version).expect("readable");
        assert_eq!(there("apps/v1", "Deployment", 0).as_deref(), Some("io.k8s.api.apps.v1.Deployment"));
        assert_eq!(there("v1", "Pod", newest).as_deref(), Some("io.k8s.api.core.v1.Pod"));
        assert!(there("autoscaling/v2beta2", "HorizontalPodAutoscaler", 0).is_some());
        assert!(there("autoscaling/v2beta2", "HorizontalPodAutoscaler", newest).is_none());
        assert!(there("v1", "PodSpec", newest).is_none());
        assert!(there("-", "Quantity", newest).is_none());
    }
}
