//! The one task that watches the store and lists it: never two listings at once, never two sweeps.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::inner::Inner;
use super::settings::Settings;
use crate::core::Event;
use crate::model::{ErrorClass, ObjectVersion, Reason, RenderState};
use crate::store::{Change, Claims, PackageStore, Select, StoreError, Watch, WatchEvent};

/// What the core wants listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Everything unfinished, at once.
    List,
    /// Drafts that were invalid.
    ListInvalid,
}

/// Watches and lists until the scheduler is dropped or the store is closed.
pub(super) async fn keep<S: PackageStore + Claims>(
    inner: Weak<Inner<S>>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    settings: Settings,
) {
    let mut failures = 0_u32;
    loop {
        let Some(alive) = inner.upgrade() else { return };
        // First everything that is there, then all that comes: from the version of the listing's first page.
        let began = async {
            let version = list(&alive, &settings, false).await?;
            alive.store.watch(version).await
        };
        let ended = match began.await {
            Ok(watch) => {
                failures = 0;
                alive.watching.store(true, Ordering::SeqCst);
                drop(alive);
                let ended = follow(&inner, watch, &mut orders, &settings).await;
                if let Some(alive) = inner.upgrade() {
                    alive.watching.store(false, Ordering::SeqCst);
                }
                ended
            }
            Err(error) => Some(error),
        };
        match ended {
            None | Some(StoreError::Closed) => return,
            // The watch was too slow, or a listing is due that asks for no patience.
            Some(StoreError::TooOld { .. }) if failures == 0 => {}
            Some(error) => {
                tracing::warn!(%error, class = ?error.class(), "the store is not watched at the moment");
                let doubled = settings.reconnect.saturating_mul(1 << failures.min(10));
                failures += 1;
                let wait = doubled.min(settings.reconnect.saturating_mul(100));
                sleep(error.retry_after().unwrap_or_default().max(wait)).await;
            }
        }
    }
}

/// Follows a watch, and sweeps and lists in between. `None` when the scheduler is gone, else why the watch ended.
async fn follow<S: PackageStore + Claims>(
    inner: &Weak<Inner<S>>,
    mut watch: S::Watch,
    orders: &mut mpsc::UnboundedReceiver<Order>,
    settings: &Settings,
) -> Option<StoreError> {
    let mut sweep_at = Instant::now() + settings.sweep;
    let mut configuration_at = Instant::now() + settings.configuration;
    loop {
        tokio::select! {
            // What comes is heard first: a sweep is never so urgent that it may act on less.
            biased;
            event = watch.next() => {
                let alive = inner.upgrade()?;
                match event {
                    Ok(WatchEvent { version, change: Change::Put(revision), .. }) => {
                        if version.0 == revision.content_version.0 {
                            let lag = alive.clock.now_ms().saturating_sub(revision.changed_ms);
                            alive.meter.lag(Duration::from_millis(lag));
                        }
                        alive.seen(Arc::unwrap_or_clone(revision));
                    }
                    Ok(WatchEvent { change: Change::Deleted(key), .. }) => alive.gone(&key),
                    Err(error) => return Some(error),
                }
            }
            order = orders.recv() => {
                let (order, alive) = (order?, inner.upgrade()?);
                match order {
                    Order::List => log(list(&alive, settings, false).await.map(drop)),
                    Order::ListInvalid => log(list_invalid(&alive, settings).await),
                }
            }
            () = sleep_until(configuration_at) => {
                let alive = inner.upgrade()?;
                alive.configuration_checked();
                configuration_at = Instant::now() + settings.configuration;
            }
            () = sleep_until(sweep_at) => {
                let alive = inner.upgrade()?;
                log(list(&alive, settings, true).await.map(drop));
                sweep_at = Instant::now() + settings.sweep;
            }
        }
    }
}

fn log(result: Result<(), StoreError>) {
    if let Err(error) = result {
        tracing::warn!(%error, "a listing failed; the next sweep makes up for it");
    }
}

/// Shows the core everything unfinished. Gives the store's version before the first page.
async fn list<S: PackageStore + Claims>(
    inner: &Arc<Inner<S>>,
    settings: &Settings,
    sweep: bool,
) -> Result<ObjectVersion, StoreError> {
    inner.event(Event::ListBegin { sweep });
    let (mut next, mut first) = (None, None);
    loop {
        let page = match page(inner, settings, Select::Unfinished, next).await {
            Ok(page) => page,
            Err(error) => {
                inner.event(Event::ListFailed);
                return Err(error);
            }
        };
        first = first.or(Some(page.version));
        inner.event(Event::Page(page.revisions));
        next = page.next;
        if next.is_none() {
            inner.event(Event::ListEnd);
            return Ok(first.unwrap_or(page.version));
        }
        // Edits and renders have their turn between the pages.
        tokio::task::yield_now().await;
    }
}

/// Shows the core the drafts that could not be rendered under another configuration.
async fn list_invalid<S: PackageStore + Claims>(inner: &Arc<Inner<S>>, settings: &Settings) -> Result<(), StoreError> {
    let mut next = None;
    loop {
        let page = page(inner, settings, Select::Drafts, next).await?;
        for revision in page.revisions {
            let invalid =
                |state| matches!(state, RenderState::Ended(ending) if ending.reason == Reason::InvalidPackage);
            if revision.render_state().is_some_and(invalid) {
                inner.seen(revision);
            }
        }
        next = page.next;
        if next.is_none() {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
}

async fn page<S: PackageStore + Claims>(
    inner: &Inner<S>,
    settings: &Settings,
    select: Select,
    next: Option<crate::store::PageToken>,
) -> Result<crate::store::Page, StoreError> {
    let mut attempt = 0;
    loop {
        match inner.store.page(select, next, settings.page).await {
            Err(error) if error.class() == ErrorClass::Transient && attempt < 3 => {
                attempt += 1;
                let wait = settings.reconnect.saturating_mul(attempt);
                sleep(error.retry_after().unwrap_or(Duration::ZERO).max(wait)).await;
            }
            page => return page,
        }
    }
}
