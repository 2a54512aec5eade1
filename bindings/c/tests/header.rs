//! The header against the library: a C compiler compares every prototype, struct and number of `portico.h` with what the
//! Rust compiler knows of this side, and the linker's table says what is exported.

#[expect(dead_code, reason = "shared with the tests that run programs")]
mod support;

use std::collections::BTreeSet;
use std::ffi::c_char;
use std::fmt::Write as _;
use std::process::Command;

use portico::abi::{self, Change, EngineOptions, File, Function, Limit, RenderOptions, Step, Text};
use portico::ffi::*;
use portico::{Engine, ErrorReport, Render, Report};
use support::{compiler, here, libraries, succeeds};

/// A type of this side as C spells it.
trait C {
    fn c() -> String;
}

macro_rules! c_types {
    ($($rust:ty: $c:literal),* $(,)?) => {
        $(impl C for $rust {
            fn c() -> String {
                $c.to_owned()
            }
        })*
    };
}

c_types! {
    (): "void", i32: "int32_t", u32: "uint32_t", i64: "int64_t", u64: "uint64_t", usize: "size_t", c_char: "char",
    Text: "portico_text_t", File: "portico_file_t", Limit: "portico_limit_t", Function: "portico_function_t",
    EngineOptions: "portico_engine_options_t", RenderOptions: "portico_render_options_t",
    Change: "portico_change_t", Step: "portico_step_t",
    Engine: "portico_engine_t", Render: "portico_render_t", Report: "portico_result_t", ErrorReport: "portico_error_t",
}

impl<T: C> C for *const T {
    fn c() -> String {
        format!("{} const *", T::c())
    }
}

impl<T: C> C for *mut T {
    fn c() -> String {
        format!("{} *", T::c())
    }
}

/// A function of this side, whose types the compiler fills in.
trait Prototype {
    fn prototype(self, name: &str) -> String;
}

macro_rules! prototypes {
    ($($argument:ident)*) => {
        impl<R: C $(, $argument: C)*> Prototype for unsafe extern "C" fn($($argument),*) -> R {
            fn prototype(self, name: &str) -> String {
                let arguments: Vec<String> = vec![$($argument::c()),*];
                let arguments = if arguments.is_empty() { "void".to_owned() } else { arguments.join(", ") };
                format!("{} {name}({arguments});\n", R::c())
            }
        }
    };
}

prototypes!();
prototypes!(A);
prototypes!(A B);
prototypes!(A B D);
prototypes!(A B D E);
prototypes!(A B D E F G);

/// Name and prototype of functions, by the number of their arguments.
macro_rules! functions {
    ($($name:ident($($argument:tt),*)),* $(,)?) => {
        vec![$((
            stringify!($name),
            ($name as unsafe extern "C" fn($($argument),*) -> _).prototype(stringify!($name)),
        )),*]
    };
}

fn functions() -> Vec<(&'static str, String)> {
    functions![
        portico_abi_version(),
        portico_version(),
        portico_engine_new(_, _, _),
        portico_engine_free(_),
        portico_render(_, _, _, _, _, _),
        portico_evaluate(_, _, _, _, _, _),
        portico_wait(_, _, _, _),
        portico_cancel(_),
        portico_render_free(_),
        portico_result_status(_),
        portico_result_message(_),
        portico_result_failed_package(_),
        portico_result_failed_step(_),
        portico_result_saved_on_failure(_),
        portico_result_yaml(_),
        portico_result_output(_),
        portico_result_packages(_),
        portico_result_changes(_),
        portico_result_change(_, _, _),
        portico_result_steps(_),
        portico_result_step(_, _, _),
        portico_result_warnings(_),
        portico_result_warning(_, _),
        portico_error_code(_),
        portico_error_message(_),
        portico_error_free(_),
    ]
}

/// The C type of a field.
fn field<S, F: C>(_: fn(&S) -> &F) -> String {
    F::c()
}

/// Assertions on a struct: its size, and of each field the place and the type. A field that is missing here does not
/// compile.
macro_rules! layout {
    ($out:expr, $rust:ident { $($field:ident),* $(,)? }) => {{
        let _ = |$rust { $($field: _),* }: $rust| {};
        let name = <$rust as C>::c();
        let (size, align) = (size_of::<$rust>(), align_of::<$rust>());
        writeln!($out, "_Static_assert(sizeof({name}) == {size} && _Alignof({name}) == {align}, \"{name}\");").unwrap();
        $(
            let (member, at) = (stringify!($field), std::mem::offset_of!($rust, $field));
            let kind = field(|value: &$rust| &value.$field);
            writeln!($out, "_Static_assert(offsetof({name}, {member}) == {at}, \"{name}.{member}\");").unwrap();
            writeln!(
                $out,
                "_Static_assert(_Generic(&(({name} *)0)->{member}, {kind} *: 1, default: 0), \"{name}.{member}\");"
            )
            .unwrap();
        )*
    }};
}

macro_rules! constants {
    ($($name:ident),* $(,)?) => {
        vec![$((concat!("PORTICO_", stringify!($name)), i64::from(abi::$name))),*]
    };
}

fn constants() -> Vec<(&'static str, i64)> {
    constants![
        ABI_VERSION,
        OK,
        PENDING,
        INVALID_ARGUMENT,
        ABI_MISMATCH,
        ENGINE,
        BUSY,
        PACKAGE,
        CANCELLED,
        WORKER,
        INTERNAL,
        COMPILE_FORBIDDEN,
        COMPILE_CHILD,
        STYLE_PRESERVE,
        STYLE_KPT,
        RECORD_FULL,
        RECORD_CONDITIONS,
        RECORD_NONE,
        FLAG_CONDITIONS,
        STATUS_RENDERED,
        STATUS_BAD_PACKAGE,
        STATUS_UNRESOLVED,
        STATUS_FUNCTION_FAILED,
        STATUS_BAD_OUTPUT,
        STEP_MUTATOR,
        STEP_VALIDATOR,
        STEP_PASSED,
        STEP_FAILED,
        STEP_SKIPPED,
        STEP_NOT_RUN,
    ]
}

fn header() -> String {
    std::fs::read_to_string(here().join("include/portico.h")).unwrap()
}

/// What a C compiler is to find compatible with the header.
fn assertions() -> String {
    let mut out = "#include \"portico.h\"\n".to_owned();
    for (_, prototype) in functions() {
        out.push_str(&prototype);
    }
    for (name, value) in constants() {
        writeln!(out, "_Static_assert({name} == {value}, \"{name}\");").unwrap();
    }
    layout!(out, Text { data, len });
    layout!(out, File { path, content });
    layout!(out, Limit { name, value });
    layout!(out, Function { image, module });
    layout!(
        out,
        EngineOptions {
            struct_size,
            abi_version,
            compile,
            program,
            cache_dir,
            workers,
            queue,
            pool_slots,
            isolate,
            functions,
            function_count,
            function_dirs,
            function_dir_count,
            limits,
            limit_count,
        }
    );
    layout!(
        out,
        RenderOptions { struct_size, style, record, root, tenant, image_prefix, limits, limit_count, flags, reserved }
    );
    layout!(out, Change { path, content, deleted, reserved });
    layout!(
        out,
        Step {
            struct_size,
            package,
            name,
            image,
            execution_error,
            cause,
            stderr_text,
            stderr_dropped,
            elapsed_nanoseconds,
            fuel,
            peak_memory,
            resources,
            exit_code,
            kind,
            index,
            state,
        }
    );
    out
}

/// Whether C takes this beside the header.
fn compiles(source: &str) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("check.c");
    std::fs::write(&file, source).unwrap();
    let mut cc = compiler();
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]).arg(file);
    cc.output().unwrap().status.success()
}

#[test]
fn a_c_compiler_finds_the_header_and_the_library_the_same() {
    let source = assertions();
    assert!(compiles(&source), "the C compiler refuses this beside portico.h:\n{source}");
}

/// The check is none that can't fail: each kind of difference is refused.
#[test]
fn differences_are_refused() {
    let source = assertions();
    for (there, instead) in [
        ("int32_t portico_wait(portico_render_t *, int64_t,", "int32_t portico_wait(portico_render_t *, int32_t,"),
        ("size_t portico_result_steps(", "uint32_t portico_result_steps("),
        ("portico_result_t const *", "portico_result_t *"),
        ("PORTICO_BUSY == 5", "PORTICO_BUSY == 6"),
        ("offsetof(portico_step_t, fuel) == ", "offsetof(portico_step_t, fuel) == 1"),
        ("&((portico_change_t *)0)->deleted, uint32_t *", "&((portico_change_t *)0)->deleted, int32_t *"),
    ] {
        assert!(source.contains(there), "{there}");
        assert!(!compiles(&source.replacen(there, instead, 1)), "`{instead}` was taken");
    }
}

/// The names in a text that follow this start and end with one of these characters.
fn names(text: &str, start: &str, end: &[char]) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let places = text.match_indices(start).filter(|(at, _)| !text[..*at].ends_with(is_name));
    places
        .filter_map(|(at, _)| {
            let (name, rest) = text[at..].split_at(text[at..].find(|c| !is_name(c))?);
            rest.trim_start_matches(' ').starts_with(end).then(|| name.to_owned())
        })
        .collect()
}

fn without_comments(text: &str) -> String {
    text.split("/*")
        .enumerate()
        .map(|(at, part)| if at == 0 { part } else { part.split_once("*/").unwrap().1 })
        .collect()
}

#[test]
fn nothing_of_the_header_is_left_out_and_nothing_else_is_exported() {
    let text = without_comments(&header());
    let (text, helpers) = text.split_once("static inline").unwrap();
    let declared = names(text, "portico_", &['(']);
    let known: BTreeSet<String> = functions().into_iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(declared, known, "functions");
    assert!(helpers.contains("portico_text("));

    let numbers = names(text, "PORTICO_", &['=', '1']);
    let known: BTreeSet<String> = constants().into_iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(numbers, known, "numbers");

    let output = succeeds(Command::new("nm").args(["-D", "--defined-only"]).arg(libraries().join("libportico.so")));
    let exported: BTreeSet<String> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        .map(str::to_owned)
        .collect();
    assert_eq!(exported, declared, "exported");
}

#[test]
fn the_header_is_c_plus_plus_too_and_old_c() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("only.c");
    std::fs::write(&file, "#include \"portico.h\"\nint main(void) { portico_engine_options_t o; portico_engine_options_init(&o); return (int)portico_text(\"\").len; }\n").unwrap();
    for arguments in [&["-std=c99"][..], &["-std=c11"], &["-x", "c++", "-std=c++11"]] {
        let mut cc = compiler();
        cc.args(arguments).args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]).arg(&file);
        succeeds(&mut cc);
    }
}
