use portico_krm::yaml::{ParseLimits, Tree};

use super::{ConditionError, MAX_TEXT, holds};

const A: &str = "\
kind: ConfigMap
metadata: {name: a, labels: {tier: web}}
data: &d {one: '1', empty: null}
copy: *d
";
const B: &str = "\
kind: Deployment
metadata: {name: b}
spec: {replicas: 3, share: 0.5, big: 18446744073709551615, paused: false, ports: [80, 443]}
";

fn trees(sources: &[&str]) -> Vec<Tree> {
    let parse = |source: &&str| Tree::parse(*source, &ParseLimits::default()).expect("YAML").expect("a document");
    sources.iter().map(parse).collect()
}

fn on(condition: &str, sources: &[&str]) -> Result<bool, ConditionError> {
    let trees = trees(sources);
    holds(condition, &trees.iter().collect::<Vec<_>>())
}

#[test]
fn conditions_on_two_resources_are_true() {
    for condition in [
        "resources.exists(r, r.kind == 'ConfigMap' && r.metadata.name == \"a\")",
        "resources.all(r, has(r.kind)) && !resources.all(r, has(r.spec))",
        "resources.exists_one(r, r.kind == 'Deployment')",
        "resources.filter(r, r.kind == 'Deployment').all(d, d.spec.replicas >= 3 && d.spec.replicas < 3.5)",
        "resources.map(r, r.metadata.name) == ['a', 'b']",
        "size(resources) == 2 && resources.size() == 2 && size('äb') == 2",
        "resources[0].data.one == '1' && int(resources[0].data.one) == 1 && string(1) == '1'",
        "resources[0].data.empty == null && resources[0].copy == resources[0].data",
        "resources[0].metadata['labels'].tier in ['db', 'web'] && 'name' in resources[0].metadata",
        "443 in resources[1].spec.ports && !(444 in resources[1].spec.ports)",
        "resources[1].spec.share * 2.0 == 1.0 && resources[1].spec.big > 1 && !resources[1].spec.paused",
        "resources[1].metadata.name.startsWith('b') && 'abc'.endsWith('bc') && 'abc'.contains('b')",
        "{'a': 1}.a == 1 && [1, 2] + [3] == [1, 2, 3] && 'a' + 'b' == 'ab' && -7 / 2 == -3 && 7 % 4 == 3",
        "size(resources) > 1 ? true : resources[9].none",
        // one side decides, whatever the other one is
        "resources.exists(r, r.spec.replicas == 3)",
        "resources[0].nothing || true",
        "!(resources[0].nothing && false)",
        "resources[0].metadata.labels.exists(k, k == 'tier')",
    ] {
        assert_eq!(on(condition, &[A, B]), Ok(true), "{condition}");
    }
}

#[test]
fn nothing_is_there_without_resources() {
    assert_eq!(on("resources.exists(r, true)", &[]), Ok(false));
    assert_eq!(on("resources.all(r, false)", &[]), Ok(true));
}

#[test]
fn errors_say_what_and_where() {
    for (condition, message) in [
        ("resources.all(r, r.spec.replicas > 0)", "there is no field `spec` in ConfigMap/a"),
        ("resource.size() == 1", "there is no variable `resource`; the only one is `resources`"),
        ("size(resources)", "it gives an int, and must give true or false"),
        ("resources[7] == null", "an index lies outside its list"),
        ("1 + 'a' == 2", "there is no `+` for an int and a string"),
        ("resources.sort() == []", "there is no `sort` for a list"),
        ("'a' < 1", "a string and an int have no order"),
        ("9223372036854775807 + 1 > 0", "an integer is too large, or divided by zero"),
        ("1 / 0 == 1", "an integer is too large, or divided by zero"),
        ("'x'.y", "`y` is asked of a string, which has no fields"),
        ("b'x' == b'x'", "bytes are not supported in conditions"),
        ("1 && true", "`&&`, `||` and `!` take bools, not an int"),
    ] {
        assert_eq!(on(condition, &[A]).expect_err(condition).to_string(), message, "{condition}");
    }
    let syntax = on("resources.exists(r, r.kind ==)", &[]).expect_err("half an expression");
    assert!(syntax.to_string().starts_with("it is no CEL expression: line 1, column "), "{syntax}");
}

#[test]
fn evaluation_ends_in_time_and_space() {
    let many = vec!["kind: A\n"; 3000];
    let cubic = "resources.all(a, resources.all(b, resources.all(c, a == c)))";
    assert_eq!(on(cubic, &many), Err(ConditionError::Steps));
    let doubling = format!("[resources]{}.size() > 0", ".map(a, a + a)".repeat(60));
    assert!(matches!(on(&doubling, &many), Err(ConditionError::Room | ConditionError::Steps)));
    let text = format!("['0123456789abcdef']{}.size() > 0", ".map(a, a + a)".repeat(60));
    assert_eq!(on(&text, &[]), Err(ConditionError::Room));
    // An error that ends the evaluation is made good by nothing.
    assert_eq!(on(&format!("{cubic} || true"), &many), Err(ConditionError::Steps));
}

#[test]
fn a_filter_of_many_resources_takes_linear_work() {
    let many = vec!["kind: A\n"; 20_000];
    assert_eq!(on("resources.filter(r, r.kind == 'A').map(r, r.kind).size() == 20000", &many), Ok(true));
}

#[test]
fn hostile_expressions_are_errors() {
    assert_eq!(on(&"x".repeat(MAX_TEXT + 1), &[]), Err(ConditionError::TooLong));
    for part in ["(", "[", "{", "!", "-", "a.", "a[", "1+", "true&&", "true?", "\"", "'''", "\u{0}", "\\", "f(", "0x"] {
        let text = part.repeat(MAX_TEXT / part.len());
        assert!(on(&text, &[]).is_err(), "{part}");
    }
    for open in ["(", "["] {
        let close = if open == "(" { ")" } else { "]" };
        let deep = format!("{}1{}", open.repeat(2000), close.repeat(2000));
        assert!(on(&deep, &[]).is_err());
    }
    assert!(on(&format!("resources{}", ".a".repeat(2000)), &[]).is_err());
    assert!(on(&format!("1{} == 1", "+1".repeat(2000)), &[]).is_err());
}
