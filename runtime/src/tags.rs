//! The `tag` field of a function: a literal tag, or a range of versions that is looked up among published tags.
//!
//! Versions may be loose (`v0.4`, `1`). The ranges are those of kpt's Kptfiles: `~0.2`, `0.4.1 - 0.4.3`,
//! `>=0.3 <0.5`, `^1`, `1.x`, joined by commas or spaces (all hold) and `||` (one holds).

use semver::{BuildMetadata, Prerelease, Version};

/// The longest text that is read as a range; longer ones are no range.
const MAX_RANGE: usize = 1024;

/// What the `tag` field asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TagRequest {
    /// The text itself is the tag.
    Literal,
    /// The highest published tag in this range.
    Range(VersionRange),
    /// Neither a version nor a range: a tag by its looks only.
    Opaque,
}

impl TagRequest {
    pub(crate) fn parse(tag: &str) -> TagRequest {
        if loose_version(tag).is_some() {
            TagRequest::Literal
        } else if let Some(range) = VersionRange::parse(tag) {
            TagRequest::Range(range)
        } else {
            TagRequest::Opaque
        }
    }
}

/// The highest of `tags` in the range; tags that are no versions are passed over.
pub(crate) fn highest<'t>(range: &VersionRange, tags: &'t [String]) -> Option<&'t str> {
    tags.iter()
        .filter(|tag| !tag.starts_with("sha256-") && !tag.contains("-git-"))
        .filter_map(|tag| Some((loose_version(tag)?, tag)))
        .filter(|(version, _)| range.contains(version))
        .max_by(|a, b| a.0.cmp_precedence(&b.0))
        .map(|(_, tag)| tag.as_str())
}

/// `v1.2.3-pre+meta` with the `v` and all numbers behind the first optional.
fn loose_version(text: &str) -> Option<Version> {
    let partial = Partial::parse(text)?;
    if partial.is_wild() && text.contains(['x', 'X', '*']) {
        return None;
    }
    Some(partial.floor())
}

/// A version whose numbers may be missing or wild.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Partial {
    major: Option<u64>,
    minor: Option<u64>,
    patch: Option<u64>,
    pre: Prerelease,
    build: BuildMetadata,
}

impl Partial {
    fn parse(text: &str) -> Option<Partial> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (rest, build) = match text.split_once('+') {
            Some((rest, build)) => (rest, BuildMetadata::new(build).ok().filter(|b| !b.is_empty())?),
            None => (text, BuildMetadata::EMPTY),
        };
        let (numbers, pre) = match rest.split_once('-') {
            Some((numbers, pre)) => (numbers, Prerelease::new(pre).ok().filter(|p| !p.is_empty())?),
            None => (rest, Prerelease::EMPTY),
        };
        let mut parts = numbers.split('.');
        let mut next = || match parts.next() {
            None => Some((None, false)),
            Some("x" | "X" | "*") => Some((None, true)),
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => Some((Some(digits.parse().ok()?), true)),
            Some(_) => None,
        };
        let (major, there) = next()?;
        let (minor, _) = next()?;
        let (patch, _) = next()?;
        if !there || numbers.is_empty() || numbers.split('.').count() > 3 {
            return None;
        }
        // Numbers behind a wild one say nothing.
        let minor = major.and(minor);
        Some(Partial { major, minor, patch: minor.and(patch), pre, build })
    }

    fn is_wild(&self) -> bool {
        self.patch.is_none()
    }

    /// The lowest version it stands for.
    fn floor(&self) -> Version {
        Version {
            major: self.major.unwrap_or(0),
            minor: self.minor.unwrap_or(0),
            patch: self.patch.unwrap_or(0),
            pre: self.pre.clone(),
            build: self.build.clone(),
        }
    }

    /// The first version above all that share its given numbers; `None` when it stands for every version.
    fn next(&self) -> Option<Version> {
        match (self.major, self.minor, self.patch) {
            (None, ..) => None,
            (Some(major), None, _) => first_of(major.checked_add(1)?, 0, 0),
            (Some(major), Some(minor), None) => first_of(major, minor.checked_add(1)?, 0),
            (Some(major), Some(minor), Some(patch)) => first_of(major, minor, patch.checked_add(1)?),
        }
    }
}

/// The lowest version with these numbers, below all its other pre-releases.
fn first_of(major: u64, minor: u64, patch: u64) -> Option<Version> {
    Some(Version { pre: Prerelease::new("0").ok()?, ..Version::new(major, minor, patch) })
}

/// A set of versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionRange(Vec<Vec<Comparator>>);

/// One interval: `floor <= version < ceiling`, or all but it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Comparator {
    floor: Option<Version>,
    floor_excluded: bool,
    ceiling: Option<Version>,
    ceiling_included: bool,
    negated: bool,
    /// Pre-releases count only where the range itself names one.
    pre: bool,
}

impl VersionRange {
    pub(crate) fn parse(text: &str) -> Option<VersionRange> {
        if text.len() > MAX_RANGE {
            return None;
        }
        text.split("||").map(parse_all_of).collect::<Option<Vec<_>>>().map(VersionRange)
    }

    pub(crate) fn contains(&self, version: &Version) -> bool {
        self.0.iter().any(|all| all.iter().all(|c| c.contains(version)))
    }
}

impl Comparator {
    fn contains(&self, version: &Version) -> bool {
        if !version.pre.is_empty() && !self.pre {
            return false;
        }
        let above = self.floor.as_ref().is_none_or(|floor| match version.cmp_precedence(floor) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => !self.floor_excluded,
            std::cmp::Ordering::Less => false,
        });
        let below = self.ceiling.as_ref().is_none_or(|ceiling| match version.cmp_precedence(ceiling) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => self.ceiling_included,
            std::cmp::Ordering::Greater => false,
        });
        (above && below) != self.negated
    }

    fn new(op: &str, version: &Partial) -> Option<Comparator> {
        let all = Comparator {
            floor: None,
            floor_excluded: false,
            ceiling: None,
            ceiling_included: false,
            negated: false,
            pre: !version.pre.is_empty(),
        };
        let floor = Some(version.floor());
        let exact = !version.is_wild();
        Some(match op {
            "" | "=" if exact => Comparator { floor: floor.clone(), ceiling: floor, ceiling_included: true, ..all },
            "!=" if exact => {
                Comparator { floor: floor.clone(), ceiling: floor, ceiling_included: true, negated: true, ..all }
            }
            "" | "=" => Comparator { floor, ceiling: version.next(), ..all },
            "!=" => Comparator { floor, ceiling: version.next(), negated: true, ..all },
            ">" if exact => Comparator { floor, floor_excluded: true, ..all },
            // `>1` starts behind every 1.x; `>*` holds for nothing
            ">" => match version.next() {
                Some(next) => Comparator { floor: Some(next), ..all },
                None => Comparator { negated: true, ..all },
            },
            ">=" | "=>" => Comparator { floor, ..all },
            "<" => Comparator { ceiling: floor, ..all },
            "<=" | "=<" if exact => Comparator { ceiling: floor, ceiling_included: true, ..all },
            "<=" | "=<" => Comparator { ceiling: version.next(), ..all },
            "~" | "~>" => Comparator { floor, ceiling: tilde_ceiling(version), ..all },
            "^" => Comparator { floor, ceiling: caret_ceiling(version), ..all },
            _ => return None,
        })
    }
}

/// `~1.2.3` stays below 1.3, `~1.2` too, `~1` below 2; `~0.0.0` holds for all.
fn tilde_ceiling(version: &Partial) -> Option<Version> {
    match (version.major, version.minor, version.patch) {
        (Some(0), Some(0), Some(0)) => None,
        (major, minor, Some(_)) => Partial { major, minor, patch: None, ..version.clone() }.next(),
        _ => version.next(),
    }
}

/// `^` keeps the first number that is not zero.
fn caret_ceiling(version: &Partial) -> Option<Version> {
    match (version.major, version.minor, version.patch) {
        (None, ..) => None,
        (Some(0), Some(0), Some(patch)) => first_of(0, 0, patch.checked_add(1)?),
        (Some(0), Some(minor), _) => first_of(0, minor.checked_add(1)?, 0),
        (Some(major), ..) => first_of(major.checked_add(1)?, 0, 0),
    }
}

fn parse_all_of(text: &str) -> Option<Vec<Comparator>> {
    // Operators may stand apart from their version: glue them to it.
    let mut terms: Vec<String> = Vec::new();
    let mut open = false;
    for word in text.split([' ', '\t', ',']).filter(|word| !word.is_empty()) {
        for piece in split_before_operators(word) {
            if open {
                terms.last_mut()?.push_str(piece);
            } else {
                terms.push(piece.to_owned());
            }
            open = piece.ends_with(['=', '!', '<', '>', '~', '^']);
        }
    }
    if open || terms.is_empty() {
        return None;
    }
    let mut comparators = Vec::new();
    let mut at = 0;
    while at < terms.len() {
        if terms.get(at + 1).is_some_and(|dash| dash == "-") {
            comparators.push(Comparator::new(">=", &Partial::parse(&terms[at])?)?);
            comparators.push(Comparator::new("<=", &Partial::parse(terms.get(at + 2)?)?)?);
            at += 3;
        } else {
            let term = &terms[at];
            let version = term.trim_start_matches(['=', '!', '<', '>', '~', '^']);
            comparators.push(Comparator::new(&term[..term.len() - version.len()], &Partial::parse(version)?)?);
            at += 1;
        }
    }
    Some(comparators)
}

/// `>=0.3<0.5` is two terms.
fn split_before_operators(word: &str) -> Vec<&str> {
    let operator = |b: u8| b"=!<>~^".contains(&b);
    let bytes = word.as_bytes();
    let mut pieces = Vec::new();
    let mut start = 0;
    for at in 1..bytes.len() {
        if operator(bytes[at]) && !operator(bytes[at - 1]) {
            pieces.push(&word[start..at]);
            start = at;
        }
    }
    pieces.push(&word[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pick<'t>(range: &str, tags: &'t [String]) -> Option<&'t str> {
        match TagRequest::parse(range) {
            TagRequest::Range(range) => highest(&range, tags),
            other => panic!("{range} is {other:?}"),
        }
    }

    fn tags(list: &str) -> Vec<String> {
        list.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_loose_version_is_a_literal_tag_and_not_a_range() {
        for tag in ["1", "v0.4", "0.4.1", "v1.2.3-rc.1", "v1.2.3+meta"] {
            assert_eq!(TagRequest::parse(tag), TagRequest::Literal, "{tag}");
        }
        for tag in ["latest", "unstable", "1.2.3.4", ""] {
            assert_eq!(TagRequest::parse(tag), TagRequest::Opaque, "{tag}");
        }
    }

    #[test]
    fn the_highest_published_version_in_the_range_wins() {
        let tags = tags(
            "v0.1.0 v0.2.0 v0.2.5 v0.2.10 v0.3.0 v0.4.1 v0.4.3 v0.4.4 v1.0.0 v1.9.0 v2.0.0-rc.1 latest sha256-1.0.0 v0.2.99-git-abc",
        );
        for (range, expected) in [
            ("~0.2", Some("v0.2.10")),
            ("0.4.1 - 0.4.3", Some("v0.4.3")),
            (">=0.3 <0.5", Some("v0.4.4")),
            (">= 0.3, < 0.4", Some("v0.3.0")),
            (">=0.3<0.4", Some("v0.3.0")),
            ("^1", Some("v1.9.0")),
            ("^0.2.0", Some("v0.2.10")),
            ("1.x", Some("v1.9.0")),
            ("0.4.*", Some("v0.4.4")),
            ("*", Some("v1.9.0")),
            ("~0.1 || ~0.3", Some("v0.3.0")),
            ("<1, !=0.4.4", Some("v0.4.3")),
            ("!=1.x", Some("v0.4.4")),
            (">0", Some("v1.9.0")),
            (">0.2", Some("v1.9.0")),
            ("<=0.2", Some("v0.2.10")),
            ("~>0.4.1", Some("v0.4.4")),
            ("=v0.4.1", Some("v0.4.1")),
            ("~0.9", None),
            (">1", None),
            (">=2.0.0-0", Some("v2.0.0-rc.1")),
        ] {
            assert_eq!(pick(range, &tags), expected, "{range}");
        }
    }

    #[test]
    fn a_hyphen_range_with_a_short_end_includes_all_below_it() {
        assert_eq!(pick("0.1 - 0.2", &tags("v0.1.0 v0.2.5 v0.3.0")), Some("v0.2.5"));
    }

    #[test]
    fn texts_that_are_no_ranges_are_not_read_as_ranges() {
        for bad in [">=", "~a", "1 -", "- 1", "== 1.2 foo", "1.2 || ", "<>1", &">".repeat(2000)] {
            assert_eq!(TagRequest::parse(bad), TagRequest::Opaque, "{bad}");
        }
    }
}
