//! Durations, byte sizes and counts on the command line.

use std::time::Duration;

/// A limit that is set to a value or switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound<T> {
    /// Switched off.
    Unlimited,
    /// At most this.
    At(T),
}

fn off(text: &str) -> bool {
    matches!(text, "0" | "unlimited" | "none")
}

/// `2s`, `1m 30s`, `500ms`; a bare number is seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Bound<Duration>, String> {
    if off(text) {
        return Ok(Bound::Unlimited);
    }
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Bound::At(Duration::from_secs(seconds.into())));
    }
    humantime::parse_duration(text).map(Bound::At).map_err(|error| format!("{error}; write `90s`, `5m` or `unlimited`"))
}

/// `64MiB`, `1GB`, `65536`.
pub(crate) fn parse_bytes(text: &str) -> Result<Bound<u64>, String> {
    if off(text) {
        return Ok(Bound::Unlimited);
    }
    text.parse::<bytesize::ByteSize>()
        .map(|size| Bound::At(size.as_u64()))
        .map_err(|error| format!("{error}; write `64MiB`, `1GiB` or `unlimited`"))
}

/// `2000000000`, `500M`, `2G`.
pub(crate) fn parse_count(text: &str) -> Result<Bound<u64>, String> {
    if off(text) {
        return Ok(Bound::Unlimited);
    }
    let (digits, factor) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let value: Option<u64> = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
    value.map(Bound::At).ok_or_else(|| "write a whole number, with K, M or G behind it, or `unlimited`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_units_and_bare_seconds() {
        assert_eq!(parse_duration("2s"), Ok(Bound::At(Duration::from_secs(2))));
        assert_eq!(parse_duration("90"), Ok(Bound::At(Duration::from_secs(90))));
        assert_eq!(parse_duration("1m30s"), Ok(Bound::At(Duration::from_secs(90))));
        assert_eq!(parse_duration("0"), Ok(Bound::Unlimited));
        assert!(parse_duration("soon").is_err());
    }

    #[test]
    fn sizes_and_counts_take_suffixes_and_refuse_overflow() {
        assert_eq!(parse_bytes("64MiB"), Ok(Bound::At(64 << 20)));
        assert_eq!(parse_bytes("65536"), Ok(Bound::At(65536)));
        assert_eq!(parse_count("2G"), Ok(Bound::At(2_000_000_000)));
        assert_eq!(parse_count("unlimited"), Ok(Bound::Unlimited));
        assert!(parse_count("99999999999999999999G").is_err());
        assert!(parse_count("").is_err());
    }
}
