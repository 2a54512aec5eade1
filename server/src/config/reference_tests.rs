//! `docs/server-configuration.md` stays true: what stands below its mark is made from the file's own description, and a test
//! compares. `PORTICO_BLESS=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::schema;

/// Everything behind this line of the file is made here.
const MARK: &str = "<!-- Below this line: made from the program by `PORTICO_BLESS=1 cargo test -p portico-server --lib reference`. -->\n";

#[test]
fn the_reference_says_what_the_file_takes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/server-configuration.md");
    let text = std::fs::read_to_string(&path).expect("docs/server-configuration.md is readable");
    let (written, made) = text.split_once(MARK).expect("docs/server-configuration.md has the mark");
    let mut fresh = "\n| field | value | meaning |\n| --- | --- | --- |\n".to_owned();
    rows("", &schema(), &mut fresh);
    if std::env::var_os("PORTICO_BLESS").is_some() {
        std::fs::write(&path, format!("{written}{MARK}{fresh}")).expect("docs/server-configuration.md is writable");
        return;
    }
    assert_eq!(made, fresh, "run the tests of this package with PORTICO_BLESS=1");
}

fn rows(path: &str, of: &Value, out: &mut String) {
    let required: Vec<&str> = of["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in of["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let description = property["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let (kind, inner, below) = kind(&path, property);
        let needed = if required.contains(&name.as_str()) { "; needed" } else { "" };
        writeln!(out, "| `{path}` | {kind}{needed} | {description} |").expect("a string takes text");
        if let Some(inner) = inner {
            rows(&below, inner, out);
        }
    }
}

/// What a value is, and what is in it, with the path of that.
fn kind<'a>(path: &str, of: &'a Value) -> (&'static str, Option<&'a Value>, String) {
    // An optional one is itself or null.
    let of = of["anyOf"].as_array().and_then(|any| any.iter().find(|one| one["type"] != "null")).unwrap_or(of);
    let is = |kind: &str| match &of["type"] {
        Value::Array(kinds) => kinds.iter().any(|one| one == kind),
        one => one == kind,
    };
    match of["format"].as_str() {
        Some("bytes") => return ("bytes", None, String::new()),
        Some("time") => return ("time", None, String::new()),
        Some("number") => return ("number", None, String::new()),
        _ => {}
    }
    if of["properties"].get("fuelPerStep").is_some() {
        return ("limits", None, String::new());
    }
    if is("array") {
        let items = &of["items"];
        return if items["properties"].is_object() {
            ("list", Some(items), format!("{path}[]"))
        } else {
            ("list of texts", None, String::new())
        };
    }
    if is("object") {
        return match &of["additionalProperties"] {
            Value::Object(_) => ("mapping", Some(&of["additionalProperties"]), format!("{path}.NAME")),
            _ => ("mapping", Some(of), path.to_owned()),
        };
    }
    match () {
        () if is("boolean") => ("true, false", None, String::new()),
        () if is("integer") => ("number", None, String::new()),
        () => ("text", None, String::new()),
    }
}
