//! A new directory of files, for `-o DIR`.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use super::path::{PathError, check_path, split};
use super::stage::{rename_to_new, temporary_name};

/// Why a directory was not written. Nothing is left of it.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// There is something at the path.
    #[error("directory {0:?} already exists, please delete the directory and retry")]
    Exists(String),
    /// A path cannot name a file of a package.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The operating system refused.
    #[error("cannot write {path:?}")]
    Io {
        /// The file or directory.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// Fails when there is something at `path`, be it a link to nothing. For a check before the work begins.
pub fn check_new_directory(path: &Path) -> Result<(), OutputError> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Err(OutputError::Exists(path.display().to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(OutputError::Io { path: path.display().to_string(), source }),
    }
}

/// Writes files (slash path below `path`, content) to a directory that does not exist yet; directories
/// above it are made. It appears with all its files or not at all.
pub fn write_new_directory<'a>(
    path: &Path,
    files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Result<(), OutputError> {
    check_new_directory(path)?;
    let shown = path.display().to_string();
    let io_error = |source| OutputError::Io { path: shown.clone(), source };
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| io_error(io::Error::from(io::ErrorKind::InvalidFilename)))?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let made = make_parents(parent).map_err(io_error)?;
    let result = Dir::open_ambient_dir(parent, ambient_authority()).map_err(io_error).and_then(|above| {
        let staged = temporary_name(".dir");
        above.create_dir(&staged).map_err(io_error)?;
        let result = fill(&above, &staged, files).and_then(|()| {
            rename_to_new(&above, &staged, name).map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => OutputError::Exists(shown.clone()),
                _ => io_error(source),
            })
        });
        if result.is_err() && above.remove_dir_all(&staged).is_err() {
            tracing::debug!(staged, "a temporary directory cannot be removed");
        }
        result
    });
    if result.is_err() {
        for dir in made.iter().rev() {
            // One that is not empty holds something of somebody else.
            drop(std::fs::remove_dir(dir));
        }
    }
    result
}

fn fill<'a>(
    above: &Dir,
    staged: &str,
    files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Result<(), OutputError> {
    let io_error = |path: &str, source| OutputError::Io { path: path.to_owned(), source };
    let dir = above.open_dir(staged).map_err(|source| io_error(staged, source))?;
    for (path, bytes) in files {
        check_path(path)?;
        let parent = split(path).0;
        if !parent.is_empty() {
            dir.create_dir_all(parent).map_err(|source| io_error(path, source))?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        dir.open_with(path, &options)
            .and_then(|mut file| file.write_all(bytes))
            .map_err(|source| io_error(path, source))?;
    }
    Ok(())
}

/// Makes a directory and those above it; gives the new ones, outer before inner.
fn make_parents(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let missing: Vec<PathBuf> = dir
        .ancestors()
        .take_while(|above| !above.as_os_str().is_empty() && !above.is_dir())
        .map(Path::to_path_buf)
        .collect();
    std::fs::create_dir_all(dir)?;
    Ok(missing.into_iter().rev().collect())
}
