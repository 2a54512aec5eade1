//! `--explain-limits`, and what to do about a limit that was met.

use std::fmt::Write as _;

use portico_runtime::{DecidedLimit, DecidedLimits, LimitName, LimitSource, LimitUnit, StepReport};

/// The table: every limit with its value and where that comes from, then what profiles of functions change.
pub(crate) fn table(limits: &DecidedLimits) -> String {
    let profiled = limits.profiles.iter().flat_map(|(_, rows)| rows);
    let values: Vec<String> = limits.rows.iter().chain(profiled).map(|row| row.value.to_string()).collect();
    let width = values.iter().map(String::len).max().unwrap_or(0);
    let names = LimitName::ALL.iter().map(|name| name.as_str().len()).max().unwrap_or(0) + 2;
    let mut out = String::new();
    let mut line = |name: &str, row: &DecidedLimit| {
        let value = row.value.to_string();
        // A string never fails to take text.
        _ = writeln!(out, "{name:names$}  {value:>width$}  {}", origin(row));
    };
    for row in &limits.rows {
        line(row.name.as_str(), row);
    }
    let mut text = out;
    for (functions, rows) in &limits.profiles {
        _ = writeln!(text, "\nfunctions {functions}");
        for row in rows {
            let (name, value) = (row.name.as_str(), row.value.to_string());
            _ = writeln!(text, "  {name:within$}  {value:>width$}  {}", origin(row), within = names - 2);
        }
    }
    text
}

/// The table of one function: where a profile has a word on a limit, the profile's row stands in the place of the render's.
pub(crate) fn function_table(limits: &DecidedLimits, image: &str) -> String {
    let matching = || limits.profiles.iter().rev().filter(|(functions, _)| functions.matches(image, ""));
    let row = |row: &DecidedLimit| {
        let of_profile = matching().flat_map(|(_, rows)| rows).find(|of_profile| of_profile.name == row.name);
        of_profile.unwrap_or(row).clone()
    };
    let rows = limits.rows.iter().map(row).collect();
    table(&DecidedLimits { limits: limits.limits.clone(), rows, profiles: Vec::new() })
}

/// Who set a limit, and what became of what they asked for.
fn origin(row: &DecidedLimit) -> String {
    match &row.capped {
        Some((asked, by)) => format!("{}, which asks for {asked}; capped by {by}", row.source),
        None => row.source.to_string(),
    }
}

/// What to do about the limit that ended a step.
pub(crate) fn advice(limits: &DecidedLimits, step: &StepReport) -> Option<String> {
    let name = step.exceeded()?;
    // Of several profiles the last one holds.
    let profiles = limits.profiles.iter().rev().filter(|(functions, _)| functions.matches(&step.image, &step.exec));
    let of_profile = profiles.flat_map(|(_, rows)| rows).find(|row| row.name == name);
    let row = of_profile.or_else(|| limits.rows.iter().find(|row| row.name == name))?;
    if let Some((_, by)) = &row.capped {
        return Some(format!("`{name}` is at its maximum of {} ({by})", row.value));
    }
    let flag = match name {
        LimitName::StepTime => "a function that needs longer gets more with `--fn-timeout`".to_owned(),
        LimitName::RenderTime => "a render that needs longer gets more with `--timeout`".to_owned(),
        LimitName::Fuel => "a function that needs more gets it with `--fuel`".to_owned(),
        LimitName::Memory => "a function that needs more gets it with `--max-memory`".to_owned(),
        _ => format!("whatever needs more gets it with {}", flag(name)),
    };
    Some(match &row.source {
        LimitSource::Default | LimitSource::Request(_) => flag,
        source => format!("{flag}; now it is {} ({source})", row.value),
    })
}

/// The flag that sets a limit by its name.
pub(crate) fn flag(name: LimitName) -> String {
    let value = match name.unit() {
        LimitUnit::Count => "N",
        LimitUnit::Bytes => "BYTES",
        LimitUnit::Time => "DURATION",
    };
    format!("`--limit {name}={value}`")
}
