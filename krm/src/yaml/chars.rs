//! Classes of bytes and characters of YAML 1.1, as libyaml reads them.
use super::error::{Fault, Mark, Scan};

/// Space, tab, line feed, carriage return; the end of the text reads as 0 and counts too.
pub(super) const BLANKZ: u8 = 1;
/// `:`
pub(super) const COLON: u8 = 2;
/// `,` `?` `[` `]` `{` `}`: end a plain scalar in a flow collection.
pub(super) const FLOW: u8 = 4;
/// First byte of NEL, LS or PS, the line breaks outside ASCII.
pub(super) const WIDE_BREAK: u8 = 8;
/// May stand in an anchor, a tag handle or a directive's name.
pub(super) const WORD: u8 = 16;
/// May stand in a tag's URI, beside `WORD`.
pub(super) const URI: u8 = 32;
/// May not start a plain scalar (`-`, `?` and `:` may, depending on what follows). A tab is one where only spaces may
/// indent.
pub(super) const INDICATOR: u8 = 64;

pub(super) static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0u8; 256];
    let sets: [(&[u8], u8); 6] = [
        (b"\0\t\n\r ", BLANKZ),
        (b":", COLON),
        (b",?[]{}", FLOW),
        (b"\xC2\xE2", WIDE_BREAK),
        (b";/?:@&=+$,.!~*'()[]%", URI),
        (b"\t-?:,[]{}#&*!|>'\"%@`", INDICATOR),
    ];
    let mut s = 0;
    while s < sets.len() {
        let mut i = 0;
        while i < sets[s].0.len() {
            table[sets[s].0[i] as usize] |= sets[s].1;
            i += 1;
        }
        s += 1;
    }
    let mut b = 0;
    while b < 256 {
        let c = b as u8;
        if c.is_ascii_alphanumeric() || c == b'_' || c == b'-' {
            table[b] |= WORD;
        }
        b += 1;
    }
    table
}

/// True when the byte belongs to one of the classes.
pub(super) fn is(byte: u8, classes: u8) -> bool {
    CLASS[byte as usize] & classes != 0
}

/// Space or tab.
pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// What one pass over a text learns about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Only ASCII: columns are bytes.
    pub(super) ascii: bool,
    /// The only line break is the line feed.
    pub(super) simple_breaks: bool,
}

/// Checks that a text holds only the characters that YAML 1.1 allows.
pub(super) fn survey(src: &str) -> Scan<Facts> {
    let bytes = src.as_bytes();
    let mut facts = Facts { ascii: true, simple_breaks: true };
    let mut at = 0;
    for block in bytes.chunks(64) {
        // No early exit inside the block: the compiler turns this into a few vector instructions.
        let odd = block.iter().fold(false, |odd, b| odd | (b.wrapping_sub(0x20) >= 0x5F && *b != b'\n'));
        if odd {
            look_closer(src, at, block.len(), &mut facts)?;
        }
        at += block.len();
    }
    Ok(facts)
}

fn look_closer(src: &str, start: usize, len: usize, facts: &mut Facts) -> Scan<()> {
    let mut from = start;
    while !src.is_char_boundary(from) {
        from += 1;
    }
    for (offset, c) in src[from..].char_indices() {
        if from + offset >= start + len {
            break;
        }
        match c {
            '\t' | '\n' | ' '..='~' => {}
            '\r' => facts.simple_breaks = false,
            '\u{85}' | '\u{2028}' | '\u{2029}' => *facts = Facts { ascii: false, simple_breaks: false },
            '\u{A0}'..='\u{FFFD}' | '\u{10000}'.. => facts.ascii = false,
            _ => {
                let mark = Mark { pos: (from + offset) as u32, line: 0 };
                return Err(Fault::lineless(mark, "control characters are not allowed"));
            }
        }
    }
    Ok(())
}
