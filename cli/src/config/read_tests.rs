use std::time::Duration;

use portico_runtime::{LimitLayers, LimitName, LimitSource, LimitValue};

use super::*;

fn read(text: &str) -> Configuration {
    configuration("c.yaml", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    configuration("c.yaml", text.as_bytes()).expect_err(text).to_string()
}

#[test]
fn limits_of_every_unit_are_read_with_their_lines() {
    let text = "\
# of this machine
limits:
  fuel: 5G
  fuelPerStep: 0
  stepTime: 90s
  memory: 256MiB
  stdout: unlimited
  tableElements: 5000
  package:
    files: 10
    bytes: 1MB
  yaml: {depth: 50}
maximum:
  renderTime: 10m
";
    let read = read(text);
    let source = |line| LimitSource::File { path: "c.yaml".into(), line };
    let rows: Vec<(LimitName, LimitValue, LimitSource)> =
        read.limits[0].iter().map(|(name, setting)| (name, setting.value, setting.source.clone())).collect();
    assert_eq!(
        rows,
        [
            (LimitName::Fuel, LimitValue::Count(5_000_000_000), source(3)),
            (LimitName::FuelPerStep, LimitValue::Count(0), source(4)),
            (LimitName::StepTime, LimitValue::Time(Duration::from_secs(90)), source(5)),
            (LimitName::Memory, LimitValue::Bytes(256 << 20), source(6)),
            (LimitName::TableElements, LimitValue::Count(5000), source(8)),
            (LimitName::Stdout, LimitValue::Bytes(u64::MAX), source(7)),
            (LimitName::PackageFiles, LimitValue::Count(10), source(10)),
            (LimitName::PackageBytes, LimitValue::Bytes(1_000_000), source(11)),
            (LimitName::YamlDepth, LimitValue::Count(50), source(12)),
        ]
    );
    assert_eq!(read.maximum[0].get(LimitName::RenderTime).map(|s| &s.source), Some(&source(14)));
}

#[test]
fn profiles_name_functions_and_their_limits() {
    let read = read(
        "functions:\n- name: starlark\n  limits: {memory: 2GiB}\n- image: ghcr.io/*\n  limits:\n    stepTime: 5m\n",
    );
    let [first, second] = &read.profiles[..] else { panic!("two profiles: {:?}", read.profiles) };
    assert!(first.functions.matches("any.io/starlark:v1", ""));
    assert!(second.functions.matches("ghcr.io/a/b", ""));
    let layers = LimitLayers { profiles: read.profiles.clone(), ..LimitLayers::default() };
    let rows = layers.decide().profiles;
    assert_eq!(rows[1].1[0].value, LimitValue::Time(Duration::from_mins(5)));
    assert_eq!(rows[1].1[0].source.to_string(), "profile `ghcr.io/*` (c.yaml:6)");
}

#[test]
fn grants_are_directories_and_variables() {
    let text =
        "grants:\n  directories:\n  - source: /srv/schemas\n    target: /schemas\n  environment:\n    REGION: eu\n";
    let directory = Grant::Directory { source: "/srv/schemas".into(), target: "/schemas".into() };
    let variable = Grant::Variable { name: "REGION".into(), value: "eu".into() };
    let granted = |place: &str, what| Granted { place: place.into(), what };
    assert_eq!(read(text).grants, [granted("c.yaml:3", directory), granted("c.yaml:6", variable)]);
}

#[test]
fn nothing_says_nothing() {
    for text in ["", "# nothing\n", "{}", "limits: {}\nfunctions: []\n"] {
        let read = read(text);
        assert!(read.limits.is_empty() && read.maximum.is_empty() && read.profiles.is_empty(), "{text:?}");
    }
}

#[test]
fn what_is_not_known_is_refused_with_place_and_advice() {
    for (text, words) in [
        (
            "limit:\n  fuel: 1\n",
            "c.yaml:1: unknown field `limit`, expected one of `limits`, `maximum`, `functions`, `grants`",
        ),
        (
            "limits:\n  fuel: 1\n  memry: 1\n",
            "c.yaml:3: `limits`: unknown limit `memry`; known here: fuel, fuelPerStep,",
        ),
        ("limits:\n  files: 1\n", "c.yaml:2: `limits`: unknown limit `files`; did you mean `package.files`?"),
        (
            "limits:\n  package:\n    fuel: 1\n",
            "c.yaml:3: `limits.package`: unknown limit `fuel`; did you mean `fuel`?",
        ),
        ("limits:\n  package.files: 1\n", "c.yaml:2: `limits`: unknown limit `package.files`; known here:"),
        ("limits:\n  memory: much\n", "c.yaml:2: `limits.memory`: `much` is no value for it: write `64MiB`"),
        ("limits:\n  memory: -5\n", "c.yaml:2: `limits.memory`: `-5` is no value for it: write `64MiB`"),
        ("limits:\n  memory: [1]\n", "c.yaml:2: `limits.memory`: invalid type: sequence, expected a number, a size,"),
        (
            "limits:\n  memory: 0\n",
            "c.yaml:2: `limits.memory`: `0` is no value for it: nothing could run with `memory` at 0",
        ),
        ("limits:\n  stepTime: soon\n", "write `90s`, `5m` or `unlimited`"),
        ("limits: 5\n", "c.yaml:1: `limits`: invalid type: integer `5`, expected a mapping of limits"),
        ("functions:\n- limits: {memory: 1MiB}\n", "c.yaml:2: say by `name` or `image` which functions this is for"),
        (
            "functions:\n- name: a\n  limits:\n    fuel: 1\n",
            "c.yaml:4: `fuel` is a limit of the whole render, not of a function; known here: stepFuel,",
        ),
        (
            "functions:\n- nam: a\n",
            "c.yaml:2: `functions[0]`: unknown field `nam`, expected one of `name`, `image`, `limits`",
        ),
        ("functions:\n- [a]\n", "c.yaml:2: `functions[0]`: invalid type: sequence, expected a mapping with `name`"),
        (
            "grants:\n  directories:\n  - source: schemas\n    target: /s\n",
            "c.yaml:3: `schemas`: write an absolute path",
        ),
        ("grants:\n  directories:\n  - source: /a\n", "c.yaml:3: `grants.directories[0]`: missing field `target`"),
        (
            "grants:\n  environment: {A: 5}\n",
            "c.yaml:2: `grants.environment.A`: invalid type: integer `5`, expected a string",
        ),
        ("grants:\n  env: {}\n", "c.yaml:2: `grants`: unknown field `env`, expected `directories` or `environment`"),
        ("- a\n", "c.yaml:1: invalid type: sequence, expected a mapping with"),
        ("limits: {fuel: 1, fuel: 2}\n", "c.yaml:1: "),
        ("limits: {fuel: 1\n", "c.yaml:"),
        ("limits: {}\n---\nlimits: {}\n", "c.yaml:3: a configuration file is one document"),
    ] {
        let said = refused(text);
        assert!(said.starts_with(words) || (!words.starts_with("c.yaml") && said.contains(words)), "{text:?}: {said}");
    }
}

#[test]
fn isolation_and_the_bounds_on_compiling_are_read() {
    let read = read("isolation: process\ncompiler: {memory: 2GiB, cpu: 90, codeBytes: unlimited}\n");
    assert_eq!(read.isolation.as_deref(), Some("c.yaml:1"));
    let limits = read.compiler.limits();
    assert_eq!((limits.memory, limits.cpu, limits.code_bytes), (2 << 30, Duration::from_secs(90), u64::MAX));
    assert_eq!(limits.time, portico_runtime::CompileLimits::default().time);
}

#[test]
fn isolation_and_compiling_say_what_is_wrong() {
    assert!(refused("isolation: vm\n").starts_with("c.yaml:1: `isolation`: "));
    assert!(refused("a: 1\nisolation: none\n").contains("isolation"));
    let message = refused("compiler:\n  memory: lots\n");
    assert!(message.starts_with("c.yaml:2: `compiler.memory`: `lots` is no value for it"), "{message}");
    assert!(refused("compiler: {threads: 1}\n").contains("codeBytes"));
}

#[test]
fn a_wall_that_one_file_puts_up_stays() {
    let mut all = read("isolation: process\ncompiler: {memory: 2GiB, time: 1m}\n");
    all.add(read("isolation: none\ncompiler: {memory: 1GiB}\n"));
    assert_eq!(all.isolation.as_deref(), Some("c.yaml:1"));
    let limits = all.compiler.limits();
    assert_eq!((limits.memory, limits.time), (1 << 30, Duration::from_mins(1)));
}
