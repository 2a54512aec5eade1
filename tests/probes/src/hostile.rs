//! Probes that take time or memory.

use std::hint::black_box;
use std::time::Duration;

use portico_fn::yaml::ParseLimits;
use portico_fn::{Output, ResourceList};

use crate::bytes::identity;

/// Waits `functionConfig.data.ms` milliseconds by the clock, then gives its input back.
pub(crate) fn sleep(input: Vec<u8>) -> Output {
    let list = ResourceList::parse(&input, &ParseLimits::default()).ok();
    let config = list.and_then(|list| list.function_config);
    let milliseconds = config.and_then(|config| config.string_at(&["data", "ms"]).parse().ok()).unwrap_or(0);
    std::thread::sleep(Duration::from_millis(milliseconds));
    identity(input)
}

/// Panics, as a function with a bug does.
pub(crate) fn panic(_: Vec<u8>) -> Output {
    panic!("no owner for {}", black_box("Service checkout"))
}

/// Computes for ever.
pub(crate) fn spin(_: Vec<u8>) -> Output {
    let mut n = 0_u64;
    loop {
        n = black_box(n.wrapping_add(1));
    }
}

/// Takes memory for ever, a mebibyte at a time, and touches it.
pub(crate) fn grow(_: Vec<u8>) -> Output {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    loop {
        taken.push(black_box(vec![1; 1 << 20]));
    }
}
