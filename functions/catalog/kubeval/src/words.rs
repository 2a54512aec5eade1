//! Problems in the words of kubeval, which are those of its JSON Schema library.

use portico_fn::Resource;
use schema_core::{Bound, Problem, Schemas, Value, Violation};

/// Where the library puts what is wrong with the whole object.
const ROOT: &str = "(root)";

/// The messages of a violation, each with its field. The field of a property that is missing or unwanted is the name of
/// the property alone.
pub(crate) fn messages(violation: &Violation) -> Vec<(String, String)> {
    let path = if violation.path.is_empty() { ROOT.to_owned() } else { violation.path.join(".") };
    let message = match &violation.problem {
        Problem::Required(names) => {
            return names.iter().map(|name| (name.clone(), format!("{name} is required"))).collect();
        }
        Problem::Additional(names) => {
            let message = |name: &String| format!("Additional property {name} is not allowed");
            return names.iter().map(|name| (name.clone(), message(name))).collect();
        }
        Problem::Never => "False always fails validation".to_owned(),
        Problem::Type { got, want } => {
            let names: Vec<&str> = want.iter().map(|want| want.name()).collect();
            let expected = if names.len() == 1 { names[0].to_owned() } else { format!("[{}]", names.join(",")) };
            format!("Invalid type. Expected: {expected}, given: {}", got.name())
        }
        Problem::Enum(values) => {
            let values: Vec<String> = values.iter().map(Value::to_string).collect();
            format!("{path} must be one of the following: {}", values.join(", "))
        }
        Problem::Constant(value) => format!("{path} does not match: {value}"),
        Problem::Format { format, .. } => format!("Does not match format '{format}'"),
        Problem::Bound { bound, want, .. } => bound_message(*bound, *want),
        Problem::Unique(first, second) => format!("array items[{first},{second}] must be unique"),
        Problem::Pattern { pattern, .. } => format!("Does not match pattern '{pattern}'"),
        Problem::Not => "Must not validate the schema (not)".to_owned(),
        Problem::AnyOf => "Must validate at least one schema (anyOf)".to_owned(),
        Problem::OneOf(_) => "Must validate one and only one schema (oneOf)".to_owned(),
    };
    vec![(path, message)]
}

fn bound_message(bound: Bound, want: f64) -> String {
    match bound {
        Bound::MinProperties => format!("Must have at least {want} properties"),
        Bound::MaxProperties => format!("Must have at most {want} properties"),
        Bound::MinItems => format!("Array must have at least {want} items"),
        Bound::MaxItems => format!("Array must have at most {want} items"),
        Bound::MinLength => format!("String length must be greater than or equal to {want}"),
        Bound::MaxLength => format!("String length must be less than or equal to {want}"),
        Bound::Minimum => format!("Must be greater than or equal to {want}"),
        Bound::Maximum => format!("Must be less than or equal to {want}"),
        Bound::ExclusiveMinimum => format!("Must be greater than {want}"),
        Bound::ExclusiveMaximum => format!("Must be less than {want}"),
        Bound::MultipleOf => format!("Must be a multiple of {want}"),
    }
}

/// The message about an object whose kind has no schema.
pub(crate) fn missing_schema(object: &Resource, schemas: &Schemas<'_>) -> String {
    format!(
        "Validating arbitrary CRDs is not supported yet. You can skip them by setting ignore_missing_schemas or \
         skip_kinds in the function config:\nFailed initializing schema for {} {}: {}, and no CustomResourceDefinition \
         of the package has one",
        object.api_version(),
        object.kind(),
        schemas.sources(),
    )
}

#[cfg(test)]
mod tests {
    use schema_core::Type;

    use super::*;

    fn said(path: &[&str], problem: Problem) -> Vec<(String, String)> {
        messages(&Violation { path: path.iter().map(|step| (*step).to_owned()).collect(), problem })
    }

    fn one(field: &str, message: &str) -> Vec<(String, String)> {
        vec![(field.to_owned(), message.to_owned())]
    }

    #[test]
    fn one_type_stands_alone_and_several_in_brackets() {
        let got = Type::String;
        assert_eq!(
            said(&["spec", "replicas"], Problem::Type { got, want: vec![Type::Integer, Type::Null] }),
            one("spec.replicas", "Invalid type. Expected: [integer,null], given: string")
        );
        assert_eq!(
            said(&[], Problem::Type { got, want: vec![Type::Object] }),
            one("(root)", "Invalid type. Expected: object, given: string")
        );
    }

    #[test]
    fn properties_are_told_one_by_one_as_their_own_field() {
        let names = vec!["selector".to_owned(), "template".to_owned()];
        let expected = [("selector", "selector is required"), ("template", "template is required")]
            .map(|(f, m)| (f.into(), m.into()));
        assert_eq!(said(&["spec"], Problem::Required(names)), expected);
        assert_eq!(
            said(&["spec"], Problem::Additional(vec!["templates".to_owned()])),
            one("templates", "Additional property templates is not allowed")
        );
    }

    #[test]
    fn values_are_listed_as_json() {
        assert_eq!(
            said(&["kind"], Problem::Enum(vec![Value::from("Pod"), Value::from(1)])),
            one("kind", "kind must be one of the following: \"Pod\", 1")
        );
    }
}
