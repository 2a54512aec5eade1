//! Who is let in: bounds on what is asked at one time and over time, by user and by all together.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::time::Instant;

use super::limits::RequestLimits;
use super::refusal::Refusal;

/// Users that have a bucket at one time; see [`RequestLimits::per_second`].
const USERS: usize = 10_000;

/// How long to stay away when too much is asked at one time: nobody knows when it will be less.
const LATER: Duration = Duration::from_secs(1);

/// What kind of request wants to be let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// It has an end.
    Request,
    /// It lasts as long as its client wants: a watch, a log that is followed.
    Watch,
}

/// Lets requests in, or says why not.
#[derive(Debug)]
pub(crate) struct Admission {
    limits: ArcSwap<RequestLimits>,
    requests: AtomicUsize,
    watches: AtomicUsize,
    bodies: Mutex<u64>,
    users: Mutex<HashMap<Arc<str>, User>>,
}

#[derive(Debug)]
struct User {
    requests: usize,
    watches: usize,
    /// Requests that are left, as of `at`.
    bucket: f64,
    at: Instant,
}

impl User {
    fn is_idle(&self) -> bool {
        self.requests == 0 && self.watches == 0
    }
}

impl Admission {
    pub(crate) fn new(limits: RequestLimits) -> Self {
        Self {
            limits: ArcSwap::from_pointee(limits),
            requests: AtomicUsize::new(0),
            watches: AtomicUsize::new(0),
            bodies: Mutex::new(0),
            users: Mutex::default(),
        }
    }

    pub(crate) fn limits(&self) -> Arc<RequestLimits> {
        self.limits.load_full()
    }

    /// Other bounds from now on. What is inside stays.
    pub(crate) fn set_limits(&self, limits: RequestLimits) {
        self.limits.store(Arc::new(limits));
    }

    /// Requests inside, and watches inside.
    #[cfg(test)]
    fn counts(&self) -> (usize, usize) {
        (self.requests.load(Ordering::Relaxed), self.watches.load(Ordering::Relaxed))
    }

    /// Lets a request of this user in, until the pass is dropped.
    pub(crate) fn enter(self: &Arc<Self>, name: &Arc<str>, lasting: Lasting) -> Result<Pass, Refusal> {
        let limits = self.limits.load();
        let now = Instant::now();
        let overload = |what, setting, after| Err(Refusal::Overload { what, setting, after });
        let mut users = self.users();
        if !users.contains_key(name) && users.len() >= USERS {
            forget_one(&mut users);
        }
        let burst = f64::from(limits.burst.max(1));
        let user = users.entry(Arc::clone(name)).or_insert(User { requests: 0, watches: 0, bucket: burst, at: now });
        let rate = f64::from(limits.per_second.max(1));
        user.bucket = now.duration_since(user.at).as_secs_f64().mul_add(rate, user.bucket).min(burst);
        user.at = now;
        if user.bucket < 1.0 {
            let until = Duration::from_secs_f64((1.0 - user.bucket) / rate);
            return overload("too many requests of this user each second", "perSecond", until);
        }
        // Under the lock of the users, which every request takes: counting up and looking is one step.
        match lasting {
            Lasting::Request => {
                if user.requests >= limits.in_flight_per_user {
                    return overload("too many requests of this user at one time", "inFlightPerUser", LATER);
                }
                if self.requests.load(Ordering::Relaxed) >= limits.in_flight {
                    return overload("too many requests at one time", "inFlight", LATER);
                }
                user.requests += 1;
                self.requests.fetch_add(1, Ordering::Relaxed);
            }
            Lasting::Watch => {
                if user.watches >= limits.watches_per_user {
                    return overload("too many watches of this user", "watchesPerUser", LATER);
                }
                if self.watches.load(Ordering::Relaxed) >= limits.watches {
                    return overload("too many watches", "watches", LATER);
                }
                user.watches += 1;
                self.watches.fetch_add(1, Ordering::Relaxed);
            }
        }
        user.bucket -= 1.0;
        Ok(Pass { of: Arc::clone(self), user: Arc::clone(name), lasting, body: 0 })
    }

    fn users(&self) -> MutexGuard<'_, HashMap<Arc<str>, User>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bodies(&self) -> MutexGuard<'_, u64> {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes room: the user who has asked for nothing for the longest time among a few goes.
fn forget_one(users: &mut HashMap<Arc<str>, User>) {
    // A handful in the table's own order, which an attacker does not know: finding the very oldest costs a pass over all.
    let idle = users.iter().filter(|(_, user)| user.is_idle()).take(8);
    if let Some(name) = idle.min_by_key(|(_, user)| user.at).map(|(name, _)| Arc::clone(name)) {
        users.remove(&name);
    }
}

/// That a request is inside.
#[derive(Debug)]
pub(crate) struct Pass {
    of: Arc<Admission>,
    user: Arc<str>,
    lasting: Lasting,
    /// Bytes of the budget of bodies that it holds.
    body: u64,
}

impl Pass {
    /// Takes this many bytes of the budget of bodies, until it is dropped.
    pub(crate) fn take_body(&mut self, bytes: u64) -> Result<(), Refusal> {
        let most = self.of.limits.load().bodies_bytes;
        let mut held = self.of.bodies();
        // The first is let in whatever its size: `bodyBytes` bounds it.
        if *held > 0 && held.saturating_add(bytes) > most {
            let what = "too many bytes of requests at one time";
            return Err(Refusal::Overload { what, setting: "bodiesBytes", after: LATER });
        }
        *held = held.saturating_add(bytes);
        self.body = self.body.saturating_add(bytes);
        Ok(())
    }

    /// The whole body is there, and is this long: the rest of what was taken is given back.
    pub(crate) fn body_is(&mut self, bytes: u64) {
        let rest = self.body.saturating_sub(bytes);
        *self.of.bodies() -= rest;
        self.body -= rest;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.body_is(0);
        let mut users = self.of.users();
        // It is there: nobody who is inside is forgotten.
        let Some(user) = users.get_mut(&self.user) else { return };
        match self.lasting {
            Lasting::Request => {
                self.of.requests.fetch_sub(1, Ordering::Relaxed);
                user.requests -= 1;
            }
            Lasting::Watch => {
                self.of.watches.fetch_sub(1, Ordering::Relaxed);
                user.watches -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(change: impl FnOnce(&mut RequestLimits)) -> Arc<Admission> {
        let mut limits = RequestLimits::default();
        change(&mut limits);
        Arc::new(Admission::new(limits))
    }

    fn said<T>(result: Result<T, Refusal>) -> String {
        match result {
            Ok(_) => String::new(),
            Err(refusal) => refusal.to_string(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_taken_and_then_the_rate_holds() {
        let all = admission(|limits| (limits.per_second, limits.burst) = (2, 3));
        let (ann, bob) = (Arc::from("ann"), Arc::from("bob"));
        for _ in 0..3 {
            all.enter(&ann, Lasting::Request).expect("within the burst");
        }
        let Err(Refusal::Overload { after, .. }) = all.enter(&ann, Lasting::Request) else { panic!("let in") };
        assert_eq!(after, Duration::from_millis(500));
        all.enter(&bob, Lasting::Request).expect("another user has a bucket of their own");
        tokio::time::advance(after).await;
        all.enter(&ann, Lasting::Request).expect("half a second later");
        assert!(said(all.enter(&ann, Lasting::Watch)).contains("perSecond"));
        assert_eq!(all.counts(), (0, 0));
    }

    #[tokio::test]
    async fn what_is_inside_is_counted_by_user_and_together() {
        let all = admission(|limits| (limits.in_flight, limits.in_flight_per_user) = (3, 2));
        let (ann, bob): (Arc<str>, Arc<str>) = (Arc::from("ann"), Arc::from("bob"));
        let enter = |who| all.enter(who, Lasting::Request);
        let (a, b) = (enter(&ann).expect("in"), enter(&ann).expect("in"));
        assert!(said(enter(&ann)).contains("inFlightPerUser"));
        let c = enter(&bob).expect("in");
        assert!(said(enter(&bob)).contains("`requests.inFlight`"));
        // A watch is none of these.
        let watch = all.enter(&bob, Lasting::Watch).expect("in");
        assert_eq!(all.counts(), (3, 1));
        drop(a);
        let d = enter(&ann).expect("there is room again");
        drop((b, c, d, watch));
        assert_eq!(all.counts(), (0, 0));
    }

    #[tokio::test]
    async fn bodies_share_a_budget_and_give_back_what_they_did_not_need() {
        let all = admission(|limits| limits.bodies_bytes = 100);
        let user = Arc::from("ann");
        let pass = || all.enter(&user, Lasting::Request).expect("in");
        let (mut a, mut b, mut c) = (pass(), pass(), pass());
        a.take_body(90).expect("there is room");
        assert!(said(b.take_body(20)).contains("bodiesBytes"));
        a.body_is(80);
        b.take_body(20).expect("what was not needed is there again");
        drop((a, b));
        c.take_body(1_000).expect("one alone is bounded by `bodyBytes`");
        drop(c);
        assert_eq!(*all.bodies(), 0);
    }

    #[tokio::test]
    async fn as_many_users_as_there_may_be_and_none_that_is_inside_is_forgotten() {
        let all = admission(|limits| limits.watches = USERS * 2);
        let inside = all.enter(&Arc::from("inside"), Lasting::Watch).expect("in");
        for n in 0..USERS + 10 {
            drop(all.enter(&Arc::from(format!("user{n}")), Lasting::Request).expect("in"));
        }
        assert_eq!(all.users().len(), USERS);
        assert_eq!(all.users()["inside"].watches, 1);
        drop(inside);
    }
}
