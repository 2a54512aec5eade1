#![doc = include_str!("../README.md")]

mod embedded;
mod path;
mod requirements;
mod select;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod value;
mod write;

use portico_fn::{Error, Output, ResourceList, Results, Severity, Verdict, run};

use crate::select::{Identity, TargetMatcher};
use crate::settings::{Replacement, Settings};
use crate::value::Budget;
use crate::write::Writer;

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
#[expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]
pub fn program(input: Vec<u8>) -> Output {
    run(&function(), &input)
}

/// The function, ready for [`portico_fn::as_main`] or [`portico_fn::run`].
pub fn function() -> impl portico_fn::Processor {
    |list: &mut ResourceList| Ok::<_, Error>(process(list))
}

/// Why a replacement could not be made.
struct Failure {
    message: String,
    /// The item that it is about.
    item: Option<usize>,
}

impl Failure {
    fn general(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), item: None }
    }

    /// Says which replacement it was.
    fn at(self, place: &str) -> Failure {
        Failure { message: format!("{place}: {}", self.message), ..self }
    }
}

fn process(list: &mut ResourceList) -> Verdict {
    let done = Settings::read(list.function_config.as_ref()).map_err(Failure::general);
    let Err(failure) = done.and_then(|settings| replace_all(list, &settings)) else { return Verdict::Pass };
    let mut results = Results::from(std::mem::take(&mut list.results));
    match failure.item {
        Some(item) => results.about(&list.items[item], Severity::Error, failure.message),
        None => results.error(failure.message),
    }
    list.results = results.into_vec();
    Verdict::Fail
}

fn replace_all(list: &mut ResourceList, settings: &Settings) -> Result<(), Failure> {
    let mut identities: Vec<Vec<Identity>> = list.items.iter().map(Identity::all_of).collect();
    let mut budget = Budget::default();
    for (number, replacement) in settings.replacements.iter().enumerate() {
        replace(list, &mut identities, replacement, &format!("replacements[{number}]"), &mut budget)?;
    }
    Ok(())
}

fn replace(
    list: &mut ResourceList,
    identities: &mut [Vec<Identity>],
    replacement: &Replacement,
    place: &str,
    budget: &mut Budget,
) -> Result<(), Failure> {
    let value = source::find(&list.items, identities, &replacement.source).map_err(|failure| failure.at(place))?;
    for (number, target) in replacement.targets.iter().enumerate() {
        let place = format!("{place}.targets[{number}]");
        let at = |message: String| Failure::general(message).at(&place);
        let matcher = TargetMatcher::new(target).map_err(at)?;
        let paths = target.paths().map_err(at)?;
        for (index, item) in list.items.iter_mut().enumerate() {
            if !matcher.matches(item, &identities[index]) {
                continue;
            }
            let mut writer = Writer { value: &value, options: &target.options, budget };
            for path in &paths {
                writer.write(item, path).map_err(|message| Failure { item: Some(index), ..at(message) })?;
            }
            identities[index] = Identity::all_of(item);
        }
    }
    Ok(())
}
