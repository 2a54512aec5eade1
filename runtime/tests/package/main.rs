//! Packages on real directories: what is read, what is written, and what is left alone.

#![expect(clippy::print_stderr, reason = "a test that cannot run here says so")]

mod output;
mod read;
mod together;
mod write;

use std::fs;
use std::path::Path;

use portico_runtime::package::{Change, PackageDir, PackageFiles, PackageLimits};

/// A directory with these files.
fn package(files: &[(&str, &str)]) -> tempfile::TempDir {
    let temp = tempfile::tempdir().expect("a temporary directory");
    put_all(temp.path(), files);
    temp
}

fn put_all(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
}

fn read(root: &Path) -> (PackageDir, PackageFiles) {
    let dir = PackageDir::open(root).expect("opens");
    let files = dir.read(&PackageLimits::default()).expect("reads");
    (dir, files)
}

fn text(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).expect("readable")
}

fn write(path: &str, text: &str) -> Change {
    Change::Write { path: path.to_owned(), bytes: text.as_bytes().to_vec() }
}

fn delete(path: &str) -> Change {
    Change::Delete { path: path.to_owned() }
}

/// All paths below a directory.
fn tree(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).expect("listed") {
            let entry = entry.expect("listed");
            if entry.file_type().expect("known").is_dir() {
                pending.push(entry.path());
            }
            found.push(entry.path().strip_prefix(root).expect("below").display().to_string());
        }
    }
    found.sort();
    found
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The variable that tells a test it runs in a process of its own, on the directory it names.
const CHILD: &str = "PORTICO_TEST_PACKAGE";

/// A command that runs one test of this binary again, on `dir`.
fn child(test: &str, dir: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().expect("known"));
    command
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, dir)
        .stdout(std::process::Stdio::null());
    command
}

/// Runs `body` on `dir` without root's powers: at once for an ordinary user, else by running the test again
/// in a process that gave them up. `test` is the name of the test that calls.
fn as_ordinary_user(test: &str, prepare: impl Fn(&Path), body: impl Fn(&Path)) {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;

    if let Some(dir) = std::env::var_os(CHILD) {
        assert!(!is_root());
        return body(Path::new(&dir));
    }
    let temp = tempfile::tempdir().expect("a temporary directory");
    prepare(temp.path());
    if !is_root() {
        return body(temp.path());
    }
    let nobody = 65534;
    let bin = tempfile::tempdir().expect("a temporary directory");
    for dir in [temp.path(), bin.path()] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).expect("set");
    }
    // The build directory may be out of an ordinary user's reach.
    let exe = bin.path().join("test");
    fs::copy(std::env::current_exe().expect("known"), &exe).expect("copied");
    let original = child(test, temp.path());
    let status = std::process::Command::new(exe)
        .args(original.get_args())
        .env(CHILD, temp.path())
        .uid(nobody)
        .gid(nobody)
        .current_dir("/")
        .status()
        .expect("starts");
    assert!(status.success());
}
