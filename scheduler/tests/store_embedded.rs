//! The contract of stores, kept by the one in a file.

#[macro_use]
mod contract;

use std::sync::Arc;
use std::time::Duration;

use portico_scheduler::store::embedded::EmbeddedOptions;
use portico_scheduler::store::{Clock, EmbeddedStore, StoreError, StoreLimits};

struct Embedded {
    directory: Arc<tempfile::TempDir>,
    options: EmbeddedOptions,
    store: EmbeddedStore,
}

impl Embedded {
    fn open(directory: Arc<tempfile::TempDir>, options: EmbeddedOptions) -> Self {
        let store = EmbeddedStore::open(&directory.path().join("store"), options.clone()).unwrap();
        Self { directory, options, store }
    }
}

/// Whatever a test did, in the end everything that is stored holds together.
impl Drop for Embedded {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let store = self.store.clone();
        // Of its own: the test's runtime runs this.
        let check = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(store.check())
        };
        match std::thread::spawn(check).join().unwrap() {
            Ok(report) => assert!(report.is_sound(), "{report:#?}"),
            // A restart has closed it.
            Err(error) => assert!(matches!(error, StoreError::Closed), "{error}"),
        }
    }
}

impl contract::Fixture for Embedded {
    type Store = EmbeddedStore;

    fn new(limits: StoreLimits, lease: Duration, clock: Arc<dyn Clock>) -> Self {
        let options = EmbeddedOptions { limits, lease, clock, ..EmbeddedOptions::default() };
        Self::open(Arc::new(tempfile::tempdir().unwrap()), options)
    }

    fn store(&self) -> EmbeddedStore {
        self.store.clone()
    }

    async fn restart(self) -> Self {
        self.store.clone().close().await;
        Self::open(Arc::clone(&self.directory), self.options.clone())
    }
}

contract!(Embedded);
