//! From a path to what it names, within a tree.

use super::tree::{Node, NodeId, Tree};

/// Links followed on one path, as many as Linux follows.
const MAX_LINKS: u32 = 40;

/// Bytes of a path, as on Linux (`PATH_MAX`).
const MAX_PATH: usize = 4096;

/// Bytes of a name, as on Linux (`NAME_MAX`).
const MAX_NAME: usize = 255;

/// Fuel for looking a name up.
const NAME_FUEL: u64 = 16;

/// What to do with a link at the end of a path; those before it are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    Follow,
    Keep,
}

/// Why a path names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkError {
    /// No entry of that name; an empty path.
    NotFound,
    /// Something before a `/` is no directory.
    NotADirectory,
    /// It begins with `/`, goes above the root, or a link on it does.
    Outside,
    /// More links than are followed.
    Loop,
    /// The path or a name in it.
    TooLong,
    /// Not UTF-8; no such name can be in a tree.
    NotUtf8,
    /// With a zero byte.
    Zero,
}

impl Tree {
    /// What `path` names, seen from a directory. `pay` is asked for fuel before each name is looked up.
    ///
    /// Only names of the tree are compared; `..` goes up within it, and links are texts that are walked
    /// the same way. So there is no path out of the tree to be found.
    pub(crate) fn walk<E: From<WalkError>>(
        &self,
        from: NodeId,
        path: &[u8],
        mut last: Last,
        mut pay: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<NodeId, E> {
        if path.len() > MAX_PATH {
            return Err(WalkError::TooLong.into());
        }
        if path.contains(&0) {
            return Err(WalkError::Zero.into());
        }
        let mut rest = std::str::from_utf8(path).map_err(|_| WalkError::NotUtf8)?;
        if rest.is_empty() {
            return Err(WalkError::NotFound.into());
        }
        if rest.starts_with('/') {
            return Err(WalkError::Outside.into());
        }
        // Where to go on behind a link. Each has a name left, so its length is bounded as the links are.
        let mut behind: Vec<&str> = Vec::new();
        let mut links = 0;
        let mut here = from;
        // A `/` behind the last name asks for a directory.
        let mut directory = false;
        loop {
            let (name, after, slash) = match rest.split_once('/') {
                Some((name, after)) => (name, after.trim_start_matches('/'), true),
                None => (rest, "", false),
            };
            pay(NAME_FUEL)?;
            let is_last = after.is_empty() && behind.is_empty();
            directory |= is_last && slash;
            if !matches!(self.node(here), Node::Directory(_)) {
                return Err(WalkError::NotADirectory.into());
            }
            rest = after;
            match name {
                "" | "." => {}
                ".." if here == NodeId::ROOT => return Err(WalkError::Outside.into()),
                ".." => here = self.parent(here),
                _ if name.len() > MAX_NAME => return Err(WalkError::TooLong.into()),
                _ => {
                    let found = self.child(here, name).ok_or(WalkError::NotFound)?;
                    match self.node(found) {
                        Node::Link(target) if !(is_last && last == Last::Keep && !slash) => {
                            links += 1;
                            if links > MAX_LINKS {
                                return Err(WalkError::Loop.into());
                            }
                            if target.starts_with('/') {
                                return Err(WalkError::Outside.into());
                            }
                            if !rest.is_empty() {
                                behind.push(rest);
                            }
                            // `link/` means what the link leads to, however many links that are.
                            last = if is_last { Last::Follow } else { last };
                            rest = target;
                        }
                        _ => here = found,
                    }
                }
            }
            if rest.is_empty() {
                match behind.pop() {
                    Some(further) => rest = further,
                    None => break,
                }
            }
        }
        if directory && !matches!(self.node(here), Node::Directory(_)) {
            return Err(WalkError::NotADirectory.into());
        }
        Ok(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree::default();
        let root = NodeId::ROOT;
        let directory = || Node::Directory(Vec::new());
        let link = |target: &str| Node::Link(target.into());
        let a = tree.add(root, "a", directory());
        tree.add(a, "absolute", link("/etc/passwd"));
        let b = tree.add(a, "b", directory());
        tree.add(b, "file", Node::File((*b"text").into()));
        tree.add(b, "up", link("../.."));
        tree.add(b, "up-out", link("../../.."));
        tree.add(b, "x\u{e4}", Node::File((*b"umlaut").into()));
        tree.add(root, "loop", link("loop"));
        tree.add(root, "nowhere", link("gone"));
        tree.add(root, "to-b", link("a/b/"));
        tree.add(root, "to-file", link("to-b/file"));
        tree.add(root, "to-file-slash", link("to-b/file/"));
        tree
    }

    fn walk(path: &[u8], last: Last) -> Result<String, WalkError> {
        let tree = tree();
        tree.walk(NodeId::ROOT, path, last, |_| Ok(())).map(|id| tree.path(id))
    }

    #[test]
    fn paths_within_are_found() {
        for (path, found) in [
            ("a", "a"),
            (".", ""),
            ("./", ""),
            ("a//b///file", "a/b/file"),
            ("a/b/../b/./file", "a/b/file"),
            ("a/..", ""),
            ("to-b", "a/b"),
            ("to-b/", "a/b"),
            ("to-b/..", "a"),
            ("to-file", "a/b/file"),
            ("a/b/up/to-b/up/a/b/file", "a/b/file"),
            ("a/b/x\u{e4}", "a/b/x\u{e4}"),
        ] {
            assert_eq!(walk(path.as_bytes(), Last::Follow).as_deref(), Ok(found), "{path}");
        }
    }

    #[test]
    fn a_link_at_the_end_can_be_meant_itself() {
        assert_eq!(walk(b"to-b", Last::Keep).as_deref(), Ok("to-b"));
        assert_eq!(walk(b"loop", Last::Keep).as_deref(), Ok("loop"));
        assert_eq!(walk(b"to-b/", Last::Keep).as_deref(), Ok("a/b"));
        assert_eq!(walk(b"to-b/file", Last::Keep).as_deref(), Ok("a/b/file"));
        assert_eq!(walk(b"a/absolute", Last::Keep).as_deref(), Ok("a/absolute"));
    }

    #[test]
    fn nothing_leads_out() {
        for path in ["..", "a/../..", "/", "/a", "//a", "a/b/../../../etc", "a/absolute", "a/b/up-out", "a/b/up/.."] {
            assert_eq!(walk(path.as_bytes(), Last::Follow), Err(WalkError::Outside), "{path}");
        }
        assert_eq!(walk(b"a/b/up-out/", Last::Keep), Err(WalkError::Outside));
        assert_eq!(walk(b"a/absolute/x", Last::Keep), Err(WalkError::Outside));
    }

    #[test]
    fn what_is_wrong_with_a_path_is_told() {
        let long_name = [b'n'; 256];
        let long_path = b"./".repeat(2049);
        for (path, error) in [
            (&b""[..], WalkError::NotFound),
            (b"gone", WalkError::NotFound),
            (b"gone/a", WalkError::NotFound),
            (b"nowhere", WalkError::NotFound),
            (b"a/b/file/", WalkError::NotADirectory),
            (b"a/b/file/x", WalkError::NotADirectory),
            (b"a/b/file/..", WalkError::NotADirectory),
            (b"to-file/", WalkError::NotADirectory),
            (b"to-file-slash", WalkError::NotADirectory),
            (b"loop", WalkError::Loop),
            (b"loop/x", WalkError::Loop),
            (b"a\0b", WalkError::Zero),
            (b"\xff", WalkError::NotUtf8),
            (&long_name, WalkError::TooLong),
            (&long_path, WalkError::TooLong),
        ] {
            assert_eq!(walk(path, Last::Follow), Err(error), "{}", path.escape_ascii());
        }
    }

    #[test]
    fn every_name_is_paid_for_before_it_is_looked_up() {
        let tree = tree();
        let mut left = 5 * NAME_FUEL;
        let mut pay = |fuel| {
            left = left.checked_sub(fuel).ok_or(WalkError::Zero)?;
            Ok(())
        };
        assert!(tree.walk(NodeId::ROOT, b"a/b/../b/file", Last::Follow, &mut pay).is_ok());
        assert_eq!(tree.walk(NodeId::ROOT, b"a", Last::Follow, &mut pay), Err(WalkError::Zero));
        // A loop costs what walking it takes.
        let mut names = 0;
        let looped: Result<NodeId, WalkError> = tree.walk(NodeId::ROOT, b"loop", Last::Follow, |_| {
            names += 1;
            Ok(())
        });
        assert_eq!((looped, names), (Err(WalkError::Loop), MAX_LINKS + 1));
    }
}
