//! What of a running server can be changed by its files.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use portico_runtime::with_causes;

use super::admission::Admission;
use super::reload::Subject;
use super::tls::Tls;
use crate::Scheduler;
use crate::auth::{Authenticator, RolesOfFile};
use crate::config::{ConfigError, Renders, ServerConfig};

/// The parts that obey files while they work.
pub(crate) struct Live {
    /// What the server was started with: what needs a restart is as it says.
    pub(crate) started: ServerConfig,
    /// What was read last.
    pub(crate) config: Mutex<ServerConfig>,
    pub(crate) renders: Arc<Renders>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) scheduler: Scheduler,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) roles: Option<Arc<RolesOfFile>>,
    pub(crate) tls: Option<Arc<Tls>>,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("started", &self.started).finish_non_exhaustive()
    }
}

impl Live {
    /// What was read last.
    pub(crate) fn config(&self) -> ServerConfig {
        self.config.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the configuration again. The word says what needs a restart.
    fn reload(&self) -> Result<String, ConfigError> {
        let before = self.config();
        let next = before.reread()?;
        self.admission.set_limits(next.requests.clone());
        self.renders.set(next.clone());
        let named = |config: &ServerConfig| config.namespaces.keys().cloned().collect::<BTreeSet<_>>();
        for name in named(&before).union(&named(&next)) {
            self.scheduler.set_quota(name, next.namespaces.get(name).and_then(|namespace| namespace.quota));
        }
        if before.workers != next.workers {
            self.scheduler.start_processing(next.workers);
        }
        // What could not be rendered may be able to be now.
        self.scheduler.configuration_changed();
        let restart = self.started.needs_restart(&next);
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(match restart[..] {
            [] => String::new(),
            _ => format!("what changed of `{}` holds after a restart", restart.join("`, `")),
        })
    }

    /// Everything that is read again when its files change.
    pub(crate) fn subjects(self: &Arc<Self>) -> Vec<Subject> {
        let mut subjects = Vec::new();
        let mut add = |name, files: Vec<PathBuf>, read: Box<dyn Fn() -> Result<String, String> + Send>| {
            if !files.is_empty() {
                subjects.push(Subject { name, files, read });
            }
        };
        let live = Arc::clone(self);
        let files = self.started.source.file.iter().cloned().collect();
        add("configuration", files, Box::new(move || live.reload().map_err(|error| with_causes(&error))));
        let authenticator = Arc::clone(&self.authenticator);
        add("tokens", self.started.tokens.iter().cloned().collect(), Box::new(move || done(authenticator.reload())));
        if let Some(roles) = self.roles.clone() {
            add("roles", self.started.roles.iter().cloned().collect(), Box::new(move || done(roles.reload())));
        }
        if let (Some(tls), Some(files)) = (self.tls.clone(), &self.started.tls) {
            add("certificates", files.paths(), Box::new(move || done(tls.reload())));
        }
        subjects
    }
}

fn done<E: std::error::Error>(result: Result<(), E>) -> Result<String, String> {
    result.map(|()| String::new()).map_err(|error| with_causes(&error))
}
