//! Which paths may name a file of a package.

/// The longest name of one file or directory, in bytes, that common file systems take.
const MAX_NAME: usize = 255;
/// The longest path, in bytes.
const MAX_PATH: usize = 4096;

/// Why a path cannot be a file of the package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It has no name at all.
    #[error("a file path is empty")]
    Empty,
    /// It begins with a slash.
    #[error("path `{0}` is absolute; a file path is relative to the package")]
    Absolute(String),
    /// It has `..` among its parts.
    #[error("path `{0}` leads out of the package")]
    Outside(String),
    /// It is not in its shortest form: `./a`, `a//b`, `a/`.
    #[error("path `{0}` has an empty part or a `.` among its parts")]
    NotClean(String),
    /// It holds a NUL, a line break or another control character.
    #[error("path {0:?} holds a control character")]
    Control(String),
    /// It is, or lies below, something named `.git`.
    #[error("path `{0}` belongs to git; functions may not write there")]
    Git(String),
    /// A part, or the whole, is longer than file systems take.
    #[error("path `{}...` is too long: at most {MAX_NAME} bytes for one name and {MAX_PATH} in all", .0.chars().take(64).collect::<String>())]
    TooLong(String),
}

/// Checks that `path` may name a file of a package: relative, clean, with slashes, and outside `.git`.
pub fn check_path(path: &str) -> Result<(), PathError> {
    check_form(path)?;
    if path.chars().any(char::is_control) {
        return Err(PathError::Control(path.to_owned()));
    }
    if path.split('/').any(is_git) {
        return Err(PathError::Git(path.to_owned()));
    }
    Ok(())
}

/// The part of [`check_path`] that holds for names which exist already, too.
pub(crate) fn check_form(path: &str) -> Result<(), PathError> {
    let error = |kind: fn(String) -> PathError| Err(kind(path.to_owned()));
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if path.contains('\0') {
        return error(PathError::Control);
    }
    if path.starts_with('/') {
        return error(PathError::Absolute);
    }
    if path.split('/').any(|part| part == "..") {
        return error(PathError::Outside);
    }
    if path.split('/').any(|part| part.is_empty() || part == ".") {
        return error(PathError::NotClean);
    }
    if path.len() > MAX_PATH || path.split('/').any(|part| part.len() > MAX_NAME) {
        return error(PathError::TooLong);
    }
    Ok(())
}

/// Whether a name is git's own directory (or the file that stands for it in a worktree). Any case: on a
/// file system that ignores case, `.GIT` is the same directory.
pub(crate) fn is_git(name: &str) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// The directory part and the last name of a path.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// `name` below `dir`, where the empty `dir` is the package's root.
pub(crate) fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_and_odd_but_harmless_names_are_fine() {
        for path in
            ["a.yaml", "a/b/c.yaml", ".hidden", "x..y.yaml", "...", "a b/ü.yaml", "Kptfile", ".github/x", "noext"]
        {
            assert_eq!(check_path(path), Ok(()), "{path}");
        }
    }

    type Kind = fn(String) -> PathError;

    #[test]
    fn paths_that_name_no_file_of_the_package_are_refused() {
        let kinds: [(&str, Kind); 14] = [
            ("/etc/x.yaml", PathError::Absolute),
            ("../x", PathError::Outside),
            ("a/../../x", PathError::Outside),
            ("a/..", PathError::Outside),
            ("./a", PathError::NotClean),
            ("a//b", PathError::NotClean),
            ("a/", PathError::NotClean),
            ("a\0b", PathError::Control),
            ("a\nb", PathError::Control),
            ("a\u{1b}[2J", PathError::Control),
            (".git/config", PathError::Git),
            ("sub/.GIT/hooks/x", PathError::Git),
            ("sub/.git", PathError::Git),
            (".Git", PathError::Git),
        ];
        for (path, kind) in kinds {
            assert_eq!(check_path(path), Err(kind(path.to_owned())), "{path:?}");
        }
        assert_eq!(check_path(""), Err(PathError::Empty));
        assert!(matches!(check_path(&"x".repeat(256)), Err(PathError::TooLong(_))));
        assert!(matches!(check_path("xy/".repeat(2000).trim_end_matches('/')), Err(PathError::TooLong(_))));
    }
}
