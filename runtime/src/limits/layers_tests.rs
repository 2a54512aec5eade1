use std::time::Duration;

use super::*;

const MIB: u64 = 1 << 20;

fn settings(from: &LimitSource, values: &[(LimitName, LimitValue)]) -> LimitSettings {
    let mut settings = LimitSettings::default();
    for (name, value) in values {
        settings.set(*name, *value, from.clone());
    }
    settings
}

fn file(path: &str, line: u32) -> LimitSource {
    LimitSource::File { path: path.into(), line }
}

fn flag(name: &str) -> LimitSource {
    LimitSource::Request(name.into())
}

fn profile(name: &str, values: &[(LimitName, LimitValue)]) -> LimitProfile {
    let functions = FunctionPattern { name: Some(name.into()), image: None };
    let source = LimitSource::Profile { functions: functions.clone(), path: "c.yaml".into(), line: 9 };
    LimitProfile { functions, settings: settings(&source, values) }
}

fn row(decided: &DecidedLimits, name: LimitName) -> &DecidedLimit {
    decided.rows.iter().find(|row| row.name == name).expect("every limit has a row")
}

#[test]
fn without_a_word_the_defaults_hold() {
    let decided = LimitLayers::default().decide();
    assert_eq!(decided.limits, Limits::default());
    assert!(decided.rows.iter().all(|row| row.source == LimitSource::Default && row.capped.is_none()));
    assert_eq!(decided.rows.len(), LimitName::ALL.len());
    assert_eq!(decided.warnings(), Vec::<String>::new());
}

#[test]
fn a_later_layer_goes_before_an_earlier_one() {
    let name = LimitName::Memory;
    let value = |n: u64| LimitValue::Bytes(n * MIB);
    let mut layers = LimitLayers::default();
    let holds =
        |layers: &LimitLayers| (row(&layers.decide(), name).value, row(&layers.decide(), name).source.to_string());
    layers.configuration.push(settings(&file("etc.yaml", 2), &[(name, value(100))]));
    assert_eq!(holds(&layers), (value(100), "etc.yaml:2".to_owned()));
    layers.configuration.push(settings(&file("home.yaml", 3), &[(name, value(200))]));
    assert_eq!(holds(&layers), (value(200), "home.yaml:3".to_owned()));
    layers.request = settings(&flag("--max-memory"), &[(name, value(50))]);
    assert_eq!(holds(&layers), (value(50), "--max-memory".to_owned()));
    assert_eq!(layers.decide().limits.memory, 50 * MIB);
}

#[test]
fn a_profile_goes_before_configuration_and_the_request_before_both() {
    let (memory, stdout) = (LimitName::Memory, LimitName::Stdout);
    let bytes = |n: u64| LimitValue::Bytes(n * MIB);
    let mut layers = LimitLayers {
        configuration: vec![settings(&file("c.yaml", 1), &[(memory, bytes(100)), (stdout, bytes(10))])],
        profiles: vec![
            profile("set-*", &[(memory, bytes(200)), (stdout, bytes(20))]),
            profile("set-labels", &[(memory, bytes(300))]),
        ],
        ..LimitLayers::default()
    };
    let of = |layers: &LimitLayers, image: &str| {
        let decided = layers.decide();
        let step = step_limits(&decided.limits, &decided.step_profiles(), image, "");
        (step.memory / MIB, step.stdout / MIB)
    };
    assert_eq!(of(&layers, "ghcr.io/fns/starlark:v1"), (100, 10));
    assert_eq!(of(&layers, "ghcr.io/fns/set-names:v1"), (200, 20));
    // Both match: the later one, limit by limit.
    assert_eq!(of(&layers, "ghcr.io/fns/set-labels:v1"), (300, 20));
    layers.request = settings(&flag("--max-memory"), &[(memory, bytes(50))]);
    assert_eq!(of(&layers, "ghcr.io/fns/set-labels:v1"), (50, 20));
    layers.maximum = vec![settings(&file("etc.yaml", 5), &[(stdout, bytes(15)), (memory, bytes(70))])];
    assert_eq!(of(&layers, "ghcr.io/fns/set-labels:v1"), (50, 15));
    assert_eq!(of(&layers, "ghcr.io/fns/starlark:v1"), (50, 10));
}

#[test]
fn a_tenant_goes_as_far_as_a_maximum_and_lowers_what_has_none() {
    let (memory, fuel, stdout) = (LimitName::Memory, LimitName::Fuel, LimitName::Stdout);
    let bytes = |n: u64| LimitValue::Bytes(n * MIB);
    let asked = |of_memory, of_fuel, of_stdout| LimitLayers {
        configuration: vec![settings(&file("c.yaml", 1), &[(memory, bytes(100)), (fuel, LimitValue::Count(1000))])],
        profiles: vec![profile("large", &[(memory, bytes(150)), (stdout, bytes(200))])],
        request: settings(
            &flag("the request"),
            &[(memory, bytes(of_memory)), (fuel, LimitValue::Count(of_fuel)), (stdout, bytes(of_stdout))],
        ),
        tenant: true,
        maximum: vec![
            settings(&file("c.yaml", 5), &[(memory, bytes(300))]),
            settings(&file("c.yaml", 9), &[(memory, bytes(200))]),
        ],
    };
    let of = |layers: &LimitLayers| {
        let decided = layers.decide();
        let large = step_limits(&decided.limits, &decided.step_profiles(), "r/large:v1", "");
        let refused: Vec<LimitName> = decided.refused().map(|row| row.name).collect();
        let limits = decided.limits;
        ((limits.memory / MIB, limits.fuel, limits.stdout / MIB), (large.memory / MIB, large.stdout / MIB), refused)
    };
    // Up to the least maximum; without one, down alone: of the profile's own as well.
    assert_eq!(of(&asked(180, 900, 160)), ((180, 900, 128), (180, 160), vec![stdout]));
    assert_eq!(of(&asked(u64::MAX / MIB, u64::MAX, 1)), ((200, 1000, 1), (200, 1), vec![fuel, memory]));
    assert_eq!(of(&asked(50, 0, 500)), ((50, 0, 128), (50, 200), vec![stdout]));
    // Nobody but a tenant is held.
    let anyone = LimitLayers { tenant: false, ..asked(180, 5000, 160) };
    assert_eq!(of(&anyone), ((180, 5000, 160), (180, 160), vec![]));
}

#[test]
fn limits_of_the_render_have_no_place_in_a_profile() {
    let layers = LimitLayers {
        profiles: vec![profile("*", &[(LimitName::RenderTime, LimitValue::Time(Duration::ZERO))])],
        ..LimitLayers::default()
    };
    let decided = layers.decide();
    assert_eq!(decided.limits, Limits::default());
    assert_eq!(decided.profiles[0].1, []);
}

#[test]
fn the_least_maximum_caps_whoever_asks_and_says_so() {
    let name = LimitName::StepTime;
    let time = |seconds| LimitValue::Time(Duration::from_secs(seconds));
    let layers = LimitLayers {
        request: settings(&flag("--fn-timeout"), &[(name, time(900))]),
        maximum: vec![
            settings(&file("/etc/portico/config.yaml", 7), &[(name, time(120))]),
            settings(&file("mine.yaml", 4), &[(name, time(600))]),
        ],
        ..LimitLayers::default()
    };
    let decided = layers.decide();
    assert_eq!(decided.limits.step_time, Duration::from_mins(2));
    let row = row(&decided, name);
    assert_eq!(row.capped, Some((time(900), file("/etc/portico/config.yaml", 7))));
    assert_eq!(
        decided.warnings(),
        ["limit `stepTime`: --fn-timeout asks for 900s, the maximum is 120s (/etc/portico/config.yaml:7); 120s holds"]
    );
}

#[test]
fn no_limit_is_more_than_any_maximum() {
    for name in LimitName::ALL {
        let everything = name.get(&Limits::unlimited());
        let little = name.in_unit(LimitValue::Count(5));
        let layers = LimitLayers {
            request: settings(&flag("--limit"), &[(name, name.in_unit(LimitValue::Count(u64::MAX)))]),
            maximum: vec![settings(&file("m", 1), &[(name, little)])],
            ..LimitLayers::default()
        };
        assert_eq!(name.get(&layers.decide().limits), little, "{name} of {everything}");
    }
}

#[test]
fn a_value_of_another_unit_escapes_no_maximum() {
    let layers = LimitLayers {
        request: settings(&flag("--limit"), &[(LimitName::Memory, LimitValue::Count(u64::MAX))]),
        maximum: vec![settings(&file("m", 1), &[(LimitName::Memory, LimitValue::Time(Duration::from_nanos(7)))])],
        ..LimitLayers::default()
    };
    assert_eq!(layers.decide().limits.memory, 7);
}

#[test]
fn a_default_beyond_a_maximum_is_capped_without_a_warning() {
    let layers = LimitLayers {
        maximum: vec![settings(&file("m", 1), &[(LimitName::Memory, LimitValue::Bytes(MIB))])],
        ..LimitLayers::default()
    };
    let decided = layers.decide();
    assert_eq!(decided.limits.memory, MIB);
    assert!(row(&decided, LimitName::Memory).capped.is_some());
    assert!(decided.warnings().is_empty());
}

#[test]
fn what_needs_stack_has_a_ceiling_of_its_own() {
    let deep = LimitValue::Count(1_000_000);
    let layers = LimitLayers {
        configuration: vec![settings(&file("c", 1), &[(LimitName::YamlDepth, deep), (LimitName::PackageDepth, deep)])],
        ..LimitLayers::default()
    };
    let decided = layers.decide();
    assert_eq!((decided.limits.yaml.depth, decided.limits.package.depth), (500, 1000));
    assert_eq!(
        decided.warnings()[1],
        "limit `yaml.depth`: c:1 asks for 1000000, the maximum is 500 (this program); 500 holds"
    );
}

#[test]
fn patterns_match_names_and_images() {
    let matches = |name: Option<&str>, image: Option<&str>, full: &str, exec: &str| {
        FunctionPattern { name: name.map(Into::into), image: image.map(Into::into) }.matches(full, exec)
    };
    let full = "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2";
    for name in ["set-labels", "set-*", "*labels", "*", "s*-*s", "set-labels*"] {
        assert!(matches(Some(name), None, full, ""), "{name}");
    }
    for name in ["set-label", "et-labels", "set-labels:v0.2", "*x*", "", "set-**-labels"] {
        assert!(!matches(Some(name), None, full, ""), "{name}");
    }
    assert!(matches(None, Some("ghcr.io/kptdev/*"), full, ""));
    assert!(matches(Some("set-labels"), Some("ghcr.io/*:v0.2"), full, ""));
    // A foreign registry does not get what the name alone would give.
    assert!(!matches(Some("set-labels"), Some("ghcr.io/kptdev/*"), "evil.example/set-labels:v0.2", ""));
    assert!(matches(Some("set-labels"), None, "reg:5000/a/set-labels@sha256:00", ""));
    assert!(matches(Some("sed"), None, "", "/usr/bin/sed -e s/a/b/"));
    assert!(!matches(None, Some("*"), "", "sed"));
    assert!(matches(None, None, "", "sed"));
}
