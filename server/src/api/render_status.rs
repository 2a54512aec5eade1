//! `status.renderStatus` of a `PackageRevisionResources`, from how the last render ended and what it left.

use portico_scheduler::model::{Ending, RevisionKey};
use portico_scheduler::store::RenderLog;
use serde_json::Value;

use super::types::{
    RenderResult, RenderResultItem, RenderResultList, RenderStatus, ResultField, ResultFile, ResultReference,
};
use crate::record::{Finding, Record, RecordStep};

/// How the last render ended. The store keeps one log for each revision: a newer one may stand there, of a render whose
/// files were dropped, which says nothing of these files.
pub(super) fn of(key: &RevisionKey, ending: &Ending, log: Option<&RenderLog>) -> RenderStatus {
    let record = log.filter(|log| log.kept).map(|log| Record::stored(key, log));
    RenderStatus {
        result: record.filter(|record| !record.steps.is_empty()).map(|record| RenderResultList {
            api_version: "kpt.dev/v1".to_owned(),
            kind: "FunctionResultList".to_owned(),
            exit_code: i64::from(!ending.rendered),
            items: record.steps.into_iter().filter(|step| step.recorded).map(step).collect(),
        }),
        error: if ending.rendered { String::new() } else { ending.message.clone() },
    }
}

fn step(step: RecordStep) -> RenderResult {
    RenderResult {
        image: step.image,
        exec: step.exec,
        stderr: step.stderr,
        exit_code: step.exit_code.into(),
        results: step.results.into_iter().map(item).collect(),
    }
}

fn item(finding: Finding) -> RenderResultItem {
    RenderResultItem {
        message: finding.message,
        severity: finding.severity.unwrap_or_default(),
        resource_ref: finding.resource_ref.map(|resource| ResultReference {
            api_version: resource.api_version,
            kind: resource.kind,
            name: resource.name,
            namespace: resource.namespace,
        }),
        field: finding.field.map(|field| ResultField {
            path: field.path,
            current_value: field.current_value.map(Value::String),
            proposed_value: field.proposed_value.map(Value::String),
        }),
        file: finding.file.map(|file| ResultFile { path: file.path, index: file.index }),
        tags: finding.tags,
    }
}
