//! Problems in the words of kubeconform, which are those of its JSON Schema library.

use schema_core::{Problem, Type, Value};

/// The message of a problem.
pub(crate) fn message(problem: &Problem) -> String {
    match problem {
        Problem::Never => "false schema".to_owned(),
        Problem::Type { got, want } => {
            // the library does not tell whole numbers from others when it names a value, and sorts types its own way
            let got = if *got == Type::Integer { Type::Number } else { *got };
            let mut want = want.clone();
            want.sort_unstable();
            let want: Vec<&str> = want.iter().map(|want| want.name()).collect();
            format!("got {}, want {}", got.name(), want.join(" or "))
        }
        Problem::Enum(values) if values.iter().any(|value| value.is_array() || value.is_object()) => {
            "'enum' failed".to_owned()
        }
        Problem::Enum(values) => match &values[..] {
            [one] => format!("value must be {}", display(one)),
            several => {
                let values: Vec<String> = several.iter().map(display).collect();
                format!("value must be one of {}", values.join(", "))
            }
        },
        Problem::Constant(value) if value.is_array() || value.is_object() => "'const' failed".to_owned(),
        Problem::Constant(value) => format!("value must be {}", display(value)),
        Problem::Format { got, format, fault } => format!("{} is not valid {format}: {fault}", quote(got)),
        Problem::Required(names) => match &names[..] {
            [one] => format!("missing property {}", quote(one)),
            _ => format!("missing properties {}", quote_all(names)),
        },
        Problem::Additional(names) => format!("additional properties {} not allowed", quote_all(names)),
        Problem::Bound { bound, got, want } => {
            format!("{}: got {}, want {}", bound.keyword(), grouped(*got), grouped(*want))
        }
        Problem::Unique(first, second) => format!("items at {first} and {second} are equal"),
        Problem::Pattern { got, pattern } => format!("{} does not match pattern {}", quote(got), quote(pattern)),
        Problem::Not => "'not' failed".to_owned(),
        Problem::AnyOf => "'anyOf' failed".to_owned(),
        Problem::OneOf(None) => "'oneOf' failed, none matched".to_owned(),
        Problem::OneOf(Some((first, second))) => format!("'oneOf' failed, subschemas {first}, {second} matched"),
    }
}

fn display(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

fn quote_all(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quote(name)).collect();
    names.join(", ")
}

/// A text in single quotes, what can't be printed escaped.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for c in text.chars() {
        match c {
            '\'' => quoted.push_str("\\'"),
            '"' => quoted.push('"'),
            other if other.is_control() || other == '\\' => quoted.extend(other.escape_debug()),
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}

/// A number with commas between its thousands, as the library prints them.
fn grouped(number: f64) -> String {
    let text = number.to_string();
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{fraction}")
}

#[cfg(test)]
mod tests {
    use schema_core::Bound;

    use super::*;

    #[test]
    fn types_come_in_the_order_of_the_library() {
        let problem = Problem::Type { got: Type::String, want: vec![Type::Integer, Type::Null] };
        assert_eq!(message(&problem), "got string, want null or integer");
        let problem = Problem::Type { got: Type::Integer, want: vec![Type::String] };
        assert_eq!(message(&problem), "got number, want string");
    }

    #[test]
    fn names_and_texts_are_quoted() {
        assert_eq!(message(&Problem::Required(vec!["a".into()])), "missing property 'a'");
        assert_eq!(message(&Problem::Required(vec!["a".into(), "b".into()])), "missing properties 'a', 'b'");
        assert_eq!(message(&Problem::Additional(vec!["it's".into()])), r"additional properties 'it\'s' not allowed");
        let problem = Problem::Pattern { got: "a\n\"b\"".into(), pattern: r"^\d$".into() };
        assert_eq!(message(&problem), r#"'a\n"b"' does not match pattern '^\\d$'"#);
    }

    #[test]
    fn values_are_listed() {
        let values = |texts: &[&str]| Problem::Enum(texts.iter().map(|text| Value::from(*text)).collect());
        assert_eq!(message(&values(&["v1"])), "value must be 'v1'");
        assert_eq!(message(&values(&["a", "b"])), "value must be one of 'a', 'b'");
    }

    #[test]
    fn numbers_are_grouped() {
        let problem = |got, want| message(&Problem::Bound { bound: Bound::Maximum, got, want });
        assert_eq!(problem(70000.0, 65535.0), "maximum: got 70,000, want 65,535");
        assert_eq!(problem(-1234.5, 100.0), "maximum: got -1,234.5, want 100");
    }
}
