//! Reading YAML: structure, values, comments, errors, bounds, spans.
//!
//! Cases of the shared conformance data run where `PORTICO_CONFORMANCE` names them; the others always do.

#![expect(clippy::print_stdout, reason = "tests say what they counted and what they skipped")]
#![expect(clippy::format_push_string, clippy::format_collect, reason = "plain code before speed in tests")]

mod comments;
mod conformance;
mod differential;
mod errors;
mod files;
mod hostile;
mod mutated;
mod spans;
mod suite;
mod support;
mod values;
