//! From the text of a configuration file to what it says.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow};
use portico_krm::yaml::{DecodeError, Lined, ParseLimits, SourceFile, from_tree};
use portico_runtime::{FunctionPattern, Isolation, LimitName, LimitProfile, LimitSettings, LimitSource};
use serde::Deserialize;

use super::limits::{LimitFields, Text, plain};
use super::{CompileSettings, Configuration, Grant, Granted, LARGEST};
use crate::units::{Bound, parse_bytes, parse_duration};

/// The file, field by field. Whatever is not named here is refused.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase", expecting = "a mapping with `limits` and the like")]
struct File {
    limits: LimitFields,
    maximum: LimitFields,
    functions: Vec<Lined<Profile>>,
    grants: Grants,
    compiler: CompilerFields,
    isolation: Option<Lined<String>>,
}

/// What compiling a module may take.
#[derive(Debug, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `memory`, `cpu`, `time`, `codeBytes`"
)]
struct CompilerFields {
    memory: Option<Lined<Text>>,
    cpu: Option<Lined<Text>>,
    time: Option<Lined<Text>>,
    code_bytes: Option<Lined<Text>>,
}

/// What every function may see.
#[derive(Debug, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `directories` and `environment`"
)]
struct Grants {
    directories: Vec<Lined<Directory>>,
    environment: BTreeMap<String, Lined<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "a mapping with `source` and `target`")]
struct Directory {
    source: PathBuf,
    target: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase", expecting = "a mapping with `name`, `image`, `limits`")]
struct Profile {
    name: Option<String>,
    image: Option<String>,
    limits: LimitFields,
}

/// Reads a file; `path` is how messages name it.
pub(super) fn configuration(path: &str, bytes: &[u8]) -> Result<Configuration> {
    let limits = ParseLimits { bytes: LARGEST as usize, ..ParseLimits::default() };
    let parsed = SourceFile::parse(bytes, &limits).map_err(|errors| {
        let lines: Vec<String> =
            errors.iter().map(|error| format!("{path}:{}: {}", error.position.line, error.message)).collect();
        anyhow!(lines.join("\n"))
    })?;
    let mut documents = parsed.into_documents().into_iter();
    let Some(document) = documents.next() else { return Ok(Configuration::default()) };
    if let Some(second) = documents.next() {
        let line = second.tree.position(second.tree.root()).map_or(0, |at| at.line);
        return Err(anyhow!("{path}:{line}: a configuration file is one document, and this is a second one"));
    }
    let file: File = from_tree(&document.tree, document.tree.root()).map_err(|error| located(path, &error))?;

    let mut configuration = Configuration::default();
    for (fields, to) in [(file.limits, &mut configuration.limits), (file.maximum, &mut configuration.maximum)] {
        if !fields.0.is_empty() {
            to.push(settings(fields, |line| LimitSource::File { path: path.to_owned(), line }));
        }
    }
    for Lined { line, value } in file.functions {
        configuration.profiles.push(profile(path, line, value)?);
    }
    for Lined { line, value: Directory { source, target } } in file.grants.directories {
        if !source.is_absolute() {
            let shown = source.display();
            return Err(anyhow!(
                "{path}:{line}: `{shown}`: write an absolute path; the working directory is different each time"
            ));
        }
        let what = Grant::Directory { source, target };
        configuration.grants.push(Granted { place: format!("{path}:{line}"), what });
    }
    for (name, Lined { line, value }) in file.grants.environment {
        let what = Grant::Variable { name, value };
        configuration.grants.push(Granted { place: format!("{path}:{line}"), what });
    }
    configuration.compiler = compiler(path, file.compiler)?;
    if let Some(Lined { line, value }) = file.isolation {
        let isolation: Isolation = value.parse().map_err(|error| anyhow!("{path}:{line}: `isolation`: {error}"))?;
        if isolation == Isolation::Process {
            configuration.isolation = Some(format!("{path}:{line}"));
        }
    }
    Ok(configuration)
}

/// The bounds on compiling that a file names, each with the bytes or the time that it allows.
fn compiler(path: &str, fields: CompilerFields) -> Result<CompileSettings> {
    fn read<T>(
        path: &str,
        name: &str,
        field: Option<Lined<Text>>,
        parse: impl Fn(&str) -> Result<Bound<T>, String>,
        most: T,
    ) -> Result<Option<T>> {
        let Some(Lined { line, value: Text(text) }) = field else { return Ok(None) };
        let value = parse(&text)
            .map_err(|advice| anyhow!("{path}:{line}: `compiler.{name}`: `{text}` is no value for it: {advice}"))?;
        Ok(Some(plain(value, most)))
    }
    Ok(CompileSettings {
        memory: read(path, "memory", fields.memory, parse_bytes, u64::MAX)?,
        cpu: read(path, "cpu", fields.cpu, parse_duration, Duration::MAX)?,
        time: read(path, "time", fields.time, parse_duration, Duration::MAX)?,
        code_bytes: read(path, "codeBytes", fields.code_bytes, parse_bytes, u64::MAX)?,
    })
}

fn settings(fields: LimitFields, source: impl Fn(u32) -> LimitSource) -> LimitSettings {
    let mut settings = LimitSettings::default();
    for (name, Lined { line, value }) in fields.0 {
        settings.set(name, value, source(line));
    }
    settings
}

fn profile(path: &str, line: u32, profile: Profile) -> Result<LimitProfile> {
    let Profile { name, image, limits } = profile;
    if name.is_none() && image.is_none() {
        return Err(anyhow!(
            "{path}:{line}: say by `name` or `image` which functions this is for; a star stands for all"
        ));
    }
    if let Some((name, Lined { line, .. })) = limits.0.iter().find(|(name, _)| !name.is_of_step()) {
        let known: Vec<&str> =
            LimitName::ALL.into_iter().filter(|name| name.is_of_step()).map(LimitName::as_str).collect();
        let known = known.join(", ");
        return Err(anyhow!(
            "{path}:{line}: `{name}` is a limit of the whole render, not of a function; known here: {known}"
        ));
    }
    let functions = FunctionPattern { name, image };
    let source = |line| LimitSource::Profile { functions: functions.clone(), path: path.to_owned(), line };
    let settings = settings(limits, source);
    Ok(LimitProfile { functions, settings })
}

/// `FILE:LINE: FIELD: what is wrong`.
fn located(path: &str, error: &DecodeError) -> anyhow::Error {
    let line = error.position.map_or(1, |at| at.line);
    let field = if error.path.is_empty() { String::new() } else { format!("`{}`: ", error.path) };
    anyhow!("{path}:{line}: {field}{}", error.message)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
