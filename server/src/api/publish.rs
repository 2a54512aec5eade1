//! Publishing: the number of a revision among the published ones of its package, and the label of the newest.

use std::sync::{Arc, Weak};
use std::time::Duration;

use portico_scheduler::model::Revision;
use portico_scheduler::store::{ClientUpdate, PackageStore, StoreError};

use super::App;
use super::cache::{Entry, Package};
use super::document::Document;
use super::request::Caller;
use super::show::Shown;
use super::time;
use super::types::LATEST_REVISION;

/// How long to wait for a store that does not answer yet.
const AGAIN: Duration = Duration::from_secs(1);

impl App {
    /// Publishes: gives the next number, and the label of the newest in the same write.
    pub(super) async fn publish(
        self: &Arc<Self>,
        caller: &Caller,
        current: &Shown,
        mut update: ClientUpdate,
        mut document: Document,
    ) -> Result<Revision, StoreError> {
        let package = package_of(current);
        let _one_at_a_time = self.locks.lock(&package).await;
        self.caught_up().await?;
        let others = self.cache.of_package(&package);
        document.revision = others.iter().map(|other| other.number).max().unwrap_or(0).saturating_add(1);
        document.published_by = caller.identity.user.to_string();
        document.publish_timestamp = Some(time::seconds(time::now_ms()));
        update.document = Some(document.to_bytes());
        let labels = update.labels.get_or_insert_with(|| current.revision.labels.clone());
        labels.insert(LATEST_REVISION.to_owned(), "true".to_owned());
        let revision = self.store_update(&current.revision, update).await?;
        self.settle(&package).await;
        Ok(revision)
    }

    /// Deletes, and gives the label of the newest to the one before where it was that.
    pub(super) async fn delete_settled(
        &self,
        current: &Shown,
        expected: portico_scheduler::store::Expected,
    ) -> Result<(), StoreError> {
        let package = package_of(current);
        let _one_at_a_time = self.locks.lock(&package).await;
        let key = &current.revision.key;
        self.store().delete(key, Some(expected)).await?;
        self.scheduler.deleted(key);
        if current.document.revision > 0 {
            self.settle(&package).await;
        }
        Ok(())
    }

    /// Sees that the newest published revision of a package has the label of the newest, and no other one. Called with the
    /// package's lock; what fails is made up for at the next publication, or start.
    async fn settle(&self, package: &Package) {
        if let Err(error) = self.caught_up().await {
            tracing::warn!(package = %package.name, %error, "labels of the newest revision were not looked at");
            return;
        }
        for (entry, newest) in misplaced(&self.cache.of_package(package)) {
            if let Err(error) = self.relabel(&entry.revision, newest).await {
                tracing::warn!(key = %entry.revision.key, %error, "the label of the newest revision could not be set");
            }
        }
    }

    async fn relabel(&self, seen: &Revision, newest: bool) -> Result<(), StoreError> {
        let mut attempts = self.limits.attempts.max(1);
        let mut current = seen.clone();
        loop {
            let mut labels = current.labels.clone();
            if newest {
                labels.insert(LATEST_REVISION.to_owned(), "true".to_owned());
            } else {
                labels.remove(LATEST_REVISION);
            }
            let update = ClientUpdate { labels: Some(labels), ..ClientUpdate::default() };
            attempts -= 1;
            match self.store_update(&current, update).await {
                Ok(_) | Err(StoreError::NotFound(_)) => return Ok(()),
                Err(StoreError::Conflict { .. }) if attempts > 0 => {
                    current = self.store().revision(&seen.key).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn caught_up(&self) -> Result<(), StoreError> {
        let late = |status: super::Status| StoreError::Unavailable { why: status.message, retry_after: None };
        self.cache.fresh().await.map_err(late)
    }
}

/// Looks once at all packages: a process that ended between two writes may have left two newest, or none.
pub(super) async fn settle_all(app: Weak<App>) {
    let packages = loop {
        {
            let Some(app) = app.upgrade() else { return };
            if app.caught_up().await.is_ok() {
                break app.cache.packages();
            }
        }
        tokio::time::sleep(AGAIN).await;
    };
    for package in packages {
        let Some(app) = app.upgrade() else { return };
        if !misplaced(&app.cache.of_package(&package)).is_empty() {
            let _one_at_a_time = app.locks.lock(&package).await;
            app.settle(&package).await;
        }
    }
}

fn package_of(shown: &Shown) -> Package {
    Package {
        namespace: Arc::clone(&shown.revision.key.namespace),
        repository: Arc::clone(&shown.revision.repository),
        name: shown.document.package_name.as_str().into(),
    }
}

/// The revisions whose label is to change, each with whether it is the newest. Those that lose it come first: for a moment
/// no one has it, and never two.
fn misplaced(entries: &[Entry]) -> Vec<(Entry, bool)> {
    let newest = entries.iter().filter(|entry| entry.is_published()).max_by_key(|entry| entry.number);
    let newest = newest.map(|entry| &entry.revision.key);
    let wrong = entries.iter().filter_map(|entry| {
        let is = newest == Some(&entry.revision.key);
        let says = entry.revision.labels.get(LATEST_REVISION).is_some_and(|value| value == "true");
        (is != says).then(|| (entry.clone(), is))
    });
    let mut wrong: Vec<_> = wrong.collect();
    wrong.sort_by_key(|(_, newest)| *newest);
    wrong
}

#[cfg(test)]
mod tests {
    use portico_scheduler::model::{Lifecycle, RevisionKey};

    use super::*;

    fn entry(name: &str, number: i64, lifecycle: Lifecycle, labelled: bool) -> Entry {
        let mut entry = Entry::sample();
        let mut revision = (*entry.revision).clone();
        revision.key = RevisionKey::new("ns", name, name);
        revision.lifecycle = lifecycle;
        if labelled {
            revision.labels.insert(LATEST_REVISION.into(), "true".into());
        }
        entry.revision = Arc::new(revision);
        entry.number = number;
        entry
    }

    #[test]
    fn only_the_newest_published_one_has_the_label() {
        let entries = [
            entry("a", 1, Lifecycle::Published, true),
            entry("b", 2, Lifecycle::DeletionProposed, false),
            entry("c", 0, Lifecycle::Draft, false),
        ];
        let wrong: Vec<_> = misplaced(&entries)
            .into_iter()
            .map(|(entry, newest)| (entry.revision.key.name.to_string(), newest))
            .collect();
        assert_eq!(wrong, [("a".to_owned(), false), ("b".to_owned(), true)]);
        assert!(misplaced(&[entry("a", 1, Lifecycle::Published, true)]).is_empty());
        assert_eq!(misplaced(&[entry("a", 0, Lifecycle::Draft, true)]).len(), 1);
    }
}
