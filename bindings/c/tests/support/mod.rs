//! Builds C programs against the library and runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What to link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Shared,
    Static,
}

/// What the static library needs of the system, as `rustc --print native-static-libs` says.
const NATIVE: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

/// A program of `tests/c`.
pub(crate) struct Program {
    name: String,
    kind: Kind,
    flags: Vec<String>,
}

/// A program that is there.
pub(crate) struct Built {
    file: PathBuf,
    kind: Kind,
    /// Removed with it.
    _directory: tempfile::TempDir,
}

impl Program {
    pub(crate) fn new(name: &str) -> Program {
        Program { name: name.to_owned(), kind: Kind::Shared, flags: Vec::new() }
    }

    pub(crate) fn kind(self, kind: Kind) -> Program {
        Program { kind, ..self }
    }

    pub(crate) fn flag(mut self, flag: &str) -> Program {
        self.flags.push(flag.to_owned());
        self
    }

    /// Compiles it, with every warning an error.
    pub(crate) fn build(self) -> Built {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(&self.name);
        let mut cc = compiler();
        cc.args(["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-D_DEFAULT_SOURCE"]);
        cc.args(&self.flags).arg("-o").arg(&file).arg(here().join(format!("tests/c/{}.c", self.name)));
        match self.kind {
            Kind::Shared => cc.arg("-L").arg(libraries()).arg("-lportico"),
            Kind::Static => cc.arg(libraries().join("libportico.a")).args(NATIVE),
        };
        cc.arg("-lpthread");
        succeeds(&mut cc);
        Built { file, kind: self.kind, _directory: directory }
    }
}

impl Built {
    /// The program as a command, with the library where it finds it.
    pub(crate) fn command(&self) -> Command {
        self.under(&[])
    }

    /// As [`command`](Self::command), run by another program with these arguments.
    pub(crate) fn under(&self, wrapper: &[&str]) -> Command {
        let mut command = match wrapper {
            [] => Command::new(&self.file),
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments).arg(&self.file);
                command
            }
        };
        if self.kind == Kind::Shared {
            command.env("LD_LIBRARY_PATH", libraries());
        }
        command
    }

    /// Runs it to its end, which must be a good one.
    pub(crate) fn run(&self) -> Output {
        succeeds(&mut self.command())
    }
}

/// Runs a command and shows what it said when it fails.
pub(crate) fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Whether a tool is on the `PATH`; says so when it is not.
#[expect(clippy::print_stderr, reason = "a test that is skipped is to be seen")]
pub(crate) fn is_there(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: `{tool}` is not on the PATH");
    }
    found
}

/// The C compiler: `CC`, else `cc`.
pub(crate) fn compiler() -> Command {
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.arg("-I").arg(here().join("include"));
    cc
}

/// The folder of this crate.
pub(crate) fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where cargo puts the libraries that belong to this test: beside it.
pub(crate) fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let directory = test.parent().unwrap().to_owned();
    assert!(directory.join("libportico.so").exists(), "no libportico.so in {}", directory.display());
    directory
}

/// The program of this version: `PORTICO_BIN`, else `portico` where a release build puts it.
pub(crate) fn portico() -> PathBuf {
    let built = || libraries().parent().unwrap().join("portico");
    let program = std::env::var_os("PORTICO_BIN").map_or_else(built, PathBuf::from);
    assert!(program.exists(), "no `{}`: build it with `cargo build --release -p portico`", program.display());
    program
}

/// What `fail` writes to stdout.
const FAILED: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nresults:\n  - message: replicas is wrong\n    severity: error\n";

/// A function that gives back what it gets, then writes a text to standard error. Of an input beyond 64 KiB it takes the
/// beginning.
fn copying(text: &str) -> String {
    format!(
        r#"
        (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 2)
        (data (i32.const 16) "{}")
        (func (export "_start")
            (i32.store (i32.const 0) (i32.const 64))
            (i32.store (i32.const 4) (i32.const 65536))
            (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
            (i32.store (i32.const 4) (i32.load (i32.const 8)))
            (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
            (i32.store (i32.const 0) (i32.const 16))
            (i32.store (i32.const 4) (i32.const {}))
            (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8))))"#,
        text.replace('\n', "\\n"),
        text.len()
    )
}

/// A function that ends with this exit code, after a text to stdout and another to standard error.
fn failing(exit_code: u8, stdout: &str, stderr: &str) -> String {
    format!(
        r#"
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 1)
        (data (i32.const 1024) "{}")
        (data (i32.const 32768) "{}")
        (func $print (param $to i32) (param $at i32) (param $length i32)
            (i32.store (i32.const 0) (local.get $at))
            (i32.store (i32.const 4) (local.get $length))
            (drop (call $write (local.get $to) (i32.const 0) (i32.const 1) (i32.const 8))))
        (func (export "_start")
            (call $print (i32.const 1) (i32.const 1024) (i32.const {}))
            (call $print (i32.const 2) (i32.const 32768) (i32.const {}))
            (call $exit (i32.const {exit_code})))"#,
        stdout.replace('\n', "\\n"),
        stderr.replace('\n', "\\n"),
        stdout.len(),
        stderr.len()
    )
}

/// One that gives back what it gets, one that talks beside that, one that fails, and one for each way in which WebAssembly
/// crashes: a fault of memory, an illegal instruction, a division by zero, a stack that is used up.
pub(crate) fn modules() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let start = |body: &str| format!("(memory (export \"memory\") 1) (func $f (export \"_start\") {body})");
    for (name, text) in [
        ("echo", copying("")),
        ("chatty", copying("by the way\n")),
        ("fail", failing(3, FAILED, "first\nsecond\n")),
        ("load", start("(drop (i32.load (i32.const -4)))")),
        ("unreachable", start("unreachable")),
        ("divide", start("(drop (i32.div_u (i32.load (i32.const 0)) (i32.load (i32.const 4))))")),
        ("recurse", start("(call $f)")),
    ] {
        let wasm = wat::parse_str(format!("(module {text})")).unwrap();
        std::fs::write(directory.path().join(format!("{name}.wasm")), wasm).unwrap();
    }
    directory
}
