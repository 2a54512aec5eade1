//! Compiled modules on disk: used when they are whole and ours, and never otherwise.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use portico_runtime::{CacheError, CancelToken, Compiler, Engine, EngineConfig, Limits, ModuleCounts, Sandbox};

use crate::guests::{ECHO, function, stdin, wasm};

fn engine(dir: &Path) -> Engine {
    Engine::new(EngineConfig { cache_dir: Some(dir.into()), ..EngineConfig::default() }).unwrap()
}

/// Loads and runs the echo on a new engine, as a new process would; says whether it had to compile.
fn compiles(dir: &Path) -> bool {
    let engine = engine(dir);
    assert!(engine.cache_error().is_none(), "{:?}", engine.cache_error());
    let module = engine.load(&function(wasm(ECHO))).unwrap();
    let output = Sandbox::new(&engine, Limits::default(), CancelToken::new()).run(&module, stdin("cached")).unwrap();
    assert_eq!(output.stdout, b"cached");
    engine.compilations() > 0
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// A cache directory with the echo in it, and its file.
fn filled() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("below").join("cache");
    assert!(compiles(&dir));
    let [file] = &files(&dir)[..] else { panic!("one file: {:?}", files(&dir)) };
    let file = file.clone();
    (temporary, dir, file)
}

#[test]
fn the_next_process_finds_what_this_one_compiled() {
    let (_temporary, dir, file) = filled();
    assert!(!compiles(&dir));
    assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    // Even one that must not compile.
    let config = EngineConfig { cache_dir: Some(dir), compiler: Compiler::Forbidden, ..EngineConfig::default() };
    let engine = Engine::new(config).unwrap();
    engine.load(&function(wasm(ECHO))).unwrap();
    assert_eq!(engine.module_counts(), ModuleCounts { hits: 0, misses: 1, from_disk: 1 });
}

#[test]
fn a_damaged_file_is_compiled_anew_and_replaced() {
    let (_temporary, dir, file) = filled();
    let whole = fs::read(&file).unwrap();
    let mut damages: Vec<Vec<u8>> = vec![Vec::new(), b"not code".to_vec(), vec![0; whole.len()]];
    for length in [1, 20, whole.len() / 2, whole.len() - 1] {
        damages.push(whole[..length].to_vec());
    }
    for position in [0, 100, whole.len() / 2, whole.len() - 21, whole.len() - 20, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[position] ^= 1;
        damages.push(damaged);
    }
    damages.push([&whole[..], b"x"].concat());
    for (index, damaged) in damages.into_iter().enumerate() {
        fs::write(&file, damaged).unwrap();
        assert!(compiles(&dir), "damage {index}");
        assert!(!compiles(&dir), "damage {index} was not replaced");
    }
}

#[test]
fn a_name_carries_digest_settings_and_format() {
    let (_temporary, _dir, file) = filled();
    let name = file.file_name().unwrap().to_str().unwrap();
    let digest = portico_runtime::Digest::of(&wasm(ECHO)).to_string();
    assert!(name.starts_with(&format!("{digest}-")) && name.ends_with("-1.cwasm"), "{name}");
}

#[test]
fn links_in_place_of_the_file_are_not_followed() {
    let (temporary, dir, file) = filled();
    let elsewhere = temporary.path().join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert!(compiles(&dir));
    // The link was replaced by a file.
    assert!(fs::symlink_metadata(&file).unwrap().is_file());

    fs::remove_file(&elsewhere).unwrap();
    fs::hard_link(&file, &elsewhere).unwrap();
    assert!(compiles(&dir));
}

#[test]
fn a_file_that_others_may_write_is_not_trusted() {
    let (_temporary, dir, file) = filled();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(compiles(&dir));
}

/// Root alone can make files that belong to someone else.
fn give_away(path: &Path) -> bool {
    let root = rustix::process::geteuid().is_root();
    if root {
        std::os::unix::fs::chown(path, Some(65534), None).unwrap();
    }
    root
}

#[test]
fn a_file_of_someone_else_is_not_trusted() {
    let (_temporary, dir, file) = filled();
    if give_away(&file) {
        assert!(compiles(&dir));
        assert!(!compiles(&dir));
    }
}

#[test]
fn a_directory_of_someone_else_is_refused_and_work_goes_on() {
    let (_temporary, dir, _file) = filled();
    if give_away(&dir) {
        let engine = engine(&dir);
        assert!(matches!(engine.cache_error(), Some(CacheError::Owner { .. })));
        engine.load(&function(wasm(ECHO))).unwrap();
    }
}

/// Content as the cache would have written it.
fn sealed(code: &[u8]) -> Vec<u8> {
    let mut bytes = code.to_vec();
    bytes.extend_from_slice(b"portico\x01");
    bytes.extend_from_slice(&(code.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(code).to_le_bytes());
    bytes
}

#[test]
fn whole_content_that_is_no_code_for_this_engine_is_compiled_anew() {
    let (_temporary, dir, file) = filled();
    let kept = fs::read(&file).unwrap();
    let code = &kept[..kept.len() - 20];
    assert_eq!(kept, sealed(code));
    // As an engine for another architecture would write it: the code's head names the architecture.
    let name = std::env::consts::ARCH.as_bytes();
    let at = code.windows(name.len()).position(|window| window == name).expect("the architecture is in the code");
    let mut other = code.to_vec();
    other[at] ^= 1;
    for foreign in [&other[..], b"", b"not code", b"\x7fELF", &code[..code.len() / 2]] {
        fs::write(&file, sealed(foreign)).unwrap();
        assert!(compiles(&dir));
        assert!(!compiles(&dir));
    }
}

#[test]
fn a_file_of_another_engine_lies_beside_ours() {
    let (_temporary, dir, file) = filled();
    let name = file.file_name().unwrap().to_str().unwrap();
    let (digest, rest) = name.split_at(64);
    let other = dir.join(format!("{digest}-0123456789abcdef{}", &rest[17..]));
    fs::rename(&file, &other).unwrap();
    assert!(compiles(&dir));
    assert_eq!(files(&dir).len(), 2);
    assert!(!compiles(&dir));
}

#[test]
fn a_pipe_or_directory_in_place_of_the_file_does_no_harm() {
    let (_temporary, dir, file) = filled();
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(compiles(&dir));
    fs::remove_dir(&file).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::RWXU).unwrap();
    assert!(compiles(&dir));
    assert!(!compiles(&dir));
}

#[test]
fn a_directory_that_others_may_write_is_refused_and_work_goes_on() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("open");
    fs::DirBuilder::new().mode(0o700).create(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
    let engine = engine(&dir);
    assert!(matches!(engine.cache_error(), Some(CacheError::Writable { .. })));
    engine.load(&function(wasm(ECHO))).unwrap();
    assert_eq!(files(&dir), [] as [PathBuf; 0]);
}

#[test]
fn a_link_or_file_in_place_of_the_directory_is_refused_and_work_goes_on() {
    let temporary = tempfile::tempdir().unwrap();
    let (target, link, file) =
        (temporary.path().join("target"), temporary.path().join("link"), temporary.path().join("file"));
    fs::create_dir(&target).unwrap();
    symlink(&target, &link).unwrap();
    fs::write(&file, "").unwrap();
    for dir in [&link, &file, &file.join("below")] {
        let engine = engine(dir);
        assert!(matches!(engine.cache_error(), Some(CacheError::Open { .. })), "{dir:?}");
        engine.load(&function(wasm(ECHO))).unwrap();
    }
    assert_eq!(files(&target), [] as [PathBuf; 0]);
}

#[test]
fn many_who_write_the_same_file_leave_a_whole_one() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("cache");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| compiles(&dir));
        }
    });
    assert_eq!(files(&dir).len(), 1);
    assert!(!compiles(&dir));
}

#[test]
fn what_a_killed_process_left_behind_is_removed() {
    let (_temporary, dir, file) = filled();
    let (old, young) = (dir.join("1.0.tmp"), dir.join("2.0.tmp"));
    for path in [&old, &young] {
        fs::write(path, "half").unwrap();
    }
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(48);
    fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    fs::remove_file(&file).unwrap();
    assert!(compiles(&dir));
    assert_eq!(files(&dir).len(), 2);
    assert!(young.exists() && !old.exists());
}
