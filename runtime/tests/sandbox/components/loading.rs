//! What becomes of a component before it runs: refused, told to wait for room, found in the cache.

use super::*;

fn refusal(text: &str) -> String {
    let engine = engine();
    let error = engine.load(&function(bare(text))).expect_err("refused").to_string();
    assert_works(&engine);
    error
}

#[test]
fn unknown_imports_are_named_before_anything_runs() {
    for (name, advice) in [
        ("wasi:http/outgoing-handler@0.2.0", "functions have no network"),
        ("wasi:cli/environment@0.3.0", "WASI 0.3"),
        ("wasi:cli/environment@0.2.0-rc-2023-11-10", "draft of WASI 0.2"),
        ("wasi:keyvalue/store@0.2.0", "stdin, stdout, stderr"),
        ("my:own/thing", "stdin, stdout, stderr"),
    ] {
        let error = refusal(&format!(r#"(component (import "{name}" (instance)))"#));
        assert!(error.contains(&format!("imports `{name}`")), "{error}");
        assert!(error.contains(advice), "{error}");
    }
    let function = refusal(r#"(component (import "do-it" (func)))"#);
    assert!(function.contains("imports `do-it`"), "{function}");
    let unknown_function = refusal(&program(
        r#"(import "wasi:cli/exit@0.2.0" (instance $exit (export "explode" (func))))"#,
        r#"(core func $call (canon lower (func $exit "explode")))"#,
        "",
        "(call $call)",
    ));
    assert!(unknown_function.contains("explode"), "{unknown_function}");
}

#[test]
fn a_component_that_is_no_program_is_refused_with_advice() {
    for text in [
        "(component)",
        r#"(component
            (core module $m (func (export "f")))
            (core instance $i (instantiate $m))
            (func (export "run") (canon lift (core func $i "f"))))"#,
        r#"(component (instance $i) (export "wasi:http/incoming-handler@0.2.0" (instance $i)))"#,
    ] {
        let error = refusal(text);
        assert!(error.contains("does not export `wasi:cli/run`") && error.contains("wasm32-wasip2"), "{error}");
    }
    // Something of that name that is not it.
    let other = refusal(r#"(component (instance $i) (export "wasi:cli/run@0.2.0" (instance $i)))"#);
    assert!(other.contains("does not fit WASI"), "{other}");
}

#[test]
fn more_of_anything_than_reasonable_is_refused_before_compiling() {
    let repeat = |item: &str, times: usize| item.repeat(times);
    for (text, words) in [
        (format!("(component {})", repeat("(core module)", 65)), "65 modules"),
        (format!("(component {})", repeat("(component)", 65)), "66 components"),
        (
            format!("(component (core module $m) {})", repeat("(core instance (instantiate $m))", 65)),
            "65 instances of modules",
        ),
        (format!("(component (component $c) {})", repeat("(instance (instantiate $c))", 1001)), "1001 instances"),
        (
            format!("(component {})", repeat("(type (func))", 10_001)),
            "10001 types, imports, exports, aliases and conversions",
        ),
        (format!("(component (core module {}))", repeat("(func)", 100_001)), "100001 functions"),
        ("(component (core module (memory i64 1)))".to_owned(), "64-bit memory"),
        ("(component (core module (table 1 funcref) (table 1 funcref)))".to_owned(), "2 tables"),
    ] {
        let error = refusal(&text);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_truncated_or_damaged_component_is_refused_wherever_it_breaks() {
    let engine = engine();
    let whole = component(&wasm(r#"(func (export "_start"))"#));
    let accepted =
        (0..whole.len()).step_by(31).filter(|length| engine.load(&function(whole[..*length].to_vec())).is_ok());
    // What stands behind the last export is for tools alone.
    let shortest = accepted.min();
    assert!(shortest.is_none_or(|length| length > whole.len() / 2), "{shortest:?}");
    for position in (8..whole.len()).step_by(97) {
        let mut damaged = whole.clone();
        damaged[position] ^= 0xff;
        // Some damage goes unnoticed; none may panic.
        drop(engine.load(&function(damaged)));
    }
    assert_works(&engine);
}

#[test]
fn a_component_can_not_be_embedded() {
    let error = precompile(&component(&wasm(ECHO))).unwrap_err();
    assert!(matches!(error, ModuleError::EmbeddedComponent), "{error:?}");
}

#[test]
fn a_component_that_needs_more_instances_than_the_pool_has_is_refused() {
    let engine = pooled(2);
    let error = engine.load(&function(component(&wasm(ECHO)))).unwrap_err().to_string();
    assert!(error.contains("instances of modules, more than the limit of 2"), "{error}");
}

#[test]
fn more_components_than_slots_wait_for_each_other() {
    let engine = pooled(6);
    let (core, module) = (load(&engine, ECHO), engine.load(&function(component(&wasm(ECHO)))).unwrap());
    std::thread::scope(|scope| {
        let engine = &engine;
        for worker in 0..6 {
            let modules = if worker % 2 == 0 { [&core, &module] } else { [&module, &core] };
            scope.spawn(move || {
                let mut sandbox = Sandbox::new(engine, Limits::default(), CancelToken::new());
                for round in 0..30 {
                    assert_eq!(sandbox.run(modules[round % 2], stdin("mine")).unwrap().stdout, b"mine");
                }
            });
        }
    });
}

#[test]
fn the_next_process_finds_what_this_one_compiled() {
    let temporary = tempfile::tempdir().unwrap();
    let new = || {
        let config = EngineConfig { cache_dir: Some(temporary.path().join("cache")), ..EngineConfig::default() };
        Engine::new(config).unwrap()
    };
    let code = component(&wasm(ECHO));
    for compilations in [1, 0] {
        let engine = new();
        let output = run_one(&engine, code.clone(), Limits::default()).unwrap();
        assert_eq!(output.stdout, b"some input");
        assert_eq!(engine.compilations(), compilations);
    }
    let files: Vec<_> = std::fs::read_dir(temporary.path().join("cache")).unwrap().map(|file| file.unwrap()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let name = file.file_name().into_string().unwrap();
    assert!(name.contains("-component-") && name.strip_suffix(".cwasm").is_some(), "{name}");

    // A module's file under the component's name is as good as none.
    let module = new();
    module.load(&function(wasm(ECHO))).unwrap();
    let other = std::fs::read_dir(temporary.path().join("cache")).unwrap().map(|file| file.unwrap().path());
    let module = other.into_iter().find(|path| *path != file.path()).unwrap();
    std::fs::copy(&module, file.path()).unwrap();
    let engine = new();
    assert_eq!(run_one(&engine, code, Limits::default()).unwrap().stdout, b"some input");
    assert_eq!(engine.compilations(), 1);
}
