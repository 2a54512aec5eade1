//! Whoever times a store's calls.

use std::fmt;
use std::time::Duration;

use crate::model::ErrorClass;

/// Hears of each call of a store, its scheduler's and its clients'. Called where the call ends: it must not wait or
/// allocate for each call.
pub trait StoreMeter: fmt::Debug + Send + Sync + 'static {
    /// A call has ended after this time, its wait for others included.
    fn called(&self, operation: StoreOperation, took: Duration, error: Option<ErrorClass>);
}

/// What is asked of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreOperation {
    /// A page of a listing.
    Page,
    /// A revision with its files.
    Get,
    /// A revision without its files, by its key or its name.
    Revision,
    /// The list of content versions.
    History,
    /// The files of a content version.
    Content,
    /// A render's log.
    Log,
    /// The begin of a watch.
    Watch,
    /// A client makes a draft.
    Create,
    /// A client changes a revision.
    Update,
    /// A deletion.
    Delete,
    /// A render's result.
    SaveResult,
    /// The scheduler's word on how a render stands.
    SetState,
    /// The log of a render without a result.
    SaveLog,
    /// A backup or a check.
    Maintain,
}

impl StoreOperation {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Page,
        Self::Get,
        Self::Revision,
        Self::History,
        Self::Content,
        Self::Log,
        Self::Watch,
        Self::Create,
        Self::Update,
        Self::Delete,
        Self::SaveResult,
        Self::SetState,
        Self::SaveLog,
        Self::Maintain,
    ];

    /// As the value of a label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Get => "get",
            Self::Revision => "revision",
            Self::History => "history",
            Self::Content => "content",
            Self::Log => "log",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::SaveResult => "save_result",
            Self::SetState => "set_state",
            Self::SaveLog => "save_log",
            Self::Maintain => "maintain",
        }
    }
}
