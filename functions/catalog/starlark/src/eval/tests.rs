use std::cell::RefCell;

use starlark::environment::Module;

use super::{Script, run};
use crate::error::ScriptError;

/// What the script prints, or its error.
fn output(source: &str) -> Result<String, ScriptError> {
    let lines = RefCell::new(Vec::new());
    Module::with_temp_heap(|module| {
        run(&module, &Script { name: "my-script".to_owned(), source: source.to_owned() }, &lines).map(drop)
    })?;
    Ok(lines.into_inner().join("\n"))
}

pub(crate) fn prints(source: &str) -> String {
    output(source).unwrap_or_else(|e| panic!("{e}\n{:?}", e.trace))
}

pub(crate) fn fails(source: &str) -> String {
    output(source).expect_err("the script must fail").message
}

#[test]
fn what_upstream_allows_beyond_bazels_dialect() {
    assert_eq!(prints("x = set(['foo', 'bar'])\nprint(x)"), "set([\"foo\", \"bar\"])");
    assert_eq!(prints("def fib(n):\n  return n if n < 2 else fib(n-1) + fib(n-2)\nprint(fib(9))"), "34");
    assert_eq!(
        prints("x = 0\nfor i in range(4):\n  if i % 2:\n    x += i\nprint(x)\nx = 'again'\nprint(x)"),
        "4\nagain"
    );
    assert_eq!(prints("if True:\n\tx = 1\n\tif x:\n\t\tprint(x)"), "1");
    assert_eq!(prints("def f(*, a, b=2):\n  return a + b\nprint(f(a=1))"), "3");
}

#[test]
fn values_print_as_in_go() {
    assert_eq!(
        prints("print('a', 1, 1.0, True, None, [1, 'x'], (1,), {'k': 'v'})"),
        "a 1 1.0 True None [1, \"x\"] (1,) {\"k\": \"v\"}"
    );
    assert_eq!(prints("print(1 << 80, 7 // 2, -7 // 2, -7 % 3, 7 / 2)"), "1208925819614629174706176 3 -4 2 3.5");
    assert_eq!(prints("print('a', 'b', sep='-')\nprint()"), "a-b\n");
    assert_eq!(prints("print('%s is %d and %r' % ('x', 3, 'y'), '{} {b}'.format(1, b=2))"), "x is 3 and \"y\" 1 2");
    assert_eq!(
        prints("print(type(1), type('') , type([]), type({}), type(None), type(set()))"),
        "int string list dict NoneType set"
    );
    assert_eq!(
        prints("print([x * 2 for x in range(5) if x % 2], {k: len(k) for k in ['a', 'bb']})"),
        "[2, 6] {\"a\": 1, \"bb\": 2}"
    );
}

#[test]
fn errors_speak_as_gos_evaluator_does() {
    for (source, message) in [
        ("fail('a', 'b', ['x'])", "fail: a b [\"x\"]"),
        ("fail('a', 'b', sep='')", "fail: ab"),
        ("fail('it is prohibited')", "fail: it is prohibited"),
        ("x = {'a': 1}\nx['b']", "key \"b\" not in dict"),
        ("x = {1: 1}\nx[2]", "key 2 not in dict"),
        ("x = [1]\nx[5]", "index 5 out of range"),
        ("x = 1\nx()", "invalid call of non-function (int)"),
        ("'a'.foo", "string has no .foo field or method"),
        ("'a' + 1", "unknown binary op: string + int"),
        ("None['x']", "unhandled index operation NoneType[string]"),
        ("for x in 5: pass", "int value is not iterable"),
        ("{[]: 1}", "unhashable type: list"),
        ("a, b = [1, 2, 3]", "too many values to unpack (got 3, want 2)"),
        ("a, b, c = [1, 2]", "not enough values to unpack (got 2, want 3)"),
        ("1 // 0", "floored division by zero"),
        ("1 / 0", "floating-point division by zero"),
        ("1 % 0", "integer modulo by zero"),
        ("x = whatever", "my-script:1:5: undefined: whatever"),
        ("value = 1\nx = valeu", "my-script:2:5: undefined: valeu (did you mean value?)"),
        ("def f():\n  print(x)\n  x = 1\nf()", "local variable x referenced before assignment"),
        ("x = 1 +", "my-script:1:8: got end of file, want primary expression"),
        ("load('nope.star', 'nope')", "cannot load nope.star: there is no such module"),
        ("load('krmfn.star', 'nope')", "load: name nope not found in module"),
    ] {
        assert_eq!(fails(source), message, "of {source:?}");
    }
}

#[test]
fn a_trace_tells_where_unless_the_message_does() {
    let error = output("def f(d):\n  return d['x']\n\ndef g():\n  f({})\n\ng()\n").unwrap_err();
    assert_eq!(
        error.trace.as_deref(),
        Some(
            "Traceback (most recent call last):\n  my-script:7:1: in <toplevel>\n  my-script:5:3: in g\n  my-script:2:10: in f\nError: key \"x\" not in dict"
        )
    );
    assert_eq!(output("fail('x')").unwrap_err().trace, None);
    assert_eq!(output("x = (").unwrap_err().trace, None);
}

#[test]
fn endless_recursion_is_an_error() {
    let error = output("def f(n):\n  return f(n + 1)\nf(0)").unwrap_err();
    assert_eq!(
        error.message,
        format!("starlark call stack overflow: more than {} calls are active at once", super::CALLS)
    );
    let trace = error.trace.unwrap();
    assert!(trace.contains("more calls …"), "{trace}");
    assert!(trace.lines().count() < 24, "{trace}");
    assert_eq!(prints(&format!("def f(n):\n  return 0 if n == 0 else f(n - 1)\nprint(f({}))", super::CALLS - 3)), "0");
}

#[test]
fn resources_can_be_matched() {
    let source = "load('krmfn.star', 'krmfn')\nr = {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'a', 'namespace': 'n'}}\n\
        print(krmfn.match_gvk(r, 'apps/v1', 'Deployment'), krmfn.match_gvk(r, 'v1', 'Deployment'), krmfn.match_gvk(r, 'apps/v1', 'Pod'))\n\
        print(krmfn.match_name(r, 'a'), krmfn.match_name(r, 'b'), krmfn.match_namespace(r, 'n'), krmfn.match_namespace({}, 'n'))";
    assert_eq!(prints(source), "True False False\nTrue False True False");
}
