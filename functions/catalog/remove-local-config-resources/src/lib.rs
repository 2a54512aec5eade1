#![doc = include_str!("../README.md")]

#[cfg(test)]
mod tests;

use portico_fn::{Error, LOCAL_CONFIG, Output, Resource, ResourceList, Results, Severity, Verdict, run};

/// The program: bytes of a `ResourceList` in, bytes of a `ResourceList` out.
#[expect(clippy::needless_pass_by_value, reason = "programs own their input: some give it back as it is")]
pub fn program(input: Vec<u8>) -> Output {
    run(&function(), &input)
}

/// The function, ready for [`portico_fn::as_main`] or [`portico_fn::run`].
pub fn function() -> impl portico_fn::Processor {
    |list: &mut ResourceList| -> Result<Verdict, Error> {
        let mut results = Results::from(std::mem::take(&mut list.results));
        remove(&mut list.items, &mut results);
        list.results = results.into_vec();
        Ok(Verdict::Pass)
    }
}

fn remove(items: &mut Vec<Resource>, results: &mut Results) {
    let (gone, kept): (Vec<Resource>, Vec<Resource>) = std::mem::take(items).into_iter().partition(is_local);
    *items = kept;
    if gone.is_empty() {
        results.warning("Found no resources to prune with the local config annotation");
        return;
    }
    results.info(format!("Number of resources pruned: {}", gone.len()));
    for item in gone {
        results.about_file(&item, Severity::Info, format!("Resource name: [{}]", item.name()));
    }
}

/// This function goes by `true` alone, in any case; others take every value but `false`.
fn is_local(item: &Resource) -> bool {
    item.annotation(LOCAL_CONFIG).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}
