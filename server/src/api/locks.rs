//! One at a time for each package: names are checked and revisions are numbered by reading first and writing then, and
//! this process owns the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

use super::cache::Package;

/// Locks of packages. One that nobody holds takes no room.
#[derive(Debug, Default)]
pub(super) struct PackageLocks(Mutex<HashMap<Package, Weak<tokio::sync::Mutex<()>>>>);

impl PackageLocks {
    /// Waits until nobody else has this package.
    pub(super) async fn lock(&self, package: &Package) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(lock) = locks.get(package).and_then(Weak::upgrade) {
                lock
            } else {
                // Looked through when it has doubled, so that it costs nothing on the whole.
                if locks.len() == locks.capacity() {
                    locks.retain(|_, lock| lock.strong_count() > 0);
                }
                let lock = Arc::new(tokio::sync::Mutex::new(()));
                locks.insert(package.clone(), Arc::downgrade(&lock));
                lock
            }
        };
        lock.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn package(name: &str) -> Package {
        Package { namespace: "ns".into(), repository: "r".into(), name: name.into() }
    }

    #[tokio::test(start_paused = true)]
    async fn one_at_a_time_for_each_package_and_none_is_kept() {
        let locks = PackageLocks::default();
        let held = locks.lock(&package("a")).await;
        locks.lock(&package("b")).await;
        let second = tokio::time::timeout(Duration::from_secs(1), locks.lock(&package("a"))).await;
        assert!(second.is_err());
        drop(held);
        locks.lock(&package("a")).await;
        for at in 0..1000 {
            locks.lock(&package(&at.to_string())).await;
        }
        assert!(locks.0.lock().unwrap().len() < 100);
    }
}
