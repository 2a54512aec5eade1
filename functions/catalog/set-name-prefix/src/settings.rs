//! What the names begin with, and shall begin with.

use portico_fn::{KubeObject, Resource};

/// Name of the object that describes a package.
const PACKAGE_CONTEXT: &str = "kptfile.kpt.dev";
const PLACEHOLDER: &str = "packagename";
/// Longest prefix, in bytes: names are no longer.
const MAX_PREFIX: usize = 253;

/// The configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    prefix: String,
    old: String,
}

impl Settings {
    /// From the configuration and the package context; the error is a message.
    pub(crate) fn read(config: Option<&Resource>, items: &[Resource]) -> Result<Settings, String> {
        let package = package_name(items)?;
        let given = |key: &str, default: &str| {
            let data = config.map_or("", |config| config.string_at(&["data", key]));
            if data.is_empty() { default.to_owned() } else { data.to_owned() }
        };
        let settings = Settings { prefix: given("prefix", package), old: given("oldPrefix", PLACEHOLDER) };
        if settings.prefix.len() > MAX_PREFIX {
            return Err(format!("`prefix` must not be longer than {MAX_PREFIX} characters"));
        }
        Ok(settings)
    }

    /// The new name of an object; `None` when it does not begin with the old prefix.
    pub(crate) fn renamed(&self, name: &str) -> Option<String> {
        let rest = name.strip_prefix(&self.old)?;
        (rest.is_empty() || rest.starts_with('-')).then(|| format!("{}{rest}", self.prefix))
    }
}

/// The name of the package, from the one object that describes it.
fn package_name(items: &[Resource]) -> Result<&str, String> {
    let mut found = items.iter().filter(|item| item.name() == PACKAGE_CONTEXT && item.is_local_config());
    let context = found.next().ok_or("unable to find package context object")?;
    if found.next().is_some() {
        return Err("found multiple matches for package-context object".to_owned());
    }
    match context.string_at(&["data", "name"]) {
        "" => Err("package name (data.name) not set in package context object".to_owned()),
        name => Ok(name),
    }
}
