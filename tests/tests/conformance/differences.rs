//! The list of cases that are answered differently on purpose.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

/// One entry of `tests/conformance/differences.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Difference {
    /// `group/path` of the case.
    pub(crate) case: String,
    /// Why a user of kpt accepts it.
    #[expect(dead_code, reason = "for the reader of the file")]
    pub(crate) reason: String,
    /// Our own expected output, a path below `tests/conformance/expected`; for a golden case it replaces `.expected`,
    /// for a YAML case `kpt.yaml`.
    pub(crate) expected: String,
    /// The golden is older than the function's present generation: replaced, no difference.
    #[serde(default)]
    pub(crate) outdated: bool,
}

/// All differences by case name.
pub(crate) fn all() -> Result<BTreeMap<String, Difference>> {
    let path = directory().join("differences.yaml");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let list: Vec<Difference> = serde_yaml::from_str(&text).with_context(|| path.display().to_string())?;
    Ok(list.into_iter().map(|d| (d.case.clone(), d)).collect())
}

/// Where our own expected output of a case lies, if it differs.
pub(crate) fn expected(case: &str) -> Result<Option<std::path::PathBuf>> {
    Ok(all()?.get(case).map(|d| directory().join("expected").join(&d.expected)))
}

fn directory() -> std::path::PathBuf {
    portico_tests::repository().join("tests/conformance")
}
