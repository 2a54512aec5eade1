//! What a render records in the Kptfile.

use anyhow::Result;
use portico_tests::cli::{Place, kptfile_with};
use portico_tests::expect_same;

const FULL: &str = "\
status:
  conditions:
  - type: Rendered
    status: \"True\"
    reason: RenderSuccess
  renderStatus:
    mutationSteps:
    - image: ghcr.io/kptdev/krm-functions-catalog/no-op:latest
      exitCode: 0
";

const CONDITIONS: &str = "\
status:
  conditions:
  - type: Rendered
    status: \"True\"
    reason: RenderSuccess
";

#[test]
fn the_status_is_full_conditions_alone_or_nothing() -> Result<()> {
    for (flag, status) in
        [("", FULL), ("--status=full", FULL), ("--status=conditions", CONDITIONS), ("--status=none", "")]
    {
        let place = Place::with_mutator("image: no-op")?;
        place.run(&format!("render pkg -q {flag}"))?.exits(0)?.says("")?;
        expect_same("Kptfile", &format!("{}{status}", kptfile_with("image: no-op")), &place.read("pkg/Kptfile")?)?;
    }
    Ok(())
}

#[test]
fn a_failed_render_records_the_reason_and_changes_nothing_else() -> Result<()> {
    let place = Place::with_mutator("image: set-labels\n    configMap: {a: b}\n  - image: probe.local/fail3:v1")?;
    let a = place.read("pkg/a.yaml")?;
    place.run("render pkg -q --function-dir $PROBES")?.exits(1)?.says(
        "error: function \"probe.local/fail3:v1\" (step 2 of package \"pkg\") failed with exit code 3: cannot reach the \
         quota table\n",
    )?;
    expect_same("a.yaml", &a, &place.read("pkg/a.yaml")?)?;
    let kptfile = place.read("pkg/Kptfile")?;
    let status = kptfile.split_once("status:\n").map(|(_, status)| status).unwrap_or_default();
    expect_same(
        "status",
        "  conditions:
  - type: Rendered
    status: \"False\"
    reason: RenderFailed
    message: 'function \"probe.local/fail3:v1\" (step 2 of package \"pkg\") failed with exit code 3: cannot reach the quota table'
  renderStatus:
    mutationSteps:
    - image: ghcr.io/kptdev/krm-functions-catalog/set-labels:latest
      exitCode: 0
      results:
      - message: set 2 labels in total
        severity: info
    - image: probe.local/fail3:v1
      stderr: cannot reach the quota table
      exitCode: 3
    errorSummary: 'probe.local/fail3:v1: exit code 3'
",
        status,
    )
}
