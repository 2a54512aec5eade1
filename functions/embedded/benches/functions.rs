//! What each embedded function costs: size, first and later runs, fuel.
//!
//! `cargo bench -p portico-catalog --bench functions [-- NAME]` prints a table in Markdown, as it stands in
//! `docs/benchmarks.md`.
//!
//! Each gets a `ResourceList` of Deployments with a configuration that gives it its usual work. "Cold" is a new engine in
//! a process of its own, the function's module loaded and one run on ten Deployments (20 KB); "warm" is the median of later runs on 1 MB, each in
//! a sandbox of its own. Fuel does not depend on the machine.
#![expect(clippy::cast_precision_loss, reason = "figures for people")]
#![expect(clippy::print_stdout, reason = "a benchmark reports on stdout")]

mod package;

use std::time::{Duration, Instant};

use portico_catalog::{Catalog, FunctionInfo};
use portico_runtime::{CancelToken, Engine, EngineConfig, FunctionSource, Invocation, Limits, RunOutput, Sandbox};

const RUNS: usize = 5;
const SMALL: usize = 10;
/// Deployments of 2 KB: 1 MB.
const LARGE: usize = 510;

fn main() {
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let all = Catalog.functions();
    if all.is_empty() {
        println!("the catalog is empty: run `cargo xtask functions` first");
        return;
    }
    if let Some(only) = only {
        all.iter().filter(|function| only == function.name).for_each(line);
        return;
    }
    println!("| function | module | wasm | embedded | cold, 20 KB | warm, 1 MB | Mfuel a MB |");
    println!("|---|---|---|---|---|---|---|");
    let program = std::env::current_exe().expect("this program");
    for function in &all {
        // A process each: the first engine of a process runs embedded code where it lies.
        let status = std::process::Command::new(&program).arg(function.name).status().expect("a child process");
        assert!(status.success(), "{}", function.name);
    }
}

fn line(function: &FunctionInfo) {
    let (items, config) = work(function.name);
    let small = package::list(SMALL, items, config.as_deref());
    let large = package::list(LARGE, items, config.as_deref());

    let started = Instant::now();
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let found = Catalog.resolve(function.name).expect("a name").expect("embedded");
    let module = engine.load(&found).expect("a module");
    let run = |stdin: &[u8]| -> RunOutput {
        let call = Invocation { name: found.name.clone(), stdin: stdin.to_vec(), ..Invocation::default() };
        let output = Sandbox::new(&engine, Limits::default(), CancelToken::new()).run(&module, call).expect("a run");
        let passed = output.exit_code == 0 || FAILS.contains(&function.name);
        assert!(passed, "{}: {}", function.name, String::from_utf8_lossy(&output.stderr));
        output
    };
    run(&small);
    let cold = started.elapsed();

    let mut times = Vec::new();
    let mut fuel = 0;
    for _ in 0..RUNS {
        let started = Instant::now();
        fuel = run(&large).fuel_used;
        times.push(started.elapsed());
    }
    times.sort_unstable();
    let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    let mb = |bytes: usize| format!("{:.2} MB", bytes as f64 / 1e6);
    println!(
        "| {} | {} | {} | {} | {} | {} | {:.0} |",
        function.name,
        function.module,
        mb(function.wasm_bytes),
        mb(function.embedded_bytes),
        ms(cold),
        ms(times[RUNS / 2]),
        fuel as f64 / large.len() as f64,
    );
}

/// Fixtures that fail by design.
const FAILS: [&str; 3] = ["bar", "foo", "printenv"];

/// Further items and the configuration that give a function its usual work.
fn work(function: &str) -> (&'static str, Option<String>) {
    let data = |lines: &[&str]| {
        let lines: String = lines.iter().flat_map(|line| ["    ", line, "\n"]).collect();
        Some(format!("  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: config\n  data:\n{lines}"))
    };
    let object = |text: &str| Some(text.lines().flat_map(|line| ["  ", line, "\n"]).collect::<String>());
    match function {
        "apply-replacements" => ("", object(REPLACEMENTS)),
        "apply-setters" => ("", data(&["name: other"])),
        "create-setters" => ("", data(&["port: http"])),
        "delete-annotations" => ("", data(&["annotationKeys: description"])),
        "ensure-name-substring" => ("", data(&["prepend: pre-"])),
        "fix" | "list-setters" | "set-project-id" => (KPTFILE, data(&["project-id: p"])),
        "gatekeeper" => (POLICY, None),
        "search-replace" => ("", data(&["by-path: spec.replicas", "put-value: \"3\""])),
        "set-annotations" => ("", data(&["owner: team"])),
        "set-enforcement-action" => ("", data(&["enforcementAction: deny"])),
        "set-image" => ("", data(&["name: registry.example.com/team/service", "newTag: v2"])),
        "set-labels" => ("", data(&["tier: bench"])),
        "set-name-prefix" => (CONTEXT, data(&["prefix: pre-"])),
        "set-namespace" => ("", data(&["namespace: bench"])),
        "starlark" => ("", object(SCRIPT)),
        "upsert-resource" => ("", object("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: new\n")),
        _ => ("", None),
    }
}

const KPTFILE: &str = "- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: bench
    annotations:
      internal.config.kubernetes.io/path: Kptfile
  pipeline:
    mutators:
    - image: apply-setters
      configMap:
        name: a
";
const CONTEXT: &str = "- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: kptfile.kpt.dev
    annotations:
      config.kubernetes.io/local-config: 'true'
      internal.config.kubernetes.io/path: package-context.yaml
  data:
    name: bench
";
const REPLACEMENTS: &str = "apiVersion: fn.kpt.dev/v1alpha1
kind: ApplyReplacements
metadata:
  name: config
replacements:
- source: {kind: Deployment, name: service-0, fieldPath: spec.replicas}
  targets:
  - select: {kind: Deployment}
    fieldPaths: [spec.revisionHistoryLimit]
";
const SCRIPT: &str = "apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
metadata:
  name: scale
source: |
  for r in ctx.resource_list[\"items\"]:
    if r[\"kind\"] == \"Deployment\":
      r[\"spec\"][\"replicas\"] = 3
";
const POLICY: &str = "- apiVersion: templates.gatekeeper.sh/v1
  kind: ConstraintTemplate
  metadata:
    name: requiredlabels
  spec:
    crd: {spec: {names: {kind: RequiredLabels}}}
    targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package requiredlabels
        violation[{\"msg\": msg}] {
          not input.review.object.metadata.labels[\"app.kubernetes.io/name\"]
          msg := \"a label is missing\"
        }
- apiVersion: constraints.gatekeeper.sh/v1beta1
  kind: RequiredLabels
  metadata:
    name: all
  spec:
    match: {kinds: [{apiGroups: [apps], kinds: [Deployment]}]}
";
