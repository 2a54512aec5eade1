//! The scripts of the conformance data, each over the resources beside it.
//!
//! What a render makes of them is compared by the conformance runner; here each script runs on the host, and its
//! outcome is compared with what `.expected` says of it.
#![expect(clippy::print_stdout, reason = "a skipped test says so")]

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use portico_fn::yaml::{ParseLimits, SourceFile};
use portico_fn::{Output, Resource, ResourceList};
use portico_starlark::Starlark;

/// Outcomes that no `.expected` records, because the render ends before the script runs, or calls it at another time.
const UNRECORDED: &[(&str, &str)] = &[
    ("kpt/subpkg-fn-failure/starlark-httpbin.yaml", "httpbin-gen:3:42: got newline, want primary expression"),
    (
        "kpt/subpkg-has-invalid-kptfile/db/statefulset-filter.yaml",
        "statefulset-filter:3:42: got newline, want primary expression",
    ),
    ("kpt/validate-generated-resource/starlark-httpbin-val.yaml", "fail: could not find httpbin deployment"),
];

/// The resources of a file, with the annotations that the host gives them; none where it is no YAML.
fn resources(file: &Path) -> Vec<Resource> {
    let Ok(bytes) = fs::read(file) else { return Vec::new() };
    let Ok(source) = SourceFile::parse(&bytes, &ParseLimits::default()) else { return Vec::new() };
    let path = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let documents = source.into_documents().into_iter().enumerate();
    documents
        .filter_map(|(index, document)| {
            let mut resource = Resource::new(document.tree).ok()?;
            for prefix in ["config.kubernetes.io", "internal.config.kubernetes.io"] {
                resource.set_annotation(&format!("{prefix}/path"), &path);
                resource.set_annotation(&format!("{prefix}/index"), &index.to_string());
            }
            Some(resource)
        })
        .collect()
}

fn yaml_files(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            if !name.starts_with('.') {
                yaml_files(&path, out);
            }
        } else if name == "Kptfile" || path.extension().is_some_and(|ending| ending == "yaml") {
            out.push(path);
        }
    }
}

/// Messages that `.expected` of the case gives to starlark.
fn expected_messages(config: &Path, root: &Path) -> Vec<String> {
    let mut messages = Vec::new();
    for dir in config.ancestors().skip(1).take_while(|dir| dir.starts_with(root)) {
        for file in ["results.yaml", "diff.patch"] {
            let Ok(text) = fs::read_to_string(dir.join(".expected").join(file)) else { continue };
            for line in text.lines() {
                if let Some((_, message)) = line.split_once("- message: ") {
                    messages.push(message.trim_matches('\'').to_owned());
                }
            }
        }
    }
    messages
}

fn run(config: &Resource, items: Vec<Resource>) -> Output {
    let list = ResourceList { items, function_config: Some(config.clone()), results: Vec::new() };
    let printed = RefCell::new(Vec::<String>::new());
    let starlark = Starlark { printer: &printed, environment: Vec::new() };
    portico_fn::run(&starlark, list.to_yaml().as_bytes())
}

#[test]
fn the_scripts_of_the_conformance_data_run_as_recorded() {
    let Some(root) = std::env::var_os("PORTICO_CONFORMANCE").map(PathBuf::from).filter(|root| root.is_dir()) else {
        println!("skipped: PORTICO_CONFORMANCE names no folder");
        return;
    };
    let mut files = Vec::new();
    for group in ["kpt", "catalog/examples", "catalog/tests", "reports"] {
        yaml_files(&root.join(group), &mut files);
    }
    let mut scripts = 0;
    let mut faults = Vec::new();
    for file in files {
        for config in resources(&file).into_iter().filter(|r| r.kind() == "StarlarkRun") {
            scripts += 1;
            let mut siblings = Vec::new();
            yaml_files(file.parent().unwrap_or(&root), &mut siblings);
            let items = siblings.iter().flat_map(|sibling| resources(sibling)).collect();
            let output = run(&config, items);
            let list = ResourceList::parse(&output.stdout, &ParseLimits::default()).expect("a ResourceList");
            let message = list.results.first().map(|result| result.message.clone()).unwrap_or_default();
            let name = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().into_owned();
            let recorded = expected_messages(&file, &root).contains(&message)
                || UNRECORDED.contains(&(name.as_str(), message.as_str()));
            if output.exit_code != 0 && !recorded {
                faults.push(format!("{name}: {message}"));
            }
        }
    }
    assert!(scripts > 30, "only {scripts} scripts found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
