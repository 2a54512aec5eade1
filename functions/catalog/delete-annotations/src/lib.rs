#![doc = include_str!("../README.md")]

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use portico_fn::{Error, Output, Resource, ResourceList, Results, Severity, Verdict, run};

const KEYS: &str = "annotationKeys";

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
    let keys = list.function_config.as_ref().map_or("", |config| config.string_at(&["data", KEYS])).to_owned();
    let keys = keys.split(',').map(str::trim).filter(|key| !key.is_empty());
    let keys: HashMap<&str, usize> = keys.zip(0..).collect();
    let passed = !keys.is_empty();
    if passed {
        delete(&mut list.items, &keys, &mut results);
    } else {
        results.error(format!("`data.{KEYS}` must name the annotations to delete, separated by commas"));
    }
    list.results = results.into_vec();
    passed.into()
}

/// `keys` says which annotations go, and in which order that is reported.
fn delete(items: &mut [Resource], keys: &HashMap<&str, usize>, results: &mut Results) {
    let mut deleted = Results::new();
    let mut objects = 0;
    let named = |item: &Resource| [item.kind(), item.name(), item.api_version()].iter().all(|part| !part.is_empty());
    for item in items.iter_mut().filter(|item| named(item)) {
        let mut gone: Vec<(usize, &str)> =
            item.annotations().filter_map(|(key, _)| keys.get_key_value(key)).map(|(key, at)| (*at, *key)).collect();
        if gone.is_empty() {
            continue;
        }
        gone.sort_unstable();
        item.remove_annotations(|key| keys.contains_key(key));
        objects += 1;
        for (_, key) in gone {
            // the catalog's function spells it so
            let message = format!("Annonation: [{key}] removed from resource: [{}]", item.name());
            deleted.about_file(item, Severity::Info, message);
        }
        item.clear_empty_annotations();
    }
    if objects == 0 {
        results.info("None of the resources had the provided annotations to delete");
        return;
    }
    results.info(format!("The provided annotations were deleted from {objects} resource(s)"));
    results.extend(deleted.into_vec());
}
