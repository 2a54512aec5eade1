use super::*;

fn package(paths: &[&str]) -> PackageFiles {
    package_with(paths, &PackageLimits::default()).expect("the package is fine")
}

/// A package whose `.krmignore` files hold what follows `=`; other files are empty.
fn package_with(paths: &[&str], limits: &PackageLimits) -> Result<PackageFiles, ReadError> {
    let files = paths.iter().map(|path| path.split_once('=').unwrap_or((path, "")));
    PackageFiles::from_map("/srv/app", files.map(|(path, text)| (path, text.as_bytes())), limits)
}

fn paths(package: &PackageFiles) -> Vec<&str> {
    package.packages.iter().map(|node| node.path.as_str()).collect()
}

#[test]
fn a_walk_meets_names_directory_by_directory() {
    let package = package(&[
        "aa/x.yaml",
        "a.yaml",
        "a-/x.yaml",
        "a/z.yaml",
        "Kptfile",
        ".hid.yaml",
        "a/b/x.yaml",
        "x.YAML",
        "Kptfile2",
        "z.jsonl",
        "j.json",
    ]);
    assert_eq!(
        package.root_package().files,
        [".hid.yaml", "Kptfile", "a/b/x.yaml", "a/z.yaml", "a-/x.yaml", "a.yaml", "aa/x.yaml", "j.json"]
    );
    assert_eq!(package.others["x.YAML"], OtherPath::File);
    assert_eq!(package.others["a/b"], OtherPath::Directory);
}

#[test]
fn siblings_are_in_the_order_of_their_whole_paths() {
    let package = package(&["Kptfile", "x/sub/Kptfile", "x/.b/Kptfile", "x-a/Kptfile", "x/.b/deep/er/Kptfile"]);
    assert_eq!(paths(&package), ["", "x-a", "x/.b", "x/.b/deep/er", "x/sub"]);
    assert_eq!(package.packages[0].children, [1, 2, 4]);
    assert_eq!(package.packages[2].children, [3]);
    assert_eq!(package.packages[3].parent, Some(2));
}

#[test]
fn a_package_owns_what_lies_below_it_down_to_the_next_one() {
    let package = package(&["Kptfile", "a.yaml", "db/Kptfile", "db/x/b.yaml", "dbx/c.yaml"]);
    assert_eq!(package.packages[0].files, ["Kptfile", "a.yaml", "dbx/c.yaml"]);
    assert_eq!(package.packages[1].files, ["db/Kptfile", "db/x/b.yaml"]);
    assert_eq!(package.packages[1].relative("db/x/b.yaml"), Some("x/b.yaml"));
    assert_eq!(package.packages[1].relative("dbx/c.yaml"), None);
    assert_eq!(package.absolute_path(&package.packages[1]), "/srv/app/db");
}

#[test]
fn the_root_is_a_package_without_a_kptfile_too() {
    let package = package(&["a.yaml", "sub/Kptfile"]);
    assert_eq!(package.root_package().kptfile, KptfileEntry::Missing);
    assert_eq!(package.packages[1].kptfile, KptfileEntry::File);
    assert_eq!(package.name, "app");
}

#[test]
fn a_krmignore_hides_own_files_but_neither_subpackages_nor_their_files() {
    let package = package(&[
        "Kptfile",
        ".krmignore=vendor\n*.skip.yaml\n",
        "vendor/a.yaml",
        "vendor/sub/Kptfile",
        "vendor/sub/b.skip.yaml",
        "c.skip.yaml",
        "plain/.krmignore=*.yaml",
        "plain/d.yaml",
    ]);
    assert_eq!(package.packages[0].files, ["Kptfile", "plain/d.yaml"]);
    assert_eq!(package.packages[1].files, ["vendor/sub/Kptfile", "vendor/sub/b.skip.yaml"]);
    assert_eq!(package.others["vendor/a.yaml"], OtherPath::Ignored);
    assert!(!package.files.contains_key("c.skip.yaml"));
}

#[test]
fn patterns_are_relative_to_their_own_package() {
    let package = package(&["Kptfile", "db/Kptfile", "db/.krmignore=/a.yaml\n", "db/a.yaml", "db/x/a.yaml", "a.yaml"]);
    assert_eq!(package.packages[0].files, ["Kptfile", "a.yaml"]);
    assert_eq!(package.packages[1].files, ["db/Kptfile", "db/x/a.yaml"]);
}

#[test]
fn an_ignored_kptfile_is_read_but_no_input() {
    let package = package(&["Kptfile", ".krmignore=Kptfile", "a.yaml"]);
    assert_eq!(package.packages[0].files, ["a.yaml"]);
    assert!(package.kptfile(package.root_package()).is_some());
}

#[test]
fn an_accepted_file_in_an_ignored_directory_stays_ignored() {
    let package = package(&["Kptfile", ".krmignore=x\n!x/a.yaml\n!b.yaml\n*.yaml", "x/a.yaml", "b.yaml", "c.yaml"]);
    assert_eq!(package.packages[0].files, ["Kptfile", "b.yaml"]);
}

#[test]
fn nothing_below_git_is_seen() {
    let package = package(&["Kptfile", ".git/x.yaml", ".git/sub/Kptfile", "sub/.git/y.yaml", "sub/a.yaml"]);
    assert_eq!(paths(&package), [""]);
    assert_eq!(package.packages[0].files, ["Kptfile", "sub/a.yaml"]);
    assert_eq!(package.others["sub/.git"], OtherPath::Git);
}

#[test]
fn each_limit_names_itself() {
    type Tighten = fn(&mut PackageLimits);
    let tight = |change: Tighten| {
        let mut limits = PackageLimits::default();
        change(&mut limits);
        limits
    };
    let cases: [(Tighten, &str); 7] = [
        (|limits| limits.entries = 2, "package.entries"),
        (|limits| limits.files = 1, "package.files"),
        (|limits| limits.file_bytes = 3, "package.fileBytes"),
        (|limits| limits.package_bytes = 7, "package.bytes"),
        (|limits| limits.depth = 1, "package.depth"),
        (|limits| limits.ignore_bytes = 2, "package.ignoreBytes"),
        (|limits| limits.ignore_patterns = 1, "package.ignorePatterns"),
    ];
    let files = ["Kptfile=1234", "a/b/c.yaml=5678", ".krmignore=*x\n*y"];
    assert!(package_with(&files, &PackageLimits::default()).is_ok());
    for (change, name) in cases {
        let error = package_with(&files, &tight(change)).expect_err(name);
        assert!(matches!(error, ReadError::Limit(_)), "{name}: {error}");
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
}

#[test]
fn a_map_that_is_no_tree_is_refused() {
    for (files, part) in [
        (vec!["a", "a/b"], "`a` is a file and a directory"),
        (vec!["../a"], "out of the package"),
        (vec!["/a"], "absolute"),
        (vec!["a//b"], "empty part"),
    ] {
        let error = package_with(&files, &PackageLimits::default()).expect_err(part);
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn twenty_thousand_files_and_deep_paths_take_no_longer_than_they_should() {
    let mut files: Vec<String> = (0..20_000).map(|i| format!("d{}/f{i}.yaml", i % 500)).collect();
    files.push(format!("{}Kptfile", "x/".repeat(100)));
    files.extend((0..500).map(|i| format!("d{i}/Kptfile")));
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let package = package(&names);
    assert_eq!(package.packages.len(), 502);
    assert_eq!(package.files.len(), 20_501);
}
