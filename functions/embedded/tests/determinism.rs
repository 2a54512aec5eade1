//! Every package of the cases and examples, with the functions that are embedded: on one thread and on eight, pooled
//! and on demand, cold and warm, twice, each gives the same bytes and uses the same fuel.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use portico_catalog::Catalog;
use portico_krm::FunctionResult;
use portico_runtime::package::{Change, PackageDir, PackageFiles, PackageLimits};
use portico_runtime::{
    Allocation, CancelToken, Cause, Engine, EngineConfig, RenderError, RenderOptions, Renderer, Sources, StepState,
    to_documents,
};

/// All that a render came to, without the time that it took.
#[derive(Debug, PartialEq)]
struct Result {
    changes: Vec<Change>,
    documents: String,
    failure: Option<String>,
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq)]
struct Step {
    function: String,
    state: StepState,
    cause: Option<Cause>,
    exit_code: i32,
    fuel: u64,
    peak_memory: u64,
    stderr: String,
    results: Vec<FunctionResult>,
}

/// The directories with a package that needs no programs.
fn packages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    let mut open = vec![root.join("tests/cases"), root.join("examples")];
    while let Some(directory) = open.pop() {
        match std::fs::read_to_string(directory.join("Kptfile")) {
            Ok(kptfile) if kptfile.contains("exec:") => {}
            Ok(_) => found.push(directory),
            Err(_) => {
                let entries = std::fs::read_dir(&directory).expect("a readable directory");
                let paths = entries.map(|entry| entry.expect("an entry").path());
                open.extend(paths.filter(|path| path.is_dir()));
            }
        }
    }
    found.sort();
    found
}

fn renderer(allocation: Allocation) -> Renderer {
    let engine = Engine::new(EngineConfig { allocation, ..EngineConfig::default() }).expect("an engine");
    Renderer::new(engine, Sources::new(vec![Arc::new(Catalog)]))
}

fn render(renderer: &Renderer, files: &PackageFiles, options: &RenderOptions) -> Option<Result> {
    let outcome = match renderer.render(files, options, &CancelToken::new(), &mut ()) {
        Ok(outcome) => outcome,
        // A Kptfile that is wrong on purpose.
        Err(RenderError::Kptfile { .. }) => return None,
        Err(error) => panic!("{}: {error}", files.root),
    };
    let steps = outcome.steps.iter().map(|step| Step {
        function: step.function().to_owned(),
        state: step.state,
        cause: step.cause,
        exit_code: step.exit_code,
        fuel: step.fuel,
        peak_memory: step.peak_memory,
        stderr: step.stderr.clone(),
        results: step.results.clone(),
    });
    Some(Result {
        steps: steps.collect(),
        changes: outcome.changes,
        documents: to_documents(outcome.resources),
        failure: outcome.failure.map(|failure| failure.message),
    })
}

#[test]
fn packages_render_alike_wherever_and_however_often() {
    assert!(!Catalog.functions().is_empty(), "no function is embedded: run `cargo xtask functions` first");
    let read = |directory: &PathBuf| {
        let opened = PackageDir::open(directory).expect("a directory");
        opened.read(&PackageLimits::default()).ok()
    };
    let packages: Vec<PackageFiles> = packages().iter().filter_map(read).collect();
    assert!(packages.len() > 30, "only {} packages were found", packages.len());
    let options = [false, true].map(|out_of_place| RenderOptions { out_of_place, ..RenderOptions::default() });
    let all = |renderer: &Renderer| -> Vec<Option<Result>> {
        let each = packages.iter().flat_map(|files| options.iter().map(move |options| (files, options)));
        each.map(|(files, options)| render(renderer, files, options)).collect()
    };

    let on_demand = renderer(Allocation::OnDemand);
    let expected = all(&on_demand);
    let steps: Vec<&Step> = expected.iter().flatten().flat_map(|result| &result.steps).collect();
    let ran = |name: &str| steps.iter().any(|step| step.function.contains(name) && step.fuel > 0);
    for name in ["starlark", "set-labels", "set-namespace"] {
        assert!(ran(name), "no package runs `{name}`");
    }
    let same = |what: &str, found: &[Option<Result>]| {
        for (at, (first, second)) in expected.iter().zip(found).enumerate() {
            assert!(first == second, "{what}: {}\n{first:#?}\n{second:#?}", packages[at / options.len()].root);
        }
    };
    same("on demand, warm", &all(&on_demand));
    same("another engine on demand", &all(&renderer(Allocation::OnDemand)));
    let pooled = renderer(Allocation::pooling());
    same("pooled, cold", &all(&pooled));
    same("pooled, warm", &all(&pooled));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| same("one of eight threads", &all(&pooled)));
        }
    });
}
