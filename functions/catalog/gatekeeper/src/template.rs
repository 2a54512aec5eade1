//! Constraint templates: policies, ready to run.

use std::num::{NonZeroU32, NonZeroUsize};

use regorus::{Engine, PolicyLengthConfig, Value};

use crate::builtins;
use crate::calls::{self, Module};
use crate::scan::Scan;
use crate::value::{is_missing, object, text, type_name};

/// Group of the templates.
pub(crate) const GROUP: &str = "templates.gatekeeper.sh";
/// Versions of the templates.
const VERSIONS: &[&str] = &["v1", "v1beta1", "v1alpha1"];
/// The only target that Gatekeeper has.
const TARGET: &str = "admission.k8s.gatekeeper.sh";

/// Bounds of one policy's text.
const LENGTHS: PolicyLengthConfig = PolicyLengthConfig {
    max_col: NonZeroU32::new(16 << 10).unwrap(),
    max_file_bytes: NonZeroUsize::new(1 << 20).unwrap(),
    max_lines: NonZeroUsize::new(20_000).unwrap(),
};

/// A template whose policy is compiled. Each has an engine of its own, so that packages of equal names do not meet.
pub(crate) struct Template {
    /// `metadata.name`.
    pub(crate) name: String,
    /// The kind of its constraints.
    pub(crate) kind: String,
    /// `openAPIV3Schema` of the constraints' parameters.
    pub(crate) parameters: Value,
    /// The policy reads objects other than the one under review.
    pub(crate) reads_inventory: bool,
    engine: Engine,
    /// `data.PACKAGE.violation`.
    rule: String,
}

/// True for the templates among the objects.
pub(crate) fn is_template(api_version: &str, kind: &str) -> bool {
    let version = api_version.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix('/'));
    kind == "ConstraintTemplate" && version.is_some_and(|version| VERSIONS.contains(&version))
}

impl Template {
    /// Compiles a template; the error is what is wrong with it.
    pub(crate) fn new(template: &Value) -> Result<Template, String> {
        let name = text(&template["metadata"]["name"]).to_owned();
        let crd = &template["spec"]["crd"]["spec"];
        let kind = text(&crd["names"]["kind"]).to_owned();
        if kind.is_empty() {
            return Err("`spec.crd.spec.names.kind` is missing: it names the kind of the constraints".to_owned());
        }
        if name != kind.to_lowercase() {
            return Err(format!(
                "its name must be the lower-case form of `spec.crd.spec.names.kind`, which is `{}`",
                kind.to_lowercase()
            ));
        }
        let policy = Policy::of(template)?;
        let mut engine = Engine::new();
        engine.set_policy_length_config(LENGTHS);
        engine.set_rego_v0(!policy.v1);
        // what Go's OPA calls a builtin error makes an expression undefined, no more
        engine.set_strict_builtin_errors(false);
        builtins::add(&mut engine)?;
        let mut modules = Vec::new();
        for (number, lib) in policy.libs.iter().enumerate() {
            let module = compile(&mut engine, format!("libs[{number}]"), lib)?;
            if !is_library(&module.package) {
                return Err(format!(
                    "`{}` has package `{}`: the package of a library must begin with `lib`",
                    module.place,
                    module.package.trim_start_matches("data.")
                ));
            }
            modules.push(module);
        }
        let module = compile(&mut engine, "rego".to_owned(), policy.rego)?;
        let package = module.package.clone();
        if is_library(&package) || package == "data.inventory" || package.starts_with("data.inventory.") {
            return Err(format!(
                "`rego` must not have package `{}`: that name has another meaning",
                package.trim_start_matches("data.")
            ));
        }
        modules.push(module);
        calls::check(&engine, &modules)?;
        let reads_inventory = policy.libs.iter().chain([&policy.rego]).any(|rego| rego.contains("inventory"));
        if !engine.has_declared_rule_rooted_at("rego", "violation").unwrap_or(false) {
            return Err("`rego` has no rule `violation`".to_owned());
        }
        let parameters = crd["validation"]["openAPIV3Schema"].clone();
        Ok(Template { name, kind, parameters, reads_inventory, engine, rule: format!("{package}.violation") })
    }

    /// Gives the policy what it reads as `data.inventory`.
    pub(crate) fn set_inventory(&mut self, inventory: &Value) -> Result<(), String> {
        let data = object([(Value::from("inventory"), inventory.clone())]);
        self.engine.add_data(data).map_err(|error| error.to_string())
    }

    /// The messages of the violations.
    pub(crate) fn review(&mut self, review: &Value, parameters: &Value) -> Result<Vec<String>, String> {
        self.engine.set_input(object([
            (Value::from("review"), review.clone()),
            (Value::from("parameters"), parameters.clone()),
        ]));
        let found = self.engine.eval_rule(self.rule.clone()).map_err(|error| error.to_string())?;
        let violations: Vec<&Value> = match &found {
            Value::Undefined => Vec::new(),
            Value::Set(violations) => violations.iter_sorted().collect(),
            other => return Err(format!("`violation` must be a set of objects, but it is {}", type_name(other))),
        };
        violations.into_iter().map(message).collect()
    }
}

fn message(violation: &Value) -> Result<String, String> {
    match &violation["msg"] {
        Value::String(message) => Ok(message.to_string()),
        other => {
            Err(format!("a `violation` must be an object whose `msg` is a string, but `msg` is {}", type_name(other)))
        }
    }
}

fn is_library(package: &str) -> bool {
    package == "data.lib" || package.starts_with("data.lib.")
}

fn compile<'r>(engine: &mut Engine, place: String, rego: &'r str) -> Result<Module<'r>, String> {
    let scan = Scan::of(rego).map_err(|fault| format!("`{place}`, {fault}"))?;
    let package = engine.add_policy(place.clone(), rego.to_owned()).map_err(|error| {
        let error = error.to_string();
        format!("`{place}` is no valid Rego: {}", error.trim())
    })?;
    Ok(Module { place, package, scan })
}

/// The texts of a template.
struct Policy<'t> {
    rego: &'t str,
    libs: Vec<&'t str>,
    /// In the first version of the language that is no longer the default one.
    v1: bool,
}

impl<'t> Policy<'t> {
    fn of(template: &'t Value) -> Result<Policy<'t>, String> {
        let Value::Array(targets) = &template["spec"]["targets"] else {
            return Err("`spec.targets` must be a list with one target".to_owned());
        };
        let target = match targets.first() {
            Some(target) if targets.len() == 1 => target,
            _ => return Err(format!("`spec.targets` must hold one target, but it holds {}", targets.len())),
        };
        match text(&target["target"]) {
            TARGET => {}
            other => return Err(format!("`spec.targets[0].target` must be `{TARGET}`, but it is `{other}`")),
        }
        let (source, path) = match &target["code"] {
            Value::Array(code) if !code.is_empty() => {
                let Some(at) = code.iter().position(|code| text(&code["engine"]) == "Rego") else {
                    let engine = text(&target["code"][0usize]["engine"]);
                    return Err(format!(
                        "`spec.targets[0].code` has no policy for engine `Rego`: engine `{engine}` is not available here"
                    ));
                };
                (&target["code"][at]["source"], format!("spec.targets[0].code[{at}].source"))
            }
            _ => (target, "spec.targets[0]".to_owned()),
        };
        let Value::String(rego) = &source["rego"] else {
            return Err(format!("`{path}.rego` must be a string: the policy"));
        };
        let libs = match &source["libs"] {
            missing if is_missing(missing) => Vec::new(),
            Value::Array(libs) => libs
                .iter()
                .map(|lib| match lib {
                    Value::String(lib) => Ok(&**lib),
                    other => Err(format!("`{path}.libs` must hold strings, but it holds {}", type_name(other))),
                })
                .collect::<Result<_, _>>()?,
            other => return Err(format!("`{path}.libs` must be a list, but it is {}", type_name(other))),
        };
        let v1 = match text(&source["version"]) {
            "" | "v0" => false,
            "v1" => true,
            other => return Err(format!("`{path}.version` must be `v0` or `v1`, but it is `{other}`")),
        };
        Ok(Policy { rego, libs, v1 })
    }
}
