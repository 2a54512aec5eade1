//! What a store takes.

/// What a store takes. Beyond a bound a write is refused with [`super::StoreError::TooLarge`], and nothing of it is
/// kept. See `docs/limits.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLimits {
    /// Files of a package.
    pub files: usize,
    /// Bytes of a package: paths and contents.
    pub package_bytes: u64,
    /// Bytes of a path.
    pub path_bytes: usize,
    /// Bytes of a namespace, name or repository; Kubernetes' own bound.
    pub name_bytes: usize,
    /// Labels of a revision.
    pub labels: usize,
    /// Annotations of a revision.
    pub annotations: usize,
    /// Bytes of all annotations of a revision, names and values; Kubernetes' own bound.
    pub annotation_bytes: usize,
    /// Bytes of [`crate::model::Revision::document`].
    pub document_bytes: usize,
    /// Conditions of a revision that are not the scheduler's.
    pub conditions: usize,
    /// Bytes of the texts of all labels and of all such conditions of a revision: names, values, reasons, messages.
    pub text_bytes: usize,
    /// Content versions kept of a revision, the newest included.
    pub history: usize,
    /// Revisions of a page.
    pub page: usize,
    /// Changes kept for watches that resume.
    pub events: usize,
    /// Bytes that these may hold, about.
    pub event_bytes: usize,
    /// Bytes of a render's log; the middle of a longer one is left out.
    pub log_bytes: usize,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            files: 20_000,
            package_bytes: 64 << 20,
            path_bytes: 4096,
            name_bytes: 253,
            labels: 64,
            annotations: 256,
            annotation_bytes: 256 << 10,
            document_bytes: 4 << 20,
            conditions: 32,
            text_bytes: 64 << 10,
            history: 10,
            page: 1000,
            events: 10_000,
            event_bytes: 32 << 20,
            log_bytes: 1 << 20,
        }
    }
}
