//! What happens when something goes wrong, or somebody else comes by, at a given moment.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::super::files::PackageFiles;
use super::super::limits::PackageLimits;
use super::*;

const FILES: [(&str, &str); 5] =
    [("Kptfile", "k"), ("a.yaml", "a"), ("b.yaml", "b"), ("db/Kptfile", "dk"), ("db/c.yaml", "c")];

struct Fixture {
    temp: TempDir,
    dir: PackageDir,
    base: PackageFiles,
}

impl Fixture {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a temporary directory");
        for (path, text) in FILES {
            put(temp.path(), path, text);
        }
        let dir = PackageDir::open(temp.path()).expect("opens");
        let base = dir.read(&PackageLimits::default()).expect("reads");
        Self { temp, dir, base }
    }

    fn path(&self) -> &Path {
        self.temp.path()
    }

    fn apply(&self, changes: &[Change]) -> Result<Applied, ApplyError> {
        self.dir.apply(changes, &self.base)
    }

    /// Applies and lets `action` happen at the moment named; elsewhere nothing does.
    fn apply_and(
        &self,
        changes: &[Change],
        moment: Moment,
        path: &str,
        mut action: impl FnMut() -> io::Result<()>,
    ) -> Result<Applied, ApplyError> {
        self.dir.apply_observed(changes, &self.base, &mut |at, of| {
            if (at, of) == (moment, path) { action() } else { Ok(()) }
        })
    }

    fn tree(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        collect(self.path(), "", &mut found);
        found
    }
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    fs::write(path, text).expect("written");
}

fn collect(dir: &Path, prefix: &str, into: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).expect("listed") {
        let entry = entry.expect("listed");
        let name = format!("{prefix}{}", entry.file_name().display());
        if entry.file_type().expect("known").is_dir() {
            into.insert(format!("{name}/"), String::new());
            collect(&entry.path(), &format!("{name}/"), into);
        } else {
            into.insert(name, fs::read_to_string(entry.path()).unwrap_or_else(|error| error.to_string()));
        }
    }
}

fn write(path: &str, text: &str) -> Change {
    Change::Write { path: path.to_owned(), bytes: text.as_bytes().to_vec() }
}

fn delete(path: &str) -> Change {
    Change::Delete { path: path.to_owned() }
}

/// A bit of everything: two changed files, a new one in a new directory, a deletion.
fn mixed() -> Vec<Change> {
    vec![write("a.yaml", "A"), write("db/c.yaml", "C"), write("new/deep/n.yaml", "N"), delete("b.yaml")]
}

fn no_space() -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::StorageFull))
}

#[test]
fn changes_are_written_and_nothing_else_is_touched() {
    let fixture = Fixture::new();
    let untouched = fs::metadata(fixture.path().join("Kptfile")).expect("there").ino();
    let applied = fixture.apply(&mixed()).expect("applies");
    assert_eq!(applied.written, ["a.yaml", "db/c.yaml", "new/deep/n.yaml"]);
    assert_eq!(applied.deleted, ["b.yaml"]);
    assert_eq!(applied.warnings, []);
    let tree = fixture.tree();
    assert_eq!(tree["a.yaml"], "A");
    assert_eq!(tree["new/deep/n.yaml"], "N");
    assert_eq!(
        tree.keys().collect::<Vec<_>>(),
        ["Kptfile", "a.yaml", "db/", "db/Kptfile", "db/c.yaml", "new/", "new/deep/", "new/deep/n.yaml"]
    );
    assert_eq!(fs::metadata(fixture.path().join("Kptfile")).expect("there").ino(), untouched);
}

#[test]
fn a_failure_at_any_moment_leaves_everything_as_it_was() {
    let moments = [
        (Moment::Stage, "a.yaml"),
        (Moment::Stage, "new/deep/n.yaml"),
        (Moment::Stage, "b.yaml"),
        (Moment::Rename, "a.yaml"),
        (Moment::Rename, "db/c.yaml"),
        (Moment::Rename, "new/deep/n.yaml"),
        (Moment::Delete, "b.yaml"),
    ];
    for (moment, path) in moments {
        let fixture = Fixture::new();
        let before = fixture.tree();
        let error = fixture.apply_and(&mixed(), moment, path, no_space).expect_err("fails");
        assert!(matches!(&error, ApplyError::Io { path: at, .. } if at == path), "{moment:?} {path}: {error}");
        assert_eq!(fixture.tree(), before, "{moment:?} {path}");
    }
}

#[test]
fn a_failure_after_the_last_deletion_puts_deleted_files_back() {
    let fixture = Fixture::new();
    let before = fixture.tree();
    let changes = [write("a.yaml", "A"), delete("b.yaml"), delete("db/c.yaml")];
    fixture.apply_and(&changes, Moment::Delete, "db/c.yaml", no_space).expect_err("fails");
    assert_eq!(fixture.tree(), before);
}

#[test]
fn what_cannot_be_put_back_is_named_with_its_old_content() {
    let fixture = Fixture::new();
    let error = fixture
        .dir
        .apply_observed(&mixed(), &fixture.base, &mut |moment, path| match (moment, path) {
            (Moment::Delete, _) | (Moment::PutBack, "a.yaml") => no_space(),
            _ => Ok(()),
        })
        .expect_err("fails");
    let ApplyError::RollbackFailed { source, files } = error else { panic!("unexpected: {error}") };
    assert!(matches!(*source, ApplyError::Io { .. }));
    let [(path, Some(old))] = files.as_slice() else { panic!("unexpected: {files:?}") };
    assert_eq!(path, "a.yaml");
    let tree = fixture.tree();
    assert_eq!((tree["a.yaml"].as_str(), tree[old].as_str()), ("A", "a"));
    assert_eq!((tree["b.yaml"].as_str(), tree["db/c.yaml"].as_str()), ("b", "c"));
}

#[test]
fn an_edit_before_writing_is_noticed() {
    let fixture = Fixture::new();
    for (path, text) in [("a.yaml", "edited"), ("a.yaml", "e"), ("b.yaml", "x")] {
        put(fixture.path(), path, text);
        let before = fixture.tree();
        let error = fixture.apply(&mixed()).expect_err("edited");
        assert!(matches!(&error, ApplyError::Edited(at) if at == path), "{error}");
        assert_eq!(fixture.tree(), before);
        put(fixture.path(), path, &path[..1]);
    }
    fixture.apply(&mixed()).expect("the old content is back, whatever its time");
}

#[test]
fn an_edit_between_staging_and_renaming_is_noticed() {
    let fixture = Fixture::new();
    let at = fixture.path().to_owned();
    let error = fixture
        .apply_and(&mixed(), Moment::Rename, "db/c.yaml", || {
            put(&at, "db/c.yaml", "somebody else");
            Ok(())
        })
        .expect_err("edited");
    assert!(matches!(error, ApplyError::Edited(path) if path == "db/c.yaml"));
    let tree = fixture.tree();
    assert_eq!((tree["a.yaml"].as_str(), tree["db/c.yaml"].as_str()), ("a", "somebody else"));
    assert!(!tree.contains_key("new/"));
}

#[test]
fn a_file_that_vanished_is_noticed_unless_it_was_to_go() {
    let fixture = Fixture::new();
    fs::remove_file(fixture.path().join("b.yaml")).expect("removed");
    let applied = fixture.apply(&[write("a.yaml", "A"), delete("b.yaml")]).expect("applies");
    assert_eq!((applied.written.len(), applied.deleted.len()), (1, 0));
    fs::remove_dir_all(fixture.path().join("db")).expect("removed");
    fixture.apply(&[delete("db/c.yaml")]).expect("applies");
    assert!(!fixture.path().join("db").exists());
    let error = fixture.apply(&[write("b.yaml", "B")]).expect_err("removed");
    assert!(matches!(error, ApplyError::Removed(path) if path == "b.yaml"));
}

#[test]
fn a_file_that_appeared_is_not_overwritten() {
    let fixture = Fixture::new();
    put(fixture.path(), "new/deep/n.yaml", "mine");
    let error = fixture.apply(&mixed()).expect_err("appeared");
    assert!(matches!(error, ApplyError::Appeared(path) if path == "new/deep/n.yaml"));

    let fixture = Fixture::new();
    let at = fixture.path().to_owned();
    let error = fixture
        .apply_and(&mixed(), Moment::Rename, "new/deep/n.yaml", || {
            put(&at, "new/deep/n.yaml", "mine");
            Ok(())
        })
        .expect_err("appeared");
    assert!(matches!(error, ApplyError::Appeared(path) if path == "new/deep/n.yaml"));
    let tree = fixture.tree();
    assert_eq!((tree["new/deep/n.yaml"].as_str(), tree["a.yaml"].as_str()), ("mine", "a"));
}

#[test]
fn content_that_is_there_already_is_no_conflict() {
    let fixture = Fixture::new();
    let second = PackageDir::open(fixture.path()).expect("opens");
    fixture.apply(&mixed()).expect("applies");
    let applied = second.apply(&mixed(), &fixture.base).expect("the same changes");
    assert_eq!(applied, Applied::default());
    let error = second.apply(&[write("a.yaml", "other")], &fixture.base).expect_err("other changes");
    assert!(matches!(error, ApplyError::Edited(_)));
}

#[test]
fn a_directory_swapped_for_a_link_is_not_followed() {
    let outside = tempfile::tempdir().expect("a temporary directory");
    put(outside.path(), "c.yaml", "c");
    for moment in [Moment::Stage, Moment::Rename] {
        let fixture = Fixture::new();
        let at = fixture.path().to_owned();
        let result = fixture.apply_and(&[write("db/c.yaml", "C")], moment, "db/c.yaml", || {
            fs::rename(at.join("db"), at.join("moved"))?;
            symlink(outside.path(), at.join("db"))
        });
        if moment == Moment::Stage {
            assert!(matches!(result, Err(ApplyError::ParentIsLink { parent, .. }) if parent == "db"));
        }
        assert_eq!(fs::read_to_string(outside.path().join("c.yaml")).expect("there"), "c", "{moment:?}");
        assert_eq!(fs::read_dir(outside.path()).expect("listed").count(), 1, "{moment:?}");
    }
}

#[test]
fn a_target_swapped_for_a_link_is_not_followed() {
    let fixture = Fixture::new();
    let outside = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(outside.path(), "a").expect("written");
    fs::remove_file(fixture.path().join("a.yaml")).expect("removed");
    symlink(outside.path(), fixture.path().join("a.yaml")).expect("linked");
    let error = fixture.apply(&[write("a.yaml", "A")]).expect_err("refused");
    assert!(matches!(error, ApplyError::IsLink(_)));
    assert_eq!(fs::read_to_string(outside.path()).expect("there"), "a");
}

#[test]
fn a_process_killed_between_two_renames_leaves_whole_files_and_the_next_write_cleans_up() {
    let fixture = Fixture::new();
    // A panic skips the rollback, as a kill does.
    let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        fixture.apply_and(&mixed(), Moment::Rename, "db/c.yaml", || std::panic::resume_unwind(Box::new("killed")))
    }));
    assert!(killed.is_err());
    let tree = fixture.tree();
    assert_eq!((tree["a.yaml"].as_str(), tree["b.yaml"].as_str(), tree["db/c.yaml"].as_str()), ("A", "b", "c"));
    let left = tree.keys().filter(|path| is_temporary(split(path).1)).count();
    assert_eq!(left, 4, "{tree:?}");

    let base = fixture.dir.read(&PackageLimits::default()).expect("reads");
    assert_eq!(base.files.len(), 5, "what is left over is no input");
    fixture.dir.apply(&mixed(), &base).expect("applies");
    let tree = fixture.tree();
    assert_eq!(
        tree.keys().collect::<Vec<_>>(),
        ["Kptfile", "a.yaml", "db/", "db/Kptfile", "db/c.yaml", "new/", "new/deep/", "new/deep/n.yaml"]
    );
}

#[test]
fn only_names_given_here_are_taken_for_left_overs() {
    for name in [super::super::stage::temporary_name(".new"), super::super::stage::temporary_name(".old")] {
        assert!(is_temporary(&name), "{name}");
    }
    for name in [
        ".portico-notes",
        "a.old",
        ".portico",
        "x.portico-1.new",
        ".portico-1.yaml",
        ".portico-my.new",
        ".portico-.old",
    ] {
        assert!(!is_temporary(name), "{name}");
    }
}

#[test]
fn a_writer_waits_for_readers_and_gives_up_in_the_end() {
    let fixture = Fixture::new();
    let held = lock::lock(&fixture.dir.dir, Mode::Shared, Duration::ZERO).expect("no error").expect("free");
    let other = PackageDir::open(fixture.path()).expect("opens").with_lock_wait(Duration::ZERO);
    other.read(&PackageLimits::default()).expect("readers share");
    let error = other.apply(&mixed(), &fixture.base).expect_err("held");
    assert!(matches!(error, ApplyError::Busy(_)), "{error}");
    drop(held);
    let held = lock::lock(&fixture.dir.dir, Mode::Alone, Duration::ZERO).expect("no error").expect("free");
    let error = other.read(&PackageLimits::default()).expect_err("held");
    assert!(matches!(error, super::super::files::ReadError::Busy(_)), "{error}");
    drop(held);
    other.apply(&mixed(), &fixture.base).expect("free again");
}

#[test]
fn the_mode_of_an_existing_file_is_kept_where_the_old_content_is_copied() {
    let fixture = Fixture::new();
    let path = fixture.path().join("a.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
    fixture.dir.with_sync(true).apply(&[write("a.yaml", "A")], &fixture.base).expect("applies");
    assert_eq!(fs::metadata(path).expect("there").mode() & 0o7777, 0o640);
}

#[test]
fn a_new_name_for_an_existing_file_is_refused_as_on_a_file_system_that_ignores_case() {
    let fixture = Fixture::new();
    // One file under two names, of which the package knows one: what such a file system shows.
    fs::hard_link(fixture.path().join("a.yaml"), fixture.path().join("A.yaml")).expect("linked");
    let error = fixture.apply(&[write("A.yaml", "upper")]).expect_err("the same file");
    assert!(matches!(error, ApplyError::SameFile { path, other } if path == "A.yaml" && other == "a.yaml"));
    assert_eq!(fixture.tree()["a.yaml"], "a");
}
