// require-owner refuses objects that do not say who answers for them.

use portico_fn::{Error, ResourceList, Results, Severity, Verdict, as_main};

const OWNER: &str = "example.com/owner";

/// Every object needs the annotation. With `configMap: {team: NAME}` the proposal is that team.
fn require_owner(list: &mut ResourceList) -> Result<Verdict, Error> {
    let config = list.function_config.as_ref();
    let team = config.map_or("", |config| config.string_at(&["data", "team"])).to_owned();
    let proposal = if team.is_empty() { "a team" } else { &team };

    let mut results = Results::from(std::mem::take(&mut list.results));
    for object in list.items.iter().filter(|object| object.annotation(OWNER).is_none()) {
        let field = format!("metadata.annotations[{OWNER}]");
        results.about_field(object, Severity::Error, "has no owner", &field, None, Some(proposal));
    }
    let verdict = if results.has_errors() { Verdict::Fail } else { Verdict::Pass };
    list.results = results.into_vec();
    Ok(verdict)
}

fn main() -> std::process::ExitCode {
    as_main(&require_owner)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_golden_case_comes_out_as_expected() {
        portico_fn::golden::run_golden_tests("tests/golden", &super::require_owner);
    }
}
