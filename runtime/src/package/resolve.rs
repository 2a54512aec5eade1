//! The path of the package itself: kpt resolves links in it and shows where it leads.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The most links followed in one path, as many as Go follows.
const MAX_LINKS: u32 = 255;

/// `path` without links: relative if it was and no absolute link is on the way; `.` for nothing.
pub(super) fn without_links(path: &Path) -> io::Result<PathBuf> {
    let mut todo: VecDeque<OsString> = parts(path).collect();
    let mut done = PathBuf::new();
    let mut links = 0;
    while let Some(part) = todo.pop_front() {
        push(&mut done, &part);
        if !matches!(Path::new(&part).components().next(), Some(Component::Normal(_))) {
            continue;
        }
        if !std::fs::symlink_metadata(&done)?.is_symlink() {
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(io::Error::other("too many symbolic links in the path"));
        }
        let target = std::fs::read_link(&done)?;
        done.pop();
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            todo.push_front(part);
        }
    }
    if done.as_os_str().is_empty() {
        done.push(".");
    }
    Ok(done)
}

/// `path` as an absolute one, without `.` and `..`, below the working directory as the user knows it.
pub(super) fn absolute(path: &Path) -> io::Result<PathBuf> {
    let mut done = if path.is_absolute() { PathBuf::new() } else { working_directory()? };
    for part in parts(path) {
        push(&mut done, &part);
    }
    Ok(done)
}

/// `$PWD` where it names the working directory (it keeps the links that the user went through).
fn working_directory() -> io::Result<PathBuf> {
    let real = std::env::current_dir()?;
    if let Some(shown) = std::env::var_os("PWD").map(PathBuf::from).filter(|shown| shown.is_absolute()) {
        let is_clean = shown.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if is_clean && std::fs::canonicalize(&shown).is_ok_and(|target| target == real) {
            return Ok(shown);
        }
    }
    Ok(real)
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().map(|part| part.as_os_str().to_owned())
}

/// Goes one part on; `..` takes a name back where there is one.
fn push(done: &mut PathBuf, part: &OsString) {
    match Path::new(part).components().next() {
        Some(Component::ParentDir) => match done.components().next_back() {
            Some(Component::Normal(_)) => drop(done.pop()),
            Some(Component::RootDir) => {}
            _ => done.push(".."),
        },
        Some(Component::CurDir) | None => {}
        Some(_) => done.push(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_in_a_path_are_replaced_by_what_they_lead_to() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = std::fs::canonicalize(dir.path()).expect("it exists");
        std::fs::create_dir_all(root.join("a/b")).expect("created");
        symlink("a/b", root.join("short")).expect("linked");
        symlink(".", root.join("a/here")).expect("linked");
        symlink("../../short", root.join("a/b/back")).expect("linked");
        symlink(root.join("a"), root.join("absolute")).expect("linked");
        symlink("loop", root.join("loop")).expect("linked");
        let resolved = |path: &str| without_links(&root.join(path));
        assert_eq!(resolved("short").expect("leads on"), root.join("a/b"));
        assert_eq!(resolved("a/here/here/b/../b").expect("leads on"), root.join("a/b"));
        assert_eq!(resolved("a/b/back").expect("leads on"), root.join("a/b"));
        assert_eq!(resolved("absolute/b").expect("leads on"), root.join("a/b"));
        assert!(resolved("loop").is_err());
        assert_eq!(resolved("none").expect_err("not there").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_relative_path_stays_relative_and_nothing_is_a_dot() {
        assert_eq!(without_links(Path::new("")).expect("nothing to resolve"), Path::new("."));
        assert_eq!(without_links(Path::new("./.")).expect("nothing to resolve"), Path::new("."));
        assert_eq!(without_links(Path::new("..")).expect("nothing to resolve"), Path::new(".."));
        assert_eq!(without_links(Path::new("src/../src")).expect("is there"), Path::new("src"));
    }

    #[test]
    fn an_absolute_path_is_clean() {
        assert_eq!(absolute(Path::new("/a/./b/../c")).expect("absolute"), Path::new("/a/c"));
        assert_eq!(absolute(Path::new("/..")).expect("absolute"), Path::new("/"));
        let here = std::env::current_dir().expect("there is one");
        let found = absolute(Path::new("x/..")).expect("below the working directory");
        assert_eq!(std::fs::canonicalize(found).expect("is there"), here);
    }
}
