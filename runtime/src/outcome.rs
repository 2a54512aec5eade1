//! What a render produced.

use portico_krm::Resource;
use serde::{Deserialize, Serialize};

use crate::child::Confinement;
use crate::package::Change;
use crate::report::{StepReport, StepState};

/// The result of a render, failed or not. A render that could not even begin is a [`RenderError`].
#[derive(Debug, Default)]
pub struct Outcome {
    /// The files to write and delete; nothing else in the package changes. Empty when the output goes elsewhere.
    pub changes: Vec<Change>,
    /// The resources in pipeline order, with root-relative path annotations: for output that does not go back into
    /// the package. Empty unless [`crate::RenderOptions::out_of_place`] asked for them, and on failure.
    pub resources: Vec<Resource>,
    /// Every function of every package in the order of execution; those that did not run stand behind those that did.
    pub steps: Vec<StepReport>,
    /// How many packages the tree holds, those without a pipeline included.
    pub packages: usize,
    /// What went wrong; `None` when the render passed.
    pub failure: Option<Failure>,
    /// How many Stores the functions ran in; normally one.
    pub stores: u64,
    /// True when the changes are the unfinished state that `kpt.dev/save-on-render-failure` asks for.
    pub saved_on_failure: bool,
    /// What the process was held to that rendered it; `None` when it was this process.
    pub confinement: Option<Confinement>,
}

impl Outcome {
    /// How many functions passed.
    pub fn executed(&self) -> usize {
        self.steps.iter().filter(|step| step.state == StepState::Passed).count()
    }
}

/// Why a render failed after it began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What to do about it depends on the kind.
    pub kind: FailureKind,
    /// Slash path from the root of the package in which it happened; empty for the root.
    pub package: String,
    /// The step in [`Outcome::steps`].
    pub step: Option<usize>,
    /// The whole story, perhaps on several lines: what, where, why, what to do.
    pub message: String,
    /// The message that kpt puts into the `Rendered` condition.
    pub kpt_condition: String,
    /// What kpt prints at the end, without a line break behind it; `None` where the step's own lines say it all.
    pub kpt_error: Option<String>,
}

/// Kinds of [`Failure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FailureKind {
    /// A file of the package is not what it has to be: a subpackage's Kptfile, YAML, a resource without a kind.
    Package,
    /// A function cannot be found, or may not be run.
    Unresolved,
    /// A function ran and failed, was ended by a limit, or wrote something that cannot be taken.
    Function,
    /// The resources cannot be mapped back to files.
    Output,
}

/// Why a render could not begin, or was given up. Nothing is to be written, not even a status.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The package has no Kptfile.
    #[error("no Kptfile found at `{path}`")]
    MissingKptfile {
        /// Absolute path of the package.
        path: String,
    },
    /// The root Kptfile cannot be read or is invalid.
    #[error("{message}")]
    Kptfile {
        /// Our words: file, line, column, field, what to do.
        message: String,
        /// What kpt prints, without a line break behind it.
        kpt: String,
    },
    /// The function configuration given on the command line, or the input stream, cannot be used.
    #[error("{0}")]
    Input(String),
    /// The process that was to render it in isolation gave no outcome.
    #[error("the package could not be rendered in a process of its own: {reason}")]
    Worker {
        /// What is known: how often it was tried, a signal, its last words.
        reason: String,
    },
    /// The render was cancelled.
    #[error("the render was cancelled")]
    Cancelled,
}
