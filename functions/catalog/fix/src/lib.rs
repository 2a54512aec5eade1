#![doc = include_str!("../README.md")]

mod comments;
mod definitions;
mod kptfile;
mod steps;
#[cfg(test)]
mod tests;

use portico_fn::{FunctionResult, Output, Resource, ResourceList, ResultFile, Results, Verdict, run_in_order};

use crate::definitions::Definitions;

const NO_KPTFILE: &str = "Kptfile not found in directory tree, make sure you specify '--include-meta-resources' flag";
/// Marks the object that older versions of kpt kept the inventory in.
const INVENTORY: &str = "cli-utils.sigs.k8s.io/inventory-id";

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
#[expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]
pub fn program(input: Vec<u8>) -> Output {
    run_in_order(&function(), &input)
}

/// The function, ready for [`portico_fn::run_in_order`].
pub fn function() -> impl portico_fn::Processor {
    |list: &mut ResourceList| Ok(process(list))
}

fn process(list: &mut ResourceList) -> Verdict {
    let mut results = Results::from(std::mem::take(&mut list.results));
    // A package is brought over whole or not at all.
    let before = list.items.clone();
    let verdict = match fix(&mut list.items, &mut results) {
        Ok(()) => Verdict::Pass,
        Err(message) => {
            list.items = before;
            results.error(format!("failed to fix package: {message}"));
            Verdict::Fail
        }
    };
    list.results = results.into_vec();
    verdict
}

fn fix(items: &mut Vec<Resource>, results: &mut Results) -> Result<(), String> {
    let kptfiles: Vec<usize> = (0..items.len()).filter(|at| is_kptfile(&items[*at])).collect();
    if kptfiles.is_empty() {
        return Err(NO_KPTFILE.to_owned());
    }
    let directories: Vec<String> = kptfiles.iter().map(|at| directory(items[*at].path().unwrap_or_default())).collect();
    // The package of each item: the nearest Kptfile above it.
    let packages: Vec<Option<usize>> = items
        .iter()
        .map(|item| {
            let path = item.path()?;
            let above = (0..directories.len()).filter(|at| is_below(path, &directories[*at]));
            above.max_by_key(|at| directories[*at].len())
        })
        .collect();
    for (package, at) in kptfiles.iter().enumerate() {
        let members: Vec<usize> = (0..packages.len()).filter(|item| packages[*item] == Some(package)).collect();
        let version = items[*at].api_version().to_owned();
        match version.as_str() {
            "kpt.dev/v1" => {
                say(&items[*at], "This package is already fixed as it is on latest apiVersion kpt.dev/v1", results);
            }
            "kpt.dev/v1alpha2" => {
                let moved = kptfile::from_v1alpha2(items, *at, results)?;
                items.extend(moved);
            }
            "kpt.dev/v1alpha1" => {
                let definitions = Definitions::read(&items[*at])?;
                for member in &members {
                    comments::rewrite(&mut items[*member], &definitions)?;
                }
                let functions = steps::take_functions(items, &members, &directories[package])?;
                let setters = kptfile::from_v1alpha1(items, *at, &definitions, &functions, results)?;
                items.extend(setters);
            }
            other => return Err(format!("`{}`: unknown apiVersion `{other}` of a Kptfile", shown(&items[*at]))),
        }
        for member in members {
            if items[member].label(INVENTORY).is_some() {
                say(&items[member], "Run `kpt live migrate` to move this inventory into the Kptfile", results);
            }
        }
    }
    Ok(())
}

fn is_kptfile(item: &Resource) -> bool {
    item.kind() == "Kptfile" && item.group() == "kpt.dev"
}

/// Where an item lies, for messages.
fn shown(item: &Resource) -> &str {
    item.path().unwrap_or("Kptfile")
}

/// Adds a result with a message and a file alone, as this function's results always were.
fn say(item: &Resource, message: impl Into<String>, results: &mut Results) {
    let file = item.path().map(|path| ResultFile { path: path.to_owned(), index: 0 });
    results.push(FunctionResult { message: message.into(), file, ..FunctionResult::default() });
}

/// The directory of a path; empty for the root.
fn directory(path: &str) -> String {
    path.rsplit_once('/').map_or_else(String::new, |(directory, _)| directory.to_owned())
}

fn is_below(path: &str, directory: &str) -> bool {
    directory.is_empty() || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

/// A path in a directory that no item has yet: `setters.yaml`, then `setters-2.yaml` and so on.
fn free_path(items: &[Resource], directory: &str, name: &str) -> String {
    let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
    let mut path = format!("{prefix}{name}.yaml");
    let mut number = 2;
    while items.iter().any(|item| item.path() == Some(&path)) {
        path = format!("{prefix}{name}-{number}.yaml");
        number += 1;
    }
    path
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
