//! What names, labels and annotations may be, in Kubernetes' own rules.

use std::collections::BTreeMap;

use super::status::Cause;
use super::types::{ObjectMeta, PackageRevisionSpec};
use crate::record::wishes::Wishes;

/// Longest name of an object. Kubernetes' own bound.
const NAME_BYTES: usize = 253;
/// Longest part of a name between dots, and longest name and value of a label. Kubernetes' own bound.
const PART_BYTES: usize = 63;

const SUBDOMAIN: &str = "must consist of lower case letters, digits, '-' and '.', begin and end with a letter or digit, and \
                         have at most 253 characters";
const QUALIFIED: &str = "must consist of letters, digits, '-', '_' and '.', begin and end with a letter or digit, have at \
                         most 63 characters, and may have a DNS subdomain and '/' before it";
const LABEL_VALUE: &str = "must be empty, or consist of letters, digits, '-', '_' and '.', begin and end with a letter or \
                           digit, and have at most 63 characters";

fn of(text: &str, inner: impl Fn(u8) -> bool, outer: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    ends.is_some_and(|(first, last)| outer(*first) && outer(*last)) && bytes.iter().all(|byte| inner(*byte))
}

fn lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Whether it can be the name of an object.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.len() <= NAME_BYTES && text.split('.').all(|part| of(part, |byte| lower(byte) || byte == b'-', lower))
}

fn is_label_word(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.len() <= PART_BYTES && of(text, inner, |byte| byte.is_ascii_alphanumeric())
}

fn is_qualified(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_subdomain(&prefix.to_ascii_lowercase()) && is_label_word(name),
        None => is_label_word(text),
    }
}

/// Whether it can be a namespace.
pub(crate) fn is_namespace(text: &str) -> bool {
    text.len() <= PART_BYTES && of(text, |byte| lower(byte) || byte == b'-', lower)
}

/// The fault of annotations that say something of renders which cannot be read.
pub(super) fn check_wishes(metadata: &ObjectMeta, causes: &mut Vec<Cause>) {
    if let Err(error) = Wishes::read(&metadata.annotations) {
        causes.push(Cause::invalid(&format!("metadata.annotations[{}]", error.name), &error.value, &error.expected));
    }
}

/// The faults of what a client may write of an object's metadata.
pub(super) fn check_metadata(metadata: &ObjectMeta, causes: &mut Vec<Cause>) {
    if !metadata.name.is_empty() && !is_subdomain(&metadata.name) {
        causes.push(Cause::invalid("metadata.name", &metadata.name, SUBDOMAIN));
    }
    check_labels("metadata.labels", &metadata.labels, causes);
    for key in metadata.annotations.keys().filter(|key| !is_qualified(key)) {
        causes.push(Cause::invalid("metadata.annotations", key, QUALIFIED));
    }
    for (at, finalizer) in metadata.finalizers.iter().enumerate() {
        let field = format!("metadata.finalizers[{at}]");
        if !finalizer.contains('/') || !is_qualified(finalizer) {
            let why = "must be a name with a domain before it, such as `example.com/cleanup`";
            causes.push(Cause::invalid(&field, finalizer, why));
        }
    }
    for (at, owner) in metadata.owner_references.iter().enumerate() {
        let parts =
            [("apiVersion", &owner.api_version), ("kind", &owner.kind), ("name", &owner.name), ("uid", &owner.uid)];
        for (part, value) in parts {
            if value.is_empty() {
                let field = format!("metadata.ownerReferences[{at}].{part}");
                causes.push(Cause::required(&field, ""));
            }
        }
    }
}

fn check_labels(field: &str, labels: &BTreeMap<String, String>, causes: &mut Vec<Cause>) {
    for (key, value) in labels {
        if !is_qualified(key) {
            causes.push(Cause::invalid(field, key, QUALIFIED));
        }
        if !value.is_empty() && !is_label_word(value) {
            causes.push(Cause::invalid(&format!("{field}[{key}]"), value, LABEL_VALUE));
        }
    }
}

/// The faults of the names of a new package revision.
pub(super) fn check_spec(spec: &PackageRevisionSpec, causes: &mut Vec<Cause>) {
    let word = |text: &str| of(text, |byte| lower(byte) || matches!(byte, b'-' | b'.'), lower) && !text.contains("..");
    let rule = "must consist of lower case letters, digits, '-' and '.', and begin and end with a letter or digit";
    for (field, value) in [("spec.repository", &spec.repository), ("spec.workspaceName", &spec.workspace_name)] {
        if value.is_empty() {
            causes.push(Cause::required(field, ""));
        } else if !word(value) {
            causes.push(Cause::invalid(field, value, rule));
        }
    }
    if spec.package_name.is_empty() {
        causes.push(Cause::required("spec.packageName", ""));
    } else if !spec.package_name.split('/').all(word) {
        let rule = format!("each folder {rule}");
        causes.push(Cause::invalid("spec.packageName", &spec.package_name, &rule));
    }
}

/// The name that a package revision has where none is given: `repository.package.workspace`, as Porch composes it.
pub(super) fn composed(spec: &PackageRevisionSpec) -> String {
    format!("{}.{}.{}", spec.repository, spec.package_name.replace('/', "."), spec.workspace_name)
}

/// A name with this prefix, in Kubernetes' way: five letters that make no word.
pub(super) fn generated(prefix: &str) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let prefix = &prefix[..prefix.floor_char_boundary(NAME_BYTES - 5)];
    let tail = (0..5).map(|_| LETTERS[fastrand::usize(..LETTERS.len())] as char);
    prefix.chars().chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(repository: &str, package: &str, workspace: &str) -> PackageRevisionSpec {
        PackageRevisionSpec {
            repository: repository.into(),
            package_name: package.into(),
            workspace_name: workspace.into(),
            ..PackageRevisionSpec::default()
        }
    }

    fn faults(spec: &PackageRevisionSpec) -> Vec<String> {
        let mut causes = Vec::new();
        check_spec(spec, &mut causes);
        causes.into_iter().map(|cause| cause.field).collect()
    }

    #[test]
    fn names_of_packages() {
        assert_eq!(faults(&spec("blueprints", "net/core", "v1")), [""; 0]);
        assert_eq!(faults(&spec("", "", "")), ["spec.repository", "spec.workspaceName", "spec.packageName"]);
        for bad in ["A", "a//b", "/a", "a/", "a_b", "-a", "a..b", "a/../b", "é"] {
            assert_eq!(faults(&spec("r", bad, "v")), ["spec.packageName"], "{bad}");
        }
        assert_eq!(composed(&spec("r", "net/core", "v1")), "r.net.core.v1");
        assert!(is_subdomain(&composed(&spec("r", "net/core", "v1"))));
    }

    #[test]
    fn names_of_labels_annotations_and_finalizers() {
        let mut causes = Vec::new();
        let mut metadata = ObjectMeta { name: "a.b-c".into(), ..ObjectMeta::default() };
        metadata.labels = [("kpt.dev/latest-revision".into(), "true".into()), ("App".into(), String::new())].into();
        metadata.annotations = [("kubectl.kubernetes.io/last-applied-configuration".into(), "{ }\n".into())].into();
        metadata.finalizers = vec!["example.com/cleanup".into()];
        check_metadata(&metadata, &mut causes);
        assert_eq!(causes, []);

        metadata.name = "A".into();
        metadata.labels = [("a/b/c".into(), "true".into()), ("ok".into(), "not ok".into())].into();
        metadata.annotations = [("with space".into(), String::new())].into();
        metadata.finalizers = vec!["plain".into()];
        check_metadata(&metadata, &mut causes);
        let fields: Vec<&str> = causes.iter().map(|cause| &*cause.field).collect();
        let labels = ["metadata.labels", "metadata.labels[ok]"];
        assert_eq!(fields, ["metadata.name", labels[0], labels[1], "metadata.annotations", "metadata.finalizers[0]"]);
    }

    #[test]
    fn generated_names_are_names() {
        let name = generated("draft-");
        assert!(name.starts_with("draft-") && name.len() == 11 && is_subdomain(&name), "{name}");
        assert!(generated(&"x".repeat(300)).len() <= NAME_BYTES);
    }
}
