//! Renders with functions that are WebAssembly modules and programs, through the public interface.

mod causes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use portico_runtime::package::{PackageFiles, PackageLimits};
use portico_runtime::{
    CallOptions, CancelToken, Cause, Engine, EngineConfig, FunctionError, FunctionModule, FunctionSource, LimitName,
    Limits, ModuleCode, Outcome, RenderError, RenderOptions, Renderer, Sources, StatusMode, StepState,
};

/// Copies stdin to stdout.
const ECHO: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 2)
    (func (export "_start")
        (loop $more
            (i32.store (i32.const 0) (i32.const 1024))
            (i32.store (i32.const 4) (i32.const 65536))
            (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
            (if (i32.load (i32.const 8)) (then
                (i32.store (i32.const 4) (i32.load (i32.const 8)))
                (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
                (br $more))))))"#;

/// Computes for ever.
const SPIN: &str = r#"(module (memory (export "memory") 1) (func (export "_start") (loop $l (br $l))))"#;

struct Probes;

impl FunctionSource for Probes {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        let text = match image {
            "probe.local/echo:v1" => ECHO,
            "probe.local/spin:v1" => SPIN,
            "probe.local/broken:v1" => "(module)",
            _ => return Ok(None),
        };
        let wasm = wat::parse_str(text).expect("the probe is valid");
        let name = image.rsplit('/').next().unwrap_or(image).to_owned();
        Ok(Some(FunctionModule { name, code: ModuleCode::Wasm(Arc::from(wasm)) }))
    }
}

const ODD: &str = "# licence\n\napiVersion:   v1\nkind: ConfigMap\nmetadata:\n    name: 'a'\n";

fn package(functions: &[&str]) -> PackageFiles {
    let mut kptfile =
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n".to_owned();
    for function in functions {
        kptfile.push_str(function);
    }
    let map = BTreeMap::from([("Kptfile", kptfile.into_bytes()), ("a.yaml", ODD.as_bytes().to_vec())]);
    PackageFiles::from_map("/w/app", map, &PackageLimits::default()).expect("a package")
}

fn options(limits: Limits, allow_exec: bool) -> RenderOptions {
    RenderOptions {
        call: CallOptions { limits, allow_exec, ..CallOptions::default() },
        status: StatusMode::None,
        ..RenderOptions::default()
    }
}

fn render(functions: &[&str], options: &RenderOptions, cancel: &CancelToken) -> Result<Outcome, RenderError> {
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let renderer = Renderer::new(engine, Sources::new(vec![Arc::new(Probes)]));
    renderer.render(&package(functions), options, cancel, &mut ())
}

const ECHO_STEP: &str = "  - image: probe.local/echo:v1\n";

#[test]
fn all_modules_of_a_render_run_in_one_store_and_change_nothing() {
    let outcome = render(&[ECHO_STEP; 5], &options(Limits::default(), false), &CancelToken::new()).expect("it begins");
    assert_eq!(outcome.failure, None);
    assert_eq!((outcome.executed(), outcome.stores), (5, 1));
    assert!(outcome.changes.is_empty());
    assert!(outcome.steps.iter().all(|step| step.fuel > 0));
}

#[test]
fn a_module_that_never_ends_is_stopped_and_named() {
    let limits = Limits { step_time: Duration::from_millis(200), fuel: u64::MAX, ..Limits::default() };
    let functions = [ECHO_STEP, "  - image: probe.local/spin:v1\n"];
    let outcome = render(&functions, &options(limits, false), &CancelToken::new()).expect("it begins");
    let failure = outcome.failure.expect("it fails");
    assert_eq!(
        failure.message,
        "time limit 200ms exceeded in step 2 (probe.local/spin:v1) of package \"app\" (limit `stepTime`)"
    );
    assert_eq!(outcome.steps[1].cause, Some(Cause::Limit(LimitName::StepTime)));
    assert_eq!(outcome.steps[0].state, StepState::Passed);
}

#[test]
fn a_module_that_is_no_program_fails_before_anything_runs() {
    let functions = [ECHO_STEP, "  - image: probe.local/broken:v1\n"];
    let outcome = render(&functions, &options(Limits::default(), false), &CancelToken::new()).expect("it begins");
    assert_eq!(outcome.steps[0].state, StepState::NotRun);
    let message = outcome.failure.expect("it fails").message;
    assert!(message.contains("probe.local/broken:v1") && message.contains("_start"), "{message}");
}

#[test]
fn a_cancelled_token_ends_the_render() {
    let cancel = CancelToken::new();
    cancel.cancel();
    let result = render(&[ECHO_STEP], &options(Limits::default(), false), &cancel);
    assert!(matches!(result, Err(RenderError::Cancelled)));
}

#[test]
fn programs_run_only_with_leave_and_modules_and_programs_mix() {
    let functions = [ECHO_STEP, "  - exec: \"sed -e 's/^kind: ConfigMap/kind: ConfigMap/'\"\n"];
    let outcome = render(&functions, &options(Limits::default(), false), &CancelToken::new()).expect("it begins");
    let failure = outcome.failure.expect("it fails");
    assert_eq!(
        failure.kpt_error.as_deref(),
        Some("Error: must run with `--allow-exec` option to allow running function binaries")
    );
    let outcome = render(&functions, &options(Limits::default(), true), &CancelToken::new()).expect("it begins");
    assert_eq!((outcome.failure, outcome.changes.len()), (None, 0));
}

#[test]
fn a_program_that_takes_too_long_is_killed() {
    let limits = Limits { step_time: Duration::from_millis(100), ..Limits::default() };
    let outcome = render(&["  - exec: sleep 60\n"], &options(limits, true), &CancelToken::new()).expect("it begins");
    let message = outcome.failure.expect("it fails").message;
    assert!(message.starts_with("time limit 100ms exceeded in step 1 (sleep 60)"), "{message}");
}

#[test]
fn the_builtin_function_writes_the_package_context() {
    let functions = ["  - image: builtins/gen-pkg-context\n"];
    let outcome = render(&functions, &options(Limits::default(), false), &CancelToken::new()).expect("it begins");
    assert_eq!(outcome.failure, None);
    let [portico_runtime::package::Change::Write { path, bytes }] = &outcome.changes[..] else {
        panic!("one file: {:?}", outcome.changes);
    };
    assert_eq!(path, "package-context.yaml");
    let text = String::from_utf8_lossy(bytes);
    assert!(text.contains("name: kptfile.kpt.dev") && text.contains("local-config: 'true'"), "{text}");
    assert!(text.ends_with("data:\n  name: app\n"), "{text}");
}
