use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use portico_runtime::package::{ApplyError, Change, PackageWarning, PathError};
use rustix::fs::{FileType, Mode, mknodat};

use crate::{as_ordinary_user, delete, package, put_all, read, text, tree, write};

/// Applies one write to a small package and gives the error; nothing may have changed.
fn refused(prepare: impl Fn(&Path), path: &str) -> ApplyError {
    let temp = package(&[("Kptfile", "k"), ("a.yaml", "a"), ("sub/b.yaml", "b")]);
    prepare(temp.path());
    let (dir, base) = read(temp.path());
    let before = tree(temp.path());
    let error = dir.apply(&[write("a.yaml", "A"), write(path, "new")], &base).expect_err("refused");
    assert_eq!(tree(temp.path()), before);
    assert_eq!(text(temp.path(), "a.yaml"), "a");
    error
}

#[test]
fn paths_that_are_no_place_for_a_file_are_refused() {
    let nothing = |_: &Path| {};
    for path in [
        "../x.yaml",
        "a/../../x.yaml",
        "/etc/x.yaml",
        "./x",
        "x//y",
        "",
        "nul\0.yaml",
        "line\nbreak",
        ".git/config",
        "sub/.git/hooks/pre-commit",
        ".GIT/config",
        ".git",
    ] {
        let error = refused(nothing, path);
        assert!(matches!(error, ApplyError::Path(_)), "{path:?}: {error}");
    }
    assert!(matches!(refused(nothing, &"n".repeat(300)), ApplyError::Path(PathError::TooLong(_))));
    assert!(matches!(refused(nothing, "sub"), ApplyError::IsDirectory(path) if path == "sub"));
    assert!(
        matches!(refused(nothing, "sub/b.yaml/c"), ApplyError::ParentIsFile { parent, .. } if parent == "sub/b.yaml")
    );
    let other = |root: &Path| put_all(root, &[("README", "x")]);
    assert!(matches!(refused(other, "README/c"), ApplyError::ParentIsFile { parent, .. } if parent == "README"));
}

#[test]
fn links_are_never_written_through() {
    let outside = package(&[("secret.yaml", "secret")]);
    let link = |root: &Path| {
        symlink(outside.path(), root.join("out")).expect("linked");
        symlink(outside.path().join("secret.yaml"), root.join("linked.yaml")).expect("linked");
        symlink("sub", root.join("in")).expect("linked");
        symlink("nothing", root.join("dangling")).expect("linked");
        symlink("a.yaml", root.join("twin.yaml")).expect("linked");
    };
    for path in ["out/x.yaml", "in/x.yaml", "dangling/x.yaml", "out/deep/x.yaml", "in/b.yaml"] {
        assert!(matches!(refused(link, path), ApplyError::ParentIsLink { .. }), "{path}");
    }
    for path in ["out", "linked.yaml", "dangling", "twin.yaml"] {
        assert!(matches!(refused(link, path), ApplyError::IsLink(_)), "{path}");
    }
    assert_eq!(tree(outside.path()), ["secret.yaml"]);
    assert_eq!(text(outside.path(), "secret.yaml"), "secret");
}

#[test]
fn special_files_are_never_written_to() {
    let fifo = |root: &Path| {
        mknodat(rustix::fs::CWD, root.join("fifo.yaml"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("made");
    };
    assert!(matches!(refused(fifo, "fifo.yaml"), ApplyError::IsSpecial(_)));
}

#[test]
fn changes_that_contradict_each_other_are_refused() {
    let temp = package(&[("Kptfile", "k"), ("a.yaml", "a")]);
    let (dir, base) = read(temp.path());
    let refused = |changes: &[Change]| dir.apply(changes, &base).expect_err("refused");
    assert!(matches!(refused(&[write("a.yaml", "1"), write("a.yaml", "2")]), ApplyError::Twice(_)));
    assert!(matches!(refused(&[write("a.yaml", "1"), delete("a.yaml")]), ApplyError::Twice(_)));
    assert!(matches!(refused(&[write("x", "1"), write("x/y", "2")]), ApplyError::ParentIsFile { .. }));
    assert!(matches!(refused(&[write("x/y", "2"), write("x", "1")]), ApplyError::ParentIsFile { .. }));
    assert!(matches!(refused(&[delete("none.yaml")]), ApplyError::NotRead(_)));
    assert_eq!(tree(temp.path()), ["Kptfile", "a.yaml"]);
}

#[test]
fn any_other_name_may_be_generated_and_ignored_files_overwritten() {
    let temp = package(&[("Kptfile", "k"), (".krmignore", "hidden.yaml"), ("hidden.yaml", "h"), ("notes.txt", "n")]);
    let (dir, base) = read(temp.path());
    let paths = [
        "hidden.yaml",
        "notes.txt",
        "noext",
        "x..y.yaml",
        "db/Kptfile",
        "Kptfile",
        ".krmignore",
        ".github/x.yaml",
        "a b/ü.yaml",
    ];
    let changes: Vec<_> = paths.iter().map(|path| write(path, path)).collect();
    dir.apply(&changes, &base).expect("applies");
    for path in paths {
        assert_eq!(text(temp.path(), path), path);
    }
}

#[test]
fn mode_and_owner_of_an_existing_file_are_kept_and_new_ones_are_as_usual() {
    let temp = package(&[("Kptfile", "k"), ("run.yaml", "r"), ("usual", "u"), ("usual-dir/x", "u")]);
    let path = temp.path().join("run.yaml");
    if crate::is_root() {
        std::os::unix::fs::chown(&path, Some(1234), Some(2345)).expect("changed");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4751)).expect("set");
    let before = fs::metadata(&path).expect("there");
    let (dir, base) = read(temp.path());
    dir.apply(&[write("run.yaml", "R"), write("new/n.yaml", "n")], &base).expect("applies");
    let after = fs::metadata(&path).expect("there");
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
    let mode = |path: &str| fs::metadata(temp.path().join(path)).expect("there").mode();
    assert_eq!(mode("new/n.yaml"), mode("usual"));
    assert_eq!(mode("new"), mode("usual-dir"));
}

#[test]
fn equal_content_is_not_written() {
    let temp = package(&[("Kptfile", "k"), ("a.yaml", "a")]);
    let (dir, base) = read(temp.path());
    let before = fs::metadata(temp.path().join("a.yaml")).expect("there");
    let applied = dir.apply(&[write("a.yaml", "a")], &base).expect("applies");
    let after = fs::metadata(temp.path().join("a.yaml")).expect("there");
    assert_eq!(applied.written, Vec::<String>::new());
    assert_eq!(
        (before.ino(), before.mtime_nsec(), before.ctime_nsec()),
        (after.ino(), after.mtime_nsec(), after.ctime_nsec())
    );
}

#[test]
fn deleting_leaves_directories() {
    let temp = package(&[("Kptfile", "k"), ("x/y/a.yaml", "a")]);
    let (dir, base) = read(temp.path());
    let applied = dir.apply(&[delete("x/y/a.yaml"), delete("Kptfile")], &base).expect("applies");
    assert_eq!(applied.deleted, ["Kptfile", "x/y/a.yaml"]);
    assert_eq!(tree(temp.path()), ["x", "x/y"]);
}

#[test]
fn a_read_only_file_is_neither_written_nor_deleted() {
    for change in [write("a.yaml", "A"), delete("a.yaml")] {
        let temp = package(&[("Kptfile", "k"), ("a.yaml", "a"), ("b.yaml", "b")]);
        fs::set_permissions(temp.path().join("a.yaml"), fs::Permissions::from_mode(0o444)).expect("set");
        let (dir, base) = read(temp.path());
        let error = dir.apply(&[write("b.yaml", "B"), change], &base).expect_err("read-only");
        assert!(matches!(&error, ApplyError::ReadOnly(path) if path == "a.yaml"), "{error}");
        assert_eq!(tree(temp.path()), ["Kptfile", "a.yaml", "b.yaml"]);
        assert_eq!(text(temp.path(), "b.yaml"), "b");
    }
}

#[test]
fn a_read_only_directory_changes_nothing_anywhere() {
    as_ordinary_user(
        "write::a_read_only_directory_changes_nothing_anywhere",
        |root| {
            put_all(root, &[("Kptfile", "k"), ("a.yaml", "a"), ("locked/b.yaml", "b"), ("locked/c.yaml", "c")]);
            for path in ["", "a.yaml", "locked/b.yaml", "locked/c.yaml"] {
                let mode = if path.is_empty() { 0o777 } else { 0o666 };
                fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).expect("set");
                if crate::is_root() {
                    std::os::unix::fs::chown(root.join(path), Some(65534), Some(65534)).expect("changed");
                }
            }
            fs::set_permissions(root.join("locked"), fs::Permissions::from_mode(0o555)).expect("set");
        },
        |root| {
            let (dir, base) = read(root);
            for change in [write("locked/b.yaml", "B"), delete("locked/c.yaml"), write("locked/new/d.yaml", "d")] {
                let error = dir.apply(&[write("a.yaml", "A"), change], &base).expect_err("not allowed");
                assert!(
                    matches!(&error, ApplyError::Io { path, source, .. }
                    if path.starts_with("locked/") && source.kind() == std::io::ErrorKind::PermissionDenied),
                    "{error}"
                );
                assert_eq!(text(root, "a.yaml"), "a");
                assert_eq!(tree(root), ["Kptfile", "a.yaml", "locked", "locked/b.yaml", "locked/c.yaml"]);
            }
            // So that the directory can be removed.
            drop(fs::set_permissions(root.join("locked"), fs::Permissions::from_mode(0o755)));
        },
    );
}

#[test]
fn somebody_elses_file_stays_theirs() {
    if !crate::is_root() && std::env::var_os(crate::CHILD).is_none() {
        return; // only root can make a file of somebody else
    }
    as_ordinary_user(
        "write::somebody_elses_file_stays_theirs",
        |root| {
            put_all(
                root,
                &[("Kptfile", "k"), ("closed.yaml", "c"), ("open/b.yaml", "a longer text"), ("shut/c.yaml", "c")],
            );
            fs::set_permissions(root.join("open"), fs::Permissions::from_mode(0o777)).expect("set");
            fs::set_permissions(root.join("open/b.yaml"), fs::Permissions::from_mode(0o666)).expect("set");
            fs::set_permissions(root.join("shut/c.yaml"), fs::Permissions::from_mode(0o666)).expect("set");
        },
        |root| {
            let (dir, base) = read(root);
            let inode = base.files["open/b.yaml"].fingerprint.expect("from disk").ino;
            let error =
                dir.apply(&[write("open/b.yaml", "B"), write("closed.yaml", "C")], &base).expect_err("not allowed");
            assert!(matches!(&error, ApplyError::ReadOnly(path) if path == "closed.yaml"), "{error}");
            assert_eq!(text(root, "open/b.yaml"), "a longer text");
            // The deletion fails when the other file has its new content already.
            let error = dir.apply(&[write("open/b.yaml", "B"), delete("shut/c.yaml")], &base).expect_err("not allowed");
            assert!(matches!(&error, ApplyError::Io { path, .. } if path == "shut/c.yaml"), "{error}");
            assert_eq!(text(root, "open/b.yaml"), "a longer text");
            let after = fs::metadata(root.join("open/b.yaml")).expect("there");
            assert_eq!((after.uid(), after.ino()), (0, inode));
            // Its time has changed, which is no edit.
            dir.apply(&[write("open/b.yaml", "B")], &base).expect("the file is open to all");
            let after = fs::metadata(root.join("open/b.yaml")).expect("there");
            assert_eq!((after.uid(), after.ino(), after.mode() & 0o777), (0, inode, 0o666));
            assert_eq!(text(root, "open/b.yaml"), "B");
            assert_eq!(fs::read_dir(root.join("open")).expect("listed").count(), 1);
        },
    );
}

#[test]
fn a_hard_link_is_broken_with_a_warning_and_its_twin_keeps_the_old_content() {
    let temp = package(&[("app/Kptfile", "k"), ("app/a.yaml", "a"), ("backup", "")]);
    let app = temp.path().join("app");
    fs::hard_link(app.join("a.yaml"), temp.path().join("twin")).expect("linked");
    fs::hard_link(app.join("a.yaml"), app.join("b.yaml")).expect("linked");
    let (dir, base) = read(&app);
    assert_eq!(base.files["a.yaml"].fingerprint.expect("from disk").links, 3);
    let applied = dir.apply(&[write("a.yaml", "A"), write("b.yaml", "B")], &base).expect("applies");
    assert_eq!(applied.warnings[0], PackageWarning::HardLinkBroken("a.yaml".to_owned()));
    assert_eq!((text(&app, "a.yaml").as_str(), text(&app, "b.yaml").as_str()), ("A", "B"));
    assert_eq!(text(temp.path(), "twin"), "a");
}

#[test]
fn names_that_differ_in_case_are_two_files_where_the_file_system_says_so() {
    let temp = package(&[("Kptfile", "k"), ("a.yaml", "a")]);
    if temp.path().join("A.YAML").exists() {
        return; // one of the other kind: see the next test
    }
    let (dir, base) = read(temp.path());
    dir.apply(&[write("A.yaml", "upper"), write("a.yaml", "lower")], &base).expect("applies");
    assert_eq!((text(temp.path(), "A.yaml").as_str(), text(temp.path(), "a.yaml").as_str()), ("upper", "lower"));
}

/// A file system of its own, gone with the value; `None` where this process may not mount one.
struct Mount(tempfile::TempDir);

impl Mount {
    fn tmpfs(options: &str) -> Option<Self> {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let mut command = std::process::Command::new("mount");
        command.args(["-t", "tmpfs", "-o", options, "none"]).arg(temp.path()).stderr(std::process::Stdio::null());
        let is_mounted = crate::is_root() && command.status().is_ok_and(|status| status.success());
        if is_mounted { Some(Self(temp)) } else { None }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        drop(std::process::Command::new("umount").arg("-l").arg(self.0.path()).status());
    }
}

#[test]
fn names_that_differ_in_case_are_refused_where_they_are_one_file() {
    let Some(mount) = Mount::tmpfs("casefold") else {
        eprintln!("skipped: no file system that ignores case can be mounted here");
        return;
    };
    let root = mount.0.path().join("folding");
    fs::create_dir(&root).expect("made");
    let folds = std::process::Command::new("chattr").arg("+F").arg(&root).status().is_ok_and(|status| status.success());
    put_all(&root, &[("Kptfile", "k"), ("a.yaml", "a")]);
    if !folds || !root.join("A.YAML").exists() {
        eprintln!("skipped: the file system does not ignore case");
        return;
    }
    let (dir, base) = read(&root);
    let error = dir.apply(&[write("A.yaml", "upper")], &base).expect_err("the same file");
    assert!(matches!(&error, ApplyError::SameFile { path, other } if path == "A.yaml" && other == "a.yaml"), "{error}");
    let error = dir.apply(&[write("new.yaml", "1"), write("NEW.yaml", "2")], &base).expect_err("the same file");
    assert!(matches!(error, ApplyError::Appeared(_)), "{error}");
    assert_eq!(tree(&root), ["Kptfile", "a.yaml"]);
    assert_eq!(text(&root, "a.yaml"), "a");
}

#[test]
fn a_full_disk_changes_nothing() {
    let Some(mount) = Mount::tmpfs("size=256k") else {
        eprintln!("skipped: no small file system can be mounted here");
        return;
    };
    let root = mount.0.path();
    put_all(root, &[("Kptfile", "k"), ("a.yaml", "a"), ("b.yaml", "b")]);
    let (dir, base) = read(root);
    let big = "x".repeat(1 << 20);
    let error =
        dir.apply(&[write("a.yaml", "A"), write("new/big.yaml", &big), delete("b.yaml")], &base).expect_err("full");
    assert!(
        matches!(&error, ApplyError::Io { path, source, .. }
        if path == "new/big.yaml" && source.kind() == std::io::ErrorKind::StorageFull),
        "{error}"
    );
    assert_eq!(tree(root), ["Kptfile", "a.yaml", "b.yaml"]);
    assert_eq!(text(root, "a.yaml"), "a");
    dir.apply(&[write("a.yaml", "A")], &base).expect("the space is free again");
}

#[test]
fn files_in_more_directories_than_a_process_may_open_can_change_at_once() {
    use rustix::process::{Resource, Rlimit, setrlimit};

    const TEST: &str = "write::files_in_more_directories_than_a_process_may_open_can_change_at_once";
    let files: Vec<String> = (0..100).map(|i| format!("d{i}/x/f.yaml")).collect();
    if let Some(root) = std::env::var_os(crate::CHILD) {
        let root = Path::new(&root);
        let limit = Rlimit { current: Some(48), maximum: Some(48) };
        setrlimit(Resource::Nofile, limit).expect("lowered");
        let (dir, base) = read(root);
        let mut changes: Vec<_> = files.iter().map(|file| write(file, "new")).collect();
        changes.extend((0..100).map(|i| write(&format!("n{i}/f.yaml"), "new")));
        let applied = dir.apply(&changes, &base).expect("applies");
        assert_eq!(applied.written.len(), 200);
        return;
    }
    let temp = package(&[("Kptfile", "k")]);
    for file in &files {
        put_all(temp.path(), &[(file, "old")]);
    }
    assert!(crate::child(TEST, temp.path()).status().expect("starts").success());
    assert_eq!(text(temp.path(), &files[99]), "new");
}
