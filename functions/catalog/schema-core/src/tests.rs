//! Schemas of files and the limits.

use std::fs;
use std::path::Path;

use portico_fn::Resource;
use portico_fn::yaml::{ParseLimits, Tree};

use crate::{ClosedOrder, Options, Problem, Schemas, Settings, Type, Violation, check_object};

fn object(yaml: &str) -> Resource {
    let tree = Tree::parse(yaml, &ParseLimits::default()).expect("YAML").expect("a document");
    Resource::new(tree).expect("a mapping")
}

/// Checks a thing with the schemas of a directory.
fn check(directory: &Path, yaml: &str, strict: bool) -> Result<Option<Vec<Violation>>, String> {
    let settings =
        Settings { schema_location: format!("file://{}", directory.display()), strict, ..Settings::default() };
    let options = Options::new(&settings).map_err(|error| error.to_string())?;
    let schemas = Schemas::new(&options, &[]).expect("schemas");
    check_object(&object(yaml), &schemas, ClosedOrder::Last).map_err(|error| error.to_string())
}

fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    directory
}

const THING: &str = "apiVersion: x.example.com/v1\nkind: Thing\nmetadata: {name: t}\nspec: ";

#[test]
fn files_refer_to_themselves_and_to_their_neighbours() {
    let directory = directory(&[
        (
            "master-standalone/thing-x-v1.json",
            r##"{"properties": {"spec": {"$ref": "_definitions.json#/definitions/Spec"}, "kind": {"$ref": "#/definitions/Kind"}},
                "definitions": {"Kind": {"enum": ["Thing"]}}}"##,
        ),
        (
            "master-standalone/_definitions.json",
            r##"{"definitions": {"Spec": {"type": "object", "properties": {"next": {"$ref": "#/definitions/Spec"}}, "additionalProperties": {"type": "integer"}}}}"##,
        ),
        ("master-standalone-strict/thing-x-v1.json", r#"{"additionalProperties": false}"#),
    ]);
    let found = check(directory.path(), &format!("{THING}{{next: {{next: {{a: x}}}}}}"), false).expect("checked");
    let path = ["spec", "next", "next", "a"].map(str::to_owned).to_vec();
    let problem = Problem::Type { got: Type::String, want: vec![Type::Integer] };
    assert_eq!(found, Some(vec![Violation { path, problem }]));
    let strict = check(directory.path(), &format!("{THING}{{}}"), true).expect("checked").expect("a schema");
    assert!(matches!(&strict[..], [Violation { problem: Problem::Additional(names), .. }] if names.len() == 4));
    assert_eq!(check(directory.path(), "apiVersion: v1\nkind: Pod\n", false), Ok(None));
}

#[test]
fn a_reference_that_leads_nowhere_or_to_itself_is_an_error() {
    for (schema, part) in [
        (r##"{"$ref": "#"}"##, "a reference may lead to itself"),
        (r##"{"$ref": "#/definitions/Gone"}"##, "referred to, but not there"),
        (r#"{"$ref": "gone.json"}"#, "gone.json#`: it is referred to, but not there"),
        (r#"{"$ref": "https://example.com/a.json"}"#, "`/$ref` of the schema refers to the network"),
        (r#"{"allOf": [{"type": 3}]}"#, "`/allOf/0/type` of the schema must name a type"),
        ("{", "EOF while parsing"),
        ("[]", "`/` of the schema must be a mapping"),
    ] {
        let directory = directory(&[("master-standalone/thing-x-v1.json", schema)]);
        let error = check(directory.path(), &format!("{THING}{{}}"), false).expect_err(schema);
        assert!(error.contains(part), "{schema}: {error}");
    }
}

#[test]
fn alternatives_in_alternatives_end_at_the_limit_of_steps() {
    let twice = r##"{"anyOf": [{"$ref": "#/definitions/A"}, {"$ref": "#/definitions/A"}]}"##;
    let schema = format!(
        r##"{{"properties": {{"spec": {{"$ref": "#/definitions/A"}}}}, "definitions": {{"A": {{"properties": {{"a": {twice}}}, "required": ["a"]}}}}}}"##
    );
    let directory = directory(&[("master-standalone/thing-x-v1.json", &schema)]);
    let depth = 40;
    let spec = format!("{}{{}}{}", "{a: ".repeat(depth), "}".repeat(depth));
    let error = check(directory.path(), &format!("{THING}{spec}"), false).expect_err("too many steps");
    assert!(error.contains("takes more than 1000000 steps"), "{error}");
}

#[test]
fn every_keyword_finds_its_problem() {
    let cases: &[(&str, &str, &str, &str)] = &[
        (r#"{"const": 1}"#, "1.0", "2", "Constant"),
        (r#"{"enum": ["a", null, 3, {"b": [1]}]}"#, "{b: [1]}", "b", "Enum"),
        (r#"{"minItems": 2}"#, "[1, 2]", "[1]", "MinItems"),
        (r#"{"maxItems": 1}"#, "[1]", "[1, 2]", "MaxItems"),
        (r#"{"uniqueItems": true}"#, "[1, '1', {a: 1}]", "[{a: 1, b: 2}, 0, {b: 2, a: 1.0}]", "Unique(0, 2)"),
        (r#"{"minLength": 2}"#, "äö", "a", "MinLength"),
        (r#"{"maxLength": 2}"#, "äö", "abc", "MaxLength"),
        (r#"{"minimum": 2, "exclusiveMinimum": true}"#, "3", "2", "ExclusiveMinimum"),
        (r#"{"exclusiveMaximum": 3}"#, "2.5", "3", "ExclusiveMaximum"),
        (r#"{"multipleOf": 0.1}"#, "0.3", "0.35", "MultipleOf"),
        (r#"{"minProperties": 1}"#, "{a: 1}", "{}", "MinProperties"),
        (r#"{"maxProperties": 1}"#, "{a: 1}", "{a: 1, b: 1}", "MaxProperties"),
        (
            r#"{"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": false}"#,
            "{ab: x}",
            "{ab: 1}",
            "Type",
        ),
        (r#"{"pattern": "^a"}"#, "ab", "ba", "Pattern"),
        (r#"{"format": "date-time"}"#, "2024-01-31T10:00:00Z", "today", "Format"),
        (r#"{"not": {"type": "string"}}"#, "1", "a", "Not"),
        (r#"{"anyOf": [{"type": "string"}, {"minimum": 3}]}"#, "a", "2", "AnyOf"),
        (r#"{"oneOf": [{"minimum": 3}, {"maximum": 5}]}"#, "6", "4", "OneOf(Some((0, 1)))"),
        (r#"{"allOf": [{"minimum": 3}, {"maximum": 5}]}"#, "4", "6", "Maximum"),
        (r#"{"properties": {"a": false}}"#, "{b: 1}", "{a: 1}", "Never"),
    ];
    for (schema, good, bad, problem) in cases {
        let text = format!(r#"{{"properties": {{"spec": {schema}}}}}"#);
        let directory = directory(&[("master-standalone/thing-x-v1.json", &text)]);
        assert_eq!(check(directory.path(), &format!("{THING}{good}"), false), Ok(Some(Vec::new())), "{schema} {good}");
        let found = check(directory.path(), &format!("{THING}{bad}"), false).expect("checked").expect("a schema");
        assert_eq!(found.len(), 1, "{schema} {bad} {found:?}");
        assert!(format!("{:?}", found[0].problem).contains(problem), "{schema} {bad} {found:?}");
    }
}
