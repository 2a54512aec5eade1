//! Structure, decoded text, types and equality.

use portico_krm::yaml::{ScalarType, Tree, plain_is_ambiguous, plain_type, value_eq};

use crate::support::{outline, parse, try_parse};

fn check(text: &str, expected: &str) {
    assert_eq!(outline(&parse(text)), expected, "of {text:?}");
}

#[test]
fn block_collections_nest_by_indentation() {
    check("a:\n  b: 1\n  c:\n  - d\n  - - e\n    - f\n  -\n    g: h\n", "{a: {b: 1, c: [d, [e, f], {g: h}]}}");
    check("- a: 1\n  b: 2\n-   c: 3\n", "[{a: 1, b: 2}, {c: 3}]");
    check("a:\nb:\n- \n-\nc: \n", "{a: , b: [, ], c: }");
    check("? a\n: b\n? - c\n  - d\n: e\n? f\n", "{a: b, [c, d]: e, f: }");
}

#[test]
fn flow_collections_hold_pairs_and_trailing_commas() {
    check("[a, 'b', \"c\", [], {}, d: e, {f: g,},]", "[a, 'b, \"c, [], {}, {d: e}, {f: g}]");
    check("{a, b: , ? c : d, \"e\":f}", "{a: , b: , c: d, \"e: f}");
    check("x: {a:b, http://c/d}", "{x: {a:b: , http://c/d: }}");
}

#[test]
fn scalars_are_decoded_as_their_style_says() {
    check("a: 'it''s'\nb: \"\\t\\x41\\u00e9\\U0001F600\\\\\\\"\\n\"\n", "{a: 'it\\'s, b: \"\\tAé😀\\\\\\\"\\n}");
    check("a: one\n  two\n\n  three\n", "{a: one two\\nthree}");
    check("a: 'one\n  two\n\n  three '\n", "{a: 'one two\\nthree }");
    check("a: \"one \\\n  two\\n\n  x\"\n", "{a: \"one two\\n x}");
    check("a: |\n  x\n   y\n\nb: |-\n  x\nc: |+\n  x\n\n", "{a: |x\\n y\\n, b: |x, c: |x\\n\\n}");
    check("a: >\n  x\n  y\n\n  z\n   w\n", "{a: >x y\\nz\\n w\\n}");
    check("a: |2\n    x\n", "{a: |  x\\n}");
    check("a: x #y\nb: x#y\nc: x:y:z\n", "{a: x, b: x#y, c: x:y:z}");
}

#[test]
fn anchors_aliases_and_tags_are_kept_and_never_expanded() {
    check("a: &x {b: 1}\nc: *x\n<<: *x\n*x : d\n", "{a: &x {b: 1}, c: *x, <<: *x, *x: d}");
    check("a: !!str 1\nb: !t &y z\nc: !<tag:yaml.org,2002:int> 3\nd: !<tag:e.com,1:f> g\n", {
        "{a: !!str 1, b: &y !t z, c: !!int 3, d: !<tag:e.com,1:f> g}"
    });
    check("a: ! 12\n", "{a: 12}");
    let bomb = "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n";
    check(bomb, "{a: &a [x, x], b: &b [*a, *a], c: &c [*b, *b]}");
}

#[test]
fn nothing_comments_and_null_are_no_document() {
    for text in ["", "\n\n", "# only\n", "---\n", "--- # x\n", "~\n", "null", "---\n...\n", "!!null x"] {
        assert!(matches!(try_parse(text), Ok(None)), "{text:?}");
    }
    assert!(matches!(try_parse("{}"), Ok(Some(_))));
    assert!(matches!(try_parse("''"), Ok(Some(_))));
}

#[test]
fn plain_scalars_have_the_types_of_go_yaml() {
    use ScalarType::{Bool, Float, Int, Merge, Null, Str, Timestamp};
    for (kind, texts) in [
        (Null, &["", "~", "null", "Null", "NULL"][..]),
        (Bool, &["true", "True", "TRUE", "false", "False", "FALSE"]),
        (
            Int,
            &["0", "-1", "+7", "007", "0o17", "0x1F", "-0b11", "1_000", "18446744073709551615", "-9223372036854775808"],
        ),
        (Float, &["1.", ".5", "1e3", "-1.5E-3", ".inf", "-.Inf", ".NaN", "089", "18446744073709551616", "1_0.5"]),
        (
            Timestamp,
            &["2024-01-31", "2024-2-9", "2024-01-31T10:00:00Z", "2024-01-31 10:00:00.5", "2024-01-31t1:2:3+01:00"],
        ),
        (Merge, &["<<"]),
        (
            Str,
            &[
                "yes",
                "no",
                "on",
                "off",
                "y",
                "n",
                "nUll",
                "tRue",
                "1:30",
                "0x",
                "0o8",
                "1e400",
                ".",
                "-",
                "+",
                "1.2.3",
                "v1",
                "2024-13-01",
                "2023-02-29",
                "2024-01-31T10:00:00",
                "2024-01-31 10:00:00Z",
                "100m",
                "1e",
                ".e1",
                "1__x",
            ],
        ),
    ] {
        for text in texts {
            assert_eq!(plain_type(text), kind, "{text:?}");
        }
    }
}

#[test]
fn quotes_and_tags_decide_over_the_text() {
    use ScalarType::{Binary, Float, Int, Str};
    let tree = parse("a: '1'\nb: !!str 1\nc: !!int '1'\nd: !!float 1\ne: !x 1\nf: !!binary aGk=\ng: |\n  1\n");
    let kinds: Vec<ScalarType> = tree.entries(tree.root()).map(|(_, v)| tree.scalar_type(v)).collect();
    assert_eq!(kinds, [Str, Str, Int, Float, Str, Binary, Str]);
}

#[test]
fn strings_that_read_as_something_else_are_ambiguous() {
    for text in ["yes", "No", "ON", "y", "1", "1.5", "null", "", "~", "true", "2024-01-31", "1:30", "-12:30:45.5", "<<"]
    {
        assert!(plain_is_ambiguous(text), "{text:?}");
    }
    for text in ["yes!", "a", "1:99", "1:", ":1", "12:30:", "v1.2", "None"] {
        assert!(!plain_is_ambiguous(text), "{text:?}");
    }
}

fn equal(a: &str, b: &str) -> bool {
    // Wrapped, since a null alone is no document.
    let (a, b) = (parse(&format!("v:\n {a}\n")), parse(&format!("v:\n {b}\n")));
    let value = |tree: &Tree| tree.get(tree.root(), "v").unwrap();
    value_eq(&a, value(&a), &b, value(&b))
}

#[test]
fn values_are_equal_however_they_are_written() {
    for (a, b) in [
        ("1", "1.0"),
        ("1000", "1e3"),
        ("0x1F", "31"),
        ("0755", "493"),
        ("1_000", "1000"),
        ("3600000", "3.6e+06"),
        (".nan", ".NaN"),
        ("~", "null"),
        ("''", "\"\""),
        ("true", "True"),
        ("a b", "'a b'"),
        ("{a: 1, b: 2}", "{b: 2.0, a: 0x1}"),
        ("{a: 1, '1': 2, 1: 3}", "{1: 3, '1': 2, a: 1}"),
        ("[1, [2]]", "[1.0, [0b10]]"),
        ("!!str 5", "'5'"),
        ("2024-01-31", "'2024-01-31'"),
        ("!!map {a: 1}", "{a: 1}"),
        ("99999999999999999999", "99999999999999999999"),
    ] {
        assert!(equal(a, b), "{a} and {b}");
        assert!(equal(b, a), "{b} and {a}");
    }
}

#[test]
fn values_differ_where_a_reader_would_see_it() {
    for (a, b) in [
        ("3", "'3'"),
        ("1", "2"),
        ("null", "'null'"),
        ("null", "''"),
        ("true", "'true'"),
        ("true", "false"),
        ("[1, 2]", "[2, 1]"),
        ("[1]", "[1, 2]"),
        ("{a: 1}", "{a: 1, b: 2}"),
        ("{a: 1, b: 2}", "{a: 2, b: 1}"),
        ("{1: a}", "{'1': a}"),
        ("!x 1", "1"),
        ("!x [1]", "[1]"),
        ("{}", "[]"),
        ("99999999999999999998", "99999999999999999999"),
        ("a", "A"),
    ] {
        assert!(!equal(a, b), "{a} and {b}");
        assert!(!equal(b, a), "{b} and {a}");
    }
    let (a, b) = (parse("- &x 1\n- &y 2\n- *x\n"), parse("- &x 1\n- &y 2\n- *y\n"));
    assert!(!value_eq(&a, a.root(), &b, b.root()));
}
