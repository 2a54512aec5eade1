//! The scenarios of the shared reports, by their names, on the whole scheduler: core, driver, dispatcher and a store in
//! memory with faults. Time is tokio's, paused: a second costs nothing and is exact.

mod founding;
mod s50_burst_of_edits;
mod s51_stale_result_dropped;
mod s52_publish_waits_for_render;
mod s53_restart_loses_nothing;
mod s54_late_dependency;
mod s56_fair_between_tenants;
mod s57_slots_never_leak;
mod s59_no_busy_loop;
mod s61_slow_store;
mod shared;
mod threads;
mod world;
