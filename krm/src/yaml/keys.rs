//! Equal keys in one mapping are an error: most readers take the last value, some the first, none say a word.
use std::collections::HashMap;

use super::error::{Fault, Mark, Scan};
use super::tree::{IN_BUF, Kind, NodeId, Style, Tree};

/// Above this many keys a hash map finds equal ones; below, comparing each with each is faster.
const SMALL: usize = 8;

/// A key to compare: its text, and whether it is a string whatever its text looks like.
fn key_text<'t>(tree: &'t Tree, id: NodeId, buf: &'t str) -> Option<&'t str> {
    let node = tree.node(id);
    if node.kind != Kind::Scalar {
        return None;
    }
    let range = node.a as usize..(node.a + node.b) as usize;
    let text = if node.flags & IN_BUF != 0 { &buf[range] } else { &tree.src[range] };
    // Several merges in one mapping add up.
    (text != "<<" || node.style != Style::Plain).then_some(text)
}

/// Reports the first scalar key of a mapping that stands there twice. `buf` holds the decoded text of a tree that is
/// still being read.
pub(super) fn check_unique(tree: &Tree, mapping: NodeId, buf: &str) -> Scan<()> {
    let mut small: [(&str, NodeId); SMALL] = [("", mapping); SMALL];
    let mut used = 0;
    let mut large: Option<HashMap<&str, NodeId>> = None;
    for (key, _) in tree.entries(mapping) {
        let Some(text) = key_text(tree, key, buf) else { continue };
        let first = match &mut large {
            Some(map) => map.insert(text, key),
            None => small[..used].iter().find(|(t, _)| *t == text).map(|(_, id)| *id),
        };
        if let Some(first) = first
            && same_type(tree, first, key, text)
        {
            return Err(duplicate(tree, first, key, text));
        }
        if large.is_none() {
            if used < SMALL {
                small[used] = (text, key);
                used += 1;
            } else {
                let mut map: HashMap<&str, NodeId> = small.iter().copied().collect();
                map.insert(text, key);
                large = Some(map);
            }
        }
    }
    Ok(())
}

/// `1` and `"1"` are two keys.
fn same_type(tree: &Tree, a: NodeId, b: NodeId, text: &str) -> bool {
    let kind = |id| super::resolve::resolve(text, tree.style(id), tree.tag(id));
    kind(a) == kind(b)
}

fn duplicate(tree: &Tree, first: NodeId, second: NodeId, text: &str) -> Fault {
    let start = |id: NodeId| tree.node(id).start;
    let shown: String = text.chars().take(80).collect();
    let before = &tree.src.as_bytes()[..start(second) as usize];
    let line = memchr::memchr_iter(b'\n', before).count() as u32;
    let mark = Mark { pos: start(second), line };
    Fault::lexical(None, mark, format!("mapping key `{shown}` is already defined in this mapping"))
        .with_related(format!("`{shown}` is first defined here"), start(first))
}
