use super::{MAP, MAPS, constraint, failure, indented, messages, says, template};

#[test]
fn the_policy_sees_the_review_and_no_more() {
    let rego = "violation[{\"msg\": m}] {
  r := input.review
  m := sprintf(\"%v|%v|%v|%v|%v\", [r.kind, r.name, r.namespace, r.object.data, input.parameters])
}";
    assert_eq!(
        says(rego),
        ["{\"group\": \"\", \"kind\": \"ConfigMap\", \"version\": \"v1\"}|map|default|{\"a\": \"b\"}|{}"]
    );
}

#[test]
fn builtins_of_the_first_version_are_there() {
    for condition in [
        "re_match(\"^m.p$\", input.review.name)",
        "any([false, true])",
        "all({true})",
        "not all([true, false])",
        "not any([])",
        "all([])",
        "cast_string(\"a\") == \"a\"",
        "not cast_string(1)",
        "cast_array({1}) == [1]",
        "cast_set([1, 1]) == {1}",
        "set_diff({1, 2}, {2}) == {1}",
        "net.cidr_overlap(\"10.0.0.0/8\", \"10.1.0.0/16\")",
        "not net.cidr_overlap(\"10.0.0.0/8\", \"11.1.0.0/16\")",
        "net.cidr_contains(\"10.0.0.0/8\", \"10.1.0.0/16\")",
        "regex.match(\"^\\\\d{1,3}(\\\\.\\\\w{1,63})*$\", \"12.abc\")",
        "regex.split(\",\\\\s*\", \"a, b\") == [\"a\", \"b\"]",
        "regex.find_n(\"[a-c]\", \"xaybzc\", 2) == [\"a\", \"b\"]",
        "regex.find_all_string_submatch_n(\"(a)(b)?\", \"ab\", -1) == [[\"ab\", \"a\", \"b\"]]",
        "not regex.is_valid(\"(\")",
        "glob.match(\"*.example.com\", [\".\"], \"api.example.com\")",
        "startswith(input.review.name, \"m\")",
        "trim_prefix(\"abc\", \"a\") == \"bc\"",
        "units.parse_bytes(\"1Ki\") == 1024",
        "to_number(\"3\") == 3",
        "json.unmarshal(\"[1]\") == [1]",
        "semver.compare(\"1.2.0\", \"1.10.0\") == -1",
    ] {
        let rego = format!("violation[{{\"msg\": \"yes\"}}] {{ {condition} }}");
        assert_eq!(says(&rego), ["yes"], "{condition}");
    }
}

#[test]
fn a_builtin_that_fails_makes_its_expression_undefined() {
    assert_eq!(says("violation[{\"msg\": \"x\"}] { to_number(\"no\") }"), Vec::<String>::new());
    assert_eq!(says("violation[{\"msg\": \"x\"}] { not re_match(\"(\", \"no\") }"), ["x"]);
    assert_eq!(says("violation[{\"msg\": \"x\"}] { not to_number(\"no\") }"), ["x"]);
}

#[test]
fn a_message_is_never_lost_over_its_format() {
    let rego =
        |format: &str, args: &str| format!("violation[{{\"msg\": m}}] {{ m := sprintf(\"{format}\", [{args}]) }}");
    for (format, args, expected) in [
        ("%v %s %d", "{1, 2}, \\\"a\\\", 3", "{1, 2} a 3"),
        ("%d", "\\\"a\\\"", "%!d(string=a)"),
        ("%v", "", "%!v(MISSING)"),
        ("a", "1", "a%!(EXTRA int=1)"),
        ("%q|%5d|%-4s|%05d|%x", "\\\"a\\\", 7, \\\"b\\\", -42, 255", "\"a\"|    7|b   |-0042|ff"),
        ("%.2f %v", "1.5, 2.25", "1.50 2.25"),
        ("%v", "set()", "set()"),
        ("100%% %", "", "100% %!(NOVERB)"),
    ] {
        assert_eq!(says(&rego(format, &args.replace("\\\"", "\""))), [expected], "{format}");
    }
}

#[test]
fn libraries_are_at_hand_and_must_be_called_so() {
    let with = |package: &str| {
        template("import data.lib.names\nviolation[{\"msg\": m}] { names.bad(input.review.name); m := \"bad\" }")
            + &format!("    libs:\n    - |\n      package {package}\n      bad(name) {{ name == \"map\" }}\n")
    };
    assert_eq!(messages(&[&with("lib.names"), &constraint(MAPS), MAP]), ["bad"]);
    let text = failure(&[&with("names"), &constraint(MAPS), MAP]);
    assert!(text.contains("`libs[0]` has package `names`"), "{text}");
}

#[test]
fn the_newer_rego_is_read_where_it_is_asked_for() {
    let template = template("violation contains {\"msg\": \"new\"} if { input.review.name == \"map\" }");
    let at = template.find("    rego:").unwrap();
    let (head, rego) = template.split_at(at);
    let rego = indented(rego, "      ");
    let code = format!(
        "{head}    code:\n    - engine: Rego\n      source:\n        version: v1\n{}",
        rego.replacen("      ", "    ", 1)
    );
    assert_eq!(messages(&[&code, &constraint(MAPS), MAP]), ["new"]);
}

#[test]
fn policies_with_equal_packages_do_not_meet() {
    let other = template("violation[{\"msg\": \"other\"}] { true }").replace("olicy}", "olicy2}");
    let second = constraint(MAPS).replace("kind: Policy", "kind: Policy2");
    let first = template("violation[{\"msg\": \"one\"}] { true }");
    assert_eq!(messages(&[&first, &other, &constraint(MAPS), &second, MAP]), ["one", "other"]);
}

#[test]
fn the_inventory_holds_every_object_by_place() {
    let rego = "violation[{\"msg\": m}] {
  other := data.inventory.namespace[ns][\"v1\"][\"ConfigMap\"][name]
  name != input.review.name
  other.data.a == input.review.object.data.a
  m := sprintf(\"%v/%v in %v\", [ns, name, [n | data.inventory.cluster[\"v1\"][\"Namespace\"][n]]])
}";
    let other = MAP.replace("name: map", "name: other");
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n";
    assert_eq!(
        messages(&[&template(rego), &constraint(MAPS), MAP, &other, namespace]),
        ["default/other in [\"default\"]", "default/map in [\"default\"]"]
    );
}

#[test]
fn values_are_those_of_json() {
    let map = "apiVersion: v1
kind: ConfigMap
metadata: {name: map}
base: &base {x: 1}
data: {int: 3, hex: 0x10, float: 1.0, half: 0.5, yes: true, nothing: ~, text: '3', date: 2001-01-01, alias: *base, <<: *base}
";
    let rego = "violation[{\"msg\": m}] { m := sprintf(\"%v\", [input.review.object.data]) }";
    assert_eq!(
        messages(&[&template(rego), &constraint(MAPS), map]),
        ["{\"alias\": {\"x\": 1}, \"date\": \"2001-01-01\", \"float\": 1, \"half\": 0.5, \"hex\": 16, \"int\": 3, \
          \"nothing\": null, \"text\": \"3\", \"x\": 1, \"yes\": true}"]
    );
}
