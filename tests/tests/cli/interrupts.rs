//! Ctrl-C and SIGTERM while a function runs.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use portico_tests::cli::{Place, config_map, make_fifo, signal};

/// Longer than anything here takes; a test that waits so long has failed.
const FOREVER: Duration = Duration::from_mins(1);

/// The reading end of a named pipe that every process of a family holds open: it ends when the last one is gone.
pub(crate) struct Lifeline {
    messages: mpsc::Receiver<Option<String>>,
}

impl Lifeline {
    /// Reads in the background, since opening waits for the first writer.
    pub(crate) fn open(path: &Path) -> Lifeline {
        let (send, messages) = mpsc::channel();
        let path = path.to_owned();
        thread::spawn(move || {
            let Ok(pipe) = std::fs::File::open(path) else { return };
            let mut pipe = BufReader::new(pipe);
            let mut line = String::new();
            if pipe.read_line(&mut line).is_ok() {
                drop(send.send(Some(line)));
            }
            drop(pipe.read_to_end(&mut Vec::new()));
            drop(send.send(None));
        });
        Lifeline { messages }
    }

    /// Waits until the family says that it has started.
    pub(crate) fn started(&self) -> Result<()> {
        let line = self.messages.recv_timeout(FOREVER).context("the program did not start")?;
        ensure!(line.is_some(), "the program ended before it started");
        Ok(())
    }

    /// Waits until the last one of the family is gone.
    pub(crate) fn ends(self) -> Result<()> {
        while self.messages.recv_timeout(FOREVER).context("a process is left")?.is_some() {}
        Ok(())
    }
}

/// Reads standard error of a command up to a line with this text; the rest is read in the background.
fn wait_for(child: &mut Child, text: &str) -> Result<thread::JoinHandle<String>> {
    let mut pipe = BufReader::new(child.stderr.take().context("standard error is a pipe")?);
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        if pipe.read_line(&mut line)? == 0 {
            bail!("the command ended before it said `{text}`");
        }
    }
    Ok(thread::spawn(move || {
        let mut rest = String::new();
        drop(pipe.read_to_string(&mut rest));
        rest
    }))
}

#[test]
fn an_interrupted_render_exits_with_130_at_once_and_writes_nothing() -> Result<()> {
    for name in ["INT", "TERM"] {
        let place = Place::with_mutator("image: set-labels\n    configMap: {a: b}\n  - image: probe.local/spin:v1")?;
        let before = place.state()?;
        let line = "render pkg --function-dir $PROBES --fuel unlimited --timeout unlimited --fn-timeout unlimited";
        let mut child = place.command(line)?.spawn()?;
        let rest = wait_for(&mut child, "[RUNNING] \"probe.local/spin:v1\"")?;
        signal(child.id(), name)?;
        ensure!(child.wait()?.code() == Some(130), "SIG{name}");
        let rest = rest.join().ok().context("the reader ended")?;
        ensure!(rest == "error: interrupted; nothing was written\n", "{rest}");
        ensure!(place.state()? == before, "nothing was written after SIG{name}");
    }
    Ok(())
}

#[test]
fn an_interrupted_program_dies_with_all_its_children() -> Result<()> {
    let place = Place::with_mutator("exec: sh tree.sh")?;
    make_fifo(&place.path()?.join("lifeline"))?;
    place.write(
        "tree.sh",
        "exec 9>lifeline\nsleep 1000 &\n(sleep 1000; sleep 1000) &\necho started >&9\nsleep 1000\n",
    )?;
    let before = place.read("pkg/Kptfile")?;
    let lifeline = Lifeline::open(&place.path()?.join("lifeline"));
    let mut child = place.command("render pkg --allow-exec")?.spawn()?;
    lifeline.started()?;
    signal(child.id(), "INT")?;
    ensure!(child.wait()?.code() == Some(130), "exit code");
    lifeline.ends()?;
    ensure!(place.read("pkg/Kptfile")? == before, "nothing was written");
    Ok(())
}

#[test]
fn an_interrupted_eval_exits_with_130_and_prints_nothing() -> Result<()> {
    let place = Place::with_mutator("image: no-op")?;
    let mut child =
        place.command("eval pkg -i probe.local/spin:v1 -o stdout --function-dir $PROBES --fuel unlimited")?.spawn()?;
    let rest = wait_for(&mut child, "[RUNNING]")?;
    signal(child.id(), "INT")?;
    let output = child.wait_with_output()?;
    ensure!(output.status.code() == Some(130) && output.stdout.is_empty(), "{output:?}");
    rest.join().ok().context("the reader ended")?;
    Ok(())
}

#[test]
fn an_interrupt_behind_the_last_function_leaves_all_files_written_or_none() -> Result<()> {
    let new = || -> Result<Place> {
        let place = Place::with_mutator("image: set-labels\n    configMap: {tier: backend}")?;
        for number in 0..100 {
            place.write(&format!("pkg/{number}.yaml"), &config_map(&format!("map-{number}")))?;
        }
        Ok(place)
    };
    let whole = new()?;
    let before = whole.state()?;
    whole.run("render pkg --status=none")?.exits(0)?;
    let written = whole.state()?;
    // From reading the last answer over staging to renaming: the later the round, the later the signal.
    for round in 0..12_u32 {
        let place = new()?;
        let mut child = place.command("render pkg --status=none")?.spawn()?;
        let rest = wait_for(&mut child, "[PASS]")?;
        for _ in 0..round * 50_000 {
            std::hint::spin_loop();
        }
        signal(child.id(), "INT")?;
        let code = child.wait()?.code();
        let said = rest.join().ok().context("the reader ended")?;
        let expected = match code {
            Some(130) => &before,
            Some(0) => &written,
            other => bail!("exit code {other:?} in round {round}: {said}"),
        };
        ensure!(place.state()? == *expected, "exit code {code:?} does not fit the files in round {round}: {said}");
    }
    Ok(())
}
