//! What kpt writes into a Kptfile after a render, against its own recorded cases.
//!
//! The cases are read where `PORTICO_CONFORMANCE` names them. The file after the render is rebuilt from the recorded
//! patch; the status in it is the input of the test, the whole file its expected output.

#![expect(clippy::print_stdout, reason = "a test says what it skipped")]

use std::path::{Path, PathBuf};

use portico_krm::Kptfile;
use portico_krm::kptfile::{Condition, RenderStatus, RenderStep, StatusMode, StatusUpdate};
use portico_krm::results::parse_results;
use portico_krm::yaml::{NodeId, ParseLimits, Tree};

#[test]
fn the_status_is_written_byte_for_byte_as_kpt_does() {
    let Some(root) = std::env::var_os("PORTICO_CONFORMANCE").map(PathBuf::from) else {
        println!("skipped: the recorded cases, because PORTICO_CONFORMANCE is not set");
        return;
    };
    let mut cases = Vec::new();
    find_cases(&root.join("kpt"), &mut cases);
    let (mut whole, mut rewritten) = (0, 0);
    for case in &cases {
        let name = case.display();
        let before = std::fs::read_to_string(case.join("Kptfile")).expect("a file");
        let patch = std::fs::read_to_string(case.join(".expected/diff.patch")).expect("a file");
        let Some(after) = apply(&before, &patch) else { continue };
        let parsed = Kptfile::parse(after.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let update = status_of(&parsed.tree);
        let nothing = StatusUpdate { mode: StatusMode::None, ..update.clone() };
        assert_eq!(parsed.to_kpt_yaml(&nothing).expect("marshals"), after, "{name}: what kpt wrote changes");
        rewritten += 1;

        // where functions changed the Kptfile too, the file before the render cannot tell what is expected
        let kptfile = Kptfile::parse(before.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let untouched = kptfile.to_kpt_yaml(&nothing).expect("marshals");
        let without_status = after.split("\nstatus:\n").next().unwrap_or_default();
        if untouched.trim_end() == without_status.trim_end() {
            assert_eq!(kptfile.to_kpt_yaml(&update).expect("marshals"), after, "{name}");
            whole += 1;
        }
    }
    println!("{rewritten} Kptfiles rewritten, {whole} statuses made from scratch");
    assert!(cases.is_empty() || whole > 20, "only {whole} cases were of use");
}

fn find_cases(directory: &Path, cases: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    if directory.join("Kptfile").is_file() && directory.join(".expected/diff.patch").is_file() {
        cases.push(directory.to_owned());
    }
    for entry in entries.flatten() {
        if entry.path().is_dir() {
            find_cases(&entry.path(), cases);
        }
    }
}

/// The root Kptfile after the patch; `None` when the patch leaves it alone.
fn apply(before: &str, patch: &str) -> Option<String> {
    let start = patch.find("diff --git a/Kptfile b/Kptfile\n")?;
    let patch = &patch[start..];
    let patch = &patch[..patch[1..].find("\ndiff --git ").map_or(patch.len(), |at| at + 2)];
    let old: Vec<&str> = before.lines().collect();
    let (mut new, mut at) = (Vec::new(), 0);
    for line in patch.lines().skip_while(|line| !line.starts_with("@@")) {
        if let Some(hunk) = line.strip_prefix("@@ -") {
            let first: usize = hunk.split([',', ' ']).next()?.parse().ok()?;
            new.extend_from_slice(&old[at..first - 1]);
            at = first - 1;
        } else if let Some(added) = line.strip_prefix('+') {
            new.push(added);
        } else if line.starts_with('-') {
            at += 1;
        } else if !line.starts_with('\\') {
            new.push(old[at]);
            at += 1;
        }
    }
    new.extend_from_slice(&old[at..]);
    Some(new.join("\n") + "\n")
}

fn status_of(tree: &Tree) -> StatusUpdate {
    let text = |map: NodeId, key: &str| tree.text_at(map, &[key]).unwrap_or_default().to_owned();
    let list = |path: &[&str]| -> Vec<NodeId> {
        tree.get_path(tree.root(), path).map(|list| tree.elements(list).collect()).unwrap_or_default()
    };
    let condition = list(&["status", "conditions"]).into_iter().find(|c| text(*c, "type") == "Rendered");
    let condition = condition.map(|map| Condition {
        kind: text(map, "type"),
        status: text(map, "status"),
        reason: text(map, "reason"),
        message: text(map, "message"),
    });
    let steps = |key: &str| -> Vec<RenderStep> {
        let steps = list(&["status", "renderStatus", key]).into_iter();
        steps
            .map(|map| RenderStep {
                name: text(map, "name"),
                image: text(map, "image"),
                exec: text(map, "exec"),
                execution_error: text(map, "executionError"),
                stderr: text(map, "stderr"),
                exit_code: text(map, "exitCode").parse().expect("a number"),
                skipped: text(map, "state") == "skipped",
                results: tree
                    .get(map, "results")
                    .map(|id| parse_results(tree, id).expect("results"))
                    .unwrap_or_default(),
            })
            .collect()
    };
    StatusUpdate {
        condition: condition.unwrap_or_default(),
        render_status: RenderStatus {
            mutation_steps: steps("mutationSteps"),
            validation_steps: steps("validationSteps"),
        },
        mode: StatusMode::Full,
    }
}

#[test]
fn in_preserve_style_only_the_status_changes() {
    let before = "# licence

apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name:   app   # spaced
pipeline:
  mutators:
  # why
  - image: 'a'
status:
  conditions:
  - type: Ready   # mine
    status: \"True\"
  - type: Rendered
    status: \"False\" # old
    reason: RenderFailed
    message: it broke
";
    let update = |condition, steps| StatusUpdate {
        condition,
        render_status: RenderStatus { mutation_steps: steps, validation_steps: Vec::new() },
        mode: StatusMode::Full,
    };
    let mut kptfile = Kptfile::parse(before.as_bytes()).expect("a Kptfile");
    let step = RenderStep { image: "a:latest".into(), ..RenderStep::default() };
    kptfile.set_status(&update(Condition::rendered(), vec![step]));
    let expected = before.replace(
        "\"False\" # old\n    reason: RenderFailed\n    message: it broke\n",
        "\"True\" # old\n    reason: RenderSuccess\n",
    ) + "  renderStatus:
    mutationSteps:
    - image: a:latest
      exitCode: 0
";
    assert_eq!(spliced(before, &kptfile), expected);

    // a second render that comes to the same changes nothing
    let mut again = Kptfile::parse(expected.as_bytes()).expect("a Kptfile");
    let step = RenderStep { image: "a:latest".into(), ..RenderStep::default() };
    again.set_status(&update(Condition::rendered(), vec![step]));
    assert_eq!(spliced(&expected, &again), expected);

    // conditions alone
    let only = StatusUpdate { mode: StatusMode::Conditions, ..update(Condition::render_failed("a\nb"), Vec::new()) };
    again.set_status(&only);
    let text = spliced(&expected, &again);
    assert!(
        text.ends_with("status: \"False\" # old\n    reason: RenderFailed\n    message: |-\n      a\n      b\n"),
        "{text}"
    );
}

fn spliced(before: &str, kptfile: &Kptfile) -> String {
    use portico_krm::splice::{Edited, splice};
    let file = portico_krm::yaml::SourceFile::parse(before.as_bytes(), &ParseLimits::default()).expect("YAML");
    let bytes = splice(&file, &[Edited::Changed(0, &kptfile.tree)]);
    String::from_utf8(bytes).expect("UTF-8")
}
