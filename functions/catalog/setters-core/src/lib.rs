#![doc = include_str!("../README.md")]

mod assign;
mod data;
mod field_type;
mod pattern;
mod quote;
mod walk;

pub use assign::{assign, listed, replace_elements};
pub use data::data_of;
pub use field_type::{FieldType, field_type, field_type_at};
pub use pattern::{MARK, Part, Pattern};
pub use quote::go_quoted;
pub use walk::{Path, Step, Visitor, walk};
