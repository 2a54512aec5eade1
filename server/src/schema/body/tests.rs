//! What is read of a body, and where reading stops.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Body, BodyError, Format, Limits};

fn json_body(text: &str) -> Result<Body, BodyError> {
    Body::read(text.as_bytes(), Format::Json, &Limits::default())
}

fn yaml(text: &str) -> Result<Value, BodyError> {
    Body::read(text.as_bytes(), Format::Yaml, &Limits::default()).map(|body| body.value)
}

#[test]
fn fields_that_stand_twice_are_named_and_the_last_counts() {
    let body = json_body(r#"{"a": 1, "b": {"c": [{"d": 1, "d": 2}], "c": 3}, "a": 4}"#).unwrap();
    assert_eq!(body.value, json!({"a": 4, "b": {"c": 3}}));
    assert_eq!(body.duplicates, ["b.c[0].d", "b.c", "a"]);
    let deep = json_body(r#"[[{"x": 1}, {"y": 1, "y": 2}], {"z": 1, "z": 1}]"#).unwrap();
    assert_eq!(deep.duplicates, ["[0][1].y", "[1].z"]);
    let many: String = (0..500).map(|_| "\"k\": 1,").collect();
    assert_eq!(json_body(&format!("{{{many} \"k\": 2}}")).unwrap().duplicates.len(), 100);
}

#[test]
fn numbers_keep_what_json_can_say() {
    let body = json_body("[18446744073709551615, -9223372036854775808, 1.5, 1e3, 36893488147419103232]").unwrap();
    assert_eq!(body.value, json!([u64::MAX, i64::MIN, 1.5, 1000.0, 36_893_488_147_419_103_232.0]));
    for wrong in ["1e999", "NaN", "Infinity", "01", "[1,]", "{\"a\" 1}", "\"\u{1}\"", "{} x", "'a'"] {
        let error = json_body(wrong).unwrap_err();
        assert!(matches!(error, BodyError::Json { .. }), "{wrong}: {error}");
        assert_eq!(error.status(), (400, "BadRequest"));
    }
    assert!(Body::read(b"\"\xff\"", Format::Json, &Limits::default()).is_err(), "no UTF-8");
    assert!(Body::read(b"a: \xff", Format::Yaml, &Limits::default()).is_err(), "no UTF-8");
}

#[test]
fn yaml_says_what_json_says() {
    let text = "a: 1\nb: [x, yes, 'no', null, ~, 1.5, 0x10, true]\n2024-01-31: 2024-01-31\n\"\": |\n  text\n";
    let expected = json!({
        "a": 1, "b": ["x", "yes", "no", null, null, 1.5, 16, true], "2024-01-31": "2024-01-31", "": "text\n",
    });
    assert_eq!(yaml(text).unwrap(), expected);
    assert_eq!(yaml("{\"a\": 1}").unwrap(), json!({"a": 1}));
    assert_eq!(yaml("{a: 1}").unwrap(), json!({"a": 1}));
    assert_eq!(
        yaml("base: &b {x: 1, y: 2}\nall: {<<: *b, y: 3}\nagain: *b\n").unwrap(),
        json!({
            "base": {"x": 1, "y": 2}, "all": {"y": 3, "x": 1}, "again": {"x": 1, "y": 2},
        })
    );
}

#[test]
fn yaml_that_no_json_can_say_is_refused_with_its_place() {
    for (text, part) in [
        ("a: .nan\n", "line 1, column 4: JSON has no such number"),
        ("a: -.inf\n", "JSON has no such number"),
        ("a: 1\na: 2\n", "line 2, column 1: mapping key `a` is already defined"),
        ("? [x]\n: 1\n", "a key must be a string"),
        ("a: *x\n", "line 1"),
        ("a: 1\n---\nb: 2\n", "document"),
        ("\tx: 1\n", "line 1"),
        ("<<: 1\n", "`<<` needs a mapping"),
    ] {
        let error = yaml(text).unwrap_err();
        assert!(matches!(error, BodyError::Yaml { .. }), "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
    for nothing in ["", "  \n", "# nothing\n", "null\n"] {
        assert_eq!(yaml(nothing).unwrap_err(), BodyError::Empty);
    }
}

#[test]
fn bytes_are_bounded_also_when_aliases_are_written_out() {
    let limits = Limits { bytes: 100, ..Limits::default() };
    let long = format!("\"{}\"", "x".repeat(100));
    assert_eq!(Body::read(long.as_bytes(), Format::Json, &limits).unwrap_err(), BodyError::TooLarge { limit: 100 });
    let bomb = "a: &a aaaaaaaaaaaaaaaaaaaa\nb: [*a, *a, *a, *a, *a, *a]\n";
    let error = Body::read(bomb.as_bytes(), Format::Yaml, &limits).unwrap_err();
    assert_eq!((error.clone(), error.status().0), (BodyError::TooLarge { limit: 100 }, 413));
}

#[test]
fn values_are_bounded_also_when_aliases_are_written_out() {
    let limits = Limits { nodes: 1_000, ..Limits::default() };
    let list = format!("[{}0]", "0,".repeat(1_000));
    assert_eq!(Body::read(list.as_bytes(), Format::Json, &limits).unwrap_err(), BodyError::TooMany { limit: 1_000 });
    let mut bomb = "a0: &a0 [1, 2]\n".to_owned();
    for i in 1..20 {
        let _ = writeln!(bomb, "a{i}: &a{i} [*a{p}, *a{p}, *a{p}]", p = i - 1);
    }
    assert_eq!(Body::read(bomb.as_bytes(), Format::Yaml, &limits).unwrap_err(), BodyError::TooMany { limit: 1_000 });
    assert!(Body::read(bomb.as_bytes(), Format::Yaml, &Limits::default()).is_err());
}

#[test]
fn depth_is_bounded() {
    for format in [Format::Json, Format::Yaml] {
        let nested = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
        let read = |n: usize, limits: &Limits| Body::read(nested(n).as_bytes(), format, limits);
        assert!(read(64, &Limits::default()).is_ok());
        let error = read(65, &Limits::default()).unwrap_err();
        assert_eq!(error.status().0, 400, "{error}");
        assert!(error.to_string().contains("nested") || error.to_string().contains("depth"), "{format:?}: {error}");
        // Whatever is asked for, the readers' own bound is not met.
        let wide = Limits { depth: 100_000, ..Limits::default() };
        assert!(read(120, &wide).is_ok());
        assert!(read(5_000, &wide).is_err());
    }
    assert!(yaml("a: &a [*a]\n").is_err(), "an alias in itself");
}

#[test]
fn the_content_type_says_the_format() {
    assert_eq!(Format::of(None), Ok(Format::Json));
    assert_eq!(Format::of(Some("application/json; charset=UTF-8")), Ok(Format::Json));
    assert_eq!(Format::of(Some("application/yaml")), Ok(Format::Yaml));
    let error = Format::of(Some("application/vnd.kubernetes.protobuf")).unwrap_err();
    assert_eq!(error.status(), (415, "UnsupportedMediaType"));
    assert!(error.to_string().contains("send one of `application/json`"), "{error}");
}
