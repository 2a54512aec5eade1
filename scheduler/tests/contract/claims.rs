//! Several schedulers on one store.

use portico_scheduler::store::{ClaimOutcome, Claims as _, Instance, InstanceId, PackageStore as _, Registration};

use super::*;

pub(crate) fn registration(id: &str) -> Registration {
    let id = InstanceId(id.into());
    Registration { id, version: "1.0.0".into(), catalog: "sha256:00".into(), memory: 1 << 30 }
}

async fn two<S: Claims>(store: &S) -> (Instance, Instance) {
    (store.register(registration("a")).await.unwrap(), store.register(registration("b")).await.unwrap())
}

pub(crate) async fn one_holds_a_key<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let (a, b) = two(&store).await;
    let made = store.create(new("p", package("x"))).await.unwrap();
    let ClaimOutcome::Claimed(claim, seen) = store.claim(&a, &made.key).await.unwrap() else { panic!("free") };
    assert_eq!((*seen).clone(), made);
    let held = ClaimOutcome::Held { by: a.registration.id.clone(), until_ms: a.until_ms };
    assert_eq!(store.claim(&b, &made.key).await.unwrap(), held);
    let ClaimOutcome::Claimed(newer, again) = store.claim(&a, &made.key).await.unwrap() else { panic!("its own") };
    assert_eq!(again, seen);
    // A release that the newer claim has overtaken gives nothing back.
    store.release(&claim).await.unwrap();
    assert_eq!(store.claim(&b, &made.key).await.unwrap(), held);
    store.release(&newer).await.unwrap();
    store.release(&newer).await.unwrap();
    let ClaimOutcome::Claimed(other, _) = store.claim(&b, &made.key).await.unwrap() else { panic!("given back") };
    store.release(&claim).await.unwrap();
    assert!(matches!(store.claim(&a, &made.key).await.unwrap(), ClaimOutcome::Held { .. }), "not its own any more");
    store.unregister(&b).await.unwrap();
    store.unregister(&b).await.unwrap();
    assert!(matches!(store.claim(&a, &made.key).await.unwrap(), ClaimOutcome::Claimed(..)), "{other:?} went too");
}

pub(crate) async fn a_claim_is_checked_again<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let (a, b) = two(&store).await;
    let done = rendered(&store, "done").await;
    // The cache said it waits; under the claim it does not, and no claim is left behind.
    for instance in [&a, &b] {
        let outcome = store.claim(instance, &done.key).await.unwrap();
        assert_eq!(outcome, ClaimOutcome::Finished(Box::new(done.clone())));
    }
    let gone = store.create(new("gone", package("x"))).await.unwrap();
    assert!(matches!(store.claim(&a, &gone.key).await.unwrap(), ClaimOutcome::Claimed(..)));
    store.delete(&gone.key, None).await.unwrap();
    assert_eq!(store.claim(&b, &gone.key).await.unwrap(), ClaimOutcome::Gone);
    let anew = store.create(new("gone", package("x"))).await.unwrap();
    assert!(matches!(store.claim(&b, &anew.key).await.unwrap(), ClaimOutcome::Claimed(..)));
    assert_eq!(store.claim(&a, &gone.key).await.unwrap(), ClaimOutcome::Gone);
    // One that holds a claim learns that the work is done, and the claim goes.
    store.save_result(&anew.key, anew.content_version, success(None)).await.unwrap();
    assert!(matches!(store.claim(&b, &anew.key).await.unwrap(), ClaimOutcome::Finished(..)));
    assert!(matches!(store.claim(&a, &anew.key).await.unwrap(), ClaimOutcome::Finished(..)));
}

pub(crate) async fn a_lease_runs_out<F: Fixture>() {
    let (fixture, clock) = timed::<F>();
    let store = fixture.store();
    let (a, b) = two(&store).await;
    let made = store.create(new("p", package("x"))).await.unwrap();
    let ClaimOutcome::Claimed(claim, _) = store.claim(&a, &made.key).await.unwrap() else { panic!("free") };
    let lease = u64::try_from(LEASE.as_millis()).unwrap();
    for _ in 0..3 {
        clock.advance_ms(lease / 2);
        assert_eq!(store.heartbeat(&a, std::slice::from_ref(&claim)).await.unwrap().len(), 2);
        assert_eq!(store.heartbeat(&b, &[]).await.unwrap().len(), 2);
    }
    assert!(matches!(store.claim(&b, &made.key).await.unwrap(), ClaimOutcome::Held { .. }), "kept by heartbeats");
    clock.advance_ms(lease / 2);
    store.heartbeat(&b, &[]).await.unwrap();
    clock.advance_ms(lease / 2 + 1);
    // `a` was silent for the lease time.
    assert!(matches!(store.claim(&b, &made.key).await.unwrap(), ClaimOutcome::Claimed(..)));
    assert_eq!(refused(store.heartbeat(&a, &[]).await), "NotRegistered");
    assert_eq!(refused(store.claim(&a, &made.key).await), "NotRegistered");
    assert_eq!(store.heartbeat(&b, &[]).await.unwrap().len(), 1);
}

pub(crate) async fn a_claim_that_its_holder_does_not_know_of_ends<F: Fixture>() {
    let (fixture, clock) = timed::<F>();
    let store = fixture.store();
    let (a, b) = two(&store).await;
    let mut keys = Vec::new();
    for name in ["known", "lost", "claimed anew"] {
        keys.push(store.create(new(name, package("x"))).await.unwrap().key);
    }
    let mut claims = Vec::new();
    for key in &keys {
        let ClaimOutcome::Claimed(claim, _) = store.claim(&a, key).await.unwrap() else { panic!("free") };
        claims.push(claim);
    }
    // The answers to these were lost: `a` names the first claim, and of the last one that which it had before.
    store.claim(&a, &keys[2]).await.unwrap();
    let named = [claims[0].clone(), claims[2].clone()];
    let lease = u64::try_from(LEASE.as_millis()).unwrap();
    clock.advance_ms(lease / 2);
    for held in [&named[..], &named[..], &[]] {
        store.heartbeat(&a, held).await.unwrap();
    }
    // Another can't end them by naming them, nor keep them.
    store.heartbeat(&b, &claims).await.unwrap();
    for key in &keys {
        let outcome = store.claim(&b, key).await.unwrap();
        assert!(matches!(outcome, ClaimOutcome::Held { .. }), "its answer may be on the way: {outcome:?}");
    }
    clock.advance_ms(lease * 6 / 10);
    store.heartbeat(&a, &named).await.unwrap();
    store.heartbeat(&b, &[]).await.unwrap();
    assert!(matches!(store.claim(&b, &keys[0]).await.unwrap(), ClaimOutcome::Held { .. }), "named");
    for key in &keys[1..] {
        let outcome = store.claim(&b, key).await.unwrap();
        assert!(matches!(outcome, ClaimOutcome::Claimed(..)), "nobody knows of the claim before: {outcome:?}");
    }
    // Naming what is lost takes nothing from its new holder.
    clock.advance_ms(lease / 2);
    store.heartbeat(&a, &claims).await.unwrap();
    assert!(matches!(store.claim(&a, &keys[1]).await.unwrap(), ClaimOutcome::Held { .. }));
}

pub(crate) async fn a_late_worker_does_no_harm<F: Fixture>() {
    let (fixture, clock) = timed::<F>();
    let store = fixture.store();
    let (a, _) = two(&store).await;
    let made = store.create(new("p", package("x"))).await.unwrap();
    store.claim(&a, &made.key).await.unwrap();
    clock.advance_ms(u64::try_from(LEASE.as_millis()).unwrap() + 1);
    let b = store.register(registration("b")).await.unwrap();
    assert!(matches!(store.claim(&b, &made.key).await.unwrap(), ClaimOutcome::Claimed(..)));
    let done = store.save_result(&made.key, made.content_version, success(None)).await.unwrap();
    let late = store.save_result(&made.key, made.content_version, success(Some(package("late")))).await;
    assert_eq!(refused(late), "AlreadyFinished");
    assert_eq!(store.revision(&made.key).await.unwrap(), done);
}

pub(crate) async fn nothing_without_a_registration<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let (a, b) = two(&store).await;
    let made = store.create(new("p", package("x"))).await.unwrap();
    store.unregister(&a).await.unwrap();
    assert_eq!(refused(store.claim(&a, &made.key).await), "NotRegistered");
    assert_eq!(refused(store.heartbeat(&a, &[]).await), "NotRegistered");
    let seen = store.heartbeat(&b, &[]).await.unwrap();
    assert_eq!(seen.iter().map(|i| &i.registration).collect::<Vec<_>>(), [&registration("b")]);
}

pub(crate) async fn a_new_registration_ends_the_old_one<F: Fixture>() {
    let fixture = usual::<F>();
    let store = fixture.store();
    let (a, b) = two(&store).await;
    let made = store.create(new("p", package("x"))).await.unwrap();
    assert!(matches!(store.claim(&a, &made.key).await.unwrap(), ClaimOutcome::Claimed(..)));
    let anew = store.register(registration("a")).await.unwrap();
    assert!(anew.epoch > a.epoch);
    assert_eq!(refused(store.heartbeat(&a, &[]).await), "NotRegistered");
    assert!(matches!(store.claim(&b, &made.key).await.unwrap(), ClaimOutcome::Claimed(..)), "the old claims ended");
}
