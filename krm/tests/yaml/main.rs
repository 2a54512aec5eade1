//! Reading YAML: structure, values, comments, errors, bounds, spans.
//!
//! Cases of the shared conformance data run where `PORTICO_CONFORMANCE` names them; the others always do.

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
