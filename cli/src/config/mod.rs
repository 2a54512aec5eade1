//! The configuration file: where it is, what stands in it, and what it comes to.

mod places;
mod read;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use portico_runtime::{LimitProfile, LimitSettings};
use portico_server::config::{CompilerFields, LARGEST};

pub(crate) use self::places::Places;

/// What the configuration files say, the operator's first.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    pub(crate) limits: Vec<LimitSettings>,
    pub(crate) maximum: Vec<LimitSettings>,
    pub(crate) profiles: Vec<LimitProfile>,
    pub(crate) grants: Vec<Granted>,
    /// The bounds on compiling; the later file's count.
    pub(crate) compiler: CompilerFields,
    /// The `FILE:LINE` that asks for renders in a process of their own. A wall that one file puts up no other one and no flag
    /// takes down.
    pub(crate) isolation: Option<String>,
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
