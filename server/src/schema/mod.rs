//! What describes the API's objects, and reads what clients send of them. Pure: no I/O, no clock.
//!
//! - [`body`] reads a request's body into a JSON value, within bounds, and finds fields that stand there twice.
mod body;
mod cause;

pub use body::{Body, BodyError, Format, Limits};
pub(crate) use body::{media_type, shown};
pub use cause::Cause;
