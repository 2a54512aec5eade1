//! Whose turn an item is, without asking anybody.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{Instance, InstanceId};
use crate::model::RevisionKey;

/// The position of `me` among the schedulers that might render `key`: 0, its first choice, to the number of the others.
///
/// Rendezvous hashing: each scheduler works on the keys where it comes first and takes others' when it has none, the
/// lower ranks first, so that two seldom claim the same. One that leaves gives its keys to all others evenly. Schedulers
/// of different versions of this program may rank differently; that costs claims, nothing else.
pub fn share(key: &RevisionKey, me: &InstanceId, all: &[Instance]) -> usize {
    let mine = weight(key, me);
    all.iter()
        .map(|instance| &instance.registration.id)
        .filter(|id| *id != me && (weight(key, id), *id) > (mine, me))
        .count()
}

/// A number from 0 to below 1 for a key and a scheduler, always the same: puts the keys into another order for each.
pub(crate) fn jitter(key: &RevisionKey, me: &InstanceId) -> f64 {
    // Of the hash, bits that the ranks depend on least.
    f64::from(weight(key, me) as u32 >> 8) / f64::from(1_u32 << 24)
}

fn weight(key: &RevisionKey, instance: &InstanceId) -> u64 {
    // Fixed keys: the same in every process of this build.
    let mut hasher = DefaultHasher::new();
    key.uid.hash(&mut hasher);
    instance.hash(&mut hasher);
    hasher.finish()
}
