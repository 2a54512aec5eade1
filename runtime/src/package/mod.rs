//! The package tree: its files, which of them belong to which package, and how changes get back.
//!
//! A package comes from a directory ([`PackageDir`]) or from a map of path to content
//! ([`PackageFiles::from_map`]). Both give the same value, [`PackageFiles`], by the same rules:
//!
//! ```text
//! directory --list--+                       +--> packages, own files in order
//!                   +--> entries --discover-+
//! map of content ---+                       +--> contents of the files that count
//! ```
//!
//! A render turns it into a list of [`Change`]s, which [`PackageDir::apply`] writes all or none, or
//! [`apply_to_map`] puts into the map.

mod dir;
mod discover;
mod files;
mod glob;
mod ignore;
mod limits;
mod links;
mod lock;
mod map;
mod output;
mod path;
mod resolve;
mod stage;
mod write;

pub use dir::PackageDir;
pub use files::{
    Change, File, Fingerprint, KptfileEntry, OtherPath, PackageFiles, PackageNode, PackageWarning, ReadError,
    matches_globs,
};
pub use limits::{LimitExceeded, PackageLimits};
pub use map::{MapError, apply_to_map};
pub use output::{OutputError, check_new_directory, write_new_directory};
pub use path::{PathError, check_path};
pub use write::{Applied, ApplyError};
