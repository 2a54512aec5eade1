//! The time by which a render is to have ended.

use std::time::Duration;

use portico_runtime::{Cause, LimitName, Limits, StepReport};
use portico_scheduler::core::Outcome;
use portico_scheduler::driver::Attempt;
use portico_scheduler::model::{Ending, Reason};

use super::time::rfc3339;
use super::wishes::RENDER_BY;

/// A time that is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadline {
    by_ms: u64,
    left: Duration,
    /// Whether it comes before the limit of the render's time.
    first: bool,
}

impl Deadline {
    /// The time `by`, seen now, both in milliseconds since 1970; how a render ends that is over before it begins.
    pub(super) fn at(by_ms: u64, now_ms: u64) -> Result<Self, Ending> {
        match by_ms.checked_sub(now_ms).filter(|left| *left > 0) {
            Some(left) => Ok(Self { by_ms, left: Duration::from_millis(left), first: false }),
            None => {
                Err(exceeded(by_ms, "that had passed before its turn came; for a new try set a later one, or none"))
            }
        }
    }

    /// Takes time off a render's limits where they are longer.
    pub(super) fn bound(&mut self, limits: &mut Limits) {
        self.first = self.left < limits.render_time;
        limits.render_time = limits.render_time.min(self.left);
    }

    /// Says of a render that it was stopped by this, where it was. What was done in time, or failed by itself, stays what
    /// it is.
    pub(super) fn judge(&self, attempt: &mut Attempt) {
        let stopped = |step: &StepReport| step.cause == Some(Cause::Limit(LimitName::RenderTime));
        if !self.first || !attempt.steps.iter().any(stopped) {
            return;
        }
        if let Outcome::Rendered { ending, .. } = &mut attempt.outcome
            && !ending.rendered
        {
            *ending = exceeded(self.by_ms, &format!("that came first: {}", ending.message));
            attempt.message.clone_from(&ending.message);
        }
    }
}

fn exceeded(by_ms: u64, what: &str) -> Ending {
    let text = format!("the render was to have ended by {} (annotation `{RENDER_BY}`), and {what}", rfc3339(by_ms));
    Ending::failure(Reason::DeadlineExceeded, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_of_both_ends_holds() {
        let mut limits = Limits { render_time: Duration::from_secs(10), ..Limits::default() };
        let mut late = Deadline::at(61_000, 1_000).unwrap();
        late.bound(&mut limits);
        assert_eq!((limits.render_time, late.first), (Duration::from_secs(10), false));
        let mut soon = Deadline::at(1_500, 1_000).unwrap();
        soon.bound(&mut limits);
        assert_eq!((limits.render_time, soon.first), (Duration::from_millis(500), true));
        limits.render_time = Duration::MAX;
        late.bound(&mut limits);
        assert_eq!((limits.render_time, late.first), (Duration::from_mins(1), true));
    }

    #[test]
    fn what_has_passed_is_told() {
        for now in [60_000, 60_001, u64::MAX] {
            let ending = Deadline::at(60_000, now).unwrap_err();
            assert_eq!((ending.rendered, ending.reason), (false, Reason::DeadlineExceeded));
            assert!(ending.message.contains("1970-01-01T00:01:00.000Z") && ending.message.contains(RENDER_BY));
        }
    }
}
