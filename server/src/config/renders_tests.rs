use portico_runtime::{EngineConfig, LimitName, LimitSource, LimitValue};

use super::*;
use crate::config::Flags;

/// Knows nothing.
struct Nothing;

impl FunctionSource for Nothing {
    fn resolve(&self, _: &str) -> Result<Option<FunctionModule>, FunctionError> {
        Ok(None)
    }
}

fn config(text: &str) -> ServerConfig {
    let text = format!("apiVersion: portico.dev/v1alpha1\nkind: ServerConfiguration\nstore: /s.redb\n{text}");
    ServerConfig::read("s.yaml", text.as_bytes(), &Flags::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn renders(text: &str) -> Renders {
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let program = Program { functions: Arc::new(Nothing), path: "/proc/self/exe".into(), cache: None };
    Renders::new(engine, program, config(text))
}

#[test]
fn a_namespace_has_its_own_limits_within_the_maximum_of_all() {
    let text = "\
limits: {memory: 100MiB, stepTime: 5s}
maximum: {memory: 150MiB}
functions: [{name: starlark, limits: {stepTime: 9s}}]
namespaces:
  team-a:
    limits: {memory: 200MiB}
    maximum: {stepTime: 3s}
    functions: [{name: starlark, limits: {stepTime: 8s}}]
";
    let renders = renders(text);
    let memory = |namespace| renders.for_namespace(namespace).options.call.limits.memory;
    assert_eq!((memory("other"), memory("team-a")), (100 << 20, 150 << 20));
    // What the queue reserves follows from it.
    let reserved = |namespace| {
        renders.cost(namespace, &LimitSettings::default()).map(|cost| (cost.memory - memory(namespace)) >> 20)
    };
    assert_eq!((reserved("other"), reserved("team-a")), (Some(32), Some(32)));
    let rows = renders.limits("team-a").rows;
    let row = rows.iter().find(|row| row.name == LimitName::Memory).expect("it has one");
    assert_eq!(row.source.to_string(), "s.yaml:9");
    let (asked, by) = row.capped.as_ref().expect("capped");
    assert_eq!((*asked, by.to_string().as_str()), (LimitValue::Bytes(200 << 20), "s.yaml:5"));
    // Both profiles match; the later one holds, within the namespace's maximum.
    let profiles = &renders.for_namespace("team-a").options.call.profiles;
    assert_eq!(profiles.len(), 2);
    assert!(
        profiles
            .iter()
            .all(|profile| profile.limits
                == [(LimitName::StepTime, LimitValue::Time(std::time::Duration::from_secs(3)))])
    );
    assert_eq!(renders.for_namespace("other").options.call.profiles.len(), 1);
}

#[test]
fn a_request_goes_up_to_the_maximum_of_its_namespace() {
    let text = "\
limits: {memory: 100MiB}
maximum: {memory: 300MiB, package: {files: 30000}}
functions: [{name: starlark, limits: {memory: 120MiB, stderr: 9KiB}}]
namespaces:
  team-a: {maximum: {memory: 200MiB}}
";
    let renders = renders(text);
    let asked = |values: &[(LimitName, u64)]| {
        let mut request = LimitSettings::default();
        for (name, value) in values {
            request.set(*name, LimitValue::Count(*value), LimitSource::Request("the request".to_owned()));
        }
        request
    };
    let memory = |namespace, mib: u64| {
        let effective = renders.for_request(namespace, &asked(&[(LimitName::Memory, mib << 20)]));
        let of_profile = effective.options.call.profiles[0].limits.iter().find(|(name, _)| *name == LimitName::Memory);
        assert_eq!(of_profile.map(|(_, value)| *value), Some(LimitName::Memory.get(&effective.options.call.limits)));
        let cost = renders.cost(namespace, &asked(&[(LimitName::Memory, mib << 20)])).expect("it says");
        assert_eq!(cost.memory, effective.options.call.limits.memory + (32 << 20), "what it gets is what is reserved");
        (effective.options.call.limits.memory >> 20, effective.warnings)
    };
    assert_eq!(memory("other", 250), (250, vec![]));
    assert_eq!(memory("other", 50), (50, vec![]));
    let warning = vec!["limit `memory`: 250 MiB was asked for, 200 MiB holds".to_owned()];
    assert_eq!(memory("team-a", 250), (200, warning));
    // What has no maximum goes down alone, of profiles too; what a package may be follows.
    let effective =
        renders.for_request("", &asked(&[(LimitName::Stderr, 10 << 10), (LimitName::PackageFiles, 25_000)]));
    assert_eq!((effective.options.call.limits.stderr, effective.limits.files), (10 << 10, 25_000));
    let stderr = (LimitName::Stderr, LimitValue::Bytes(9 << 10));
    assert!(effective.options.call.profiles[0].limits.contains(&stderr));
    assert!(effective.warnings.is_empty());
    assert!(renders.for_request("", &LimitSettings::default()).warnings.is_empty());
}

#[test]
fn what_is_set_holds_for_the_next_render_and_has_another_digest() {
    let renders = renders("limits: {memory: 100MiB}\n");
    let before = renders.configuration();
    assert_ne!(before, 0);
    assert_eq!(before, renders.configuration());
    renders.set(config("limits: {memory: 100MiB}\nrequests: {inFlight: 3}\n"));
    assert_eq!(before, renders.configuration(), "nothing that a render sees");
    renders.set(config("limits: {memory: 101MiB}\n"));
    assert_eq!(renders.for_namespace("any").options.call.limits.memory, 101 << 20);
    assert_ne!(before, renders.configuration());
    // What a request may have decides, too.
    let mut seen = vec![before, renders.configuration()];
    for maximum in
        ["maximum: {memory: 200MiB}", "maximum: {memory: 300MiB}", "namespaces: {a: {maximum: {memory: 1GiB}}}"]
    {
        renders.set(config(&format!("limits: {{memory: 100MiB}}\n{maximum}\n")));
        assert!(!seen.contains(&renders.configuration()), "{maximum}");
        seen.push(renders.configuration());
    }
}

#[test]
fn what_a_profile_lets_a_function_have_is_set_aside() {
    let renders = renders(
        "limits: {memory: 100MiB}\nfunctions: [{name: starlark, limits: {memory: 400MiB}}, {name: fix, limits: {memory: 1MiB}}]\n",
    );
    let cost = renders.cost("any", &LimitSettings::default()).expect("it says");
    assert_eq!(cost.memory, (400 + 32) << 20);
}

#[test]
fn a_module_that_comes_into_a_directory_makes_another_digest() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = format!("namespaces: {{team-a: {{modules: ['{}']}}}}\n", directory.path().display());
    let renders = renders(&text);
    let before = renders.configuration();
    std::fs::write(directory.path().join("notes.txt"), "no module").expect("written");
    assert_eq!(before, renders.configuration());
    std::fs::write(directory.path().join("mine.wasm"), "module").expect("written");
    assert_ne!(before, renders.configuration());
}

#[test]
fn a_namespace_has_its_modules_and_no_other_has_them() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("mine.wasm"), "module").expect("written");
    let config =
        config(&format!("namespaces: {{team-a: {{modules: ['{}']}}, team-b: {{}}}}\n", directory.path().display()));
    assert_eq!(config.directories("team-a").count(), 1);
    for namespace in ["team-b", "other", ""] {
        assert_eq!(config.directories(namespace).count(), 0, "{namespace}");
    }
}

#[test]
fn only_allowed_images_are_given_and_others_are_told_why() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("mine.wasm"), "module").expect("written");
    let sources = Sources::new(vec![Arc::new(FunctionDir::new(directory.path()))]);
    let allowed = Allowed { patterns: vec!["ghcr.io/ours/*".into(), "*/set-labels:v1".into()], sources };
    let has = |image: &str| allowed.resolve(image).expect("a name").is_some();
    assert!(has("ghcr.io/ours/mine:v1"));
    assert!(!has("ghcr.io/others/mine:v1") && !has("ghcr.io/ours.evil/mine:v1"));
    let why = allowed.absence("ghcr.io/others/mine:v1").expect("a reason");
    assert!(why.contains("`ghcr.io/ours/*`") && why.contains("modules.allowed"), "{why}");
    assert!(allowed.absence("ghcr.io/ours/none:v1").is_none());
}
