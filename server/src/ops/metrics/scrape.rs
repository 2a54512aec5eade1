//! What is asked for at each scrape: how much waits, and what was counted since the start.

use std::fmt;
use std::sync::{Arc, OnceLock};

use portico_runtime::Engine;
use portico_scheduler::model::ErrorClass;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::Sources;
use crate::Scheduler;

/// As the value of a label.
pub(super) fn class(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Transient => "transient",
        ErrorClass::Permanent => "permanent",
        ErrorClass::Gone => "gone",
        ErrorClass::Superseded => "superseded",
        ErrorClass::Unclassified => "unclassified",
    }
}

#[derive(Debug)]
pub(super) struct Scraped {
    sources: Arc<OnceLock<Sources>>,
}

impl Scraped {
    pub(super) fn new(sources: Arc<OnceLock<Sources>>) -> Self {
        Self { sources }
    }
}

impl Collector for Scraped {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut to = To(encoder);
        to.gauges("portico_build", "The version that runs.", "version", [(env!("CARGO_PKG_VERSION"), 1_u64)])?;
        let Some(Sources { scheduler, engine }) = self.sources.get() else { return Ok(()) };
        queue(&mut to, scheduler)?;
        renders(&mut to, scheduler)?;
        writes(&mut to, scheduler)?;
        store(&mut to, scheduler)?;
        engine.as_ref().map_or(Ok(()), |engine| modules(&mut to, engine))
    }
}

/// Writes single values and families of one label.
struct To<'a>(DescriptorEncoder<'a>);

impl To<'_> {
    fn counter(&mut self, name: &str, help: &str, value: impl EncodeCounterValue) -> fmt::Result {
        ConstCounter::new(value).encode(self.0.encode_descriptor(name, help, None, MetricType::Counter)?)
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl EncodeGaugeValue) -> fmt::Result {
        ConstGauge::new(value).encode(self.0.encode_descriptor(name, help, None, MetricType::Gauge)?)
    }

    fn counters<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: [(&str, u64); N],
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        values
            .into_iter()
            .try_for_each(|(value, count)| ConstCounter::new(count).encode(family.encode_family(&[(label, value)])?))
    }

    fn gauges<const N: usize>(&mut self, name: &str, help: &str, label: &str, values: [(&str, u64); N]) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        values
            .into_iter()
            .try_for_each(|(value, count)| ConstGauge::new(count).encode(family.encode_family(&[(label, value)])?))
    }
}

/// The label that tells this work queue from others, for the names that come from Kubernetes.
const QUEUE: (&str, &str) = ("name", "renders");

fn queue(to: &mut To<'_>, scheduler: &Scheduler) -> fmt::Result {
    let lengths = scheduler.lengths();
    let states = [
        ("delayed", lengths.delayed),
        ("ready", lengths.ready),
        ("at_quota", lengths.at_quota),
        ("reserving", lengths.reserving),
        ("granted", lengths.granted),
        ("running", lengths.running),
    ];
    let states = states.map(|(state, count)| (state, count as u64));
    to.gauges("portico_queue_revisions", "Revisions in the queue, by what they wait for.", "state", states)?;
    let again = "Of those that run, the ones that will be rendered again afterwards.";
    to.gauge("portico_queue_again_revisions", again, lengths.again as u64)?;
    let oldest = scheduler.oldest().unwrap_or_default().as_secs_f64();
    to.gauge("portico_queue_oldest_seconds", "How long the one that waits longest for its turn has waited.", oldest)?;
    to.gauge("portico_workers", "Renders that may run at once.", scheduler.workers() as u64)?;
    let watching = u64::from(scheduler.is_watching());
    to.gauge("portico_watch_connected", "1 while the scheduler hears of the store's changes.", watching)?;

    let counters = scheduler.counters();
    let ready = (lengths.ready + lengths.at_quota + lengths.reserving + lengths.granted) as u64;
    to.gauges("workqueue_depth", "Revisions that wait for their turn.", QUEUE.0, [(QUEUE.1, ready)])?;
    let adds = [(QUEUE.1, counters.queued)];
    to.counters("workqueue_adds", "Revisions that were put into the queue.", QUEUE.0, adds)?;
    let retries = [(QUEUE.1, counters.retried)];
    to.counters("workqueue_retries", "Renders that are tried again after a failure.", QUEUE.0, retries)?;
    let running = scheduler.running();
    let seconds = [
        ("workqueue_unfinished_work_seconds", "For how long all renders that run have run, added up.", running.total),
        ("workqueue_longest_running_processor_seconds", "For how long the oldest render has run.", running.longest),
    ];
    for (name, help, value) in seconds {
        let mut family = to.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(value.as_secs_f64()).encode(family.encode_family(&[QUEUE])?)?;
    }
    Ok(())
}

fn renders(to: &mut To<'_>, scheduler: &Scheduler) -> fmt::Result {
    let counters = scheduler.counters();
    to.counter("portico_renders_started", "Renders that began.", counters.started)?;
    let outcomes = [
        ("succeeded", counters.succeeded),
        ("failed", counters.failed),
        ("superseded", counters.superseded),
        ("cancelled", counters.cancelled),
        ("conflict", counters.conflicts),
    ];
    to.counters("portico_renders", "What became of renders and of their results.", "outcome", outcomes)?;
    let all = [
        ErrorClass::Transient,
        ErrorClass::Permanent,
        ErrorClass::Gone,
        ErrorClass::Superseded,
        ErrorClass::Unclassified,
    ];
    let failures = counters.failures;
    let failures: [(&str, u64); 5] = std::array::from_fn(|n| (class(all[n]), failures[n]));
    to.counters("portico_render_errors", "Failures that are no function's own.", "class", failures)?;
    to.counter("portico_render_retries", "Renders that are tried again after such a failure.", counters.retried)?;
    let overflowed = "Times that a revision was left in the store as the queue was full.";
    to.counter("portico_queue_overflows", overflowed, counters.overflowed)?;
    to.counter("portico_sweep_found", "Lost triggers that a sweep found.", counters.swept)?;
    to.counter("portico_scheduler_events", "What the scheduler heard of: each is a turn.", counters.events)
}

fn writes(to: &mut To<'_>, scheduler: &Scheduler) -> fmt::Result {
    let counters = scheduler.write_counters();
    let outcomes = [
        ("executed", counters.executed),
        ("skipped", counters.skipped),
        ("overwritten", counters.overwritten),
        ("failed", counters.failed),
    ];
    to.counters("portico_writes", "Writes of the scheduler's own, by what became of them.", "outcome", outcomes)?;
    to.counter("portico_writes_submitted", "Writes that the scheduler wanted.", counters.submitted)?;
    to.counter("portico_writes_sent", "Writes that went to the store, further attempts included.", counters.sent)?;
    to.counter("portico_writes_retried", "Attempts after a first one.", counters.retried)?;
    to.counter("portico_writes_conflicts", "Results that the store refused for newer content.", counters.conflicts)?;
    to.counter("portico_writes_refused", "Writes for which there was no room.", counters.refused)?;
    let unwatched = "Writes that failed for good with nobody waiting: the sweep finds what they leave.";
    to.counter("portico_writes_failed_unwatched", unwatched, counters.failed_unwatched)?;
    let stale = "Notifications of a state that was replaced already.";
    to.counter("portico_watch_stale_notifications", stale, counters.stale_notifications)?;
    let gauges = scheduler.write_gauges();
    let states = [("in_flight", gauges.in_flight as u64), ("waiting", gauges.waiting as u64)];
    to.gauges("portico_writes_pending", "Writes that are sent and not answered, and that wait.", "state", states)?;
    to.gauge("portico_writes_pending_bytes", "Bytes of files in those writes.", gauges.bytes)
}

fn store(to: &mut To<'_>, scheduler: &Scheduler) -> fmt::Result {
    let stats = scheduler.store().stats();
    to.counter("portico_store_writes", "Writes that the store answered.", stats.writes)?;
    to.counter("portico_store_commits", "Transactions on disk.", stats.commits)?;
    to.counter("portico_store_refusals", "Writes that the store refused.", stats.refused)?;
    to.counter("portico_store_reopened", "Times that the file was opened anew after a failure.", stats.reopened)?;
    to.gauge("portico_store_largest_batch", "Most writes of one transaction since the start.", stats.largest_batch)
}

fn modules(to: &mut To<'_>, engine: &Engine) -> fmt::Result {
    let counts = engine.module_counts();
    let results =
        [("hit", counts.hits), ("disk", counts.from_disk), ("miss", counts.misses.saturating_sub(counts.from_disk))];
    let help = "Requests for a module: had in memory, mapped from the disk, or made ready.";
    to.counters("portico_module_cache_requests", help, "result", results)?;
    to.counter("portico_module_compilations", "Modules that were compiled.", engine.compilations())
}
