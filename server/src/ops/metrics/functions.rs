//! What each function costs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use portico_runtime::{FunctionReply, StepReport, StepState};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

/// Whoever came when there was no room for another name.
const OTHER: &str = "other";

/// Programs on the machine, where they are allowed: commands are no names.
const EXEC: &str = "exec";

/// What each function costs, by its image without tag and digest.
#[derive(Debug)]
pub(super) struct Functions {
    most: usize,
    by_image: RwLock<BTreeMap<Box<str>, Series>>,
}

#[derive(Debug)]
struct Series {
    passed: Counter,
    failed: Counter,
    seconds: Histogram,
    fuel: Counter,
    memory: Histogram,
}

impl Series {
    fn new() -> Self {
        Self {
            passed: Counter::default(),
            failed: Counter::default(),
            // From a millisecond to some four minutes, each four times the last.
            seconds: Histogram::new((0..10).map(|n| 0.001 * f64::from(1 << (2 * n)))),
            fuel: Counter::default(),
            // From 1 MiB to 4 GiB, each four times the last.
            memory: Histogram::new((0..7).map(|n| f64::from(1 << 20) * f64::from(1 << (2 * n)))),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "an amount of memory is far below 2^53")]
    fn add(&self, run: &Run) {
        if run.passed { &self.passed } else { &self.failed }.inc();
        self.seconds.observe(run.elapsed.as_secs_f64());
        self.fuel.inc_by(run.fuel);
        if let Some(memory) = run.memory {
            self.memory.observe(memory as f64);
        }
    }
}

/// What is counted of a function that ran.
struct Run {
    passed: bool,
    elapsed: Duration,
    fuel: u64,
    /// `None`: what a program of the machine uses is not known.
    memory: Option<u64>,
}

impl Functions {
    pub(super) fn new(most: usize) -> Self {
        Self { most, by_image: RwLock::default() }
    }

    /// A function of a pipeline has passed or failed.
    pub(super) fn step(&self, step: &StepReport) {
        let is_program = step.image.is_empty();
        let run = Run {
            passed: step.state == StepState::Passed,
            elapsed: step.elapsed,
            fuel: step.fuel,
            memory: (!is_program).then_some(step.peak_memory),
        };
        self.add(if is_program { EXEC } else { without_version(&step.image) }, &run);
    }

    /// A function by itself has passed or failed.
    pub(super) fn call(&self, reply: &FunctionReply) {
        let run =
            Run { passed: reply.passed(), elapsed: reply.elapsed, fuel: reply.fuel, memory: Some(reply.peak_memory) };
        self.add(without_version(&reply.image), &run);
    }

    fn add(&self, image: &str, run: &Run) {
        if let Some(series) = self.read().get(image) {
            return series.add(run);
        }
        let mut by_image = self.by_image.write().unwrap_or_else(PoisonError::into_inner);
        let image = if by_image.len() < self.most || by_image.contains_key(image) { image } else { OTHER };
        by_image.entry(image.into()).or_insert_with(Series::new).add(run);
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<Box<str>, Series>> {
        self.by_image.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An image without its tag and digest.
pub(super) fn without_version(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(image, _)| image);
    // A colon before the last slash is that of a port.
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image,
    }
}

impl Collector for Functions {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let by_image = self.read();
        let help = "Functions that ran, by how they ended.";
        let mut runs = encoder.encode_descriptor("portico_function_runs", help, None, MetricType::Counter)?;
        for (image, series) in &*by_image {
            for (outcome, count) in [("passed", &series.passed), ("failed", &series.failed)] {
                count.encode(runs.encode_family(&[("image", &**image), ("outcome", outcome)])?)?;
            }
        }
        let mut family = |name: &str, help: &str, kind, one: &dyn Fn(&Series, MetricEncoder<'_>) -> fmt::Result| {
            let mut encoder = encoder.encode_descriptor(name, help, None, kind)?;
            by_image.iter().try_for_each(|(image, series)| one(series, encoder.encode_family(&[("image", &**image)])?))
        };
        let help = "Time that a function ran.";
        family("portico_function_duration_seconds", help, MetricType::Histogram, &|s, e| s.seconds.encode(e))?;
        let help = "Fuel that a function used: about one for each WebAssembly instruction.";
        family("portico_function_fuel", help, MetricType::Counter, &|s, e| s.fuel.encode(e))?;
        let help = "The most linear memory that a run of a function had at one time.";
        family("portico_function_memory_bytes", help, MetricType::Histogram, &|s, e| s.memory.encode(e))
    }
}
