//! `spec.match` of a constraint: which objects it is about.

use regorus::Value;

use crate::value::{is_missing, text, type_name};

/// What matching looks at in an object.
#[derive(Debug)]
pub(crate) struct Subject<'v> {
    pub(crate) group: &'v str,
    pub(crate) kind: &'v str,
    pub(crate) name: &'v str,
    pub(crate) generate_name: &'v str,
    pub(crate) namespace: &'v str,
    /// `metadata.labels`.
    pub(crate) labels: &'v Value,
    /// The labels of the namespace it lies in; `None` when the package has no such object.
    pub(crate) namespace_labels: Option<&'v Value>,
}

impl Subject<'_> {
    fn is_namespace(&self) -> bool {
        self.group.is_empty() && self.kind == "Namespace"
    }

    /// The namespace that rules about namespaces mean: a namespace's own name; `None` for what lies in none.
    fn effective_namespace(&self) -> Option<&str> {
        match (self.is_namespace(), self.namespace) {
            (true, _) => Some(self.name),
            (false, "") => None,
            (false, namespace) => Some(namespace),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Scope {
    #[default]
    Any,
    Cluster,
    Namespaced,
}

/// The rules of a constraint; all must hold.
#[derive(Debug, Default)]
pub(crate) struct Match {
    kinds: Vec<Kinds>,
    scope: Scope,
    namespaces: Vec<String>,
    excluded_namespaces: Vec<String>,
    labels: Option<LabelSelector>,
    namespace_labels: Option<LabelSelector>,
    name: String,
    /// Only objects that Gatekeeper made of others.
    generated_only: bool,
}

#[derive(Debug)]
struct Kinds {
    groups: Vec<String>,
    kinds: Vec<String>,
}

impl Match {
    /// Reads `spec.match`; the error names the field.
    pub(crate) fn of(value: &Value) -> Result<Match, String> {
        let path = "spec.match";
        if is_missing(value) {
            return Ok(Match::default());
        }
        if !matches!(value, Value::Object(_)) {
            return Err(wrong(path, "a mapping", value));
        }
        let kinds = list(&value["kinds"], "spec.match.kinds")?
            .enumerate()
            .map(|(at, entry)| {
                let path = format!("spec.match.kinds[{at}]");
                Ok(Kinds {
                    groups: strings(&entry["apiGroups"], &format!("{path}.apiGroups"))?,
                    kinds: strings(&entry["kinds"], &format!("{path}.kinds"))?,
                })
            })
            .collect::<Result<_, String>>()?;
        let scope = match string(&value["scope"], "spec.match.scope")? {
            "" | "*" => Scope::Any,
            "Cluster" => Scope::Cluster,
            "Namespaced" => Scope::Namespaced,
            other => {
                return Err(format!("`spec.match.scope` must be `Cluster`, `Namespaced` or `*`, but it is `{other}`"));
            }
        };
        let generated_only = match string(&value["source"], "spec.match.source")? {
            "" | "All" | "Original" => false,
            "Generated" => true,
            other => {
                return Err(format!(
                    "`spec.match.source` must be `All`, `Generated` or `Original`, but it is `{other}`"
                ));
            }
        };
        Ok(Match {
            kinds,
            scope,
            namespaces: strings(&value["namespaces"], "spec.match.namespaces")?,
            excluded_namespaces: strings(&value["excludedNamespaces"], "spec.match.excludedNamespaces")?,
            labels: LabelSelector::of(&value["labelSelector"], "spec.match.labelSelector")?,
            namespace_labels: LabelSelector::of(&value["namespaceSelector"], "spec.match.namespaceSelector")?,
            name: string(&value["name"], "spec.match.name")?.to_owned(),
            generated_only,
        })
    }

    /// Whether the constraint is about an object; the error says what is missing to tell.
    pub(crate) fn matches(&self, subject: &Subject<'_>) -> Result<bool, String> {
        let known = !self.generated_only
            && self.matches_kind(subject)
            && self.matches_scope(subject)
            && self.matches_namespaces(subject)
            && self.labels.as_ref().is_none_or(|selector| selector.matches(subject.labels))
            && self.matches_name(subject);
        Ok(known && self.matches_namespace_labels(subject)?)
    }

    fn matches_kind(&self, subject: &Subject<'_>) -> bool {
        let has = |list: &[String], value: &str| list.is_empty() || list.iter().any(|one| one == "*" || one == value);
        self.kinds.is_empty()
            || self.kinds.iter().any(|entry| has(&entry.groups, subject.group) && has(&entry.kinds, subject.kind))
    }

    fn matches_scope(&self, subject: &Subject<'_>) -> bool {
        let namespaced = !subject.is_namespace() && !subject.namespace.is_empty();
        match self.scope {
            Scope::Any => true,
            Scope::Cluster => !namespaced,
            Scope::Namespaced => namespaced,
        }
    }

    /// What lies in no namespace is neither included nor excluded by one.
    fn matches_namespaces(&self, subject: &Subject<'_>) -> bool {
        let Some(namespace) = subject.effective_namespace() else { return true };
        let has = |list: &[String]| list.iter().any(|pattern| glob(pattern, namespace));
        (self.namespaces.is_empty() || has(&self.namespaces)) && !has(&self.excluded_namespaces)
    }

    fn matches_name(&self, subject: &Subject<'_>) -> bool {
        let name = if subject.name.is_empty() { subject.generate_name } else { subject.name };
        self.name.is_empty() || glob(&self.name, name)
    }

    fn matches_namespace_labels(&self, subject: &Subject<'_>) -> Result<bool, String> {
        let Some(selector) = &self.namespace_labels else { return Ok(true) };
        if subject.is_namespace() {
            return Ok(selector.matches(subject.labels));
        }
        match (subject.effective_namespace(), subject.namespace_labels) {
            (None, _) => Ok(true),
            (Some(_), Some(labels)) => Ok(selector.matches(labels)),
            (Some(namespace), None) => Err(format!(
                "`spec.match.namespaceSelector` needs the labels of namespace `{namespace}`: add the Namespace to the \
                 package"
            )),
        }
    }
}

/// A star at the beginning, at the end or at both stands for anything.
fn glob(pattern: &str, text: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        _ if pattern == "*" => true,
        (Some(rest), Some(_)) => text.contains(&rest[..rest.len() - 1]),
        (Some(end), None) => text.ends_with(end),
        (None, Some(start)) => text.starts_with(start),
        (None, None) => text == pattern,
    }
}

#[derive(Debug)]
struct LabelSelector {
    labels: Vec<(String, String)>,
    expressions: Vec<Expression>,
}

#[derive(Debug)]
struct Expression {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl LabelSelector {
    fn of(value: &Value, path: &str) -> Result<Option<LabelSelector>, String> {
        if is_missing(value) {
            return Ok(None);
        }
        if !matches!(value, Value::Object(_)) {
            return Err(wrong(path, "a mapping", value));
        }
        let labels_path = format!("{path}.matchLabels");
        let labels = match &value["matchLabels"] {
            missing if is_missing(missing) => Vec::new(),
            Value::Object(labels) => labels
                .iter_sorted()
                .map(|(key, value)| {
                    let key = text(key).to_owned();
                    Ok((key.clone(), string(value, &format!("{labels_path}.{key}"))?.to_owned()))
                })
                .collect::<Result<_, String>>()?,
            other => return Err(wrong(&labels_path, "a mapping", other)),
        };
        let expressions_path = format!("{path}.matchExpressions");
        let expressions = list(&value["matchExpressions"], &expressions_path)?
            .enumerate()
            .map(|(at, value)| Expression::of(value, &format!("{expressions_path}[{at}]")))
            .collect::<Result<_, String>>()?;
        Ok(Some(LabelSelector { labels, expressions }))
    }

    fn matches(&self, labels: &Value) -> bool {
        self.labels
            .iter()
            .all(|(key, value)| matches!(&labels[key.as_str()], Value::String(found) if **found == **value))
            && self.expressions.iter().all(|expression| expression.matches(labels))
    }
}

impl Expression {
    fn of(value: &Value, path: &str) -> Result<Expression, String> {
        let key = string(&value["key"], &format!("{path}.key"))?.to_owned();
        if key.is_empty() {
            return Err(format!("`{path}.key` is missing"));
        }
        let operator = match string(&value["operator"], &format!("{path}.operator"))? {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            other => {
                return Err(format!(
                    "`{path}.operator` must be `In`, `NotIn`, `Exists` or `DoesNotExist`, but it is `{other}`"
                ));
            }
        };
        let values = strings(&value["values"], &format!("{path}.values"))?;
        let wants_values = matches!(operator, Operator::In | Operator::NotIn);
        if wants_values == values.is_empty() {
            let fault = if wants_values { "must not be empty" } else { "must be empty" };
            return Err(format!("`{path}.values` {fault} with operator `{operator:?}`"));
        }
        Ok(Expression { key, operator, values })
    }

    fn matches(&self, labels: &Value) -> bool {
        let found = match &labels[self.key.as_str()] {
            Value::String(found) => Some(&**found),
            _ => None,
        };
        let is_in = || found.is_some_and(|found| self.values.iter().any(|value| value == found));
        match self.operator {
            Operator::In => is_in(),
            Operator::NotIn => !is_in(),
            Operator::Exists => found.is_some(),
            Operator::DoesNotExist => found.is_none(),
        }
    }
}

fn wrong(path: &str, wanted: &str, found: &Value) -> String {
    format!("`{path}` must be {wanted}, but it is {}", type_name(found))
}

/// The elements of a list; nothing where it is missing.
fn list<'v>(value: &'v Value, path: &str) -> Result<impl Iterator<Item = &'v Value>, String> {
    match value {
        missing if is_missing(missing) => Ok(None.into_iter().flatten()),
        Value::Array(elements) => Ok(Some(elements.iter()).into_iter().flatten()),
        other => Err(wrong(path, "a list", other)),
    }
}

fn strings(value: &Value, path: &str) -> Result<Vec<String>, String> {
    list(value, path)?
        .enumerate()
        .map(|(at, element)| string(element, &format!("{path}[{at}]")).map(str::to_owned))
        .collect()
}

/// A string; empty where it is missing.
fn string<'v>(value: &'v Value, path: &str) -> Result<&'v str, String> {
    match value {
        Value::String(text) => Ok(text),
        missing if is_missing(missing) => Ok(""),
        other => Err(wrong(path, "a string", other)),
    }
}
