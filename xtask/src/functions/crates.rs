//! Which crates are guests, and what functions their modules hold.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The package of the probe functions.
const PROBES: &str = "portico-probes";

/// A module and the functions in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// The program of the package, and the file without its ending.
    pub(crate) name: String,
    /// The package, as cargo knows it. It may differ from the function: cargo can't tell a package of a function from a
    /// library of the same name.
    pub(crate) package: String,
    /// Names of the functions; the module tells them apart by `argv[0]`.
    pub(crate) functions: Vec<String>,
}

/// All guests of the workspace.
#[derive(Debug)]
pub(crate) struct Guests {
    /// The modules of the catalog.
    pub(crate) catalog: Vec<Module>,
    /// The module of the probes.
    pub(crate) probes: Module,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
    metadata: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

impl Package {
    /// The name of its program, where it has one.
    fn program(&self) -> Option<&str> {
        self.targets.iter().find(|target| target.kind.iter().any(|kind| kind == "bin")).map(|target| &*target.name)
    }

    /// The names under `package.metadata.portico.functions`.
    fn functions(&self) -> Option<Vec<String>> {
        let list = self.metadata.as_ref()?.get("portico")?.get("functions")?;
        Some(list.as_array()?.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
    }
}

impl Guests {
    /// Asks cargo for the packages under `functions/catalog` and `tests/probes`.
    pub(crate) fn find(root: &Path) -> Result<Guests> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .current_dir(root)
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .output()
            .context("cannot start cargo")?;
        if !output.status.success() {
            bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let metadata: Metadata =
            serde_json::from_slice(&output.stdout).context("cannot read what cargo metadata says")?;
        Guests::of(metadata, root)
    }

    fn of(metadata: Metadata, root: &Path) -> Result<Guests> {
        let catalog_dir = root.join("functions/catalog");
        let mut probes = None;
        let mut catalog = Vec::new();
        for package in metadata.packages {
            if package.name == PROBES {
                probes = Some(package);
            } else if package.manifest_path.starts_with(&catalog_dir) {
                catalog.push(package);
            }
        }
        let catalog = modules(&catalog)?;
        let probes = probes.with_context(|| format!("the workspace has no package `{PROBES}`"))?;
        let functions = probes.functions().unwrap_or_default();
        Ok(Guests { catalog, probes: Module { name: probes.name.clone(), package: probes.name, functions } })
    }

    /// The packages to build.
    pub(crate) fn packages(&self) -> impl Iterator<Item = &str> {
        self.catalog.iter().chain([&self.probes]).map(|module| module.package.as_str())
    }
}

/// A package that lists functions is the module of all of them; a package that no other one lists is a module with the
/// one function that its program is named after.
fn modules(packages: &[Package]) -> Result<Vec<Module>> {
    let mut shared = BTreeSet::new();
    for name in packages.iter().filter_map(Package::functions).flatten() {
        if !packages.iter().any(|package| package.name == name) {
            bail!(
                "function `{name}` is listed in a module, but there is no package of that name under functions/catalog"
            );
        }
        if !shared.insert(name.clone()) {
            bail!("function `{name}` is listed in two modules");
        }
    }
    let mut modules: Vec<Module> = packages
        .iter()
        .filter(|package| !shared.contains(&package.name))
        .filter_map(|package| {
            let name = package.program()?.to_owned();
            let functions = package.functions().unwrap_or_else(|| vec![name.clone()]);
            Some(Module { name, package: package.name.clone(), functions })
        })
        .collect();
    modules.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(modules)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, functions: Option<&[&str]>) -> Package {
        Package {
            name: name.to_owned(),
            manifest_path: PathBuf::from("Cargo.toml"),
            targets: vec![Target {
                name: name.trim_start_matches("portico-").to_owned(),
                kind: vec!["bin".to_owned()],
            }],
            metadata: functions.map(|functions| serde_json::json!({"portico": {"functions": functions}})),
        }
    }

    #[test]
    fn listed_functions_share_a_module_and_the_others_have_their_own() {
        let packages = [package("portico-starlark", None), package("small", Some(&["no-op"])), package("no-op", None)];
        let modules = modules(&packages).expect("modules");
        let names: Vec<_> = modules.iter().map(|m| (m.name.as_str(), m.functions.join(","))).collect();
        assert_eq!(names, [("small", "no-op".to_owned()), ("starlark", "starlark".to_owned())]);
    }

    #[test]
    fn a_function_without_a_package_or_in_two_modules_is_refused() {
        assert!(modules(&[package("small", Some(&["gone"]))]).is_err());
        let twice = [package("a", Some(&["no-op"])), package("b", Some(&["no-op"])), package("no-op", None)];
        assert!(modules(&twice).is_err());
    }
}
