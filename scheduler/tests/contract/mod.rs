//! What every store must do: one suite, run against each.

#[macro_use]
mod list;
pub(crate) mod claims;
pub(crate) mod gate;
pub(crate) mod kptfile;
pub(crate) mod limits;
pub(crate) mod pages;
pub(crate) mod races;
pub(crate) mod restart;
pub(crate) mod watch;
pub(crate) mod writes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use portico_scheduler::model::{Condition, ConditionStatus, ContentDigest, Ending, Files, Revision};
use portico_scheduler::store::{
    Claims, Clock, NewRevision, PackageStore, PageToken, RenderResult, Select, StoreError, StoreLimits, VirtualClock,
};

/// How long a registration lives in these tests.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// When these tests take place, in milliseconds since 1970.
pub(crate) const START_MS: u64 = 1_800_000_000_000;

/// Makes a store to test.
pub(crate) trait Fixture: Sized + Send + Sync + 'static {
    /// The store.
    type Store: PackageStore + Claims;

    /// An empty one, with this clock.
    fn new(limits: StoreLimits, lease: Duration, clock: Arc<dyn Clock>) -> Self;

    /// A handle.
    fn store(&self) -> Self::Store;

    /// Ends the process that has the store, and starts another one.
    fn restart(self) -> impl Future<Output = Self> + Send;
}

/// A store of usual limits.
pub(crate) fn usual<F: Fixture>() -> F {
    F::new(StoreLimits::default(), LEASE, VirtualClock::starting_at(START_MS))
}

/// A store of usual limits, and its clock.
pub(crate) fn timed<F: Fixture>() -> (F, Arc<VirtualClock>) {
    let clock = VirtualClock::starting_at(START_MS);
    (F::new(StoreLimits::default(), LEASE, Arc::clone(&clock) as Arc<dyn Clock>), clock)
}

/// A package of these files.
pub(crate) fn files(entries: &[(&str, &str)]) -> Files {
    Arc::new(entries.iter().map(|(path, text)| ((*path).to_owned(), Bytes::copy_from_slice(text.as_bytes()))).collect())
}

/// A package of one file.
pub(crate) fn package(text: &str) -> Files {
    files(&[("Kptfile", text), ("deploy/app.yaml", "kind: App\n")])
}

/// What the render of these tests makes of a package: a file with the digest of the others.
pub(crate) fn render(files: &Files) -> Files {
    let mut rendered: BTreeMap<_, _> = (**files).clone();
    rendered.remove("rendered");
    let digest = ContentDigest::of(&rendered);
    rendered.insert("rendered".into(), digest.to_string().into());
    Arc::new(rendered)
}

pub(crate) fn new(name: &str, files: Files) -> NewRevision {
    NewRevision::new("ns", name, "repo", files)
}

pub(crate) fn success(files: Option<Files>) -> RenderResult {
    RenderResult { files, ending: Ending::success(), log: Bytes::from_static(b"said\n") }
}

pub(crate) fn condition(kind: &str, status: ConditionStatus) -> Condition {
    Condition {
        kind: kind.to_owned().into(),
        status,
        reason: "Theirs".into(),
        message: "from a client".into(),
        content: ContentDigest([9; 32]),
        configuration: None,
        since_ms: 5,
    }
}

/// Makes a draft and renders it.
pub(crate) async fn rendered<S: PackageStore>(store: &S, name: &str) -> Revision {
    let draft = store.create(new(name, package(name))).await.unwrap();
    let files = render(&store.get(&draft.key).await.unwrap().files);
    store.save_result(&draft.key, draft.content_version, success(Some(files))).await.unwrap()
}

/// All revisions, by pages of this size.
pub(crate) async fn all<S: PackageStore>(store: &S, select: Select, page: usize) -> Vec<Revision> {
    let (mut found, mut after): (_, Option<PageToken>) = (Vec::new(), None);
    loop {
        let page = store.page(select, after, page).await.unwrap();
        found.extend(page.revisions);
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

/// The error's name, without its fields.
pub(crate) fn kind(error: &StoreError) -> String {
    format!("{error:?}").split([' ', '(', '{']).next().unwrap_or_default().to_owned()
}

/// The name of the error that must have come.
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    kind(&result.unwrap_err())
}
