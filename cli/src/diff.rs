//! `--diff`: what a render would change, as a unified diff.

use std::fmt::Write as _;

use portico_runtime::package::{Change, PackageFiles};

/// The changes as a unified diff of the whole package.
pub(crate) fn unified(changes: &[Change], files: &PackageFiles) -> String {
    let mut out = String::new();
    for change in changes {
        let (path, new): (&str, Option<&[u8]>) = match change {
            Change::Write { path, bytes } => (path, Some(bytes)),
            Change::Delete { path } => (path, None),
        };
        let old = files.files.get(path).map(|file| &*file.bytes);
        let (old_text, new_text) = (lossy(old), lossy(new));
        let old_name = if old.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
        let new_name = if new.is_some() { format!("b/{path}") } else { "/dev/null".to_owned() };
        let diff = similar::TextDiff::from_lines(old_text.as_str(), new_text.as_str());
        let text = diff.unified_diff().context_radius(3).header(&old_name, &new_name).to_string();
        // A string never fails to take text.
        _ = write!(out, "{text}");
    }
    out
}

fn lossy(bytes: Option<&[u8]>) -> String {
    bytes.map(|b| String::from_utf8_lossy(b).into_owned()).unwrap_or_default()
}
