//! The door in front of the pool.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::state::Stop;
use crate::cancel::CancelToken;
use crate::error::Deadline;

/// How often someone who waits for a slot looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(5);

/// Counts the pool's free slots, since a pool that runs dry would fail whoever comes next.
///
/// Nobody waits here while holding slots, so nobody waits for ever on someone who waits.
pub(crate) struct Slots {
    total: u32,
    queue: Mutex<Queue>,
    returned: Condvar,
}

struct Queue {
    free: u32,
    /// Those who wait, in the order in which they came. Only the first may take: who needs several slots at once would
    /// wait for ever behind others who need one.
    waiting: VecDeque<u64>,
    /// The next one's number.
    next: u64,
}

/// Slots taken; they go back when it is dropped.
pub(crate) struct Permits {
    slots: Arc<Slots>,
    count: u32,
}

impl Slots {
    pub(crate) fn new(total: u32) -> Self {
        let queue = Queue { free: total, waiting: VecDeque::new(), next: 0 };
        Self { total, queue: Mutex::new(queue), returned: Condvar::new() }
    }

    /// All slots, free or not.
    pub(crate) fn total(&self) -> u32 {
        self.total
    }

    /// Whether someone waits: then whoever can give slots back should.
    pub(crate) fn wanted(&self) -> bool {
        !self.queue().waiting.is_empty()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permits {
    pub(crate) fn none(slots: &Arc<Slots>) -> Self {
        Self { slots: Arc::clone(slots), count: 0 }
    }

    /// Takes so many more slots if they are free and nobody is waiting for them.
    pub(crate) fn try_take(&mut self, count: u32) -> bool {
        let mut queue = self.slots.queue();
        if queue.free < count || !queue.waiting.is_empty() {
            return false;
        }
        queue.free -= count;
        drop(queue);
        self.count += count;
        true
    }

    /// Waits for so many slots, at most all there are, and not beyond the render's deadline. The caller holds none.
    pub(crate) fn take(&mut self, count: u32, cancel: &CancelToken, at_most: Duration) -> Result<(), Stop> {
        debug_assert_eq!(self.count, 0, "waiting while holding slots");
        let end = Instant::now().checked_add(at_most);
        let slots = Arc::clone(&self.slots);
        let mut queue = slots.queue();
        let number = queue.next;
        queue.next += 1;
        queue.waiting.push_back(number);
        let result = loop {
            if queue.free >= count && queue.waiting.front() == Some(&number) {
                queue.free -= count;
                self.count += count;
                break Ok(());
            }
            if cancel.is_cancelled() {
                break Err(Stop::Cancelled);
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                break Err(Stop::Deadline(Deadline::Render));
            }
            queue = slots.returned.wait_timeout(queue, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        };
        queue.waiting.retain(|waiting| *waiting != number);
        drop(queue);
        // There may be enough for the next one.
        slots.returned.notify_all();
        result
    }
}

impl Drop for Permits {
    fn drop(&mut self) {
        if self.count > 0 {
            self.slots.queue().free += self.count;
            self.slots.returned.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_back_when_dropped_and_go_to_those_who_wait() {
        let slots = Arc::new(Slots::new(1));
        let mut first = Permits::none(&slots);
        assert!(first.try_take(1));
        assert!(!Permits::none(&slots).try_take(1));

        let waiting = Arc::clone(&slots);
        let waiter = std::thread::spawn(move || {
            let mut permits = Permits::none(&waiting);
            permits.take(1, &CancelToken::new(), Duration::MAX).map(|()| permits.count)
        });
        while !slots.wanted() {
            std::thread::yield_now();
        }
        drop(first);
        assert_eq!(waiter.join().unwrap(), Ok(1));
        assert!(Permits::none(&slots).try_take(1));
    }

    #[test]
    fn who_needs_several_slots_is_not_overtaken() {
        let slots = Arc::new(Slots::new(2));
        let mut first = Permits::none(&slots);
        assert!(first.try_take(1));
        let waiting = Arc::clone(&slots);
        let waiter = std::thread::spawn(move || {
            let mut permits = Permits::none(&waiting);
            permits.take(2, &CancelToken::new(), Duration::MAX).map(|()| permits.count)
        });
        while !slots.wanted() {
            std::thread::yield_now();
        }
        // One is free, but not for those who came later.
        assert!(!Permits::none(&slots).try_take(1));
        let late = Permits::none(&slots).take(1, &CancelToken::new(), Duration::from_millis(1));
        assert_eq!(late, Err(Stop::Deadline(Deadline::Render)));
        drop(first);
        assert_eq!(waiter.join().unwrap(), Ok(2));
        assert!(Permits::none(&slots).try_take(2));
    }

    #[test]
    fn waiting_ends_with_a_cancel_or_the_deadline() {
        let slots = Arc::new(Slots::new(0));
        let cancel = CancelToken::new();
        let late = Permits::none(&slots).take(1, &cancel, Duration::from_millis(1));
        assert_eq!(late, Err(Stop::Deadline(Deadline::Render)));
        cancel.cancel();
        assert_eq!(Permits::none(&slots).take(1, &cancel, Duration::MAX), Err(Stop::Cancelled));
        assert!(!slots.wanted());
    }
}
