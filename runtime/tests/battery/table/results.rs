//! Functions whose results are not what results are.

use super::outputs::ITEM;
use super::text::{adding, adding_many, program};
use super::{End, Row, row};

/// What the runtime says of results of another shape: where, and what has to be there.
fn refused(name: &str, results: &'static str, path: &str, expected: &str) -> Row {
    row(format!("results: {name}"), move || adding(&format!("results: {results}\n")))
        .ends(End::BadOutput, &["wrote something that is no ResourceList", path, expected])
}

fn accepted(name: &str, results: impl Into<String>) -> Row {
    let results = results.into();
    row(format!("results: {name}"), move || adding(&format!("results: {results}\n")))
}

pub(super) fn rows() -> Vec<Row> {
    vec![
        refused("a number", "7", "`results`", "a list"),
        refused("a word", "fine", "`results`", "a list"),
        refused("an alias to nothing", "*nothing", "nothing", ""),
        refused("a list of numbers", "[1]", "`results[0]`", "a mapping"),
        refused("a list of lists", "[[{message: a}]]", "`results[0]`", "a mapping"),
        refused("a list of nulls", "[{message: a}, ~]", "`results[1]`", "a mapping"),
        refused("items that are a word", "{items: fine}", "`results.items`", "a list"),
        refused("a message that is a mapping", "[{message: {a: b}}]", "`results[0].message`", "a string"),
        refused("a message that is a list", "[{message: [a]}]", "`results[0].message`", "a string"),
        refused("a severity that is a list", "[{message: a, severity: [error]}]", "`results[0].severity`", "a string"),
        refused("a field that is a word", "[{message: a, field: spec}]", "`results[0].field`", "a mapping"),
        refused("a path that is a list", "[{message: a, field: {path: [a]}}]", "`results[0].field.path`", "a string"),
        refused(
            "a resource that is a list",
            "[{message: a, resourceRef: []}]",
            "`results[0].resourceRef`",
            "a mapping",
        ),
        refused("a file that is a word", "[{message: a, file: a.yaml}]", "`results[0].file`", "a mapping"),
        refused(
            "a place that is a word",
            "[{message: a, file: {index: x}}]",
            "`results[0].file.index`",
            "a whole number",
        ),
        refused(
            "a place beyond all bounds",
            "[{message: a, file: {index: 99999999999999999999}}]",
            "`results[0].file.index`",
            "a whole number",
        ),
        refused("tags that are a list", "[{message: a, tags: [a]}]", "`results[0].tags`", "a mapping"),
        refused("a tag that is a list", "[{message: a, tags: {a: [b]}}]", "`results[0].tags.a`", "a string"),
        accepted("a mapping that says nothing", "{a: b}"),
        accepted("null", "~"),
        accepted("an empty mapping each", "[{}, {}]"),
        accepted("a severity that nobody knows", "[{message: a, severity: catastrophe}]"),
        accepted("an error although all is well", "[{message: a, severity: error}]"),
        accepted("a place before the beginning", "[{message: a, file: {path: ../../x, index: -9}}]"),
        accepted("control characters", r#"[{message: "\e[2J\r\0 all is well\nerror: none", severity: "\e[31m"}]"#),
        accepted("characters that turn text around", r#"[{message: "\u202egnp", severity: "\u2066"}]"#),
        accepted("an alias bomb", {
            let lines = (0..25).map(|n| match n {
                0 => "&a0 [x, x]".to_owned(),
                _ => format!("&a{n} [*a{0}, *a{0}]", n - 1),
            });
            format!("[{{message: a, field: {{currentValue: [{}]}}}}]", lines.collect::<Vec<_>>().join(", "))
        }),
        accepted("a message of 1 MB", format!("[{{message: {}}}]", "m".repeat(1 << 20))),
        row("results: 5,000 of them", || adding_many("results:\n", "- message: a\n  severity: warning\n", 5_000)),
        row("results: 5,000 errors", || {
            // Unlike the others it says so with its exit code.
            program(&format!(
                r#"(data (i32.const 40000) "{}")
                   (data (i32.const 41000) "{}")
                   (func (export "_start") (local $left i32)
                     (call $echo)
                     (call $write (i32.const 1) (i32.const 40000) (i32.const 9))
                     (local.set $left (i32.const 5000))
                     (loop $more
                       (call $write (i32.const 1) (i32.const 41000) (i32.const 31))
                       (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                       (br_if $more (local.get $left)))
                     (call $exit (i32.const 1)))"#,
                super::text::escaped(b"results:\n"),
                super::text::escaped(b"- message: a\n  severity: error\n")
            ))
        })
        .ends(End::Exit(1), &["failed with exit code 1: [error]: a; ", " and 4990 more"]),
        row("results behind an item that is none", || {
            adding(&format!("{ITEM}    a: b\n- 7\nresults: [{{message: a}}]\n"))
        })
        .ends(End::BadOutput, &["wrote something that is no ResourceList"]),
    ]
}
