//! Probes that read files, where they are granted any.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};

use portico_fn::Output;

/// Gives its input back and tells on stderr what it finds below `/data`.
pub(crate) fn read_files(input: Vec<u8>) -> Output {
    let mut told = String::new();
    match tell(&mut told) {
        Ok(()) => Output { stdout: input, stderr: told, exit_code: 0 },
        Err(error) => Output { stdout: input, stderr: format!("{told}{error}\n"), exit_code: 1 },
    }
}

fn tell(told: &mut String) -> io::Result<()> {
    walk("/data", told)?;
    let mut say = |line: String| writeln!(told, "{line}").map_err(io::Error::other);
    say(format!("through the link: {}", fs::read_to_string("/data/link")?))?;
    let mut names = fs::read_dir("/data/many")?
        .map(|entry| Ok(entry?.file_name().display().to_string()))
        .collect::<io::Result<Vec<_>>>()?;
    say(format!("many: {}, the last is {}", names.len(), names.pop().unwrap_or_default()))?;
    let mut file = File::open("/data/a/text")?;
    file.seek(SeekFrom::End(-4))?;
    let mut end = String::new();
    file.read_to_string(&mut end)?;
    say(format!("the end: {end}"))?;
    say(format!("write: {}", how(fs::write("/data/new", "x"))))?;
    say(format!("open to write: {}", how(OpenOptions::new().read(true).write(true).open("/data/a/text"))))?;
    say(format!("mkdir: {}", how(fs::create_dir("/data/new"))))?;
    say(format!("rename: {}", how(fs::rename("/data/a", "/data/b"))))?;
    say(format!("remove: {}", how(fs::remove_file("/data/link"))))?;
    say(format!("a link that leads out: {}", how(File::open("/data/out"))))?;
    for path in ["/data/../etc/passwd", "/etc/passwd", "../etc/passwd"] {
        if fs::read(path).is_ok() {
            say(format!("{path} can be read"))?;
        }
    }
    Ok(())
}

/// In the order in which the entries come.
fn walk(path: &str, told: &mut String) -> io::Result<()> {
    let _ = writeln!(told, "directory {path}");
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let below = entry.path().display().to_string();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&below, told)?;
        } else if kind.is_symlink() {
            let _ = writeln!(told, "link {below} to {}", fs::read_link(&below)?.display());
        } else {
            let size = fs::metadata(&below)?.len();
            let _ = writeln!(told, "file {below}, {size} bytes, {} read", fs::read(&below)?.len());
        }
    }
    Ok(())
}

fn how<T>(result: io::Result<T>) -> &'static str {
    match result.map_err(|error| error.kind()) {
        Ok(_) => "done",
        Err(ErrorKind::ReadOnlyFilesystem) => "read-only",
        Err(ErrorKind::NotFound) => "not there",
        Err(_) => "refused",
    }
}
