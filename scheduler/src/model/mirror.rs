//! The two conditions as the package's Kptfile shows them.

use std::sync::Arc;

use bytes::Bytes;
use portico_krm::kptfile::{Condition as KptfileCondition, Kptfile};
use portico_krm::splice::{Edited, splice};
use portico_krm::yaml::{ParseLimits, SourceFile};

use super::{ConditionStatus, ContentDigest, Files, RENDER_FINISHED, RENDERED, RenderState};

/// These files with a Kptfile that says of its render what `state` says, whatever it said before: also what a client, a
/// clone or a function put there. Its other bytes stay. A Kptfile that is missing, not valid or larger than
/// [`MIRRORED_BYTES`] stays as it is: the conditions of the revision's status are the truth.
pub fn mirror(files: &Files, state: &RenderState) -> Files {
    let Some(bytes) = files.get(KPTFILE).filter(|bytes| bytes.len() <= MIRRORED_BYTES) else {
        return Arc::clone(files);
    };
    match with_state(bytes, state) {
        Some(new) if new[..] != bytes[..] => {
            let mut files = (**files).clone();
            files.insert(KPTFILE.to_owned(), Bytes::from(new));
            Arc::new(files)
        }
        _ => Arc::clone(files),
    }
}

const KPTFILE: &str = "Kptfile";

/// Largest Kptfile that shows the conditions, in bytes.
///
/// - Problem: it is parsed before the write that brings it is answered, and a parsed text takes up to twelve times its
///   size.
/// - Mechanism: one beyond it is stored as it came.
/// - Default: 1 MiB, fixed; those of the packages that people write have some kilobytes.
/// - Does not stop: the renderer from parsing it, within the sandbox's own limits.
pub const MIRRORED_BYTES: usize = 1 << 20;

fn with_state(bytes: &[u8], state: &RenderState) -> Option<Vec<u8>> {
    let parsed = SourceFile::parse(bytes, &ParseLimits::default()).ok()?;
    let mut kptfile = Kptfile::from_tree(parsed.documents().first()?.tree.clone()).ok()?;
    let mut conditions = Vec::new();
    state.write(&mut conditions, ContentDigest([0; 32]), 0);
    for kind in [RENDER_FINISHED, RENDERED] {
        match conditions.iter().find(|condition| condition.kind == kind) {
            None => kptfile.remove_condition(kind),
            Some(condition) => {
                let status = match condition.status {
                    ConditionStatus::True => "True",
                    ConditionStatus::False => "False",
                    ConditionStatus::Unknown => "Unknown",
                };
                kptfile.set_condition(&KptfileCondition {
                    kind: kind.to_owned(),
                    status: status.to_owned(),
                    reason: condition.reason.to_string(),
                    message: condition.message.clone(),
                });
            }
        }
    }
    // So that a Kptfile does not tell on which way it came to say this.
    kptfile.conditions_last(&[RENDER_FINISHED, RENDERED]);
    let rest = (1..parsed.documents().len()).map(Edited::Unchanged);
    let edited: Vec<Edited<'_>> = [Edited::Changed(0, &kptfile.tree)].into_iter().chain(rest).collect();
    Some(splice(&parsed, &edited))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::Ending;

    const PLAIN: &str = "# ours\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a # the name\n";

    fn files(kptfile: &str) -> Files {
        Arc::new(BTreeMap::from([("Kptfile".to_owned(), Bytes::from(kptfile.to_owned()))]))
    }

    fn text(files: &Files) -> &str {
        std::str::from_utf8(&files["Kptfile"]).unwrap()
    }

    fn conditions(files: &Files) -> Vec<String> {
        let kptfile = Kptfile::parse(&files["Kptfile"]).unwrap();
        kptfile.conditions.iter().map(|c| format!("{}={} ({})", c.kind, c.status, c.reason)).collect()
    }

    #[test]
    fn the_kptfile_says_what_the_status_says_and_keeps_its_other_bytes() {
        let scheduled = mirror(&files(PLAIN), &RenderState::Scheduled);
        assert_eq!(conditions(&scheduled), ["RenderFinished=False (Scheduled)"]);
        let ended = mirror(&scheduled, &RenderState::Ended(Ending::success()));
        assert_eq!(conditions(&ended), ["RenderFinished=True (RenderSuccess)", "Rendered=True (RenderSuccess)"]);
        for files in [&scheduled, &ended] {
            assert!(text(files).starts_with(PLAIN), "{}", text(files));
        }
        // What a client brings of the two is set anew.
        let again = mirror(&ended, &RenderState::Scheduled);
        assert_eq!(text(&again), text(&scheduled));
    }

    #[test]
    fn whichever_way_it_came_to_be_so_it_is_the_same() {
        let ended = RenderState::Ended(Ending::success());
        let at_once = mirror(&files(PLAIN), &ended);
        let after_waiting = mirror(&mirror(&files(PLAIN), &RenderState::Scheduled), &ended);
        assert_eq!(text(&at_once), text(&after_waiting));
        // What the renderer itself says, as kpt does, stands alone and is no different in the end.
        let by_kpt = format!(
            "{PLAIN}status:\n  conditions:\n    - type: Rendered\n      status: \"True\"\n      reason: RenderSuccess\n"
        );
        assert_eq!(conditions(&mirror(&files(&by_kpt), &ended)), conditions(&at_once));
        assert!(Arc::ptr_eq(&mirror(&at_once, &ended), &at_once), "what says so already is not touched");
        // Ours come last.
        let theirs = text(&at_once)
            .replace("  - type: Rendered\n", "  - type: Ready\n    status: \"True\"\n  - type: Rendered\n");
        assert_eq!(conditions(&mirror(&files(&theirs), &ended))[0], "Ready=True ()");
    }

    #[test]
    fn other_conditions_stay() {
        let with = format!("{PLAIN}status:\n  conditions:\n    - type: Ready\n      status: \"True\"\n");
        let mirrored = mirror(&files(&with), &RenderState::Scheduled);
        assert!(text(&mirrored).starts_with(&with), "{}", text(&mirrored));
    }

    #[test]
    fn a_kptfile_that_is_broken_missing_or_too_large_is_left_alone() {
        let broken = files("apiVersion: [\n");
        assert!(Arc::ptr_eq(&mirror(&broken, &RenderState::Scheduled), &broken));
        let large = files(&format!("{PLAIN}{}", "# padding\n".repeat(MIRRORED_BYTES / 10)));
        assert!(Arc::ptr_eq(&mirror(&large, &RenderState::Scheduled), &large));
        let none: Files = Arc::new(BTreeMap::new());
        assert!(Arc::ptr_eq(&mirror(&none, &RenderState::Scheduled), &none));
    }
}
