//! The tour of `docs/server.md`, line by line, in one shell.

#![expect(clippy::print_stderr, reason = "says what is skipped")]

use std::fmt::Write as _;
use std::net::TcpListener;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use portico_tests::cli::Place;
use portico_tests::{portico_binary, repository};

#[test]
fn the_commands_of_the_tour_work_as_they_stand() -> Result<()> {
    if Command::new("kubectl").args(["version", "--client"]).output().is_err() {
        eprintln!("skipped: the tour of docs/server.md: `kubectl` is not on the PATH");
        return Ok(());
    }
    let text = std::fs::read_to_string(repository().join("docs/server.md"))?;
    let (_, tour) = text.split_once("## A tour\n").context("the document has a tour")?;
    let lines = tour.lines().take_while(|line| !line.starts_with("## ")).filter_map(|line| line.strip_prefix("    "));
    let place = Place::with(&[])?;
    let top = place.path()?;
    // Free when we look; whoever takes it before the server does makes this test fail, and nothing else.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    // The program itself stands in the place of its name: `kill %1` is to reach it, not a shell around it.
    let mut script = format!(
        "set -eo pipefail -m\ncd {}\nexport HOME={} XDG_CACHE_HOME={}\ntrap 'kill -9 %1 2>/dev/null || true' EXIT\n",
        repository().display(),
        top.display(),
        top.join("cache").display()
    );
    let program = portico_binary()?.display().to_string();
    let mut commands = 0;
    for line in lines {
        let line = line.replace("/tmp/", &format!("{}/", top.display())).replace(":8080", &format!(":{port}"));
        let line = match line.strip_prefix("portico ") {
            Some(rest) => format!("{program} {rest}"),
            None => line,
        };
        writeln!(script, "echo '>>> {}'\n{line}", line.replace('\'', ""))?;
        commands += 1;
    }
    ensure!(commands >= 20, "the tour has {commands} commands");
    let output = Command::new("bash").args(["-c", &script]).output()?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    for words in ["readyz check passed", "condition met", "RenderSucceeded", "Published", "workqueue_depth"] {
        ensure!(stdout.contains(words), "nothing says `{words}`:\n{stdout}\n{stderr}");
    }
    Ok(())
}
