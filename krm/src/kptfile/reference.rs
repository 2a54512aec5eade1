//! Names of images: `[host[:port]/]path[:tag][@digest]`, by the grammar that registries share.

/// Longest name, without tag and digest, in bytes.
const MAX_NAME: usize = 255;
/// Longest tag in bytes.
const MAX_TAG: usize = 128;

/// An image reference taken apart. The parts are slices of what was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// Everything before tag and digest: `ghcr.io/kptdev/krm-functions-catalog/set-labels`.
    pub name: &'a str,
    /// Without the colon.
    pub tag: Option<&'a str>,
    /// Algorithm and hexadecimal value: `sha256:…`.
    pub digest: Option<&'a str>,
}

/// Why a text is no image reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// A character or separator where it may not stand.
    #[error("invalid reference format")]
    Format,
    /// An upper-case letter in the path.
    #[error("invalid reference format: repository name must be lowercase")]
    Uppercase,
    /// A name of more than 255 bytes.
    #[error("repository name must not be more than {MAX_NAME} characters")]
    TooLong,
    /// A digest of an algorithm that is not known.
    #[error("unsupported digest algorithm")]
    DigestAlgorithm,
    /// A digest whose length does not fit its algorithm.
    #[error("invalid checksum digest length")]
    DigestLength,
}

impl<'a> Reference<'a> {
    /// Takes a reference apart and checks every part.
    pub fn parse(text: &'a str) -> Result<Reference<'a>, ReferenceError> {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        let path_start = rest.rfind('/').map_or(0, |at| at + 1);
        let (name, tag) = match rest[path_start..].find(':') {
            Some(at) => (&rest[..path_start + at], Some(&rest[path_start + at + 1..])),
            None => (rest, None),
        };
        check_name(name)?;
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(ReferenceError::Format);
        }
        if let Some(digest) = digest {
            check_digest(digest)?;
        }
        Ok(Reference { name, tag, digest })
    }

    /// The last part of the name: `set-labels`.
    pub fn base_name(&self) -> &'a str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }
}

/// True for a text that can be a tag.
pub fn is_tag(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.len() <= MAX_TAG
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|b| word(b) || b == b'.' || b == b'-')
}

fn check_name(name: &str) -> Result<(), ReferenceError> {
    let (first, rest) = match name.split_once('/') {
        Some((first, rest)) => (first, Some(rest)),
        None => (name, None),
    };
    let mut path: Vec<&str> = rest.map(|rest| rest.split('/').collect()).unwrap_or_default();
    // alone, the first part is a path; before others it may be a host as well
    if rest.is_none() || !is_host(first) {
        path.push(first);
    }
    if let Some(bad) = path.iter().find(|part| !is_path_component(part)) {
        let lower = bad.to_ascii_lowercase();
        return Err(if lower != **bad && is_path_component(&lower) {
            ReferenceError::Uppercase
        } else {
            ReferenceError::Format
        });
    }
    if name.len() > MAX_NAME { Err(ReferenceError::TooLong) } else { Ok(()) }
}

fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let port_fits = port.is_none_or(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    let label = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    let host_fits = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(ipv6) => !ipv6.is_empty() && ipv6.bytes().all(|b| b.is_ascii_hexdigit() || b == b':'),
        None => host.split('.').all(label),
    };
    port_fits && host_fits
}

/// Lower-case letters and digits, with `.`, `_`, `__` or any number of `-` between them.
fn is_path_component(text: &str) -> bool {
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    let edges = bytes.first().zip(bytes.last()).is_some_and(|(a, b)| alphanumeric(*a) && alphanumeric(*b));
    let separators = || bytes.split(|b| alphanumeric(*b)).filter(|separator| !separator.is_empty());
    edges && separators().all(|s| matches!(s, b"." | b"_" | b"__") || s.iter().all(|b| *b == b'-'))
}

fn check_digest(digest: &str) -> Result<(), ReferenceError> {
    let (algorithm, hex) = digest.split_once(':').ok_or(ReferenceError::Format)?;
    if hex.len() < 32 || !hex.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()) {
        return Err(ReferenceError::Format);
    }
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return Err(ReferenceError::DigestAlgorithm),
    };
    if hex.len() == length { Ok(()) } else { Err(ReferenceError::DigestLength) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (&str, Option<&str>, Option<&str>) {
        let reference = Reference::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        (reference.name, reference.tag, reference.digest)
    }

    #[test]
    fn references_are_taken_apart() {
        let hex = "0123456789abcdef".repeat(4);
        let digest = format!("sha256:{hex}");
        assert_eq!(parts("set-labels"), ("set-labels", None, None));
        assert_eq!(parts("set-labels:v0.1"), ("set-labels", Some("v0.1"), None));
        assert_eq!(
            parts("ghcr.io/kptdev/f_x/a__b.c--d:latest"),
            ("ghcr.io/kptdev/f_x/a__b.c--d", Some("latest"), None)
        );
        assert_eq!(parts("localhost:5000/x"), ("localhost:5000/x", None, None));
        assert_eq!(parts("[::1]:5000/x:y"), ("[::1]:5000/x", Some("y"), None));
        assert_eq!(parts("Host/x"), ("Host/x", None, None));
        let text = format!("a.b/c:t@{digest}");
        assert_eq!(parts(&text), ("a.b/c", Some("t"), Some(&*digest)));
        assert_eq!(Reference::parse(&text).expect("fits").base_name(), "c");
    }

    #[test]
    fn what_breaks_the_grammar_is_refused() {
        for text in [
            "",
            "pull ghcr.io/kptdev/krm-functions-catalog/foo:latest",
            "a//b",
            "/a",
            "a/",
            "a:",
            "a:b:c",
            "a:-b",
            "-a",
            "a-",
            "a___b",
            "a._b",
            "https://a/b",
            "a@",
            "a@sha256:zz",
            "é",
            "a\n",
        ] {
            assert_eq!(Reference::parse(text), Err(ReferenceError::Format), "{text:?}");
        }
        assert_eq!(Reference::parse("Foo"), Err(ReferenceError::Uppercase));
        assert_eq!(Reference::parse("a/Foo"), Err(ReferenceError::Uppercase));
        assert_eq!(Reference::parse(&"a".repeat(256)), Err(ReferenceError::TooLong));
        let hex = "0".repeat(40);
        assert_eq!(Reference::parse(&format!("a@sha256:{hex}")), Err(ReferenceError::DigestLength));
        assert_eq!(Reference::parse(&format!("a@sha1:{hex}")), Err(ReferenceError::DigestAlgorithm));
        assert!(is_tag(&"t".repeat(128)) && !is_tag(&"t".repeat(129)));
    }
}
