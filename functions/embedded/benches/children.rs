//! What child processes cost: compiling in one, and rendering in one.
//!
//! `cargo bench -p portico-catalog --bench children [-- MODULE.wasm...]`
//!
//! Modules named on the command line are compiled in this process and in a child, in turn, without a cache. Then a package
//! of 20 `ConfigMaps` goes through set-namespace and set-labels: here, in a worker that is started for it, and in one that
//! was kept. This program is its own child, as `portico` is. Wall time, fastest and median.
#![expect(clippy::print_stdout, reason = "a benchmark reports on stdout")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portico_catalog::Catalog;
use portico_runtime::package::{PackageFiles, PackageLimits};
use portico_runtime::{
    CancelToken, Compiler, Engine, EngineConfig, FunctionModule, ModuleCode, RenderOptions, Renderer, Sources,
    WorkerConfig, WorkerLimits,
};

const COMPILE_ROUNDS: usize = 5;
const RENDER_ROUNDS: usize = 50;

fn main() -> ExitCode {
    let sources = || Sources::new(vec![Arc::new(Catalog)]);
    if let Some(code) = portico_runtime::serve_child(sources) {
        return code;
    }
    println!("{:<42} {:>12} {:>10}", "wall time", "fastest", "median");
    for module in std::env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
        compiling(&module);
    }
    rendering(&Renderer::new(Engine::new(EngineConfig::default()).expect("an engine"), sources()));
    ExitCode::SUCCESS
}

fn this() -> PathBuf {
    std::env::current_exe().expect("this program has a path")
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    println!("{what:<42} {:>12.1?} {:>10.1?}", times[0], times[times.len() / 2]);
}

fn compiling(path: &str) {
    let wasm: Arc<[u8]> = std::fs::read(path).expect("a module").into();
    println!("{path}, {} bytes", wasm.len());
    let function = FunctionModule { name: "f".into(), code: ModuleCode::Wasm(wasm) };
    let compile = |compiler: Compiler| {
        let engine = Engine::new(EngineConfig { compiler, ..EngineConfig::default() }).expect("an engine");
        let started = Instant::now();
        engine.load(&function).expect("a module that compiles");
        started.elapsed()
    };
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for _ in 0..COMPILE_ROUNDS {
        here.push(compile(Compiler::InProcess));
        there.push(compile(Compiler::Child(this())));
    }
    report("  compiled in this process", here);
    report("  compiled in a child", there);
}

fn rendering(renderer: &Renderer) {
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\npipeline:\n  mutators:\n  \
                   - {image: set-namespace, configMap: {namespace: bench}}\n  \
                   - {image: set-labels, configMap: {tier: bench}}\n";
    let resource = |n: usize| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map-{n} # {n}\ndata:\n  key: value of {n}\n")
    };
    let mut map = vec![("Kptfile".to_owned(), kptfile.as_bytes().to_vec())];
    map.extend((0..20).map(|n| (format!("{n}.yaml"), resource(n).into_bytes())));
    let files = PackageFiles::from_map("/bench", map, &PackageLimits::default()).expect("a package");
    let render = |renderer: &Renderer| {
        let started = Instant::now();
        let outcome = renderer.render(&files, &RenderOptions::default(), &CancelToken::new(), &mut ());
        let time = started.elapsed();
        let outcome = outcome.expect("an outcome");
        assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
        time
    };
    let isolated = |limits| renderer.clone().isolated(WorkerConfig { program: this(), limits });
    let kept = isolated(WorkerLimits::default());
    let fresh = isolated(WorkerLimits { renders: 1, ..WorkerLimits::default() });
    let (mut here, mut first, mut later) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=RENDER_ROUNDS {
        let times = [render(renderer), render(&fresh), render(&kept)];
        // the first round warms up
        if round > 0 {
            here.push(times[0]);
            first.push(times[1]);
            later.push(times[2]);
        }
    }
    println!("20 resources, 2 functions");
    report("  in this process", here);
    report("  in a worker that is started for it", first);
    report("  in a worker that was kept", later);
}
