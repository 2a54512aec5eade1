//! Builtin functions: those of Rego's first version that the evaluator lacks, those that Go answers otherwise, and
//! those that no policy may call here.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use regorus::{Engine, Value};

use crate::sprintf::sprintf;

/// A builtin that is not here, by its name or by the beginning of it (a final dot), and why.
const REFUSED: &[(&str, &str)] = &[
    ("crypto.", "no cryptography comes with this function"),
    ("external_data", "functions have no network"),
    ("graphql.", "no GraphQL comes with this function"),
    ("http.send", "functions have no network"),
    ("io.jwt.", "no cryptography comes with this function"),
    ("json.match_schema", "no JSON schema comes with this function"),
    ("json.verify_schema", "no JSON schema comes with this function"),
    ("net.cidr_contains_matches", "the evaluator lacks it"),
    ("net.cidr_expand", "a few letters stand for millions of addresses"),
    ("net.cidr_merge", "the evaluator lacks it"),
    ("net.lookup_ip_addr", "functions have no network"),
    ("opa.runtime", "the same package must give the same results everywhere"),
    ("providers.", "functions have no network"),
    ("rand.intn", "the same package must give the same results everywhere"),
    ("regex.globs_match", "the evaluator lacks it"),
    ("regex.template_match", "the evaluator lacks it"),
    ("rego.", "policies cannot read their own text"),
    ("time.", "the same package must give the same results everywhere"),
    ("urlquery.", "the evaluator lacks it"),
    ("uuid.", "the same package must give the same results everywhere"),
    ("yaml.", "the evaluator lacks it"),
];

/// Why a builtin is not here; `None` for the others and for functions of the policy.
pub(crate) fn refused(name: &str) -> Option<&'static str> {
    REFUSED
        .iter()
        .find(|(refused, _)| if refused.ends_with('.') { name.starts_with(refused) } else { name == *refused })
        .map(|(_, reason)| *reason)
}

/// The evaluator's own builtins, sorted.
const OWN: &[&str] = &[
    "abs",
    "array.concat",
    "array.reverse",
    "array.slice",
    "base64.decode",
    "base64.encode",
    "base64.is_valid",
    "base64url.decode",
    "base64url.encode",
    "base64url.encode_no_pad",
    "bits.and",
    "bits.lsh",
    "bits.negate",
    "bits.or",
    "bits.rsh",
    "bits.xor",
    "ceil",
    "concat",
    "contains",
    "count",
    "endswith",
    "floor",
    "format_int",
    "glob.match",
    "glob.quote_meta",
    "graph.reachable",
    "graph.reachable_paths",
    "hex.decode",
    "hex.encode",
    "indexof",
    "indexof_n",
    "intersection",
    "is_array",
    "is_boolean",
    "is_null",
    "is_number",
    "is_object",
    "is_set",
    "is_string",
    "json.filter",
    "json.is_valid",
    "json.marshal",
    "json.marshal_with_options",
    "json.patch",
    "json.remove",
    "json.unmarshal",
    "lower",
    "max",
    "min",
    "net.cidr_contains",
    "net.cidr_is_valid",
    "numbers.range",
    "numbers.range_step",
    "object.filter",
    "object.get",
    "object.keys",
    "object.remove",
    "object.subset",
    "object.union",
    "object.union_n",
    "print",
    "product",
    "replace",
    "round",
    "semver.compare",
    "semver.is_valid",
    "sort",
    "split",
    "startswith",
    "strings.any_prefix_match",
    "strings.any_suffix_match",
    "strings.count",
    "strings.replace_n",
    "strings.reverse",
    "substring",
    "sum",
    "to_number",
    "trace",
    "trim",
    "trim_left",
    "trim_prefix",
    "trim_right",
    "trim_space",
    "trim_suffix",
    "type_name",
    "union",
    "units.parse",
    "units.parse_bytes",
    "upper",
    "walk",
];

/// True for a builtin that policies can call.
pub(crate) fn is_builtin(name: &str) -> bool {
    OWN.binary_search(&name).is_ok() || BUILTINS.iter().any(|(own, ..)| *own == name)
}

/// What a builtin makes of its arguments; `None` is undefined, as everything is that Go's OPA calls a builtin error.
type Builtin = fn(&mut Regexes, &[Value]) -> Option<Value>;

const BUILTINS: &[(&str, u8, Builtin)] = &[
    ("all", 1, |_, args| {
        let truth = |value: &Value| *value == Value::Bool(true);
        elements(&args[0]).map(|all| Value::Bool(all.iter().all(truth)))
    }),
    ("any", 1, |_, args| elements(&args[0]).map(|all| Value::Bool(all.contains(&Value::Bool(true))))),
    ("cast_array", 1, |_, args| elements(&args[0]).map(Value::from)),
    ("cast_boolean", 1, |_, args| matches!(args[0], Value::Bool(_)).then(|| args[0].clone())),
    ("cast_null", 1, |_, args| matches!(args[0], Value::Null).then_some(Value::Null)),
    ("cast_object", 1, |_, args| matches!(args[0], Value::Object(_)).then(|| args[0].clone())),
    ("cast_set", 1, |_, args| elements(&args[0]).map(set)),
    ("cast_string", 1, |_, args| matches!(args[0], Value::String(_)).then(|| args[0].clone())),
    ("net.cidr_overlap", 2, |_, args| overlap(string(&args[0])?, string(&args[1])?).map(Value::Bool)),
    ("re_match", 2, regex_match),
    ("regex.find_all_string_submatch_n", 3, |regexes, args| {
        let regex = regexes.get(string(&args[0])?)?;
        let groups = |found: go_regex::Captures<'_>| {
            let texts = found.iter().map(|group| Value::from(group.map_or("", |group| group.as_str())));
            Value::from(texts.collect::<Vec<_>>())
        };
        let found = regex.captures_iter(string(&args[1])?).take(at_most(&args[2])?);
        Some(Value::from(found.map(groups).collect::<Vec<_>>()))
    }),
    ("regex.find_n", 3, |regexes, args| {
        let regex = regexes.get(string(&args[0])?)?;
        let found = regex.find_iter(string(&args[1])?).take(at_most(&args[2])?);
        Some(Value::from(found.map(|found| Value::from(found.as_str())).collect::<Vec<_>>()))
    }),
    ("regex.is_valid", 1, |regexes, args| {
        Some(Value::Bool(string(&args[0]).is_some_and(|pattern| regexes.get(pattern).is_some())))
    }),
    ("regex.match", 2, regex_match),
    ("regex.replace", 3, |regexes, args| {
        let regex = regexes.get(string(&args[1])?)?;
        Some(Value::from(&*regex.replace_all(string(&args[0])?, string(&args[2])?)))
    }),
    ("regex.split", 2, |regexes, args| {
        let regex = regexes.get(string(&args[0])?)?;
        Some(Value::from(regex.split(string(&args[1])?).map(Value::from).collect::<Vec<_>>()))
    }),
    ("set_diff", 2, |_, args| match (&args[0], &args[1]) {
        (Value::Set(from), Value::Set(without)) => {
            Some(set(from.iter_sorted().filter(|element| !without.contains(element)).cloned().collect()))
        }
        _ => None,
    }),
    ("sprintf", 2, |_, args| match &args[1] {
        Value::Array(values) => {
            let values: Vec<&Value> = values.iter().collect();
            Some(Value::from(sprintf(string(&args[0])?, &values)))
        }
        _ => None,
    }),
];

/// Adds the builtins to an engine: they come before the evaluator's own of the same name.
pub(crate) fn add(engine: &mut Engine) -> Result<(), String> {
    let regexes = Arc::new(Mutex::new(Regexes::default()));
    for (name, arity, builtin) in BUILTINS {
        let regexes = Arc::clone(&regexes);
        let call = move |args: Vec<Value>| {
            let mut regexes = regexes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            Ok(builtin(&mut regexes, &args).unwrap_or(Value::Undefined))
        };
        engine.add_extension((*name).to_owned(), *arity, Box::new(call)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Compiled expressions: policies use the same few for every object.
#[derive(Default)]
struct Regexes(BTreeMap<String, Option<go_regex::Regex>>);

/// How many expressions are kept: a policy can make them from the objects that it sees.
const KEPT: usize = 256;

impl Regexes {
    /// `None` when it is no expression.
    fn get(&mut self, pattern: &str) -> Option<go_regex::Regex> {
        if let Some(known) = self.0.get(pattern) {
            return known.clone();
        }
        if self.0.len() == KEPT {
            self.0.clear();
        }
        let regex = go_regex::compile(pattern).ok();
        self.0.insert(pattern.to_owned(), regex.clone());
        regex
    }
}

fn regex_match(regexes: &mut Regexes, args: &[Value]) -> Option<Value> {
    let regex = regexes.get(string(&args[0])?)?;
    Some(Value::Bool(regex.is_match(string(&args[1])?)))
}

fn string(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// The elements of an array or a set.
fn elements(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(elements) => Some(elements.iter().cloned().collect()),
        Value::Set(elements) => Some(elements.iter_sorted().cloned().collect()),
        _ => None,
    }
}

fn set(elements: Vec<Value>) -> Value {
    Value::from(elements.into_iter().collect::<std::collections::BTreeSet<_>>())
}

/// A count as Go takes it: all for a negative one.
fn at_most(value: &Value) -> Option<usize> {
    let Value::Number(number) = value else { return None };
    let count = number.as_i64()?;
    Some(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Whether two networks share an address.
fn overlap(a: &str, b: &str) -> Option<bool> {
    let (a, b) = (network(a)?, network(b)?);
    let bits = a.1.min(b.1);
    let shift = if a.2 { 32u32 } else { 128 }.checked_sub(bits)?;
    let high = |address: u128| address.checked_shr(shift).unwrap_or(0);
    Some(a.2 == b.2 && high(a.0) == high(b.0))
}

/// Address, prefix and whether it is one of version 4.
fn network(text: &str) -> Option<(u128, u32, bool)> {
    let (address, prefix) = text.split_once('/')?;
    let (bits, width, v4) = match address.parse().ok()? {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32, true),
        IpAddr::V6(address) => (address.to_bits(), 128, false),
    };
    let prefix: u32 = prefix.parse().ok()?;
    (prefix <= width).then_some((bits, prefix, v4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_in_one_list_alone() {
        assert!(OWN.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(REFUSED.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (name, ..) in BUILTINS {
            assert!(refused(name).is_none() && OWN.binary_search(name).is_err(), "{name}");
        }
        assert!(OWN.iter().all(|name| refused(name).is_none()));
    }

    #[test]
    fn the_evaluator_has_what_is_said_to_be_its_own() {
        for name in OWN {
            let mut engine = Engine::new();
            engine.set_rego_v0(true);
            engine.add_policy("p".to_owned(), format!("package p\nx {{ {name}() }}")).unwrap();
            let error = engine.eval_rule("data.p.x".to_owned()).err().map(|error| error.to_string());
            assert!(!error.is_some_and(|error| error.contains("could not find function")), "{name}");
        }
    }
}
