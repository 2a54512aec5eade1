//! Keeps the two spellings of path, index and id in step across a function call.
//!
//! Functions may read and change either spelling. Before a call [`prepare`] records what each resource says and fills
//! in the spelling that is missing; after it [`reconcile`] finds out which one the function changed and carries the
//! change over. Two different changes are an error: nobody can tell which one is meant.

use super::{ID, INDEX, LEGACY_ID, LEGACY_INDEX, LEGACY_PATH, MIGRATION_ID, PATH};
use crate::Resource;

const PAIRS: [(&str, &str, Pair); 3] =
    [(PATH, LEGACY_PATH, Pair::Path), (INDEX, LEGACY_INDEX, Pair::Index), (ID, LEGACY_ID, Pair::Id)];

/// Which of the mirrored annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pair {
    /// The file.
    Path,
    /// The place in the file.
    Index,
    /// The id of the call.
    Id,
}

impl std::fmt::Display for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Pair::Path => "path",
            Pair::Index => "index",
            Pair::Id => "id",
        })
    }
}

/// Why the two spellings cannot be brought into step. The texts are kpt's; `resource` says which one it is about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MirrorError {
    /// Both spellings are there and differ, and nothing says which one is right.
    #[error("resource input to function has mismatched legacy and internal {pair} annotations")]
    Mismatch {
        /// Which annotation.
        pair: Pair,
        /// The resource, as [`Resource::short`] names it.
        resource: String,
        /// The value of the `internal.config.kubernetes.io` spelling.
        internal: String,
        /// The value of the older spelling.
        legacy: String,
    },
    /// Some resources came with the internal spelling, others without it (or likewise the older one).
    #[error("the annotation formatting in the input resources is not consistent")]
    Inconsistent {
        /// The first resource that differs from those before it.
        resource: String,
    },
}

/// What the resources said before the call.
#[derive(Clone, Debug, Default)]
pub struct Before {
    originals: Vec<Original>,
    formats: Formats,
}

#[derive(Clone, Debug)]
struct Original {
    path: String,
    index: String,
}

/// Which spellings the input used. Both when there was no input at all.
#[derive(Clone, Copy, Debug)]
struct Formats {
    internal: bool,
    legacy: bool,
}

impl Default for Formats {
    fn default() -> Self {
        Formats { internal: true, legacy: true }
    }
}

/// Gives every resource its position as [`MIGRATION_ID`], records its path and index and fills in the spellings that
/// are missing.
pub fn prepare(items: &mut [Resource]) -> Result<Before, MirrorError> {
    let mut originals = Vec::with_capacity(items.len());
    let mut internal: Option<bool> = None;
    let mut legacy: Option<bool> = None;
    let mut inconsistent = None;
    for (position, item) in items.iter_mut().enumerate() {
        item.set_annotation(MIGRATION_ID, &position.to_string());
        let has_internal = PAIRS.iter().any(|(key, _, _)| item.annotation(key).is_some());
        let has_legacy = PAIRS.iter().any(|(_, key, _)| item.annotation(key).is_some());
        if has_internal || has_legacy {
            let same = *internal.get_or_insert(has_internal) == has_internal
                && *legacy.get_or_insert(has_legacy) == has_legacy;
            if !same && inconsistent.is_none() {
                inconsistent = Some(item.short());
            }
        }
        originals.push(Original {
            path: item.path().unwrap_or_default().to_owned(),
            index: item.index().unwrap_or_default().to_owned(),
        });
        fill_missing(item);
        check(item)?;
    }
    if let Some(resource) = inconsistent {
        return Err(MirrorError::Inconsistent { resource });
    }
    let formats = if items.is_empty() {
        Formats::default()
    } else {
        Formats { internal: internal.unwrap_or(false), legacy: legacy.unwrap_or(false) }
    };
    Ok(Before { originals, formats })
}

/// Carries a change of one spelling over to the other and removes [`MIGRATION_ID`].
pub fn reconcile(items: &mut [Resource], before: &Before) -> Result<(), MirrorError> {
    for item in items {
        fill_missing(item);
        let original =
            item.annotation(MIGRATION_ID).and_then(position).and_then(|position| before.originals.get(position));
        if let Some(original) = original {
            carry_over(item, (PATH, LEGACY_PATH, Pair::Path), &original.path)?;
            carry_over(item, (INDEX, LEGACY_INDEX, Pair::Index), &original.index)?;
        }
        for (internal, legacy, _) in PAIRS {
            if !before.formats.internal {
                item.remove_annotation(internal);
            }
            if !before.formats.legacy {
                item.remove_annotation(legacy);
            }
        }
        check(item)?;
        item.remove_annotation(MIGRATION_ID);
    }
    Ok(())
}

/// Copies each spelling to the other one where that is missing or empty.
pub fn fill_missing(item: &mut Resource) {
    for (internal, legacy, _) in PAIRS {
        let new = item.annotation(internal).unwrap_or_default();
        let old = item.annotation(legacy).unwrap_or_default();
        match (new.is_empty(), old.is_empty()) {
            (false, true) => {
                let value = new.to_owned();
                item.set_annotation(legacy, &value);
            }
            (true, false) => {
                let value = old.to_owned();
                item.set_annotation(internal, &value);
            }
            _ => {}
        }
    }
}

/// The decimal spelling of a position, nothing else (`+1` or `01` are somebody else's ids).
fn position(id: &str) -> Option<usize> {
    let position: usize = id.parse().ok()?;
    (position.to_string() == id).then_some(position)
}

fn carry_over(item: &mut Resource, pair: (&str, &str, Pair), original: &str) -> Result<(), MirrorError> {
    if original.is_empty() {
        return Ok(());
    }
    let internal = item.annotation(pair.0).unwrap_or_default().to_owned();
    let legacy = item.annotation(pair.1).unwrap_or_default().to_owned();
    match (internal == original, legacy == original) {
        (false, false) if internal != legacy => {
            return Err(MirrorError::Mismatch { pair: pair.2, resource: item.short(), internal, legacy });
        }
        (false, _) if internal != legacy => item.set_annotation(pair.1, &internal),
        (true, false) => item.set_annotation(pair.0, &legacy),
        // both unchanged, or both changed to the same value; an annotation that was removed twice stays away
        _ => {}
    }
    Ok(())
}

fn check(item: &Resource) -> Result<(), MirrorError> {
    for (internal, legacy, pair) in PAIRS {
        let new = item.annotation(internal).unwrap_or_default();
        let old = item.annotation(legacy).unwrap_or_default();
        if !new.is_empty() && !old.is_empty() && new != old {
            return Err(MirrorError::Mismatch {
                pair,
                resource: item.short(),
                internal: new.to_owned(),
                legacy: old.to_owned(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotations::PACKAGE_PATH;
    use crate::resource::testing::resource;

    /// Two resources as the reader gives them.
    fn items() -> Vec<Resource> {
        let mut items = vec![resource("v1", "ConfigMap", "a"), resource("v1", "ConfigMap", "b")];
        for (index, item) in items.iter_mut().enumerate() {
            item.set_annotation(LEGACY_INDEX, &index.to_string());
            item.set_annotation(LEGACY_PATH, "x.yaml");
            item.set_annotation(INDEX, &index.to_string());
            item.set_annotation(PACKAGE_PATH, "/p");
            item.set_annotation(PATH, "x.yaml");
        }
        items
    }

    /// What a function makes of the first item, reconciled.
    fn call(function: impl FnOnce(&mut Resource)) -> Result<Resource, MirrorError> {
        let mut items = items();
        let before = prepare(&mut items).expect("consistent");
        function(&mut items[0]);
        reconcile(&mut items, &before)?;
        Ok(items.swap_remove(0))
    }

    fn paths(item: &Resource) -> (Option<&str>, Option<&str>) {
        (item.annotation(PATH), item.annotation(LEGACY_PATH))
    }

    #[test]
    fn positions_are_added_for_the_call_and_removed_after_it() {
        let mut items = items();
        let before = prepare(&mut items).expect("consistent");
        assert_eq!(items[1].annotation(MIGRATION_ID), Some("1"));
        reconcile(&mut items, &before).expect("unchanged");
        assert!(items.iter().all(|item| item.annotation(MIGRATION_ID).is_none()));
    }

    #[test]
    fn a_change_of_either_spelling_is_carried_over() {
        let item = call(|item| item.set_annotation(PATH, "new.yaml")).expect("one change");
        assert_eq!(paths(&item), (Some("new.yaml"), Some("new.yaml")));
        let item = call(|item| item.set_annotation(LEGACY_PATH, "new.yaml")).expect("one change");
        assert_eq!(paths(&item), (Some("new.yaml"), Some("new.yaml")));
        let item = call(|item| item.set_annotation(LEGACY_INDEX, "7")).expect("one change");
        assert_eq!((item.annotation(INDEX), item.annotation(LEGACY_INDEX)), (Some("7"), Some("7")));
        let item = call(|item| {
            item.set_annotation(PATH, "new.yaml");
            item.set_annotation(LEGACY_PATH, "new.yaml");
        });
        assert_eq!(paths(&item.expect("the same change twice")), (Some("new.yaml"), Some("new.yaml")));
    }

    #[test]
    fn two_different_changes_are_refused() {
        for (internal, legacy, pair) in [(PATH, LEGACY_PATH, "path"), (INDEX, LEGACY_INDEX, "index")] {
            let error = call(|item| {
                item.set_annotation(internal, "8");
                item.set_annotation(legacy, "9");
            })
            .expect_err("two changes");
            assert_eq!(
                error.to_string(),
                format!("resource input to function has mismatched legacy and internal {pair} annotations")
            );
            let MirrorError::Mismatch { resource, internal, legacy, .. } = error else { panic!("a mismatch") };
            assert_eq!((resource.as_str(), internal.as_str(), legacy.as_str()), ("v1/ConfigMap/a", "8", "9"));
        }
    }

    #[test]
    fn a_spelling_that_a_function_removed_comes_back() {
        let item = call(|item| _ = item.remove_annotation(PATH)).expect("one removal");
        assert_eq!(paths(&item), (Some("x.yaml"), Some("x.yaml")));
        let item = call(|item| {
            item.remove_annotation(PATH);
            item.remove_annotation(LEGACY_PATH);
        })
        .expect("two removals");
        assert_eq!(paths(&item), (None, None));
    }

    #[test]
    fn a_generated_resource_gets_the_spelling_that_it_lacks() {
        let mut items = items();
        let before = prepare(&mut items).expect("consistent");
        let mut new = resource("v1", "ConfigMap", "c");
        new.set_annotation(LEGACY_PATH, "c.yaml");
        items.push(new);
        reconcile(&mut items, &before).expect("no change");
        assert_eq!(paths(&items[2]), (Some("c.yaml"), Some("c.yaml")));
    }

    #[test]
    fn a_generated_resource_with_two_different_spellings_is_refused() {
        let mut items = items();
        let before = prepare(&mut items).expect("consistent");
        let mut new = resource("v1", "ConfigMap", "c");
        new.set_annotation(LEGACY_PATH, "c.yaml");
        new.set_annotation(PATH, "d.yaml");
        items.push(new);
        assert!(matches!(reconcile(&mut items, &before), Err(MirrorError::Mismatch { pair: Pair::Path, .. })));
    }

    #[test]
    fn only_spellings_of_the_input_are_kept() {
        let mut items = vec![resource("v1", "ConfigMap", "a")];
        items[0].set_annotation(LEGACY_PATH, "x.yaml");
        let before = prepare(&mut items).expect("consistent");
        assert_eq!(paths(&items[0]), (Some("x.yaml"), Some("x.yaml")), "functions see both");
        items[0].set_annotation(PATH, "new.yaml");
        reconcile(&mut items, &before).expect("one change");
        assert_eq!(paths(&items[0]), (None, Some("new.yaml")));
    }

    #[test]
    fn input_in_mixed_spellings_is_refused() {
        let mut items = items();
        items[1].remove_annotation(LEGACY_PATH);
        items[1].remove_annotation(LEGACY_INDEX);
        assert_eq!(
            prepare(&mut items).expect_err("mixed"),
            MirrorError::Inconsistent { resource: "v1/ConfigMap/b".into() }
        );
    }

    #[test]
    fn an_id_of_somebody_else_is_no_position() {
        assert_eq!(position("0"), Some(0));
        for id in ["+1", "01", "", "-1", "x", "99999999999999999999999"] {
            assert_eq!(position(id), None, "{id}");
        }
    }
}
