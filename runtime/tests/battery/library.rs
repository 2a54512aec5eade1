//! A row, through the library: in a sandbox of its own, and as a function of a package.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use portico_runtime::package::{Change, PackageFiles, PackageLimits, check_path};
use portico_runtime::{
    Allocation, CallOptions, CancelToken, Cause, Deadline, Engine, EngineConfig, FailureKind, FunctionError,
    FunctionModule, FunctionSource, Invocation, LimitName, Limits, ModuleCode, Outcome, RenderOptions, Renderer,
    RunFailure, Sandbox, Sources, StepState,
};

use crate::neighbour::Neighbour;
use crate::table::{Bounds, End, Row};

/// Runs before memory is looked at for the first time.
const WARM_UP: u32 = 10;

/// How much more memory the process may hold after all repeats, in bytes.
const GROWTH: u64 = 4 << 20;

/// The longest message about one failure, in bytes.
const MESSAGE: usize = 16 << 10;

/// The largest Kptfile that a failed render leaves behind: what is kept of stderr, and results.
const KPTFILE: usize = 1 << 20;

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

/// The functions of a render: one that is harmless, and the one of the row.
struct Functions {
    echo: Arc<[u8]>,
    hostile: Option<Arc<[u8]>>,
}

impl FunctionSource for Functions {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        let wasm = match image {
            "probe.local/echo:v1" => Some(&self.echo),
            "probe.local/hostile:v1" => self.hostile.as_ref(),
            _ => None,
        };
        Ok(wasm.map(|wasm| FunctionModule { name: "guest".into(), code: ModuleCode::Wasm(Arc::clone(wasm)) }))
    }
}

/// An engine, and what is rendered on it besides the rows.
pub(crate) struct Library {
    engine: Engine,
    echo: Arc<[u8]>,
    peaceful: Peaceful,
    neighbour: Neighbour,
}

/// A package that every engine renders without a change, always with the same fuel.
#[derive(Clone)]
struct Peaceful {
    renderer: Renderer,
    files: Arc<PackageFiles>,
    fuel: Vec<u64>,
}

impl Peaceful {
    fn new(renderer: Renderer) -> Peaceful {
        let files = Arc::new(package(&["echo", "echo"]));
        let mut peaceful = Peaceful { renderer, files, fuel: Vec::new() };
        peaceful.fuel = fuel(&peaceful.outcome().expect("a peaceful package"));
        peaceful
    }

    fn outcome(&self) -> Result<Outcome, String> {
        let rendered = self.renderer.render(&self.files, &RenderOptions::default(), &CancelToken::new(), &mut ());
        rendered.map_err(|error| error.to_string())
    }

    fn render(&self) -> Result<(), String> {
        let outcome = self.outcome()?;
        // The first render records the status in the Kptfile.
        let changed: Vec<&str> = outcome.changes.iter().map(Change::path).filter(|path| *path != "Kptfile").collect();
        if let Some(failure) = &outcome.failure {
            return Err(format!("a peaceful package fails: {}", failure.message));
        }
        expect("the files of a peaceful package", &changed, &Vec::<&str>::new())?;
        expect("the fuel of a peaceful package", &fuel(&outcome), &self.fuel)
    }
}

fn fuel(outcome: &Outcome) -> Vec<u64> {
    outcome.steps.iter().map(|step| step.fuel).collect()
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, expected {expected:?}")) }
}

fn package(functions: &[&str]) -> PackageFiles {
    let mut kptfile =
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n".to_owned();
    for function in functions {
        _ = writeln!(kptfile, "  - image: probe.local/{function}:v1");
    }
    let resource = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata: {key: value}\n";
    let map = BTreeMap::from([("Kptfile", kptfile.into_bytes()), ("a.yaml", resource.as_bytes().to_vec())]);
    PackageFiles::from_map("/w/app", map, &PackageLimits::default()).expect("a package")
}

fn limits(bounds: &Bounds) -> Limits {
    let default = Limits::default();
    Limits {
        fuel: bounds.fuel.unwrap_or(default.fuel),
        fuel_per_step: if bounds.fuel.is_some() { 0 } else { default.fuel_per_step },
        fuel_per_input_byte: if bounds.fuel.is_some() { 0 } else { default.fuel_per_input_byte },
        step_time: bounds.step_time.unwrap_or(default.step_time),
        render_time: bounds.render_time.unwrap_or(default.render_time),
        memory: bounds.memory.unwrap_or(default.memory),
        stdout: bounds.stdout.unwrap_or(default.stdout),
        ..default
    }
}

impl Library {
    pub(crate) fn new(allocation: Allocation, cache: &Path) -> Library {
        let config = EngineConfig { allocation, cache_dir: Some(cache.into()), ..EngineConfig::default() };
        let engine = Engine::new(config).expect("an engine");
        let echo: Arc<[u8]> = wat::parse_str(ECHO).expect("the echo is valid").into();
        let functions = Functions { echo: Arc::clone(&echo), hostile: None };
        let peaceful = Peaceful::new(Renderer::new(engine.clone(), Sources::new(vec![Arc::new(functions)])));
        let beside = peaceful.clone();
        let neighbour = Neighbour::new(move || beside.render());
        Library { engine, echo, peaceful, neighbour }
    }

    /// All that is to be said of a row.
    pub(crate) fn check(&self, row: &Row, repeats: u32) -> Result<(), String> {
        let wasm: Arc<[u8]> = row.wasm().into();
        let functions = Functions { echo: Arc::clone(&self.echo), hostile: Some(Arc::clone(&wasm)) };
        let renderer = Renderer::new(self.engine.clone(), Sources::new(vec![Arc::new(functions)]));
        let files = package(&["hostile", "echo"]);
        let call = CallOptions { limits: limits(&row.bounds), ..CallOptions::default() };
        let options = RenderOptions { call, ..RenderOptions::default() };

        self.neighbour.during(|| {
            if repeats > 1 {
                self.alone(row, &wasm)?;
            }
            let once = || {
                let outcome = renderer.render(&files, &options, &CancelToken::new(), &mut ());
                judge(row, &outcome.map_err(|error| error.to_string())?)?;
                self.peaceful.render().map_err(|fault| format!("afterwards: {fault}"))
            };
            if repeats == 1 {
                return once();
            }
            for _ in 0..WARM_UP {
                once()?;
            }
            let before = resident()?;
            for _ in 0..repeats {
                once()?;
            }
            let after = resident()?;
            if after > before + GROWTH {
                return Err(format!("{repeats} repeats took memory for good: {before} bytes before, {after} after"));
            }
            Ok(())
        })
    }

    /// One run in a sandbox of its own: the kind of its end.
    fn alone(&self, row: &Row, wasm: &Arc<[u8]>) -> Result<(), String> {
        let function = FunctionModule { name: "guest".into(), code: ModuleCode::Wasm(Arc::clone(wasm)) };
        let module = match self.engine.load(&function) {
            Ok(module) => module,
            Err(error) if row.end == End::Refused => return says(row, &error.to_string()),
            Err(error) => return Err(format!("the module is refused: {error}")),
        };
        let stdin = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n".to_vec();
        let call = Invocation { name: "guest".into(), stdin, ..Invocation::default() };
        let ended = match Sandbox::new(&self.engine, limits(&row.bounds), CancelToken::new()).run(&module, call) {
            Ok(output) => format!("exit code {}", output.exit_code),
            Err(error) => match error.failure {
                RunFailure::Trap { kind, .. } => format!("trap {kind:?}"),
                RunFailure::OutOfFuel { .. } => "out of fuel".to_owned(),
                RunFailure::Deadline { which: Deadline::Step, .. } => "past the deadline of the step".to_owned(),
                RunFailure::Deadline { which: Deadline::Render, .. } => "past the deadline of the render".to_owned(),
                RunFailure::Memory { .. } => "out of memory".to_owned(),
                RunFailure::Table { .. } => "out of table elements".to_owned(),
                RunFailure::StdoutTooLarge { .. } => "too much on stdout".to_owned(),
                other => format!("{other:?}"),
            },
        };
        let expected = match row.end {
            End::Refused => "a module that is not taken".to_owned(),
            End::Fuel => "out of fuel".to_owned(),
            End::StepTime => "past the deadline of the step".to_owned(),
            End::RenderTime => "past the deadline of the render".to_owned(),
            End::Memory => "out of memory".to_owned(),
            End::Table => "out of table elements".to_owned(),
            End::Stdout => "too much on stdout".to_owned(),
            End::Trap(kind) => format!("trap {kind}"),
            End::Exit(code) => format!("exit code {code}"),
            End::BadOutput | End::BadFiles | End::Passes => "exit code 0".to_owned(),
            End::Somehow => return Ok(()),
        };
        expect("the end of the function alone", &ended, &expected)
    }
}

/// Whether the render ended as the row has it.
fn judge(row: &Row, outcome: &Outcome) -> Result<(), String> {
    if row.end == End::Somehow {
        return harmless(outcome);
    }
    let kind = outcome.failure.as_ref().map(|failure| failure.kind);
    let expected = match row.end {
        End::Passes => None,
        End::Refused => Some(FailureKind::Unresolved),
        End::BadFiles => Some(FailureKind::Output),
        _ => Some(FailureKind::Function),
    };
    if kind != expected {
        let message = outcome.failure.as_ref().map_or("", |failure| shorten(&failure.message));
        return Err(format!("the render ended with {kind:?}, expected {expected:?}: {message}"));
    }
    if let Some(failure) = &outcome.failure {
        says(row, &failure.message)?;
    }
    let states: Vec<StepState> = outcome.steps.iter().map(|step| step.state).collect();
    let expected = match row.end {
        End::Passes | End::BadFiles => [StepState::Passed, StepState::Passed],
        _ => [StepState::Failed, StepState::NotRun],
    };
    expect("the steps", &states, &expected.to_vec())?;
    let step = &outcome.steps[0];
    let code = match row.end {
        End::Passes | End::BadFiles => 0,
        End::Exit(code) => code,
        _ => 1,
    };
    expect("the exit code of the step", &step.exit_code, &code)?;
    let cause = step.cause;
    let fits = match row.end {
        End::Passes | End::BadFiles => cause.is_none(),
        End::Refused => matches!(
            cause,
            Some(
                Cause::NotAModule
                    | Cause::NotRunnable
                    | Cause::MissingImport
                    | Cause::NotCompiled
                    | Cause::Limit(LimitName::ModuleBytes)
            )
        ),
        End::Fuel => cause == Some(Cause::Limit(LimitName::Fuel)),
        End::StepTime => cause == Some(Cause::Limit(LimitName::StepTime)),
        End::RenderTime => cause == Some(Cause::Limit(LimitName::RenderTime)),
        End::Memory => cause == Some(Cause::Limit(LimitName::Memory)),
        End::Table => cause == Some(Cause::Limit(LimitName::TableElements)),
        End::Stdout => cause == Some(Cause::Limit(LimitName::Stdout)),
        End::Trap(kind) => matches!(cause, Some(Cause::Trap(found)) if format!("{found:?}") == kind),
        // With a code of its own it may give up on a limit.
        End::Exit(_) => matches!(cause, Some(Cause::Exit | Cause::Limit(LimitName::Memory | LimitName::TableElements))),
        End::BadOutput => matches!(cause, Some(Cause::BadOutput | Cause::Limit(_))),
        End::Somehow => true,
    };
    if !fits {
        return Err(format!("the cause of the failure is {cause:?}, which does not fit {:?}", row.end));
    }
    harmless(outcome)
}

/// Whether what is told and what is to be written stays within bounds, however the render ended.
fn harmless(outcome: &Outcome) -> Result<(), String> {
    if let Some(failure) = &outcome.failure {
        for text in [&failure.message, &failure.kpt_condition, failure.kpt_error.as_ref().unwrap_or(&String::new())] {
            if text.len() > MESSAGE {
                return Err(format!("a message of {} bytes: {}", text.len(), shorten(text)));
            }
        }
    }
    for change in &outcome.changes {
        check_path(change.path()).map_err(|error| format!("a file of the outcome: {error}"))?;
        match change {
            Change::Write { path, bytes } if outcome.failure.is_some() => {
                expect("the file that a failed render writes", &path.as_str(), &"Kptfile")?;
                if bytes.len() > KPTFILE {
                    return Err(format!("a failed render leaves a Kptfile of {} bytes", bytes.len()));
                }
            }
            Change::Delete { path } => return Err(format!("`{path}` is deleted")),
            Change::Write { .. } => {}
        }
    }
    Ok(())
}

/// Whether a message has the words of the row, and none that explain nothing.
fn says(row: &Row, message: &str) -> Result<(), String> {
    for words in &row.words {
        if !message.contains(words.as_str()) {
            return Err(format!("the message lacks `{words}`: {}", shorten(message)));
        }
    }
    for empty in ["internal error", "unreachable", "panicked"] {
        if message.contains(empty) {
            return Err(format!("the message says `{empty}`: {}", shorten(message)));
        }
    }
    Ok(())
}

fn shorten(text: &str) -> &str {
    &text[..text.floor_char_boundary(2_000)]
}

/// Bytes of memory that the process holds.
fn resident() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kibibytes.map(|kibibytes| kibibytes << 10).ok_or_else(|| "the system does not tell the memory of a process".into())
}
