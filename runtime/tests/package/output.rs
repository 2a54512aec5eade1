use std::fs;
use std::os::unix::fs::symlink;

use portico_runtime::package::{OutputError, check_new_directory, write_new_directory};

use crate::{package, text, tree};

fn files<'a>(files: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a [u8])> {
    files.iter().map(|(path, text)| (*path, text.as_bytes())).collect()
}

#[test]
fn a_new_directory_gets_its_files_and_its_parents() {
    let temp = package(&[]);
    let out = temp.path().join("x/y/out");
    check_new_directory(&out).expect("free");
    write_new_directory(&out, files(&[("Kptfile", "k"), ("a/b/c.yaml", "c")])).expect("written");
    assert_eq!(text(&out, "a/b/c.yaml"), "c");
    assert_eq!(
        tree(temp.path()),
        ["x", "x/y", "x/y/out", "x/y/out/Kptfile", "x/y/out/a", "x/y/out/a/b", "x/y/out/a/b/c.yaml"]
    );
}

#[test]
fn what_exists_is_refused_in_kpts_words() {
    let temp = package(&[("dir/x", "x"), ("file", "x")]);
    symlink("nothing", temp.path().join("dangling")).expect("linked");
    for name in ["dir", "file", "dangling", "."] {
        let path = temp.path().join(name);
        let want =
            format!("directory {:?} already exists, please delete the directory and retry", path.display().to_string());
        assert_eq!(check_new_directory(&path).expect_err(name).to_string(), want);
        assert_eq!(write_new_directory(&path, files(&[("a", "a")])).expect_err(name).to_string(), want);
    }
    assert_eq!(tree(temp.path()), ["dangling", "dir", "dir/x", "file"]);
}

#[test]
fn a_failure_leaves_nothing() {
    let temp = package(&[("file", "x")]);
    for bad in [
        files(&[("a.yaml", "a"), ("../b", "b")]),
        files(&[("a", "a"), ("a/b", "b")]),
        files(&[("a", "a"), ("a", "b")]),
        files(&[(".git/config", "x")]),
    ] {
        assert!(write_new_directory(&temp.path().join("x/out"), bad).is_err());
        assert_eq!(tree(temp.path()), ["file"]);
    }
    let below_a_file = write_new_directory(&temp.path().join("file/out"), files(&[("a", "a")]));
    assert!(matches!(below_a_file, Err(OutputError::Io { .. })));
    assert_eq!(fs::read_dir(temp.path()).expect("listed").count(), 1);
}
