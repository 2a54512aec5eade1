//! All that a run depends on.

use std::fmt;
use std::time::Duration;

/// All that a run depends on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// Schedulers.
    pub(crate) nodes: usize,
    pub(crate) packages: usize,
    /// How long clients and faults are at work. Then all is well, and the run goes on until nothing is to do.
    pub(crate) length: Duration,
    /// Between what clients do, on average.
    pub(crate) pause: Duration,
    /// Whether anything goes wrong.
    pub(crate) faults: bool,
    /// Clients do nothing but edits, each of another package.
    pub(crate) calm: bool,
}

impl Plan {
    pub(crate) fn new(seed: u64, nodes: usize) -> Self {
        let (length, pause) = (Duration::from_hours(1), Duration::from_secs(10));
        Self { seed, nodes, packages: 30, length, pause, faults: true, calm: false }
    }

    /// The reverse of printing it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<u64> = text.split(',').map(|number| number.trim().parse().ok()).collect::<Option<_>>()?;
        let &[seed, nodes, packages, length, pause, faults, calm] = numbers.as_slice() else { return None };
        let (nodes, packages) = (nodes as usize, packages as usize);
        let (length, pause) = (Duration::from_millis(length), Duration::from_millis(pause));
        Some(Self { seed, nodes, packages, length, pause, faults: faults != 0, calm: calm != 0 })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (length, pause) = (self.length.as_millis(), self.pause.as_millis());
        let (faults, calm) = (u8::from(self.faults), u8::from(self.calm));
        write!(f, "{},{},{},{length},{pause},{faults},{calm}", self.seed, self.nodes, self.packages)
    }
}
