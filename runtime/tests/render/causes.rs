//! Every end of a step is a kind of its own, with words of its own.

use std::sync::Arc;
use std::time::Duration;

use portico_runtime::{
    Cause, Engine, EngineConfig, FunctionError, FunctionModule, FunctionSource, LimitName, Limits, ModuleCode,
    Renderer, Sources, StepReport, StepState, TrapKind,
};

use crate::{ECHO, SPIN, options, package};

const HEAD: &str = r#"
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (table $t 1 10000000 funcref)
    (data (i32.const 64) "no list: [")
    (func $write (param $length i32)
      (i32.store (i32.const 0) (i32.const 64))
      (i32.store (i32.const 4) (local.get $length))
      (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
    (func $nothing (param i32))
"#;

/// The bodies of guests that end in their own ways.
const BODIES: [(&str, &str); 13] = [
    ("gives-up", "unreachable"),
    ("divides", "(drop (i32.div_s (i32.const 1) (i32.const 0)))"),
    ("overflows", "(drop (i32.div_s (i32.const 0x80000000) (i32.const -1)))"),
    ("converts", "(drop (i32.trunc_f32_s (f32.const nan)))"),
    ("out-of-memory-bounds", "(drop (i32.load (i32.const -1)))"),
    ("out-of-table-bounds", "(drop (table.get $t (i32.const 5)))"),
    ("calls-nothing", "(call_indirect $t (i32.const 0))"),
    ("recurses", "(call $start)"),
    ("grows", "(loop $m (br_if $m (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) unreachable"),
    (
        "grows-and-exits",
        "(loop $m (br_if $m (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) (call $exit (i32.const 2))",
    ),
    (
        "grows-its-table",
        "(loop $m (br_if $m (i32.ne (table.grow $t (ref.null func) (i32.const 9000)) (i32.const -1)))) unreachable",
    ),
    ("floods", "(loop $m (call $write (i32.const 4000)) (br $m))"),
    ("writes-no-list", "(call $write (i32.const 10))"),
];

struct Guests;

impl FunctionSource for Guests {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        let name = image.trim_start_matches("probe.local/").trim_end_matches(":v1");
        let text = match name {
            "spins" => SPIN.to_owned(),
            "echoes" => ECHO.to_owned(),
            "exits" => format!(r#"(module {HEAD} (func (export "_start") (call $exit (i32.const 126))))"#),
            // Not made from text.
            "is-no-module" | "is-damaged" => String::new(),
            "wants-threads" => r#"(module (import "env" "spawn" (func)) (func (export "_start")))"#.to_owned(),
            "is-a-library" => "(module)".to_owned(),
            "has-many-exports" => {
                let exports: Vec<String> = (0..10_001).map(|n| format!("(export \"{n}\" (func 0))")).collect();
                format!(r#"(module (func (export "_start")) {})"#, exports.join(" "))
            }
            "is-large" => {
                format!(
                    r#"(module (memory 4) (data (i32.const 0) "{}") (func (export "_start")))"#,
                    "x".repeat(200_000)
                )
            }
            name => match BODIES.iter().find(|(known, _)| *known == name) {
                Some((_, body)) => format!(r#"(module {HEAD} (func $start (export "_start") {body}))"#),
                None => return Ok(None),
            },
        };
        let wasm = match name {
            "is-no-module" => b"\x7fELF\x02".to_vec(),
            "is-damaged" => b"\0asm\x01\0\0\0\x01\xff".to_vec(),
            _ => wat::parse_str(&text).unwrap_or_else(|error| panic!("{name}: {error}")),
        };
        Ok(Some(FunctionModule { name: name.into(), code: ModuleCode::Wasm(Arc::from(wasm)) }))
    }
}

/// The report of the only step, and the message of the failure.
fn end(renderer: &Renderer, function: &str, limits: Limits) -> (StepReport, String) {
    let line = match function.strip_prefix("exec ") {
        Some(command) => format!("  - exec: {command}\n"),
        None => format!("  - image: probe.local/{function}:v1\n"),
    };
    let options = options(limits, function != "exec cat");
    let cancel = portico_runtime::CancelToken::new();
    let outcome = renderer.render(&package(&[&line]), &options, &cancel, &mut ()).expect("it begins");
    let failure = outcome.failure.unwrap_or_else(|| panic!("{function} fails"));
    (outcome.steps.into_iter().next().expect("one step"), failure.message)
}

#[test]
fn every_end_has_a_kind_and_words_of_its_own() {
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let renderer = Renderer::new(engine, Sources::new(vec![Arc::new(Guests)]));
    let limit = Cause::Limit;
    let trap = Cause::Trap;
    let cases = [
        ("gives-up", trap(TrapKind::Unreachable), "trap", "crashed: it gave up by itself"),
        ("divides", trap(TrapKind::DivisionByZero), "trap", "divided an integer by zero"),
        ("overflows", trap(TrapKind::IntegerOverflow), "trap", "an integer operation overflowed"),
        ("converts", trap(TrapKind::BadConversion), "trap", "converted an invalid float"),
        ("out-of-memory-bounds", trap(TrapKind::MemoryOutOfBounds), "trap", "accessed memory out of bounds"),
        ("out-of-table-bounds", trap(TrapKind::TableOutOfBounds), "trap", "accessed a table out of bounds"),
        ("calls-nothing", trap(TrapKind::BadIndirectCall), "trap", "called an invalid function pointer"),
        ("recurses", trap(TrapKind::StackOverflow), "trap", "overflowed its call stack"),
        ("grows", limit(LimitName::Memory), "memory", "memory limit 2 MiB exceeded"),
        ("grows-and-exits", limit(LimitName::Memory), "memory", "failed with exit code 2"),
        ("grows-its-table", limit(LimitName::TableElements), "table", "table space: the limit is 50000 elements"),
        ("floods", limit(LimitName::Stdout), "outputTooLarge", "wrote more than 1 MiB to stdout"),
        ("writes-no-list", Cause::BadOutput, "badOutput", "wrote something that is no ResourceList"),
        ("exits", Cause::Exit, "exit", "failed with exit code 126"),
        ("is-no-module", Cause::NotAModule, "notAModule", "not a WebAssembly module: it is native code"),
        ("is-damaged", Cause::NotAModule, "notAModule", "the WebAssembly module is not valid"),
        ("wants-threads", Cause::MissingImport, "missingImport", "imports `env`.`spawn`"),
        ("is-a-library", Cause::NotRunnable, "notRunnable", "no `_start` function to run"),
        ("has-many-exports", Cause::NotCompiled, "notCompiled", "more than the limit of 10000"),
        ("is-large", limit(LimitName::ModuleBytes), "limit", "larger than the limit `moduleBytes` of 192 KiB"),
        ("is-nowhere", Cause::NotFound, "notFound", "no function is known by the name"),
        ("exec cat", Cause::NotAllowed, "notAllowed", "--allow-exec"),
        ("exec ./is/not/there", Cause::NotStarted, "notStarted", "cannot start `./is/not/there`"),
        ("exec yes", limit(LimitName::Stdout), "outputTooLarge", "more than 1048576 bytes to standard output"),
        ("exec 'false'", Cause::Exit, "exit", "failed with exit code 1"),
    ];
    for (function, cause, word, words) in cases {
        let limits = Limits {
            memory: 2 << 20,
            table_elements: 50_000,
            stdout: 1 << 20,
            module_bytes: 192 << 10,
            ..Limits::default()
        };
        let (step, message) = end(&renderer, function, limits);
        assert_eq!(step.cause, Some(cause), "{function}: {message}");
        assert_eq!(cause.as_str(), word, "{function}");
        assert_eq!(step.state, StepState::Failed, "{function}");
        assert!(message.contains(words), "{function}: {message}");
        assert!(message.contains("step 1") && message.contains("package \"app\""), "{function}: {message}");
        for never in ["unreachable", "internal error", "wasm trap", "unknown"] {
            assert!(!message.contains(never), "{function}: {message}");
        }
        let named =
            step.exceeded().is_none_or(|name| function == "grows-and-exits" || message.contains(&format!("`{name}`")));
        assert!(named, "{function}: {message}");
    }
}

#[test]
fn each_budget_and_each_deadline_is_told_apart() {
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let renderer = Renderer::new(engine, Sources::new(vec![Arc::new(Guests)]));
    let short = Duration::from_millis(20);
    let unlimited = Limits::unlimited;
    for (limits, name, words) in [
        (Limits { fuel: 1000, ..unlimited() }, LimitName::Fuel, "used up the fuel budget of 1000 instructions"),
        (Limits { step_fuel: 1000, ..unlimited() }, LimitName::StepFuel, "used up its fuel of 1000 instructions"),
        (Limits { step_time: short, ..unlimited() }, LimitName::StepTime, "time limit 20ms exceeded"),
        (Limits { render_time: short, ..unlimited() }, LimitName::RenderTime, "time limit 20ms exceeded"),
    ] {
        let (step, message) = end(&renderer, "spins", limits);
        assert_eq!(step.cause, Some(Cause::Limit(name)));
        assert!(message.contains(words) && message.ends_with(&format!("(limit `{name}`)")), "{message}");
    }
}

#[test]
fn a_step_that_passed_has_no_cause() {
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let renderer = Renderer::new(engine, Sources::new(vec![Arc::new(Guests)]));
    let functions = [
        "  - image: probe.local/echoes:v1\n",
        "  - image: probe.local/exits:v1\n",
        "  - image: probe.local/echoes:v1\n",
    ];
    let cancel = portico_runtime::CancelToken::new();
    let outcome = renderer.render(&package(&functions), &options(Limits::default(), false), &cancel, &mut ());
    let causes: Vec<Option<Cause>> = outcome.expect("it begins").steps.iter().map(|step| step.cause).collect();
    assert_eq!(causes, [None, Some(Cause::Exit), None]);
}
