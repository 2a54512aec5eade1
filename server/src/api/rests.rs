//! What is left of lists that clients read page by page.
//!
//! All pages of a list are of one instant, as Kubernetes promises: the first one keeps the rest, bounded in number and time,
//! under a token that nobody can guess.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portico_scheduler::model::ObjectVersion;

use super::cache::Entry;
use super::status::Status;

/// What a list was asked for: its rest is given to the same question only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) path: String,
    pub(super) labels: String,
    pub(super) fields: String,
    pub(super) user: Arc<str>,
}

/// A list, whole, of one instant.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub(super) entries: Arc<Vec<Entry>>,
    pub(super) version: ObjectVersion,
}

#[derive(Debug)]
struct Rest {
    id: u128,
    question: Question,
    listed: Listed,
    since: Instant,
}

#[derive(Debug, Default)]
struct Inner {
    /// The oldest first.
    rests: VecDeque<Rest>,
    entries: usize,
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Rests {
    inner: Mutex<Inner>,
    max: usize,
    age: Duration,
}

impl Rests {
    pub(super) fn new(max: usize, age: Duration) -> Self {
        Self { inner: Mutex::default(), max, age }
    }

    /// Keeps a list, and gives the token for what comes after the first `offset`; `None` where it is too long to keep.
    pub(super) fn keep(&self, question: Question, listed: Listed, offset: usize, now: Instant) -> Option<String> {
        let id = uuid::Uuid::new_v4().as_u128();
        let mut inner = self.lock(now);
        if listed.entries.len() > self.max {
            return None;
        }
        inner.entries += listed.entries.len();
        inner.rests.push_back(Rest { id, question, listed, since: now });
        while inner.entries > self.max && inner.drop_oldest() {}
        Some(token(id, offset))
    }

    /// The list that a token is of, where its page begins, and the token of the page after `limit` more.
    pub(super) fn find(
        &self,
        text: &str,
        question: &Question,
        now: Instant,
    ) -> Result<(Listed, usize, impl Fn(usize) -> String + use<>), Status> {
        let Some((id, offset)) = read(text) else {
            return Err(Status::bad_request("continue: the token is not one that this server gave"));
        };
        let inner = self.lock(now);
        let rest = inner.rests.iter().find(|rest| rest.id == id && rest.question == *question);
        let expired = "The provided continue parameter is too old to display a consistent list result. You can start a new \
                       list without the continue parameter.";
        let rest = rest.ok_or_else(|| Status::expired(expired))?;
        Ok((rest.listed.clone(), offset, move |offset| token(id, offset)))
    }

    fn lock(&self, now: Instant) -> std::sync::MutexGuard<'_, Inner> {
        // Nothing panics while it is held.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        while inner.rests.front().is_some_and(|rest| now.duration_since(rest.since) > self.age) && inner.drop_oldest() {
        }
        inner
    }
}

impl Inner {
    fn drop_oldest(&mut self) -> bool {
        let Some(rest) = self.rests.pop_front() else { return false };
        self.entries -= rest.listed.entries.len();
        true
    }
}

fn token(id: u128, offset: usize) -> String {
    let mut bytes = [0; 24];
    bytes[..16].copy_from_slice(&id.to_be_bytes());
    bytes[16..].copy_from_slice(&(offset as u64).to_be_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

fn read(token: &str) -> Option<(u128, usize)> {
    let bytes: [u8; 24] = URL_SAFE_NO_PAD.decode(token).ok()?.try_into().ok()?;
    let (id, offset) = bytes.split_at(16);
    let offset = u64::from_be_bytes(offset.try_into().ok()?);
    Some((u128::from_be_bytes(id.try_into().ok()?), usize::try_from(offset).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(path: &str) -> Question {
        Question { path: path.into(), labels: String::new(), fields: String::new(), user: "u".into() }
    }

    fn listed(length: usize) -> Listed {
        let entry = Entry::sample();
        Listed { entries: Arc::new(vec![entry; length]), version: ObjectVersion(7) }
    }

    #[test]
    fn a_rest_is_found_by_the_same_question_until_it_is_too_old() {
        let (rests, now) = (Rests::new(10, Duration::from_secs(5)), Instant::now());
        let token = rests.keep(question("a"), listed(4), 3, now).unwrap();
        let (found, offset, _) = rests.find(&token, &question("a"), now).unwrap();
        assert_eq!((found.version.0, found.entries.len(), offset), (7, 4, 3));
        assert_eq!(rests.find(&token, &question("b"), now).err().unwrap().code, 410);
        assert_eq!(rests.find("x", &question("a"), now).err().unwrap().code, 400);
        let later = now + Duration::from_secs(6);
        let error = rests.find(&token, &question("a"), later).err().unwrap();
        assert_eq!((error.code, &*error.reason), (410, "Expired"));
    }

    #[test]
    fn rests_are_bounded_and_the_oldest_goes_first() {
        let (rests, now) = (Rests::new(10, Duration::from_secs(5)), Instant::now());
        let first = rests.keep(question("a"), listed(6), 0, now).unwrap();
        let second = rests.keep(question("a"), listed(6), 0, now).unwrap();
        assert!(rests.find(&first, &question("a"), now).is_err());
        assert!(rests.find(&second, &question("a"), now).is_ok());
        assert!(rests.keep(question("a"), listed(11), 0, now).is_none(), "longer than all room");
    }
}
