//! The hostile battery, through the command line: every function of the table as the function of a package.
//!
//! The table is that of the library's battery, which also looks at neighbours and at memory. Here it is the exit code,
//! the words, a terminal that nothing acts on, and the files: a render that fails writes its status and nothing else,
//! one that passes writes nothing outside its package. One test a row: `--test battery -- WORDS`.

#[path = "../../../runtime/tests/battery/table/mod.rs"]
mod table;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use libtest_mimic::{Arguments, Trial};
use portico_tests::Ran;
use portico_tests::cli::{KPTFILE, Place, config_map};

use table::{Bounds, End, Row};

const ECHO: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 2)
    (func (export "_start")
        (loop $more
            (i32.store (i32.const 0) (i32.const 1024))
            (i32.store (i32.const 4) (i32.const 65536))
            (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
            (if (i32.load (i32.const 8)) (then
                (i32.store (i32.const 4) (i32.load (i32.const 8)))
                (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
                (br $more))))))"#;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let echo: Arc<[u8]> = wat::parse_str(ECHO).expect("the echo is valid").into();
    let trial = |row: Row, form: &str| {
        let echo = Arc::clone(&echo);
        let name = format!("{}, {form}", row.name);
        Trial::test(name, move || check(&row, &echo).map_err(|error| format!("{error:#}").into()))
    };
    let mut trials: Vec<Trial> = table::rows().into_iter().map(|row| trial(row, "core module")).collect();
    let components = table::rows().into_iter().filter_map(|row| row.into_component().ok());
    trials.extend(components.map(|row| trial(row, "component")));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn check(row: &Row, echo: &[u8]) -> Result<()> {
    let pipeline = "pipeline:\n  mutators:\n  - image: hostile\n  - image: echo\n";
    let place = Place::with(&[("pkg/Kptfile", &format!("{KPTFILE}{pipeline}")), ("pkg/a.yaml", &config_map("a"))])?;
    std::fs::write(place.path()?.join("echo.wasm"), echo)?;
    std::fs::write(place.path()?.join("hostile.wasm"), row.wasm())?;
    let before = place.state()?;
    let line = format!("render pkg --function echo=echo.wasm --function hostile=hostile.wasm{}", flags(&row.bounds));
    let ran = place.run(&line)?;
    if row.end == End::Somehow {
        ensure!(matches!(ran.code, 0 | 1), "exit code {}", ran.code);
    } else {
        ran.exits(i32::from(row.end != End::Passes))?;
    }
    speaks(row, &ran)?;
    let after = place.state()?;
    if ran.code == 0 {
        inside(&before, &after)?;
    } else {
        let changed: Vec<_> = after.iter().filter(|(path, bytes)| before.get(*path) != Some(bytes)).collect();
        ensure!(
            changed.iter().all(|(path, _)| *path == "pkg/Kptfile"),
            "files that a failed render wrote: {changed:?}"
        );
        ensure!(before.keys().eq(after.keys()), "a failed render left other files");
        ensure!(place.read("pkg/Kptfile")?.contains("renderStatus"), "the status is not recorded");
    }
    Ok(())
}

/// The bounds of a row as options.
fn flags(bounds: &Bounds) -> String {
    let number = |name: &str, bound: Option<u64>| match bound {
        None => String::new(),
        Some(u64::MAX) => format!(" --{name} unlimited"),
        Some(bound) => format!(" --{name} {bound}"),
    };
    let time = |name: &str, bound: Option<Duration>| match bound {
        None => String::new(),
        Some(Duration::MAX) => format!(" --{name} unlimited"),
        Some(bound) => format!(" --{name} {}ms", bound.as_millis()),
    };
    number("fuel", bounds.fuel)
        + &number("max-memory", bounds.memory)
        + &time("fn-timeout", bounds.step_time)
        + &time("timeout", bounds.render_time)
}

/// The words of the row, none that explain nothing, and no character that a terminal acts on.
fn speaks(row: &Row, ran: &Ran) -> Result<()> {
    let words: Vec<&str> = row.words.iter().map(String::as_str).collect();
    ran.mentions(&words)?;
    for empty in ["internal error", "unreachable", "panicked", "RUST_BACKTRACE"] {
        // What an adapter says on its standard error is shown as it is.
        ensure!(row.end == End::Somehow || !ran.stderr.contains(empty), "stderr says `{empty}`:\n{}", ran.stderr);
    }
    let acts = ran.stderr.chars().find(|c| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    });
    ensure!(acts.is_none(), "stderr holds {acts:?}:\n{}", ran.stderr);
    ensure!(ran.stdout.is_empty(), "stdout is not empty:\n{}", ran.stdout);
    Ok(())
}

/// A render that passed may have added files, below its package, and not in git's directory.
fn inside(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    for (path, bytes) in before {
        let now = after.get(path).with_context(|| format!("`{path}` is gone"))?;
        ensure!(now == bytes || path.starts_with("pkg/"), "`{path}` was changed");
    }
    let outside: Vec<&String> =
        after.keys().filter(|path| !before.contains_key(*path) && !path.starts_with("pkg/")).collect();
    ensure!(outside.is_empty(), "files outside of the package: {outside:?}");
    ensure!(!after.keys().any(|path| path.to_lowercase().contains(".git/")), "a file in git's directory");
    Ok(())
}
