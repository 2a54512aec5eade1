//! The schema of a constraint's parameters: what Kubernetes' `openAPIV3Schema` says, checked and filled in.
//!
//! Such a schema is not JSON schema: `nullable`, `x-kubernetes-int-or-string` and defaults are its own, references are
//! forbidden. The keywords are those that structural schemas may have.

use regorus::Value;

use crate::value::{is_missing, rego_text, text};

/// Most faults that are told.
const FAULTS: usize = 10;

/// Fills in defaults, then checks; gives the faults, each with the path of its field. Recursion is as deep as schema and
/// value are both nested, which the reader bounds.
pub(crate) fn apply(schema: &Value, value: &mut Value, path: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if matches!(schema, Value::Object(_)) {
        fill(schema, value);
        check(schema, value, path, &mut faults);
    }
    let more = faults.len().saturating_sub(FAULTS);
    faults.truncate(FAULTS);
    if more > 0 {
        faults.push(format!("and {more} more"));
    }
    faults
}

/// Sets what is missing to its default, as an API server does.
fn fill(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(_) => {
            let Value::Object(properties) = &schema["properties"] else {
                fill_rest(schema, value);
                return;
            };
            for (key, property) in properties.iter_sorted() {
                let Ok(fields) = value.as_object_mut() else { return };
                let null = matches!(fields.get(key), Some(Value::Null)) && !is_true(&property["nullable"]);
                let default = &property["default"];
                if (null || !fields.contains_key(key)) && !matches!(default, Value::Undefined) {
                    fields.insert(key.clone(), default.clone());
                }
                if let Some(field) = fields.get_mut(key) {
                    fill(property, field);
                }
            }
            fill_rest(schema, value);
        }
        Value::Array(_) => {
            if let Ok(elements) = value.as_array_mut() {
                elements.iter_mut().for_each(|element| fill(&schema["items"], element));
            }
        }
        _ => {}
    }
}

/// Below `additionalProperties`.
fn fill_rest(schema: &Value, value: &mut Value) {
    let additional = &schema["additionalProperties"];
    if !matches!(additional, Value::Object(_)) {
        return;
    }
    let Ok(fields) = value.as_object_mut() else { return };
    for (key, field) in fields.iter_mut() {
        if matches!(schema["properties"][key], Value::Undefined) {
            fill(additional, field);
        }
    }
}

fn check(schema: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
    if !matches!(schema, Value::Object(_)) {
        return;
    }
    if matches!(value, Value::Null) && is_true(&schema["nullable"]) {
        return;
    }
    let int_or_string = is_true(&schema["x-kubernetes-int-or-string"]);
    if int_or_string && !is_integer(value) && !matches!(value, Value::String(_)) {
        faults.push(format!("`{path}` must be an integer or a string, but it is {}", shown(value)));
        return;
    }
    let wanted = text(&schema["type"]);
    if !int_or_string && !has_type(value, wanted) {
        let article = if matches!(wanted, "array" | "integer" | "object") { "an" } else { "a" };
        faults.push(format!("`{path}` must be {article} {wanted}, but it is {}", shown(value)));
        return;
    }
    if let Value::Array(allowed) = &schema["enum"]
        && !allowed.contains(value)
    {
        let allowed: Vec<String> = allowed.iter().map(|one| format!("`{}`", shown(one))).collect();
        faults.push(format!("`{path}` must be one of {}, but it is {}", allowed.join(", "), shown(value)));
    }
    match value {
        Value::Object(_) => check_object(schema, value, path, faults),
        Value::Array(_) => check_array(schema, value, path, faults),
        Value::String(value) => check_string(schema, value, path, faults),
        Value::Number(_) => check_number(schema, value, path, faults),
        _ => {}
    }
    check_combinations(schema, value, path, faults);
}

fn check_object(schema: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
    let Value::Object(fields) = value else { return };
    if let Value::Array(required) = &schema["required"] {
        for name in required.iter().filter(|name| !fields.contains_key(name)) {
            faults.push(format!("`{path}.{}` is missing", text(name)));
        }
    }
    length(schema, ["minProperties", "maxProperties"], fields.len(), path, "fields", faults);
    let properties = &schema["properties"];
    for (key, field) in fields.iter_sorted() {
        let path = format!("{path}.{}", text(key));
        match (&properties[key], &schema["additionalProperties"]) {
            (Value::Undefined, Value::Bool(false)) => faults.push(format!("`{path}` is not a field of the schema")),
            (Value::Undefined, additional) => check(additional, field, &path, faults),
            (property, _) => check(property, field, &path, faults),
        }
    }
}

fn check_array(schema: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
    let Value::Array(elements) = value else { return };
    length(schema, ["minItems", "maxItems"], elements.len(), path, "elements", faults);
    if is_true(&schema["uniqueItems"]) {
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = elements.iter().find(|element| !seen.insert(*element)) {
            faults.push(format!("`{path}` must not hold {} twice", shown(twice)));
        }
    }
    for (at, element) in elements.iter().enumerate() {
        check(&schema["items"], element, &format!("{path}[{at}]"), faults);
    }
}

fn check_string(schema: &Value, value: &str, path: &str, faults: &mut Vec<String>) {
    length(schema, ["minLength", "maxLength"], value.chars().count(), path, "characters", faults);
    if let Value::String(pattern) = &schema["pattern"] {
        match go_regex::compile(pattern) {
            Ok(regex) if !regex.is_match(value) => {
                faults.push(format!("`{path}` must match `{pattern}`, but it is {value:?}"));
            }
            Ok(_) => {}
            Err(_) => faults.push(format!("the schema of `{path}` has the pattern `{pattern}`, which is none")),
        }
    }
}

fn check_number(schema: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
    for (bound, exclusive, fails, words) in [
        ("minimum", "exclusiveMinimum", std::cmp::Ordering::Less, ["greater than", "at least"]),
        ("maximum", "exclusiveMaximum", std::cmp::Ordering::Greater, ["less than", "at most"]),
    ] {
        let limit @ Value::Number(_) = &schema[bound] else { continue };
        let exclusive = is_true(&schema[exclusive]);
        let order = value.cmp(limit);
        if order == fails || (exclusive && order.is_eq()) {
            let words = words[usize::from(!exclusive)];
            faults.push(format!("`{path}` must be {words} {}, but it is {}", shown(limit), shown(value)));
        }
    }
    if let (Ok(value_float), Ok(step)) = (value.as_f64(), schema["multipleOf"].as_f64())
        && step > 0.0
        && (value_float / step).fract() != 0.0
    {
        faults.push(format!("`{path}` must be a multiple of {step}, but it is {}", shown(value)));
    }
}

fn check_combinations(schema: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
    let passes = |schema: &Value| {
        let mut inner = Vec::new();
        check(schema, value, path, &mut inner);
        inner.is_empty()
    };
    if let Value::Array(all) = &schema["allOf"] {
        all.iter().for_each(|schema| check(schema, value, path, faults));
    }
    if let Value::Array(any) = &schema["anyOf"]
        && !any.iter().any(passes)
    {
        faults.push(format!("`{path}` fits none of the forms that its schema allows (`anyOf`)"));
    }
    if let Value::Array(one) = &schema["oneOf"] {
        let count = one.iter().filter(|schema| passes(schema)).count();
        if count != 1 {
            faults.push(format!("`{path}` must fit one of the forms of its schema (`oneOf`), but it fits {count}"));
        }
    }
    let not = &schema["not"];
    if matches!(not, Value::Object(_)) && passes(not) {
        faults.push(format!("`{path}` has the form that its schema forbids (`not`)"));
    }
}

/// Checks a length against a pair of keywords.
fn length(schema: &Value, bounds: [&str; 2], found: usize, path: &str, what: &str, faults: &mut Vec<String>) {
    let bound = |keyword: &str| schema[keyword].as_u64().ok();
    let found = found as u64;
    if let Some(least) = bound(bounds[0]).filter(|least| found < *least) {
        faults.push(format!("`{path}` must have at least {least} {what}, but it has {found}"));
    }
    if let Some(most) = bound(bounds[1]).filter(|most| found > *most) {
        faults.push(format!("`{path}` must have at most {most} {what}, but it has {found}"));
    }
}

fn has_type(value: &Value, wanted: &str) -> bool {
    match wanted {
        "object" => matches!(value, Value::Object(_)),
        "array" => matches!(value, Value::Array(_)),
        "string" => matches!(value, Value::String(_)),
        "boolean" => matches!(value, Value::Bool(_)),
        "number" => matches!(value, Value::Number(_)),
        "integer" => is_integer(value),
        _ => true,
    }
}

fn is_integer(value: &Value) -> bool {
    matches!(value, Value::Number(number) if number.is_integer())
}

fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true))
}

/// A value in a message, cut where it is long.
fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    if is_missing(value) {
        return "null".to_owned();
    }
    let text = rego_text(value);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
