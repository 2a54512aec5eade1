//! What the API takes.

use std::time::Duration;

/// What the API takes. What a store takes is in `StoreLimits`; what a listener takes is the operator's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiLimits {
    /// Bytes of a request's body.
    ///
    /// - Problem: a body is held in memory, decoded, and compared, about four times its size at once.
    /// - Mechanism: reading stops there; the answer is 413.
    /// - Default: 16 MiB, several times what a Kubernetes API server takes, for packages are larger than objects.
    /// - Does not stop: many requests at once; the listener bounds those.
    pub body_bytes: usize,

    /// Bytes that all package revisions may hold in memory without their files, about.
    ///
    /// - Problem: lists are answered from memory, and every revision counts.
    /// - Mechanism: at the bound creations are refused, as by a quota (403), and so are writes that make labels, annotations,
    ///   lists of managers or the like larger; other writes, lifecycles and deletions go on.
    /// - Default: 512 MiB: a hundred thousand revisions of 5 KiB.
    /// - Does not stop: the growth of conditions, which the store bounds for each revision.
    pub cache_bytes: usize,

    /// Objects that the rests of paged lists may hold on to, all together.
    ///
    /// - Problem: the pages of a list are of one instant, so that the rest is kept until the client comes for it.
    /// - Mechanism: the oldest rests go first; their clients get 410 and list again, as Kubernetes' clients do.
    /// - Default: 250,000 references of 48 bytes, and what they keep of revisions that have changed since.
    /// - Does not stop: lists without `limit`, which keep nothing.
    pub list_rests: usize,

    /// How long the rest of a paged list is kept. Default: 5 minutes, as Kubernetes compacts its history.
    pub list_rest_age: Duration,

    /// How often a write is tried again that somebody else's came before, where the client named no version. Default: 16;
    /// then it is 409, and the client's turn.
    pub attempts: usize,

    /// How long a request waits until this process has seen a version that the client, or the store, has. Default: 10 s;
    /// then it is 504.
    pub catch_up: Duration,

    /// How often a watch that asks for bookmarks gets one. Default: 60 s.
    pub bookmark: Duration,

    /// How long a watch lasts that does not say so itself; at random between this and twice this, so that not all come back
    /// at once. Default: 30 minutes, as Kubernetes has it.
    pub watch: Duration,

    /// Bytes of names and values of `spec`, and of metadata beyond labels and annotations, of one object. Part of what the
    /// store bounds as `document_bytes`. Default: 1 MiB.
    pub document_bytes: usize,
}

impl Default for ApiLimits {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            cache_bytes: 512 << 20,
            list_rests: 250_000,
            list_rest_age: Duration::from_mins(5),
            attempts: 16,
            catch_up: Duration::from_secs(10),
            bookmark: Duration::from_mins(1),
            watch: Duration::from_mins(30),
            document_bytes: 1 << 20,
        }
    }
}
