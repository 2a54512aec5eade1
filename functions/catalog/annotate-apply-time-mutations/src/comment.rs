//! Comments that name the source of a field's value.
//!
//! `# apply-time-mutation: PATTERN`, in whose pattern `${GROUP/namespaces/NAMESPACE/KIND/NAME:$.path}` stands for a value.

use crate::mutation::Reference;

const MARK: &str = "apply-time-mutation:";

/// References in one comment.
const MAX_REFERENCES: usize = 32;

/// What follows the mark of a comment of ours.
pub(crate) fn marked(comment: &str) -> Option<&str> {
    comment.trim_start_matches('#').trim_start().strip_prefix(MARK).map(str::trim)
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) object: Reference,
    pub(crate) path: String,
}

/// What a comment asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marked {
    /// What the field becomes until then; `None` when all of it is replaced, so that it stays.
    pub(crate) value: Option<String>,
    /// The sources with the tokens that they replace; an empty token is the whole field.
    pub(crate) references: Vec<(Source, String)>,
}

impl Marked {
    /// Reads a pattern. `tokens` counts over all comments of an object, so that no two tokens are equal.
    pub(crate) fn read(pattern: &str, tokens: &mut usize) -> Result<Marked, String> {
        let mut value = String::new();
        let mut references = Vec::new();
        let mut rest = pattern;
        while let Some((before, after)) = rest.split_once("${") {
            let (inside, after) = after
                .split_once('}')
                .ok_or_else(|| format!("the comment `{pattern}` has a `${{` without the `}}` that ends it"))?;
            let source = source(inside).map_err(|reason| format!("the comment `{pattern}` {reason}"))?;
            if references.len() == MAX_REFERENCES {
                return Err(format!("the comment names more than {MAX_REFERENCES} sources"));
            }
            if before.is_empty() && after.is_empty() && references.is_empty() {
                *tokens += 1;
                return Ok(Marked { value: None, references: vec![(source, String::new())] });
            }
            let token = format!("${{ref{tokens}}}");
            *tokens += 1;
            value.push_str(before);
            value.push_str(&token);
            references.push((source, token));
            rest = after;
        }
        if references.is_empty() {
            return Err(format!(
                "the comment `{pattern}` names no source, such as `${{apps/namespaces/ns/Deployment/name:$.spec.x}}`"
            ));
        }
        value.push_str(rest);
        Ok(Marked { value: Some(value), references })
    }
}

/// `GROUP/[VERSION/][namespaces/NAMESPACE/]KIND/NAME:$.path`.
fn source(text: &str) -> Result<Source, String> {
    let (object, path) = text
        .split_once(':')
        .filter(|(_, path)| path.starts_with('$'))
        .ok_or_else(|| format!("has the source `{text}` without a path: write `OBJECT:$.path`"))?;
    let parts: Vec<&str> = object.split('/').collect();
    let reference = |group: &str, version: &str, namespace: &str, kind: &str, name: &str| Reference {
        api_version: match (group, version) {
            (_, "") => String::new(),
            ("", version) => version.to_owned(),
            (group, version) => format!("{group}/{version}"),
        },
        group: if version.is_empty() { group.to_owned() } else { String::new() },
        kind: kind.to_owned(),
        name: name.to_owned(),
        namespace: namespace.to_owned(),
    };
    let object = match parts[..] {
        [group, version, "namespaces", namespace, kind, name] => reference(group, version, namespace, kind, name),
        [group, "namespaces", namespace, kind, name] => reference(group, "", namespace, kind, name),
        [group, version, kind, name] => reference(group, version, "", kind, name),
        [group, kind, name] => reference(group, "", "", kind, name),
        _ => {
            return Err(format!(
                "has the object `{object}`, which is not of the form `GROUP/namespaces/NAMESPACE/KIND/NAME` or `GROUP/KIND/NAME`"
            ));
        }
    };
    if object.kind.is_empty() || object.name.is_empty() {
        return Err(format!("has the source `{text}` without a kind or a name"));
    }
    Ok(Source { object, path: path.to_owned() })
}
