//! What an operator can set of the gRPC server. See `docs/porch.md`.

use std::time::Duration;

use super::evaluate::Fallback;

/// The longest text of a status. It ends in a condition of a Kptfile and of a custom resource, which takes 32 KiB and
/// refuses the whole status beyond that.
pub(crate) const TEXT_BYTES: usize = 8 << 10;

/// How the gRPC server works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Largest message that is read, in bytes.
    ///
    /// - Problem: one request that fills the memory.
    /// - Mechanism: a message whose length says more is refused before it is read: `RESOURCE_EXHAUSTED`.
    /// - Default: 64 MiB. Porch's own client sends up to 6 MiB unless told otherwise.
    /// - Does not stop: many requests; [`held_bytes`](Self::held_bytes) does.
    pub receive_bytes: usize,

    /// Largest message that is sent, in bytes. A caller says less with the metadata key `portico-max-response-bytes`.
    ///
    /// - Problem: an answer that the client's own limit refuses, in words that tell nobody what to do.
    /// - Mechanism: a larger answer becomes `RESOURCE_EXHAUSTED`, with both numbers.
    /// - Default: 64 MiB. For an unmodified Porch set its own 6 MiB.
    /// - Does not stop: a function that writes much; `stdout` of the render limits does.
    pub send_bytes: usize,

    /// Bytes of all requests that are held at once, from the first byte of each until its answer is made.
    ///
    /// - Problem: a thousand requests that are each within the bound of a message.
    /// - Mechanism: counted as they come; a request that goes beyond is ended with `RESOURCE_EXHAUSTED` and a word on when
    ///   to come back. One is always let through.
    /// - Default: 512 MiB.
    /// - Does not stop: what functions and renders use while they run; their limits times `concurrency` do.
    pub held_bytes: u64,

    /// Functions and renders that run at once.
    ///
    /// - Problem: more work than processors makes all of it late, and each takes memory.
    /// - Mechanism: permits, given in the order of asking. Kept until the work really ends, also when its caller is gone.
    /// - Default: two for each processor, four at least.
    /// - Does not stop: a caller whose functions take long from taking all of them; the render limits bound how long.
    pub concurrency: usize,

    /// Calls that wait for a permit.
    ///
    /// - Problem: a queue that grows for as long as it is too slow.
    /// - Mechanism: one call more is `UNAVAILABLE`, with a word on when to come back.
    /// - Default: 1,000.
    /// - Does not stop: large requests in it; `held_bytes` does.
    pub queue: usize,

    /// How long a call waits for a permit.
    ///
    /// - Problem: Porch's controller sets no deadline: a call would wait for ever behind functions that take for ever.
    /// - Mechanism: after that, `UNAVAILABLE` with a word on when to come back.
    /// - Default: 60 s.
    /// - Does not stop: a deadline of the caller's from being shorter.
    pub queue_time: Duration,

    /// Connections at once.
    ///
    /// - Problem: file descriptors and memory of connections that say nothing.
    /// - Mechanism: the next one is not accepted until one ends. Each has to begin to speak within ten seconds.
    /// - Default: 1,024.
    /// - Does not stop: one client from taking them all.
    pub connections: usize,

    /// Calls at once on one connection. Porch uses a single connection for all.
    ///
    /// - Problem: buffers of streams that one connection opens.
    /// - Mechanism: HTTP/2's own setting; clients wait.
    /// - Default: 1,024.
    /// - Does not stop: several connections.
    pub streams: u32,

    /// Bytes of the headers of a request.
    ///
    /// - Problem: headers are held before anybody can look at them.
    /// - Mechanism: HTTP/2's own setting.
    /// - Default: 16 KiB.
    /// - Does not stop: many requests.
    pub header_bytes: u32,

    /// Bytes of details in a status that a caller gets without asking for more, and those that it may ask for with the
    /// metadata key `portico-max-details-bytes`.
    ///
    /// - Problem: trailers that a client or a proxy refuses, and the error with them.
    /// - Mechanism: items, then results, then standard error are left out.
    /// - Default: 16 KiB, and 4 MiB.
    /// - Does not stop: the text of the status, which has its own bound of 8 KiB.
    pub details_bytes: (usize, usize),

    /// Calls at once that last until somebody ends them: watches, logs that are followed, reflection.
    ///
    /// - Problem: each holds a stream for as long as it likes.
    /// - Mechanism: one more is `RESOURCE_EXHAUSTED`, with a word on when to come back. All are ended when the server stops.
    /// - Default: 1,000.
    /// - Does not stop: one caller from taking all of them.
    pub lasting: usize,

    /// When a caller that was sent away is asked to come back. Default: 1 s.
    pub retry_after: Duration,

    /// How old a connection gets before its client is asked to make a new one, so that load spreads over new replicas.
    /// Default: for ever.
    pub connection_age: Option<Duration>,

    /// How long calls may take to end when the server stops. Default: 30 s.
    pub drain: Duration,

    /// Whether `EvaluateFunction` may be called without credentials. The authorizer is asked all the same, for
    /// `system:anonymous`: `create` of `functionevaluations` in the group `portico.dev`.
    ///
    /// - Problem: Porch sends no credentials, and other services need them.
    /// - Mechanism: a call of this method without the metadata `authorization` is anonymous instead of refused.
    /// - Default: yes.
    /// - Does not stop: whoever reaches the port from using its processors; networks and `roles` do.
    pub evaluate_without_credentials: bool,

    /// Where functions may come from: the beginnings of image names, up to a slash. `*` allows all.
    ///
    /// - Problem: an image of somebody else that happens to end with the name of a module.
    /// - Mechanism: other images are `NOT_FOUND`, before any source is asked.
    /// - Default: the public catalog's places.
    /// - Does not stop: who may write to those places.
    pub prefixes: Vec<String>,

    /// Whether what a function that passed wrote to standard error becomes a result of severity `info`: the only way by
    /// which a user of an unmodified Porch sees it. Default: no; a caller asks with the metadata `portico-stderr: results`.
    pub stderr_results: bool,

    /// Who runs functions that have no module here. Default: nobody.
    pub fallback: Option<Fallback>,
}

impl Default for Settings {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let prefixes = ["ghcr.io/kptdev/krm-functions-catalog", "gcr.io/kpt-fn", "gcr.io/kpt-fn-contrib"];
        Self {
            receive_bytes: 64 << 20,
            send_bytes: 64 << 20,
            held_bytes: 512 << 20,
            concurrency: (2 * processors).max(4),
            queue: 1_000,
            queue_time: Duration::from_mins(1),
            connections: 1_024,
            streams: 1_024,
            header_bytes: 16 << 10,
            details_bytes: (16 << 10, 4 << 20),
            lasting: 1_000,
            retry_after: Duration::from_secs(1),
            connection_age: None,
            drain: Duration::from_secs(30),
            evaluate_without_credentials: true,
            prefixes: prefixes.map(str::to_owned).to_vec(),
            stderr_results: false,
            fallback: None,
        }
    }
}

impl Settings {
    /// Whether functions of this image may be run here.
    pub(crate) fn allows(&self, image: &str) -> bool {
        self.prefixes.iter().any(|prefix| {
            let prefix = prefix.trim_end_matches('/');
            prefix == "*" || image.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_at_a_slash() {
        let settings = Settings { prefixes: vec!["reg.io/fn/".to_owned()], ..Settings::default() };
        assert!(settings.allows("reg.io/fn/set-labels:v1"));
        for other in ["reg.io/fn2/set-labels:v1", "reg.io/fn", "evil.io/reg.io/fn/set-labels"] {
            assert!(!settings.allows(other), "{other}");
        }
        let all = Settings { prefixes: vec!["*".to_owned()], ..Settings::default() };
        assert!(all.allows("anything:v1"));
    }
}
