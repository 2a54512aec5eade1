//! From the text of a configuration file to what it says.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use portico_krm::yaml::Lined;
use portico_runtime::Isolation;
use portico_server::config::{CompilerFields, LimitFields, ProfileFields, read_document};
use serde::Deserialize;

use super::{Configuration, Grant, Granted};

/// The file, field by field. Whatever is not named here is refused.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase", expecting = "a mapping with `limits` and the like")]
struct File {
    limits: LimitFields,
    maximum: LimitFields,
    functions: Vec<Lined<ProfileFields>>,
    grants: Grants,
    compiler: CompilerFields,
    isolation: Option<Lined<String>>,
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

/// Reads a file; `path` is how messages name it.
pub(super) fn configuration(path: &str, bytes: &[u8]) -> Result<Configuration> {
    let Some(file) = read_document::<File>(path, bytes)? else { return Ok(Configuration::default()) };

    let mut configuration = Configuration::default();
    configuration.limits.extend(file.limits.settings(path));
    configuration.maximum.extend(file.maximum.settings(path));
    for Lined { line, value } in file.functions {
        configuration.profiles.push(value.profile(path, line)?);
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
    configuration.compiler = file.compiler;
    if let Some(Lined { line, value }) = file.isolation {
        let isolation: Isolation = value.parse().map_err(|error| anyhow!("{path}:{line}: `isolation`: {error}"))?;
        if isolation == Isolation::Process {
            configuration.isolation = Some(format!("{path}:{line}"));
        }
    }
    Ok(configuration)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
