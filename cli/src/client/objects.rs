//! What the commands look at in the server's objects.

use std::collections::BTreeMap;

use serde_json::Value;

/// How a render ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finished {
    /// Whether it passed.
    pub(crate) rendered: bool,
    /// Why, in one word.
    pub(crate) reason: String,
    /// Why, in words.
    pub(crate) message: String,
}

/// How the render of a revision's newest content ended; `None` while it has not.
pub(crate) fn finished(revision: &Value) -> Option<Finished> {
    let conditions = revision["status"]["conditions"].as_array()?;
    let of = |kind: &str| conditions.iter().find(|condition| condition["type"] == kind);
    let rendered =
        of("Rendered").filter(|_| of("RenderFinished").is_some_and(|finished| finished["status"] == "True"))?;
    let text = |field: &str| rendered[field].as_str().unwrap_or_default().to_owned();
    Some(Finished { rendered: rendered["status"] == "True", reason: text("reason"), message: text("message") })
}

/// `spec.lifecycle`.
pub(crate) fn lifecycle(revision: &Value) -> &str {
    revision["spec"]["lifecycle"].as_str().unwrap_or("Draft")
}

/// `metadata.resourceVersion`.
pub(crate) fn resource_version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default()
}

/// `metadata.generation`: moves with what clients write.
pub(crate) fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or_default()
}

/// The files of a `PackageRevisionResources`.
pub(crate) fn files(resources: &Value) -> BTreeMap<String, String> {
    let files = resources["spec"]["resources"].as_object().into_iter().flatten();
    files.filter_map(|(path, content)| Some((path.clone(), content.as_str()?.to_owned()))).collect()
}

/// How one set of files differs from another: `2 changed, 1 new`; empty where it does not.
pub(crate) fn difference(from: &BTreeMap<String, String>, to: &BTreeMap<String, String>) -> String {
    let changed = to.iter().filter(|(path, content)| from.get(*path).is_some_and(|old| old != *content)).count();
    let new = to.keys().filter(|path| !from.contains_key(*path)).count();
    let gone = from.keys().filter(|path| !to.contains_key(*path)).count();
    let parts = [(changed, "changed"), (new, "new"), (gone, "gone")];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_render_has_ended_when_both_conditions_say_so() {
        let with = |conditions: Value| finished(&json!({ "status": { "conditions": conditions } }));
        assert_eq!(finished(&json!({})), None);
        assert_eq!(with(json!([{ "type": "RenderFinished", "status": "False", "reason": "Scheduled" }])), None);
        // Of the content before.
        assert_eq!(with(json!([{ "type": "Rendered", "status": "True" }])), None);
        let ended = with(json!([
            { "type": "RenderFinished", "status": "True" },
            { "type": "Rendered", "status": "False", "reason": "RenderFailed", "message": "no" }
        ]));
        let expected = Finished { rendered: false, reason: "RenderFailed".into(), message: "no".into() };
        assert_eq!(ended, Some(expected));
    }

    #[test]
    fn a_difference_is_counted_by_kind() {
        let files = |all: &[(&str, &str)]| all.iter().map(|(p, c)| ((*p).to_owned(), (*c).to_owned())).collect();
        let from = files(&[("a", "1"), ("b", "1"), ("c", "1")]);
        assert_eq!(difference(&from, &files(&[("a", "1"), ("b", "2"), ("d", "1")])), "1 changed, 1 new, 1 gone");
        assert_eq!(difference(&from, &from), "");
    }
}
