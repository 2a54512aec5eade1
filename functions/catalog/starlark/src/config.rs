//! The functionConfig: a `ConfigMap` or a `StarlarkRun`.

use portico_krm::yaml::Tree;

use crate::eval::Script;

/// Name of a script whose functionConfig has none.
const NAME: &str = "starlark-function-run";

/// Why the functionConfig holds no script; the texts are the upstream function's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There is none.
    #[error("FunctionConfig is missing. Expect `ConfigMap` or `StarlarkRun`")]
    Missing,
    /// Neither of the two kinds.
    #[error(
        "`functionConfig` must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=StarlarkRun, but we got: {0}"
    )]
    Kind(String),
    /// `source` is missing or empty.
    #[error("`source` must not be empty")]
    NoSource,
    /// `source` is no string.
    #[error("`source` must be a string")]
    Source,
}

/// Reads the script.
pub fn script(config: Option<&Tree>) -> Result<Script, ConfigError> {
    let tree = config.filter(|tree| !tree.is_empty(tree.root())).ok_or(ConfigError::Missing)?;
    let root = tree.root();
    let text = |path: &[&str]| tree.text_at(root, path).unwrap_or_default();
    let (group, version) = text(&["apiVersion"]).rsplit_once('/').unwrap_or(("", text(&["apiVersion"])));
    let path: &[&str] = match (group, version, text(&["kind"])) {
        (_, "v1", "ConfigMap") => &["data", "source"],
        ("fn.kpt.dev", "v1alpha1", "StarlarkRun" | "Run") => &["source"],
        (_, _, kind) => return Err(ConfigError::Kind(format!("{group}/{version}, Kind={kind}"))),
    };
    let source = match tree.get_path(root, path) {
        None => return Err(ConfigError::NoSource),
        Some(node) if tree.is_null(node) => return Err(ConfigError::NoSource),
        Some(node) if !tree.is_scalar(node) => return Err(ConfigError::Source),
        Some(node) => tree.text(node),
    };
    if source.is_empty() {
        return Err(ConfigError::NoSource);
    }
    let name = match text(&["metadata", "name"]) {
        "" => NAME,
        name => name,
    };
    Ok(Script { name: name.to_owned(), source: source.to_owned() })
}

#[cfg(test)]
mod tests {
    use portico_krm::yaml::{ParseLimits, Tree};

    use super::{ConfigError, script};
    use crate::eval::Script;

    fn read(config: &str) -> Result<Script, ConfigError> {
        script(Tree::parse(config, &ParseLimits::default()).unwrap().as_ref())
    }

    #[test]
    fn both_kinds_hold_a_script() {
        let script = Script { name: "gen".to_owned(), source: "x = 1\ny = 2\n".to_owned() };
        let run =
            "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: gen\nsource: |\n  x = 1\n  y = 2\n";
        assert_eq!(read(run), Ok(script.clone()));
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gen}\ndata:\n  source: |\n    x = 1\n    y = 2\n  other: x\n";
        assert_eq!(read(map), Ok(script));
        let nameless = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nsource: x\n";
        assert_eq!(read(nameless).unwrap().name, "starlark-function-run");
    }

    #[test]
    fn what_holds_none_is_told_in_upstreams_words() {
        let text = |config: &str| read(config).unwrap_err().to_string();
        assert_eq!(
            script(None).unwrap_err().to_string(),
            "FunctionConfig is missing. Expect `ConfigMap` or `StarlarkRun`"
        );
        assert_eq!(text("{}"), "FunctionConfig is missing. Expect `ConfigMap` or `StarlarkRun`");
        assert_eq!(
            text("apiVersion: apps/v1\nkind: Deployment\n"),
            "`functionConfig` must be either /v1, Kind=ConfigMap or fn.kpt.dev/v1alpha1, Kind=StarlarkRun, but we got: apps/v1, Kind=Deployment"
        );
        assert!(text("apiVersion: v1\nkind: Secret\n").ends_with("but we got: /v1, Kind=Secret"));
        assert_eq!(text("apiVersion: v1\nkind: ConfigMap\ndata: {}\n"), "`source` must not be empty");
        assert_eq!(
            text("apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nsource: ''\n"),
            "`source` must not be empty"
        );
        assert_eq!(
            text("apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nsource: [a]\n"),
            "`source` must be a string"
        );
    }
}
