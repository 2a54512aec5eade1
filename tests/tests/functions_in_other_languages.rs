//! The functions below `examples/functions`: each is built with its own toolchain and rendered by the real program.
//! One whose toolchain is not installed counts as ignored and says what is missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use libtest_mimic::{Arguments, Failed, Trial};
use portico_tests::{copy_tree, expect_same, files_below, granted_files, portico_binary, repository};

/// An example: its directory, its function, the exit code of its render.
struct Example {
    directory: &'static str,
    function: &'static str,
    exit_code: i32,
    /// What is missing to build it, if anything.
    missing: fn() -> Option<String>,
    /// Makes the module.
    build: fn(&Path, &Path) -> Result<PathBuf>,
}

const EXAMPLES: [Example; 4] = [
    Example { directory: "rust", function: "require-owner", exit_code: 1, missing: rust_missing, build: build_rust },
    Example { directory: "go-sdk", function: "set-owner", exit_code: 0, missing: go_missing, build: build_go },
    Example { directory: "go-kyaml", function: "check-replicas", exit_code: 1, missing: go_missing, build: build_go },
    Example { directory: "c", function: "mirror-images", exit_code: 0, missing: c_missing, build: build_c },
];

fn main() {
    let mut arguments = Arguments::from_args();
    // Each build keeps all processors busy by itself.
    arguments.test_threads.get_or_insert(1);
    let mut trials: Vec<Trial> = EXAMPLES.into_iter().map(trial).collect();
    trials.push(Trial::test("the_guide_of_the_sdk_shows_the_code_of_the_example", || {
        guide_shows_the_example().map_err(|error| Failed::from(format!("{error:#}")))
    }));
    for (language, missing, build) in [
        ("go", go_missing as fn() -> Option<String>, build_go_guest as fn(&Path) -> Result<PathBuf>),
        ("c", c_missing, build_c_guest),
    ] {
        let name = format!("{language}_reads_granted_files_and_writes_none");
        let check = move || reads_granted_files(&build(&scratch())?);
        let trial = Trial::test(name, move || check().map_err(|error| Failed::from(format!("{error:#}"))));
        trials.push(match missing() {
            Some(what) => trial.with_kind(format!("skipped: {what}")).with_ignored_flag(true),
            None => trial,
        });
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(example: Example) -> Trial {
    let missing = (example.missing)();
    let name = format!("{}_builds_and_renders", example.directory);
    let trial = Trial::test(name, move || check(&example).map_err(|error| Failed::from(format!("{error:#}"))));
    match missing {
        Some(what) => trial.with_kind(format!("skipped: {what}")).with_ignored_flag(true),
        None => trial,
    }
}

/// Where builds go; they are kept between runs, as are compiled modules.
fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("functions-in-other-languages")
}

fn check(example: &Example) -> Result<()> {
    let source = repository().join("examples/functions").join(example.directory);
    let out = scratch().join(example.directory);
    std::fs::create_dir_all(&out)?;
    let module = (example.build)(&source, &out)?;
    ensure!(module.is_file(), "`{}` was not built", module.display());

    let work = tempfile::tempdir()?;
    // Messages name a package by its directory.
    let package = work.path().join("checkout");
    copy_tree(&source.join("package"), &package)?;
    let output = Command::new(portico_binary()?)
        .args(["render", "checkout", "--status", "none", "--progress", "plain", "--color", "never", "--function"])
        .arg(format!("{}={}", example.function, module.display()))
        .current_dir(work.path())
        .env("XDG_CACHE_HOME", scratch().join("cache"))
        .output()?;
    let words = regex::Regex::new(r"(?m) in \d[\w.]*$")?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = words.replace_all(&told, "");
    ensure!(output.status.code() == Some(example.exit_code), "the render ended with {}:\n{told}", output.status);

    let mut expected = files_below(&source.join("expected"))?;
    let words = expected.remove("output.txt").context("`expected/output.txt` is missing")?;
    expect_same("the render's words", &String::from_utf8(words)?, &told)?;
    let actual = files_below(&package)?;
    ensure!(expected.keys().eq(actual.keys()), "files differ: {:?} and {:?}", expected.keys(), actual.keys());
    for (name, bytes) in expected {
        expect_same(&name, &String::from_utf8(bytes)?, &String::from_utf8_lossy(&actual[&name]))?;
    }
    Ok(())
}

/// Runs a build; its output in the error.
fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{command:?} failed:\n{stdout}{stderr}");
    Ok(())
}

/// What a command prints, when it succeeds.
fn ask(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

const RUST_TARGET: &str = "wasm32-wasip1";

/// A compiler with the WASI target: the active one, or the private one of `scripts/install-wasm-target.sh`.
fn wasi_rustc() -> Option<PathBuf> {
    let active = std::env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from);
    let private = match std::env::var_os("WASM_TOOLCHAIN_DIR") {
        Some(directory) => Some(PathBuf::from(directory)),
        None => std::env::var_os("XDG_DATA_HOME")
            .filter(|data| !data.is_empty())
            .map(PathBuf::from)
            .or_else(|| Some(std::env::home_dir()?.join(".local/share")))
            .map(|data| data.join("portico-wasm-toolchain")),
    };
    let private = private.map(|directory| directory.join("bin/rustc"));
    [Some(active), private].into_iter().flatten().find(|rustc| {
        let library = ask(rustc, &["--print", "target-libdir", "--target", RUST_TARGET]);
        library.is_some_and(|directory| Path::new(&directory).is_dir())
    })
}

fn rust_missing() -> Option<String> {
    wasi_rustc().is_none().then(|| format!("no rustc with the target {RUST_TARGET}"))
}

fn build_rust(source: &Path, out: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // The versions that the workspace has: nothing else is fetched.
    std::fs::copy(repository().join("Cargo.lock"), source.join("Cargo.lock"))?;
    let cargo = || {
        let mut command = Command::new(&cargo);
        command.current_dir(source).env("CARGO_TARGET_DIR", out).env_remove("WRITE_GOLDEN_OUTPUT");
        command
    };
    run(cargo().arg("test"))?;
    let rustc = wasi_rustc().context("the compiler was there a moment ago")?;
    run(cargo().args(["build", "--release", "--target", RUST_TARGET]).env("RUSTC", rustc))?;
    Ok(out.join(RUST_TARGET).join("release/require-owner.wasm"))
}

/// The oldest Go that the examples' modules can be built with.
const GO: (u32, u32) = (1, 25);

fn go_missing() -> Option<String> {
    let Some(version) = ask("go", &["env", "GOVERSION"]) else { return Some("no `go`".to_owned()) };
    let mut numbers = version.trim_start_matches("go").split('.').map(|part| part.parse().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    (found < GO).then(|| format!("{version} is older than go{}.{}", GO.0, GO.1))
}

fn build_go(source: &Path, out: &Path) -> Result<PathBuf> {
    let module = out.join("function.wasm");
    run(Command::new("go")
        // As pinned: neither go.mod nor go.sum may change; the same bytes wherever it is built, for the cache.
        .args(["build", "-mod=readonly", "-trimpath", "-o"])
        .arg(&module)
        .arg(".")
        .current_dir(source)
        .envs([("GOOS", "wasip1"), ("GOARCH", "wasm"), ("GOTOOLCHAIN", "local"), ("CGO_ENABLED", "0")]))?;
    Ok(module)
}

/// The C library of Debian's `wasi-libc`, or of a WASI SDK named by `WASI_SYSROOT`.
fn wasi_sysroot() -> PathBuf {
    std::env::var_os("WASI_SYSROOT").map_or_else(|| PathBuf::from("/usr"), PathBuf::from)
}

fn c_missing() -> Option<String> {
    if ask("clang", &["--version"]).is_none() {
        return Some("no `clang`".to_owned());
    }
    if ask("wasm-ld", &["--version"]).is_none() {
        return Some("no `wasm-ld` (package lld)".to_owned());
    }
    if !wasi_sysroot().join("lib/wasm32-wasi/libc.a").is_file() {
        return Some("no wasi-libc".to_owned());
    }
    let builtins = ask("clang", &["--target=wasm32-wasi", "--print-libgcc-file-name"]);
    if builtins.is_none_or(|file| !Path::new(&file).is_file()) {
        return Some("no compiler-rt for wasm32 (package libclang-rt-dev-wasm32)".to_owned());
    }
    None
}

fn build_c(source: &Path, out: &Path) -> Result<PathBuf> {
    let module = out.join("function.wasm");
    run(Command::new("clang")
        .args(["--target=wasm32-wasi", "-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&module)
        .arg(format!("--sysroot={}", wasi_sysroot().display()))
        .arg(source.join("mirror-images.c")))?;
    Ok(module)
}

/// Builds `tests/guests/read-files.go`.
fn build_go_guest(out: &Path) -> Result<PathBuf> {
    let module = out.join("read-files-go.wasm");
    run(Command::new("go")
        .args(["build", "-trimpath", "-o"])
        .arg(&module)
        .arg(repository().join("tests/guests/read-files.go"))
        .envs([("GOOS", "wasip1"), ("GOARCH", "wasm"), ("GOTOOLCHAIN", "local"), ("CGO_ENABLED", "0")]))?;
    Ok(module)
}

/// Builds `tests/guests/read-files.c`.
fn build_c_guest(out: &Path) -> Result<PathBuf> {
    let module = out.join("read-files-c.wasm");
    run(Command::new("clang")
        .args(["--target=wasm32-wasi", "-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&module)
        .arg(format!("--sysroot={}", wasi_sysroot().display()))
        .arg(repository().join("tests/guests/read-files.c")))?;
    Ok(module)
}

/// Runs a guest that tells what it reads below `/data`; see `tests/guests/README.md`.
fn reads_granted_files(module: &Path) -> Result<()> {
    let work = tempfile::tempdir()?;
    let expected = granted_files(work.path())?;
    std::fs::create_dir(work.path().join("package"))?;
    std::fs::write(work.path().join("package/a.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n")?;
    let output = Command::new(portico_binary()?)
        .args(["eval", "package", "-i", "read-files", "--mount", "type=bind,src=data,dst=/data", "--function"])
        .arg(format!("read-files={}", module.display()))
        .current_dir(work.path())
        .env("XDG_CACHE_HOME", scratch().join("cache"))
        .output()?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}\n{told}", output.status);
    let said = told.split_once("  Stderr:\n").map_or("", |(_, said)| said).replace("\n    ", "\n");
    expect_same("what it reads", &expected, said.trim_start())
}

/// Readers of the guide see the very code that is built and run here.
fn guide_shows_the_example() -> Result<()> {
    let root = repository();
    let guide = std::fs::read_to_string(root.join("functions/sdk/README.md"))?;
    let code = std::fs::read_to_string(root.join("examples/functions/rust/src/main.rs"))?;
    ensure!(
        guide.contains(&code),
        "functions/sdk/README.md does not hold examples/functions/rust/src/main.rs as it is"
    );
    Ok(())
}
