//! The door in front of the pool.

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
    queue: Mutex<Queue>,
    returned: Condvar,
}

struct Queue {
    free: u32,
    waiting: u32,
}

/// Slots taken; they go back when it is dropped.
pub(crate) struct Permits {
    slots: Arc<Slots>,
    count: u32,
}

impl Slots {
    pub(crate) fn new(total: u32) -> Self {
        Self { queue: Mutex::new(Queue { free: total, waiting: 0 }), returned: Condvar::new() }
    }

    /// Whether someone waits: then whoever can give slots back should.
    pub(crate) fn wanted(&self) -> bool {
        self.queue().waiting > 0
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permits {
    pub(crate) fn none(slots: &Arc<Slots>) -> Self {
        Self { slots: Arc::clone(slots), count: 0 }
    }

    /// Takes one more slot if one is free and nobody is waiting for it.
    pub(crate) fn try_take(&mut self) -> bool {
        let mut queue = self.slots.queue();
        if queue.free == 0 || queue.waiting > 0 {
            return false;
        }
        queue.free -= 1;
        drop(queue);
        self.count += 1;
        true
    }

    /// Waits for a slot, not beyond the render's deadline. The caller holds none.
    pub(crate) fn take(&mut self, cancel: &CancelToken, at_most: Duration) -> Result<(), Stop> {
        debug_assert_eq!(self.count, 0, "waiting while holding slots");
        let end = Instant::now().checked_add(at_most);
        let slots = Arc::clone(&self.slots);
        let mut queue = slots.queue();
        queue.waiting += 1;
        let result = loop {
            if queue.free > 0 {
                queue.free -= 1;
                self.count += 1;
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
        queue.waiting -= 1;
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
        assert!(first.try_take());
        assert!(!Permits::none(&slots).try_take());

        let waiting = Arc::clone(&slots);
        let waiter = std::thread::spawn(move || {
            let mut permits = Permits::none(&waiting);
            permits.take(&CancelToken::new(), Duration::MAX).map(|()| permits.count)
        });
        while !slots.wanted() {
            std::thread::yield_now();
        }
        drop(first);
        assert_eq!(waiter.join().unwrap(), Ok(1));
        assert!(Permits::none(&slots).try_take());
    }

    #[test]
    fn waiting_ends_with_a_cancel_or_the_deadline() {
        let slots = Arc::new(Slots::new(0));
        let cancel = CancelToken::new();
        let late = Permits::none(&slots).take(&cancel, Duration::from_millis(1));
        assert_eq!(late, Err(Stop::Deadline(Deadline::Render)));
        cancel.cancel();
        assert_eq!(Permits::none(&slots).take(&cancel, Duration::MAX), Err(Stop::Cancelled));
        assert!(!slots.wanted());
    }
}
