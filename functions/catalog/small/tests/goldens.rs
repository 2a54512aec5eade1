//! The conformance data's cases of single functions, on the host: the resources of a case go through its function, and
//! what comes out is compared with the files and the results that the case expects. The conformance runner runs the
//! same cases through the whole program.
//!
//! The data is not part of the project; `PORTICO_CONFORMANCE` says where it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use portico_fn::{Output, Program, Resource, ResourceList, yaml};
use portico_krm::annotations::Origin;
use portico_krm::results::{FunctionResult, parse_results};
use yaml::{EmitOptions, ParseLimits, SourceFile, Tree, emit_document};

/// Where the configuration of a case is.
enum Config {
    None,
    File(&'static str),
    Data(&'static [(&'static str, &'static str)]),
}

struct Case {
    dir: &'static str,
    program: Program,
    config: Config,
    /// The kinds that the function is shown; all when it is empty.
    kinds: &'static [&'static str],
}

const fn case(dir: &'static str, program: Program, config: Config) -> Case {
    Case { dir, program, config, kinds: &[] }
}

const COLORS: Config = Config::Data(&[("color", "orange"), ("fruit", "apple")]);

const CASES: &[Case] = &[
    case("catalog/examples/apply-setters-simple", apply_setters::program, Config::File("setters.yaml")),
    Case {
        kinds: &["Deployment", "MyKind"],
        ..case("catalog/examples/create-setters-simple", create_setters::program, Config::File("setters.yaml"))
    },
    case(
        "catalog/examples/search-replace-create-setters",
        search_replace::program,
        Config::Data(&[
            ("by-path", "data.**"),
            ("by-value-regex", "(.*)nginx.com(.*)"),
            ("put-comment", "kpt-set: ${1}${host}${2}"),
        ]),
    ),
    Case {
        kinds: &["ConfigMap", "Namespace"],
        ..case("catalog/examples/set-annotations-simple", set_annotations::program, COLORS)
    },
    Case {
        kinds: &["ConfigMap", "MyResource"],
        ..case("catalog/examples/set-annotations-advanced", set_annotations::program, Config::File("fn-config.yaml"))
    },
    case("catalog/examples/set-annotations-imperative", set_annotations::program, COLORS),
    case("catalog/tests/list-setters/no-matches-error", list_setters::program, Config::None),
    case(
        "catalog/tests/search-replace/file-path-match",
        search_replace::program,
        Config::Data(&[("by-value", "project-id"), ("by-file-path", "**/setters.yaml"), ("put-value", "new-project")]),
    ),
    case(
        "catalog/tests/search-replace/no-results",
        search_replace::program,
        Config::Data(&[("by-value", "non-existent-value"), ("by-file-path", "resources.yaml")]),
    ),
    Case {
        kinds: &["ConfigMap"],
        ..case(
            "catalog/tests/set-annotations/additional-annotations",
            set_annotations::program,
            Config::File("fn-config.yaml"),
        )
    },
    case("catalog/tests/set-annotations/empty-list/advanced", set_annotations::program, Config::File("fn-config.yaml")),
    case("catalog/tests/set-annotations/empty-list/simple", set_annotations::program, Config::None),
    Case {
        kinds: &["ConfigMap"],
        ..case("catalog/tests/set-annotations/legacy-config", set_annotations::program, Config::File("fn-config.yaml"))
    },
    Case {
        kinds: &["ConfigMap"],
        ..case("catalog/tests/set-annotations/local-config", set_annotations::program, Config::File("fn-config.yaml"))
    },
    case("kpt/fnresult-fn-success", search_replace::program, Config::File("search-replace-conf.yaml")),
    case("reports/15-field-order-kept", apply_setters::program, Config::File("setters.yaml")),
    case(
        "reports/36-apply-setters-number-like-values",
        apply_setters::program,
        Config::Data(&[("replicas", "3"), ("commit", "0071335"), ("flag", "yes"), ("hex", "9e5")]),
    ),
    case("catalog/examples/apply-replacements-simple", apply_replacements::program, Config::File("replacements.yaml")),
    case(
        "catalog/examples/set-image-simple",
        set_image::program,
        Config::Data(&[("name", "nginx"), ("newName", "bitnami/nginx"), ("newTag", "1.21.4")]),
    ),
    case(
        "catalog/examples/set-image-imperative",
        set_image::program,
        Config::Data(&[("name", "nginx"), ("newName", "bitnami/nginx"), ("newTag", "1.21.4")]),
    ),
    case("catalog/examples/set-image-advanced", set_image::program, Config::File("fn-config.yaml")),
    case(
        "catalog/examples/set-image-digest",
        set_image::program,
        Config::Data(&[
            ("name", "nginx"),
            ("newName", "bitnami/nginx"),
            ("digest", "sha256:e1d6f00f191515945233f562777fc9ab3b7637ea75169b3dd628d46c9b24400f"),
        ]),
    ),
    case("catalog/examples/upsert-resource-simple", upsert_resource::program, Config::File("fn-config.yaml")),
    case("catalog/examples/upsert-resource-at-path", upsert_resource::program, Config::File("fn-config.yaml")),
    case(
        "catalog/examples/remove-local-config-resources-imperative",
        remove_local_config_resources::program,
        Config::None,
    ),
    case(
        "catalog/examples/set-enforcement-action-simple",
        set_enforcement_action::program,
        Config::Data(&[("enforcementAction", "dryrun")]),
    ),
    case(
        "catalog/contrib-examples/delete-annotations-simple",
        delete_annotations::program,
        Config::Data(&[("annotationKeys", "annotation-to-delete")]),
    ),
    case("catalog/examples/set-project-id-simple", set_project_id::program, Config::Data(&[("project-id", "foo")])),
    case("reports/17-package-with-only-a-function-config", upsert_resource::program, Config::File("fn-config.yaml")),
    case(
        "reports/35-set-image-keeps-tag",
        set_image::program,
        Config::Data(&[("name", "acme/git"), ("newName", "mirror.example.com/acme/git")]),
    ),
    case("reports/38-apply-replacements-keeps-type", apply_replacements::program, Config::File("repl.yaml")),
    case("reports/39-ensure-name-substring-idempotent", ensure_name_substring::program, Config::File("ens.yaml")),
];

#[test]
#[expect(clippy::print_stdout, reason = "a test that skips cases says so")]
fn resources_of_the_conformance_cases_come_out_as_expected() {
    let Some(root) = std::env::var_os("PORTICO_CONFORMANCE").map(PathBuf::from) else {
        println!("skipped: PORTICO_CONFORMANCE is not set");
        return;
    };
    let mut failed = Vec::new();
    for case in CASES {
        let dir = root.join(case.dir);
        if !dir.is_dir() {
            println!("skipped: {} is not there", case.dir);
        } else if let Err(difference) = check(case, &dir) {
            failed.push(format!("{}: {difference}", case.dir));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

fn check(case: &Case, dir: &Path) -> Result<(), String> {
    let package = Some(dir.join("package")).filter(|package| package.is_dir()).unwrap_or_else(|| dir.to_owned());
    let before = read(&package);
    let (mut after, output) = run(case, &before);
    let list = ResourceList::parse(&output.stdout, &ParseLimits::default()).map_err(|e| format!("output: {e}"))?;

    let expected = dir.join(".expected");
    let config = fs::read_to_string(expected.join("config.yaml")).unwrap_or_default();
    let exit_code = u8::from(config.contains("exitCode: 1"));
    if output.exit_code != exit_code {
        return Err(format!("exit code {}, expected {exit_code}: {}", output.exit_code, output.stderr));
    }
    if let Ok(text) = fs::read_to_string(expected.join("results.yaml")) {
        let (stderr, results) = expected_results(&text);
        if output.stderr.trim_end() != stderr {
            return Err(format!("stderr {:?}, expected {stderr:?}", output.stderr));
        }
        if list.results != results {
            return Err(format!("results {:#?}, expected {results:#?}", list.results));
        }
    }
    let mut wanted = before.clone();
    if let Ok(patch) = fs::read_to_string(expected.join("diff.patch")) {
        apply(&patch, &mut wanted);
    }
    for (path, text) in read(&dir.join("expected")) {
        wanted.insert(path, text);
    }
    if output.exit_code > 0 {
        return Ok(());
    }
    // the Kptfile's status is the program's to write
    for files in [&mut after, &mut wanted] {
        files.remove("Kptfile");
    }
    match wanted.iter().find(|(path, text)| after.get(*path) != Some(*text)) {
        Some((path, text)) => Err(format!("{path} is\n{}expected\n{text}", after.get(path).map_or("", String::as_str))),
        None => Ok(()),
    }
}

/// Files of a package by their path; hidden ones and what is no YAML left out.
fn read(package: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut pending = vec![package.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().filter_map(Result::ok) {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if path.is_dir() && !name.starts_with('.') {
                pending.push(path);
            } else if name == "Kptfile" || path.extension().is_some_and(|ending| ending == "yaml") {
                let key = path.strip_prefix(package).expect("inside").to_string_lossy().into_owned();
                files.insert(key, fs::read_to_string(&path).expect("a file"));
            }
        }
    }
    files
}

/// Runs the function of a case; the files that come out of it.
fn run(case: &Case, files: &BTreeMap<String, String>) -> (BTreeMap<String, String>, Output) {
    let mut list = ResourceList::default();
    let mut others = Vec::new();
    for (path, text) in files {
        let file = SourceFile::parse(text.as_bytes(), &ParseLimits::default()).expect("yaml");
        for (index, document) in file.into_documents().into_iter().enumerate() {
            let mut item = Resource::new(document.tree).expect("a mapping");
            if matches!(case.config, Config::File(config) if config == path) {
                list.function_config = Some(item.clone());
            }
            item.stamp_origin(&Origin { path, index, package_path: "/package", sequences: document.seq_style });
            let chosen = case.kinds.is_empty() || case.kinds.contains(&item.kind());
            if chosen { &mut list.items } else { &mut others }.push(item);
        }
    }
    if let Config::Data(data) = case.config {
        let mut tree = Tree::new_mapping();
        let root = tree.root();
        for (key, value) in [("apiVersion", "v1"), ("kind", "ConfigMap")] {
            let value = tree.string(value);
            tree.set(root, key, value);
        }
        let map = tree.ensure_mapping(root, "data");
        for (key, value) in data {
            let value = tree.string(value);
            tree.set(map, key, value);
        }
        list.function_config = Some(Resource { tree });
    }
    let output = (case.program)(list.to_yaml().into());
    let items = ResourceList::parse(&output.stdout, &ParseLimits::default()).map_or_else(|_| Vec::new(), |l| l.items);
    (write(items.into_iter().chain(others)), output)
}

/// The files that hold these resources.
fn write(items: impl Iterator<Item = Resource>) -> BTreeMap<String, String> {
    let mut documents: BTreeMap<(String, usize), String> = BTreeMap::new();
    for mut item in items {
        let place = (
            item.path().expect("a path").to_owned(),
            // a new resource has none
            item.index().and_then(|index| index.parse().ok()).unwrap_or_default(),
        );
        let sequences = item.seq_style();
        item.strip_internal();
        let mut text = String::new();
        emit_document(&item.tree, &EmitOptions { sequences }, &mut text);
        documents.insert(place, text);
    }
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for ((path, _), text) in documents {
        let file = files.entry(path).or_default();
        if !file.is_empty() {
            file.push_str("---\n");
        }
        file.push_str(&text);
    }
    files
}

/// stderr and results of the only step.
fn expected_results(text: &str) -> (String, Vec<FunctionResult>) {
    let tree = Tree::parse(text, &ParseLimits::default()).expect("yaml").expect("a document");
    let items = tree.get(tree.root(), "items").expect("items");
    let step = tree.elements(items).next().expect("a step");
    let results = tree.get(step, "results").map_or_else(Vec::new, |id| parse_results(&tree, id).expect("results"));
    (tree.text_at(step, &["stderr"]).unwrap_or_default().to_owned(), results)
}

/// Applies a patch of git to files. A hunk says at which line it starts; its context is compared.
fn apply(patch: &str, files: &mut BTreeMap<String, String>) {
    for part in patch.split("diff --git ").skip(1) {
        let (head, hunks) = part.split_once("\n@@ ").unwrap_or((part, ""));
        let path = head.lines().find_map(|line| line.strip_prefix("+++ b/")).expect("a changed file");
        let old: Vec<&str> = files.get(path).map_or_else(Vec::new, |text| text.lines().collect());
        let (mut new, mut at) = (Vec::new(), 0);
        for hunk in hunks.split("\n@@ ") {
            let mut lines = hunk.lines();
            let start = lines.next().and_then(|range| range.strip_prefix('-')?.split([',', ' ']).next()?.parse().ok());
            let start: usize = start.expect("a line number");
            let until = start.saturating_sub(1);
            new.extend(&old[at..until]);
            at = until;
            for line in lines {
                match line.split_at(1) {
                    ("+", text) => new.push(text),
                    (sign, text) => {
                        assert_eq!(old[at], text, "{path}: the patch does not fit");
                        at += 1;
                        if sign == " " {
                            new.push(text);
                        }
                    }
                }
            }
        }
        new.extend(&old[at..]);
        files.insert(path.to_owned(), new.join("\n") + "\n");
    }
}
