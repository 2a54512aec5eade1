//! Schemas in files: `schema_location` of a configuration.

use std::path::Path;

use thiserror::Error;

/// What is added to a location that names no file: where kubeconform and kubeval keep the schemas of Kubernetes.
const LAYOUT: &str =
    "/{{ .NormalizedKubernetesVersion }}-standalone{{ .StrictSuffix }}/{{ .ResourceKind }}{{ .KindSuffix }}.json";
/// The name of the embedded schemas.
const DEFAULT: &str = "default";

/// Where schemas are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// The schemas of Kubernetes that this program carries.
    Embedded,
    /// Files, by a path with placeholders.
    Files(String),
}

/// A location that cannot be used.
#[derive(Debug, Error)]
pub enum LocationError {
    /// Functions have no network.
    #[error(
        "schema location `{0}` is on the network, which a function can't reach; leave it out to use the schemas of \
         Kubernetes that this function carries, and put CustomResourceDefinitions into the package"
    )]
    Network(String),
    /// No such directory, or none that the function may see.
    #[error(
        "directory `{directory}` of schema location `{location}` can't be read: a function sees no files but those of \
         directories that are granted to it; pass `--mount type=bind,src=DIR,dst={granted}` to `portico render` or \
         `portico eval`, with the directory that has the schemas as DIR, or leave the location out to use the schemas \
         of Kubernetes that this function carries and the CustomResourceDefinitions of the package"
    )]
    NotGranted {
        /// As configured.
        location: String,
        /// The part before the first placeholder.
        directory: String,
        /// Where a directory would have to be granted: the same as an absolute path.
        granted: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A placeholder that means nothing.
    #[error(
        "schema location `{location}`: `{{{{ {name} }}}}` is no placeholder; there are .NormalizedKubernetesVersion, \
         .StrictSuffix, .ResourceKind, .ResourceAPIVersion, .Group and .KindSuffix"
    )]
    Placeholder {
        /// As configured.
        location: String,
        /// The text in the braces.
        name: String,
    },
}

/// What the placeholders of a location stand for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// `master`, `v1.29.0`.
    pub(crate) version: &'a str,
    pub(crate) strict: bool,
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
}

impl Location {
    /// Reads a location and looks whether it is there.
    pub fn open(text: &str) -> Result<Location, LocationError> {
        let text = text.trim();
        if text == DEFAULT {
            return Ok(Location::Embedded);
        }
        let path = text.strip_prefix("file://").unwrap_or(text);
        if path.contains("://") {
            return Err(LocationError::Network(text.to_owned()));
        }
        let path =
            if path.ends_with("json") { path.to_owned() } else { format!("{}{LAYOUT}", path.trim_end_matches('/')) };
        let probe = Target { version: "master", strict: false, api_version: "v1", kind: "Pod" };
        fill(&path, probe).map_err(|name| LocationError::Placeholder { location: text.to_owned(), name })?;
        let fixed = path.split("{{").next().unwrap_or_default();
        let directory = fixed.rfind('/').map_or(".", |end| if end == 0 { "/" } else { &fixed[..end] });
        if let Err(source) = std::fs::read_dir(Path::new(directory)) {
            return Err(LocationError::NotGranted {
                location: text.to_owned(),
                directory: directory.to_owned(),
                granted: format!("/{}", directory.trim_start_matches(['.', '/'])),
                source,
            });
        }
        Ok(Location::Files(path))
    }
}

/// Fills in the placeholders of a path; the name of one that is unknown is the error.
pub(crate) fn fill(path: &str, target: Target<'_>) -> Result<String, String> {
    let mut filled = String::with_capacity(path.len() + 32);
    let mut rest = path;
    while let Some((before, behind)) = rest.split_once("{{") {
        filled.push_str(before);
        let Some((name, behind)) = behind.split_once("}}") else { return Err(behind.trim().to_owned()) };
        let (group, version) = target.api_version.split_once('/').unwrap_or(("", target.api_version));
        match name.trim() {
            ".NormalizedKubernetesVersion" => filled.push_str(target.version),
            ".StrictSuffix" => filled.push_str(if target.strict { "-strict" } else { "" }),
            ".ResourceKind" => filled.push_str(&safe(target.kind)),
            ".ResourceAPIVersion" => filled.push_str(&safe(version)),
            ".Group" => filled.push_str(&safe(group)),
            ".KindSuffix" => {
                if let Some(label) = group.split('.').next().filter(|label| !label.is_empty()) {
                    filled.push('-');
                    filled.push_str(&safe(label));
                }
                filled.push('-');
                filled.push_str(&safe(version));
            }
            unknown => return Err(unknown.to_owned()),
        }
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// A part of a file name from an object: lower case, and no way out of the directory.
fn safe(text: &str) -> String {
    text.to_lowercase().replace(['/', '\\'], "-").replace("..", "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_gets_the_layout_of_kubeconform() {
        let target =
            Target { version: "v1.29.0", strict: true, api_version: "rbac.authorization.k8s.io/v1", kind: "Role" };
        assert_eq!(
            fill(&format!("/s{LAYOUT}"), target).as_deref(),
            Ok("/s/v1.29.0-standalone-strict/role-rbac-v1.json")
        );
        let target = Target { version: "master", strict: false, api_version: "v1", kind: "Pod" };
        assert_eq!(fill(&format!("/s{LAYOUT}"), target).as_deref(), Ok("/s/master-standalone/pod-v1.json"));
    }

    #[test]
    fn an_object_cannot_name_a_file_outside() {
        let target =
            Target { version: "master", strict: false, api_version: "../../x/../v1", kind: "../../etc/passwd" };
        let filled = fill("/s/{{.Group}}/{{ .ResourceKind }}_{{.ResourceAPIVersion}}.json", target).expect("filled");
        assert!(!filled.contains("..") && filled.matches('/').count() == 3, "{filled}");
    }

    #[test]
    fn bad_locations_say_why() {
        let network = Location::open("https://example.com/schemas").expect_err("network").to_string();
        assert!(network.contains("network"), "{network}");
        let gone = Location::open("file:///no/such/place").expect_err("not there").to_string();
        assert!(gone.contains("`/no/such/place`") && gone.contains("src=DIR,dst=/no/such/place`"), "{gone}");
        let relative = Location::open("./no-such/{{ .ResourceKind }}.json").expect_err("not there").to_string();
        assert!(relative.contains("`./no-such`") && relative.contains("src=DIR,dst=/no-such`"), "{relative}");
        let unknown = Location::open("/tmp/{{ .What }}.json").expect_err("unknown").to_string();
        assert!(unknown.contains("`{{ .What }}`"), "{unknown}");
        assert_eq!(Location::open("default").expect("there"), Location::Embedded);
    }
}
