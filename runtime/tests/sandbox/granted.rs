//! Directories that are granted to a function, through the calls of WASI.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;

use portico_runtime::{
    CancelToken, Engine, GrantLimits, GrantedDirectory, Grants, Invocation, Limits, RunFailure, RunOutput, Sandbox,
};

use crate::guests::{assert_works, engine, function, importing, stdin};
use crate::wasi::CALLS;

const BADF: u8 = 8;
const FAULT: u8 = 21;
const ILSEQ: u8 = 25;
const INVAL: u8 = 28;
const ISDIR: u8 = 31;
const LOOP: u8 = 32;
const MFILE: u8 = 33;
const NAMETOOLONG: u8 = 37;
const NOENT: u8 = 44;
const NOTDIR: u8 = 54;
const ROFS: u8 = 69;
const NOTCAPABLE: u8 = 76;

/// Where programs write what the calls answer, and where their paths stand.
const OUT: u32 = 512;
const PATHS: u32 = 4096;

/// `/data` with a directory `a`, a file of 10 bytes in it, and links of all kinds beside it.
fn data() -> Grants {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("data");
    fs::create_dir_all(root.join("a/empty")).unwrap();
    fs::write(place.path().join("secret"), "secret").unwrap();
    fs::write(root.join("a/file"), "0123456789").unwrap();
    symlink("a/file", root.join("link")).unwrap();
    symlink("a", root.join("to-a")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("../secret", root.join("out")).unwrap();
    let (directory, warnings) = GrantedDirectory::read(&root, "/data", &GrantLimits::default()).unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let mut grants = Grants::default();
    grants.add_directory(directory).unwrap();
    grants
}

fn import(name: &str) -> String {
    let parameters = CALLS.iter().find(|(known, _)| *known == name).expect("a call").1;
    let types: Vec<&str> = parameters.chars().map(|c| if c == 'l' { "i64" } else { "i32" }).collect();
    format!(r#"(import "wasi_snapshot_preview1" "{name}" (func ${name} (param {}) (result i32)))"#, types.join(" "))
}

/// Writes the lowest byte of what a call answers to stdout.
fn show(call: &str) -> String {
    format!("(i32.store8 (i32.const 48) {call}) (call $write (i32.const 1) (i32.const 48) (i32.const 1))\n")
}

/// Makes a call by its name with these arguments.
fn calling(name: &str, arguments: &[i64]) -> String {
    let parameters = CALLS.iter().find(|(known, _)| *known == name).expect("a call").1;
    assert_eq!(parameters.len(), arguments.len(), "{name}");
    let mut text = format!("(call ${name}");
    for (kind, value) in parameters.chars().zip(arguments) {
        let _ = write!(text, " ({}.const {value})", if kind == 'l' { "i64" } else { "i32" });
    }
    text + ")"
}

fn size(bytes: &[u8]) -> i64 {
    i64::try_from(bytes.len()).expect("a small test")
}

/// A guest that makes these calls; `data` stands at [`PATHS`].
fn guest(names: &[&str], data: &[u8], body: &str) -> Vec<u8> {
    let imports: String = names.iter().map(|name| import(name)).collect();
    let data = data.iter().map(|byte| format!("\\{byte:02x}")).collect::<Vec<_>>().concat();
    let body = format!(r#"(data (i32.const {PATHS}) "{data}") (func (export "_start") {body})"#);
    importing(&imports, &body)
}

fn run(engine: &Engine, wasm: Vec<u8>, grants: Grants) -> RunOutput {
    let module = engine.load(&function(wasm)).unwrap_or_else(|error| panic!("{error}"));
    let call = Invocation { grants, ..stdin("some input") };
    Sandbox::new(engine, Limits::default(), CancelToken::new()).run(&module, call).unwrap_or_else(|e| panic!("{e}"))
}

/// What `path_open` and `path_filestat_get` answer for each path, with and without following a last link.
fn answers(paths: &[&[u8]]) -> Vec<[u8; 4]> {
    let (mut text, mut body) = (Vec::new(), String::new());
    for path in paths {
        let (at, length) = (i64::from(PATHS) + size(&text), size(path));
        text.extend_from_slice(path);
        for follow in [1, 0] {
            let out = i64::from(OUT);
            body += &show(&calling("path_open", &[3, follow, at, length, 0, 2, 0, 0, out]));
            body += &show(&calling("path_filestat_get", &[3, follow, at, length, out]));
        }
    }
    let output = run(&engine(), guest(&["path_open", "path_filestat_get"], &text, &body), data());
    output.stdout.chunks(4).map(|four| four.try_into().unwrap()).collect()
}

#[test]
fn a_granted_directory_is_found_as_the_c_library_does() {
    let mut body = String::new();
    body += &show(&calling("fd_prestat_get", &[3, 64]));
    body += &show(&calling("fd_prestat_dir_name", &[3, 128, 4]));
    body += &show(&calling("fd_prestat_dir_name", &[3, 128, 5]));
    body += &show(&calling("fd_prestat_dir_name", &[3, 131_070, 5]));
    body += &show(&calling("fd_prestat_get", &[4, 64]));
    body += &show(&calling("fd_prestat_get", &[1, 64]));
    body += "(call $write (i32.const 1) (i32.const 64) (i32.const 8))";
    body += "(call $write (i32.const 1) (i32.const 128) (i32.const 5))";
    let output = run(&engine(), guest(&["fd_prestat_get", "fd_prestat_dir_name"], b"", &body), data());
    let (answers, told) = output.stdout.split_at(6);
    assert_eq!(answers, [0, NAMETOOLONG, 0, FAULT, BADF, BADF]);
    assert_eq!(told, b"\0\0\0\0\x05\0\0\0/data");
}

#[test]
fn paths_name_what_is_inside_and_nothing_else() {
    let long_name = [b'n'; 256];
    let long_path = b"./".repeat(2049);
    let cases: &[(&[u8], [u8; 4])] = &[
        (b"a/file", [0; 4]),
        (b"a/../a//./file", [0; 4]),
        (b".", [0; 4]),
        (b"to-a/file", [0; 4]),
        (b"link", [0, 0, LOOP, 0]),
        (b"link/", [NOTDIR; 4]),
        (b"to-a/", [0; 4]),
        (b"loop", [LOOP, LOOP, LOOP, 0]),
        (b"", [NOENT; 4]),
        (b"gone", [NOENT; 4]),
        // Left out when the directory was copied.
        (b"out", [NOENT; 4]),
        (b"a/file/", [NOTDIR; 4]),
        (b"a/file/x", [NOTDIR; 4]),
        (b"..", [NOTCAPABLE; 4]),
        (b"../secret", [NOTCAPABLE; 4]),
        (b"a/../../secret", [NOTCAPABLE; 4]),
        (b"to-a/../../data/a/file", [NOTCAPABLE; 4]),
        (b"/", [NOTCAPABLE; 4]),
        (b"/data/a/file", [NOTCAPABLE; 4]),
        (b"/etc/passwd", [NOTCAPABLE; 4]),
        (b"a\0/file", [INVAL; 4]),
        (b"\xff", [ILSEQ; 4]),
        (&long_name, [NAMETOOLONG; 4]),
        (&long_path, [NAMETOOLONG; 4]),
    ];
    let paths: Vec<&[u8]> = cases.iter().map(|(path, _)| *path).collect();
    for ((path, expected), answer) in cases.iter().zip(answers(&paths)) {
        assert_eq!(answer, *expected, "{}", path.escape_ascii());
    }
}

#[test]
fn a_file_is_read_sought_and_looked_at() {
    let out = i64::from(OUT);
    let (path, length) = (i64::from(PATHS), 6);
    // Two ranges at 64: of 4 bytes at 600 and of 100 at 700.
    let mut body = "(i32.store (i32.const 64) (i32.const 600)) (i32.store (i32.const 68) (i32.const 4))
        (i32.store (i32.const 72) (i32.const 700)) (i32.store (i32.const 76) (i32.const 100))"
        .to_owned();
    let mut expected = Vec::new();
    let mut check = |call: &str, arguments: &[i64], answer: u8, shown: Option<(u32, u32, &[u8])>| {
        body += &show(&calling(call, arguments));
        expected.push(answer);
        if let Some((address, length, bytes)) = shown {
            let _ = write!(body, "(call $write (i32.const 1) (i32.const {address}) (i32.const {length}))");
            expected.extend_from_slice(bytes);
        }
    };
    check("path_open", &[3, 0, path, length, 0, 2, 0, 0, out], 0, Some((OUT, 4, b"\x04\0\0\0")));
    // As much as there is, over both ranges; then nothing.
    check("fd_read", &[4, 64, 2, out], 0, Some((OUT, 4, b"\x0a\0\0\0")));
    check("fd_tell", &[4, out], 0, Some((OUT, 8, b"\x0a\0\0\0\0\0\0\0")));
    check("fd_read", &[4, 64, 2, out], 0, Some((OUT, 4, b"\0\0\0\0")));
    check("fd_tell", &[4, out], 0, Some((600, 4, b"0123")));
    check("fd_tell", &[4, out], 0, Some((700, 6, b"456789")));
    // From the end, from here, from the beginning, beyond, before.
    check("fd_seek", &[4, -3, 2, out], 0, Some((OUT, 8, b"\x07\0\0\0\0\0\0\0")));
    check("fd_seek", &[4, -6, 1, out], 0, Some((OUT, 8, b"\x01\0\0\0\0\0\0\0")));
    check("fd_read", &[4, 64, 1, out], 0, Some((600, 4, b"1234")));
    check("fd_pread", &[4, 64, 1, 8, out], 0, Some((OUT, 4, b"\x02\0\0\0")));
    check("fd_tell", &[4, out], 0, Some((600, 4, b"8934")));
    check("fd_tell", &[4, out], 0, Some((OUT, 8, b"\x05\0\0\0\0\0\0\0")));
    check("fd_seek", &[4, 1000, 0, out], 0, None);
    check("fd_read", &[4, 64, 1, out], 0, Some((OUT, 4, b"\0\0\0\0")));
    check("fd_pread", &[4, 64, 1, i64::MAX, out], 0, Some((OUT, 4, b"\0\0\0\0")));
    check("fd_pread", &[4, 64, 1, -1, out], 0, Some((OUT, 4, b"\0\0\0\0")));
    check("fd_seek", &[4, -1, 0, out], INVAL, None);
    check("fd_seek", &[4, i64::MAX, 0, out], 0, None);
    check("fd_seek", &[4, 1, 1, out], INVAL, None);
    check("fd_seek", &[4, 0, 3, out], INVAL, None);
    check("fd_filestat_get", &[4, 1024], 0, Some((1040, 1, b"\x04")));
    check("fd_filestat_get", &[4, 1024], 0, Some((1056, 8, b"\x0a\0\0\0\0\0\0\0")));
    check("fd_fdstat_get", &[4, 1024], 0, Some((1024, 1, b"\x04")));
    check("fd_fdstat_get", &[3, 1024], 0, Some((1024, 1, b"\x03")));
    check("fd_advise", &[4, 0, 0, 0], 0, None);
    check("fd_fdstat_set_flags", &[4, 4], 0, None);
    check("fd_sync", &[4], 0, None);
    // A directory is not read, a file is not listed.
    check("fd_read", &[3, 64, 2, out], ISDIR, None);
    check("fd_pread", &[3, 64, 2, 0, out], ISDIR, None);
    check("fd_seek", &[3, 0, 0, out], ISDIR, None);
    check("fd_readdir", &[4, 1024, 100, 0, out], NOTDIR, None);
    check("path_open", &[4, 0, path, length, 0, 2, 0, 0, out], NOTDIR, None);
    check("path_open", &[3, 0, path, length, 2, 2, 0, 0, out], NOTDIR, None);
    // It can take the place of stdin, and is gone when closed.
    check("fd_renumber", &[4, 0], 0, None);
    check("fd_seek", &[0, 0, 0, out], 0, None);
    check("fd_read", &[0, 64, 1, out], 0, Some((600, 4, b"0123")));
    check("fd_read", &[4, 64, 1, out], BADF, None);
    check("fd_close", &[0], 0, None);
    check("fd_pread", &[0, 64, 1, 0, out], BADF, None);
    let names = [
        "path_open",
        "fd_tell",
        "fd_seek",
        "fd_pread",
        "fd_filestat_get",
        "fd_fdstat_get",
        "fd_advise",
        "fd_fdstat_set_flags",
        "fd_sync",
        "fd_readdir",
        "fd_renumber",
        "fd_close",
    ];
    let output = run(&engine(), guest(&names, b"a/file", &body), data());
    assert_eq!(output.stdout.escape_ascii().to_string(), expected.escape_ascii().to_string());
}

#[test]
fn nothing_can_be_changed() {
    let out = i64::from(OUT);
    let (path, length) = (i64::from(PATHS), 6);
    let open = |flags, rights| ("path_open", vec![3, 0, path, length, flags, rights, 0, 0, out]);
    let cases = [
        // Create, exclusively, truncate, write.
        (open(1, 2), ROFS),
        (open(1 | 4, 2), ROFS),
        (open(8, 2), ROFS),
        (open(0, 2 | 1 << 6), ROFS),
        (open(16, 2), INVAL),
        (("path_create_directory", vec![3, path, length]), ROFS),
        (("path_filestat_set_times", vec![3, 0, path, length, 0, 0, 0]), ROFS),
        (("path_link", vec![3, 0, path, length, 3, path, length]), ROFS),
        (("path_remove_directory", vec![3, path, length]), ROFS),
        (("path_rename", vec![3, path, length, 3, path, length]), ROFS),
        (("path_symlink", vec![path, length, 3, path, length]), ROFS),
        (("path_unlink_file", vec![3, path, length]), ROFS),
        (open(0, 2), 0),
        (("fd_write", vec![4, 64, 1, out]), NOTCAPABLE),
        (("fd_pwrite", vec![4, 64, 1, 0, out]), NOTCAPABLE),
        (("fd_allocate", vec![4, 0, 100]), NOTCAPABLE),
        (("fd_filestat_set_size", vec![4, 0]), NOTCAPABLE),
        (("fd_filestat_set_times", vec![4, 0, 0, 0]), ROFS),
        (("fd_write", vec![3, 64, 1, out]), NOTCAPABLE),
    ];
    let body: String = cases.iter().map(|((name, arguments), _)| show(&calling(name, arguments))).collect();
    let mut names: Vec<&str> = cases.iter().map(|((name, _), _)| *name).filter(|name| *name != "fd_write").collect();
    names.sort_unstable();
    names.dedup();
    let output = run(&engine(), guest(&names, b"a/file", &body), data());
    for (((name, arguments), expected), answer) in cases.iter().zip(&output.stdout) {
        assert_eq!(answer, expected, "{name} {arguments:?}");
    }
    assert_eq!(output.stdout.len(), cases.len());
}

/// Lists a directory with a buffer of this size, as C libraries do: again from the cookie of the last
/// entry that was whole, until a buffer is not full.
fn listed(buffer: u32) -> Vec<(String, u8, u64)> {
    let body = format!(
        r"(local $cookie i64) (local $at i32) (local $end i32) (local $whole i32)
        (loop $more
          (if (call $fd_readdir (i32.const 3) (i32.const 8192) (i32.const {buffer}) (local.get $cookie) (i32.const 64))
            (then unreachable))
          (local.set $at (i32.const 8192))
          (local.set $end (i32.add (i32.const 8192) (i32.load (i32.const 64))))
          (loop $entry
            (if (i32.le_u (i32.add (local.get $at) (i32.const 24)) (local.get $end)) (then
              (local.set $whole (i32.add (i32.const 24) (i32.load offset=16 (local.get $at))))
              (if (i32.le_u (i32.add (local.get $at) (local.get $whole)) (local.get $end)) (then
                (call $write (i32.const 1) (local.get $at) (local.get $whole))
                (local.set $cookie (i64.load (local.get $at)))
                (local.set $at (i32.add (local.get $at) (local.get $whole)))
                (br $entry))))))
          (br_if $more (i32.eq (i32.load (i32.const 64)) (i32.const {buffer}))))"
    );
    let output = run(&engine(), guest(&["fd_readdir"], b"", &body), data());
    let mut rest = output.stdout.as_slice();
    let mut entries = Vec::new();
    while let Some((head, tail)) = rest.split_at_checked(24) {
        let length = u32::from_le_bytes(head[16..20].try_into().unwrap()) as usize;
        let (name, behind) = tail.split_at(length);
        let inode = u64::from_le_bytes(head[8..16].try_into().unwrap());
        entries.push((String::from_utf8(name.to_vec()).unwrap(), head[20], inode));
        rest = behind;
    }
    entries
}

#[test]
fn a_directory_is_listed_in_order_whatever_the_buffer() {
    let all = listed(4096);
    let names: Vec<(&str, u8)> = all.iter().map(|(name, kind, _)| (name.as_str(), *kind)).collect();
    assert_eq!(names, [(".", 3), ("..", 3), ("a", 3), ("link", 7), ("loop", 7), ("to-a", 7)]);
    let mut numbers: Vec<u64> = all[1..].iter().map(|(_, _, inode)| *inode).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), all.len() - 1, "each has its own number, but for the two names of the root");
    // 28 bytes hold the longest entry, and no second one.
    for buffer in [28, 29, 50, 51, 52, 53, 54, 100] {
        assert_eq!(listed(buffer), all, "{buffer}");
    }
}

#[test]
fn the_cookie_of_a_listing_may_be_any_number() {
    let out = i64::from(OUT);
    let mut body = String::new();
    for cookie in [6, 7, i64::MAX, -1] {
        body += &show(&calling("fd_readdir", &[3, 8192, 100, cookie, out]));
        let _ = write!(body, "(call $write (i32.const 1) (i32.const {OUT}) (i32.const 4))");
    }
    let output = run(&engine(), guest(&["fd_readdir"], b"", &body), data());
    assert_eq!(output.stdout, [0; 20]);
}

#[test]
fn open_files_are_bounded() {
    // Opens until it fails; exits with the answer, and the number of files on stdout.
    let body = format!(
        "(local $answer i32)
        (loop $more
          (local.set $answer (call $path_open (i32.const 3) (i32.const 0) (i32.const {PATHS}) (i32.const 6)
            (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 64)))
          (br_if $more (i32.eqz (local.get $answer))))
        (call $exit (local.get $answer))"
    );
    let engine = engine();
    let output = run(&engine, guest(&["path_open"], b"a/file", &body), data());
    assert_eq!(output.exit_code, i32::from(MFILE));
    assert_works(&engine);
}

#[test]
fn reading_and_walking_cost_fuel() {
    let out = i64::from(OUT);
    // A path of 2,000 names, looked up for ever.
    let path = b"./".repeat(2000);
    let call = calling("path_filestat_get", &[3, 0, i64::from(PATHS), size(&path), out]);
    let wasm = guest(&["path_filestat_get"], &path, &format!("(loop $again (drop {call}) (br $again))"));
    let engine = engine();
    let module = engine.load(&function(wasm)).unwrap();
    let limits = Limits { fuel: 100_000_000, ..Limits::default() };
    let call = Invocation { grants: data(), ..stdin("") };
    let error = Sandbox::new(&engine, limits, CancelToken::new()).run(&module, call).unwrap_err();
    assert!(matches!(error.failure, RunFailure::OutOfFuel { .. }), "{error}");
    assert_works(&engine);
}

#[test]
fn no_argument_is_too_hostile_with_a_directory() {
    let hostile: [i64; 9] = [0, 1, 16, 131_068, 131_071, 131_072, 0x7fff_ffff, 0xffff_fff0, 0xffff_ffff];
    let engine = engine();
    let opened = calling("path_open", &[3, 0, i64::from(PATHS), 6, 0, 2, 0, 0, i64::from(OUT)]);
    for (name, parameters) in CALLS.iter().filter(|(name, _)| name.starts_with("fd_") || name.starts_with("path_")) {
        // Of the others most are harmless, so that many calls find the directory and the file.
        let mut calls = String::new();
        for fd in [3, 4] {
            for value in hostile {
                for position in 1..parameters.len() {
                    for rest in [0, 1, i64::from(PATHS)] {
                        let mut values = vec![rest; parameters.len()];
                        values[0] = fd;
                        values[position] = value;
                        if *name == "path_symlink" {
                            values[2] = fd;
                        }
                        if *name != "fd_close" && *name != "fd_renumber" {
                            let _ = write!(calls, "(drop {})", calling(name, &values));
                        }
                    }
                }
            }
        }
        let mut names = vec!["path_open"];
        names.extend((!["path_open", "fd_read", "fd_write"].contains(name)).then_some(*name));
        let body = format!("(drop {opened}) {calls} (call $exit (i32.const 42))");
        let limits =
            Limits { step_time: std::time::Duration::MAX, render_time: std::time::Duration::MAX, ..Limits::default() };
        let module = engine.load(&function(guest(&names, b"a/file", &body))).unwrap();
        let call = Invocation { grants: data(), ..stdin("some input") };
        let result = Sandbox::new(&engine, limits, CancelToken::new()).run(&module, call);
        assert_eq!(result.unwrap_or_else(|error| panic!("{name}: {error}")).exit_code, 42, "{name}");
    }
    assert_works(&engine);
}

#[test]
fn the_same_directory_gives_the_same_bytes_and_the_same_fuel() {
    let out = i64::from(OUT);
    let mut body = show(&calling("fd_readdir", &[3, 8192, 2000, 0, out]));
    body += "(call $write (i32.const 1) (i32.const 8192) (i32.const 2000))";
    body += &show(&calling("fd_filestat_get", &[3, 8192]));
    body += "(call $write (i32.const 1) (i32.const 8192) (i32.const 64))";
    let wasm = guest(&["fd_readdir", "fd_filestat_get"], b"", &body);
    let [first, second] = [(); 2].map(|()| {
        let output = run(&engine(), wasm.clone(), data());
        (output.stdout, output.fuel_used)
    });
    assert_eq!(first, second);
}
