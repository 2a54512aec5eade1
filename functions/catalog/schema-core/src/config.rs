//! What both functions can be told.

use thiserror::Error;

use crate::bundle::{Bundle, BundleError};
use crate::location::{Location, LocationError};

/// The key that chooses a version of Kubernetes.
pub(crate) const VERSION_KEY: &str = "kubernetes_version";

/// A configuration that cannot be followed.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A version that is not there.
    #[error("`{VERSION_KEY}: {given}` is not a version whose schemas are there; there are {first} to {last}")]
    Version {
        /// As configured.
        given: String,
        /// The oldest.
        first: &'static str,
        /// The newest.
        last: &'static str,
    },
    /// See [`LocationError`].
    #[error(transparent)]
    Location(#[from] LocationError),
    /// See [`BundleError`].
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// How objects are checked.
#[derive(Debug)]
pub struct Options {
    /// Properties that a schema does not know are errors.
    pub strict: bool,
    /// Kinds without a schema are fine.
    pub ignore_missing: bool,
    /// Kinds that are not checked.
    skip: Skip,
    /// Where schemas are looked for, in this order.
    pub(crate) locations: Vec<Location>,
    /// `v1.29.0`, `None` for the newest.
    pub(crate) version: Option<String>,
    /// The version of the embedded schemas.
    pub(crate) version_number: usize,
}

/// The texts of a configuration; an empty one is not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `schema_location`: takes the place of the embedded schemas.
    pub schema_location: String,
    /// `additional_schema_locations`: a list with commas, looked at after the other.
    pub additional_schema_locations: String,
    /// `kubernetes_version`: `1.29`, `v1.29.3`; the newest when empty.
    pub version: String,
    /// `skip_kinds`: a list with commas.
    pub skip_kinds: String,
    /// `strict`.
    pub strict: bool,
    /// `ignore_missing_schemas`.
    pub ignore_missing: bool,
}

impl Options {
    /// Reads settings and looks whether the locations are there.
    pub fn new(settings: &Settings) -> Result<Options, ConfigError> {
        let bundle = Bundle::embedded()?;
        let (version, version_number) = choose_version(&bundle, &settings.version)?;
        let mut locations = vec![match &*settings.schema_location {
            "" => Location::Embedded,
            given => Location::open(given)?,
        }];
        for location in split(&settings.additional_schema_locations) {
            locations.push(Location::open(&location)?);
        }
        Ok(Options {
            strict: settings.strict,
            ignore_missing: settings.ignore_missing,
            skip: Skip::new(&settings.skip_kinds),
            locations,
            version,
            version_number,
        })
    }

    /// Whether objects of this kind are left out: those that are to be skipped, and those of kpt itself, which whoever
    /// reads them checks.
    pub fn skips(&self, api_version: &str, kind: &str) -> bool {
        self.skip.has(api_version, kind) || api_is_kpts_own(api_version)
    }
}

fn choose_version(bundle: &Bundle, given: &str) -> Result<(Option<String>, usize), ConfigError> {
    let versions = bundle.versions();
    let newest = versions.len().checked_sub(1).ok_or(BundleError("no versions"))?;
    if matches!(given, "" | "master" | "latest") {
        return Ok((None, newest));
    }
    let plain = given.strip_prefix('v').unwrap_or(given);
    let mut parts = plain.splitn(3, '.');
    let minor = [parts.next().unwrap_or_default(), parts.next().unwrap_or_default()].join(".");
    let patch = parts.next().unwrap_or("0");
    let number = versions.iter().position(|version| *version == minor);
    match number.filter(|_| !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(number) => Ok((Some(format!("v{minor}.{patch}")), number)),
        None => Err(ConfigError::Version { given: given.to_owned(), first: versions[0], last: versions[newest] }),
    }
}

/// Kinds that are not checked: `Kind` or `group/version/Kind`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Skip(Vec<String>);

impl Skip {
    /// Reads a list with commas.
    fn new(list: &str) -> Skip {
        Skip(split(list))
    }

    /// Whether objects of this kind are left out.
    fn has(&self, api_version: &str, kind: &str) -> bool {
        self.0.iter().any(|entry| {
            entry == kind || entry.strip_suffix(kind).and_then(|rest| rest.strip_suffix('/')) == Some(api_version)
        })
    }
}

/// The parts of a list with commas that are not empty.
fn split(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// True for what steers kpt and its functions: `kpt.dev`, `fn.kpt.dev`.
fn api_is_kpts_own(api_version: &str) -> bool {
    matches!(api_version.split('/').next(), Some("kpt.dev" | "fn.kpt.dev")) && api_version.contains('/')
}
