//! The configuration file: where it is, what stands in it, and what it comes to.

mod limits;
mod places;
mod read;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use portico_runtime::{CompileLimits, LimitProfile, LimitSettings};

pub(crate) use self::limits::parse_limit;
pub(crate) use self::places::Places;

/// Bytes of a configuration file: far more than anybody writes.
const LARGEST: u64 = 1 << 20;

/// What the configuration files say, the operator's first.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    pub(crate) limits: Vec<LimitSettings>,
    pub(crate) maximum: Vec<LimitSettings>,
    pub(crate) profiles: Vec<LimitProfile>,
    pub(crate) grants: Vec<Granted>,
    pub(crate) compiler: CompileSettings,
    /// The `FILE:LINE` that asks for renders in a process of their own. A wall that one file puts up no other one and no flag
    /// takes down.
    pub(crate) isolation: Option<String>,
}

/// The bounds on compiling that the files name; the later file's count.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompileSettings {
    pub(crate) memory: Option<u64>,
    pub(crate) cpu: Option<Duration>,
    pub(crate) time: Option<Duration>,
    pub(crate) code_bytes: Option<u64>,
}

impl CompileSettings {
    /// The bounds, with the defaults where no file says anything.
    pub(crate) fn limits(self) -> CompileLimits {
        let default = CompileLimits::default();
        CompileLimits {
            memory: self.memory.unwrap_or(default.memory),
            cpu: self.cpu.unwrap_or(default.cpu),
            time: self.time.unwrap_or(default.time),
            code_bytes: self.code_bytes.unwrap_or(default.code_bytes),
        }
    }

    fn add(&mut self, other: CompileSettings) {
        self.memory = other.memory.or(self.memory);
        self.cpu = other.cpu.or(self.cpu);
        self.time = other.time.or(self.time);
        self.code_bytes = other.code_bytes.or(self.code_bytes);
    }
}

/// Something that functions may see, and where a file says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Granted {
    /// `FILE:LINE`.
    pub(crate) place: String,
    pub(crate) what: Grant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Grant {
    /// A directory of this machine, and the path at which functions see it.
    Directory { source: PathBuf, target: String },
    /// An environment variable.
    Variable { name: String, value: String },
}

impl Configuration {
    /// Reads the files that there are: the operator's, then the user's.
    pub(crate) fn load(places: &Places) -> Result<Configuration> {
        let mut all = Configuration::default();
        for place in places.iter() {
            let shown = place.path.display().to_string();
            match contents(&place.path) {
                Ok(Some(bytes)) => all.add(read::configuration(&shown, &bytes)?),
                Ok(None) if place.required => anyhow::bail!("the configuration file `{shown}` does not exist"),
                Ok(None) => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot read the configuration file `{shown}`"));
                }
            }
        }
        Ok(all)
    }

    fn add(&mut self, other: Configuration) {
        let Configuration { limits, maximum, profiles, grants, compiler, isolation } = other;
        self.limits.extend(limits);
        self.maximum.extend(maximum);
        self.profiles.extend(profiles);
        self.grants.extend(grants);
        self.compiler.add(compiler);
        self.isolation = self.isolation.take().or(isolation);
    }
}

/// The bytes of a file; `None` where there is none.
fn contents(path: &Path) -> Result<Option<Vec<u8>>> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        // No directory of that name either: a home directory that is a file, say.
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    ensure!(metadata.is_file(), "it is no file");
    ensure!(metadata.len() <= LARGEST, "it has more than {LARGEST} bytes");
    Ok(Some(std::fs::read(path)?))
}
