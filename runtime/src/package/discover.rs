//! Which directories are packages, which files belong to which, in which order.
//!
//! The rules are kpt's. A directory is a package when it has an entry `Kptfile`; it owns what lies below
//! it, down to the next package. Its own `.krmignore` takes files away from it but never hides a
//! subpackage. Nothing here touches a disk: a listing comes in, the tree goes out.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::files::{
    File, KPTFILE, KRMIGNORE, KptfileEntry, OtherPath, PackageFiles, PackageNode, PackageWarning, ReadError,
    matches_globs,
};
use super::ignore::IgnoreRules;
use super::limits::{LimitExceeded, PackageLimits};
use super::links::LinkTarget;
use super::path::{join, split};

/// Every path of a tree but its root and what lies below `.git`.
pub(super) type Entries = BTreeMap<String, EntryKind>;

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Directory,
    Link(LinkTarget),
    Special,
    Git,
}

/// Where contents come from: a disk or a map.
pub(super) trait Content {
    /// The content of a file.
    fn read(&mut self, path: &str, wanted: Wanted) -> Result<File, ReadError>;
}

/// How a file may be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// The most bytes it may have.
    pub(super) limit: u64,
    /// The name of that limit.
    pub(super) setting: &'static str,
    /// Whether a link may be read through, within the package.
    pub(super) through_link: bool,
}

/// Which files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those that functions get: that match the globs.
    Inputs,
    /// All that belong to the package.
    Everything,
}

/// Puts a package together from a listing and the contents behind it. `warnings` are those of the listing.
pub(super) fn assemble(
    name: String,
    root: String,
    entries: &Entries,
    mut warnings: Vec<PackageWarning>,
    content: &mut dyn Content,
    limits: &PackageLimits,
    scope: Scope,
) -> Result<PackageFiles, ReadError> {
    let mut tree = Tree::of_packages(entries);
    for (index, path) in tree.packages.iter().map(|package| package.path.clone()).enumerate() {
        tree.rules.insert(index, ignore_rules(&path, entries, content, limits)?);
    }
    let mut files = BTreeMap::new();
    let mut others = BTreeMap::new();
    let wanted = Wanted { limit: limits.file_bytes, setting: "package.fileBytes", through_link: false };
    let mut budget = Budget { files: 0, bytes: 0, limits };
    for (path, kind) in entries {
        let counts = scope == Scope::Everything || matches_globs(split(path).1);
        match kind {
            EntryKind::Directory => {
                tree.enter(path);
                others.insert(path.clone(), OtherPath::Directory);
            }
            EntryKind::Git => drop(others.insert(path.clone(), OtherPath::Git)),
            EntryKind::Special => {
                if counts {
                    warnings.push(PackageWarning::Special(path.clone()));
                }
                others.insert(path.clone(), OtherPath::Special);
            }
            EntryKind::Link(target) => {
                warnings.extend(target.warning(path, counts));
                others.insert(path.clone(), OtherPath::Link);
            }
            EntryKind::File if !counts => drop(others.insert(path.clone(), OtherPath::File)),
            EntryKind::File => {
                let is_input = tree.add_file(path);
                if is_input || split(path).1 == KPTFILE {
                    budget.count_file(path)?;
                    let file = content.read(path, wanted)?;
                    budget.count_bytes(path, &file.bytes)?;
                    files.insert(path.clone(), file);
                } else {
                    others.insert(path.clone(), OtherPath::Ignored);
                }
            }
        }
    }
    let mut packages = tree.packages;
    for package in &mut packages {
        package.files.sort_by(|a, b| walk_order(a, b));
    }
    Ok(PackageFiles { name, root, files, packages, others, warnings })
}

struct Budget<'a> {
    files: u64,
    bytes: u64,
    limits: &'a PackageLimits,
}

impl Budget<'_> {
    fn count_file(&mut self, path: &str) -> Result<(), LimitExceeded> {
        self.files += 1;
        LimitExceeded::check(path, "package.files", "files", self.limits.files, self.files)
    }

    fn count_bytes(&mut self, path: &str, bytes: &Arc<[u8]>) -> Result<(), LimitExceeded> {
        self.bytes += bytes.len() as u64;
        LimitExceeded::check(path, "package.bytes", "bytes in all", self.limits.package_bytes, self.bytes)
    }
}

fn ignore_rules(
    package: &str,
    entries: &Entries,
    content: &mut dyn Content,
    limits: &PackageLimits,
) -> Result<IgnoreRules, ReadError> {
    let path = join(package, KRMIGNORE);
    // Read through a link inside the package: the rules are only ever read, and without them files that
    // their author hid would reach the functions.
    if !matches!(entries.get(&path), Some(EntryKind::File | EntryKind::Link(LinkTarget::File))) {
        return Ok(IgnoreRules::default());
    }
    let file = content
        .read(&path, Wanted { limit: limits.ignore_bytes, setting: "package.ignoreBytes", through_link: true })?;
    let rules = IgnoreRules::parse(&file.bytes);
    LimitExceeded::check(
        &path,
        "package.ignorePatterns",
        "patterns with wildcards",
        limits.ignore_patterns,
        rules.wildcard_patterns() as u64,
    )?;
    Ok(rules)
}

/// The packages found so far, and for each directory seen who owns it.
struct Tree {
    packages: Vec<PackageNode>,
    rules: HashMap<usize, IgnoreRules>,
    directories: HashMap<String, Owned>,
}

/// The standing of a directory.
#[derive(Clone, Copy)]
struct Owned {
    package: usize,
    /// The package's `.krmignore` names it or a directory between it and the package.
    ignored: bool,
}

impl Tree {
    /// The packages of a listing, without their files. The order of paths puts parents before their
    /// subpackages and siblings into kpt's order.
    fn of_packages(entries: &Entries) -> Self {
        let mut kptfiles: BTreeMap<&str, KptfileEntry> = BTreeMap::from([("", KptfileEntry::Missing)]);
        for (path, kind) in entries {
            let (dir, name) = split(path);
            if name != KPTFILE {
                continue;
            }
            let found = match kind {
                EntryKind::File => KptfileEntry::File,
                EntryKind::Directory => KptfileEntry::Directory,
                EntryKind::Special => KptfileEntry::Special,
                EntryKind::Link(target) if target.leads_somewhere() => KptfileEntry::Link,
                EntryKind::Link(_) | EntryKind::Git => continue,
            };
            kptfiles.insert(dir, found);
        }
        let mut packages: Vec<PackageNode> = Vec::with_capacity(kptfiles.len());
        let mut index_of: HashMap<&str, usize> = HashMap::new();
        for (dir, kptfile) in kptfiles {
            let index = packages.len();
            let parent = ancestors(dir).find_map(|above| index_of.get(above).copied());
            if let Some(parent) = parent {
                packages[parent].children.push(index);
            }
            packages.push(PackageNode {
                path: dir.to_owned(),
                parent,
                children: Vec::new(),
                files: Vec::new(),
                kptfile,
            });
            index_of.insert(dir, index);
        }
        let directories =
            index_of.iter().map(|(dir, &package)| ((*dir).to_owned(), Owned { package, ignored: false })).collect();
        Self { packages, rules: HashMap::new(), directories }
    }

    /// Notes who owns a directory. Directories come before what they hold.
    fn enter(&mut self, dir: &str) {
        if self.directories.contains_key(dir) {
            return; // a package owns itself
        }
        let above = self.owned(split(dir).0);
        let ignored = above.ignored || self.is_ignored(above.package, dir, true);
        self.directories.insert(dir.to_owned(), Owned { package: above.package, ignored });
    }

    /// Gives a file to its package; false when it is ignored.
    fn add_file(&mut self, path: &str) -> bool {
        let above = self.owned(split(path).0);
        if above.ignored || self.is_ignored(above.package, path, false) {
            return false;
        }
        self.packages[above.package].files.push(path.to_owned());
        true
    }

    fn owned(&self, dir: &str) -> Owned {
        self.directories.get(dir).copied().unwrap_or(Owned { package: 0, ignored: false })
    }

    fn is_ignored(&self, package: usize, path: &str, is_dir: bool) -> bool {
        let relative = self.packages[package].relative(path).unwrap_or(path);
        self.rules.get(&package).is_some_and(|rules| rules.is_ignored(relative, is_dir))
    }
}

/// The directories above `dir`, nearest first, down to the root (the empty path).
fn ancestors(dir: &str) -> impl Iterator<Item = &str> {
    std::iter::successors((!dir.is_empty()).then(|| split(dir).0), |&above| (!above.is_empty()).then(|| split(above).0))
}

/// The order in which a walk that sorts the names of each directory meets two paths.
fn walk_order(a: &str, b: &str) -> Ordering {
    a.split('/').cmp(b.split('/'))
}

#[cfg(test)]
#[path = "discover_tests.rs"]
mod tests;
