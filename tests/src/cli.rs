//! Running the command line in a temporary directory.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::{Ran, expect_same, files_below, portico_binary, probes_directory};

/// The start of every Kptfile in the tests; the package is called `pkg`.
pub const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n";

/// A Kptfile with one mutator, given as the lines of its entry, each indented by four spaces or more.
pub fn kptfile_with(mutator: &str) -> String {
    format!("{KPTFILE}pipeline:\n  mutators:\n  - {mutator}\n")
}

/// A `ConfigMap`.
pub fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}

/// A temporary directory in which commands run; gone at the end of the test.
#[derive(Debug)]
pub struct Place {
    top: TempDir,
}

impl Place {
    /// Makes files, given as path and content.
    pub fn with(files: &[(&str, &str)]) -> Result<Place> {
        let place = Place { top: tempfile::tempdir()? };
        for (path, content) in files {
            place.write(path, content)?;
        }
        Ok(place)
    }

    /// The package `pkg` with a mutator and one `ConfigMap`, `a.yaml`.
    pub fn with_mutator(mutator: &str) -> Result<Place> {
        Place::with(&[("pkg/Kptfile", &kptfile_with(mutator)), ("pkg/a.yaml", &config_map("a"))])
    }

    /// The directory in which commands run, without links in its path.
    pub fn path(&self) -> Result<PathBuf> {
        Ok(self.top.path().canonicalize()?)
    }

    /// Writes a file and makes its directory.
    pub fn write(&self, path: &str, content: &str) -> Result<()> {
        let path = self.top.path().join(path);
        std::fs::create_dir_all(path.parent().context("a file lies in a directory")?)?;
        std::fs::write(&path, content).with_context(|| path.display().to_string())
    }

    /// The content of a file.
    pub fn read(&self, path: &str) -> Result<String> {
        std::fs::read_to_string(self.top.path().join(path)).with_context(|| path.to_owned())
    }

    /// True when there is something at this path.
    pub fn has(&self, path: &str) -> bool {
        self.top.path().join(path).symlink_metadata().is_ok()
    }

    /// Every file, to be compared with a later state.
    pub fn state(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        files_below(self.top.path())
    }

    /// A command line of the binary under test, split as a shell splits it; `$PROBES` is the directory of the probes.
    /// Nothing of the environment that the binary looks at comes from the outside.
    pub fn command(&self, line: &str) -> Result<Command> {
        let probes = probes_directory()?;
        let words = shlex::split(line).with_context(|| format!("cannot split `{line}`"))?;
        let words = words.into_iter().map(|w| w.replace("$PROBES", &probes.display().to_string()));
        let mut command = Command::new(portico_binary()?);
        command.args(words).current_dir(self.path()?);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in ["KPT_IMAGE_PREFIX", "PORTICO_CONFIG", "NO_COLOR", "KRM_DISABLE_ATTRIBUTION", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        // A test's own, in which there is nothing until it puts something there.
        command.env("XDG_CONFIG_HOME", self.path()?.join("config-home"));
        // Shared, so that a probe is compiled once.
        command.env("XDG_CACHE_HOME", probes.with_file_name("tests-cache"));
        Ok(command)
    }

    /// Runs a command line.
    pub fn run(&self, line: &str) -> Result<Ran> {
        Ok(self.command(line)?.output()?.into())
    }

    /// Runs a command line with something on standard input.
    pub fn run_on(&self, stdin: &str, line: &str) -> Result<Ran> {
        use std::io::Write;
        let mut child = self.command(line)?.stdin(Stdio::piped()).spawn()?;
        let mut pipe = child.stdin.take().context("standard input is a pipe")?;
        let input = stdin.to_owned();
        // A program that does not read its input closes the pipe; that is its right.
        let writer = thread::spawn(move || drop(pipe.write_all(input.as_bytes())));
        let output = child.wait_with_output()?;
        writer.join().ok();
        Ok(output.into())
    }

    /// Runs a command line with environment variables.
    pub fn run_env(&self, env: &[(&str, &str)], line: &str) -> Result<Ran> {
        let env = env.iter().map(|(k, v)| (OsString::from(k), OsString::from(v)));
        Ok(self.command(line)?.envs(env).output()?.into())
    }
}

impl Ran {
    /// Fails unless the command exited with this code.
    pub fn exits(&self, code: i32) -> Result<&Ran> {
        ensure!(
            self.code == code,
            "exit code {}, expected {code}\nstdout:\n{}\nstderr:\n{}",
            self.code,
            self.stdout,
            self.stderr
        );
        Ok(self)
    }

    /// Fails unless standard error is this, times aside.
    pub fn says(&self, expected: &str) -> Result<&Ran> {
        expect_same("stderr", expected, &without_times(&self.stderr))?;
        Ok(self)
    }

    /// Fails unless standard output is this.
    pub fn prints(&self, expected: &str) -> Result<&Ran> {
        expect_same("stdout", expected, &self.stdout)?;
        Ok(self)
    }

    /// Fails unless standard error contains all of these.
    pub fn mentions(&self, parts: &[&str]) -> Result<&Ran> {
        for part in parts {
            ensure!(self.stderr.contains(part), "stderr does not contain `{part}`:\n{}", self.stderr);
        }
        Ok(self)
    }
}

/// Messages with every duration behind `[PASS]` and `[FAIL]` as `0s`.
pub fn without_times(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let ended = line.starts_with("[PASS]") || line.starts_with("[FAIL]");
        match line.rsplit_once(" in ") {
            Some((start, _)) if ended => {
                out.push_str(start);
                out.push_str(" in 0s\n");
            }
            _ => out.push_str(line),
        }
    }
    out
}

/// A named pipe at a path.
pub fn make_fifo(path: &Path) -> Result<()> {
    let status = Command::new("mkfifo").arg(path).status().context("mkfifo must be on the PATH")?;
    ensure!(status.success(), "mkfifo {}", path.display());
    Ok(())
}

/// Sends a signal, by name, to a process.
pub fn signal(process: u32, name: &str) -> Result<()> {
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {process}")]).status()?;
    ensure!(status.success(), "kill -{name} {process}");
    Ok(())
}
