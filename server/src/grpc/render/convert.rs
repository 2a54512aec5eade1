//! The words of the protocol for what the runtime and the scheduler say.

use std::time::Duration;

use portico_krm::FunctionResult;
use portico_runtime::{
    Event, FailureKind, LimitName, LimitSettings, LimitSource, LimitUnit, LimitValue, Outcome, StatusMode, StepKind,
    StepReport, StepState, WriteStyle,
};
use portico_scheduler::core::RenderExecutionStatus;
use portico_scheduler::model::{ConditionStatus, Lifecycle, Priority, Revision, RevisionKey};
use portico_scheduler::store::StoreError;
use tonic::{Code, Status};

use crate::grpc::proto::v1;
use crate::grpc::proto::v1::render_event::Kind;
use crate::grpc::settings::Settings;
use crate::grpc::status::{come_back, safe};
use crate::record::wishes::Wishes;

/// The annotation that keeps [`v1::ScheduleBegin::source_version`].
pub(super) const SOURCE_VERSION: &str = "portico.dev/source-version";

pub(super) fn style(style: i32) -> Result<WriteStyle, Status> {
    wanted_style(style).map(Option::unwrap_or_default)
}

/// `None` where nothing was said.
pub(super) fn wanted_style(style: i32) -> Result<Option<WriteStyle>, Status> {
    match v1::YamlStyle::try_from(style) {
        Ok(v1::YamlStyle::Unspecified) => Ok(None),
        Ok(v1::YamlStyle::Kpt) => Ok(Some(WriteStyle::Kpt)),
        Ok(v1::YamlStyle::Preserve) => Ok(Some(WriteStyle::Preserve)),
        Err(_) => Err(unknown("style", style)),
    }
}

pub(super) fn status_mode(mode: i32) -> Result<StatusMode, Status> {
    match v1::StatusMode::try_from(mode) {
        Ok(v1::StatusMode::Unspecified | v1::StatusMode::Full) => Ok(StatusMode::Full),
        Ok(v1::StatusMode::Conditions) => Ok(StatusMode::Conditions),
        Ok(v1::StatusMode::None) => Ok(StatusMode::None),
        Err(_) => Err(unknown("status", mode)),
    }
}

/// The limits that a request asks for; of several of one name the last one.
pub(super) fn limits(limits: &[v1::Limit]) -> Result<LimitSettings, Status> {
    let mut settings = LimitSettings::default();
    for v1::Limit { name, value } in limits {
        let Some(known) = LimitName::of(name) else {
            let text = format!("`limits`: there is no limit `{}`; docs/limits.md names them", safe(name));
            return Err(Status::invalid_argument(text));
        };
        let value = match known.unit() {
            LimitUnit::Count => LimitValue::Count(*value),
            LimitUnit::Bytes => LimitValue::Bytes(*value),
            LimitUnit::Time if *value == u64::MAX => LimitValue::Time(Duration::MAX),
            LimitUnit::Time => LimitValue::Time(Duration::from_nanos(*value)),
        };
        settings.set(known, value, LimitSource::Request("the request".to_owned()));
    }
    Ok(settings)
}

/// Limits as a request has them.
fn limits_of(settings: &LimitSettings) -> Vec<v1::Limit> {
    let limits = settings.iter().map(|(name, setting)| {
        let value = match setting.value {
            LimitValue::Count(n) | LimitValue::Bytes(n) => n,
            LimitValue::Time(time) => u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
        };
        v1::Limit { name: name.as_str().to_owned(), value }
    });
    limits.collect()
}

/// `None` where nothing was said.
pub(super) fn priority(priority: i32) -> Result<Option<Priority>, Status> {
    match v1::Priority::try_from(priority) {
        Ok(v1::Priority::Unspecified) => Ok(None),
        Ok(v1::Priority::Low) => Ok(Some(Priority::Low)),
        Ok(v1::Priority::Normal) => Ok(Some(Priority::Normal)),
        Ok(v1::Priority::High) => Ok(Some(Priority::High)),
        Err(_) => Err(unknown("priority", priority)),
    }
}

fn unknown(what: &str, value: i32) -> Status {
    Status::invalid_argument(format!("`{what}` has no value {value}"))
}

/// A version as clients have it: opaque to them.
pub(super) fn version(text: &str, what: &str) -> Result<u64, Status> {
    text.parse().map_err(|_| Status::invalid_argument(format!("`{what}` is none that this server gave")))
}

pub(super) fn key(key: &RevisionKey) -> v1::Key {
    v1::Key { namespace: key.namespace.to_string(), name: key.name.to_string(), uid: key.uid.to_string() }
}

pub(super) fn execution(status: RenderExecutionStatus) -> v1::RenderExecutionStatus {
    match status {
        RenderExecutionStatus::None => v1::RenderExecutionStatus::None,
        RenderExecutionStatus::Scheduled => v1::RenderExecutionStatus::Scheduled,
        RenderExecutionStatus::Ongoing => v1::RenderExecutionStatus::Ongoing,
    }
}

fn time(milliseconds: u64) -> prost_types::Timestamp {
    let seconds = i64::try_from(milliseconds / 1000).unwrap_or(i64::MAX);
    let nanos = i32::try_from(milliseconds % 1000 * 1_000_000).unwrap_or_default();
    prost_types::Timestamp { seconds, nanos }
}

fn duration(duration: Duration) -> prost_types::Duration {
    prost_types::Duration::try_from(duration).unwrap_or_default()
}

/// A revision, with what the scheduler knows of it.
pub(super) fn revision(revision: &Revision, status: RenderExecutionStatus) -> v1::Revision {
    let lifecycle = match revision.lifecycle {
        Lifecycle::Draft => "Draft",
        Lifecycle::Proposed => "Proposed",
        Lifecycle::Published => "Published",
        Lifecycle::DeletionProposed => "DeletionProposed",
    };
    let priority = match revision.priority {
        Priority::Low => v1::Priority::Low,
        Priority::Normal => v1::Priority::Normal,
        Priority::High => v1::Priority::High,
    };
    let conditions = revision.conditions.iter().map(|condition| v1::Condition {
        r#type: condition.kind.to_string(),
        status: match condition.status {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        }
        .to_owned(),
        reason: condition.reason.to_string(),
        message: condition.message.clone(),
        last_transition: Some(time(condition.since_ms)),
    });
    // What cannot be read is told by the render that it keeps away.
    let wishes = Wishes::read(&revision.annotations).unwrap_or_default();
    let style = match wishes.style {
        None => v1::YamlStyle::Unspecified,
        Some(WriteStyle::Kpt) => v1::YamlStyle::Kpt,
        Some(WriteStyle::Preserve) => v1::YamlStyle::Preserve,
    };
    v1::Revision {
        key: Some(key(&revision.key)),
        repository: revision.repository.to_string(),
        lifecycle: lifecycle.to_owned(),
        priority: priority.into(),
        object_version: revision.object_version.0.to_string(),
        content_version: revision.content_version.0.to_string(),
        content_digest: revision.content_digest.to_string(),
        source_version: revision.annotations.get(SOURCE_VERSION).cloned().unwrap_or_default(),
        conditions: conditions.collect(),
        changed: Some(time(revision.changed_ms)),
        // What the scheduler knows is of now, and the revision may be of before: they are not to contradict each other.
        limits: limits_of(&wishes.limits),
        style: style.into(),
        render_by: wishes.by_ms.map(time),
        status: execution(if revision.is_unfinished() { status } else { RenderExecutionStatus::None }).into(),
    }
}

/// An event; `None` for those that the protocol has no words for.
pub(super) fn event(event: &Event<'_>) -> Option<v1::RenderEvent> {
    let of_package = |kind: Kind, path: &str| v1::RenderEvent {
        kind: kind.into(),
        package: path.to_owned(),
        ..v1::RenderEvent::default()
    };
    let of_step = |kind: Kind, step: &StepReport| v1::RenderEvent {
        kind: kind.into(),
        package: step.package.clone(),
        function: step.label().to_owned(),
        text: step.execution_error.clone().unwrap_or_default(),
    };
    Some(match event {
        Event::PackageStarted { path, .. } => of_package(Kind::PackageStarted, path),
        Event::StepStarted(step) => of_step(Kind::StepStarted, step),
        Event::StepPassed(step) => of_step(Kind::StepPassed, step),
        Event::StepSkipped { step, condition } => {
            v1::RenderEvent { text: (*condition).to_owned(), ..of_step(Kind::StepSkipped, step) }
        }
        Event::StepFailed(step) => of_step(Kind::StepFailed, step),
        Event::PackageFinished { path, .. } => of_package(Kind::PackageFinished, path),
        Event::Warning(text) => v1::RenderEvent { text: (*text).to_owned(), ..of_package(Kind::Warning, "") },
        _ => return None,
    })
}

/// What a render came to, without its files.
pub(super) fn outcome(outcome: &Outcome, warnings: Vec<String>) -> v1::RenderOutcome {
    let kind = |kind| match kind {
        FailureKind::Package => "package",
        FailureKind::Unresolved => "unresolved",
        FailureKind::Function => "function",
        FailureKind::Output => "output",
    };
    v1::RenderOutcome {
        rendered: outcome.failure.is_none(),
        failure: outcome.failure.as_ref().map(|failure| failure.message.clone()).unwrap_or_default(),
        failure_kind: outcome.failure.as_ref().map(|failure| kind(failure.kind).to_owned()).unwrap_or_default(),
        steps: outcome.steps.iter().map(step).collect(),
        results_yaml: outcome.results().to_yaml(),
        saved_on_failure: outcome.saved_on_failure,
        warnings,
    }
}

fn step(step: &StepReport) -> v1::Step {
    let state = match step.state {
        StepState::Passed => "passed",
        StepState::Failed => "failed",
        StepState::Skipped => "skipped",
        StepState::NotRun => "notRun",
    };
    v1::Step {
        package: step.package.clone(),
        name: step.name.clone(),
        image: step.function().to_owned(),
        validator: step.kind == StepKind::Validator,
        state: state.to_owned(),
        exit_code: step.exit_code,
        error: step.execution_error.clone().unwrap_or_default(),
        stderr: step.stderr.clone(),
        results: step.results.iter().map(result).collect(),
        elapsed: Some(duration(step.elapsed)),
        fuel: step.fuel,
        peak_memory: step.peak_memory,
        cause: step.cause.map(|cause| cause.as_str().to_owned()).unwrap_or_default(),
    }
}

fn result(result: &FunctionResult) -> v1::FunctionResult {
    v1::FunctionResult {
        message: result.message.clone(),
        severity: result.severity.clone().unwrap_or_default(),
        resource_ref: result.resource_ref.as_ref().map(|of| v1::ResourceRef {
            api_version: of.api_version.clone(),
            kind: of.kind.clone(),
            name: of.name.clone(),
            namespace: of.namespace.clone(),
        }),
        field: result.field.as_ref().map(|field| v1::Field {
            path: field.path.clone(),
            current_value: field.current_value.clone(),
            proposed_value: field.proposed_value.clone(),
        }),
        file: result.file.as_ref().map(|file| v1::FileRef { path: file.path.clone(), index: file.index }),
        tags: result.tags.clone().into_iter().collect(),
    }
}

/// What a store's error means to a client.
pub(super) fn store_error(error: &StoreError, settings: &Settings) -> Status {
    let mut text = error.to_string();
    if let Some(source) = std::error::Error::source(error) {
        text = format!("{text}: {source}");
    }
    let code = match error {
        StoreError::NotFound(_) | StoreError::NoSuchName { .. } | StoreError::NoSuchContent { .. } => Code::NotFound,
        StoreError::Exists(_) => Code::AlreadyExists,
        StoreError::Conflict { .. } | StoreError::AlreadyFinished { .. } => Code::Aborted,
        StoreError::RenderPending { .. }
        | StoreError::RenderFailed { .. }
        | StoreError::Lifecycle { .. }
        | StoreError::NotADraft { .. } => Code::FailedPrecondition,
        StoreError::NoFiles(_) | StoreError::Invalid { .. } => Code::InvalidArgument,
        StoreError::TooLarge { .. } => Code::ResourceExhausted,
        StoreError::TooOld { .. } => Code::OutOfRange,
        StoreError::Corrupt { .. } => Code::DataLoss,
        StoreError::Incomplete(_)
        | StoreError::NotRegistered(_)
        | StoreError::Unavailable { .. }
        | StoreError::Full { .. }
        | StoreError::Io { .. }
        | StoreError::Closed => {
            return come_back(Code::Unavailable, &text, error.retry_after().unwrap_or(settings.retry_after));
        }
    };
    Status::new(code, safe(&text))
}
