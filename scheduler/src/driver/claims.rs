//! One of several schedulers on one store.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

use super::inner::{Inner, failure};
use crate::core::{Acquired, Event, Peers};
use crate::model::RevisionKey;
use crate::store::{Claim, ClaimOutcome, Claims, Instance, PackageStore, Presence, Registration, StoreError};

/// A scheduler that shares its store with others.
pub(super) struct Sharing {
    registration: Registration,
    lease: Duration,
    state: Mutex<Membership>,
}

#[derive(Default)]
struct Membership {
    instance: Option<Instance>,
    presence: Presence,
    /// The claims that it knows of, by their fence: those that were answered and not given back. Heartbeats name them.
    held: HashMap<u64, Claim>,
}

impl Sharing {
    pub(super) fn new(registration: Registration, lease: Duration) -> Self {
        Self { registration, lease, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Membership> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims a revision, or says what to do instead.
    pub(super) async fn claim<S: Claims>(&self, store: &S, key: &RevisionKey, now_ms: u64) -> Result<Claim, Acquired> {
        let instance = {
            let state = self.lock();
            // Asked before each item: a lost registration is noticed here, and nothing is begun without it.
            let Some(instance) = state.instance.clone().filter(|_| state.presence.may_work(now_ms)) else {
                return Err(Acquired::Held(self.lease / 3));
            };
            instance
        };
        let asked = Instant::now();
        match store.claim(&instance, key).await {
            Ok(ClaimOutcome::Claimed(claim, _)) => {
                let in_time = {
                    let mut state = self.lock();
                    // Answered so late that its registration has ended, or heartbeats have not named it for a lease: the
                    // claim ended, and others may have theirs.
                    let current = state.instance.as_ref().is_some_and(|now| now.epoch == instance.epoch);
                    let in_time = current && asked.elapsed() < self.lease;
                    if in_time {
                        state.held.insert(claim.fence, claim.clone());
                    }
                    in_time
                };
                if in_time {
                    return Ok(claim);
                }
                self.release(store, &claim).await;
                Err(Acquired::Held(self.lease / 3))
            }
            Ok(ClaimOutcome::Held { until_ms, .. }) => {
                Err(Acquired::Held(Duration::from_millis(until_ms.saturating_sub(now_ms).max(1))))
            }
            Ok(ClaimOutcome::Finished(revision)) => Err(Acquired::Finished(revision)),
            Ok(ClaimOutcome::Gone) => Err(Acquired::Gone),
            Err(StoreError::NotRegistered(_)) => {
                self.lock().presence.lost();
                Err(Acquired::Held(self.lease / 3))
            }
            Err(error) => Err(Acquired::Failed(failure(&error))),
        }
    }

    /// Gives a claim back.
    pub(super) async fn release<S: Claims>(&self, store: &S, claim: &Claim) {
        // First of all: heartbeats name it no more, and it ends even if the store never hears of this.
        self.lock().held.remove(&claim.fence);
        if let Err(error) = store.release(claim).await {
            tracing::debug!(key = %claim.key, %error, "a claim was not given back; it ends with its lease");
        }
    }

    /// Which registration it has now.
    pub(super) fn epoch(&self) -> Option<u64> {
        self.lock().instance.as_ref().map(|instance| instance.epoch)
    }

    /// Whether it may go on with what it claimed under this registration: asked once more when the content is read, which
    /// may take longer than a lease.
    pub(super) fn may_begin(&self, epoch: u64, now_ms: u64) -> bool {
        let state = self.lock();
        state.instance.as_ref().is_some_and(|now| now.epoch == epoch) && state.presence.may_work(now_ms)
    }

    /// What there is to do for one that may not.
    pub(super) fn not_now(&self) -> Acquired {
        Acquired::Held(self.lease / 3)
    }

    /// Whether its registration is seen.
    pub(super) fn is_registered(&self) -> bool {
        !self.lock().presence.all().is_empty()
    }

    /// Registers, or keeps the registration alive. Whether it may work, and whether that changed.
    async fn beat<S: Claims>(&self, store: &S) -> (bool, bool) {
        let (instance, held, before) = {
            let state = self.lock();
            let held: Vec<_> = state.held.values().cloned().collect();
            (state.instance.clone(), held, !state.presence.all().is_empty())
        };
        let beaten = async {
            let instance = match instance {
                Some(instance) => instance,
                None => store.register(self.registration.clone()).await?,
            };
            let all = store.heartbeat(&instance, &held).await;
            Ok((instance, all?))
        };
        let result: Result<_, StoreError> = beaten.await;
        let mut state = self.lock();
        match result {
            Ok((instance, all)) => {
                state.presence.saw(&instance, all);
                state.instance = Some(instance);
            }
            Err(error) => {
                tracing::warn!(id = %self.registration.id, %error, "the heartbeat of this scheduler failed");
                if matches!(error, StoreError::NotRegistered(_)) {
                    // Others may have its claims by now.
                    state.instance = None;
                    state.presence.lost();
                }
            }
        }
        let now = !state.presence.all().is_empty();
        (now, now != before)
    }

    /// All schedulers of the last answer.
    fn peers(&self) -> Option<Peers> {
        let all = self.lock().presence.all().to_vec();
        (!all.is_empty()).then(|| Peers { me: self.registration.id.clone(), all })
    }

    /// Gives everything back.
    pub(super) async fn leave<S: Claims>(&self, store: &S) {
        let instance = {
            let mut state = self.lock();
            state.presence.lost();
            state.instance.take()
        };
        if let Some(instance) = instance
            && let Err(error) = store.unregister(&instance).await
        {
            tracing::debug!(%error, "not unregistered; the lease will end");
        }
    }
}

/// Keeps the registration alive for as long as the scheduler lives. When it is lost, what runs is stopped.
pub(super) async fn keep_registered<S: PackageStore + Claims>(inner: Weak<Inner<S>>) {
    loop {
        let Some(alive) = inner.upgrade() else { return };
        let Some(sharing) = &alive.sharing else { return };
        let third = sharing.lease / 3;
        let (may_work, changed) = sharing.beat(&alive.store).await;
        alive.event(Event::Peers(sharing.peers()));
        if changed {
            alive.set_registered(may_work);
        }
        drop(alive);
        tokio::time::sleep(third).await;
    }
}

impl<S: PackageStore + Claims> Inner<S> {
    /// Works only while the registration is seen.
    fn set_registered(self: &Arc<Self>, registered: bool) {
        let workers = self.wanted.load(Ordering::SeqCst);
        self.event(if registered { Event::Workers(workers) } else { Event::Stop });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bytes::Bytes;

    use super::*;
    use crate::model::Files;
    use crate::store::memory::{Fault, FaultPlan, Operation, Point};
    use crate::store::{Clock, InstanceId, MemoryStore, NewRevision, StoreLimits, VirtualClock};

    const LEASE: Duration = Duration::from_secs(15);

    fn sharing(id: &str) -> Sharing {
        let (version, catalog) = ("1".to_owned(), "catalog".to_owned());
        Sharing::new(Registration { id: InstanceId(id.into()), version, catalog, memory: 0 }, LEASE)
    }

    async fn draft(store: &MemoryStore) -> RevisionKey {
        let files = Files::new(BTreeMap::from([("Kptfile".to_owned(), Bytes::from_static(b"new"))]));
        store.create(NewRevision::new("ns", "a", "repo", files)).await.unwrap().key
    }

    /// Both send their heartbeats for more than a lease.
    async fn beat_on(clock: &VirtualClock, one: (&Sharing, &MemoryStore), other: (&Sharing, &MemoryStore)) {
        for _ in 0..4 {
            clock.advance_ms(5_000);
            for (sharing, store) in [one, other] {
                assert_eq!(sharing.beat(store).await, (true, false));
            }
        }
    }

    /// Either the claim's answer was lost, or the word that it is given back: its holder lives on and others get it.
    #[tokio::test(start_paused = true)]
    async fn a_claim_that_nobody_knows_of_ends_while_its_holder_lives() {
        for lost in [Operation::Claim, Operation::Release] {
            let clock = VirtualClock::starting_at(1_000);
            let truth = MemoryStore::new(Arc::clone(&clock) as Arc<dyn Clock>, StoreLimits::default(), LEASE);
            let key = draft(&truth).await;
            let point = if lost == Operation::Claim { Point::After(lost) } else { Point::Before(lost) };
            let store = truth.session(FaultPlan::default().on(point, 1, Fault::Unavailable { retry_after: None }));
            let (me, other) = (sharing("me"), sharing("other"));
            assert_eq!(me.beat(&store).await, (true, true));
            assert_eq!(other.beat(&truth).await, (true, true));
            match me.claim(&store, &key, clock.now_ms()).await {
                Ok(claim) => {
                    beat_on(&clock, (&me, &store), (&other, &truth)).await;
                    assert_eq!(truth.claims_held(), 1, "named by its heartbeats for longer than a lease");
                    me.release(&store, &claim).await;
                }
                Err(failed) => assert!(matches!(failed, Acquired::Failed(_)), "{failed:?}"),
            }
            assert_eq!(truth.claims_held(), 1, "the store knows no better");
            assert!(matches!(other.claim(&truth, &key, clock.now_ms()).await, Err(Acquired::Held(_))));
            beat_on(&clock, (&me, &store), (&other, &truth)).await;
            assert_eq!(truth.claims_held(), 0, "lost: {lost:?}");
            assert!(other.claim(&truth, &key, clock.now_ms()).await.is_ok());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_that_is_answered_after_a_lease_is_given_back() {
        let truth = MemoryStore::default();
        let key = draft(&truth).await;
        let store = truth.session(FaultPlan::default().on(Point::After(Operation::Claim), 1, Fault::Delay(LEASE)));
        let me = sharing("me");
        assert_eq!(me.beat(&store).await, (true, true));
        let late = me.claim(&store, &key, 0).await;
        assert!(matches!(late, Err(Acquired::Held(_))), "no heartbeat has named it: {late:?}");
        assert_eq!(truth.claims_held(), 0);
        assert!(me.claim(&store, &key, 0).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_that_is_answered_after_its_registration_ended_is_not_worked_on() {
        let truth = MemoryStore::default();
        let key = draft(&truth).await;
        let slow = Fault::Delay(Duration::from_mins(1));
        let store = truth.session(FaultPlan::default().on(Point::After(Operation::Claim), 1, slow));
        let sharing = sharing("me");
        assert_eq!(sharing.beat(&store).await, (true, true));

        let claim = sharing.claim(&store, &key, 0);
        let beats = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            truth.forget_registrations();
            assert_eq!(sharing.beat(&store).await, (false, true), "not registered any more");
            assert_eq!(sharing.beat(&store).await, (true, true), "registered anew");
        };
        let (late, ()) = tokio::join!(claim, beats);
        assert!(matches!(late, Err(Acquired::Held(_))), "{late:?}");
        // The next one is answered at once.
        assert!(sharing.claim(&store, &key, 0).await.is_ok());
    }
}
