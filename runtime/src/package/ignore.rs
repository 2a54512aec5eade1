//! `.krmignore`: which files of a package its functions never see.
//!
//! The rules are those kpt uses, and they are not git's. A pattern is compared with as many trailing
//! parts of the path as it has itself (`y/c.yaml` matches `x/y/c.yaml`); one that begins with a slash with
//! the whole path; one that ends in a slash matches directories only; `**` is no more than `*`. A pattern
//! after `!` wins over every pattern without, wherever it stands, but cannot bring back what lies in a
//! directory that is ignored, because nobody looks there.

use std::collections::{HashMap, HashSet};

use super::glob::Glob;

/// The rules of one `.krmignore`.
#[derive(Debug, Clone, Default)]
pub(super) struct IgnoreRules {
    ignore: Patterns,
    accept: Patterns,
}

impl IgnoreRules {
    /// Reads the rules, one a line. A line that is blank, a comment or malformed has no effect.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let mut rules = Self::default();
        for line in String::from_utf8_lossy(bytes).split('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line).trim_matches(' ');
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let line = if line.starts_with("\\#") { &line[1..] } else { line };
            match line.strip_prefix('!') {
                Some(accepted) => rules.accept.add(accepted),
                None => rules.ignore.add(line),
            }
        }
        rules
    }

    /// How many patterns have wildcards: each costs a comparison for every path.
    pub(super) fn wildcard_patterns(&self) -> usize {
        self.ignore.wildcards() + self.accept.wildcards()
    }

    /// Whether the rules name this very path, which is relative to the package. What lies in an ignored
    /// directory is not asked for.
    pub(super) fn is_ignored(&self, path: &str, is_dir: bool) -> bool {
        self.ignore.matches(path, is_dir) && !self.accept.matches(path, is_dir)
    }
}

/// Patterns by the number of their parts.
#[derive(Debug, Clone, Default)]
struct Patterns {
    /// Compared with the whole path.
    anchored: HashMap<usize, SameDepth>,
    /// Compared with the last parts of the path.
    floating: HashMap<usize, SameDepth>,
}

#[derive(Debug, Clone, Default)]
struct SameDepth {
    any: Alternatives,
    directories: Alternatives,
}

#[derive(Debug, Clone, Default)]
struct Alternatives {
    plain: HashSet<String>,
    globs: Vec<Glob>,
}

impl Patterns {
    fn add(&mut self, pattern: &str) {
        let text = pattern.trim_matches('/');
        if text.is_empty() {
            return;
        }
        let group = if pattern.starts_with('/') { &mut self.anchored } else { &mut self.floating };
        let same_depth = group.entry(depth(text)).or_default();
        let alternatives = if pattern.ends_with('/') { &mut same_depth.directories } else { &mut same_depth.any };
        if pattern.contains(['*', '?', '[']) {
            alternatives.globs.extend(Glob::new(text));
        } else {
            alternatives.plain.insert(text.to_owned());
        }
    }

    fn wildcards(&self) -> usize {
        let groups = self.anchored.values().chain(self.floating.values());
        groups.map(|same| same.any.globs.len() + same.directories.globs.len()).sum()
    }

    fn matches(&self, path: &str, is_dir: bool) -> bool {
        if !self.anchored.is_empty() && self.anchored.get(&depth(path)).is_some_and(|same| same.matches(path, is_dir)) {
            return true;
        }
        if self.floating.is_empty() {
            return false;
        }
        let starts = path.rmatch_indices('/').map(|(at, _)| at + 1).chain([0]);
        starts.enumerate().any(|(index, start)| {
            self.floating.get(&(index + 1)).is_some_and(|same| same.matches(&path[start..], is_dir))
        })
    }
}

impl SameDepth {
    fn matches(&self, text: &str, is_dir: bool) -> bool {
        self.any.matches(text) || is_dir && self.directories.matches(text)
    }
}

impl Alternatives {
    fn matches(&self, text: &str) -> bool {
        self.plain.contains(text) || self.globs.iter().any(|glob| glob.matches(text))
    }
}

fn depth(path: &str) -> usize {
    path.matches('/').count() + 1
}

#[cfg(test)]
#[path = "ignore_tests.rs"]
mod tests;
