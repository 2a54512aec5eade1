//! Selectors in the forms of Kubernetes' documentation, and what is none.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::fields::package_label;
use super::{FieldSelector, LabelSelector, MAX_SELECTOR, SelectError};
use crate::api::types::Kind;

fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
    let labels: BTreeMap<String, String> = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    LabelSelector::parse(selector).unwrap_or_else(|error| panic!("{error}")).matches(&labels)
}

#[test]
fn labels_are_selected_by_value_set_and_existence() {
    let labels = [("environment", "production"), ("tier", "frontend"), ("example.com/size", "12"), ("empty", "")];
    for selector in [
        "",
        " ",
        "environment=production",
        "environment==production,tier!=backend",
        " environment = production , tier ",
        "environment in (production, qa)",
        "environment in(production)",
        "tier notin (backend,cache),environment",
        "!partition,tier",
        "partition!=x",
        "partition notin (x)",
        "example.com/size>11,example.com/size<13",
        "empty=",
        "empty=,tier",
        "empty in (,x)",
        "in!=x",
        "notin notin (in)",
    ] {
        assert!(selects(selector, &labels), "{selector}");
    }
    for selector in [
        "environment=qa",
        "environment!=production",
        "environment in (qa,)",
        "tier notin (frontend)",
        "partition",
        "!tier",
        "partition=",
        "tier>1",
        "example.com/size>12",
        "environment=production,tier=backend",
    ] {
        assert!(!selects(selector, &labels), "{selector}");
    }
}

#[test]
fn a_label_selector_that_is_none_names_the_place() {
    for (selector, position, message) in [
        ("a=b,,c", 5, "expected the key of a label"),
        ("a=b,", 5, "expected the key of a label"),
        ("=b", 1, "expected the key of a label"),
        ("a b", 3, "expected `=`"),
        ("a in b", 6, "expected `(`"),
        ("a in (b", 8, "expected `,` or `)`"),
        ("!a=b", 3, "expected `,` or the end"),
        ("a=b c", 5, "expected `,` or the end"),
        ("a>b", 3, "expected an integer"),
        ("é=b", 1, "must have at most 63 letters"),
        ("a=ü, b", 3, "must have at most 63 letters"),
        ("A/b=c", 1, "must begin with a DNS subdomain"),
        ("a/=c", 1, "has no name"),
        ("a/b/c", 1, "must have at most 63 letters"),
        ("a=-b", 3, "must have at most 63 letters"),
    ] {
        let error = LabelSelector::parse(selector).unwrap_err();
        let SelectError::Syntax { position: at, message: said, .. } = &error else { panic!("{error}") };
        // Where a parenthesis is missing the place is that behind what stands there instead.
        assert!(*at == position || message == "expected `(`", "{selector}: {error}");
        assert!(said.contains(message), "{selector}: {error}");
        assert_eq!(error.status(), (400, "BadRequest"));
    }
    let long = format!("a={}", "b".repeat(64));
    assert!(LabelSelector::parse(&long).is_err());
    let longer = "a,".repeat(MAX_SELECTOR);
    assert_eq!(LabelSelector::parse(&longer), Err(SelectError::TooLong { kind: "label" }));
}

fn value(field: &str) -> Cow<'static, str> {
    if let Some(key) = package_label(field) {
        return if key == "a.b/c" { "d".into() } else { "".into() };
    }
    match field {
        "metadata.name" => "repo.pkg,v=1".into(),
        "spec.lifecycle" => "Draft".into(),
        "spec.revision" => "0".into(),
        _ => "".into(),
    }
}

#[test]
fn fields_are_selected_by_value() {
    let selects = |text: &str| FieldSelector::parse(text, Kind::PackageRevision).map(|s| s.matches(value));
    for selector in [
        "",
        ",",
        "spec.lifecycle=Draft",
        "spec.lifecycle==Draft,spec.revision!=1",
        r"metadata.name=repo.pkg\,v\=1",
        "spec.packageMetadata.labels[a.b/c]=d",
        "spec.packageMetadata.labels[x]=",
        "spec.repository=",
    ] {
        assert_eq!(selects(selector), Ok(true), "{selector}");
    }
    for selector in ["spec.lifecycle!=Draft", "spec.lifecycle=draft", "spec.packageMetadata.labels[a.b/c]!=d"] {
        assert_eq!(selects(selector), Ok(false), "{selector}");
    }
    let one = FieldSelector::parse("metadata.name=a,spec.lifecycle!=Draft", Kind::PackageRevision).unwrap();
    assert_eq!((one.exactly("metadata.name"), one.exactly("spec.lifecycle")), (Some("a"), None));
}

#[test]
fn a_field_that_nothing_is_selected_by_is_refused_in_the_usual_words() {
    for field in ["spec.tasks", "spec.packageMetadata.labels[]", "spec.packageMetadata.labels[KEY", "status", ""] {
        let error = FieldSelector::parse(&format!("{field}=x"), Kind::PackageRevision).unwrap_err();
        assert!(error.to_string().starts_with(&format!("field label not supported: {field}; ")), "{error}");
        assert_eq!(error.status(), (400, "BadRequest"));
    }
    assert!(FieldSelector::parse("spec.lifecycle=Draft", Kind::PackageRevisionResources).is_err());
    assert!(FieldSelector::parse("involvedObject.name=a,reason=x,type=Normal", Kind::CoreEvent).is_ok());
    assert!(FieldSelector::parse("regarding.name=a", Kind::CoreEvent).is_err());
    assert!(FieldSelector::parse("regarding.name=a", Kind::Event).is_ok());
}

#[test]
fn a_field_selector_that_is_none_names_the_place() {
    for (selector, position) in [
        ("metadata.name", 1),
        ("metadata.name=a,spec.lifecycle", 17),
        ("metadata.name!a", 14),
        (r"metadata.name=a\b", 16),
        ("metadata.name=a=b", 16),
        ("metadata.name=a\\", 16),
    ] {
        let error = FieldSelector::parse(selector, Kind::PackageRevision).unwrap_err();
        assert!(matches!(error, SelectError::Syntax { position: at, .. } if at == position), "{selector}: {error:?}");
    }
}
