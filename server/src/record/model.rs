//! A record as JSON shows it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use portico_krm::FunctionResult;
use portico_runtime::{ChangeKind, ResourceChange, StepChanges, StepKind, StepReport, StepState};
use portico_scheduler::model::RevisionKey;
use portico_scheduler::store::RenderLog;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::time::{micros, rfc3339};

/// Names one render: unique for ever, in all processes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RenderId(Arc<str>);

impl RenderId {
    /// A new one: a random UUID.
    pub(super) fn random() -> Self {
        Self(uuid::Uuid::new_v4().to_string().into())
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RenderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a render stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RecordOutcome {
    /// It runs.
    Running,
    /// All functions passed.
    Succeeded,
    /// A function failed, or its output can't be saved.
    Failed,
    /// The package can't be rendered as it is.
    Invalid,
    /// It was told to stop: by somebody's cancel, an edit, a deletion, or the end of the process.
    Stopped,
    /// It came to no end that says anything about the package; it is tried again.
    Broken,
}

impl RecordOutcome {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Invalid => "the package is not valid",
            Self::Stopped => "stopped",
            Self::Broken => "broken off",
        }
    }
}

/// How a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StepOutcome {
    /// It runs.
    Running,
    /// Exit code 0, and an answer that was taken.
    Passed,
    /// It ran, or could not be started.
    Failed,
    /// Its condition said that it need not run.
    Skipped,
    /// An earlier step failed, or another function of its package can't run.
    NotRun,
    /// The render was stopped while it ran.
    Stopped,
}

impl StepOutcome {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::NotRun => "not run",
            Self::Stopped => "stopped",
        }
    }
}

/// What a render did. Times are RFC 3339, durations microseconds, sizes bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// `portico.dev/v1alpha1`: changes when a field changes its meaning.
    pub api_version: Cow<'static, str>,
    /// `RenderRecord`.
    pub kind: Cow<'static, str>,
    /// The render's id; empty for an ending that no render led to.
    pub render: RenderId,
    /// The revision's namespace.
    pub namespace: Arc<str>,
    /// The revision's name.
    pub name: Arc<str>,
    /// The revision's uid.
    pub uid: Arc<str>,
    /// The content version that was rendered.
    pub content_version: u64,
    /// When it began; empty where that is not known.
    pub start_time: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<String>,
    /// How it stands.
    pub outcome: RecordOutcome,
    /// Why it did not succeed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Wall time, until now or its end.
    pub elapsed_microseconds: u64,
    /// Fuel of all steps.
    pub fuel: u64,
    /// The largest peak of linear memory among the steps.
    pub peak_memory_bytes: u64,
    /// Every step in the order of execution; those that did not run stand last.
    pub steps: Vec<RecordStep>,
    /// Steps that are not listed, because there are too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps_left_out: usize,
    /// What there is to tell besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<RecordWarning>,
}

/// Something to tell that did not stop the render.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordWarning {
    /// How many steps of the record had begun by then.
    pub after_steps: usize,
    /// It.
    pub message: String,
}

/// One function call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordStep {
    /// Slash path of the package from the root; empty for the root.
    pub package: String,
    /// How people call the package.
    pub package_name: String,
    /// Position among all functions of its package, from 1.
    pub number: usize,
    /// Its `name` in the Kptfile, or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The full image; empty for an executable.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// The command; empty for an image.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub exec: String,
    /// `mutator` or `validator`.
    pub kind: Cow<'static, str>,
    /// How it stands.
    pub state: StepOutcome,
    /// From the start of the render to its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_microseconds: Option<u64>,
    /// Wall time of the function.
    pub elapsed_microseconds: u64,
    /// Fuel it used; 0 for an executable.
    pub fuel: u64,
    /// Its peak of linear memory; 0 for an executable.
    pub peak_memory_bytes: u64,
    /// How many resources it got.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<usize>,
    /// True when selectors or exclusions chose them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub selective: bool,
    /// The condition that was false, for one that was skipped.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Its exit code.
    pub exit_code: i32,
    /// Why it did not pass, in one word for programs.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub cause: Cow<'static, str>,
    /// Why it could not be started, was ended, or had its output refused.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// What it wrote to stderr.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// Bytes of stderr that were dropped while it ran.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub stderr_dropped_bytes: u64,
    /// What it reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Finding>,
    /// Results that are not listed, because there are too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub results_left_out: usize,
    /// What it changed; `None` for one that did not pass, for validators, and where that is not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<RecordChanges>,
    /// True when the function has an item in kpt's `results.yaml`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
}

/// What a step changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordChanges {
    /// Resource by resource.
    pub resources: Vec<RecordChange>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

/// A resource that a step changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordChange {
    /// `added`, `removed` or `changed`.
    pub change: Cow<'static, str>,
    /// `apps/v1/Deployment/ns/name` without the parts that are empty.
    pub resource: String,
    /// Its file, relative to its package.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The file that it was in before, where that was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// The difference of its YAML as unified diff, without values of secrets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diff: String,
}

/// A result of a function, with the field names of kpt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What to tell people.
    pub message: String,
    /// `error`, `warning`, `info`, or whatever else the function says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// The resource it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_ref: Option<FindingResource>,
    /// The field it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<FindingField>,
    /// The file it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FindingFile>,
    /// Anything else, for tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// Names a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingResource {
    /// `apiVersion`, or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// `kind`, or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// `metadata.name`, or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// `metadata.namespace`, or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// Names a field and says what it holds and should hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingField {
    /// Dotted path.
    pub path: String,
    /// What it holds. Never that of a `Secret`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_value: Option<String>,
    /// What it should hold. Never that of a `Secret`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed_value: Option<String>,
}

/// Names a place in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingFile {
    /// Path relative to the package.
    pub path: String,
    /// Which document of the file, from 0.
    pub index: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero_u64(number: &u64) -> bool {
    *number == 0
}

impl Record {
    /// The record of a render that begins now.
    pub(super) fn new(render: RenderId, key: &RevisionKey, content_version: u64, now_ms: u64) -> Self {
        Self {
            api_version: "portico.dev/v1alpha1".into(),
            kind: "RenderRecord".into(),
            render,
            namespace: Arc::clone(&key.namespace),
            name: Arc::clone(&key.name),
            uid: Arc::clone(&key.uid),
            content_version,
            start_time: rfc3339(now_ms),
            end_time: None,
            outcome: RecordOutcome::Running,
            message: String::new(),
            elapsed_microseconds: 0,
            fuel: 0,
            peak_memory_bytes: 0,
            steps: Vec::new(),
            steps_left_out: 0,
            warnings: Vec::new(),
        }
    }

    /// What the store holds of a revision's last render. Where the scheduler gave up before a render had an end of its own,
    /// that is the reason in words alone.
    pub fn stored(key: &RevisionKey, log: &RenderLog) -> Self {
        if let Ok(record) = serde_json::from_slice::<Record>(&log.text)
            && record.kind == "RenderRecord"
        {
            return record;
        }
        Self {
            start_time: String::new(),
            end_time: Some(rfc3339(log.ended_ms)),
            outcome: RecordOutcome::Broken,
            message: String::from_utf8_lossy(&log.text).into_owned(),
            ..Self::new(RenderId("".into()), key, log.content.0, 0)
        }
    }

    /// Whether it is no render's, but what the scheduler said where it gave up.
    pub(super) fn is_words(&self) -> bool {
        self.render.as_str().is_empty()
    }

    /// The results of the functions as kpt's `FunctionResultList`: what Porch shows as `status.renderStatus.result`.
    pub fn result_list(&self) -> Value {
        let listed = self.steps.iter().filter(|step| step.recorded || step.state == StepOutcome::Skipped);
        let items: Vec<Value> = listed
            .map(|step| {
                let mut item = json!({ "exitCode": step.exit_code });
                for (name, text) in [("image", &step.image), ("exec", &step.exec), ("stderr", &step.stderr)] {
                    if !text.is_empty() {
                        item[name] = json!(text);
                    }
                }
                if !step.results.is_empty() {
                    item["results"] = json!(step.results);
                }
                item
            })
            .collect();
        let failed = self.steps.iter().any(|step| step.state == StepOutcome::Failed);
        json!({
            "apiVersion": "kpt.dev/v1",
            "kind": "FunctionResultList",
            "metadata": { "name": "fnresults" },
            "exitCode": i32::from(failed),
            "items": items,
        })
    }

    /// The step that failed.
    pub fn failed_step(&self) -> Option<&RecordStep> {
        self.steps.iter().find(|step| step.state == StepOutcome::Failed)
    }
}

impl RecordStep {
    /// A step as the runtime reports it, with at most so many results.
    pub(super) fn of(report: &StepReport, results: usize) -> Self {
        Self {
            package: report.package.clone(),
            package_name: report.package_name.clone(),
            number: report.number,
            name: report.name.clone(),
            image: report.image.clone(),
            exec: report.exec.clone(),
            kind: match report.kind {
                StepKind::Mutator => "mutator".into(),
                StepKind::Validator => "validator".into(),
            },
            state: match report.state {
                StepState::Passed => StepOutcome::Passed,
                StepState::Failed => StepOutcome::Failed,
                StepState::Skipped => StepOutcome::Skipped,
                StepState::NotRun => StepOutcome::NotRun,
            },
            start_microseconds: None,
            elapsed_microseconds: micros(report.elapsed),
            fuel: report.fuel,
            peak_memory_bytes: report.peak_memory,
            resources: report.resources,
            selective: report.selective,
            condition: String::new(),
            exit_code: report.exit_code,
            cause: report.cause.map_or("", portico_runtime::Cause::as_str).into(),
            error: report.execution_error.clone().unwrap_or_default(),
            stderr: report.stderr.clone(),
            stderr_dropped_bytes: report.stderr_dropped,
            results: report.results.iter().take(results).map(Finding::of).collect(),
            results_left_out: report.results.len().saturating_sub(results),
            changes: report.changes.as_ref().map(RecordChanges::of),
            recorded: report.recorded,
        }
    }

    /// The full image or the command.
    pub fn function(&self) -> &str {
        if self.image.is_empty() { &self.exec } else { &self.image }
    }
}

impl RecordChanges {
    fn of(changes: &StepChanges) -> Self {
        let resource = |change: &ResourceChange| RecordChange {
            change: match change.kind {
                ChangeKind::Added => "added".into(),
                ChangeKind::Removed => "removed".into(),
                ChangeKind::Changed => "changed".into(),
            },
            resource: change.resource.clone(),
            path: change.path.clone(),
            old_path: change.old_path.clone(),
            diff: change.diff.clone(),
        };
        Self { resources: changes.resources.iter().map(resource).collect(), left_out: changes.left_out }
    }
}

impl Finding {
    fn of(result: &FunctionResult) -> Self {
        // A result about a secret may quote it.
        let secret = result.resource_ref.as_ref().is_some_and(|of| of.kind == "Secret");
        let shown = |value: &Option<String>| value.as_ref().map(|v| if secret { REDACTED.into() } else { v.clone() });
        Self {
            message: result.message.clone(),
            severity: result.severity.clone(),
            resource_ref: result.resource_ref.as_ref().map(|of| FindingResource {
                api_version: of.api_version.clone(),
                kind: of.kind.clone(),
                name: of.name.clone(),
                namespace: of.namespace.clone(),
            }),
            field: result.field.as_ref().map(|field| FindingField {
                path: field.path.clone(),
                current_value: shown(&field.current_value),
                proposed_value: shown(&field.proposed_value),
            }),
            file: result.file.as_ref().map(|file| FindingFile { path: file.path.clone(), index: file.index }),
            tags: result.tags.clone(),
        }
    }

    /// How it is weighed: `info` where the function does not say.
    pub fn severity(&self) -> &str {
        self.severity.as_deref().unwrap_or("info")
    }
}

/// What stands in the place of a value that nobody may see.
const REDACTED: &str = "(redacted)";
