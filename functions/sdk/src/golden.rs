//! Golden tests of a function, on the host: input files, and what must come out.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use portico_krm::yaml::{ParseLimits, SourceFile};
use portico_krm::{Resource, ResourceList, annotations};
use similar::TextDiff;

use crate::process::{Output, Processor, run};

/// Set to anything but nothing, this environment variable makes [`run_golden_tests`] write what comes out instead of
/// comparing it. It is the one that the Go SDK's test helper knows.
pub const WRITE_GOLDEN_OUTPUT: &str = "WRITE_GOLDEN_OUTPUT";

/// A complete `ResourceList` as the input of a case, instead of single files.
const INPUT: &str = "_input.yaml";
const CONFIG: &str = "_fnconfig.yaml";
const EXPECTED: &str = "_expected.yaml";
const EXPECTED_STDERR: &str = "_stderr.txt";

/// Why golden tests did not pass.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GoldenError {
    /// A file or directory of the tests cannot be read or written.
    #[error("`{}` can't be used", .path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The directory has no case: a test that tests nothing must not pass.
    #[error("`{}` holds no case, that is no directory", .0.display())]
    NoCase(PathBuf),
    /// An input file is not what it has to be.
    #[error("`{}`: {reason}", .path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with its line.
        reason: String,
    },
    /// Something else came out: one text a file that differs, as a unified diff.
    #[error(
        "{}\nif the new output is right, run the test again with {WRITE_GOLDEN_OUTPUT}=1 and look at what git shows",
        .0.join("\n")
    )]
    Different(Vec<String>),
}

/// Runs a function on every case below a directory and panics with a diff when something else comes out than the case
/// expects. For `#[test]` functions; see [`check_golden`].
///
/// # Panics
/// When a case differs, is not readable, or there is none.
pub fn run_golden_tests(directory: impl AsRef<Path>, function: &impl Processor) {
    let bless = std::env::var_os(WRITE_GOLDEN_OUTPUT).is_some_and(|value| !value.is_empty());
    if let Err(error) = check_golden(directory.as_ref(), function, bless) {
        let reason = std::error::Error::source(&error).map_or(String::new(), |source| format!(": {source}"));
        panic!("{error}{reason}");
    }
}

/// Runs a function on every case below a directory; the number of cases.
///
/// Every directory in it is a case, laid out as the Go SDK's test helper has it:
///
/// | file | what it is |
/// |---|---|
/// | `*.yaml`, `*.yml`, `Kptfile`, also in directories | the package; each object is told its path and index |
/// | `_fnconfig.yaml` | the function's configuration; may be missing |
/// | `_input.yaml` | a whole `ResourceList` instead of the two above |
/// | `_expected.yaml` | the `ResourceList` that must come out, results included |
/// | `_stderr.txt` | what a function that fails must say on stderr; missing when it must pass |
///
/// With `bless` the last two are written instead of compared.
pub fn check_golden(directory: &Path, function: &impl Processor, bless: bool) -> Result<usize, GoldenError> {
    let mut cases = 0;
    let mut differences = Vec::new();
    for (path, is_directory) in sorted(directory)? {
        if is_directory {
            cases += 1;
            let output = run(function, &input(&path)?);
            compare(&path, &output, bless, &mut differences)?;
        }
    }
    match (cases, differences.is_empty()) {
        (0, _) => Err(GoldenError::NoCase(directory.to_owned())),
        (_, true) => Ok(cases),
        _ => Err(GoldenError::Different(differences)),
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> GoldenError {
    let path = path.to_owned();
    move |source| GoldenError::Io { path, source }
}

/// What a directory holds, by name: path, and whether it is a directory. Links are left alone.
fn sorted(directory: &Path) -> Result<Vec<(PathBuf, bool)>, GoldenError> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed(directory))? {
        let entry = entry.map_err(failed(directory))?;
        let kind = entry.file_type().map_err(failed(directory))?;
        if !kind.is_symlink() {
            all.push((entry.path(), kind.is_dir()));
        }
    }
    all.sort();
    Ok(all)
}

/// The content of a file, if there is one.
fn read(path: &Path) -> Result<Option<Vec<u8>>, GoldenError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path)(error)),
    }
}

/// The bytes that the function of a case reads.
fn input(case: &Path) -> Result<Vec<u8>, GoldenError> {
    if let Some(whole) = read(&case.join(INPUT))? {
        return Ok(whole);
    }
    let mut list = ResourceList::default();
    let config = case.join(CONFIG);
    if let Some(bytes) = read(&config)? {
        let mut objects = objects(&config, &bytes)?;
        if objects.len() > 1 {
            let reason = format!("one object is a function's configuration, this has {}", objects.len());
            return Err(GoldenError::Input { path: config, reason });
        }
        list.function_config = objects.pop();
    }
    // A list of directories instead of recursion: a tree of any depth will do.
    let mut directories = vec![case.to_owned()];
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for (path, is_directory) in sorted(&directory)? {
            if is_directory {
                directories.push(path);
            } else if is_resource_file(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    for path in files {
        let bytes = std::fs::read(&path).map_err(failed(&path))?;
        let name = path.strip_prefix(case).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        for (index, mut object) in objects(&path, &bytes)?.into_iter().enumerate() {
            object.set_path(&name);
            object.set_annotation(annotations::INDEX, &index.to_string());
            list.items.push(object);
        }
    }
    Ok(list.to_yaml().into())
}

fn is_resource_file(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let extension = path.extension().and_then(OsStr::to_str);
    !name.starts_with('_') && (name == "Kptfile" || matches!(extension, Some("yaml" | "yml")))
}

fn objects(path: &Path, bytes: &[u8]) -> Result<Vec<Resource>, GoldenError> {
    let wrong = |reason: String| GoldenError::Input { path: path.to_owned(), reason };
    let file = SourceFile::parse(bytes, &ParseLimits::default())
        .map_err(|errors| wrong(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))?;
    file.into_documents()
        .into_iter()
        .map(|document| Resource::new(document.tree).map_err(|error| wrong(error.to_string())))
        .collect()
}

fn compare(case: &Path, output: &Output, bless: bool, differences: &mut Vec<String>) -> Result<(), GoldenError> {
    for (name, actual) in [(EXPECTED, output.stdout.as_slice()), (EXPECTED_STDERR, output.stderr.as_bytes())] {
        let path = case.join(name);
        let expected = read(&path)?;
        // Nothing and no file are the same.
        if expected.as_deref().unwrap_or_default() == actual {
            continue;
        }
        if !bless {
            let expected = expected.unwrap_or_default();
            let (old, new) = (String::from_utf8_lossy(&expected), String::from_utf8_lossy(actual));
            let diff = TextDiff::from_lines(&*old, &*new);
            let shown = path.display().to_string();
            differences.push(diff.unified_diff().header(&shown, "what came out").to_string());
        } else if actual.is_empty() {
            std::fs::remove_file(&path).map_err(failed(&path))?;
        } else {
            std::fs::write(&path, actual).map_err(failed(&path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Verdict};

    fn label(list: &mut ResourceList) -> Result<Verdict, Error> {
        let Some(config) = &list.function_config else { return Err("no configuration".into()) };
        let team = config.string_at(&["data", "team"]).to_owned();
        for item in &mut list.items {
            item.set_label("team", &team);
        }
        Ok(Verdict::Pass)
    }

    fn write(directory: &Path, name: &str, text: &str) {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }

    const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # kept\ndata:\n  team: blue\n";

    #[test]
    fn a_blessed_case_passes_and_another_function_shows_a_diff() {
        let directory = tempfile::tempdir().expect("a directory");
        let cases = directory.path();
        write(cases, "one/db/a.yaml", OBJECT);
        write(cases, "one/_fnconfig.yaml", OBJECT);
        write(cases, "one/notes.txt", "not read");
        let missing = check_golden(cases, &label, false).expect_err("nothing is expected yet").to_string();
        assert!(missing.contains("+      team: blue"), "{missing}");
        assert_eq!(check_golden(cases, &label, true).expect("written"), 1);
        let expected = std::fs::read_to_string(cases.join("one/_expected.yaml")).expect("blessed");
        assert!(expected.contains("internal.config.kubernetes.io/path: 'db/a.yaml'"), "{expected}");
        assert!(expected.contains("name: a # kept"), "{expected}");
        assert!(!cases.join("one/_stderr.txt").exists());
        assert_eq!(check_golden(cases, &label, false).expect("passes"), 1);

        let idle = |_: &mut ResourceList| Ok(Verdict::Pass);
        let different = check_golden(cases, &idle, false).expect_err("other output").to_string();
        assert!(different.contains("-      team: blue") && different.contains(WRITE_GOLDEN_OUTPUT), "{different}");
    }

    #[test]
    fn a_failing_case_keeps_what_it_must_say() {
        let directory = tempfile::tempdir().expect("a directory");
        let cases = directory.path();
        write(cases, "whole/_input.yaml", "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n");
        check_golden(cases, &label, true).expect("written");
        let told = std::fs::read_to_string(cases.join("whole/_stderr.txt")).expect("blessed");
        assert_eq!(told, "failed to evaluate function: no configuration\n");
        check_golden(cases, &label, false).expect("the failure is expected");
        let pass = |_: &mut ResourceList| Ok(Verdict::Pass);
        let different = check_golden(cases, &pass, false).expect_err("it must fail").to_string();
        assert!(different.contains("-failed to evaluate function"), "{different}");
        check_golden(cases, &pass, true).expect("written");
        assert!(!cases.join("whole/_stderr.txt").exists(), "a case that passes says nothing");
    }

    #[test]
    fn no_case_and_bad_input_are_errors_that_name_the_place() {
        let directory = tempfile::tempdir().expect("a directory");
        assert!(matches!(check_golden(directory.path(), &label, true), Err(GoldenError::NoCase(_))));
        write(directory.path(), "bad/a.yaml", "a: [1\n");
        let error = check_golden(directory.path(), &label, true).expect_err("no YAML").to_string();
        assert!(error.contains("bad/a.yaml`: line "), "{error}");
        write(directory.path(), "bad/a.yaml", "- 1\n");
        let error = check_golden(directory.path(), &label, true).expect_err("no object").to_string();
        assert!(error.contains("bad/a.yaml`: "), "{error}");
        let gone = directory.path().join("gone");
        assert!(matches!(check_golden(&gone, &label, false), Err(GoldenError::Io { .. })));
    }
}
