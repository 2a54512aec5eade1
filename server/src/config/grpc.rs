//! The section `grpc` of the configuration file.

use portico_krm::yaml::Lined;
use portico_runtime::FunctionPattern;
use schemars::JsonSchema;
use serde::Deserialize;

use super::ConfigError;
use super::units::{Number, Size, Span};
use crate::grpc::{Fallback, FallbackRule, Settings};

/// gRPC: the function runner of Porch, and whole packages. See [porch.md](porch.md).
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `prefixes`, `fallback`, `sendBytes` and the like"
)]
pub(crate) struct GrpcFields {
    /// Where the functions of `EvaluateFunction` may come from: beginnings of image names, up to a `/`; `*` for all. Default:
    /// the places of the public catalog.
    prefixes: Option<Vec<String>>,
    /// Who runs functions that have no module here.
    #[schemars(with = "Option<FallbackFields>")]
    fallback: Option<Lined<FallbackFields>>,
    /// Largest message that is read. Default: 64MiB.
    receive_bytes: Option<Size>,
    /// Largest message that is sent. Default: 64MiB.
    send_bytes: Option<Size>,
    /// Bytes of all requests at once. Default: 512MiB.
    held_bytes: Option<Size>,
    /// Functions and packages that run at once. Default: twice the number of cores, at least four.
    concurrency: Option<Number>,
    /// Calls that wait for one of those. Default: 1000.
    queue: Option<Number>,
    /// How long a call waits. Default: 1m.
    queue_time: Option<Span>,
    /// Connections at once. Default: 1024.
    connections: Option<Number>,
    /// Watches and followed logs at once. Default: 1000.
    lasting: Option<Number>,
    /// After which a client is asked to connect anew. Default: never.
    connection_age: Option<Span>,
    /// True: what a function that passes writes to standard error becomes a result. Default: false.
    stderr_results: Option<bool>,
    /// False: `EvaluateFunction` needs credentials, which Porch does not send. Default: true.
    evaluate_without_credentials: Option<bool>,
}

/// Another function runner.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", expecting = "a mapping with `address` and `rules`")]
pub(crate) struct FallbackFields {
    /// `HOST:PORT`
    address: String,
    /// What goes there; the first that matches holds. Default: all that has no module here.
    rules: Option<Vec<RuleFields>>,
}

/// Which calls go to another function runner.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    rename_all = "camelCase",
    expecting = "a mapping with `name`, `image`, `namespaces`, `always`"
)]
pub(crate) struct RuleFields {
    /// The last part of the image without its tag; a star stands for any characters.
    name: Option<String>,
    /// The whole image, likewise.
    image: Option<String>,
    /// Namespaces that callers say. Default: all. Porch says none.
    namespaces: Vec<String>,
    /// True: also functions that have a module here.
    always: bool,
}

impl GrpcFields {
    /// The settings; `path` names the file in errors.
    pub(super) fn settings(self, path: &str) -> Result<Settings, ConfigError> {
        let bytes = |size: Option<Size>, default: usize| size.map_or(default, |size| clamp(size.0));
        let count = |number: Option<Number>, default: usize| number.map_or(default, |number| clamp(number.0));
        let default = Settings::default();
        let configured = self.fallback.map(|Lined { line, value }| {
            let wrong = |error| ConfigError::Field {
                path: path.to_owned(),
                line,
                text: format!("`grpc.fallback.address`: {error}"),
            };
            let rules = value.rules.map_or_else(
                || vec![FallbackRule::default()],
                |rules| rules.into_iter().map(RuleFields::rule).collect(),
            );
            Fallback::new(&value.address, rules).map_err(wrong)
        });
        let configured = configured.transpose()?;
        Ok(Settings {
            prefixes: self.prefixes.unwrap_or(default.prefixes),
            fallback: configured,
            receive_bytes: bytes(self.receive_bytes, default.receive_bytes),
            send_bytes: bytes(self.send_bytes, default.send_bytes),
            held_bytes: self.held_bytes.map_or(default.held_bytes, |size| size.0),
            concurrency: count(self.concurrency, default.concurrency),
            queue: count(self.queue, default.queue),
            queue_time: self.queue_time.map_or(default.queue_time, |span| span.0),
            connections: count(self.connections, default.connections),
            lasting: count(self.lasting, default.lasting),
            connection_age: self.connection_age.map(|span| span.0),
            stderr_results: self.stderr_results.unwrap_or(default.stderr_results),
            evaluate_without_credentials: self
                .evaluate_without_credentials
                .unwrap_or(default.evaluate_without_credentials),
            ..Settings::default()
        })
    }
}

impl RuleFields {
    fn rule(self) -> FallbackRule {
        let functions = FunctionPattern { name: self.name, image: self.image };
        FallbackRule { functions, namespaces: self.namespaces, always: self.always }
    }
}

fn clamp(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, ConfigError> {
        let fields: GrpcFields = serde_yaml::from_str(text).expect("fields");
        fields.settings("server.yaml")
    }

    #[test]
    fn what_is_said_goes_before_the_defaults() {
        let settings = read("prefixes: [reg.io/fn]\nsendBytes: 6MiB\nqueue: 7\n").expect("right");
        assert_eq!(
            (&*settings.prefixes, settings.send_bytes, settings.queue),
            (&["reg.io/fn".to_owned()][..], 6 << 20, 7)
        );
        assert_eq!(settings.fallback, None);
        assert_eq!(read("{}").expect("right"), Settings::default());
    }
}
