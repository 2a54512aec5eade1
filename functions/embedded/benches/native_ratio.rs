//! What the sandbox costs: set-labels as an embedded module, metered, as a component, and the same code compiled for this
//! machine.
//!
//! `cargo bench -p portico-catalog --bench native_ratio [-- MODULE.wasm]`
//!
//! Both get the same `ResourceList` of 1,000 Deployments (2 MB) and their answers must be equal. The native side is a
//! child process that runs the function's own library from bytes to bytes; the sandboxed side runs here, with fuel and
//! epochs on, its Store made and dropped each time. Rounds alternate; CPU time of the running thread, fastest and
//! median. A module named on the command line takes the place of the embedded one, compiled for this very machine. The
//! component is the module that `cargo xtask functions` left in `target/functions`, with wasmtime's adapter.
#![expect(clippy::cast_precision_loss, reason = "figures for people")]
#![expect(clippy::print_stdout, reason = "a benchmark reports on stdout")]

#[path = "../tests/made/mod.rs"]
mod made;
mod package;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use portico_catalog::Catalog;
use portico_runtime::{
    CancelToken, Engine, EngineConfig, FunctionModule, FunctionSource, Invocation, Limits, Module, ModuleCode, Sandbox,
};

/// What sets the label in the middle of a render.
const CONFIG: &str =
    "  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: function-input\n  data:\n    tier: bench\n";

const ROUNDS: usize = 21;
/// First argument of the child process.
const NATIVE: &str = "native";

fn main() {
    let argument = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    if argument.as_deref() == Some(NATIVE) {
        native();
        return;
    }
    let named =
        argument.map(|path| FunctionModule { name: "set-labels".to_owned(), code: ModuleCode::File(path.into()) });
    let Some(function) = named.or_else(|| Catalog.resolve("set-labels").ok().flatten()) else {
        println!("the catalog is empty: run `cargo xtask functions` first");
        return;
    };
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let module = engine.load(&function).expect("a module");
    let input = package::list(1_000, "", Some(CONFIG));
    let mut child = Native::start(&input);
    let component = made::component().map(|code| {
        let function = FunctionModule { name: function.name.clone(), code: ModuleCode::Wasm(code.into()) };
        engine.load(&function).expect("a component")
    });
    let run = |module: &Module| {
        let call = Invocation { name: function.name.clone(), stdin: input.clone(), ..Invocation::default() };
        let started = cpu_time();
        let mut sandbox = Sandbox::new(&engine, Limits::default(), CancelToken::new());
        let output = sandbox.run(module, call).expect("a run");
        drop(sandbox);
        (cpu_time().saturating_sub(started), output)
    };
    let (mut sandboxed, mut composed, mut natively) = (Vec::new(), Vec::new(), Vec::new());
    let mut fuel = 0;
    for round in 0..=ROUNDS {
        let (time, output) = run(&module);
        let other = component.as_ref().map(&run);
        let (native_time, length, sum) = child.round();
        assert_eq!((output.stdout.len() as u64, checksum(&output.stdout)), (length, sum), "the answers differ");
        if let Some((_, other)) = &other {
            assert!(other.stdout == output.stdout, "the component answers differently");
        }
        fuel = output.fuel_used;
        // the first round warms up
        if round > 0 {
            sandboxed.push(time);
            composed.extend(other.iter().map(|(time, _)| *time));
            natively.push(native_time);
        }
    }
    child.stop();
    println!("set-labels on {} bytes, CPU time         fastest     median", input.len());
    let ours = report("  embedded module, metered", &mut sandboxed);
    if !composed.is_empty() {
        report("  component, metered", &mut composed);
    }
    let native = report("  native", &mut natively);
    let ratio = |n: usize| ours[n].as_secs_f64() / native[n].as_secs_f64();
    println!("  ratio                            {:>13.2} {:>10.2}", ratio(0), ratio(1));
    println!("  fuel: {fuel}, {:.0} a byte", fuel as f64 / input.len() as f64);
}

fn report(what: &str, times: &mut [Duration]) -> [Duration; 2] {
    times.sort_unstable();
    let [fastest, median] = [times[0], times[times.len() / 2]];
    println!("{what:<35} {fastest:>12.1?} {median:>10.1?}");
    [fastest, median]
}

/// The child process that runs the function natively, a round for each line it is sent.
struct Native {
    child: std::process::Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Native {
    fn start(input: &[u8]) -> Native {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .arg(NATIVE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child process");
        let stdin = child.stdin.as_mut().expect("a pipe");
        stdin.write_all(&(input.len() as u64).to_le_bytes()).expect("written");
        stdin.write_all(input).expect("written");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Native { child, answers }
    }

    /// CPU time, length and checksum of one run.
    fn round(&mut self) -> (Duration, u64, u64) {
        self.child.stdin.as_mut().expect("a pipe").write_all(b"\n").expect("written");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        let mut numbers = line.split_whitespace().map(|word| word.parse().expect("a number"));
        let mut next = || numbers.next().expect("three numbers");
        (Duration::from_nanos(next()), next(), next())
    }

    fn stop(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().expect("ended");
    }
}

fn native() {
    let mut stdin = std::io::stdin().lock();
    let mut length = [0; 8];
    stdin.read_exact(&mut length).expect("a length");
    let mut input = vec![0; usize::try_from(u64::from_le_bytes(length)).expect("a length")];
    stdin.read_exact(&mut input).expect("an input");
    let mut line = String::new();
    while stdin.read_line(&mut line).expect("a line") > 0 {
        let copy = input.clone();
        let started = cpu_time();
        let output = set_labels::program(copy);
        let time = cpu_time().saturating_sub(started);
        assert_eq!(output.exit_code, 0, "{}", output.stderr);
        println!("{} {} {}", time.as_nanos(), output.stdout.len(), checksum(&output.stdout));
        line.clear();
    }
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock").into()
}

/// FNV-1a: enough to tell two answers apart.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
