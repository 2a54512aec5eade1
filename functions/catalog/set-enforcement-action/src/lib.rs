#![doc = include_str!("../README.md")]

#[cfg(test)]
mod tests;

use portico_fn::{Error, FieldError, Output, Resource, ResourceList, Results, Severity, Verdict, field, run};

/// API version of Gatekeeper's constraints.
const CONSTRAINTS: &str = "constraints.gatekeeper.sh/v1beta1";
const KEY: &str = "enforcementAction";

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
#[expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]
pub fn program(input: Vec<u8>) -> Output {
    run(&function(), &input)
}

/// The function, ready for [`portico_fn::as_main`] or [`portico_fn::run`].
pub fn function() -> impl portico_fn::Processor {
    |list: &mut ResourceList| -> Result<Verdict, Error> { Ok(process(list)) }
}

fn process(list: &mut ResourceList) -> Verdict {
    let mut results = Results::from(std::mem::take(&mut list.results));
    let passed = match action(list.function_config.as_ref()) {
        Ok(action) => set_all(&mut list.items, &action, &mut results),
        Err(message) => {
            results.error(format!("failed to process policies: {message}"));
            false
        }
    };
    list.results = results.into_vec();
    passed.into()
}

/// The action that the configuration names; the error is a message.
fn action(config: Option<&Resource>) -> Result<String, String> {
    let data = config.and_then(|config| Some((config, config.tree.get(config.root(), "data")?)));
    let data = match data {
        Some((config, data)) => field::string_map(&config.tree, data, &["data"]).map_err(|error| error.to_string())?,
        None => Vec::new(),
    };
    let [(key, action)] = data.as_slice() else {
        return Err("expecting exactly 1 enforcementAction as part of the ConfigMap".to_owned());
    };
    if key != KEY {
        return Err("expecting exactly 1 enforcementAction as part of the ConfigMap".to_owned());
    }
    match action.as_str() {
        "deny" | "warn" | "dryrun" => Ok(action.clone()),
        _ => Err("expected values for enforcementAction are [deny] or [warn] or [dryrun]".to_owned()),
    }
}

fn set_all(items: &mut [Resource], action: &str, results: &mut Results) -> bool {
    let mut set = Results::new();
    let mut failed = Results::new();
    for item in items.iter_mut().filter(|item| item.api_version() == CONSTRAINTS && !item.name().is_empty()) {
        match set_one(item, action) {
            Ok(()) => set.about_file(item, Severity::Info, format!("Policy name: [{}]", item.name())),
            Err(error) => failed.field_error(item, &error),
        }
    }
    if set.is_empty() {
        results.warning(format!("Found no policy to set to [{action}]"));
    } else {
        results.info(format!("Number of policies set to [{action}]: {}", set.len()));
    }
    let passed = failed.is_empty();
    results.extend(set.into_vec());
    results.extend(failed.into_vec());
    passed
}

fn set_one(item: &mut Resource, action: &str) -> Result<(), FieldError> {
    let root = item.root();
    field::set_nested_string(&mut item.tree, root, &["spec", KEY], action)
}
