//! The example does what it says.

use std::process::Command;

#[test]
fn it_schedules_supersedes_crashes_and_recovers() {
    let output = Command::new(env!("CARGO_BIN_EXE_embed-scheduler")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "accepted: RenderFinished=False (Scheduled)",
        "status: Ongoing",
        "shop/web.v1 RenderSuperseded: the render was stopped: a newer render is under way",
        "now: RenderFinished=True (RenderSuccess), Rendered=True (RenderSuccess)",
        "log: ghcr.io/kptdev/krm-functions-catalog/starlark:latest: passed",
        "12 of 12 drafts are rendered",
    ] {
        assert!(text.contains(line), "`{line}` is missing in:\n{text}");
    }
}
