//! The server's configuration file, field by field, as it is written. Whatever is not named here is refused.

use std::collections::BTreeMap;
use std::path::PathBuf;

use portico_krm::yaml::Lined;
use schemars::JsonSchema;
use serde::Deserialize;

use super::compiler::CompilerFields;
use super::grpc::GrpcFields;
use super::limits::{LimitFields, ProfileFields};
use super::units::{Number, Size, Span};

/// Configuration of `portico serve`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `apiVersion`, `kind` and the like"
)]
pub(crate) struct File {
    /// `portico.dev/v1alpha1`
    pub(super) api_version: String,
    /// `ServerConfiguration`
    pub(super) kind: String,
    /// The file of the store; it is made where there is none. Restart.
    pub(super) store: Option<PathBuf>,
    /// Where to listen. Restart.
    pub(super) listen: ListenFields,
    /// gRPC, where `listen.grpc` says that there is some. Restart.
    pub(super) grpc: GrpcFields,
    /// Certificates; without them there is no TLS. Restart; the files themselves are read anew when they change.
    pub(super) tls: Option<TlsFields>,
    /// Who may do what. Restart; the files themselves are read anew when they change.
    pub(super) access: AccessFields,
    /// Renders at one time. Default: the number of cores less one, at least one.
    pub(super) workers: Option<u16>,
    /// Limits of renders, in the place of the defaults: [limits.md](limits.md).
    pub(super) limits: LimitFields,
    /// What no render gets more of, whoever asks.
    pub(super) maximum: LimitFields,
    /// Other limits for some functions; of several that match the later one holds.
    #[schemars(with = "Vec<ProfileFields>")]
    pub(super) functions: Vec<Lined<ProfileFields>>,
    /// Where functions come from besides those of the program.
    pub(super) modules: ModuleFields,
    /// What compiling a function's module may take. Restart.
    pub(super) compiler: CompilerFields,
    /// `process`: renders run in child processes that can only compute, one for each namespace. `none`: in the server's own.
    /// Default: `none`. Restart.
    #[schemars(with = "Option<String>")]
    pub(super) isolation: Option<Lined<String>>,
    /// The queue of renders. Restart.
    pub(super) queue: QueueFields,
    /// What each namespace may use that has no quota of its own. Restart.
    pub(super) quota: QuotaFields,
    /// What is different in a namespace, by its name.
    #[schemars(with = "BTreeMap<String, NamespaceFields>")]
    pub(super) namespaces: BTreeMap<String, Lined<NamespaceFields>>,
    /// What clients may ask of the server: see [limits.md](limits.md).
    pub(super) requests: RequestFields,
    /// What is told of renders: see [server-logs.md](server-logs.md).
    pub(super) records: RecordFields,
    /// Logs on standard error. Restart.
    pub(super) log: LogFields,
    /// How the server ends.
    pub(super) drain: DrainFields,
    /// Traces, for programs that were built with the feature `otlp`. Restart.
    pub(super) traces: Option<TraceFields>,
}

/// Where to listen.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `api`, `grpc`, `insecureWithoutTls`, `insecureWithoutAuthentication`"
)]
pub(crate) struct ListenFields {
    /// For the API: `127.0.0.1:8080`, `[::]:8443`, `unix:/run/portico/api.sock`. Default: `127.0.0.1:8080`.
    #[schemars(with = "Option<String>")]
    pub(super) api: Option<Lined<String>>,
    /// For gRPC, without TLS, as Porch calls it; without this there is none.
    #[schemars(with = "Option<String>")]
    pub(super) grpc: Option<Lined<String>>,
    /// True: without TLS on addresses that others reach. Whoever is in between reads and changes everything, tokens too.
    pub(super) insecure_without_tls: bool,
    /// True: without tokens and client certificates on addresses that others reach. Whoever reaches them may do everything.
    pub(super) insecure_without_authentication: bool,
}

/// Certificates.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    rename_all = "camelCase",
    expecting = "a mapping with `certificate`, `key`, `clientAuthorities`"
)]
pub(crate) struct TlsFields {
    /// File with the server's certificate and those up to a root, as PEM.
    pub(super) certificate: PathBuf,
    /// File with its key, as PEM.
    pub(super) key: PathBuf,
    /// File with the authorities that vouch for clients, as PEM. A client's common name (CN) is its user, its organizations
    /// (O) are its groups.
    pub(super) client_authorities: Option<PathBuf>,
}

/// Who may do what.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase", expecting = "a mapping with `tokens` and `roles`")]
pub(crate) struct AccessFields {
    /// File with the tokens: [server.md](server.md).
    pub(super) tokens: Option<PathBuf>,
    /// File with roles and who has them: [server.md](server.md). Without it everybody who is known may do everything.
    pub(super) roles: Option<PathBuf>,
}

/// Where functions come from.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `directories`, `prefix`, `allowed`"
)]
pub(crate) struct ModuleFields {
    /// Directories with modules: `NAME.wasm` for every image whose last part is `NAME`.
    pub(super) directories: Vec<PathBuf>,
    /// Registry and path in front of images without a `/`.
    pub(super) prefix: Option<String>,
    /// Images that may be used, with their prefix; a star stands for any characters. Without this all of them.
    pub(super) allowed: Option<Vec<String>>,
}

/// The queue.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `entries`, `memory`, `age`"
)]
pub(crate) struct QueueFields {
    /// Revisions that wait in memory; the others wait in the store. Default: 100000.
    pub(super) entries: Option<Number>,
    /// Memory of all renders that run, each counted with the `memory` of its limits. Default: no bound.
    pub(super) memory: Option<Size>,
    /// How long a revision waits until it goes up one priority. Default: 30s.
    pub(super) age: Option<Span>,
}

/// What a namespace may use.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `renders`, `memory`, `fuelPerSecond`, `fuelSaved`, `priority`"
)]
pub(crate) struct QuotaFields {
    /// Renders at one time.
    pub(super) renders: Option<Number>,
    /// Memory of its renders at one time, each counted with the `memory` of its limits.
    pub(super) memory: Option<Size>,
    /// Fuel each second, over time.
    pub(super) fuel_per_second: Option<Number>,
    /// Fuel that it can save up. Default: that of a minute.
    pub(super) fuel_saved: Option<Number>,
    /// The highest priority that its renders can have: `low`, `normal` or `high`.
    #[schemars(with = "Option<String>")]
    pub(super) priority: Option<Lined<String>>,
}

/// What is different in a namespace.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `limits`, `maximum`, `functions`, `modules`, `quota`"
)]
pub(crate) struct NamespaceFields {
    /// Limits, in the place of those of the whole server.
    pub(super) limits: LimitFields,
    /// What its renders get no more of; the lower one of this and that of the whole server holds.
    pub(super) maximum: LimitFields,
    /// Limits for some functions, behind those of the whole server.
    #[schemars(with = "Vec<ProfileFields>")]
    pub(super) functions: Vec<Lined<ProfileFields>>,
    /// Directories with modules for this namespace alone, before those of the whole server.
    pub(super) modules: Vec<PathBuf>,
    /// What it may use, in the place of the quota of all.
    pub(super) quota: Option<QuotaFields>,
}

/// What clients may ask.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase", expecting = "a mapping of limits of requests")]
pub(crate) struct RequestFields {
    /// Connections at one time. Restart.
    pub(super) connections: Option<Number>,
    /// Time for the TLS handshake.
    pub(super) handshake: Option<Span>,
    /// Time for a connection's first request, and for the head of each on HTTP/1.
    pub(super) head_time: Option<Span>,
    /// Bytes of a request's head.
    pub(super) head_bytes: Option<Size>,
    /// Bytes of a request's body.
    pub(super) body_bytes: Option<Size>,
    /// Bytes of all bodies that are worked on.
    pub(super) bodies_bytes: Option<Size>,
    /// Requests at one time, without watches.
    pub(super) in_flight: Option<Number>,
    /// Those of one user.
    pub(super) in_flight_per_user: Option<Number>,
    /// Requests of one user each second, over time.
    pub(super) per_second: Option<Number>,
    /// Requests that one user can save up.
    pub(super) burst: Option<Number>,
    /// Watches and followed logs at one time.
    pub(super) watches: Option<Number>,
    /// Those of one user.
    pub(super) watches_per_user: Option<Number>,
    /// Time of a request, without watches.
    pub(super) time: Option<Span>,
}

/// What is told of renders.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase", expecting = "a mapping with `hidden`")]
pub(crate) struct RecordFields {
    /// Kinds whose values no record shows, besides `Secret`: `Login.example.com`, or `ConfigMap` for the core.
    #[schemars(with = "Vec<String>")]
    pub(super) hidden: Vec<Lined<String>>,
}

/// Logs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase", expecting = "a mapping with `format` and `level`")]
pub(crate) struct LogFields {
    /// `text` or `json`. Default: `text`.
    #[schemars(with = "Option<String>")]
    pub(super) format: Option<Lined<String>>,
    /// `error`, `warn`, `info`, `debug`, `trace`, or what `RUST_LOG` takes, which goes before this. Default: `info`.
    #[schemars(with = "Option<String>")]
    pub(super) level: Option<Lined<String>>,
}

/// How the server ends.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `delay`, `requests`, `renders`"
)]
pub(crate) struct DrainFields {
    /// How long it is not ready and still takes requests, so that those who send them notice. Default: 0s.
    pub(super) delay: Option<Span>,
    /// How long it then waits for requests that are being answered. Default: 20s.
    pub(super) requests: Option<Span>,
    /// How long it then waits for renders to stop and for results to be stored. Default: 10s.
    pub(super) renders: Option<Span>,
}

/// Traces.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "a mapping with `endpoint`")]
pub(crate) struct TraceFields {
    /// The collector, for OTLP over gRPC: `http://127.0.0.1:4317`.
    pub(super) endpoint: String,
}
