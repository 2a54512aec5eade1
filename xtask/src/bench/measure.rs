//! What one run of a program used, by the kernel's accounting of a finished child.
//!
//! The kernel keeps the largest peak of all children that a process ever had. So each measured program is started
//! by a fresh copy of this one (`xtask measure PROGRAM ARGUMENTS`), which prints the figures.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};

/// Seconds and bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) wall: f64,
    pub(crate) user: f64,
    pub(crate) system: f64,
    pub(crate) peak: u64,
}

impl Usage {
    /// User and system time together.
    pub(crate) fn cpu(&self) -> f64 {
        self.user + self.system
    }
}

/// Runs a program and gives what it used, its own children included.
pub(crate) fn measure(program: &Path, args: &[&str]) -> Result<Usage> {
    let output = Command::new(std::env::current_exe()?).arg("measure").arg(program).args(args).output()?;
    ensure!(output.status.success(), "{} {args:?}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let fields: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [wall, user, system, peak] = fields[..] else { anyhow::bail!("unexpected output `{text}`") };
    #[expect(clippy::cast_sign_loss, reason = "a size is positive")]
    Ok(Usage { wall, user, system, peak: peak as u64 })
}

/// `xtask measure`: runs the program and prints its figures.
#[expect(clippy::print_stdout, reason = "the figures are this chore's output")]
pub(crate) fn child(command: &[String]) -> Result<()> {
    let (program, args) = command.split_first().context("a program to measure")?;
    let start = Instant::now();
    let output = Command::new(program).args(args).stdin(Stdio::null()).stdout(Stdio::null()).output()?;
    let wall = start.elapsed().as_secs_f64();
    ensure!(output.status.success(), "{program} failed: {}", String::from_utf8_lossy(&output.stderr));
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
    println!("{wall} {} {} {}", seconds(usage.user_time()), seconds(usage.system_time()), usage.max_rss() * 1024);
    Ok(())
}

/// Each figure's median.
pub(crate) fn median(runs: &[Usage]) -> Usage {
    let middle = |get: fn(&Usage) -> f64| {
        let mut all: Vec<f64> = runs.iter().map(get).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let mut peaks: Vec<u64> = runs.iter().map(|u| u.peak).collect();
    peaks.sort_unstable();
    Usage {
        wall: middle(|u| u.wall),
        user: middle(|u| u.user),
        system: middle(|u| u.system),
        peak: peaks[peaks.len() / 2],
    }
}
