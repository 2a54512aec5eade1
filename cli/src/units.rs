//! Values on the command line: durations, byte sizes, counts, pairs.

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::PathBuf;

use portico_runtime::image::{ImagePrefix, ImageRef};
use portico_runtime::{LimitName, LimitValue};
use portico_server::config::parse_limit;
pub(crate) use portico_server::config::{Bound, parse_bytes, parse_count, parse_duration};

use crate::args::EnvArg;

/// `KEY=VALUE`; the value may hold further `=`.
pub(crate) fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".to_owned()),
    }
}

/// `KEY=VALUE`, or `KEY` alone. Never fails here, where the error would show the value.
#[expect(clippy::unnecessary_wraps, reason = "the shape that the argument parser takes")]
pub(crate) fn parse_env(text: &str) -> Result<EnvArg, Infallible> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    Ok(EnvArg { name: name.to_owned(), value })
}

/// `NAME=VALUE`, any limit.
pub(crate) fn parse_any_limit(text: &str) -> Result<(LimitName, LimitValue), String> {
    let (name, value) = parse_pair(text).map_err(|_| "write NAME=VALUE, such as `stdout=64MiB`".to_owned())?;
    let Some(name) = LimitName::of(&name) else {
        return Err(format!("no limit is called `{name}`; `--explain-limits` lists them"));
    };
    parse_limit(name, &value).map(|value| (name, value))
}

/// `IMAGE=FILE.wasm`.
pub(crate) fn parse_function(text: &str) -> Result<(String, PathBuf), String> {
    let (image, file) = parse_pair(text).map_err(|_| "write IMAGE=FILE.wasm".to_owned())?;
    ImageRef::parse(&image).map_err(|error| error.to_string())?;
    Ok((image, file.into()))
}

/// `registry.example.com/functions`; empty for none.
pub(crate) fn parse_prefix(text: &str) -> Result<ImagePrefix, String> {
    ImagePrefix::new(text).map_err(|error| error.to_string())
}

/// kpt's log level, which has a value (`-v3`, `-v=3`, `--v=3`), as our `-v`, which has none.
pub(crate) fn without_log_levels(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut behind_dashes = false;
    let level = |text: &str| {
        let value = text.strip_prefix("--v=").or_else(|| text.strip_prefix("-v"))?;
        let value = value.strip_prefix('=').unwrap_or(value);
        (!value.is_empty() && value.bytes().all(|b| b.is_ascii_digit())).then_some(value != "0")
    };
    let mut kept = Vec::new();
    for argument in arguments {
        behind_dashes |= argument == "--";
        match argument.to_str().and_then(level) {
            Some(true) if !behind_dashes => kept.push("-v".into()),
            Some(false) if !behind_dashes => {}
            _ => kept.push(argument),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
    fn a_log_level_in_the_spelling_of_kpt_becomes_a_plain_flag() {
        let kept = |words: &[&str]| {
            let kept = without_log_levels(words.iter().map(OsString::from));
            kept.into_iter().map(|w| w.into_string().expect("words are UTF-8")).collect::<Vec<_>>()
        };
        assert_eq!(kept(&["render", "-v=3", "--v=0", "-v7"]), ["render", "-v", "-v"]);
        assert_eq!(
            kept(&["render", "-v", "-vv", "--verbose", "--version"]),
            ["render", "-v", "-vv", "--verbose", "--version"]
        );
        assert_eq!(kept(&["eval", "--", "-v=3"]), ["eval", "--", "-v=3"]);
    }

    #[test]
    fn pairs_split_at_the_first_sign_and_need_a_key() {
        assert_eq!(parse_pair("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert_eq!(parse_pair("a="), Ok(("a".into(), String::new())));
        assert!(parse_pair("a").is_err());
        assert!(parse_pair("=a").is_err());
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

    #[test]
    fn any_limit_is_set_by_its_name_in_its_unit() {
        assert_eq!(parse_any_limit("stdout=1MiB"), Ok((LimitName::Stdout, LimitValue::Bytes(1 << 20))));
        assert_eq!(parse_any_limit("yaml.depth=9"), Ok((LimitName::YamlDepth, LimitValue::Count(9))));
        let minute = LimitValue::Time(Duration::from_mins(1));
        assert_eq!(parse_any_limit("stepTime=1m"), Ok((LimitName::StepTime, minute)));
        assert!(parse_any_limit("stdin=1").is_err_and(|error| error.contains("`stdin`")));
        assert!(parse_any_limit("stdout").is_err());
        assert!(parse_any_limit("stdout=many").is_err());
    }
}
