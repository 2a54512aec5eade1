//! What the annotations of a revision ask of its renders: limits, the style of YAML, a time by which they are to end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use portico_runtime::{LimitName, LimitSettings, LimitSource, LimitValue, WriteStyle};

use super::time::rfc3339;
use crate::config::parse_limit;

/// The annotation for limits: `fuel=1000000,renderTime=30s`, each as behind `--limit`.
pub const LIMITS: &str = "portico.dev/limits";

/// The annotation for how changed files are written: `kpt` or `preserve`.
pub const YAML_STYLE: &str = "portico.dev/yaml-style";

/// The annotation for the time by which a render is to have ended: RFC 3339.
pub const RENDER_BY: &str = "portico.dev/render-by";

/// The longest value, in bytes. It is read each time that a revision is seen; all limits there are fit several times.
const LONGEST: usize = 4 << 10;

/// Bytes of a value in a message.
const SHOWN: usize = 200;

/// What a revision asks of its renders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// Limits; the operator's rules say which it gets.
    pub(crate) limits: LimitSettings,
    /// How changed files are written.
    pub(crate) style: Option<WriteStyle>,
    /// By when a render is to have ended, in milliseconds since 1970.
    pub(crate) by_ms: Option<u64>,
}

/// An annotation that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("annotation `{name}`: `{value}`: {expected}")]
pub(crate) struct WishError {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its value, as much as is fit to be shown.
    pub(crate) value: String,
    /// What is expected.
    pub(crate) expected: String,
}

impl WishError {
    fn new(name: &'static str, value: &str, expected: String) -> Self {
        Self { name, value: shown(value), expected }
    }
}

/// As much of a text as is fit to be shown.
fn shown(text: &str) -> String {
    let start = &text[..text.floor_char_boundary(SHOWN)];
    let mut shown: String = start.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.len() > SHOWN {
        shown.push('…');
    }
    shown
}

impl Wishes {
    /// Reads all of them.
    pub(crate) fn read(annotations: &BTreeMap<String, String>) -> Result<Self, WishError> {
        let style = annotations.get(YAML_STYLE).map(|text| style(text)).transpose()?;
        let by_ms = annotations.get(RENDER_BY).map(|text| by(text)).transpose()?;
        Ok(Self { limits: limits_of(annotations)?, style, by_ms })
    }
}

/// The limits that annotations ask for.
pub(crate) fn limits_of(annotations: &BTreeMap<String, String>) -> Result<LimitSettings, WishError> {
    annotations.get(LIMITS).map(|text| limits(text)).transpose().map(Option::unwrap_or_default)
}

fn limits(text: &str) -> Result<LimitSettings, WishError> {
    let wrong = |why: String| {
        let expected = format!("{why}; expected are limits such as `fuel=1000000,renderTime=30s`");
        WishError::new(LIMITS, text, expected)
    };
    if text.len() > LONGEST {
        return Err(wrong(format!("it is longer than {LONGEST} bytes")));
    }
    let mut settings = LimitSettings::default();
    if text.trim().is_empty() {
        return Ok(settings);
    }
    for part in text.split(',').map(str::trim) {
        let Some((name, value)) = part.split_once('=') else {
            return Err(wrong(format!("`{}` has no `=`", shown(part))));
        };
        let Some(name) = LimitName::of(name.trim()) else {
            return Err(wrong(format!("there is no limit `{}`, docs/limits.md names them", shown(name.trim()))));
        };
        let value = parse_limit(name, value.trim()).map_err(|why| wrong(format!("`{name}`: {}", shown(&why))))?;
        if settings.get(name).is_some() {
            return Err(wrong(format!("`{name}` stands there twice")));
        }
        settings.set(name, value, LimitSource::Request(format!("annotation `{LIMITS}`")));
    }
    Ok(settings)
}

fn style(text: &str) -> Result<WriteStyle, WishError> {
    match text {
        "kpt" => Ok(WriteStyle::Kpt),
        "preserve" => Ok(WriteStyle::Preserve),
        _ => Err(WishError::new(YAML_STYLE, text, "expected is `kpt` or `preserve`".to_owned())),
    }
}

fn by(text: &str) -> Result<u64, WishError> {
    let time = text.parse::<jiff::Timestamp>().ok().and_then(|time| u64::try_from(time.as_millisecond()).ok());
    let expected = || "expected is a time of RFC 3339, such as `2026-11-30T09:07:53Z`".to_owned();
    time.ok_or_else(|| WishError::new(RENDER_BY, text, expected()))
}

/// The same annotations without a time that has passed, at `now_ms`; `None` where none has.
///
/// Such a time was set for a render of files that others now take the place of.
pub(crate) fn without_passed(annotations: &BTreeMap<String, String>, now_ms: u64) -> Option<BTreeMap<String, String>> {
    let passed = annotations.get(RENDER_BY).and_then(|text| by(text).ok()).is_some_and(|by| by <= now_ms);
    passed.then(|| {
        let mut rest = annotations.clone();
        rest.remove(RENDER_BY);
        rest
    })
}

/// Limits in the words of the annotation.
pub(crate) fn limits_text(limits: &LimitSettings) -> String {
    let mut text = String::new();
    for (name, setting) in limits.iter() {
        let between = if text.is_empty() { "" } else { "," };
        let _ = match setting.value {
            value if value.is_unlimited() => write!(text, "{between}{name}=unlimited"),
            LimitValue::Count(n) | LimitValue::Bytes(n) => write!(text, "{between}{name}={n}"),
            LimitValue::Time(time) => write!(text, "{between}{name}={}", humantime::format_duration(time)),
        };
    }
    text
}

/// A style in the words of the annotation.
pub(crate) fn style_text(style: WriteStyle) -> &'static str {
    match style {
        WriteStyle::Kpt => "kpt",
        WriteStyle::Preserve => "preserve",
    }
}

/// The time so long after another one, both in milliseconds since 1970: in the words of the annotation. `None`: beyond
/// all times.
pub(crate) fn by_text(now_ms: u64, after: Duration) -> Option<String> {
    let at = now_ms.checked_add(u64::try_from(after.as_millis()).ok()?)?;
    Some(rfc3339(at)).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Wishes, String> {
        let annotations = BTreeMap::from([(name.to_owned(), value.to_owned()), ("other".to_owned(), "x".to_owned())]);
        Wishes::read(&annotations).map_err(|error| error.to_string())
    }

    #[test]
    fn each_annotation_is_read() {
        let limits = read(LIMITS, "fuel=2M, renderTime=1m 30s,memory = 64MiB,fuelPerStep=0").unwrap().limits;
        let value = |name| limits.get(name).map(|setting| setting.value);
        assert_eq!(value(LimitName::Fuel), Some(LimitValue::Count(2_000_000)));
        assert_eq!(value(LimitName::RenderTime), Some(LimitValue::Time(Duration::from_secs(90))));
        assert_eq!(value(LimitName::Memory), Some(LimitValue::Bytes(64 << 20)));
        assert_eq!(value(LimitName::FuelPerStep), Some(LimitValue::Count(0)));
        assert_eq!(value(LimitName::Stdout), None);
        assert_eq!(read(LIMITS, " "), Ok(Wishes::default()));
        assert_eq!(read(YAML_STYLE, "kpt").unwrap().style, Some(WriteStyle::Kpt));
        assert_eq!(read(YAML_STYLE, "preserve").unwrap().style, Some(WriteStyle::Preserve));
        assert_eq!(read(RENDER_BY, "1970-01-01T00:01:00.5Z").unwrap().by_ms, Some(60_500));
        assert_eq!(read(RENDER_BY, "1970-01-01T01:01:00+01:00").unwrap().by_ms, Some(60_000));
        assert_eq!(read("unknown", "x"), Ok(Wishes::default()));
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_value_and_what_is_expected() {
        for (name, value, words) in [
            (LIMITS, "fuel", "`fuel` has no `=`; expected are limits such as `fuel=1000000,renderTime=30s`"),
            (LIMITS, "speed=1", "there is no limit `speed`"),
            (LIMITS, "fuel=x", "`fuel`: write a whole number"),
            (LIMITS, "renderTime=0", "`renderTime`: nothing could run with"),
            (LIMITS, "renderTime=0s", "`renderTime`: nothing could run with"),
            (LIMITS, "memory=0KiB", "`memory`: nothing could run with"),
            (LIMITS, "fuel=1,fuel=2", "`fuel` stands there twice"),
            (LIMITS, "fuel=1,", "`` has no `=`"),
            (YAML_STYLE, "", "expected is `kpt` or `preserve`"),
            (YAML_STYLE, "KPT", "expected is `kpt` or `preserve`"),
            (RENDER_BY, "soon", "expected is a time of RFC 3339"),
            (RENDER_BY, "1969-01-01T00:00:00Z", "expected is a time of RFC 3339"),
            (RENDER_BY, "2026-11-30", "expected is a time of RFC 3339"),
        ] {
            let error = read(name, value).unwrap_err();
            assert!(error.starts_with(&format!("annotation `{name}`: `{value}`: ")), "{error}");
            assert!(error.contains(words), "{error}");
        }
        let long = read(LIMITS, &"\u{1}é,".repeat(9_000)).unwrap_err();
        for part in ["\u{1}é".repeat(1_000), format!("{}=1", "\u{1}é".repeat(1_000))] {
            let error = read(LIMITS, &part).unwrap_err();
            assert!(error.len() < 1_000 && !error.contains('\u{1}'), "{error}");
        }
        assert!(long.contains("longer than 4096 bytes") && long.len() < 1_000 && !long.contains('\u{1}'), "{long}");
    }

    #[test]
    fn a_time_that_has_passed_is_taken_away_and_nothing_else() {
        let with = |by: &str| BTreeMap::from([(RENDER_BY, by), (YAML_STYLE, "kpt")].map(|(a, b)| (a.into(), b.into())));
        let rest = BTreeMap::from([(YAML_STYLE.to_owned(), "kpt".to_owned())]);
        let passed = with("1970-01-01T00:01:00Z");
        assert_eq!(without_passed(&passed, 60_000), Some(rest.clone()));
        for (annotations, now) in [(passed, 59_999), (with("soon"), u64::MAX), (rest, u64::MAX)] {
            assert_eq!(without_passed(&annotations, now), None);
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut limits = LimitSettings::default();
        let source = || LimitSource::Request(format!("annotation `{LIMITS}`"));
        for (at, name) in (1..).zip(LimitName::ALL) {
            let value = if at % 5 == 0 { u64::MAX } else { at * 1_234_567_891 };
            let value = match name.get(&portico_runtime::Limits::default()) {
                LimitValue::Time(_) if value == u64::MAX => LimitValue::Time(Duration::MAX),
                _ => LimitValue::Count(value),
            };
            limits.set(name, value, source());
        }
        let text = limits_text(&limits);
        assert_eq!(read(LIMITS, &text).unwrap().limits, limits, "{text}");
        assert!(text.len() < LONGEST);
        let by = by_text(60_000, Duration::from_millis(1_500)).unwrap();
        assert_eq!((&*by, read(RENDER_BY, &by).unwrap().by_ms), ("1970-01-01T00:01:01.500Z", Some(61_500)));
        assert_eq!(by_text(60_000, Duration::MAX), None);
        for style in [WriteStyle::Kpt, WriteStyle::Preserve] {
            assert_eq!(read(YAML_STYLE, style_text(style)).unwrap().style, Some(style));
        }
    }
}
