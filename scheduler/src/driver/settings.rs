//! What an operator can set of the driver.

use std::sync::Arc;
use std::time::Duration;

use super::meter::{Meter, Unmetered};
use crate::core;
use crate::dispatch::DispatchLimits;
use crate::events::EventLimits;

/// How the scheduler works. See `docs/scheduler.md`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The state machine: queue, quotas, quiet periods, backoff.
    pub core: core::Settings,
    /// The scheduler's own writes.
    pub dispatch: DispatchLimits,
    /// Events.
    pub events: EventLimits,
    /// How often everything unfinished is listed, to find triggers that were lost. Default: 5 minutes.
    pub sweep: Duration,
    /// Revisions of a page of such a listing. Default: 500.
    pub page: usize,
    /// How often the backend is asked for the digest of its configuration. Default: 5 s.
    pub configuration: Duration,
    /// How long to wait after a watch or a listing failed; twice as long after each further time, at most a hundred
    /// times as long. Default: 100 ms.
    pub reconnect: Duration,
    /// Who hears of what takes time. Default: nobody.
    pub meter: Arc<dyn Meter>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            core: core::Settings::default(),
            dispatch: DispatchLimits::default(),
            events: EventLimits::default(),
            sweep: Duration::from_mins(5),
            page: 500,
            configuration: Duration::from_secs(5),
            reconnect: Duration::from_millis(100),
            meter: Arc::new(Unmetered),
        }
    }
}
