//! What functions may see beside their input: directories, read only, and environment variables.
//!
//! Grants come from whoever runs the program, by command line, configuration or as a library, never from
//! a Kptfile. A directory is copied into memory when it is granted, so all functions of all renders
//! that have it see the same bytes, and none of them has a way to the machine's files.

mod limits;
mod mount;
mod read;
#[cfg(test)]
mod read_tests;
mod tree;
mod walk;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub use self::limits::GrantLimits;
use self::limits::{MAX_DIRECTORIES, MAX_VARIABLE_BYTES, MAX_VARIABLES};
pub use self::mount::{Mount, MountError};
pub(crate) use self::tree::{Node, NodeId, Tree};
pub(crate) use self::walk::{Last, WalkError};

/// What functions are granted. Nothing by default. Clones share the directories.
#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
pub struct Grants {
    directories: Vec<GrantedDirectory>,
    env: Vec<(String, String)>,
}

impl Grants {
    /// Grants a directory. Each name can be granted once.
    pub fn add_directory(&mut self, directory: GrantedDirectory) -> Result<(), GrantError> {
        if self.directories.iter().any(|other| other.target == directory.target) {
            return Err(GrantError::DuplicateTarget(directory.target.to_string()));
        }
        if self.directories.len() >= MAX_DIRECTORIES {
            return Err(GrantError::TooManyDirectories(MAX_DIRECTORIES));
        }
        self.directories.push(directory);
        Ok(())
    }

    /// Grants an environment variable; a second one of the same name takes the first one's place.
    pub fn set_env(&mut self, name: impl Into<String>, value: impl Into<String>) -> Result<(), GrantError> {
        let (name, value) = (name.into(), value.into());
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(GrantError::VariableName(name));
        }
        if value.contains('\0') {
            return Err(GrantError::VariableValue(name));
        }
        self.env.retain(|(other, _)| *other != name);
        let bytes: usize = self.env.iter().map(|(name, value)| name.len() + value.len() + 1).sum();
        if self.env.len() >= MAX_VARIABLES {
            return Err(GrantError::TooManyVariables { name, limit: MAX_VARIABLES });
        }
        if bytes + name.len() + value.len() + 1 > MAX_VARIABLE_BYTES {
            return Err(GrantError::VariablesTooLong { name, limit: MAX_VARIABLE_BYTES });
        }
        self.env.push((name, value));
        Ok(())
    }

    /// The directories, in the order in which they were granted.
    pub fn directories(&self) -> &[GrantedDirectory] {
        &self.directories
    }

    /// The environment variables: names and values.
    pub fn env(&self) -> &[(String, String)] {
        &self.env
    }
}

impl std::fmt::Debug for Grants {
    /// Names alone: values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Grants").field("directories", &self.directories).field("env", &names).finish()
    }
}

/// A directory that functions may read: a copy in memory, made once. Clones are the same copy.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
pub struct GrantedDirectory {
    #[serde(with = "crate::isolation::shared")]
    target: Arc<str>,
    #[serde(with = "crate::isolation::shared")]
    pub(crate) tree: Arc<Tree>,
}

impl GrantedDirectory {
    /// Copies the directory `source` into memory, to be seen as `target`, an absolute path.
    ///
    /// Links that stay inside are kept, and followed inside the copy. Links that lead out, devices,
    /// sockets, FIFOs, files that this process may not read and names that are not UTF-8 are left out,
    /// each with a warning. A directory that changes meanwhile is an error.
    ///
    /// ```
    /// use portico_runtime::{GrantLimits, GrantedDirectory, Grants};
    /// let (schemas, warnings) = GrantedDirectory::read("src".as_ref(), "/schemas", &GrantLimits::default())?;
    /// assert!(warnings.is_empty());
    /// let mut grants = Grants::default();
    /// grants.add_directory(schemas)?;
    /// # Ok::<(), portico_runtime::GrantError>(())
    /// ```
    pub fn read(source: &Path, target: &str, limits: &GrantLimits) -> Result<(Self, Vec<GrantWarning>), GrantError> {
        let target = mount::target(target).ok_or_else(|| GrantError::Target(target.to_owned()))?;
        let read::Reading { tree, warnings } = read::read(source, limits)?;
        Ok((Self { target: target.into(), tree: Arc::new(tree) }, warnings))
    }

    /// The path under which functions see it: absolute, without `.`, `..` and a `/` at the end.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// For tests: a tree made by hand.
    #[cfg(test)]
    pub(crate) fn of(target: &str, tree: Tree) -> Self {
        Self { target: target.into(), tree: Arc::new(tree) }
    }
}

impl std::fmt::Debug for GrantedDirectory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("GrantedDirectory").field(&self.target).finish()
    }
}

/// Something of a granted directory that functions do not see.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrantWarning {
    /// A link.
    #[error("`{0}` is a link that leads out of the directory; functions do not see it")]
    LeadsOut(String),
    /// A FIFO, socket or device.
    #[error("`{0}` is neither a file nor a directory; functions do not see it")]
    Special(String),
    /// A name; its odd bytes are shown escaped.
    #[error("`{0}`: the name is not UTF-8; functions do not see it")]
    NotUtf8(String),
    /// No permission.
    #[error("`{0}` can't be read: permission denied; functions do not see it")]
    Unreadable(String),
    /// Warnings that were not kept.
    #[error("{0} more entries that functions do not see")]
    More(u64),
}

/// Something that can't be granted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// The directory itself.
    #[error("can't open `{path}`")]
    Open {
        /// As it was named.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// It is a file, or something else.
    #[error("`{0}` is no directory; grant the directory that it is in")]
    NotADirectory(String),
    /// Something in it.
    #[error("can't read `{path}`")]
    Io {
        /// Below the directory as it was named.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// Something was written, moved or replaced.
    #[error("`{0}` changed while it was read; try again when nobody writes there")]
    Unstable(String),
    /// It exceeds one of the [`GrantLimits`].
    #[error(
        "`{path}`: {found} {unit}, the limit `{setting}` of a granted directory is {limit}; grant a smaller directory, with what the functions need alone"
    )]
    TooLarge {
        /// Where the limit was met.
        path: String,
        /// The field of [`GrantLimits`].
        setting: &'static str,
        /// What is counted.
        unit: &'static str,
        /// The bound.
        limit: u64,
        /// How much there is; at least that, where counting stopped early.
        found: u64,
    },
    /// The path under which functions would see it.
    #[error(
        "`{0}` is no path that functions can see a directory at; write an absolute path without `..`, as in `/schemas`"
    )]
    Target(String),
    /// Two directories at one path.
    #[error("two directories are granted as `{0}`")]
    DuplicateTarget(String),
    /// More than that.
    #[error("more than {0} directories are granted")]
    TooManyDirectories(usize),
    /// Empty, or with `=` or a zero byte.
    #[error("`{}` is no name of an environment variable", .0.escape_debug())]
    VariableName(String),
    /// A value with a zero byte; the name is told, never the value.
    #[error("the environment variable `{0}` has a zero byte in its value")]
    VariableValue(String),
    /// More than that.
    #[error("environment variable `{name}`: more than {limit} are granted")]
    TooManyVariables {
        /// The one that was too many.
        name: String,
        /// The bound.
        limit: usize,
    },
    /// All of them together.
    #[error("environment variable `{name}`: all variables that are granted have more than {limit} bytes together")]
    VariablesTooLong {
        /// The one that was too long.
        name: String,
        /// The bound.
        limit: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_bounded_and_never_shown() {
        let mut grants = Grants::default();
        grants.set_env("TOKEN", "old").unwrap();
        grants.set_env("TOKEN", "hunter2").unwrap();
        assert_eq!(grants.env(), [("TOKEN".to_owned(), "hunter2".to_owned())]);
        assert_eq!(format!("{grants:?}"), r#"Grants { directories: [], env: ["TOKEN"] }"#);
        for name in ["", "a=b", "a\0"] {
            assert!(matches!(grants.set_env(name, "x"), Err(GrantError::VariableName(_))), "{name:?}");
        }
        let error = grants.set_env("SECRET", "hunter\0").unwrap_err();
        assert!(!error.to_string().contains("hunter"), "{error}");
        let error = grants.set_env("LONG", "hunter".repeat(30_000)).unwrap_err();
        assert!(error.to_string().starts_with("environment variable `LONG`: all"), "{error}");
        for n in 0..MAX_VARIABLES - 1 {
            grants.set_env(format!("V{n}"), "").unwrap();
        }
        assert!(matches!(grants.set_env("ONE_MORE", ""), Err(GrantError::TooManyVariables { .. })));
        // Taking another's place is not one more.
        grants.set_env("V0", "again").unwrap();
    }

    #[test]
    fn a_name_is_granted_once_and_directories_are_counted() {
        let mut grants = Grants::default();
        let directory = |target: &str| GrantedDirectory::of(target, Tree::default());
        grants.add_directory(directory("/a")).unwrap();
        let error = grants.add_directory(directory("/a")).unwrap_err();
        assert_eq!(error.to_string(), "two directories are granted as `/a`");
        for n in 1..MAX_DIRECTORIES {
            grants.add_directory(directory(&format!("/{n}"))).unwrap();
        }
        assert!(matches!(grants.add_directory(directory("/more")), Err(GrantError::TooManyDirectories(_))));
    }
}
