#![doc = include_str!("../README.md")]

mod references;
mod rename;
mod settings;
#[cfg(test)]
mod tests;

use portico_fn::{Error, KubeObject, Output, Resource, ResourceList, Results, Verdict, run};

use crate::rename::Renames;
use crate::settings::Settings;

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
    let done = Settings::read(list.function_config.as_ref(), &list.items)
        .and_then(|settings| prefix_all(&mut list.items, &settings));
    let Err(message) = done else { return Verdict::Pass };
    let mut results = Results::from(std::mem::take(&mut list.results));
    results.error(message);
    list.results = results.into_vec();
    Verdict::Fail
}

/// The error is a message.
fn prefix_all(items: &mut [Resource], settings: &Settings) -> Result<(), String> {
    let mut renames = Renames::new(items);
    for (index, item) in items.iter().enumerate() {
        if item.is_local_config() || is_resource_group(item) {
            continue;
        }
        if let Some(new) = settings.renamed(item.name()) {
            renames.add(item, index, new)?;
        }
    }
    renames.apply(items);
    Ok(())
}

/// The inventory of a package is none of its objects.
fn is_resource_group(item: &Resource) -> bool {
    item.api_version() == "kpt.dev/v1alpha1" && item.kind() == "ResourceGroup"
}
