//! What clients may ask of the listener.

use std::time::Duration;

/// What clients may ask of the server at one time, before anybody looks at what they ask.
///
/// Each field's comment has the same parts as those of [`Limits`](portico_runtime::Limits). Whatever is beyond a bound that
/// passes with time is answered with 429 and `Retry-After`; nothing waits for room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLimits {
    /// Connections at one time.
    ///
    /// - Problem: each costs a descriptor and memory, whoever opened it.
    /// - Mechanism: counted when accepted. The next 64 are told 429 and closed; what comes beyond those is closed at once.
    /// - Default: 2,000.
    /// - Does not stop: one client that takes them all; a proxy before the server can tell clients apart by address.
    /// - Tested by `server/tests/ops/limits.rs`: one connection more than there may be.
    pub connections: usize,

    /// Time for the TLS handshake.
    ///
    /// - Problem: connections that never finish theirs.
    /// - Mechanism: closed when the time is over.
    /// - Default: 10 seconds.
    /// - Does not stop: handshakes that are made for their cost in processor time; `connections` bounds how many at once.
    /// - Tested by `server/tests/ops/tls.rs`: a client that says nothing.
    pub handshake: Duration,

    /// Time for a connection's first request, and on HTTP/1 for the head of each, the wait for it included.
    ///
    /// - Problem: heads that come a byte at a time ("slowloris"), connections on which nothing comes.
    /// - Mechanism: closed when the time is over. HTTP/2 connections that have had a request are asked for a sign of life
    ///   every 30 seconds instead, and closed when none comes for 20.
    /// - Default: 30 seconds, near that of Kubernetes' own servers.
    /// - Does not stop: an HTTP/2 client that keeps its connection and sends nothing; `connections` counts it.
    /// - Tested by `server/tests/ops/limits.rs`: half a head.
    pub head_time: Duration,

    /// Bytes of a request's head.
    ///
    /// - Problem: a head is kept in memory before anybody is asked.
    /// - Mechanism: HTTP/1 answers 431; HTTP/2 refuses the stream.
    /// - Default: 64 KiB. At least 8 KiB.
    /// - Does not stop: many connections with one each.
    /// - Tested by `server/tests/ops/limits.rs`: a long header.
    pub head_bytes: usize,

    /// Bytes of a request's body.
    ///
    /// - Problem: a body is read whole before it is looked at.
    /// - Mechanism: 413, before anything is read where its length is told, else as soon as it is longer.
    /// - Default: 16 MiB.
    /// - Does not stop: a body that is small and decodes to much; decoding has bounds of its own.
    /// - Tested by `server/tests/ops/limits.rs`: one byte more, told and not told.
    pub body_bytes: u64,

    /// Bytes of all bodies that are being read or worked on.
    ///
    /// - Problem: `inFlight` times `bodyBytes` is more memory than there is.
    /// - Mechanism: a body takes its length from a common budget until its request is answered, or `bodyBytes` where the
    ///   length is not told; 429 when that is not there.
    /// - Default: 256 MiB.
    /// - Does not stop: what handlers make of a body, a few times its size; so keep this a small part of the memory.
    /// - Tested by `server/tests/ops/limits.rs`: two bodies where there is room for one.
    pub bodies_bytes: u64,

    /// Requests at one time, watches and followed logs not counted.
    ///
    /// - Problem: each holds memory and a place in the store's queue.
    /// - Mechanism: counted from its head to the last byte of its answer; 429 beyond.
    /// - Default: 400, as Kubernetes' own servers.
    /// - Does not stop: one user who takes them all; `inFlightPerUser` does.
    /// - Tested by `server/tests/ops/limits.rs`: one more than there may be.
    pub in_flight: usize,

    /// Requests of one user at one time.
    ///
    /// - Problem: one user's load is everybody's 429.
    /// - Mechanism: as `inFlight`, by the user's name; those without credentials count by their address.
    /// - Default: 200.
    /// - Does not stop: somebody with many names.
    /// - Tested by `server/tests/ops/limits.rs`: another user is answered.
    pub in_flight_per_user: usize,

    /// Requests of one user each second, over time.
    ///
    /// - Problem: requests that are cheap one by one.
    /// - Mechanism: a bucket for each user, filled at this rate; 429 when it is empty, with the time until it is not. Health
    ///   is not counted. The last 10,000 users have a bucket; one that was forgotten begins with a full one.
    /// - Default: 2,000.
    /// - Does not stop: requests that are dear one by one; `inFlightPerUser` and `bodiesBytes` do.
    /// - Tested by `server/tests/ops/limits.rs`: a burst.
    pub per_second: u32,

    /// Requests that such a bucket holds.
    ///
    /// - Default: 4,000. The other parts: see `perSecond`.
    /// - Tested by `server/tests/ops/limits.rs`: a burst.
    pub burst: u32,

    /// Watches and followed logs at one time.
    ///
    /// - Problem: each lasts as long as its client wants.
    /// - Mechanism: counted until it ends; 429 beyond.
    /// - Default: 2,000.
    /// - Does not stop: what a watch costs; a slow one costs no memory.
    /// - Tested by `server/tests/ops/limits.rs`: one more than there may be.
    pub watches: usize,

    /// Watches and followed logs of one user.
    ///
    /// - Problem: one user who takes them all.
    /// - Mechanism: as `watches`, by the user's name.
    /// - Default: 500.
    /// - Does not stop: somebody with many names.
    /// - Tested by `server/tests/ops/limits.rs`: another user may watch.
    pub watches_per_user: usize,

    /// Time of a request from its head to the last byte of its answer, watches and followed logs not counted.
    ///
    /// - Problem: bodies that come, and answers that are taken, a byte at a time.
    /// - Mechanism: 408 while the body is read, 504 before there is an answer, after that the connection is cut.
    /// - Default: 60 seconds, as Kubernetes' own servers.
    /// - Does not stop: a write whose answer came too late; it may have been done.
    /// - Tested by `server/tests/ops/limits.rs`: half a body.
    pub time: Duration,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            connections: 2_000,
            handshake: Duration::from_secs(10),
            head_time: Duration::from_secs(30),
            head_bytes: 64 << 10,
            body_bytes: 16 << 20,
            bodies_bytes: 256 << 20,
            in_flight: 400,
            in_flight_per_user: 200,
            per_second: 2_000,
            burst: 4_000,
            watches: 2_000,
            watches_per_user: 500,
            time: Duration::from_mins(1),
        }
    }
}
