//! `/ui/api/queue`: what waits and what runs, tenant by tenant.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use portico_scheduler::core::RenderExecutionStatus;
use portico_scheduler::store::{PackageStore as _, Select};
use serde::Serialize;

use super::Ui;
use crate::auth::{Attributes, Identity};

/// Unfinished revisions that are looked at for the tenants' numbers: those whose content has been waiting longest.
const LOOKED_AT: usize = 10_000;

/// Revisions of a page of the store.
const PAGE: usize = 1_000;

/// The queue of renders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Queue {
    /// Revisions that wait for a point in time: for a quiet moment, or for another try.
    pub delayed: usize,
    /// Revisions that wait for their turn.
    pub ready: usize,
    /// Revisions that wait for something else of their tenant's to end.
    pub at_quota: usize,
    /// Revisions that wait for memory.
    pub waiting_for_memory: usize,
    /// Renders that run.
    pub running: usize,
    /// How long the oldest has waited for a worker, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_milliseconds: Option<u64>,
    /// Those whose revisions whoever asks may list.
    pub tenants: Vec<TenantQueue>,
    /// Those of them that run.
    pub renders: Vec<Rendering>,
    /// True when there were too many revisions to look at all of them.
    pub partial: bool,
}

/// A render that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rendering {
    /// The revision's namespace.
    pub namespace: String,
    /// The revision's name.
    pub name: String,
    /// The render's id.
    pub render: String,
    /// How long it has been running.
    pub elapsed_microseconds: u64,
    /// The function that runs now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// What waits and runs of one tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TenantQueue {
    /// The namespace.
    pub namespace: String,
    /// The repository in it.
    pub repository: String,
    /// Revisions that wait.
    pub waiting: usize,
    /// Renders that run.
    pub running: usize,
}

/// Who sees a tenant: whoever may list its revisions.
pub(super) async fn queue(State(ui): State<Arc<Ui>>, who: Option<Extension<Identity>>) -> Response {
    let who = match who {
        Some(Extension(who)) => who,
        // Without a listener that finds out there is nobody.
        None => Identity { user: "system:anonymous".into(), groups: Vec::new().into() },
    };
    let page =
        Attributes { verb: "get", group: "", resource: "/ui/api/queue", subresource: "", namespace: "", name: "" };
    if let Err(reason) = ui.authorizer.allows(&who, &page) {
        return (StatusCode::FORBIDDEN, format!("{reason}\n")).into_response();
    }
    match look(&ui, &who).await {
        Ok(queue) => ([(header::CACHE_CONTROL, "no-store")], Json(queue)).into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}

async fn look(ui: &Ui, who: &Identity) -> Result<Queue, portico_scheduler::store::StoreError> {
    let mut tenants: BTreeMap<(Arc<str>, Arc<str>), TenantQueue> = BTreeMap::new();
    let mut allowed: BTreeMap<Arc<str>, bool> = BTreeMap::new();
    let mut may_see = |namespace: &Arc<str>| {
        *allowed.entry(Arc::clone(namespace)).or_insert_with(|| {
            let list = Attributes {
                verb: "list",
                group: "porch.kpt.dev",
                resource: "packagerevisions",
                subresource: "",
                namespace,
                name: "",
            };
            ui.authorizer.allows(who, &list).is_ok()
        })
    };
    let (mut after, mut looked_at) = (None, 0);
    loop {
        let page = ui.scheduler.store().page(Select::Unfinished, after, PAGE).await?;
        looked_at += page.revisions.len();
        for revision in page.revisions {
            if !may_see(&revision.key.namespace) {
                continue;
            }
            let tenant = revision.tenant();
            let row = tenants.entry((tenant.namespace, tenant.repository)).or_default();
            match ui.scheduler.render_execution_status(&revision.key) {
                RenderExecutionStatus::Ongoing => row.running += 1,
                RenderExecutionStatus::Scheduled | RenderExecutionStatus::None => row.waiting += 1,
            }
        }
        after = page.next;
        if after.is_none() || looked_at >= LOOKED_AT {
            break;
        }
    }
    let named = |((namespace, repository), row): ((Arc<str>, Arc<str>), TenantQueue)| TenantQueue {
        namespace: namespace.to_string(),
        repository: repository.to_string(),
        ..row
    };
    let mut renders: Vec<Rendering> = ui
        .renders
        .all_live()
        .iter()
        .filter(|live| may_see(&live.key().namespace))
        .map(|live| {
            let (elapsed, function) = live.progress();
            Rendering {
                namespace: live.key().namespace.to_string(),
                name: live.key().name.to_string(),
                render: live.id().to_string(),
                elapsed_microseconds: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
                function,
            }
        })
        .collect();
    // The longest first.
    renders.sort_by_key(|render| std::cmp::Reverse(render.elapsed_microseconds));
    let lengths = ui.scheduler.lengths();
    let oldest = ui.scheduler.oldest().map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    Ok(Queue {
        delayed: lengths.delayed,
        ready: lengths.ready + lengths.granted,
        at_quota: lengths.at_quota,
        waiting_for_memory: lengths.reserving,
        running: lengths.running,
        oldest_milliseconds: oldest,
        tenants: tenants.into_iter().map(named).collect(),
        renders,
        partial: after.is_some(),
    })
}
