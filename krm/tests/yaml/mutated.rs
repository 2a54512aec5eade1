//! 100,000 mutated inputs: any bytes are read or refused, never a panic, a hang or a stack overflow.
//!
//! The seed is fixed: a failure comes again. What is accepted must also hold together: see `spans`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use portico_krm::yaml::{EmitOptions, ParseLimits, SourceFile, emit_document};

use crate::support::seeds;

/// How many inputs: 100,000, fifty times as many with `PORTICO_SOAK` (`cargo xtask soak`).
fn inputs() -> u32 {
    if std::env::var_os("PORTICO_SOAK").is_some() { 5_000_000 } else { 100_000 }
}

/// Marsaglia's xorshift: good enough to choose where to hit.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// Pieces that mean something to a YAML reader.
const PIECES: [&str; 40] = [
    "# c\n",
    " # c",
    "\n\n",
    "\n",
    " ",
    "  ",
    "\t",
    ":",
    ": ",
    "- ",
    "-",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\"",
    "'",
    "|\n",
    ">-\n",
    "|+2\n",
    "&a ",
    "*a",
    "!t ",
    "!!str ",
    "<<: ",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "%TAG ! x\n",
    "@",
    "\\",
    "é",
    "\u{2028}",
    "\u{85}",
    "\u{FEFF}",
    "\r\n",
    "\u{1F600}",
    "key: value\n",
];

fn mutate(random: &mut Random, seed: &str) -> Vec<u8> {
    let mut bytes = seed.as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(10) {
            0..=3 => {
                let piece = PIECES[random.below(PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
            4 | 5 => {
                bytes.drain(at..end);
            }
            6 => {
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            7 => {
                // Indents or outdents a line.
                let start = bytes[..at].iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
                if random.below(2) == 0 {
                    bytes.insert(start, b' ');
                } else if bytes.get(start) == Some(&b' ') {
                    bytes.remove(start);
                }
            }
            8 => bytes.truncate(at),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.below(256) as u8;
                }
            }
        }
    }
    bytes
}

#[test]
fn a_hundred_thousand_mutated_inputs_are_read_or_refused() {
    // Short ones: what breaks a reader is what stands beside what, not length.
    let seeds: Vec<String> = seeds().into_iter().filter(|seed| seed.len() < 2000).collect();
    let mut random = Random(0x5EED_0F9A_11DA_7A01);
    let limits = ParseLimits::default();
    let mut accepted = 0;
    let inputs = inputs();
    for n in 0..inputs {
        let seed = &seeds[random.below(seeds.len())];
        let input = mutate(&mut random, seed);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let Ok(file) = SourceFile::parse(&input, &limits) else { return false };
            for document in file.documents() {
                crate::spans::check(&document.tree);
                emit_document(&document.tree, &EmitOptions::default(), &mut String::new());
            }
            true
        }));
        let Ok(read) = outcome else { panic!("input {n} panics: {:?}", String::from_utf8_lossy(&input)) };
        accepted += u32::from(read);
    }
    println!("{accepted} of {inputs} inputs are YAML");
    assert!(accepted > inputs / 10, "the mutations only make rubbish: {accepted}");
}
