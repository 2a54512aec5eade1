//! The process itself, by the names that every dashboard knows. From `/proc`; elsewhere there is less of it.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

#[derive(Debug)]
pub(super) struct Process {
    /// In seconds since 1970.
    started: f64,
}

impl Process {
    /// Of a process that starts now.
    pub(super) fn new() -> Self {
        Self { started: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() }
    }
}

/// What `/proc/self/stat` tells.
#[derive(Debug, PartialEq)]
struct Stat {
    cpu_seconds: f64,
    threads: u64,
    virtual_bytes: u64,
    resident_bytes: u64,
}

impl Stat {
    #[expect(clippy::cast_precision_loss, reason = "a process runs for less than 2^53 ticks")]
    fn parse(text: &str, ticks: u64, page: u64) -> Option<Self> {
        // The name of the program stands in parentheses, and may hold any character.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        // The fields of proc_pid_stat(5) from the third on.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_seconds: (number(14)? + number(15)?) as f64 / ticks.max(1) as f64,
            threads: number(20)?,
            virtual_bytes: number(23)?,
            resident_bytes: number(24)?.saturating_mul(page),
        })
    }
}

/// The soft limit of open files in `/proc/self/limits`.
fn most_files(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("Max open files"))?.split_ascii_whitespace().next()?.parse().ok()
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut add = |name: &str, help: &str, metric: &dyn EncodeMetric| {
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
        };
        let started = ConstGauge::new(self.started);
        add("process_start_time_seconds", "When the process started, in seconds since 1970.", &started)?;
        let (ticks, page) = (rustix::param::clock_ticks_per_second(), rustix::param::page_size() as u64);
        let stat = std::fs::read_to_string("/proc/self/stat").ok();
        if let Some(stat) = stat.and_then(|text| Stat::parse(&text, ticks, page)) {
            add(
                "process_cpu_seconds",
                "Time of processors that the process used.",
                &ConstCounter::new(stat.cpu_seconds),
            )?;
            let resident = ConstGauge::new(stat.resident_bytes);
            add("process_resident_memory_bytes", "Memory of the process that is in the machine's.", &resident)?;
            add("process_virtual_memory_bytes", "Address space of the process.", &ConstGauge::new(stat.virtual_bytes))?;
            add("process_threads", "Threads of the process.", &ConstGauge::new(stat.threads))?;
        }
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            // One of them is that of the listing.
            let open = ConstGauge::new(open.count().saturating_sub(1) as u64);
            add("process_open_fds", "Open file descriptors.", &open)?;
        }
        if let Some(most) = std::fs::read_to_string("/proc/self/limits").ok().and_then(|text| most_files(&text)) {
            add("process_max_fds", "File descriptors that may be open.", &ConstGauge::new(most))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_have_any_name() {
        let text =
            "7 (a) R 1 b)) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 123 4096000 300 18446744073709551615";
        let expected = Stat { cpu_seconds: 3.0, threads: 9, virtual_bytes: 4_096_000, resident_bytes: 300 * 4096 };
        assert_eq!(Stat::parse(text, 100, 4096), Some(expected));
        assert_eq!(Stat::parse("7 (a) R 1", 100, 4096), None);
        assert_eq!(Stat::parse("", 100, 4096), None);
    }

    #[test]
    fn the_soft_limit_of_files() {
        let text = "Limit                     Soft Limit           Hard Limit           Units\n\
                    Max processes             127235               127235               processes\n\
                    Max open files            1024                 524288               files\n";
        assert_eq!(most_files(text), Some(1024));
        assert_eq!(most_files(&text.replace("1024 ", "unlimited")), None);
    }
}
