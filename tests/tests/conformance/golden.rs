//! Cases in kpt's form: a package with `.expected/`. See the README of the conformance data for the rules.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use portico_tests::{Ran, copy_tree, expect_same, git, probes_directory, run_portico};
use regex::Regex;
use serde::Deserialize;

use crate::{Case, Verdict, differences};

/// Cases that the README of the data calls outdated because they need what is not here.
const OUTDATED: [(&str, &str); 4] = [
    ("catalog/examples/set-namespace-kpt-package-context", "outdated: needs `kpt pkg init`"),
    ("catalog/tests/gatekeeper/decode-json-as-yaml", "outdated: calls the image with flags of its own"),
    ("catalog/tests/gatekeeper/inputoutputflags", "outdated: calls the image with flags of its own"),
    ("catalog/tests/starlark/preserve-id-annotations", "outdated: calls images by hand"),
];

/// `.expected/config.yaml`; keys that only a container needs are not read.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Config {
    test_type: Option<String>,
    exit_code: i32,
    std_err: String,
    std_err_reg_ex: String,
    std_err_strip_lines: Vec<String>,
    std_out: String,
    actual_strip_lines: Vec<String>,
    diff_strip_reg_ex: String,
    image_pull_policy: Option<String>,
    allow_exec: bool,
    allow_wasm: bool,
    image: Option<String>,
    args: BTreeMap<String, String>,
    #[serde(rename = "fnConfig")]
    settings: Option<String>,
    skip: bool,
    /// Flags of ours that a case of this project needs.
    flags: Vec<String>,
}

/// What a case's script does, from `commands.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Script {
    before: Vec<String>,
    run: Vec<Vec<String>>,
}

/// The cases of one group of the shared data.
pub(crate) fn cases(root: &Path, group: &str) -> Result<Vec<Case>> {
    let text = std::fs::read_to_string(root.join("commands.yaml"))?;
    let mut scripts: BTreeMap<String, Script> = serde_yaml::from_str(&text).context("commands.yaml")?;
    collect(&root.join(group), group, &mut |name, directory| {
        let script = scripts.remove(name).unwrap_or_default();
        (name.to_owned(), directory, script)
    })
}

/// The project's own cases; they run in the style that their `flags` name.
pub(crate) fn own_cases() -> Result<Vec<Case>> {
    let root = portico_tests::repository().join("tests/cases");
    collect(&root, "cases", &mut |name, directory| (name.to_owned(), directory, Script::default()))
}

fn collect(
    root: &Path,
    group: &str,
    describe: &mut dyn FnMut(&str, PathBuf) -> (String, PathBuf, Script),
) -> Result<Vec<Case>> {
    let mut directories = Vec::new();
    find(root, &mut directories)?;
    directories.sort();
    let mut cases = Vec::new();
    for directory in directories {
        let path = directory.strip_prefix(root)?.to_string_lossy().into_owned();
        let (name, directory, script) = describe(&format!("{group}/{path}"), directory);
        let shown = name.clone();
        cases.push(Case { name, run: Box::new(move || run(&shown, &directory, &script)) });
    }
    Ok(cases)
}

fn find(at: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    if at.join(".expected").is_dir() {
        out.push(at.to_path_buf());
    }
    for entry in std::fs::read_dir(at).with_context(|| at.display().to_string())? {
        let entry = entry?;
        // `newer` holds notes that cases can be built from, no cases.
        if entry.file_type()?.is_dir() && entry.file_name() != ".expected" && entry.file_name() != "newer" {
            find(&entry.path(), out)?;
        }
    }
    Ok(())
}

/// Names (last path component, without tag) of the functions that the binary under test has.
fn catalog() -> Result<&'static Vec<String>> {
    static NAMES: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    if let Some(names) = NAMES.get() {
        return Ok(names);
    }
    let ran = run_portico(Path::new("/"), &["functions", "list"].map(String::from), &[])?;
    ensure!(ran.code == 0, "portico functions list: {}", ran.stderr);
    let names = ran.stdout.lines().filter_map(|l| l.split_whitespace().next()).map(str::to_owned).collect();
    Ok(NAMES.get_or_init(|| names))
}

/// The first function that the case needs and the catalog lacks.
fn missing_function(directory: &Path, config: &Config, script: &Script) -> Result<Option<String>> {
    // Names that must resolve nowhere: a case that uses one is about that.
    const NOWHERE: [&str; 4] = ["dne", "not-exist", "my-func", "validate-name"];
    // A name with a space in it is no image: such a case is about the message.
    let image = Regex::new(r"(?m)^\s*(?:- )?image:\s*[\x22']?([^\s\x22']+)[\x22']?\s*(?:#.*)?$")?;
    let mut images: Vec<String> = config.image.iter().cloned().collect();
    for (path, text) in portico_tests::files_below(directory)? {
        if path.ends_with("Kptfile") && !path.starts_with(".expected") {
            let text = String::from_utf8_lossy(&text).into_owned();
            images.extend(image.captures_iter(&text).map(|c| c[1].to_owned()));
        }
    }
    let words = script.run.iter().flatten().flat_map(|c| c.split_whitespace());
    images.extend(words.filter(|w| w.starts_with("gcr.io/") || w.starts_with("ghcr.io/")).map(str::to_owned));
    let known = catalog()?;
    for image in images {
        if image.starts_with("probe.local/") || image.contains("builtins/") {
            continue;
        }
        let name = image.rsplit('/').next().unwrap_or(&image).split([':', '@']).next().unwrap_or_default().to_owned();
        if !NOWHERE.contains(&name.as_str()) && !known.contains(&name) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn run(name: &str, directory: &Path, script: &Script) -> Result<Verdict> {
    let replaced = differences::expected(name)?;
    let is_ours = replaced.is_some() || name.starts_with("cases/");
    let expected = replaced.unwrap_or_else(|| directory.join(".expected"));
    let config_path = expected.join("config.yaml");
    let config: Config = match std::fs::read_to_string(&config_path) {
        Ok(text) => serde_yaml::from_str(&text).with_context(|| config_path.display().to_string())?,
        Err(_) => Config::default(),
    };
    if config.skip {
        return Ok(Verdict::Skipped("its own configuration skips it".into()));
    }
    if let Some(function) = missing_function(directory, &config, script)? {
        return Ok(Verdict::Skipped(format!("function `{function}` is not in the catalog")));
    }
    if let Some((_, why)) = OUTDATED.iter().find(|(case, _)| *case == name) {
        return Ok(Verdict::Skipped((*why).into()));
    }

    let temporary = tempfile::tempdir()?;
    let top = temporary.path().canonicalize()?;
    let case = directory.file_name().context("a case has a name")?;
    let package = top.join(case);
    copy_tree(directory, &package)?;
    let own = name.starts_with("cases/");
    if own {
        // kpt's cases carry their expectations through the render and hide them with a `.krmignore`.
        std::fs::remove_dir_all(package.join(".expected"))?;
    }
    git(&package, &["init", "-q"])?;
    git(&package, &["add", "-A", "-f"])?;
    git(&package, &["commit", "-q", "-m", "first"])?;
    let results = top.join("results");
    let ran = execute(name, directory, &package, &results, &config, script, &expected)?;

    let stderr = normalise(&ran.stderr, &top, &config);
    let context = || format!("exit code {}\nstdout:\n{}\nstderr:\n{}", ran.code, ran.stdout, stderr);
    ensure!(ran.code == config.exit_code, "exit code {}, expected {}\n{}", ran.code, config.exit_code, context());
    let wanted = normalise(&config.std_err, &top, &config);
    ensure!(stderr.contains(wanted.trim_end_matches('\n')), "stderr does not contain:\n{wanted}\nit is:\n{stderr}");
    if !config.std_err_reg_ex.is_empty() {
        ensure!(
            Regex::new(&config.std_err_reg_ex)?.is_match(&stderr),
            "stderr does not match `{}`\n{}",
            config.std_err_reg_ex,
            context()
        );
    }
    let stdout = ran.stdout.trim();
    ensure!(stdout.contains(config.std_out.trim()), "stdout does not contain:\n{}\n{}", config.std_out, context());

    if is_ours && std::env::var_os("PORTICO_BLESS").is_some() {
        bless(&expected, &package, &results)?;
    }
    compare_results(name, &expected, &results, &config).with_context(context)?;
    compare_diff(&expected, &package, &config).with_context(context)?;
    Ok(Verdict::Passed)
}

/// Runs the case's commands.
fn execute(
    name: &str,
    directory: &Path,
    package: &Path,
    results: &Path,
    config: &Config,
    script: &Script,
    expected: &Path,
) -> Result<Ran> {
    let top = package.parent().context("the package lies in a directory")?;
    let own = name.starts_with("cases/");
    let style = |args: &mut Vec<String>| -> Result<()> {
        if own {
            args.extend(config.flags.iter().cloned());
        } else {
            args.push("--yaml-style=kpt".into());
            // Recorded before kpt wrote a status.
            if name.starts_with("catalog/") && args.first().is_some_and(|a| a == "render") {
                args.push("--status=none".into());
            }
        }
        if probes_directory()?.is_dir() {
            args.push(format!("--function-dir={}", probes_directory()?.display()));
        }
        Ok(())
    };
    for step in &script.before {
        match step.split_once(' ') {
            Some(("remove", path)) if package.join(path).is_dir() => std::fs::remove_dir_all(package.join(path))?,
            Some(("remove", _)) => {}
            Some(("mkdir", path)) => std::fs::create_dir(package.join(path))?,
            _ => bail!("unknown step `{step}`"),
        }
    }
    if !script.run.is_empty() {
        let mut last = Ran::default();
        let mut stderr = String::new();
        for pipeline in &script.run {
            let mut input = Vec::new();
            for command in pipeline {
                let command = command.replace("$RESULTS", &results.display().to_string());
                let mut words = shlex::split(&command).with_context(|| format!("cannot split `{command}`"))?;
                words.remove(0);
                let dashes = words.iter().position(|w| w == "--").unwrap_or(words.len());
                let tail = words.split_off(dashes);
                style(&mut words)?;
                words.extend(tail);
                last = run_portico(package, &words, &input)?;
                stderr.push_str(&last.stderr);
                input = last.stdout.clone().into_bytes();
            }
        }
        last.stderr = stderr;
        return Ok(last);
    }
    let mut args: Vec<String> = Vec::new();
    let eval = config.test_type.as_deref() == Some("eval");
    args.push(if eval { "eval" } else { "render" }.into());
    args.push(package.display().to_string());
    style(&mut args)?;
    if expected.join("results.yaml").exists() {
        args.push(format!("--results-dir={}", results.display()));
    }
    if eval {
        args.push(format!("--image={}", config.image.as_deref().context("an eval case names its image")?));
        if let Some(path) = &config.settings {
            args.push(format!("--fn-config={}", expected.join(path).display()));
        }
        if !config.args.is_empty() {
            args.push("--".into());
            args.extend(config.args.iter().map(|(k, v)| format!("{k}={v}")));
        }
    } else {
        if directory.join("out").is_dir() {
            args.push(format!("--output={}", package.join("out").display()));
        }
        if let Some(policy) = &config.image_pull_policy {
            args.push(format!("--image-pull-policy={policy}"));
        }
        if config.allow_exec {
            args.push("--allow-exec".into());
        }
        if config.allow_wasm {
            args.push("--allow-alpha-wasm".into());
        }
    }
    // kpt's runner starts kpt far from the package: messages must not depend on it.
    run_portico(Path::new("/"), &args, &[]).with_context(|| format!("in {}", top.display()))
}

/// Standard error as the goldens have it: times 0s, no temporary path, without the lines that a case strips.
fn normalise(text: &str, top: &Path, config: &Config) -> String {
    let prefix = format!("{}/", top.display());
    let mut out = String::new();
    for line in text.lines() {
        if config.std_err_strip_lines.iter().any(|l| l == line) {
            continue;
        }
        let line = line.replace(&prefix, "");
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() == 4 && matches!(words[0], "[PASS]" | "[FAIL]") {
            out.push_str(&line.replace(&format!(" in {}", words[3]), " in 0s"));
        } else {
            out.push_str(&line);
        }
        out.push('\n');
    }
    out
}

/// Writes `diff.patch` anew, and `results.yaml` where the case has one.
fn bless(expected: &Path, package: &Path, results: &Path) -> Result<()> {
    let diff = diff_of(package)?;
    let path = expected.join("diff.patch");
    if !diff.is_empty() {
        std::fs::write(path, diff)?;
    } else if path.exists() {
        std::fs::remove_file(path)?;
    }
    if expected.join("results.yaml").exists() {
        std::fs::copy(results.join("results.yaml"), expected.join("results.yaml"))?;
    }
    Ok(())
}

/// What changed in the package since the first commit.
fn diff_of(package: &Path) -> Result<String> {
    git(package, &["add", "-A", "-f"])?;
    git(package, &["diff", "--cached", "HEAD"])
}

fn compare_results(name: &str, expected: &Path, results: &Path, config: &Config) -> Result<()> {
    let Ok(wanted) = std::fs::read_to_string(expected.join("results.yaml")) else {
        return Ok(());
    };
    let actual = std::fs::read_to_string(results.join("results.yaml")).context("results.yaml was not written")?;
    let strip = |text: &str| -> String {
        let kept = text.lines().filter(|l| !config.actual_strip_lines.iter().any(|s| s == l));
        kept.collect::<Vec<_>>().join("\n").trim().to_owned() + "\n"
    };
    // The catalog's goldens name images by an old prefix and tag; results are compared as values there.
    if name.starts_with("catalog/") {
        let wanted: serde_yaml::Value = serde_yaml::from_str(&wanted)?;
        let actual: serde_yaml::Value = serde_yaml::from_str(&actual)?;
        return expect_same("results.yaml", &serde_yaml::to_string(&wanted)?, &serde_yaml::to_string(&actual)?);
    }
    expect_same("results.yaml", &strip(&wanted), &strip(&actual))
}

fn compare_diff(expected: &Path, package: &Path, config: &Config) -> Result<()> {
    let diff = diff_of(package)?;
    let wanted = std::fs::read_to_string(expected.join("diff.patch")).unwrap_or_default();
    let mut patterns = Vec::new();
    if !config.diff_strip_reg_ex.is_empty() {
        patterns.push(Regex::new(&config.diff_strip_reg_ex)?);
    }
    let index = Regex::new(r"^(index [0-9a-f]+\.\.[0-9a-f]+|@@ .*)")?;
    let strip = |text: &str| -> String {
        if patterns.is_empty() {
            return text.trim().to_owned() + "\n";
        }
        let kept = text.lines().filter(|l| !patterns.iter().any(|p| p.is_match(l)));
        kept.map(|l| if index.is_match(l) { "index" } else { l }).collect::<Vec<_>>().join("\n").trim().to_owned()
            + "\n"
    };
    expect_same("diff.patch", &strip(&wanted), &strip(&diff))
}
