#![doc = include_str!("../README.md")]

pub mod config;
mod depends_on;
pub mod field;
mod field_spec;
#[cfg(not(target_family = "wasm"))]
pub mod golden;
mod gvk;
mod identity;
mod plain;
mod process;
mod results;
mod runner;
#[cfg(test)]
mod tests;

pub use depends_on::{DEPENDS_ON, DependsOn};
pub use field::FieldError;
pub use field_spec::{FieldSpec, MAX_PATH_KEYS};
pub use gvk::{GroupVersionKind, group, is_group_version_kind, is_gvk, namespaced_by_table, version};
pub use identity::{DEFAULT_NAMESPACE, KubeObject, LOCAL_CONFIG, ResourceId, UNKNOWN_NAMESPACE, UPSTREAM_IDENTIFIER};
pub use plain::{MAX_PLAIN_DEPTH, MAX_PLAIN_NODES, PlainError, plain_copy};
pub use portico_krm::results::{Field as ResultField, File as ResultFile, FunctionResult, ResourceRef};
pub use portico_krm::{Resource, ResourceList, annotations, yaml};
pub use process::{Error, Output, Processor, Program, Verdict, as_main, main_of, run, run_in_order, run_silently};
pub use results::{Results, Severity};
pub use runner::{FUNCTION_GROUP, Runner, RunnerConfig, with_runner};
