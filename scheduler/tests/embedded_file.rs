//! The store's file: who may open it, what it must hold, copies and checks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use portico_scheduler::model::{ContentVersion, Ending, ErrorClass, Files};
use portico_scheduler::store::embedded::{EmbeddedOptions, OpenError};
use portico_scheduler::store::{
    ClientUpdate, EmbeddedStore, Expected, NewRevision, PackageStore as _, RenderResult, Select, StoreError,
    StoreMeter, StoreOperation, Watch as _,
};
use redb::ReadableDatabase as _;

const META: redb::TableDefinition<'static, &str, u64> = redb::TableDefinition::new("meta");

fn open(path: &Path) -> Result<EmbeddedStore, OpenError> {
    EmbeddedStore::open(path, EmbeddedOptions::default())
}

fn package(text: &str) -> Files {
    Arc::new(BTreeMap::from([
        ("Kptfile".to_owned(), Bytes::copy_from_slice(text.as_bytes())),
        ("shared.yaml".to_owned(), Bytes::from_static(b"kind: Shared\n")),
    ]))
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn one_process_has_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = open(&path).unwrap();
    let error = open(&path).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
    assert!(error.to_string().contains("in use by another process"), "{error}");
    assert!(matches!(EmbeddedStore::check_file(&path), Err(OpenError::Locked { .. })));
    let other = store.clone();
    store.close().await;
    assert!(matches!(other.find("ns", "a").await, Err(StoreError::Closed)));
    assert!(matches!(other.create(NewRevision::new("ns", "a", "r", package("x"))).await, Err(StoreError::Closed)));
    let again = open(&path).unwrap();
    drop(again);
    open(&path).unwrap();
    assert_eq!(names(directory.path()), ["store"], "nothing is left beside it");
}

/// The changes of an earlier process are not kept: a watcher of them is told to list.
#[tokio::test]
async fn a_watch_over_a_restart_lists_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = open(&path).unwrap();
    let first = store.create(NewRevision::new("ns", "a", "repo", package("x"))).await.unwrap();
    let second = store.create(NewRevision::new("ns", "b", "repo", package("x"))).await.unwrap();
    let mut watch = store.watch(first.object_version).await.unwrap();
    store.close().await;
    assert_eq!(watch.next().await.unwrap().change.key(), &second.key, "what came before the end is seen");
    assert!(matches!(watch.next().await, Err(StoreError::Closed)));
    let store = open(&path).unwrap();
    assert!(matches!(store.watch(first.object_version).await, Err(StoreError::TooOld { .. })));
    let mut watch = store.watch(second.object_version).await.unwrap();
    let third = store.create(NewRevision::new("ns", "c", "repo", package("x"))).await.unwrap();
    assert_eq!(watch.next().await.unwrap().change.key(), &third.key);
}

#[test]
fn what_is_no_store_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    std::fs::write(&path, "kind: Something\n".repeat(1000)).unwrap();
    assert!(matches!(open(&path), Err(OpenError::NotAStore { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), "kind: Something\n".repeat(1000).as_bytes());
    std::fs::remove_file(&path).unwrap();

    // What was a store and was emptied is not taken for a new one.
    std::fs::write(&path, "").unwrap();
    let error = open(&path).unwrap_err();
    assert!(matches!(error, OpenError::Corrupt { .. }) && error.to_string().contains("empty"), "{error}");
    std::fs::remove_file(&path).unwrap();

    drop(redb::Database::create(&path).unwrap());
    let error = open(&path).unwrap_err();
    assert!(matches!(error, OpenError::NotAStore { .. }), "{error:?}");
    let missing = directory.path().join("no/such/directory");
    assert!(matches!(open(&missing), Err(OpenError::Io { .. })));
}

#[test]
fn other_formats_are_refused_and_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    drop(open(&path).unwrap());
    for (format, word) in [(3, "format 3"), (1, "format 1")] {
        let database = redb::Database::open(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(META).unwrap().insert("format", format).unwrap();
        transaction.commit().unwrap();
        drop(database);
        let error = open(&path).unwrap_err();
        match error {
            OpenError::Newer { found, .. } => assert_eq!((found, format), (3, 3)),
            OpenError::Older { found, .. } => assert_eq!((found, format), (1, 1)),
            other => panic!("{other:?}"),
        }
        assert!(error.to_string().contains(word) && error.to_string().contains("version"), "{error}");
        let database = redb::Database::open(&path).unwrap();
        let read = database.begin_read().unwrap();
        assert_eq!(
            redb::ReadableTable::get(&read.open_table(META).unwrap(), "format").unwrap().unwrap().value(),
            format
        );
    }
}

/// Two packages change in turn while copies are made: in each copy they are at most one step apart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_of_one_instant() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store")).unwrap();
    let mut pair = Vec::new();
    for name in ["a", "b"] {
        pair.push(store.create(NewRevision::new("ns", name, "repo", package("0"))).await.unwrap());
    }
    for i in 0..300 {
        store.create(NewRevision::new("ns", &format!("other{i}"), "repo", package(&i.to_string()))).await.unwrap();
    }
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let writer = tokio::spawn({
        let store = store.clone();
        async move {
            let mut i = 0;
            while !*stopped.borrow() {
                i += 1;
                for revision in &mut pair {
                    let update = ClientUpdate::files(package(&i.to_string()));
                    let seen = Expected::Object(revision.object_version);
                    *revision = store.update(&revision.key, seen, update).await.unwrap();
                }
            }
            i
        }
    });
    let copy = directory.path().join("copy");
    for _ in 0..5 {
        store.backup(&copy).await.unwrap();
        let report = EmbeddedStore::check_file(&copy).unwrap();
        assert!(report.is_sound(), "{report:#?}");
        assert_eq!(report.revisions, 302);
        let copied = open(&copy).unwrap();
        let mut steps = Vec::new();
        for name in ["a", "b"] {
            let revision = copied.find("ns", name).await.unwrap();
            let files = copied.get(&revision.key).await.unwrap().checked().unwrap().files;
            steps.push(std::str::from_utf8(&files["Kptfile"]).unwrap().parse::<u32>().unwrap());
        }
        assert!(steps[0] == steps[1] || steps[0] == steps[1] + 1, "{steps:?}");
    }
    stop.send_replace(true);
    assert!(writer.await.unwrap() > 0);
    assert_eq!(names(directory.path()), ["copy", "store"], "nothing is left beside them");

    // The copy goes on as a store of its own.
    let (one, two) = (store, open(&copy).unwrap());
    let mut uids = Vec::new();
    for store in [&one, &two] {
        for i in 0..3 {
            let made = store.create(NewRevision::new("ns", &format!("new{i}"), "repo", package("x"))).await.unwrap();
            uids.push(made.key.uid);
        }
    }
    uids.sort();
    uids.dedup();
    assert_eq!(uids.len(), 6);
}

#[tokio::test]
async fn a_backup_that_fails_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = open(&path).unwrap();
    let made = store.create(NewRevision::new("ns", "a", "repo", package("x"))).await.unwrap();
    let error = store.backup(&path).await.unwrap_err();
    assert!(error.to_string().contains("is the store itself"), "{error}");
    let error = store.backup(&directory.path().join("no/such/copy")).await.unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
    let taken = directory.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    assert!(store.backup(&taken).await.is_err());
    assert_eq!(names(directory.path()), ["store", "taken"]);
    assert_eq!(store.get(&made.key).await.unwrap().revision, made);
}

/// Files are stored once, whoever has them, and go with the last one.
#[tokio::test]
async fn equal_files_are_shared_and_go_with_the_last() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store")).unwrap();
    let mut made = Vec::new();
    for i in 0..10 {
        made.push(
            store.create(NewRevision::new("ns", &format!("p{i}"), "repo", package(&i.to_string()))).await.unwrap(),
        );
    }
    let report = store.check().await.unwrap();
    assert_eq!((report.contents, report.blobs), (10, 11));
    for revision in &made {
        let result = RenderResult { files: Some(package("same")), ending: Ending::success(), log: Bytes::new() };
        store.save_result(&revision.key, revision.content_version, result).await.unwrap();
    }
    assert_eq!(store.check().await.unwrap().blobs, 12);
    for revision in &made {
        store.delete(&revision.key, None).await.unwrap();
    }
    let report = store.check().await.unwrap();
    assert!(report.is_sound());
    assert_eq!((report.revisions, report.contents, report.blobs, report.blob_bytes), (0, 0, 0, 0));
    assert_eq!(store.page(Select::All, None, 10).await.unwrap().revisions, []);
}

/// What holds together as a database and not as a store.
#[tokio::test]
async fn a_check_finds_what_does_not_fit() {
    const BLOBS: redb::TableDefinition<'static, &[u8; 32], &[u8]> = redb::TableDefinition::new("blobs");
    const REFERENCES: redb::TableDefinition<'static, &[u8; 32], u64> = redb::TableDefinition::new("references");
    const UNFINISHED: redb::TableDefinition<'static, u64, (&str, &str)> = redb::TableDefinition::new("unfinished");
    const REVISIONS: redb::TableDefinition<'static, (&str, &str), &[u8]> = redb::TableDefinition::new("revisions");
    type Harm = fn(&redb::WriteTransaction);
    let harms: [(Harm, &str); 5] = [
        (
            |transaction| {
                let mut blobs = transaction.open_table(BLOBS).unwrap();
                let key = *redb::ReadableTable::first(&blobs).unwrap().unwrap().0.value();
                blobs.insert(&key, b"other".as_slice()).unwrap();
            },
            "other bytes",
        ),
        (
            |transaction| {
                let mut blobs = transaction.open_table(BLOBS).unwrap();
                let key = *redb::ReadableTable::first(&blobs).unwrap().unwrap().0.value();
                blobs.remove(&key).unwrap();
            },
            "is missing",
        ),
        (
            |transaction| {
                let mut references = transaction.open_table(REFERENCES).unwrap();
                let key = *redb::ReadableTable::first(&references).unwrap().unwrap().0.value();
                references.insert(&key, 7).unwrap();
            },
            "is counted 7 times",
        ),
        (
            |transaction| {
                transaction.open_table(UNFINISHED).unwrap().pop_first().unwrap().unwrap();
            },
            "missing in an index",
        ),
        (
            |transaction| {
                transaction.open_table(REVISIONS).unwrap().insert(("ns", "a"), b"\xff\xff".as_slice()).unwrap();
            },
            "can't be read",
        ),
    ];
    for (harm, word) in harms {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let store = open(&path).unwrap();
        for name in ["a", "b"] {
            store.create(NewRevision::new("ns", name, "repo", package(name))).await.unwrap();
        }
        store.close().await;
        assert!(EmbeddedStore::check_file(&path).unwrap().is_sound());
        let database = redb::Database::open(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        harm(&transaction);
        transaction.commit().unwrap();
        drop(database);
        let report = EmbeddedStore::check_file(&path).unwrap();
        assert!(report.problems.iter().any(|problem| problem.contains(word)), "{word}: {report:#?}");
        assert!(!report.is_sound());
    }
}

/// Each call is timed, a client's and the scheduler's, and a refusal says of what class it was.
#[tokio::test]
async fn a_meter_hears_of_each_call() {
    #[derive(Debug, Default)]
    struct Told(std::sync::Mutex<Vec<(StoreOperation, Option<ErrorClass>)>>);
    impl StoreMeter for Told {
        fn called(&self, operation: StoreOperation, took: Duration, error: Option<ErrorClass>) {
            assert!(took > Duration::ZERO);
            self.0.lock().unwrap().push((operation, error));
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let told = Arc::new(Told::default());
    let options = EmbeddedOptions { meter: Some(told.clone()), ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(&directory.path().join("store"), options).unwrap();
    let made = store.create(NewRevision::new("ns", "a", "repo", package("one"))).await.unwrap();
    store.get(&made.key).await.unwrap();
    let late = Expected::Content(ContentVersion(99));
    store.update(&made.key, late, ClientUpdate::files(package("two"))).await.unwrap_err();
    store.delete(&made.key, None).await.unwrap();
    store.revision(&made.key).await.unwrap_err();
    let heard = std::mem::take(&mut *told.0.lock().unwrap());
    let expected = [
        (StoreOperation::Create, None),
        (StoreOperation::Get, None),
        (StoreOperation::Update, Some(ErrorClass::Superseded)),
        (StoreOperation::Delete, None),
        (StoreOperation::Revision, Some(ErrorClass::Gone)),
    ];
    assert_eq!(heard, expected);
}
