//! What a store holds and the scheduler speaks of: plain values.

mod condition;
mod error;
mod key;
mod mirror;
mod revision;
mod state;

pub use condition::{Condition, ConditionStatus, MESSAGE_BYTES, RENDER_FINISHED, RENDERED, Reason, bounded, shortened};
pub use error::ErrorClass;
pub use key::{RevisionKey, Tenant};
pub use mirror::{MIRRORED_BYTES, mirror};
pub use revision::{ContentDigest, ContentVersion, Files, Lifecycle, ObjectVersion, Priority, Revision};
pub use state::{Ending, RenderState};
