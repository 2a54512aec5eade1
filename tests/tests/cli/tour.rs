//! The tour of the README, line by line, in one shell.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use portico_tests::cli::Place;
use portico_tests::{portico_binary, probes_directory, repository};

/// True when there is a cluster to ask: `kubectl apply --dry-run=client` reads the kinds from it.
fn cluster() -> bool {
    let asked = Command::new("kubectl").args(["--request-timeout=2s", "version"]).output();
    asked.is_ok_and(|output| output.status.success())
}

#[test]
fn the_commands_of_the_readme_work_as_they_stand() -> Result<()> {
    let readme = std::fs::read_to_string(repository().join("README.md"))?;
    let (_, tour) = readme.split_once("## A tour\n").context("the README has a tour")?;
    let lines = tour.lines().take_while(|line| !line.starts_with("## ")).filter_map(|line| line.strip_prefix("    "));
    let place = Place::with(&[])?;
    let top = place.path()?;
    let mut script = format!(
        "set -eo pipefail\nportico() {{ {} \"$@\"; }}\nkpt() {{ portico \"$@\"; }}\ncd {}\n",
        portico_binary()?.display(),
        repository().display()
    );
    let mut commands = 0;
    for line in lines.filter(|line| !line.starts_with("alias ")) {
        // Everything stays below the test's own directory.
        let mut line = line.replace("/tmp/", &format!("{}/", top.display()));
        if let Some((before, _)) = line.split_once("| kubectl ").filter(|_| !cluster()) {
            script.push_str("echo 'skipped: kubectl without a cluster'\n");
            line = format!("{before} > /dev/null");
        }
        if line.contains("./my-fn.wasm") {
            writeln!(script, "cp {} my-fn.wasm", probes_directory()?.join("identity.wasm").display())?;
        }
        writeln!(script, "echo '>>> {}'\n{line}", line.replace('\'', ""))?;
        commands += 1;
    }
    ensure!(commands >= 12, "the tour has {commands} commands");
    let output = Command::new("bash").args(["-c", &script]).output()?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    ensure!(place.read("out/web.yaml")?.contains("namespace: prod"), "the pipe of source, eval and sink made files");
    Ok(())
}
