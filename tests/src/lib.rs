//! What the end-to-end tests share: the binary under test, temporary packages, comparing.

pub mod cli;
pub mod serving;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// The root of the repository.
pub fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository").to_path_buf()
}

/// The binary under test: `PORTICO_BIN`, else `portico` beside the directory of this test program
/// (`target/release/portico` for a release test).
pub fn portico_binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("PORTICO_BIN") {
        return Ok(PathBuf::from(path));
    }
    let me = std::env::current_exe()?;
    let path =
        me.parent().and_then(Path::parent).context("the test program lies in a target directory")?.join("portico");
    ensure!(path.exists(), "`{}` is missing: build it with `cargo build --release -p portico`", path.display());
    Ok(path)
}

/// The compiled probe functions: `PORTICO_PROBES`, else `target/probes` beside the binary under test.
pub fn probes_directory() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("PORTICO_PROBES") {
        return Ok(PathBuf::from(path));
    }
    let binary = portico_binary()?;
    let target = binary.parent().and_then(Path::parent).context("the binary lies in a target directory")?;
    Ok(target.join("probes"))
}

/// The conformance data, when `PORTICO_CONFORMANCE` names a directory that exists.
pub fn conformance_directory() -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("PORTICO_CONFORMANCE")?);
    path.is_dir().then_some(path)
}

/// Copies a directory tree; links stay links.
pub fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, &target)?;
        } else if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            // Written anew rather than copied: the sources may be read-only and a render must be able to write.
            std::fs::write(&target, std::fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

/// Every regular file below a directory, as slash path and content, links and `.git` left out.
pub fn files_below(root: &Path) -> Result<std::collections::BTreeMap<String, Vec<u8>>> {
    fn walk(root: &Path, at: &Path, out: &mut std::collections::BTreeMap<String, Vec<u8>>) -> Result<()> {
        for entry in std::fs::read_dir(at)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if entry.file_name() != ".git" {
                    walk(root, &entry.path(), out)?;
                }
            } else if kind.is_file() {
                let path = entry.path();
                let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
                out.insert(name, std::fs::read(&path)?);
            }
        }
        Ok(())
    }
    let mut out = std::collections::BTreeMap::new();
    walk(root, root, &mut out)?;
    Ok(out)
}

/// Runs git in a directory; its standard output.
pub fn git(directory: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args(["-c", "user.name=portico", "-c", "user.email=portico@example.com", "-c", "core.autocrlf=false"])
        .args(args)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .context("git must be on the PATH")?;
    if !output.status.success() {
        bail!("git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What a command did.
#[derive(Debug, Default)]
pub struct Ran {
    /// Exit code; -1 for a signal.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs the binary under test with standard input.
pub fn run_portico(directory: &Path, args: &[String], stdin: &[u8]) -> Result<Ran> {
    use std::io::Write;
    let mut child = Command::new(portico_binary()?)
        .args(args)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut pipe = child.stdin.take().context("standard input is a pipe")?;
    let input = stdin.to_vec();
    // A program that does not read its input closes the pipe; that is its right.
    let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output()?;
    writer.join().ok();
    Ok(output.into())
}

/// Fails with a unified diff when the two texts differ.
pub fn expect_same(what: &str, expected: &str, actual: &str) -> Result<()> {
    if expected == actual {
        return Ok(());
    }
    let diff = similar::TextDiff::from_lines(expected, actual).unified_diff().header("expected", "actual").to_string();
    bail!("{what} differs:\n{diff}")
}

/// Makes the directory `data` in `place`, for the guest and the probe `read-files`, and gives what they must tell of it.
pub fn granted_files(place: &Path) -> Result<String> {
    use std::fmt::Write as _;
    use std::os::unix::fs::symlink;

    let data = place.join("data");
    std::fs::create_dir_all(data.join("a/empty"))?;
    std::fs::create_dir(data.join("many"))?;
    std::fs::write(place.join("secret"), "secret")?;
    std::fs::write(data.join("a/text"), "some text")?;
    symlink("a/text", data.join("link"))?;
    symlink("../secret", data.join("out"))?;
    let mut told = "directory /data\ndirectory /data/a\ndirectory /data/a/empty\nfile /data/a/text, 9 bytes, 9 read\n\
                    link /data/link to a/text\ndirectory /data/many\n"
        .to_owned();
    // More than one buffer of a C library's listing.
    for n in 0..300 {
        let name = format!("many/file-with-a-long-name-{n:03}");
        std::fs::write(data.join(&name), vec![b'x'; n])?;
        writeln!(told, "file /data/{name}, {n} bytes, {n} read")?;
    }
    told.push_str(
        "through the link: some text\nmany: 300, the last is file-with-a-long-name-299\nthe end: text\n\
         write: read-only\nopen to write: read-only\nmkdir: read-only\nrename: read-only\nremove: read-only\n\
         a link that leads out: not there\n",
    );
    Ok(told)
}
