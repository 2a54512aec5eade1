//! Field selectors: `metadata.name=a,spec.lifecycle!=Draft`, with `\\`, `\,` and `\=` in values.

use std::borrow::Cow;

use super::{MAX_SELECTOR, SelectError};
use crate::api::types::Kind;
use crate::schema::shown;

/// Selects by the fields of a kind: all terms must hold. Without terms it selects everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    field: String,
    equal: bool,
    value: String,
}

/// What stands for the fields whose key is the client's own.
const PACKAGE_LABELS: &str = "spec.packageMetadata.labels[KEY]";

/// The fields that objects of a kind are selected by: those of Porch, and those of Kubernetes' events. One that ends in
/// `[KEY]` stands for all keys.
pub fn supported_fields(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::PackageRevision => &[
            "metadata.name",
            "metadata.namespace",
            "spec.packageName",
            "spec.repository",
            "spec.workspaceName",
            "spec.revision",
            "spec.lifecycle",
            PACKAGE_LABELS,
        ],
        Kind::PackageRevisionResources => &[
            "metadata.name",
            "metadata.namespace",
            "spec.packageName",
            "spec.repository",
            "spec.workspaceName",
            "spec.revision",
        ],
        Kind::CoreEvent => &[
            "metadata.name",
            "metadata.namespace",
            "involvedObject.apiVersion",
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "type",
            "source",
            "reportingComponent",
        ],
        Kind::Event => &[
            "metadata.name",
            "metadata.namespace",
            "regarding.apiVersion",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "type",
            "reportingController",
        ],
        Kind::Namespace => &["metadata.name"],
    }
}

impl FieldSelector {
    /// Reads a selector of objects of a kind; the empty text selects everything.
    pub fn parse(text: &str, kind: Kind) -> Result<Self, SelectError> {
        if text.len() > MAX_SELECTOR {
            return Err(SelectError::TooLong { kind: "field" });
        }
        let mut terms = Vec::new();
        for (start, term) in split(text) {
            if term.is_empty() {
                continue;
            }
            let term = Term::parse(term).map_err(|(at, message)| SelectError::Syntax {
                kind: "field",
                selector: shown(text),
                position: text[..start + at].chars().count() + 1,
                message: message.to_owned(),
            })?;
            if !is_supported(kind, &term.field) {
                let supported: Vec<String> = supported_fields(kind).iter().map(|field| format!("`{field}`")).collect();
                return Err(SelectError::Field { field: shown(&term.field), supported: supported.join(", ") });
            }
            terms.push(term);
        }
        Ok(Self { terms })
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether an object with these values of the fields is selected. `value` is asked for fields of
    /// [`supported_fields`], with the client's key in place of `KEY`; a field that is not there is empty.
    pub fn matches<'v>(&self, value: impl Fn(&str) -> Cow<'v, str>) -> bool {
        self.terms.iter().all(|term| (value(&term.field) == term.value) == term.equal)
    }

    /// The one value that a field must have, where the selector says so: with `metadata.name` one object is looked up
    /// instead of all.
    pub fn exactly(&self, field: &str) -> Option<&str> {
        self.terms.iter().find(|term| term.equal && term.field == field).map(|term| &*term.value)
    }
}

/// The key in `spec.packageMetadata.labels[KEY]`.
pub(crate) fn package_label(field: &str) -> Option<&str> {
    field.strip_prefix(PACKAGE_LABELS.strip_suffix("KEY]")?)?.strip_suffix(']')
}

fn is_supported(kind: Kind, field: &str) -> bool {
    let fields = supported_fields(kind);
    let label = || fields.contains(&PACKAGE_LABELS) && package_label(field).is_some_and(|key| !key.is_empty());
    (fields.contains(&field) && field != PACKAGE_LABELS) || label()
}

/// The terms with the offsets where they start: what stands between commas without a backslash before them.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push((start, &text[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push((start, &text[start..]));
    terms
}

impl Term {
    fn parse(text: &str) -> Result<Self, (usize, &'static str)> {
        let at = text.find(['=', '!']).ok_or((0, "expected `FIELD=VALUE`, `FIELD==VALUE` or `FIELD!=VALUE`"))?;
        let (field, rest) = text.split_at(at);
        let (equal, value) = if let Some(value) = rest.strip_prefix("!=") {
            (false, value)
        } else if let Some(value) = rest.strip_prefix("==") {
            (true, value)
        } else if let Some(value) = rest.strip_prefix('=') {
            (true, value)
        } else {
            return Err((at, "expected `!=`"));
        };
        let value = unescape(value).map_err(|offset| {
            (
                text.len() - value.len() + offset,
                "write `\\\\`, `\\,` and `\\=` for a backslash, a comma and an equals sign",
            )
        })?;
        Ok(Self { field: field.trim().to_owned(), equal, value })
    }
}

/// The value without its backslashes; the offset of one that stands before something else, or of an equals sign without
/// one.
fn unescape(value: &str) -> Result<String, usize> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, escaped @ ('\\' | ',' | '='))) => plain.push(escaped),
                _ => return Err(at),
            },
            '=' => return Err(at),
            c => plain.push(c),
        }
    }
    Ok(plain)
}
