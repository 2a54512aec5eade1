//! Two renders of one directory at once.

use std::io::Read;

use anyhow::{Result, ensure};
use portico_tests::cli::{KPTFILE, Place, config_map, make_fifo};

/// The first render has read the package and waits in its function while the second one reads, renders and writes.
#[test]
fn the_first_to_write_wins_and_the_other_one_is_told() -> Result<()> {
    let place = Place::with(&[
        ("pkg/Kptfile", &format!("{KPTFILE}pipeline:\n  mutators:\n  - exec: sh step.sh\n")),
        ("pkg/a.yaml", &config_map("a")),
        ("step.sh", "echo up > up\ncat go > /dev/null\nsed 's/name: a$/name: first/'\n"),
    ])?;
    let root = place.path()?;
    make_fifo(&root.join("up"))?;
    make_fifo(&root.join("go"))?;
    let first = place.command("render pkg --allow-exec")?.spawn()?;
    // Opening waits for the function; so the first render has read the package.
    std::fs::File::open(root.join("up"))?.read_to_end(&mut Vec::new())?;
    place.run("eval pkg --exec \"sed 's/name: a$/name: second/'\" -q")?.exits(0)?;
    std::fs::write(root.join("go"), "go")?;
    let output = first.wait_with_output()?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(1), "{stderr}");
    ensure!(stderr.contains("a.yaml") && stderr.contains("error: "), "{stderr}");
    ensure!(place.read("pkg/a.yaml")? == config_map("second"), "the first to write wins");
    ensure!(!place.read("pkg/Kptfile")?.contains("status"), "and the loser writes nothing at all");
    let left: Vec<String> = place.state()?.into_keys().filter(|p| p.contains(".portico-")).collect();
    ensure!(left.is_empty(), "{left:?} are left");
    Ok(())
}

#[test]
fn many_renders_that_want_the_same_all_pass() -> Result<()> {
    let place = Place::with_mutator("image: set-labels:v0.2.5\n    configMap: {tier: web}")?;
    let mut children = Vec::new();
    for _ in 0..6 {
        children.push(place.command("render pkg -q")?.spawn()?);
    }
    for child in children {
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    place.run("render pkg -q --check")?.exits(0)?;
    ensure!(
        place.read("pkg/a.yaml")? == format!("{}  labels:\n    tier: web\n", config_map("a")),
        "{}",
        place.read("pkg/a.yaml")?
    );
    Ok(())
}
