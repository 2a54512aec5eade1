//! The limits one by one: their names, their units, and where each stands in [`Limits`].

use std::fmt;
use std::time::Duration;

use super::{Limits, StepLimits};

/// What a limit counts, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum LimitValue {
    /// Instructions, elements, resources, levels. [`u64::MAX`]: no limit.
    Count(u64),
    /// Bytes. [`u64::MAX`]: no limit.
    Bytes(u64),
    /// Time. [`Duration::MAX`]: no limit.
    Time(Duration),
}

impl LimitValue {
    /// True where there is no limit.
    pub fn is_unlimited(self) -> bool {
        match self {
            LimitValue::Count(n) | LimitValue::Bytes(n) => n == u64::MAX,
            LimitValue::Time(time) => time == Duration::MAX,
        }
    }

    fn number(self) -> u64 {
        match self {
            LimitValue::Count(n) | LimitValue::Bytes(n) => n,
            LimitValue::Time(time) => u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    fn time(self) -> Duration {
        match self {
            LimitValue::Time(time) => time,
            LimitValue::Count(u64::MAX) | LimitValue::Bytes(u64::MAX) => Duration::MAX,
            LimitValue::Count(n) | LimitValue::Bytes(n) => Duration::from_nanos(n),
        }
    }
}

/// As people say it, exact: `96 MiB`, `60s`, `2000000000`, `unlimited`.
impl fmt::Display for LimitValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            value if value.is_unlimited() => f.write_str("unlimited"),
            LimitValue::Count(n) => write!(f, "{n}"),
            LimitValue::Bytes(n) => f.write_str(&bytes(n)),
            LimitValue::Time(time) => write!(f, "{time:?}"),
        }
    }
}

/// A byte count as people say it: exact, in the largest unit that divides it.
pub(crate) fn bytes(count: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if count >= 1 << shift && count.is_multiple_of(1 << shift) {
            return format!("{} {unit}", count >> shift);
        }
    }
    format!("{count} bytes")
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitUnit {
    /// Instructions, elements, resources, levels.
    Count,
    /// Bytes.
    Bytes,
    /// Time.
    Time,
}

/// One limit: a field of [`Limits`] or of a struct in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the field of its name in `Limits`, which says all there is to say")]
pub enum LimitName {
    Fuel,
    FuelPerStep,
    FuelPerInputByte,
    StepFuel,
    StepTime,
    RenderTime,
    Memory,
    RetainedMemory,
    TableElements,
    Stdout,
    Stderr,
    ModuleBytes,
    Resources,
    PackageEntries,
    PackageFiles,
    PackageFileBytes,
    PackageBytes,
    PackageDepth,
    PackageIgnoreBytes,
    PackageIgnorePatterns,
    YamlDepth,
    YamlBytes,
    YamlNodes,
    YamlDocuments,
}

use LimitName as N;

impl LimitName {
    /// All of them, in the order in which tables show them.
    pub const ALL: [LimitName; 24] = [
        N::Fuel,
        N::FuelPerStep,
        N::FuelPerInputByte,
        N::StepFuel,
        N::StepTime,
        N::RenderTime,
        N::Memory,
        N::RetainedMemory,
        N::TableElements,
        N::Stdout,
        N::Stderr,
        N::ModuleBytes,
        N::Resources,
        N::PackageEntries,
        N::PackageFiles,
        N::PackageFileBytes,
        N::PackageBytes,
        N::PackageDepth,
        N::PackageIgnoreBytes,
        N::PackageIgnorePatterns,
        N::YamlDepth,
        N::YamlBytes,
        N::YamlNodes,
        N::YamlDocuments,
    ];

    /// Its name in configuration files and messages; a dot stands between a section and its field.
    pub fn as_str(self) -> &'static str {
        match self {
            N::Fuel => "fuel",
            N::FuelPerStep => "fuelPerStep",
            N::FuelPerInputByte => "fuelPerInputByte",
            N::StepFuel => "stepFuel",
            N::StepTime => "stepTime",
            N::RenderTime => "renderTime",
            N::Memory => "memory",
            N::RetainedMemory => "retainedMemory",
            N::TableElements => "tableElements",
            N::Stdout => "stdout",
            N::Stderr => "stderr",
            N::ModuleBytes => "moduleBytes",
            N::Resources => "resources",
            N::PackageEntries => "package.entries",
            N::PackageFiles => "package.files",
            N::PackageFileBytes => "package.fileBytes",
            N::PackageBytes => "package.bytes",
            N::PackageDepth => "package.depth",
            N::PackageIgnoreBytes => "package.ignoreBytes",
            N::PackageIgnorePatterns => "package.ignorePatterns",
            N::YamlDepth => "yaml.depth",
            N::YamlBytes => "yaml.bytes",
            N::YamlNodes => "yaml.nodes",
            N::YamlDocuments => "yaml.documents",
        }
    }

    /// The limit of this name.
    pub fn of(name: &str) -> Option<LimitName> {
        LimitName::ALL.into_iter().find(|limit| limit.as_str() == name)
    }

    /// What it counts.
    pub fn unit(self) -> LimitUnit {
        match self.get(&Limits::unlimited()) {
            LimitValue::Count(_) => LimitUnit::Count,
            LimitValue::Bytes(_) => LimitUnit::Bytes,
            LimitValue::Time(_) => LimitUnit::Time,
        }
    }

    /// The value in the unit of this limit: numbers stay, times are nanoseconds.
    pub(crate) fn in_unit(self, value: LimitValue) -> LimitValue {
        match self.unit() {
            LimitUnit::Count => LimitValue::Count(value.number()),
            LimitUnit::Bytes => LimitValue::Bytes(value.number()),
            LimitUnit::Time => LimitValue::Time(value.time()),
        }
    }

    /// True for a limit that a profile of functions can set: one that holds for a step by itself.
    pub fn is_of_step(self) -> bool {
        matches!(self, N::StepFuel | N::StepTime | N::Memory | N::TableElements | N::Stdout | N::Stderr)
    }

    /// What no configuration may go beyond: whatever walks trees and directories needs stack for each level.
    pub fn ceiling(self) -> Option<LimitValue> {
        match self {
            N::YamlDepth => Some(LimitValue::Count(500)),
            N::PackageDepth => Some(LimitValue::Count(1000)),
            _ => None,
        }
    }

    /// Its value.
    pub fn get(self, limits: &Limits) -> LimitValue {
        let count = LimitValue::Count;
        let bytes = LimitValue::Bytes;
        let size = |n: usize| if n == usize::MAX { u64::MAX } else { n as u64 };
        let Limits { package, yaml, .. } = limits;
        match self {
            N::Fuel => count(limits.fuel),
            N::FuelPerStep => count(limits.fuel_per_step),
            N::FuelPerInputByte => count(limits.fuel_per_input_byte),
            N::StepFuel => count(limits.step_fuel),
            N::StepTime => LimitValue::Time(limits.step_time),
            N::RenderTime => LimitValue::Time(limits.render_time),
            N::Memory => bytes(limits.memory),
            N::RetainedMemory => bytes(limits.retained_memory),
            N::TableElements => count(limits.table_elements),
            N::Stdout => bytes(limits.stdout),
            N::Stderr => bytes(limits.stderr),
            N::ModuleBytes => bytes(limits.module_bytes),
            N::Resources => count(limits.resources),
            N::PackageEntries => count(package.entries),
            N::PackageFiles => count(package.files),
            N::PackageFileBytes => bytes(package.file_bytes),
            N::PackageBytes => bytes(package.package_bytes),
            N::PackageDepth => count(package.depth.into()),
            N::PackageIgnoreBytes => bytes(package.ignore_bytes),
            N::PackageIgnorePatterns => count(package.ignore_patterns),
            N::YamlDepth => count(yaml.depth.into()),
            N::YamlBytes => bytes(size(yaml.bytes)),
            N::YamlNodes => count(size(yaml.nodes)),
            N::YamlDocuments => count(size(yaml.documents)),
        }
    }

    /// Sets it. A value of another unit counts by its number, times in nanoseconds; what does not fit becomes the
    /// largest that does.
    pub fn set(self, limits: &mut Limits, value: LimitValue) {
        let n = value.number();
        let size = usize::try_from(n).unwrap_or(usize::MAX);
        let levels = u32::try_from(n).unwrap_or(u32::MAX);
        let Limits { package, yaml, .. } = limits;
        match self {
            N::YamlDepth => yaml.depth = levels,
            N::YamlBytes => yaml.bytes = size,
            N::YamlNodes => yaml.nodes = size,
            N::YamlDocuments => yaml.documents = size,
            N::PackageEntries => package.entries = n,
            N::PackageFiles => package.files = n,
            N::PackageFileBytes => package.file_bytes = n,
            N::PackageBytes => package.package_bytes = n,
            N::PackageDepth => package.depth = levels,
            N::PackageIgnoreBytes => package.ignore_bytes = n,
            N::PackageIgnorePatterns => package.ignore_patterns = n,
            N::Fuel => limits.fuel = n,
            N::FuelPerStep => limits.fuel_per_step = n,
            N::FuelPerInputByte => limits.fuel_per_input_byte = n,
            N::StepFuel => limits.step_fuel = n,
            N::StepTime => limits.step_time = value.time(),
            N::RenderTime => limits.render_time = value.time(),
            N::Memory => limits.memory = n,
            N::RetainedMemory => limits.retained_memory = n,
            N::TableElements => limits.table_elements = n,
            N::Stdout => limits.stdout = n,
            N::Stderr => limits.stderr = n,
            N::ModuleBytes => limits.module_bytes = n,
            N::Resources => limits.resources = n,
        }
    }

    /// Sets it for one step; nothing where it is not [of a step](Self::is_of_step).
    pub(crate) fn set_for_step(self, limits: &mut StepLimits, value: LimitValue) {
        let n = value.number();
        match self {
            N::StepFuel => limits.fuel = n,
            N::StepTime => limits.time = value.time(),
            N::Memory => limits.memory = n,
            N::TableElements => limits.table_elements = n,
            N::Stdout => limits.stdout = n,
            N::Stderr => limits.stderr = n,
            _ => {}
        }
    }
}

impl fmt::Display for LimitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_read_and_set_by_its_name() {
        let defaults = Limits::default();
        for name in LimitName::ALL {
            assert_eq!(LimitName::of(name.as_str()), Some(name));
            let before = name.get(&defaults);
            let value = match name.unit() {
                LimitUnit::Count => LimitValue::Count(77),
                LimitUnit::Bytes => LimitValue::Bytes(77),
                LimitUnit::Time => LimitValue::Time(Duration::from_secs(77)),
            };
            assert_ne!(before, value);
            let mut limits = Limits::default();
            name.set(&mut limits, value);
            assert_eq!(name.get(&limits), value, "{name}");
            // Nothing else moved.
            name.set(&mut limits, before);
            assert_eq!(limits, defaults, "{name}");

            let mut step = defaults.step();
            name.set_for_step(&mut step, value);
            name.set(&mut limits, value);
            assert_eq!(step, limits.step(), "{name}");
            assert_eq!(step != defaults.step(), name.is_of_step(), "{name}");
        }
        assert_eq!(LimitName::of("fuell"), None);
    }

    #[test]
    fn no_limit_stays_no_limit() {
        let mut limits = Limits::default();
        for name in LimitName::ALL {
            let unlimited = match name.unit() {
                LimitUnit::Count => LimitValue::Count(u64::MAX),
                LimitUnit::Bytes => LimitValue::Bytes(u64::MAX),
                LimitUnit::Time => LimitValue::Time(Duration::MAX),
            };
            name.set(&mut limits, unlimited);
            assert!(name.get(&limits).is_unlimited() || name.ceiling().is_some(), "{name}");
        }
    }

    #[test]
    fn values_read_naturally() {
        assert_eq!(LimitValue::Bytes(1 << 30).to_string(), "1 GiB");
        assert_eq!(LimitValue::Bytes(96 << 20).to_string(), "96 MiB");
        assert_eq!(LimitValue::Bytes(1500).to_string(), "1500 bytes");
        assert_eq!(LimitValue::Bytes(0).to_string(), "0 bytes");
        assert_eq!(LimitValue::Time(Duration::from_mins(5)).to_string(), "300s");
        assert_eq!(LimitValue::Count(u64::MAX).to_string(), "unlimited");
    }
}
