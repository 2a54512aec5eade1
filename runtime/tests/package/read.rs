use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use portico_runtime::package::{
    KptfileEntry, OtherPath, PackageDir, PackageFiles, PackageLimits, PackageWarning, ReadError,
};
use rustix::fs::{FileType, Mode, mknodat};

use crate::{package, put_all, read};

fn fifo(path: &Path) {
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(rustix::fs::CWD, path, FileType::Fifo, mode, 0).expect("made");
}

fn own(package: &PackageFiles) -> Vec<&str> {
    package.root_package().files.iter().map(String::as_str).collect()
}

#[test]
fn a_directory_and_a_map_give_the_same_package() {
    let files = [
        ("Kptfile", "root"),
        (".krmignore", "skip\n*.tmp.yaml\n"),
        ("a.yaml", "a"),
        ("skip/x.yaml", "x"),
        ("skip/sub/Kptfile", "sub"),
        ("x.tmp.yaml", "x"),
        ("b/c.json", "{}"),
        ("b/README.md", "hello"),
        ("b/Kptfile", "b"),
        (".hidden/d.yml", "d"),
        (".git/config.yaml", "git"),
    ];
    let temp = package(&files);
    let (dir, from_dir) = read(temp.path());
    let from_map = PackageFiles::from_map(
        dir.root(),
        files.map(|(path, text)| (path, text.as_bytes())),
        &PackageLimits::default(),
    )
    .expect("reads");
    assert_eq!(from_dir.name, from_map.name);
    assert_eq!(from_dir.root, from_map.root);
    assert_eq!(from_dir.packages, from_map.packages);
    assert_eq!(from_dir.others, from_map.others);
    let contents = |package: &PackageFiles| -> Vec<_> {
        package.files.iter().map(|(path, file)| (path.clone(), file.bytes.clone())).collect()
    };
    assert_eq!(contents(&from_dir), contents(&from_map));
    assert_eq!(own(&from_dir), [".hidden/d.yml", "Kptfile", "a.yaml"]);
}

#[test]
fn everything_is_what_belongs_to_the_package_whoever_gets_it() {
    let temp = package(&[
        ("Kptfile", "root"),
        (".krmignore", "skip\n*.log\n"),
        ("a.yaml", "a"),
        ("README.md", "hello"),
        ("build.log", "no"),
        ("skip/x.md", "no"),
        ("b/Kptfile", "b"),
        ("b/build.log", "its own rules"),
        (".git/config", "no"),
    ]);
    symlink("README.md", temp.path().join("link.md")).expect("made");
    let dir = PackageDir::open(temp.path()).expect("opens");
    let all = dir.read_everything(&PackageLimits::default()).expect("reads");
    let paths: Vec<&str> = all.files.keys().map(String::as_str).collect();
    assert_eq!(paths, [".krmignore", "Kptfile", "README.md", "a.yaml", "b/Kptfile", "b/build.log"]);
    assert_eq!(&*all.files["README.md"].bytes, b"hello");
    assert_eq!(all.warnings, [PackageWarning::LinkInside("link.md".to_owned())]);
}

#[test]
fn links_are_left_alone_each_with_a_warning() {
    let temp =
        package(&[("app/Kptfile", "k"), ("app/cm.yaml", "cm"), ("app/sub/x.yaml", "x"), ("outside/secret.yaml", "s")]);
    let app = temp.path().join("app");
    for (target, link) in [
        ("../outside/secret.yaml", "linked.yaml"),
        ("../outside", "linkdir"),
        ("../../outside/secret.yaml", "sub/deep.yaml"),
        ("/etc/hostname", "absolute.yaml"),
        ("nothing.yaml", "dangling.yaml"),
        ("loop-b", "loop-a"),
        ("loop-a", "loop-b"),
        ("self.yaml", "self.yaml"),
        ("cm.yaml", "inside.yaml"),
        ("cm.yaml", "not-a-manifest"),
        ("sub", "inside-dir"),
        (".", "here"),
    ] {
        symlink(target, app.join(link)).expect("linked");
    }
    let (_, files) = read(&app);
    assert_eq!(own(&files), ["Kptfile", "cm.yaml", "sub/x.yaml"]);
    assert_eq!(
        files.warnings,
        [
            PackageWarning::LinkOutside("absolute.yaml".to_owned()),
            PackageWarning::LinkDangles("dangling.yaml".to_owned()),
            PackageWarning::LinkInside("inside.yaml".to_owned()),
            PackageWarning::LinkOutside("linkdir".to_owned()),
            PackageWarning::LinkOutside("linked.yaml".to_owned()),
            PackageWarning::LinkCycle("loop-a".to_owned()),
            PackageWarning::LinkCycle("loop-b".to_owned()),
            PackageWarning::LinkCycle("self.yaml".to_owned()),
            PackageWarning::LinkOutside("sub/deep.yaml".to_owned()),
        ]
    );
    assert_eq!(files.others["linkdir"], OtherPath::Link);
}

#[test]
fn a_link_to_the_package_is_resolved_with_kpts_warning() {
    let temp = package(&[("real/app/Kptfile", "k")]);
    symlink("real/app", temp.path().join("link")).expect("linked");
    let (dir, files) = read(&temp.path().join("link"));
    assert_eq!(dir.name(), "app");
    let real = fs::canonicalize(temp.path()).expect("there").join("real/app");
    let link = temp.path().join("link");
    assert_eq!(Path::new(dir.root()), temp.path().join("real/app"));
    assert!(real.is_dir());
    let want = format!(
        "resolved symlink \"{}\" to \"{}\", please note that the symlinks within the package are ignored",
        link.display(),
        temp.path().join("real/app").display()
    );
    assert_eq!(files.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), [want]);
}

#[test]
fn special_files_are_skipped_and_never_opened() {
    let temp = package(&[("Kptfile", "k"), ("a.yaml", "a")]);
    fifo(&temp.path().join("fifo.yaml"));
    fifo(&temp.path().join("other"));
    let _socket = UnixListener::bind(temp.path().join("socket.json")).expect("bound");
    let mut special = vec!["fifo.yaml", "socket.json"];
    let device = temp.path().join("zero.yml");
    if mknodat(rustix::fs::CWD, &device, FileType::CharacterDevice, Mode::RUSR, rustix::fs::makedev(1, 5)).is_ok() {
        special.push("zero.yml");
    }
    let (_, files) = read(temp.path());
    assert_eq!(own(&files), ["Kptfile", "a.yaml"]);
    assert_eq!(
        files.warnings,
        special.iter().map(|path| PackageWarning::Special((*path).to_owned())).collect::<Vec<_>>()
    );
}

#[test]
fn a_kptfile_that_is_no_file_still_makes_a_package() {
    let temp = package(&[
        ("Kptfile", "k"),
        ("dir/Kptfile/x.yaml", "x"),
        ("fifo/a.yaml", "a"),
        ("link/b.yaml", "b"),
        ("out/c.yaml", "c"),
        ("none/d.yaml", "d"),
    ]);
    fifo(&temp.path().join("fifo/Kptfile"));
    symlink("../Kptfile", temp.path().join("link/Kptfile")).expect("linked");
    symlink("/etc/hostname", temp.path().join("out/Kptfile")).expect("linked");
    symlink("nothing", temp.path().join("none/Kptfile")).expect("linked");
    let (_, files) = read(temp.path());
    let found: Vec<_> = files.packages.iter().map(|package| (package.path.as_str(), package.kptfile)).collect();
    assert_eq!(
        found,
        [
            ("", KptfileEntry::File),
            ("dir", KptfileEntry::Directory),
            ("fifo", KptfileEntry::Special),
            ("link", KptfileEntry::Link),
            ("out", KptfileEntry::Link),
        ]
    );
    assert!(files.kptfile(&files.packages[3]).is_none());
    assert_eq!(own(&files), ["Kptfile", "none/d.yaml"]);
}

#[test]
fn names_that_are_not_utf8_are_skipped_with_a_warning_where_they_would_count() {
    let temp = package(&[("Kptfile", "k")]);
    let odd = |bytes: &'static [u8]| temp.path().join(OsStr::from_bytes(bytes));
    fs::write(odd(b"caf\xe9.yaml"), "x").expect("written");
    fs::write(odd(b"caf\xe9.txt"), "x").expect("written");
    fs::create_dir(odd(b"dir\xff")).expect("made");
    fs::write(odd(b"dir\xff/x.yaml"), "x").expect("written");
    let (_, files) = read(temp.path());
    assert_eq!(own(&files), ["Kptfile"]);
    let mut warnings = files.warnings.iter().map(ToString::to_string).collect::<Vec<_>>();
    warnings.sort();
    assert_eq!(
        warnings,
        ["the name \"caf\\xe9.yaml\" is not UTF-8; it is ignored", "the name \"dir\\xff\" is not UTF-8; it is ignored"]
    );
}

#[test]
fn odd_but_valid_names_are_read() {
    let names = ["line\nbreak.yaml", " .yaml", "ü.yaml", "x..y.yaml", "a\\b.yaml", ".yaml", "emoji \u{1f980}.json"];
    let temp = package(&names.map(|name| (name, "x")));
    let (_, files) = read(temp.path());
    assert_eq!(files.files.len(), names.len());
    assert_eq!(files.warnings, []);
}

#[test]
fn rules_are_read_through_a_link_within_the_package_and_not_through_one_that_leaves_it() {
    let temp = package(&[
        ("in/Kptfile", "k"),
        ("in/rules", "a.yaml"),
        ("in/a.yaml", "a"),
        ("out/Kptfile", "k"),
        ("out/a.yaml", "a"),
        ("rules", "a.yaml"),
    ]);
    symlink("rules", temp.path().join("in/.krmignore")).expect("linked");
    symlink("../rules", temp.path().join("out/.krmignore")).expect("linked");
    assert_eq!(own(&read(&temp.path().join("in")).1), ["Kptfile"]);
    let (_, out) = read(&temp.path().join("out"));
    assert_eq!(own(&out), ["Kptfile", "a.yaml"]);
    assert_eq!(out.warnings, [PackageWarning::LinkOutside(".krmignore".to_owned())]);
}

#[test]
fn what_is_no_directory_cannot_be_opened() {
    let temp = package(&[("file", "x")]);
    let error = PackageDir::open(temp.path().join("none")).expect_err("not there");
    assert!(
        matches!(&error, ReadError::Open { source, .. } if source.kind() == std::io::ErrorKind::NotFound),
        "{error}"
    );
    let error = PackageDir::open(temp.path().join("file")).expect_err("a file");
    assert!(matches!(error, ReadError::NotADirectory(_)));
    symlink("loop", temp.path().join("loop")).expect("linked");
    assert!(matches!(PackageDir::open(temp.path().join("loop")), Err(ReadError::Open { .. })));
}

#[test]
fn a_directory_without_a_kptfile_is_read_too() {
    let temp = package(&[("a.yaml", "a")]);
    let (_, files) = read(temp.path());
    assert_eq!(files.root_package().kptfile, KptfileEntry::Missing);
    assert_eq!(own(&files), ["a.yaml"]);
}

#[test]
fn big_files_and_many_files_are_within_the_defaults() {
    let temp = package(&[("Kptfile", "k")]);
    fs::write(temp.path().join("big.yaml"), vec![b'x'; 9 << 20]).expect("written");
    for dir in 0..20 {
        fs::create_dir(temp.path().join(format!("d{dir}"))).expect("made");
        for file in 0..50 {
            fs::write(temp.path().join(format!("d{dir}/f{file}.yaml")), "x").expect("written");
        }
    }
    let (_, files) = read(temp.path());
    assert_eq!(files.files.len(), 1_002);
    assert_eq!(files.files["big.yaml"].bytes.len(), 9 << 20);
}

#[test]
fn a_limit_is_named_with_the_path_where_it_was_met() {
    let temp = package(&[("Kptfile", "k"), ("a/b/c/d.yaml", "0123456789")]);
    let dir = PackageDir::open(temp.path()).expect("opens");
    let limits = PackageLimits { file_bytes: 9, ..PackageLimits::default() };
    let error = dir.read(&limits).expect_err("too big").to_string();
    assert!(
        error.starts_with("`a/b/c/d.yaml`: 10 bytes, the limit is 9;") && error.contains("`package.fileBytes`"),
        "{error}"
    );
    let limits = PackageLimits { depth: 2, ..PackageLimits::default() };
    let error = dir.read(&limits).expect_err("too deep").to_string();
    assert!(error.starts_with("`a/b/c`: 3 directories") && error.contains("`package.depth`"), "{error}");
    let limits = PackageLimits { entries: 3, ..PackageLimits::default() };
    assert!(matches!(dir.read(&limits), Err(ReadError::Limit(limit)) if limit.setting == "package.entries"));
}

#[test]
fn a_very_deep_directory_meets_its_limit_and_no_stack_overflow() {
    let temp = package(&[("Kptfile", "k")]);
    put_all(temp.path(), &[(&format!("{}a.yaml", "d/".repeat(300)), "x")]);
    let dir = PackageDir::open(temp.path()).expect("opens");
    assert!(
        matches!(dir.read(&PackageLimits::default()), Err(ReadError::Limit(limit)) if limit.setting == "package.depth")
    );
    let limits = PackageLimits { depth: 300, ..PackageLimits::default() };
    assert_eq!(dir.read(&limits).expect("reads").files.len(), 2);
}

#[test]
fn git_is_a_name_and_no_more() {
    let temp = package(&[
        ("Kptfile", "k"),
        (".git/x.yaml", "x"),
        (".git/sub/Kptfile", "k"),
        ("sub/.git", "gitdir: ..."),
        ("sub/a.yaml", "a"),
    ]);
    let (_, files) = read(temp.path());
    assert_eq!(own(&files), ["Kptfile", "sub/a.yaml"]);
    assert_eq!(files.packages.len(), 1);
    assert_eq!((files.others[".git"], files.others["sub/.git"]), (OtherPath::Git, OtherPath::Git));
}

#[test]
fn a_file_that_may_not_be_read_is_an_error_with_its_name() {
    use std::os::unix::fs::PermissionsExt as _;
    crate::as_ordinary_user(
        "read::a_file_that_may_not_be_read_is_an_error_with_its_name",
        |dir| {
            put_all(dir, &[("Kptfile", "k"), ("secret/a.yaml", "a")]);
            fs::set_permissions(dir.join("secret/a.yaml"), fs::Permissions::from_mode(0o000)).expect("set");
        },
        |dir| {
            let dir = PackageDir::open(dir).expect("opens");
            let error = dir.read(&PackageLimits::default()).expect_err("not readable");
            assert!(matches!(error, ReadError::Io { path, .. } if path == "secret/a.yaml"));
        },
    );
}
