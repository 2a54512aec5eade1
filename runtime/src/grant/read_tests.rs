//! Reading a directory that is to be granted.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::read::{Reading, read};
use super::tree::{Node, NodeId, Tree};
use super::walk::{Last, WalkError};
use super::{GrantError, GrantLimits, GrantWarning, GrantedDirectory};

fn limits() -> GrantLimits {
    GrantLimits::default()
}

fn content(tree: &Tree, path: &str) -> Result<Vec<u8>, WalkError> {
    let id = tree.walk(NodeId::ROOT, path.as_bytes(), Last::Follow, |_| Ok::<_, WalkError>(()))?;
    match tree.node(id) {
        Node::File(bytes) => Ok(bytes.to_vec()),
        _ => Err(WalkError::NotADirectory),
    }
}

/// All paths of a tree, sorted, with what they are.
fn listing(tree: &Tree) -> Vec<String> {
    fn go(tree: &Tree, at: NodeId, path: &str, all: &mut Vec<String>) {
        let Node::Directory(entries) = tree.node(at) else { return };
        for (name, id) in entries {
            let path = format!("{path}{name}");
            match tree.node(*id) {
                Node::Directory(_) => go(tree, *id, &format!("{path}/"), all),
                Node::File(bytes) => all.push(format!("{path}: {}", bytes.len())),
                Node::Link(target) => all.push(format!("{path} -> {target}")),
            }
        }
    }
    let mut all = Vec::new();
    go(tree, NodeId::ROOT, "", &mut all);
    all
}

#[test]
fn a_directory_is_copied_with_links_that_stay_inside() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("granted");
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(place.path().join("secret"), "secret").unwrap();
    fs::write(root.join("a/b/file"), "text").unwrap();
    fs::write(root.join("empty"), "").unwrap();
    symlink("a/b", root.join("inside")).unwrap();
    symlink("inside/file", root.join("twice")).unwrap();
    symlink("gone", root.join("nowhere")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("../secret", root.join("out")).unwrap();
    symlink("../granted/empty", root.join("out-and-in")).unwrap();
    symlink("out", root.join("to-out")).unwrap();
    symlink(place.path().join("secret"), root.join("a/absolute")).unwrap();
    symlink(&root, root.join("a/self")).unwrap();
    let Reading { tree, warnings } = read(&root, &limits()).unwrap();
    assert_eq!(
        listing(&tree),
        ["a/b/file: 4", "empty: 0", "inside -> a/b", "loop -> loop", "nowhere -> gone", "twice -> inside/file"]
    );
    assert_eq!(content(&tree, "twice").unwrap(), b"text");
    let out = ["a/absolute", "a/self", "out", "out-and-in", "to-out"];
    assert_eq!(warnings, out.map(|path| GrantWarning::LeadsOut(root.join(path).display().to_string())));
    // Later changes are not seen: it is a copy.
    fs::write(root.join("a/b/file"), "other").unwrap();
    assert_eq!(content(&tree, "twice").unwrap(), b"text");
}

#[test]
fn special_files_and_odd_names_are_left_out_unopened() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    // Opening a FIFO that nobody writes to would block for ever.
    rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    symlink("fifo", root.join("to-fifo")).unwrap();
    fs::write(root.join(std::ffi::OsStr::from_bytes(b"odd\xff")), "x").unwrap();
    fs::write(root.join("z"), "x").unwrap();
    let Reading { tree, warnings } = read(root, &limits()).unwrap();
    assert_eq!(listing(&tree), ["to-fifo -> fifo", "z: 1"]);
    assert_eq!(content(&tree, "to-fifo"), Err(WalkError::NotFound));
    assert_eq!(
        warnings,
        [
            GrantWarning::Special(root.join("fifo").display().to_string()),
            GrantWarning::NotUtf8(root.join(r"odd\xff").display().to_string()),
            GrantWarning::Special(root.join("socket").display().to_string()),
        ]
    );
    assert!(matches!(read(&root.join("fifo"), &limits()), Err(GrantError::NotADirectory(_))));
    assert!(matches!(read(&root.join("z"), &limits()), Err(GrantError::NotADirectory(_))));
    assert!(matches!(read(&root.join("gone"), &limits()), Err(GrantError::Open { .. })));
}

#[test]
fn what_may_not_be_read_is_left_out() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    fs::create_dir(root.join("closed")).unwrap();
    fs::write(root.join("shut"), "x").unwrap();
    for name in ["closed", "shut"] {
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o0)).unwrap();
    }
    let reading = read(root, &limits());
    let privileged = fs::File::open(root.join("shut")).is_ok();
    fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    let warnings = reading.unwrap().warnings;
    if privileged {
        // Root may read all of it.
        assert_eq!(warnings, []);
    } else {
        let denied = ["closed", "shut"].map(|name| GrantWarning::Unreadable(format!("{}/{name}", root.display())));
        assert_eq!(warnings, denied);
    }
}

#[test]
fn each_limit_refuses_and_says_where() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    fs::create_dir_all(root.join("a/b/c")).unwrap();
    fs::write(root.join("a/b/c/file"), "12345").unwrap();
    fs::write(root.join("other"), "12345").unwrap();
    symlink("other", root.join("link")).unwrap();
    let fits = GrantLimits { entries: 6, file_bytes: 5, bytes: 15, depth: 3 };
    assert!(read(root, &fits).is_ok());
    for (limits, setting, place) in [
        (GrantLimits { entries: 5, ..fits.clone() }, "entries", "/a/b/c"),
        (GrantLimits { file_bytes: 4, ..fits.clone() }, "file_bytes", "/a/b/c/file"),
        (GrantLimits { bytes: 14, ..fits.clone() }, "bytes", "/other"),
        (GrantLimits { bytes: 4, ..fits.clone() }, "bytes", "/a/b/c/file"),
        (GrantLimits { depth: 2, ..fits.clone() }, "depth", "/a/b/c"),
    ] {
        match read(root, &limits).map(|_| ()) {
            Err(GrantError::TooLarge { path, setting: met, .. }) => {
                assert_eq!((met, path), (setting, format!("{}{place}", root.display())));
            }
            other => panic!("{setting}: {other:?}"),
        }
    }
    // A link's text counts as well: it is kept.
    fs::remove_file(root.join("other")).unwrap();
    fs::remove_dir_all(root.join("a")).unwrap();
    let met = read(root, &GrantLimits { bytes: 4, ..fits }).map(|_| ());
    assert!(matches!(met, Err(GrantError::TooLarge { setting: "bytes", .. })), "{met:?}");
}

#[test]
fn deep_trees_are_refused_whatever_the_limit_says() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join("d/".repeat(201))).unwrap();
    let met = read(place.path(), &GrantLimits { depth: u32::MAX, ..limits() }).map(|_| ());
    assert!(matches!(met, Err(GrantError::TooLarge { setting: "depth", limit: 200, .. })), "{met:?}");
}

#[test]
fn warnings_are_counted_beyond_a_handful() {
    let place = tempfile::tempdir().unwrap();
    for n in 0..25 {
        symlink("/", place.path().join(n.to_string())).unwrap();
    }
    let warnings = read(place.path(), &limits()).unwrap().warnings;
    assert_eq!((warnings.len(), warnings.last()), (21, Some(&GrantWarning::More(5))));
}

#[test]
fn the_same_content_has_the_same_numbers() {
    let make = |order: &[&str]| {
        let place = tempfile::tempdir().unwrap();
        for name in order {
            fs::write(place.path().join(name), "x").unwrap();
        }
        let tree = read(place.path(), &limits()).unwrap().tree;
        let Node::Directory(entries) = tree.node(NodeId::ROOT) else { unreachable!("a directory") };
        entries.iter().map(|(name, id)| format!("{name} {}", id.inode())).collect::<Vec<_>>()
    };
    assert_eq!(make(&["c", "a", "b"]), ["a 2", "b 3", "c 4"]);
    assert_eq!(make(&["b", "c", "a"]), make(&["c", "a", "b"]));
}

/// Swaps a file and a directory for links that lead out, over and over, while the directory is read.
#[test]
fn nothing_outside_is_read_while_links_take_the_place_of_files() {
    const READS: usize = 300;
    let place = tempfile::tempdir().unwrap();
    let (root, secret) = (place.path().join("granted"), place.path().join("secret"));
    fs::create_dir_all(root.join("dir")).unwrap();
    fs::create_dir(&secret).unwrap();
    for file in [root.join("file"), root.join("dir/file"), place.path().join("file-away"), secret.join("file")] {
        fs::write(&file, if file.starts_with(&secret) { "secret" } else { "public" }).unwrap();
    }
    symlink(secret.join("file"), place.path().join("link-to-file")).unwrap();
    symlink(&secret, place.path().join("link-to-dir")).unwrap();
    let swap = |a: &Path, b: &Path| {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, a, rustix::fs::CWD, b, flags).is_ok()
    };
    let done = AtomicBool::new(false);
    let readings = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(swap(&root.join("file"), &place.path().join("link-to-file")));
                assert!(swap(&root.join("dir"), &place.path().join("link-to-dir")));
            }
        });
        let readings: Vec<_> = (0..READS).map(|_| read(&root, &limits())).collect();
        // Before anything can fail, or the other thread would go on for ever.
        done.store(true, Ordering::Relaxed);
        readings
    });
    for reading in readings {
        match reading {
            Ok(Reading { tree, .. }) => {
                for path in ["file", "dir/file"] {
                    // A link that leads out was left out.
                    let found = content(&tree, path);
                    assert!(matches!(found.as_deref(), Ok(b"public") | Err(WalkError::NotFound)), "{found:?}");
                }
            }
            Err(GrantError::Unstable(_)) => {}
            Err(other) => panic!("{other}: {:?}", std::error::Error::source(&other)),
        }
    }
}

#[test]
fn a_directory_is_granted_at_an_absolute_path() {
    let place = tempfile::tempdir().unwrap();
    let granted =
        |target: &str| GrantedDirectory::read(place.path(), target, &limits()).map(|(it, _)| it.target().to_owned());
    assert_eq!(granted("/a//b/").unwrap(), "/a/b");
    assert_eq!(granted("/").unwrap(), "/");
    for target in ["", "a", "./a", "/a/..", "/a/./b", "/a\0b"] {
        assert!(matches!(granted(target), Err(GrantError::Target(_))), "{target}");
    }
}
