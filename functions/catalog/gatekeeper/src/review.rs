//! One run: templates, constraints, inventory, then every object against every constraint.

use std::collections::BTreeMap;

use portico_fn::{FunctionResult, Resource, ResourceRef, ResultFile, Results, Severity};
use regorus::Value;

use crate::constraint::{Constraint, is_constraint};
use crate::error::PolicyError;
use crate::matching::Subject;
use crate::template::{Template, is_template};
use crate::value::{object, of_object, text};

/// Checks the objects; gives the violations, sorted.
pub(crate) fn check(items: &[Resource]) -> Result<Results, PolicyError> {
    let mut templates = templates(items)?;
    let constraints = constraints(items, &templates)?;
    let mut results = Results::new();
    if constraints.is_empty() {
        return Ok(results);
    }
    let values = items.iter().map(value).collect::<Result<Vec<_>, _>>()?;
    let namespaces: BTreeMap<&str, &Value> = items
        .iter()
        .zip(&values)
        .filter(|(item, _)| item.kind() == "Namespace" && item.group().is_empty())
        .map(|(item, value)| (item.name(), value))
        .collect();
    if templates.values().any(|template| template.reads_inventory) {
        let inventory = inventory(items, &values);
        for template in templates.values_mut().filter(|template| template.reads_inventory) {
            template
                .set_inventory(&inventory)
                .map_err(|message| PolicyError::Template { template: template.name.clone(), message })?;
        }
    }
    for (item, value) in items.iter().zip(&values) {
        let namespace = namespaces.get(item.namespace()).copied();
        let subject = subject(item, value, namespace);
        // made for the first constraint that is about the object
        let mut request = None;
        for constraint in &constraints {
            let failed = |message| PolicyError::Review { constraint: constraint.id(), object: item.short(), message };
            if constraint.severities.is_empty() || !constraint.rules.matches(&subject).map_err(failed)? {
                continue;
            }
            let Some(template) = templates.get_mut(&constraint.kind) else { continue };
            let request = request.get_or_insert_with(|| review(item, value, namespace));
            for message in template.review(request, &constraint.parameters).map_err(failed)? {
                for severity in &constraint.severities {
                    results.push(violation(item, *severity, &message, &constraint.name));
                }
            }
        }
    }
    results.sort();
    Ok(results)
}

fn value(item: &Resource) -> Result<Value, PolicyError> {
    of_object(item).map_err(|reason| PolicyError::Object { object: item.short(), reason })
}

/// The templates by the kind of their constraints.
fn templates(items: &[Resource]) -> Result<BTreeMap<String, Template>, PolicyError> {
    let mut templates: BTreeMap<String, Template> = BTreeMap::new();
    for item in items.iter().filter(|item| is_template(item.api_version(), item.kind())) {
        let template = Template::new(&value(item)?)
            .map_err(|message| PolicyError::Template { template: item.name().to_owned(), message })?;
        if let Some(first) = templates.get(&template.kind) {
            return Err(PolicyError::TwoTemplates {
                kind: template.kind,
                first: first.name.clone(),
                second: template.name,
            });
        }
        templates.insert(template.kind.clone(), template);
    }
    Ok(templates)
}

fn constraints(items: &[Resource], templates: &BTreeMap<String, Template>) -> Result<Vec<Constraint>, PolicyError> {
    let mut constraints = Vec::new();
    for item in items.iter().filter(|item| is_constraint(item.api_version())) {
        let Some(template) = templates.get(item.kind()) else {
            let kinds: Vec<&str> = templates.keys().map(|kind| &**kind).collect();
            let known = if kinds.is_empty() { String::new() } else { format!(" (it defines {})", kinds.join(", ")) };
            return Err(PolicyError::NoTemplate { kind: item.kind().to_owned(), name: item.name().to_owned(), known });
        };
        let constraint = Constraint::new(&value(item)?, &template.parameters).map_err(|message| {
            PolicyError::Constraint { constraint: format!("{}/{}", item.kind(), item.name()), message }
        })?;
        constraints.push(constraint);
    }
    Ok(constraints)
}

/// What policies read as `data.inventory`: `namespace[namespace][apiVersion][kind][name]` and
/// `cluster[apiVersion][kind][name]`.
fn inventory(items: &[Resource], values: &[Value]) -> Value {
    type Kinds<'a> = BTreeMap<(&'a str, &'a str), Vec<(Value, Value)>>;
    let mut cluster = Kinds::new();
    let mut namespaces: BTreeMap<&str, Kinds<'_>> = BTreeMap::new();
    for (item, value) in items.iter().zip(values) {
        let kinds = match item.namespace() {
            "" => &mut cluster,
            namespace => namespaces.entry(namespace).or_default(),
        };
        let named = (Value::from(item.name()), value.clone());
        kinds.entry((item.api_version(), item.kind())).or_default().push(named);
    }
    let tree = |kinds: Kinds<'_>| {
        let mut versions: BTreeMap<&str, Vec<(Value, Value)>> = BTreeMap::new();
        for ((version, kind), named) in kinds {
            versions.entry(version).or_default().push((Value::from(kind), object(named)));
        }
        object(versions.into_iter().map(|(version, kinds)| (Value::from(version), object(kinds))))
    };
    let namespaces = object(namespaces.into_iter().map(|(name, kinds)| (Value::from(name), tree(kinds))));
    object([(Value::from("cluster"), tree(cluster)), (Value::from("namespace"), namespaces)])
}

fn subject<'v>(item: &'v Resource, value: &'v Value, namespace: Option<&'v Value>) -> Subject<'v> {
    Subject {
        group: item.group(),
        kind: item.kind(),
        name: item.name(),
        generate_name: text(&value["metadata"]["generateName"]),
        namespace: item.namespace(),
        labels: &value["metadata"]["labels"],
        namespace_labels: namespace.map(|namespace| &namespace["metadata"]["labels"]),
    }
}

/// `input.review`: the fields that an admission review of Kubernetes always has.
fn review(item: &Resource, value: &Value, namespace: Option<&Value>) -> Value {
    let entry = |key: &str, value: Value| (Value::from(key), value);
    let version = item.api_version().rsplit_once('/').map_or(item.api_version(), |(_, version)| version);
    let mut fields = vec![
        entry(
            "kind",
            object([
                entry("group", Value::from(item.group())),
                entry("kind", Value::from(item.kind())),
                entry("version", Value::from(version)),
            ]),
        ),
        entry("name", Value::from(item.name())),
        entry("object", value.clone()),
        entry("oldObject", Value::Null),
        entry("operation", Value::from("")),
        entry("options", Value::Null),
        entry("resource", object(["group", "resource", "version"].map(|key| entry(key, Value::from(""))))),
        entry("uid", Value::from("")),
        entry("userInfo", Value::new_object()),
    ];
    if !item.namespace().is_empty() {
        fields.push(entry("namespace", Value::from(item.namespace())));
    }
    if let Some(namespace) = namespace {
        fields.push(entry("_unstable", object([entry("namespace", namespace.clone())])));
    }
    object(fields)
}

fn violation(item: &Resource, severity: Severity, message: &str, constraint: &str) -> FunctionResult {
    let file = item.path().map(|path| ResultFile {
        path: path.to_owned(),
        index: item.index().and_then(|index| index.parse().ok()).unwrap_or(0),
    });
    let message = format!("{message}\nviolatedConstraint: {constraint}");
    FunctionResult {
        resource_ref: Some(ResourceRef::of(item)),
        file,
        ..FunctionResult::new(severity.as_str(), message)
    }
}
