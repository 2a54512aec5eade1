//! All package revisions without their files, in memory: what lists are answered from.
//!
//! A task follows the store's watch. A list asks the store for its version first and waits until the cache has come that
//! far (in the same process: microseconds), so that it shows each write that was answered before it was asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use std::time::Duration;

use portico_scheduler::model::{Lifecycle, ObjectVersion, Revision, RevisionKey};
use portico_scheduler::store::{Change, PackageStore, Select, StoreError, Watch, WatchEvent};
use tokio::sync::watch;

use super::document::Document;
use super::selection::Selection;
use super::status::Status;
use crate::Store;

/// Revisions of a page when all are read.
const PAGE: usize = 1000;
/// How long to wait after the store failed.
const RECONNECT: Duration = Duration::from_millis(100);

type Name = (Arc<str>, Arc<str>);

/// A package within a repository within a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Package {
    pub(super) namespace: Arc<str>,
    pub(super) repository: Arc<str>,
    pub(super) name: Arc<str>,
}

/// A revision in memory.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) revision: Arc<Revision>,
    pub(super) package: Arc<Package>,
    pub(super) workspace: Arc<str>,
    /// The number among the published ones; 0 before.
    pub(super) number: i64,
}

impl Entry {
    fn new(revision: Arc<Revision>, old: Option<&Self>) -> Self {
        // Nearly all changes are of conditions: then nothing is decoded.
        if let Some(old) = old.filter(|old| old.revision.document == revision.document) {
            return Self { revision, ..old.clone() };
        }
        let document = Document::of(&revision);
        let package = Package {
            namespace: Arc::clone(&revision.key.namespace),
            repository: Arc::clone(&revision.repository),
            name: document.package_name.into(),
        };
        Self {
            revision,
            package: Arc::new(package),
            workspace: document.workspace_name.into(),
            number: document.revision,
        }
    }

    /// Whether it is published, also when it is about to be deleted.
    pub(super) fn is_published(&self) -> bool {
        matches!(self.revision.lifecycle, Lifecycle::Published | Lifecycle::DeletionProposed)
    }

    fn weight(&self) -> usize {
        weight(&self.revision)
    }
}

/// About how much memory a revision holds, in bytes.
pub(super) fn weight(revision: &Revision) -> usize {
    640 + revision.held_bytes()
}

#[derive(Debug, Default)]
struct Inner {
    entries: BTreeMap<Name, Entry>,
    packages: BTreeMap<Arc<Package>, BTreeSet<Arc<str>>>,
    bytes: usize,
}

impl Inner {
    fn put(&mut self, revision: Arc<Revision>) {
        let name = (Arc::clone(&revision.key.namespace), Arc::clone(&revision.key.name));
        let old = self.entries.get(&name);
        // A page may have shown it newer than the watch that began before it.
        if old.is_some_and(|old| old.revision.object_version > revision.object_version) {
            return;
        }
        let entry = Entry::new(revision, old);
        let package = Arc::clone(&entry.package);
        self.remove(&name);
        self.bytes += entry.weight();
        self.packages.entry(package).or_default().insert(Arc::clone(&name.1));
        self.entries.insert(name, entry);
    }

    fn remove(&mut self, name: &Name) {
        let Some(old) = self.entries.remove(name) else { return };
        self.bytes = self.bytes.saturating_sub(old.weight());
        if let Some(names) = self.packages.get_mut(&old.package) {
            names.remove(&name.1);
            if names.is_empty() {
                self.packages.remove(&old.package);
            }
        }
    }

    fn deleted(&mut self, key: &RevisionKey) {
        let name = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        // It may have been made anew under the same name.
        if self.entries.get(&name).is_some_and(|entry| entry.revision.key == *key) {
            self.remove(&name);
        }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Cache {
    inner: RwLock<Inner>,
    /// The version of the store that it shows; 0 until it shows all.
    version: watch::Sender<u64>,
    store: Store,
    catch_up: Duration,
}

impl Cache {
    /// One of this store, kept by a task for as long as it lives.
    pub(super) fn new(store: Store, catch_up: Duration) -> Arc<Self> {
        let cache = Arc::new(Self { inner: RwLock::default(), version: watch::Sender::new(0), store, catch_up });
        tokio::spawn(keep(Arc::downgrade(&cache)));
        cache
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        // Nothing panics while it is changed.
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it shows the store as it is now, or newer.
    pub(super) async fn fresh(&self) -> Result<(), Status> {
        let store = |error: StoreError| Status::of_store(&error, super::types::Kind::PackageRevision, "");
        let version = self.store.page(Select::All, None, 1).await.map_err(store)?.version;
        self.reach(version).await
    }

    /// Waits until it shows this version, or a newer one.
    pub(super) async fn reach(&self, version: ObjectVersion) -> Result<(), Status> {
        let mut seen = self.version.subscribe();
        // Not zero either: an empty store that was not read yet is not known to be empty.
        let reached = seen.wait_for(|seen| *seen >= version.0.saturating_add(1));
        let reached = tokio::time::timeout(self.catch_up, reached).await.is_ok_and(|reached| reached.is_ok());
        if reached { Ok(()) } else { Err(too_large(version, self.version().0)) }
    }

    /// The version of the store that it shows.
    pub(super) fn version(&self) -> ObjectVersion {
        ObjectVersion(self.version.borrow().saturating_sub(1))
    }

    /// Those of a selection, in the order of their names, with the version that they are of.
    pub(super) fn list(&self, selection: &Selection) -> (Vec<Entry>, ObjectVersion) {
        let namespace = selection.namespace();
        let from: Name = (namespace.unwrap_or_default().into(), "".into());
        let here = |name: &Name| namespace.is_none_or(|namespace| *name.0 == *namespace);
        let (mut entries, version) = {
            let inner = self.read();
            let entries = inner.entries.range(from..).take_while(|(name, _)| here(name));
            (entries.map(|(_, entry)| entry.clone()).collect::<Vec<_>>(), self.version())
        };
        // Not under the lock: a selection may take its time.
        entries.retain(|entry| selection.has_entry(entry));
        (entries, version)
    }

    /// The key of the revision that had this name when it was heard of last.
    pub(super) fn key(&self, namespace: &str, name: &str) -> Option<RevisionKey> {
        let name: Name = (namespace.into(), name.into());
        self.read().entries.get(&name).map(|entry| entry.revision.key.clone())
    }

    /// The revisions of a package.
    pub(super) fn of_package(&self, package: &Package) -> Vec<Entry> {
        let inner = self.read();
        let names = inner.packages.get(package).into_iter().flatten();
        let entries = names.filter_map(|name| {
            let name = (Arc::clone(&package.namespace), Arc::clone(name));
            inner.entries.get(&name).cloned()
        });
        entries.collect()
    }

    /// All packages.
    pub(super) fn packages(&self) -> Vec<Arc<Package>> {
        self.read().packages.keys().cloned().collect()
    }

    /// The namespaces that have a revision, each with the time when the first that is left was made, in milliseconds since
    /// 1970; and the version that they are of.
    pub(super) fn namespaces(&self) -> (BTreeMap<Arc<str>, u64>, ObjectVersion) {
        let inner = self.read();
        let version = self.version();
        let mut namespaces: BTreeMap<Arc<str>, u64> = BTreeMap::new();
        for (name, entry) in &inner.entries {
            let first = namespaces.entry(Arc::clone(&name.0)).or_insert(u64::MAX);
            *first = entry.revision.created_ms.min(*first);
        }
        (namespaces, version)
    }

    /// About how much memory it holds, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.read().bytes
    }

    /// How many revisions there are.
    pub(super) fn len(&self) -> usize {
        self.read().entries.len()
    }

    fn apply(&self, event: WatchEvent) {
        let mut inner = self.write();
        match event.change {
            Change::Put(revision) => inner.put(revision),
            Change::Deleted(key) => inner.deleted(&key),
        }
        // Under the lock: whoever reads sees both.
        self.version.send_if_modified(|version| {
            let newer = event.version.0.saturating_add(1) > *version && *version > 0;
            if newer {
                *version = event.version.0.saturating_add(1);
            }
            newer
        });
    }

    /// From now on it shows all.
    fn complete(&self, version: ObjectVersion) {
        self.version.send_replace(version.0.saturating_add(1));
    }
}

/// A version that is not reached, in the words of Kubernetes, which its clients know.
fn too_large(version: ObjectVersion, seen: u64) -> Status {
    let message = format!("Too large resource version: {}, current: {seen}", version.0);
    let cause = super::status::Cause {
        reason: "ResourceVersionTooLarge".into(),
        message: message.clone(),
        field: String::new(),
    };
    let status = Status::new(axum::http::StatusCode::GATEWAY_TIMEOUT, "Timeout", message);
    status.because(cause).retry_after(1)
}

/// Follows the store until the cache is dropped or the store is closed.
async fn keep(cache: Weak<Cache>) {
    loop {
        let Some(alive) = cache.upgrade() else { return };
        let ended = match load(&alive).await {
            Ok(watch) => {
                drop(alive);
                follow(&cache, watch).await
            }
            Err(error) => Some(error),
        };
        match ended {
            None | Some(StoreError::Closed) => return,
            // Slower than the store keeps changes: all is read again at once.
            Some(StoreError::TooOld { .. }) => tracing::info!("the lists fell behind the store and are read anew"),
            Some(error) => {
                tracing::warn!(%error, "the store is not watched for lists at the moment");
                tokio::time::sleep(RECONNECT).await;
            }
        }
    }
}

/// Reads all, and then what came meanwhile.
async fn load(cache: &Cache) -> Result<<Store as PackageStore>::Watch, StoreError> {
    let (mut inner, mut next, mut first) = (Inner::default(), None, None);
    let last = loop {
        let page = cache.store.page(Select::All, next, PAGE).await?;
        first.get_or_insert(page.version);
        page.revisions.into_iter().for_each(|revision| inner.put(Arc::new(revision)));
        next = page.next;
        if next.is_none() {
            break page.version;
        }
    };
    let first = first.unwrap_or(last);
    let mut watch = cache.store.watch(first).await?;
    let mut at = first;
    // A page shows what was so then: what changed since the first one is seen by the time of the last one.
    while at < last {
        let event = watch.next().await?;
        at = event.version;
        match event.change {
            Change::Put(revision) => inner.put(revision),
            Change::Deleted(key) => inner.deleted(&key),
        }
    }
    let mut current = cache.write();
    *current = inner;
    cache.complete(at);
    drop(current);
    Ok(watch)
}

async fn follow(cache: &Weak<Cache>, mut watch: <Store as PackageStore>::Watch) -> Option<StoreError> {
    loop {
        match watch.next().await {
            Ok(event) => cache.upgrade()?.apply(event),
            Err(error) => return Some(error),
        }
    }
}

#[cfg(test)]
impl Entry {
    pub(super) fn sample() -> Self {
        Self::new(Arc::new(super::convert::tests::sample()), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(name: &str, version: u64) -> Arc<Revision> {
        let mut revision = super::super::convert::tests::sample();
        revision.key = RevisionKey::new("ns", name, &format!("uid-{name}"));
        revision.object_version = ObjectVersion(version);
        Arc::new(revision)
    }

    #[test]
    fn older_states_and_other_objects_deletions_change_nothing() {
        let mut inner = Inner::default();
        inner.put(revision("a", 5));
        inner.put(revision("a", 3));
        let name = (Arc::from("ns"), Arc::from("a"));
        assert_eq!(inner.entries[&name].revision.object_version.0, 5);
        inner.deleted(&RevisionKey::new("ns", "a", "the one before"));
        assert_eq!(inner.entries.len(), 1);
        inner.deleted(&RevisionKey::new("ns", "a", "uid-a"));
        assert_eq!((inner.entries.len(), inner.packages.len(), inner.bytes), (0, 0, 0));
    }

    #[test]
    fn a_package_knows_its_revisions() {
        let mut inner = Inner::default();
        for name in ["a", "b"] {
            inner.put(revision(name, 1));
        }
        let package = Arc::clone(inner.packages.keys().next().unwrap());
        assert_eq!(&*package.name, "net/core");
        assert_eq!(inner.packages[&package].len(), 2);
        let before = inner.bytes;
        inner.put(revision("b", 2));
        assert_eq!(inner.bytes, before, "counted once");
    }
}
