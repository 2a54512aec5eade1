//! What one run of a function has: its input, its output, its arguments.

use super::descriptors::Descriptors;
use crate::limits::StepLimits;
use crate::sandbox::{Invocation, Stop};

/// The seed of every run's random numbers. Any number would do; what matters is that it stays.
const SEED: u64 = 0x706f_7274_6963_6f21;

/// The most stdout that is set aside at the first write.
const FIRST_STDOUT: usize = 64 << 20;

/// The largest buffer that is kept from one run to the next.
const LARGEST_SPARE: usize = 8 << 20;

/// The world of one run.
#[derive(Default)]
pub(crate) struct Context {
    pub(crate) args: Strings,
    pub(crate) env: Strings,
    stdin: Vec<u8>,
    stdin_read: usize,
    stdin_total: usize,
    stdout: Vec<u8>,
    stdout_limit: u64,
    /// A buffer that nobody needs any more: stdin's, once it was read.
    spare: Vec<u8>,
    stderr: Stderr,
    pub(crate) random: Random,
    pub(crate) descriptors: Descriptors,
}

/// What was kept of stderr.
#[derive(Default)]
pub(crate) struct Stderr {
    pub(crate) kept: Vec<u8>,
    pub(crate) dropped: u64,
    limit: u64,
}

/// The descriptors that every function has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdin,
    Stdout,
    Stderr,
}

impl Context {
    /// The world of a call. `spare` is a buffer from the run before.
    pub(crate) fn new(call: Invocation, limits: &StepLimits, spare: Vec<u8>) -> Self {
        let Invocation { name, args, grants, stdin, limits: _ } = call;
        Self {
            spare,
            args: Strings::new(std::iter::once(name).chain(args)),
            env: Strings::new(grants.env().iter().map(|(name, value)| format!("{name}={value}"))),
            descriptors: Descriptors::new(grants.directories()),
            stdin_total: stdin.len(),
            stdin,
            stdout_limit: limits.stdout,
            stderr: Stderr { limit: limits.stderr, ..Stderr::default() },
            ..Self::default()
        }
    }

    /// Bytes of stdin that were not read yet.
    pub(crate) fn stdin_left(&self) -> usize {
        self.stdin.len() - self.stdin_read
    }

    /// Reads as much as there is and fits.
    pub(crate) fn read_stdin(&mut self, into: &mut [u8]) -> usize {
        let left = &self.stdin[self.stdin_read..];
        let count = left.len().min(into.len());
        into[..count].copy_from_slice(&left[..count]);
        self.stdin_read += count;
        if self.stdin_left() == 0 {
            // Nobody reads it again, and it may be tens of megabytes: room for the output, which mostly
            // begins when all input was read. Fresh pages from the system would cost more than the copy.
            let mut read = std::mem::take(&mut self.stdin);
            read.clear();
            if read.capacity() > self.spare.capacity() {
                self.spare = read;
            }
            self.stdin_read = 0;
        }
        count
    }

    /// Makes room on stdout for this many bytes, or ends the function.
    pub(crate) fn reserve_stdout(&mut self, count: usize) -> Result<(), Stop> {
        let total = self.stdout.len() as u64 + count as u64;
        if total > self.stdout_limit {
            return Err(Stop::StdoutFull);
        }
        if self.stdout.capacity() == 0 {
            self.stdout = std::mem::take(&mut self.spare);
            // A function's output is mostly as long as its input.
            self.stdout.reserve(count.max(self.stdin_total.min(FIRST_STDOUT)));
        }
        Ok(())
    }

    pub(crate) fn write_stdout(&mut self, bytes: &[u8]) {
        self.stdout.extend_from_slice(bytes);
    }

    pub(crate) fn write_stderr(&mut self, bytes: &[u8]) {
        let room = self.stderr.limit.saturating_sub(self.stderr.kept.len() as u64);
        let kept = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        self.stderr.kept.extend_from_slice(&bytes[..kept]);
        self.stderr.dropped += (bytes.len() - kept) as u64;
    }

    /// Stdout, stderr and a buffer for the next run, when this one is over. What is left of the context
    /// holds nothing large.
    pub(crate) fn take_output(&mut self) -> (Vec<u8>, Stderr, Vec<u8>) {
        let done = std::mem::take(self);
        let spare = if done.spare.capacity() <= LARGEST_SPARE { done.spare } else { Vec::new() };
        (done.stdout, done.stderr, spare)
    }
}

/// Strings as C programs get them: one after the other, each with a zero byte, and where each begins.
#[derive(Default)]
pub(crate) struct Strings {
    pub(crate) bytes: Vec<u8>,
    pub(crate) starts: Vec<u32>,
}

impl Strings {
    fn new(strings: impl Iterator<Item = String>) -> Self {
        let mut all = Self::default();
        for string in strings {
            all.starts.push(all.bytes.len() as u32);
            all.bytes.extend_from_slice(string.as_bytes());
            all.bytes.push(0);
        }
        all
    }
}

/// Random numbers that are the same in every run (SplitMix64): what hash tables and temporary names
/// need, and nothing to keep a secret with.
pub(crate) struct Random(u64);

impl Default for Random {
    fn default() -> Self {
        Self(SEED)
    }
}

impl Random {
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^= mixed >> 31;
            chunk.copy_from_slice(&mixed.to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_are_the_same_in_every_run() {
        let (mut first, mut second) = ([0; 13], [0; 13]);
        Random::default().fill(&mut first);
        Random::default().fill(&mut second);
        assert_eq!(first, second);
        assert_ne!(first, [0; 13]);
    }

    #[test]
    fn random_numbers_follow_the_published_generator() {
        // The generator's own reference values for seed 1234567.
        let mut bytes = [0; 16];
        Random(1_234_567).fill(&mut bytes);
        let words: Vec<u64> = bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn input_that_was_read_makes_room_for_the_output() {
        let call = Invocation { stdin: vec![1; 1000], ..Invocation::default() };
        let address = call.stdin.as_ptr();
        let mut context = Context::new(call, &crate::Limits::default().step(), Vec::new());
        assert_eq!(context.read_stdin(&mut [0; 2000]), 1000);
        assert_eq!(context.stdin_left(), 0);
        context.reserve_stdout(3).unwrap();
        context.write_stdout(b"out");
        let (stdout, _, spare) = context.take_output();
        assert_eq!((stdout.as_slice(), stdout.as_ptr(), spare.capacity()), (&b"out"[..], address, 0));
    }

    #[test]
    fn stderr_beyond_its_bound_is_counted() {
        let limits = crate::Limits { stderr: 4, ..crate::Limits::default() };
        let mut context = Context::new(Invocation::default(), &limits.step(), Vec::new());
        context.write_stderr(b"abc");
        context.write_stderr(b"def");
        let (_, stderr, _) = context.take_output();
        assert_eq!((stderr.kept.as_slice(), stderr.dropped), (&b"abcd"[..], 2));
    }
}
