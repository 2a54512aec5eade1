//! Which elements of two lists are the same one.
//!
//! Lists of Kubernetes objects are sets with a key (`containers` by `name`, `ports` by `containerPort`, …). Position
//! says nothing: a function may insert, remove and reorder. Elements are paired by the first key that all of them have
//! with different values, else by their whole value; what is left between two paired neighbours is paired in order
//! when it is alike.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::yaml::{Kind, NodeId, ScalarType, Tree};

/// Keys of list elements, the first that fits is taken; the second one, where there is one, belongs to it when it is
/// there. From the merge keys of Kubernetes' own types and of the Kptfile.
const KEYS: [(&str, Option<&str>); 13] = [
    ("name", None),
    ("mountPath", None),
    ("devicePath", None),
    ("containerPort", Some("protocol")),
    ("port", Some("protocol")),
    ("ip", None),
    ("topologyKey", Some("whenUnsatisfiable")),
    ("uid", None),
    ("id", None),
    ("key", Some("operator")),
    ("image", None),
    ("exec", None),
    ("type", None),
];

/// A tree with the hashes of its nodes' values, made when the first is asked for.
pub(crate) struct Values<'t> {
    pub(crate) tree: &'t Tree,
    hashes: OnceCell<Vec<u64>>,
}

impl<'t> Values<'t> {
    pub(crate) fn new(tree: &'t Tree) -> Self {
        Values { tree, hashes: OnceCell::new() }
    }

    /// Equal for nodes of equal value, whatever their style and comments.
    pub(crate) fn hash(&self, id: NodeId) -> u64 {
        if self.tree.kind(id) == Kind::Scalar {
            return scalar_hash(self.tree, id);
        }
        self.hashes.get_or_init(|| all_hashes(self.tree))[id.0 as usize]
    }
}

/// Hashes of all nodes below the root, children before parents, without recursion.
fn all_hashes(tree: &Tree) -> Vec<u64> {
    let mut hashes = vec![0; tree.node_count()];
    if !tree.has_root() {
        return hashes;
    }
    let mut stack = vec![(tree.root(), false)];
    while let Some((id, ready)) = stack.pop() {
        let kind = tree.kind(id);
        if matches!(kind, Kind::Mapping | Kind::Sequence) && !ready {
            stack.push((id, true));
            stack.extend(tree.children(id).map(|child| (child, false)));
            continue;
        }
        hashes[id.0 as usize] = match kind {
            Kind::Scalar => scalar_hash(tree, id),
            Kind::Alias => hash_of(&("*", tree.text(id))),
            Kind::Sequence => {
                let mut hasher = DefaultHasher::new();
                tree.elements(id).for_each(|child| hashes[child.0 as usize].hash(&mut hasher));
                hasher.finish()
            }
            // The order of keys is no part of the value.
            Kind::Mapping => tree.entries(id).fold(1, |sum, (key, value)| {
                sum.wrapping_add(hash_of(&(hashes[key.0 as usize], hashes[value.0 as usize])))
            }),
        };
    }
    hashes
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn scalar_hash(tree: &Tree, id: NodeId) -> u64 {
    let text = tree.text(id);
    match tree.scalar_type(id) {
        ScalarType::Null => hash_of(&0_u8),
        ScalarType::Bool => hash_of(&(1_u8, text.starts_with(['t', 'T']))),
        // Spellings of one number hash alike; equality is decided elsewhere.
        ScalarType::Int | ScalarType::Float => hash_of(&(2_u8, number(text).map(f64::to_bits))),
        // Line breaks and indentation of base64 are no part of the value.
        ScalarType::Binary => hash_of(&(4_u8, text.split_ascii_whitespace().collect::<String>())),
        _ => hash_of(&(3_u8, text)),
    }
}

/// The value of a number, as far as a hash needs it.
fn number(text: &str) -> Option<f64> {
    let text = text.replace('_', "");
    let (negative, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, &*text),
    };
    let radix = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)]
        .into_iter()
        .find_map(|(prefix, radix)| Some((digits.strip_prefix(prefix)?, radix)))
        .or_else(|| {
            let octal =
                digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| (b'0'..b'8').contains(&b));
            octal.then(|| (&digits[1..], 8))
        });
    let value = match radix {
        Some((digits, radix)) => u64::from_str_radix(digits, radix).ok()?.to_string().parse().ok()?,
        None => digits.parse::<f64>().ok()?,
    };
    // One zero, whatever its sign.
    Some(if value == 0.0 {
        0.0
    } else if negative {
        -value
    } else {
        value
    })
}

/// True when both mappings have the same keys in the same order.
pub(crate) fn same_keys(from: &Tree, from_map: NodeId, to: &Tree, to_map: NodeId) -> bool {
    let (mut old, mut new) = (from.entries(from_map), to.entries(to_map));
    loop {
        match (old.next(), new.next()) {
            (None, None) => return true,
            (Some((a, _)), Some((b, _))) if same_key(from, a, to, b) => {}
            _ => return false,
        }
    }
}

/// True when it is plain to see that the elements of both sequences are the same ones, in the same order: equal scalars,
/// or mappings with equal keys at equal places.
pub(crate) fn same_elements(from: &Tree, from_seq: NodeId, to: &Tree, to_seq: NodeId) -> bool {
    let (mut old, mut new) = (from.elements(from_seq), to.elements(to_seq));
    let mut by = None;
    loop {
        let (a, b) = match (old.next(), new.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if from.kind(a) == to.kind(b) => (a, b),
            _ => return false,
        };
        let same = match from.kind(a) {
            Kind::Scalar | Kind::Alias => from.text(a) == to.text(b),
            Kind::Sequence => false,
            Kind::Mapping => {
                let key = by.or_else(|| KEYS.iter().find(|(key, _)| to.get(b, key).is_some()));
                by = key;
                key.is_some_and(|(key, second)| {
                    let scalar = |tree: &Tree, id: NodeId, key: &str| tree.get(id, key).filter(|v| tree.is_scalar(*v));
                    let first = match (scalar(from, a, key), scalar(to, b, key)) {
                        (Some(x), Some(y)) => from.text(x) == to.text(y),
                        _ => false,
                    };
                    first
                        && second.is_none_or(|second| {
                            scalar(from, a, second).map(|v| from.text(v)) == scalar(to, b, second).map(|v| to.text(v))
                        })
                })
            }
        };
        if !same {
            return false;
        }
    }
}

/// For each element of `to`, the place in `from` of the element that it is.
///
/// With `scalars`, a scalar with another value at the place of an old one counts as that one, changed.
pub(crate) fn match_elements(
    from: &Values<'_>,
    from_seq: NodeId,
    to: &Values<'_>,
    to_seq: NodeId,
    scalars: bool,
) -> Vec<Option<usize>> {
    let old: Vec<NodeId> = from.tree.elements(from_seq).collect();
    let new: Vec<NodeId> = to.tree.elements(to_seq).collect();
    let keyed = keys_of(from.tree, &old, to.tree, &new);
    let mut pairs = match &keyed {
        Some((old_keys, new_keys)) => {
            let at: HashMap<&[&str; 2], usize> = old_keys.iter().zip(0..).collect();
            new_keys.iter().map(|key| at.get(key).copied()).collect()
        }
        None => by_value(from, &old, to, &new),
    };
    let loose = Loose { keyed: keyed.is_some(), scalars };
    pair_gaps(from, &old, to, &new, loose, &mut pairs);
    pairs
}

type Keys<'t> = Vec<[&'t str; 2]>;

/// The keys of all elements, when all have one and none has it twice in one list.
fn keys_of<'t>(from: &'t Tree, old: &[NodeId], to: &'t Tree, new: &[NodeId]) -> Option<(Keys<'t>, Keys<'t>)> {
    let first = *new.first()?;
    KEYS.iter()
        .filter(|(key, _)| to.get(first, key).is_some())
        .find_map(|(key, second)| Some((keys_in(from, old, key, *second)?, keys_in(to, new, key, *second)?)))
}

fn keys_in<'t>(tree: &'t Tree, elements: &[NodeId], key: &str, second: Option<&str>) -> Option<Keys<'t>> {
    let text = |id: NodeId, key: &str| tree.get(id, key).filter(|v| tree.is_scalar(*v)).map(|v| tree.text(v));
    let keys: Keys<'t> = elements
        .iter()
        .map(|id| Some([text(*id, key)?, second.and_then(|s| text(*id, s)).unwrap_or("")]))
        .collect::<Option<_>>()?;
    let mut seen = std::collections::HashSet::with_capacity(keys.len());
    keys.iter().all(|key| seen.insert(*key)).then_some(keys)
}

/// Equal values pair up: first what both lists begin and end with, then the first with the first.
fn by_value(from: &Values<'_>, old: &[NodeId], to: &Values<'_>, new: &[NodeId]) -> Vec<Option<usize>> {
    let old: Vec<u64> = old.iter().map(|id| from.hash(*id)).collect();
    let new: Vec<u64> = new.iter().map(|id| to.hash(*id)).collect();
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let mut at: HashMap<u64, Vec<usize>> = HashMap::new();
    for place in (start..old.len() - end).rev() {
        at.entry(old[place]).or_default().push(place);
    }
    (0..new.len())
        .map(|n| {
            if n < start {
                return Some(n);
            }
            if n >= new.len() - end {
                return Some(n + old.len() - new.len());
            }
            at.get_mut(&new[n])?.pop()
        })
        .collect()
}

/// What may pair up without being equal.
#[derive(Clone, Copy)]
struct Loose {
    keyed: bool,
    scalars: bool,
}

/// Pairs what lies between two paired neighbours, in order, when both lists have as many there and they are alike:
/// the element was changed in place.
fn pair_gaps(
    from: &Values<'_>,
    old: &[NodeId],
    to: &Values<'_>,
    new: &[NodeId],
    loose: Loose,
    pairs: &mut [Option<usize>],
) {
    let mut taken = vec![false; old.len()];
    for at in pairs.iter().flatten() {
        taken[*at] = true;
    }
    let mut at = 0;
    while at < pairs.len() {
        if pairs[at].is_some() {
            at += 1;
            continue;
        }
        let end = pairs[at..].iter().position(Option::is_some).map_or(pairs.len(), |n| at + n);
        let start_old = if at == 0 { 0 } else { pairs[at - 1].map_or(0, |p| p + 1) };
        let end_old = pairs.get(end).copied().flatten().unwrap_or(old.len());
        let same = end_old.checked_sub(start_old) == Some(end - at) && !taken[start_old..end_old].contains(&true);
        if same {
            for n in 0..end - at {
                if alike(from, old[start_old + n], to, new[at + n], loose) {
                    pairs[at + n] = Some(start_old + n);
                }
            }
        }
        at = end;
    }
}

/// True when the second node may be the first one after a change: collections of one kind; of elements with another
/// key, more than half of the entries must be equal.
fn alike(from: &Values<'_>, old: NodeId, to: &Values<'_>, new: NodeId, loose: Loose) -> bool {
    match (from.tree.kind(old), to.tree.kind(new)) {
        (Kind::Sequence, Kind::Sequence) => true,
        (Kind::Scalar, Kind::Scalar) => loose.scalars,
        (Kind::Mapping, Kind::Mapping) if !loose.keyed => true,
        (Kind::Mapping, Kind::Mapping) => {
            let entries: HashMap<&str, NodeId> = from.tree.entries(old).map(|(k, v)| (from.tree.text(k), v)).collect();
            let equal = to.tree.entries(new).filter(|(key, value)| {
                entries.get(to.tree.text(*key)).is_some_and(|old| from.hash(*old) == to.hash(*value))
            });
            equal.count() * 2 > entries.len().max(to.tree.len(new))
        }
        _ => false,
    }
}

/// Entries with the same key, in the order of `from`: key and value there, key and value in `to`.
pub(crate) fn match_entries(from: &Tree, from_map: NodeId, to: &Tree, to_map: NodeId) -> Vec<[NodeId; 4]> {
    let mut pairs = Vec::new();
    let mut old = from.entries(from_map).peekable();
    let mut new = to.entries(to_map).peekable();
    // Nearly always both have the same keys in the same order.
    while let (Some((fk, fv)), Some((tk, tv))) = (old.peek(), new.peek()) {
        if !same_key(from, *fk, to, *tk) {
            break;
        }
        pairs.push([*fk, *fv, *tk, *tv]);
        old.next();
        new.next();
    }
    if old.peek().is_none() || new.peek().is_none() {
        return pairs;
    }
    let mut rest: HashMap<(Kind, &str), Vec<(NodeId, NodeId)>> = HashMap::new();
    for (key, value) in new {
        rest.entry((to.kind(key), to.text(key))).or_default().push((key, value));
    }
    for places in rest.values_mut() {
        places.reverse();
    }
    for (fk, fv) in old {
        if from.kind(fk) != Kind::Scalar && from.kind(fk) != Kind::Alias {
            continue;
        }
        if let Some((tk, tv)) = rest.get_mut(&(from.kind(fk), from.text(fk))).and_then(Vec::pop) {
            pairs.push([fk, fv, tk, tv]);
        }
    }
    pairs
}

fn same_key(from: &Tree, a: NodeId, to: &Tree, b: NodeId) -> bool {
    from.kind(a) == to.kind(b) && matches!(from.kind(a), Kind::Scalar | Kind::Alias) && from.text(a) == to.text(b)
}
