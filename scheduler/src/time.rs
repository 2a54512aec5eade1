//! Time as a value: whoever drives the scheduler says what time it is.

use std::ops::Add;
use std::time::Duration;

/// A point in time, in nanoseconds since an origin that the owner of the clock has chosen.
///
/// Never read from the machine in here: tests and simulations count it as they like. Good for 584 years.
///
/// ```
/// use std::time::Duration;
/// use portico_scheduler::time::Time;
/// let later = Time::default() + Duration::from_secs(2);
/// assert_eq!(later.since(Time::default()), Duration::from_secs(2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// Never.
    pub const MAX: Time = Time(u64::MAX);

    /// How long ago `earlier` was; zero when it is still to come.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    /// The point in time after this long; [`Time::MAX`] when there is none.
    fn add(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}
