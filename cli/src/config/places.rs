//! Where configuration files are looked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The operator's file.
const SYSTEM: &str = "/etc/portico/config.yaml";

/// A file, and whether it must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) required: bool,
}

/// The operator's file, and the user's: the one that was named, else the one in the home directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places(Vec<Place>);

impl Places {
    /// `flag` is `--config`; `variable` gives an environment variable.
    pub(crate) fn new(flag: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Places {
        let mut places = vec![Place { path: SYSTEM.into(), required: false }];
        // An empty variable is none.
        let named = || variable("PORTICO_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
        let named = flag.map(Path::to_owned).or_else(named).map(|path| Place { path, required: true });
        let directory = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || directory("XDG_CONFIG_HOME").or_else(|| Some(directory("HOME")?.join(".config")));
        let own = || Some(Place { path: home()?.join("portico").join("config.yaml"), required: false });
        places.extend(named.or_else(own));
        Places(places)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Place> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(named: Option<&str>, variables: &[(&str, &str)]) -> Vec<(String, bool)> {
        let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value));
        let places = Places::new(named.map(Path::new), variable);
        places.iter().map(|place| (place.path.display().to_string(), place.required)).collect()
    }

    #[test]
    fn the_operators_file_comes_first_and_then_the_users() {
        let system = (SYSTEM.to_owned(), false);
        let own = |path: &str, required| vec![system.clone(), (path.to_owned(), required)];
        assert_eq!(paths(None, &[]), vec![system.clone()]);
        assert_eq!(paths(None, &[("HOME", "/home/a")]), own("/home/a/.config/portico/config.yaml", false));
        let both = [("HOME", "/home/a"), ("XDG_CONFIG_HOME", "/cfg")];
        assert_eq!(paths(None, &both), own("/cfg/portico/config.yaml", false));
        // A relative one is none, as the rules of these variables have it.
        let relative = [("HOME", "/home/a"), ("XDG_CONFIG_HOME", "cfg")];
        assert_eq!(paths(None, &relative), own("/home/a/.config/portico/config.yaml", false));
        let named = [both[0], both[1], ("PORTICO_CONFIG", "named.yaml")];
        assert_eq!(paths(None, &named), own("named.yaml", true));
        assert_eq!(paths(Some("mine.yaml"), &named), own("mine.yaml", true));
        let empty = [both[0], both[1], ("PORTICO_CONFIG", "")];
        assert_eq!(paths(None, &empty), own("/cfg/portico/config.yaml", false));
    }
}
