//! Who decides what a render may use: defaults, configuration, profiles of functions, the request, and the operator's
//! maximum above them all.

use std::collections::BTreeMap;
use std::fmt;

use super::name::{LimitName, LimitValue};
use super::{Limits, StepLimits};

/// Who set a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitSource {
    /// Nobody.
    Default,
    /// A configuration file.
    File {
        /// How messages name the file.
        path: String,
        /// The line, from 1.
        line: u32,
    },
    /// A profile of functions in a configuration file.
    Profile {
        /// The functions that it is for.
        functions: FunctionPattern,
        /// How messages name the file.
        path: String,
        /// The line, from 1.
        line: u32,
    },
    /// The request: the name of a flag, a field, a header.
    Request(String),
    /// This program, which needs it to be safe.
    Program,
}

impl fmt::Display for LimitSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitSource::Default => f.write_str("default"),
            LimitSource::File { path, line } => write!(f, "{path}:{line}"),
            LimitSource::Profile { functions, path, line } => write!(f, "profile {functions} ({path}:{line})"),
            LimitSource::Request(flag) => f.write_str(flag),
            LimitSource::Program => f.write_str("this program"),
        }
    }
}

/// A value, and who set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSetting {
    /// The value.
    pub value: LimitValue,
    /// Who set it.
    pub source: LimitSource,
}

/// Limits that somebody set; the others are as before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitSettings(BTreeMap<LimitName, LimitSetting>);

impl LimitSettings {
    /// Sets a limit, in the place of what stood here before. A value of another unit counts by its number, times in
    /// nanoseconds.
    pub fn set(&mut self, name: LimitName, value: LimitValue, source: LimitSource) {
        let value = name.in_unit(value);
        self.0.insert(name, LimitSetting { value, source });
    }

    /// What is set for a limit.
    pub fn get(&self, name: LimitName) -> Option<&LimitSetting> {
        self.0.get(&name)
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that is set, in the order of [`LimitName::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (LimitName, &LimitSetting)> {
        self.0.iter().map(|(name, setting)| (*name, setting))
    }
}

/// Functions by name or image; a star stands for any characters, none included.
///
/// Both parts must match where both are given. A pattern without any part matches every function.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FunctionPattern {
    /// The last part of the image without its tag (`set-labels`), or the file name of a program.
    pub name: Option<String>,
    /// The whole image, with registry, path and tag. No program has one.
    pub image: Option<String>,
}

impl FunctionPattern {
    /// True for a function of this image, or a program with this command line.
    pub fn matches(&self, image: &str, exec: &str) -> bool {
        let name = self.name.as_deref().is_none_or(|pattern| wild(pattern, short_name(image, exec)));
        let image = self.image.as_deref().is_none_or(|pattern| !image.is_empty() && wild(pattern, image));
        name && image
    }
}

impl fmt::Display for FunctionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, &self.image) {
            (Some(name), Some(image)) => write!(f, "`{name}` of `{image}`"),
            (Some(one), None) | (None, Some(one)) => write!(f, "`{one}`"),
            (None, None) => f.write_str("`*`"),
        }
    }
}

fn short_name<'a>(image: &'a str, exec: &'a str) -> &'a str {
    if image.is_empty() {
        let program = exec.split_whitespace().next().unwrap_or_default();
        return program.rsplit('/').next().unwrap_or(program);
    }
    let without_digest = image.split('@').next().unwrap_or(image);
    let last = without_digest.rsplit('/').next().unwrap_or(without_digest);
    last.split(':').next().unwrap_or(last)
}

/// Whether a text is what a pattern with stars says, in time that grows with the product of their lengths.
fn wild(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut last = None;
    for piece in pieces {
        if let Some(piece) = last.replace(piece) {
            let Some(at) = rest.find(piece) else { return false };
            rest = &rest[at + piece.len()..];
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

/// Limits for some functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitProfile {
    /// Which.
    pub functions: FunctionPattern,
    /// What they may use; those that are not [of a step](LimitName::is_of_step) have no effect.
    pub settings: LimitSettings,
}

/// Everybody's word on the limits of a render.
///
/// A later layer goes before an earlier one: defaults, `configuration` in its order, `profiles` in theirs, `request`.
/// What is beyond a maximum becomes that maximum.
#[derive(Debug, Clone, Default)]
pub struct LimitLayers {
    /// Configuration files; a later one goes before an earlier one.
    pub configuration: Vec<LimitSettings>,
    /// Profiles of functions; where several match, a later one goes before an earlier one, limit by limit.
    pub profiles: Vec<LimitProfile>,
    /// What the request asks for.
    pub request: LimitSettings,
    /// Whether the request is a tenant's: it goes beyond what would hold without it as far as a maximum says, and not at
    /// all where there is none, as then nobody said how far a tenant may go.
    pub tenant: bool,
    /// What nothing may go beyond. The least of several holds.
    pub maximum: Vec<LimitSettings>,
}

/// What became of one limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedLimit {
    /// Which.
    pub name: LimitName,
    /// What holds.
    pub value: LimitValue,
    /// Who set it, or asked for more.
    pub source: LimitSource,
    /// What was asked for, where that was more than a maximum, and whose maximum it is.
    pub capped: Option<(LimitValue, LimitSource)>,
}

/// The limits of a render, with the reason of each.
#[derive(Debug, Clone)]
pub struct DecidedLimits {
    /// Those of the render, and of every step without a profile.
    pub limits: Limits,
    /// Each limit, in the order of [`LimitName::ALL`].
    pub rows: Vec<DecidedLimit>,
    /// What each profile changes for its functions.
    pub profiles: Vec<(FunctionPattern, Vec<DecidedLimit>)>,
}

impl LimitLayers {
    /// Decides. The same layers always give the same limits.
    pub fn decide(&self) -> DecidedLimits {
        let mut limits = Limits::default();
        let mut rows = Vec::with_capacity(LimitName::ALL.len());
        for name in LimitName::ALL {
            let row = self.limit(name, None);
            name.set(&mut limits, row.value);
            rows.push(row);
        }
        let profiles = self.profiles.iter().map(|profile| {
            let of_step = profile.settings.iter().filter(|(name, _)| name.is_of_step());
            (profile.functions.clone(), of_step.map(|(name, _)| self.limit(name, Some(profile))).collect())
        });
        DecidedLimits { profiles: profiles.collect(), limits, rows }
    }

    fn limit(&self, name: LimitName, profile: Option<&LimitProfile>) -> DecidedLimit {
        let default = LimitSetting { value: name.get(&Limits::default()), source: LimitSource::Default };
        let configured = self.configuration.iter().rev().find_map(|settings| settings.get(name));
        let own = profile.and_then(|profile| profile.settings.get(name)).or(configured).unwrap_or(&default);
        let asked = self.request.get(name).unwrap_or(own);
        let ceiling = name.ceiling().map(|value| LimitSetting { value, source: LimitSource::Program });
        let maximum = || self.maximum.iter().filter_map(|settings| settings.get(name));
        let lowers_alone = (self.tenant && maximum().next().is_none()).then_some(own);
        let mut decided = DecidedLimit { name, value: asked.value, source: asked.source.clone(), capped: None };
        for maximum in maximum().chain(&ceiling).chain(lowers_alone) {
            if maximum.value < decided.value {
                decided.value = maximum.value;
                decided.capped = Some((asked.value, maximum.source.clone()));
            }
        }
        decided
    }
}

impl DecidedLimits {
    /// What nobody got although somebody asked for it, one sentence each, with both values.
    pub fn warnings(&self) -> Vec<String> {
        let of_profiles = self.profiles.iter().flat_map(|(_, rows)| rows);
        let mut warnings: Vec<String> = Vec::new();
        for row in self.rows.iter().chain(of_profiles) {
            let Some((asked, by)) = &row.capped else { continue };
            if row.source == LimitSource::Default {
                continue;
            }
            let DecidedLimit { name, value, source, .. } = row;
            let warning =
                format!("limit `{name}`: {source} asks for {asked}, the maximum is {value} ({by}); {value} holds");
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings
    }

    /// What the request asks for and does not get.
    pub fn refused(&self) -> impl Iterator<Item = &DecidedLimit> {
        self.rows.iter().filter(|row| row.capped.is_some() && matches!(row.source, LimitSource::Request(_)))
    }

    /// The profiles, as calls need them.
    pub fn step_profiles(&self) -> Vec<StepProfile> {
        let profiles = self.profiles.iter().map(|(functions, rows)| StepProfile {
            functions: functions.clone(),
            limits: rows.iter().map(|row| (row.name, row.value)).collect(),
        });
        profiles.collect()
    }
}

/// What some functions may use, decided.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StepProfile {
    /// Which functions.
    pub functions: FunctionPattern,
    /// Their limits; those that are not [of a step](LimitName::is_of_step) have no effect.
    pub limits: Vec<(LimitName, LimitValue)>,
}

/// The limits of a step: those of the render, changed by every profile that matches, in order.
pub(crate) fn step_limits(limits: &Limits, profiles: &[StepProfile], image: &str, exec: &str) -> StepLimits {
    let mut step = limits.step();
    for profile in profiles.iter().filter(|profile| profile.functions.matches(image, exec)) {
        for (name, value) in &profile.limits {
            name.set_for_step(&mut step, *value);
        }
    }
    step
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
