//! The contract of stores, kept by the one in memory.

#[macro_use]
mod contract;

use std::sync::Arc;
use std::time::Duration;

use portico_scheduler::store::memory::FaultPlan;
use portico_scheduler::store::{Clock, MemoryStore, StoreLimits};

struct Memory(MemoryStore);

impl contract::Fixture for Memory {
    type Store = MemoryStore;

    fn new(limits: StoreLimits, lease: Duration, clock: Arc<dyn Clock>) -> Self {
        Self(MemoryStore::new(clock, limits, lease))
    }

    fn store(&self) -> MemoryStore {
        self.0.clone()
    }

    async fn restart(self) -> Self {
        Self(self.0.session(FaultPlan::default()))
    }
}

contract!(Memory);
