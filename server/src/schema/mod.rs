//! What describes the API's objects, and reads what clients send of them. Pure: no I/O, no clock.
//!
//! - [`Body::read`] reads a request's body into a JSON value, within bounds, and finds fields that stand there twice.
//! - [`validate`] names fields that a kind does not have, [`typed`] makes the object.
//! - [`structure`] is how a kind is built: for those two, and for server-side apply.
//! - [`openapi`] tells clients the same.
//! - [`select`] reads label and field selectors.

mod body;
mod decode;
mod definitions;
pub mod openapi;
pub mod select;
mod structure;

pub use body::{Body, BodyError, Format, Limits};
pub(crate) use body::{media_type, shown};
pub use decode::{
    DecodeError, FieldFault, FieldValidation, drop_nulls, field_faults, typed, validate, warning_headers,
};
pub use definitions::structure;
pub use structure::{ListKind, Shape, Structure};
