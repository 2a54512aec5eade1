//! Finding the fields of one object, and changing what is found.

use portico_fn::yaml::{NodeId, Style, Tree};
use portico_fn::{Resource, annotations};
use setters_core::{FieldType, Path, Visitor, assign, field_type, walk};

use crate::Hit;
use crate::put::{comment_text, filled, shown};
use crate::settings::{ByValue, Settings};

/// A field that was found and what it gets.
struct Found {
    path: String,
    kind: Kind,
    comment: Option<String>,
}

enum Kind {
    Scalar { id: NodeId, known: Option<FieldType>, value: Option<String> },
    List { key: NodeId, list: NodeId },
}

/// Finds the fields that the settings describe and puts there what they say.
pub(crate) fn search(object: &mut Resource, settings: &Settings) -> Result<Vec<Hit>, String> {
    let mut finder = Finder { settings, object, found: Vec::new() };
    walk(&object.tree, &mut finder)?;
    let found = finder.found;
    Ok(found.into_iter().map(|found| perform(&mut object.tree, settings, found)).collect())
}

fn perform(tree: &mut Tree, settings: &Settings, found: Found) -> Hit {
    match found.kind {
        Kind::Scalar { id, known, value } => {
            if let Some(value) = value {
                assign(tree, id, &value, known);
            }
            if let Some(comment) = &found.comment {
                tree.set_line_comment(id, Some(comment));
            }
            Hit { path: found.path, value: shown(tree, id) }
        }
        Kind::List { key, list } => {
            tree.set_style(list, Style::Flow);
            let value = shown(tree, list);
            tree.set_style(list, Style::Block);
            tree.set_line_comment(list, None);
            tree.set_line_comment(key, found.comment.as_deref());
            let path = settings.path.as_ref().map_or("", |path| path.text());
            let comment = settings.put_comment.as_deref().unwrap_or_default();
            Hit { path: format!("{path} # {comment}"), value }
        }
    }
}

struct Finder<'a> {
    settings: &'a Settings,
    object: &'a Resource,
    found: Vec<Found>,
}

impl Visitor for Finder<'_> {
    type Error = String;

    fn list(&mut self, tree: &Tree, key: NodeId, list: NodeId, path: &Path<'_>) -> Result<bool, String> {
        let (Some(comment), Some(by_path)) = (&self.settings.put_comment, &self.settings.path) else {
            return Ok(true);
        };
        if !tree.is_empty(list) {
            let path = path.to_string();
            if by_path.is_match(&path) {
                let comment = Some(comment_text(comment, &path)?);
                self.found.push(Found { path, kind: Kind::List { key, list }, comment });
            }
        }
        Ok(true)
    }

    fn scalar(&mut self, tree: &Tree, key: Option<NodeId>, id: NodeId, path: &Path<'_>) -> Result<(), String> {
        let settings = self.settings;
        let text = tree.text(id);
        let captures = match &settings.value {
            ByValue::Any if settings.path.is_none() => return Ok(()),
            ByValue::Any => None,
            ByValue::Exactly(value) if value == text => None,
            ByValue::Exactly(_) => return Ok(()),
            ByValue::Matching(regex) => match regex.captures(text) {
                Some(captures) => Some(captures),
                None => return Ok(()),
            },
        };
        if key.is_some_and(|key| annotations::is_internal(tree.text(key))) {
            return Ok(());
        }
        let name = path.to_string();
        if settings.path.as_ref().is_some_and(|path| !path.is_match(&name)) {
            return Ok(());
        }
        let captures = captures.as_ref();
        let comment = settings.put_comment.as_ref().map(|comment| comment_text(&filled(comment, captures)?, &name));
        let value = settings.put_value.as_ref().map(|value| filled(value, captures));
        let known = field_type(self.object, path);
        let kind = Kind::Scalar { id, known, value: value.transpose()? };
        self.found.push(Found { path: name, kind, comment: comment.transpose()? });
        Ok(())
    }
}
