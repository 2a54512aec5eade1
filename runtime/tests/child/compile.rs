//! Modules are compiled in a child, within its limits.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use libtest_mimic::Trial;
use portico_runtime::{
    CancelToken, CompileLimit, CompileLimits, Compiler, Engine, EngineConfig, FunctionModule, Limits, Module,
    ModuleError, Sandbox,
};

use crate::guests::{ECHO, bare, component, function, stdin, wasm};
use crate::programs::{Script, limit, this, wait_for_the_end_of};

pub(crate) fn trials() -> Vec<Trial> {
    crate::trials![
        a_module_is_compiled_in_the_child_and_does_the_same,
        what_the_child_compiled_is_kept_and_mapped,
        a_component_is_compiled_in_the_child_and_does_the_same,
        an_invalid_module_is_told_in_the_same_words,
        too_little_memory_is_said_so,
        costly_modules_meet_the_limits,
        a_program_that_never_answers_is_killed_with_its_children,
        an_answer_without_end_is_cut_off,
        a_program_that_is_no_compiler_is_told_for_what_it_is,
        the_child_gets_an_empty_environment_and_no_directory,
        the_child_lowers_its_own_limits_and_closes_what_it_inherited,
        the_child_ends_with_its_parent,
        a_cancel_is_seen_while_the_child_compiles_and_kills_it,
        fifty_who_ask_at_once_start_one_child,
        a_failure_is_tried_again,
    ]
}

fn engine(program: PathBuf, limits: CompileLimits) -> Engine {
    let compiler = Compiler::Child(program);
    Engine::new(EngineConfig { compiler, compile_limits: limits, ..EngineConfig::default() }).unwrap()
}

fn works(engine: &Engine, module: &Module) -> u64 {
    let output = Sandbox::new(engine, Limits::default(), CancelToken::new()).run(module, stdin("through")).unwrap();
    assert_eq!(output.stdout, b"through");
    output.fuel_used
}

/// As costly as the checks let pass: so many functions of 1,400 variables and 1,400 loops.
fn costly(functions: usize) -> FunctionModule {
    let one = format!("(func (local {}) {})", "i32 ".repeat(1400), "(loop)".repeat(1400));
    function(bare(&format!(r#"(module (func (export "_start")) {})"#, one.repeat(functions))))
}

fn met(engine: &Engine, function: &FunctionModule) -> CompileLimit {
    match engine.load(function) {
        Err(ModuleError::CompileLimit { limit, .. }) => limit,
        other => panic!("no limit was met: {other:?}"),
    }
}

fn a_module_is_compiled_in_the_child_and_does_the_same() {
    let child = engine(this(), CompileLimits::default());
    let module = child.load(&function(wasm(ECHO))).unwrap();
    let here = crate::guests::engine();
    let same = here.load(&function(wasm(ECHO))).unwrap();
    assert_eq!(works(&child, &module), works(&here, &same));
    assert_eq!(child.compilations(), 1);
}

fn a_component_is_compiled_in_the_child_and_does_the_same() {
    let child = engine(this(), CompileLimits::default());
    let there = child.load(&function(component(&wasm(ECHO)))).unwrap();
    assert!(there.is_component());
    let here = crate::guests::engine();
    let same = here.load(&function(component(&wasm(ECHO)))).unwrap();
    assert_eq!(works(&child, &there), works(&here, &same));
    assert_eq!(child.compilations(), 1);
}

fn what_the_child_compiled_is_kept_and_mapped() {
    let dir = tempfile::tempdir().unwrap();
    for compilations in [1, 0] {
        let config = EngineConfig {
            compiler: Compiler::Child(this()),
            cache_dir: Some(dir.path().join("cache")),
            ..EngineConfig::default()
        };
        let engine = Engine::new(config).unwrap();
        works(&engine, &engine.load(&function(wasm(ECHO))).unwrap());
        assert_eq!(engine.compilations(), compilations);
    }
    // An engine that compiles itself, or must not, takes it too.
    let config = EngineConfig {
        compiler: Compiler::Forbidden,
        cache_dir: Some(dir.path().join("cache")),
        ..EngineConfig::default()
    };
    Engine::new(config).unwrap().load(&function(wasm(ECHO))).unwrap();
}

fn an_invalid_module_is_told_in_the_same_words() {
    let broken = || function(wat::parse_str(r#"(module (func (export "_start") i32.const 1))"#).unwrap());
    let here = crate::guests::engine().load(&broken()).unwrap_err();
    let there = engine(this(), CompileLimits::default()).load(&broken()).unwrap_err();
    assert!(matches!(there, ModuleError::Invalid(_)), "{there:?}");
    assert_eq!(here.to_string(), there.to_string());
}

fn too_little_memory_is_said_so() {
    let limits = CompileLimits { memory: 1 << 20, ..CompileLimits::default() };
    let error = engine(this(), limits).load(&function(wasm(ECHO))).unwrap_err();
    assert!(error.to_string().starts_with("compiling the module needed more than 1 MiB of memory"), "{error}");
}

fn costly_modules_meet_the_limits() {
    let default = CompileLimits::default();
    let memory = CompileLimits { memory: 96 << 20, ..default };
    // Enough for an honest module.
    engine(this(), memory).load(&function(wasm(ECHO))).unwrap();
    assert_eq!(met(&engine(this(), memory), &costly(4)), CompileLimit::Memory);

    // The other limits off: neither disables the one that is left.
    let cpu = CompileLimits { cpu: Duration::from_millis(900), time: Duration::MAX, memory: u64::MAX, ..default };
    assert_eq!(met(&engine(this(), cpu), &costly(20)), CompileLimit::Cpu);

    let time =
        CompileLimits { time: Duration::from_millis(100), cpu: Duration::MAX, memory: u64::MAX, code_bytes: u64::MAX };
    assert_eq!(met(&engine(this(), time), &costly(20)), CompileLimit::Time);

    let code = CompileLimits { code_bytes: 1000, ..default };
    let engine = engine(this(), code);
    assert_eq!(met(&engine, &function(wasm(ECHO))), CompileLimit::CodeBytes);
    let error = engine.load(&function(wasm(ECHO))).unwrap_err();
    assert!(error.to_string().contains("1000 bytes for its code"), "{error}");
}

fn a_program_that_never_answers_is_killed_with_its_children() {
    // The shell's own child holds the pipes open too.
    let script = Script::new("sleep 3600 & echo $! > $DIR/child; echo $$ > $DIR/pid; wait");
    let limits = CompileLimits { time: Duration::from_millis(300), ..CompileLimits::default() };
    assert_eq!(met(&engine(script.program(), limits), &function(wasm(ECHO))), CompileLimit::Time);
    wait_for_the_end_of(&script.read("pid"));
    wait_for_the_end_of(&script.read("child"));
}

fn an_answer_without_end_is_cut_off() {
    let script = Script::new("echo $$ > $DIR/pid; exec yes");
    let limits = CompileLimits { code_bytes: 1 << 20, ..CompileLimits::default() };
    assert_eq!(met(&engine(script.program(), limits), &function(wasm(ECHO))), CompileLimit::CodeBytes);
    wait_for_the_end_of(&script.read("pid"));
}

fn a_program_that_is_no_compiler_is_told_for_what_it_is() {
    for (body, words) in [
        ("exit 0", "its answer cannot be read; is it `portico`?"),
        ("exit 3", "it gave no answer; is it `portico`?"),
        ("echo hello", "its answer cannot be read; is it `portico`?"),
        ("printf 'oh\\033[2J no' >&2; exit 1", "did not compile the module: oh [2J no"),
        ("kill -SEGV $$", "it ended with signal 11"),
        ("kill -KILL $$", "it was killed; the machine may have run out of memory"),
        ("printf 'prtcomp\\002'", "compiles for another version of this program"),
        ("cat > /dev/null < /dev/zero & exec head -c 40 /dev/zero", "its answer cannot be read"),
    ] {
        let script = Script::new(body);
        let error = engine(script.program(), CompileLimits::default()).load(&function(wasm(ECHO))).unwrap_err();
        assert!(error.to_string().contains(words), "{body}: {error}");
        assert!(error.to_string().contains(&script.program().display().to_string()), "{error}");
    }
    let error = engine("/no/such/program".into(), CompileLimits::default()).load(&function(wasm(ECHO))).unwrap_err();
    assert_eq!(error.to_string(), "can't start `/no/such/program` to compile the module");
    // What is wrong with a module is said all the same.
    let error = engine("/no/such/program".into(), CompileLimits::default()).load(&function(b"x".into())).unwrap_err();
    assert!(matches!(error, ModuleError::NotWasm { .. }), "{error:?}");
}

fn the_child_gets_an_empty_environment_and_no_directory() {
    let script = Script::new("/usr/bin/env > $DIR/env; pwd > $DIR/pwd; exit 1");
    drop(engine(script.program(), CompileLimits::default()).load(&function(wasm(ECHO))));
    assert_eq!(script.read("pwd"), "/\n");
    // What the shell itself adds.
    let set = script.read("env");
    let ours = set.lines().filter(|line| !["PWD=", "SHLVL=", "_=", "OLDPWD="].iter().any(|own| line.starts_with(own)));
    let ours: Vec<_> = ours.collect();
    assert!(matches!(ours[..], [threads] if threads.starts_with("RAYON_NUM_THREADS=")), "{ours:?}");
}

/// Starts the compiler as an engine would, with 2 GiB of memory and 77 seconds.
fn child(setup: impl FnOnce(&mut Command)) -> std::process::Child {
    let mut command = Command::new(this());
    command.args(["compile-module", "2147483648", "77", "1000000"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    setup(&mut command);
    command.spawn().unwrap()
}

fn the_child_lowers_its_own_limits_and_closes_what_it_inherited() {
    // The shell hands on a descriptor of its own.
    let mut command = Command::new("/bin/sh");
    let script = format!("exec 7</dev/null; exec '{}' compile-module 2147483648 77 1000000", this().display());
    let mut child = command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    // There is no event for it: the last limit that it sets stands.
    while limit(pid, "Max cpu time") != ["77", "78"] {
        std::thread::yield_now();
    }
    for (name, soft) in [
        ("Max core file size", "0"),
        ("Max file size", "0"),
        ("Max open files", "64"),
        ("Max data size", "2147483648"),
        ("Max address space", "4294967296"),
    ] {
        assert_eq!(limit(pid, name), [soft, soft], "{name}");
    }
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    assert_eq!(open, 3);
    drop(child.stdin.take());
    assert!(!child.wait().unwrap().success());
}

fn the_child_ends_with_its_parent() {
    let costly = costly(200);
    let portico_runtime::ModuleCode::Wasm(wasm) = &costly.code else { unreachable!() };
    let mut child = child(|_| {});
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&(wasm.len() as u64).to_le_bytes()).unwrap();
    pipe.write_all(wasm).unwrap();
    // As when the parent is killed.
    drop(pipe);
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(9), "{status:?}");
    let mut answer = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut answer).unwrap();
    assert!(answer.is_empty());
}

fn a_cancel_is_seen_while_the_child_compiles_and_kills_it() {
    let script = Script::new("echo $$ > $DIR/started; exec sleep 3600").with_pipe("started");
    let limits = CompileLimits { time: Duration::MAX, ..CompileLimits::default() };
    let engine = engine(script.program(), limits);
    let token = CancelToken::new();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| engine.load_unless_cancelled(&function(wasm(ECHO)), u64::MAX, &token));
        let pid = script.read("started");
        token.cancel();
        assert!(matches!(waiting.join().unwrap(), Err(ModuleError::Cancelled)));
        wait_for_the_end_of(&pid);
    });
    // Whoever is cancelled already does not even wait.
    std::thread::scope(|scope| {
        let late = scope.spawn(|| engine.load_unless_cancelled(&function(wasm(ECHO)), u64::MAX, &token));
        assert!(matches!(late.join().unwrap(), Err(ModuleError::Cancelled)));
    });
}

fn fifty_who_ask_at_once_start_one_child() {
    let script = Script::new("echo started >> $DIR/starts; exec $REAL \"$@\"");
    let engine = engine(script.program(), CompileLimits::default());
    let barrier = Arc::new(Barrier::new(50));
    std::thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                barrier.wait();
                engine.load(&function(wasm(ECHO))).unwrap();
            });
        }
    });
    assert_eq!(script.read("starts"), "started\n");
    assert_eq!(engine.compilations(), 1);
}

fn a_failure_is_tried_again() {
    let script = Script::new("if [ -e $DIR/once ]; then exec $REAL \"$@\"; fi; touch $DIR/once; exit 1");
    let engine = engine(script.program(), CompileLimits::default());
    engine.load(&function(wasm(ECHO))).unwrap_err();
    works(&engine, &engine.load(&function(wasm(ECHO))).unwrap());
    assert_eq!(engine.compilations(), 2);
}
