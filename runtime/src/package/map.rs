//! A package that lives in a map of path to content, as Porch keeps it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::discover::{Content, Entries, EntryKind, Scope, Wanted, assemble};
use super::files::{Change, File, PackageFiles, ReadError};
use super::limits::{LimitExceeded, PackageLimits};
use super::path::{PathError, check_form, check_path, is_git, split};

impl PackageFiles {
    /// The package that a map of root-relative path to content describes, by the rules for directories.
    /// `root` is the absolute path to show as the package's place; its last name is the package's name.
    pub fn from_map<P, C>(
        root: &str,
        map: impl IntoIterator<Item = (P, C)>,
        limits: &PackageLimits,
    ) -> Result<Self, ReadError>
    where
        P: Into<String>,
        C: Into<Arc<[u8]>>,
    {
        let contents: BTreeMap<String, Arc<[u8]>> =
            map.into_iter().map(|(path, bytes)| (path.into(), bytes.into())).collect();
        let entries = list(&contents, limits)?;
        let name = match root.trim_end_matches('/').rsplit('/').next() {
            Some(name) if !name.is_empty() => name,
            _ => "/",
        };
        assemble(
            name.to_owned(),
            root.to_owned(),
            &entries,
            Vec::new(),
            &mut Contents(&contents),
            limits,
            Scope::Inputs,
        )
    }
}

/// The paths of a map and the directories they imply.
fn list(contents: &BTreeMap<String, Arc<[u8]>>, limits: &PackageLimits) -> Result<Entries, ReadError> {
    let mut entries = Entries::new();
    for path in contents.keys() {
        check_form(path)?;
        let depth = path.matches('/').count() as u64;
        LimitExceeded::check(path, "package.depth", "directories above it", limits.depth.into(), depth)?;
        if let Some(git) = below_git(path) {
            entries.insert(git.to_owned(), EntryKind::Git);
            continue;
        }
        for (at, _) in path.match_indices('/') {
            let dir = &path[..at];
            if contents.contains_key(dir) {
                return Err(ReadError::FileAndDirectory(dir.to_owned()));
            }
            if !entries.contains_key(dir) {
                entries.insert(dir.to_owned(), EntryKind::Directory);
            }
        }
        entries.insert(path.clone(), EntryKind::File);
        LimitExceeded::check(path, "package.entries", "entries", limits.entries, entries.len() as u64)?;
    }
    Ok(entries)
}

/// The part of a path up to a component that is git's.
fn below_git(path: &str) -> Option<&str> {
    let mut end = 0;
    for part in path.split('/') {
        end += part.len();
        if is_git(part) {
            return Some(&path[..end]);
        }
        end += 1;
    }
    None
}

struct Contents<'a>(&'a BTreeMap<String, Arc<[u8]>>);

impl Content for Contents<'_> {
    fn read(&mut self, path: &str, wanted: Wanted) -> Result<File, ReadError> {
        let bytes = self.0.get(path).cloned().unwrap_or_default();
        LimitExceeded::check(path, wanted.setting, "bytes", wanted.limit, bytes.len() as u64)?;
        Ok(File { bytes, fingerprint: None })
    }
}

/// Puts changes into the map that a package came from. Paths are held to the rules for directories; either
/// all changes are made or, with an error, none.
pub fn apply_to_map<C: From<Vec<u8>>>(map: &mut BTreeMap<String, C>, changes: Vec<Change>) -> Result<(), MapError> {
    let mut names: std::collections::BTreeSet<&str> = map.keys().map(String::as_str).collect();
    for change in &changes {
        match change {
            Change::Delete { path } => drop(names.remove(path.as_str())),
            Change::Write { path, .. } => {
                if !map.contains_key(path) {
                    check_path(path)?;
                }
                names.insert(path);
            }
        }
    }
    for change in &changes {
        let Change::Write { path, .. } = change else { continue };
        let mut dir = split(path).0;
        while !dir.is_empty() {
            if names.contains(dir) {
                return Err(MapError::FileAndDirectory(dir.to_owned()));
            }
            dir = split(dir).0;
        }
        // The names that begin with `path/` stand directly behind it.
        let below = format!("{path}/");
        if names.range(below.as_str()..).next().is_some_and(|name| name.starts_with(&below)) {
            return Err(MapError::FileAndDirectory(path.clone()));
        }
    }
    for change in changes {
        match change {
            Change::Write { path, bytes } => drop(map.insert(path, bytes.into())),
            Change::Delete { path } => drop(map.remove(&path)),
        }
    }
    Ok(())
}

/// Why changes cannot be put into a map.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// A path cannot name a file.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The map would hold `a` and `a/b`.
    #[error("`{0}` would be a file and a directory at once")]
    FileAndDirectory(String),
}
