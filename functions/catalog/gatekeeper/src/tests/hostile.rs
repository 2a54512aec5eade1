use super::{MAP, MAPS, constraint, failure, messages, says, template};

#[test]
fn a_rule_or_function_that_needs_itself_is_an_error() {
    let text = failure(&[&template("p { q }\nq { p }\nviolation[{\"msg\": \"x\"}] { p }"), &constraint(MAPS), MAP]);
    assert!(text.contains("recursion detected"), "{text}");
    for rego in [
        "f(x) = y { y := f(x) }\nviolation[{\"msg\": f(1)}] { true }",
        "f(x) = y { y := g(x) }\ng(x) = y { y := data.policy.f(x) }\nviolation[{\"msg\": f(1)}] { true }",
    ] {
        let text = failure(&[&template(rego), MAP]);
        assert!(text.contains("calls itself"), "{text}");
    }
}

#[test]
fn deep_expressions_are_refused() {
    let deep = format!("violation[{{\"msg\": \"x\"}}] {{ x := {}1{} }}", "[".repeat(5000), "]".repeat(5000));
    let text = failure(&[&template(&deep), &constraint(MAPS), MAP]);
    assert!(text.ends_with("`rego`, line 2: brackets are nested more than 20 deep"), "{text}");
}

#[test]
fn what_calls_the_outside_does_not_compile() {
    for (call, reason) in [
        ("http.send({})", "functions have no network"),
        ("external_data({})", "functions have no network"),
        ("opa.runtime()", "the same package must give the same results everywhere"),
        ("time.now_ns()", "the same package must give the same results everywhere"),
    ] {
        let rego = format!("violation[{{\"msg\": \"x\"}}] {{ false; {call} }}");
        let text = failure(&[&template(&rego), MAP]);
        let name = call.split('(').next().unwrap();
        assert_eq!(text, format!("ConstraintTemplate `policy`: `rego`, line 2: `{name}` is not available: {reason}"));
    }
}

#[test]
fn an_unknown_function_is_told() {
    for (call, name) in [("nope(1)", "nope"), ("data.lib.a.f(1)", "data.lib.a.f"), ("json.nope(1)", "json.nope")] {
        let text = failure(&[&template(&format!("violation[{{\"msg\": \"x\"}}] {{ {call} }}")), MAP]);
        assert_eq!(text, format!("ConstraintTemplate `policy`: `rego`, line 2: there is no function `{name}`"));
    }
}

#[test]
fn a_violation_without_a_message_is_an_error() {
    for head in ["{\"message\": \"x\"}", "\"x\"", "{\"msg\": 1}"] {
        let text = failure(&[&template(&format!("violation[{head}] {{ true }}")), &constraint(MAPS), MAP]);
        assert!(text.contains("`msg`"), "{text}");
    }
    let text = failure(&[&template("violation = 1 { true }"), &constraint(MAPS), MAP]);
    assert!(text.contains("`violation` must be a set of objects"), "{text}");
}

#[test]
fn garbage_in_the_place_of_a_policy_is_an_error() {
    for rego in
        ["\u{0}", "violation[", "}{", "\"", "`", "package x", "default violation = 1 2", "%²", "violation { _ }"]
    {
        let (results, code) = super::run(&[&template(rego).replace('\u{0}', "\\0"), &constraint(MAPS), MAP]);
        assert_eq!((results.len(), code), (1, 1), "{rego}");
    }
}

#[test]
fn formats_and_widths_are_bounded() {
    assert_eq!(says("violation[{\"msg\": m}] { m := sprintf(\"%99999999999d\", [1]) }")[0].len(), 10_000);
    assert_eq!(
        messages(&[&template("violation[{\"msg\": m}] { m := sprintf(\"%²\", [1]) }"), &constraint(MAPS), MAP]),
        ["%!²(int=1)"]
    );
}
