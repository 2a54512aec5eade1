#![doc = include_str!("../README.md")]
#![expect(clippy::doc_markdown, reason = "the README names kinds as Kubernetes spells them")]

mod depends_on;
mod replace;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use portico_fn::{Error, KubeObject, Output, ResourceList, Results, Severity, Verdict, run};

use crate::replace::Replacer;
use crate::settings::Settings;

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
pub fn program(input: Vec<u8>) -> Output {
    run(&function(), input)
}

/// The function, ready for [`portico_fn::as_main`] or [`portico_fn::run`].
pub fn function() -> impl portico_fn::Processor {
    |list: &mut ResourceList| -> Result<Verdict, Error> { Ok(process(list)) }
}

fn process(list: &mut ResourceList) -> Verdict {
    let mut results = Results::from(std::mem::take(&mut list.results));
    let verdict = match Settings::read(list.function_config.as_ref()) {
        Ok(settings) => set_namespace(list, &settings, &mut results),
        Err(message) => {
            results.about_config(list.function_config.as_ref(), Severity::Error, message);
            Verdict::Fail
        }
    };
    list.results = results.into_vec();
    verdict
}

fn set_namespace(list: &mut ResourceList, settings: &Settings, results: &mut Results) -> Verdict {
    let known = depends_on::known_references(&list.items);
    let mut replacer = Replacer::new(settings);
    let mut passed = true;
    // objects of the whole cluster come first: the order of the messages about matching origins
    for cluster in [true, false] {
        for item in &mut list.items {
            if item.is_local_config() || item.is_cluster_scoped() != cluster {
                continue;
            }
            let edited = if cluster { replacer.cluster_scoped(item) } else { replacer.namespaced(item) };
            if let Err(error) = edited.and_then(|()| replacer.additional(item)) {
                results.field_error(item, &error);
                passed = false;
            }
        }
    }
    let references = depends_on::update(&mut list.items, &known, settings);
    let Replacer { old, count, matched, .. } = replacer;
    for message in matched {
        results.info(message);
    }
    let new = &settings.namespace;
    results.info(if count == 0 {
        format!("all matching namespaces are already {}. no value changed", quoted(new))
    } else {
        format!("namespace {} updated to {}, {count} value(s) changed", bracketed(&old), quoted(new))
    });
    results.info(if references.count == 0 {
        "all `depends-on` annotations are up-to-date. no `namespace` changed".to_owned()
    } else {
        let (old, count) = (bracketed(&references.old), references.count);
        format!("`depends-on` annotation namespace {old} updated to {}, {count} value(s) changed", quoted(new))
    });
    passed.into()
}

/// `[a b]`, sorted.
fn bracketed(values: &BTreeSet<String>) -> String {
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    format!("[{}]", values.join(" "))
}

/// In double quotes, as Go's `%q` writes a name.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}
