//! What a compiling child says in the end, sealed: a word, what compiled it, how it went, length, payload, checksum.
//!
//! The seal guards against an answer that breaks off and against a program of another version. It proves nothing about the
//! code in it: the compiler, in a process of its own or not, is trusted with what it makes.

use crate::child::last_words;

/// Changes when the form of requests or answers does.
const MAGIC: &[u8; 8] = b"prtcomp\x01";
const HEAD: usize = 8 + 8 + 1 + 8;
const CHECKSUM: usize = 4;

/// Bytes of an answer on top of its payload.
pub(super) const OVERHEAD: usize = HEAD + CHECKSUM;

/// How it went.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Compiled code.
    Code(Vec<u8>),
    /// The module breaks a rule of WebAssembly: which.
    Invalid(String),
    /// The compiler gave up: why.
    Failed(String),
}

/// Why bytes are no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// They are incomplete or damaged.
    Broken,
    /// They come from a compiler of another version or with other settings.
    Foreign,
}

impl Answer {
    /// Seals the answer of the compiler that `compatibility` stands for.
    pub(super) fn encode(&self, compatibility: u64) -> Vec<u8> {
        let (kind, payload) = match self {
            Self::Code(code) => (0, code.as_slice()),
            Self::Invalid(text) => (1, text.as_bytes()),
            Self::Failed(text) => (2, text.as_bytes()),
        };
        let mut bytes = Vec::with_capacity(payload.len() + OVERHEAD);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&compatibility.to_le_bytes());
        bytes.push(kind);
        bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
        bytes.extend_from_slice(payload);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Breaks the seal of an answer, which must come from a compiler like ours.
    pub(super) fn decode(mut bytes: Vec<u8>, compatibility: u64) -> Result<Self, Unreadable> {
        if bytes.len() < OVERHEAD || !bytes.starts_with(MAGIC) {
            // The start of another version's word is no damage.
            let foreign = bytes.len() >= MAGIC.len() && bytes.starts_with(&MAGIC[..7]) && bytes[7] != MAGIC[7];
            return Err(if foreign { Unreadable::Foreign } else { Unreadable::Broken });
        }
        let checksum = bytes.split_off(bytes.len() - CHECKSUM);
        if crc32fast::hash(&bytes).to_le_bytes() != checksum[..] {
            return Err(Unreadable::Broken);
        }
        if bytes[8..16] != compatibility.to_le_bytes() {
            return Err(Unreadable::Foreign);
        }
        let kind = bytes[16];
        if bytes[17..HEAD] != ((bytes.len() - HEAD) as u64).to_le_bytes() {
            return Err(Unreadable::Broken);
        }
        let payload = bytes.split_off(HEAD);
        match kind {
            0 => Ok(Self::Code(payload)),
            1 => Ok(Self::Invalid(last_words(&payload))),
            2 => Ok(Self::Failed(last_words(&payload))),
            _ => Err(Unreadable::Broken),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_back_as_it_was() {
        for (answer, again) in [
            (Answer::Code(vec![1, 2, 3]), Answer::Code(vec![1, 2, 3])),
            (Answer::Code(Vec::new()), Answer::Code(Vec::new())),
            (Answer::Invalid("unknown type".into()), Answer::Invalid("unknown type".into())),
            (Answer::Failed("bad\x1b[2J\nline".into()), Answer::Failed("bad [2J line".into())),
        ] {
            assert_eq!(Answer::decode(answer.encode(7), 7), Ok(again));
        }
    }

    #[test]
    fn a_damaged_or_shortened_answer_is_no_answer() {
        let whole = Answer::Code(b"machine code".to_vec()).encode(7);
        for length in 0..whole.len() {
            assert_eq!(Answer::decode(whole[..length].to_vec(), 7), Err(Unreadable::Broken), "{length}");
        }
        for position in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[position] ^= 0x40;
            assert!(Answer::decode(damaged, 7).is_err(), "{position}");
        }
        let longer = [&whole[..], b"x"].concat();
        assert_eq!(Answer::decode(longer, 7), Err(Unreadable::Broken));
    }

    #[test]
    fn another_compilers_answer_is_told_from_a_broken_one() {
        let mut answer = Answer::Code(b"code".to_vec()).encode(7);
        assert_eq!(Answer::decode(answer.clone(), 8), Err(Unreadable::Foreign));
        answer[7] = 2;
        assert_eq!(Answer::decode(answer, 7), Err(Unreadable::Foreign));
    }
}
