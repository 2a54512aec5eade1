//! Constraints: which policy, with what parameters, for which objects, and what a violation means.

use portico_fn::Severity;
use regorus::Value;

use crate::matching::Match;
use crate::schema;
use crate::value::{is_missing, text, type_name};

/// Group of the constraints.
pub(crate) const GROUP: &str = "constraints.gatekeeper.sh";
/// Versions of the constraints.
const VERSIONS: &[&str] = &["v1", "v1beta1", "v1alpha1"];
/// The enforcement points whose scoped actions hold here: checks before anything is in a cluster.
const POINTS: &[&str] = &["*", "gator.gatekeeper.sh"];

/// A constraint that has been read.
#[derive(Debug)]
pub(crate) struct Constraint {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) rules: Match,
    pub(crate) parameters: Value,
    /// What violations are reported as; several with scoped actions, none when no scope reaches here.
    pub(crate) severities: Vec<Severity>,
}

/// True for the objects that are constraints.
pub(crate) fn is_constraint(api_version: &str) -> bool {
    let version = api_version.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix('/'));
    version.is_some_and(|version| VERSIONS.contains(&version))
}

impl Constraint {
    /// Reads a constraint and checks its parameters against the schema of its template; the error is what is wrong.
    pub(crate) fn new(constraint: &Value, schema: &Value) -> Result<Constraint, String> {
        let spec = &constraint["spec"];
        if !is_missing(spec) && !matches!(spec, Value::Object(_)) {
            return Err(format!("`spec` must be a mapping, but it is {}", type_name(spec)));
        }
        let mut parameters = match &spec["parameters"] {
            missing if is_missing(missing) => Value::new_object(),
            given => given.clone(),
        };
        let faults = schema::apply(schema, &mut parameters, "spec.parameters");
        if !faults.is_empty() {
            return Err(faults.join("; "));
        }
        Ok(Constraint {
            kind: text(&constraint["kind"]).to_owned(),
            name: text(&constraint["metadata"]["name"]).to_owned(),
            rules: Match::of(&spec["match"])?,
            parameters,
            severities: severities(spec)?,
        })
    }

    /// `Kind/name`.
    pub(crate) fn id(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }
}

fn severities(spec: &Value) -> Result<Vec<Severity>, String> {
    let action = match &spec["enforcementAction"] {
        missing if is_missing(missing) => "",
        Value::String(action) => action,
        other => return Err(format!("`spec.enforcementAction` must be a string, but it is {}", type_name(other))),
    };
    if action != "scoped" {
        return Ok(vec![severity(action)]);
    }
    let Value::Array(scoped) = &spec["scopedEnforcementActions"] else {
        return Err(
            "`spec.scopedEnforcementActions` must be a list where `spec.enforcementAction` is `scoped`".to_owned()
        );
    };
    let reaches = |entry: &&Value| match &entry["enforcementPoints"] {
        Value::Array(points) => points.iter().any(|point| POINTS.contains(&text(&point["name"]))),
        _ => false,
    };
    let mut severities = Vec::new();
    for severity in scoped.iter().filter(reaches).map(|entry| severity(text(&entry["action"]))) {
        if !severities.contains(&severity) {
            severities.push(severity);
        }
    }
    Ok(severities)
}

fn severity(action: &str) -> Severity {
    match action {
        "dryrun" => Severity::Info,
        "warn" => Severity::Warning,
        _ => Severity::Error,
    }
}
