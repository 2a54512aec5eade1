//! What a worker answers, checked: it may be in the hands of whoever broke out of the sandbox.

use std::collections::HashSet;

use super::values::{WireChange, WireOutcome};
use super::wire::{WireError, WireEvent};
use crate::child::Confinement;
use crate::eval::read_resources;
use crate::limits::Limits;
use crate::outcome::{Outcome, RenderError};
use crate::package::{Change, PackageFiles, check_path};
use crate::report::{Event, Observer};

/// Turns an answer into an outcome of this package; the error says what is wrong with it.
pub(super) fn outcome(
    answer: WireOutcome,
    files: &PackageFiles,
    limits: &Limits,
    confinement: Confinement,
) -> Result<Outcome, String> {
    let WireOutcome { changes, resources, steps, packages, failure, stores, saved_on_failure } = answer;
    let mut paths = HashSet::new();
    let mut checked = Vec::with_capacity(changes.len());
    for WireChange { path, bytes } in changes {
        if !paths.insert(path.clone()) {
            return Err(format!("two changes for `{path}`"));
        }
        let known = files.files.contains_key(&path);
        checked.push(match bytes {
            Some(bytes) if known || check_path(&path).is_ok() => Change::Write { path, bytes: bytes.0.to_vec() },
            None if known => Change::Delete { path },
            _ => return Err(format!("a change for `{path}`, which is no file of the package")),
        });
    }
    if failure.as_ref().and_then(|failure| failure.step).is_some_and(|step| step >= steps.len()) {
        return Err("a failure of a step that is not there".to_owned());
    }
    let resources = match resources {
        None => Vec::new(),
        Some(text) => read_resources(text.as_bytes(), limits).map_err(|error| format!("resources that {error}"))?,
    };
    Ok(Outcome {
        changes: checked,
        resources,
        steps,
        packages,
        failure,
        stores,
        saved_on_failure,
        confinement: Some(confinement),
    })
}

/// The error of a render that did not begin.
pub(super) fn error(answer: WireError) -> RenderError {
    match answer {
        WireError::MissingKptfile { path } => RenderError::MissingKptfile { path },
        WireError::Kptfile { message, kpt } => RenderError::Kptfile { message, kpt },
        WireError::Input(text) => RenderError::Input(text),
        WireError::Cancelled => RenderError::Cancelled,
    }
}

/// Passes an event on.
pub(super) fn tell(event: &WireEvent, observer: &mut dyn Observer) {
    observer.event(&match event {
        WireEvent::PackageStarted { path, name, functions } => {
            Event::PackageStarted { path, name, functions: *functions }
        }
        WireEvent::StepStarted(step) => Event::StepStarted(step),
        WireEvent::StepPassed(step) => Event::StepPassed(step),
        WireEvent::StepSkipped { step, condition } => Event::StepSkipped { step, condition },
        WireEvent::StepFailed(step) => Event::StepFailed(step),
        WireEvent::PackageFinished { path, name, functions } => {
            Event::PackageFinished { path, name, functions: *functions }
        }
        WireEvent::Warning(text) => Event::Warning(text),
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::wire::Bytes;
    use super::*;
    use crate::package::PackageLimits;

    fn answer(changes: Vec<WireChange>) -> WireOutcome {
        let (steps, resources) = (Vec::new(), None);
        WireOutcome { changes, resources, steps, packages: 1, failure: None, stores: 1, saved_on_failure: false }
    }

    fn check(answer: WireOutcome) -> Result<Outcome, String> {
        let map = [("Kptfile", &b"x"[..]), ("a.yaml", &b"y"[..])];
        let files = PackageFiles::from_map("/pkg", map, &PackageLimits::default()).unwrap();
        outcome(answer, &files, &Limits::default(), Confinement::default())
    }

    fn change(path: &str, bytes: Option<&[u8]>) -> WireChange {
        WireChange { path: path.into(), bytes: bytes.map(|bytes| Bytes(Arc::from(bytes))) }
    }

    #[test]
    fn changes_stay_inside_the_package() {
        let taken = check(answer(vec![change("a.yaml", None), change("new/b.yaml", Some(b"z"))])).unwrap();
        assert_eq!(taken.changes.len(), 2);
        for path in ["../a.yaml", "/etc/passwd", "a/../../b.yaml", ".git/config", "", "a//b", "a\0b"] {
            assert!(check(answer(vec![change(path, Some(b"z"))])).is_err(), "{path}");
            assert!(check(answer(vec![change(path, None)])).is_err(), "{path}");
        }
        assert!(check(answer(vec![change("unknown.yaml", None)])).is_err());
        assert!(check(answer(vec![change("a.yaml", None), change("a.yaml", Some(b"z"))])).is_err());
    }

    #[test]
    fn a_failure_names_a_step_that_is_there() {
        let mut wrong = answer(Vec::new());
        wrong.failure = Some(crate::Failure {
            kind: crate::FailureKind::Function,
            package: String::new(),
            step: Some(0),
            message: String::new(),
            kpt_condition: String::new(),
            kpt_error: None,
        });
        assert!(check(wrong).is_err());
    }

    #[test]
    fn resources_are_read_within_the_bounds() {
        let mut wrong = answer(Vec::new());
        wrong.resources = Some("a: [".into());
        assert!(check(wrong).is_err());
        let mut deep = answer(Vec::new());
        deep.resources = Some("[".repeat(100_000));
        assert!(check(deep).is_err());
    }
}
