//! What the configuration file and the flags of `portico serve` come to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use portico_krm::yaml::Lined;
use portico_runtime::image::ImagePrefix;
use portico_runtime::{CompileLimits, HiddenKind, Isolation, LimitProfile, LimitSettings};
use portico_scheduler::model::Priority;
use portico_scheduler::queue::{Fuel, Quota};

use super::document::{nearest, read_bytes, read_document};
use super::error::ConfigError;
use super::file::{File, ListenFields, ModuleFields, QuotaFields, RequestFields};
use super::header::Header;
use super::limits::LimitFields;
use crate::grpc;
use crate::ops::{Address, RequestLimits, TlsFiles};

/// The kind of the file.
const KIND: &str = "ServerConfiguration";

/// Everything that an operator says of a server, with the defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Where it was read.
    pub source: Source,
    /// The file of the store.
    pub store: PathBuf,
    /// Where the API listens.
    pub api: Address,
    /// Where gRPC listens, if it does.
    pub grpc: Option<Address>,
    /// What gRPC takes, and what it does.
    pub grpc_settings: grpc::Settings,
    /// Certificates.
    pub tls: Option<TlsFiles>,
    /// The file of tokens.
    pub tokens: Option<PathBuf>,
    /// The file of roles.
    pub roles: Option<PathBuf>,
    /// Renders at one time.
    pub workers: usize,
    /// Limits of all namespaces.
    pub limits: Option<LimitSettings>,
    /// What nobody gets more of.
    pub maximum: Option<LimitSettings>,
    /// Limits of some functions.
    pub profiles: Vec<LimitProfile>,
    /// Where functions come from.
    pub modules: Modules,
    /// What compiling may take.
    pub compiler: CompileLimits,
    /// Where renders run.
    pub isolation: Isolation,
    /// The queue.
    pub queue: QueueConfig,
    /// The quota of namespaces without one of their own.
    pub quota: Quota,
    /// What is different in a namespace.
    pub namespaces: BTreeMap<String, Namespace>,
    /// What clients may ask.
    pub requests: RequestLimits,
    /// Logs.
    pub log: LogConfig,
    /// Kinds whose values no record shows, besides `Secret`.
    pub hidden: Vec<HiddenKind>,
    /// The end.
    pub drain: Drain,
    /// The collector of traces.
    pub traces: Option<String>,
}

/// Where functions come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Modules {
    /// Directories with `NAME.wasm`.
    pub directories: Vec<PathBuf>,
    /// In front of short names.
    pub prefix: ImagePrefix,
    /// Patterns of images that may be used; `None`: all.
    pub allowed: Option<Vec<String>>,
}

/// The queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueConfig {
    /// Revisions in memory.
    pub entries: usize,
    /// Memory of all renders that run, in bytes.
    pub memory: u64,
    /// Until a revision goes up one priority.
    pub age: Duration,
}

/// What is different in a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Namespace {
    /// Limits.
    pub limits: Option<LimitSettings>,
    /// Maximum.
    pub maximum: Option<LimitSettings>,
    /// Limits of some functions.
    pub profiles: Vec<LimitProfile>,
    /// Directories with modules.
    pub modules: Vec<PathBuf>,
    /// Its quota.
    pub quota: Option<Quota>,
}

/// Logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogConfig {
    /// How lines are written.
    pub format: LogFormat,
    /// Which lines are: what `RUST_LOG` takes. `None`: `info`.
    pub level: Option<String>,
}

/// How lines of the log are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// How long the stages of the end may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drain {
    /// Not ready, and requests are still taken.
    pub delay: Duration,
    /// Waiting for requests that are being answered.
    pub requests: Duration,
    /// Waiting for renders to stop and results to be stored.
    pub renders: Duration,
}

impl Default for Drain {
    fn default() -> Self {
        Self { delay: Duration::ZERO, requests: Duration::from_secs(20), renders: Duration::from_secs(10) }
    }
}

/// Where a configuration comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// The file; it may have none.
    pub file: Option<PathBuf>,
    /// The command line.
    pub flags: Flags,
}

/// What stands on the command line; it goes before the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--store`
    pub store: Option<PathBuf>,
    /// `--listen`
    pub api: Option<Address>,
    /// `--grpc`
    pub grpc: Option<Address>,
    /// `--fallback`: goes before `grpc.fallback` with all its rules.
    pub fallback: Option<grpc::Fallback>,
    /// `--workers`
    pub workers: Option<u16>,
    /// `--log-format`
    pub log_format: Option<LogFormat>,
    /// `--log-level`
    pub log_level: Option<String>,
    /// `--insecure-without-tls`
    pub without_tls: bool,
    /// `--insecure-without-authentication`
    pub without_authentication: bool,
}

fn grpc_settings(mut settings: grpc::Settings, flags: &Flags) -> grpc::Settings {
    if let Some(fallback) = &flags.fallback {
        settings.fallback = Some(fallback.clone());
    }
    settings
}

impl ServerConfig {
    /// Reads the file, if there is one, and puts the flags before it.
    pub fn load(file: Option<&Path>, flags: &Flags) -> Result<Self, ConfigError> {
        match file {
            None => Self::of("the flags", File::default(), flags),
            Some(path) => {
                let mut config = Self::read(&path.display().to_string(), &read_bytes(path)?, flags)?;
                config.source.file = Some(path.to_owned());
                Ok(config)
            }
        }
    }

    /// Reads the file again, with the same flags before it.
    pub fn reread(&self) -> Result<Self, ConfigError> {
        Self::load(self.source.file.as_deref(), &self.source.flags)
    }

    /// True where clients are asked who they are.
    pub fn authenticates(&self) -> bool {
        self.tokens.is_some() || self.tls.as_ref().is_some_and(|tls| tls.client_authorities.is_some())
    }

    /// Reads the file's text; `path` is how messages name it.
    pub fn read(path: &str, bytes: &[u8], flags: &Flags) -> Result<Self, ConfigError> {
        let Some(file) = read_document::<File>(path, bytes)? else { return Err(Header::missing(path, KIND)) };
        Header::check(path, KIND, &file.api_version, &file.kind)?;
        Self::of(path, file, flags)
    }

    fn of(path: &str, file: File, flags: &Flags) -> Result<Self, ConfigError> {
        let whole = |text: &str| ConfigError::Whole { path: path.to_owned(), text: text.to_owned() };
        let absolute = |what: &str, file: &Path| {
            if file.is_absolute() {
                return Ok(());
            }
            Err(whole(&format!("`{what}`: `{}`: write an absolute path", file.display())))
        };
        let store = match (&flags.store, file.store) {
            (Some(store), _) => store.clone(),
            (None, Some(store)) => absolute("store", &store).map(|()| store)?,
            (None, None) => return Err(whole("say with `--store` or `store` in which file packages are kept")),
        };
        let ListenFields { api, grpc, insecure_without_tls, insecure_without_authentication } = file.listen;
        let address = |field: Option<Lined<String>>, name: &str| {
            let parsed = field.map(|Lined { line, value }| {
                let wrong =
                    |text| ConfigError::Field { path: path.to_owned(), line, text: format!("`listen.{name}`: {text}") };
                value.parse::<Address>().map_err(wrong)
            });
            parsed.transpose()
        };
        let api = flags.api.clone().or(address(api, "api")?).unwrap_or_else(default_address);
        let grpc = flags.grpc.clone().or(address(grpc, "grpc")?);
        let tls = file.tls.map(|tls| TlsFiles {
            certificate: tls.certificate,
            key: tls.key,
            client_authorities: tls.client_authorities,
        });
        let (tokens, roles) = (file.access.tokens, file.access.roles);
        for (name, file) in [("access.tokens", &tokens), ("access.roles", &roles)] {
            file.iter().try_for_each(|file| absolute(name, file))?;
        }
        tls.iter().flat_map(TlsFiles::paths).try_for_each(|file| absolute("tls", &file))?;
        let authenticates = tokens.is_some() || tls.as_ref().is_some_and(|tls| tls.client_authorities.is_some());
        let (without_tls, without_authentication) = (
            insecure_without_tls || flags.without_tls,
            insecure_without_authentication || flags.without_authentication,
        );
        if !api.is_local() && tls.is_none() && !without_tls {
            return Err(whole(&format!(
                "others reach `{api}`, and there is no `tls`; give it certificates, or listen on 127.0.0.1, or say `--insecure-without-tls`"
            )));
        }
        // Roles by themselves say what nobody in particular may do.
        if !api.is_local() && !authenticates && roles.is_none() && !without_authentication {
            return Err(whole(&format!(
                "others reach `{api}`, and nobody is asked who they are; give `access.tokens` or `tls.clientAuthorities`, or `access.roles` that say what everybody may do, or listen on 127.0.0.1, or say `--insecure-without-authentication`"
            )));
        }
        if !api.is_local() && authenticates && roles.is_none() && !without_authentication {
            return Err(whole(
                "nothing says who may do what; give `access.roles`, or say `--insecure-without-authentication`: then whoever is known may do everything",
            ));
        }
        if let Some(grpc) = grpc.as_ref().filter(|grpc| !grpc.is_local() && !without_tls) {
            return Err(whole(&format!(
                "others reach `{grpc}`, and gRPC has no TLS; listen on 127.0.0.1, or say `--insecure-without-tls` where a network keeps others away"
            )));
        }
        if let Some(grpc) = grpc.as_ref().filter(|grpc| !grpc.is_local())
            && roles.is_none()
            && !without_authentication
        {
            return Err(whole(&format!(
                "others reach `{grpc}`, and nothing says what they may do; give `access.roles`, or listen on 127.0.0.1, or say `--insecure-without-authentication`"
            )));
        }
        if file.workers == Some(0) || flags.workers == Some(0) {
            return Err(whole("`workers` is 0, so nothing would ever be rendered; write 1 or more"));
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = flags.workers.or(file.workers).map_or(cores.saturating_sub(1).max(1), usize::from);
        let mut namespaces = BTreeMap::new();
        for (name, Lined { value: fields, .. }) in file.namespaces {
            fields.modules.iter().try_for_each(|directory| absolute("modules", directory))?;
            let namespace = Namespace {
                limits: settings(fields.limits, path),
                maximum: settings(fields.maximum, path),
                profiles: profiles(fields.functions, path)?,
                modules: fields.modules,
                quota: fields.quota.map(|fields| quota(&fields, path)).transpose()?,
            };
            namespaces.insert(name, namespace);
        }
        let isolation = match file.isolation {
            None => Isolation::None,
            Some(Lined { line, value }) => value.parse().map_err(|error| ConfigError::Field {
                path: path.to_owned(),
                line,
                text: format!("`isolation`: {error}"),
            })?,
        };
        let drain = Drain::default();
        let config = Self {
            source: Source { file: None, flags: flags.clone() },
            store,
            api,
            grpc,
            grpc_settings: grpc_settings(file.grpc.settings(path)?, flags),
            tls,
            tokens,
            roles,
            workers,
            limits: settings(file.limits, path),
            maximum: settings(file.maximum, path),
            profiles: profiles(file.functions, path)?,
            modules: modules(file.modules, &absolute, &whole)?,
            compiler: file.compiler.limits(),
            isolation,
            queue: QueueConfig {
                entries: file.queue.entries.map_or(100_000, |n| count(n.0)).max(1),
                memory: file.queue.memory.map_or(u64::MAX, |size| size.0),
                age: file.queue.age.map_or(Duration::from_secs(30), |span| span.0),
            },
            quota: quota(&file.quota, path)?,
            namespaces,
            requests: requests(&file.requests),
            log: LogConfig {
                format: flags.log_format.map_or_else(|| log_format(path, file.log.format), Ok)?,
                level: flags.log_level.clone().or(file.log.level.map(|level| level.value)),
            },
            hidden: file.records.hidden.iter().map(|kind| hidden(kind, path)).collect::<Result<_, _>>()?,
            drain: Drain {
                delay: file.drain.delay.map_or(drain.delay, |span| span.0),
                requests: file.drain.requests.map_or(drain.requests, |span| span.0),
                renders: file.drain.renders.map_or(drain.renders, |span| span.0),
            },
            traces: file.traces.map(|traces| traces.endpoint),
        };
        if let Some((name, needed, given)) = config.starved() {
            let whose = if name.is_empty() { "renders".to_owned() } else { format!("renders in `{name}`") };
            return Err(whole(&format!(
                "{whose} may use {needed} bytes (`limits.memory` and `retainedMemory`), and `quota.memory` or `queue.memory` gives them {given}: nothing would ever be rendered; lower the one or raise the other"
            )));
        }
        Ok(config)
    }

    /// The parts in which this one differs from another and that are only looked at when a server starts.
    pub fn needs_restart(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            ("store", self.store != other.store),
            ("listen", self.api != other.api || self.grpc != other.grpc),
            ("grpc", self.grpc_settings != other.grpc_settings),
            ("tls", self.tls != other.tls),
            ("access", self.tokens != other.tokens || self.roles != other.roles),
            ("compiler", self.compiler != other.compiler),
            ("isolation", self.isolation != other.isolation),
            ("queue", self.queue != other.queue),
            ("quota", self.quota != other.quota),
            ("requests.connections", self.requests.connections != other.requests.connections),
            ("log", self.log != other.log),
            ("traces", self.traces != other.traces),
        ];
        parts.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
    }
}

fn default_address() -> Address {
    Address::Tcp(([127, 0, 0, 1], 8080).into())
}

fn settings(fields: LimitFields, path: &str) -> Option<LimitSettings> {
    fields.settings(path)
}

fn profiles(fields: Vec<Lined<super::ProfileFields>>, path: &str) -> Result<Vec<LimitProfile>, ConfigError> {
    fields.into_iter().map(|Lined { line, value }| value.profile(path, line)).collect()
}

fn modules(
    fields: ModuleFields,
    absolute: &dyn Fn(&str, &Path) -> Result<(), ConfigError>,
    whole: &dyn Fn(&str) -> ConfigError,
) -> Result<Modules, ConfigError> {
    fields.directories.iter().try_for_each(|directory| absolute("modules.directories", directory))?;
    let prefix = fields.prefix.as_deref().map_or_else(|| Ok(ImagePrefix::default()), ImagePrefix::new);
    let prefix = prefix.map_err(|error| whole(&format!("`modules.prefix`: {error}")))?;
    Ok(Modules { directories: fields.directories, prefix, allowed: fields.allowed })
}

/// `KIND.GROUP`, or `KIND` for the core.
fn hidden(Lined { line, value }: &Lined<String>, path: &str) -> Result<HiddenKind, ConfigError> {
    let (kind, group) = value.split_once('.').unwrap_or((value, ""));
    let (mut letters, labels) =
        (kind.chars(), |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c));
    let known = letters.next().is_some_and(|c| c.is_ascii_uppercase()) && letters.all(|c| c.is_ascii_alphanumeric());
    if !known || !group.chars().all(labels) || value.ends_with('.') {
        let text =
            format!("`records.hidden`: `{value}` is no kind; write `Login.example.com`, or `ConfigMap` for the core");
        return Err(ConfigError::Field { path: path.to_owned(), line: *line, text });
    }
    Ok(HiddenKind { group: group.to_owned(), kind: kind.to_owned() })
}

fn quota(fields: &QuotaFields, path: &str) -> Result<Quota, ConfigError> {
    let none = Quota::default();
    let fuel = fields.fuel_per_second.map(|per_second| Fuel {
        per_second: per_second.0,
        most: fields.fuel_saved.map_or(per_second.0.saturating_mul(60), |saved| saved.0),
    });
    let highest = match &fields.priority {
        None => none.highest,
        Some(Lined { line, value }) => {
            priority(value).map_err(|text| ConfigError::Field { path: path.to_owned(), line: *line, text })?
        }
    };
    Ok(Quota {
        running: fields.renders.map_or(none.running, |n| u32::try_from(n.0).unwrap_or(u32::MAX)),
        memory: fields.memory.map_or(none.memory, |size| size.0),
        fuel,
        highest,
    })
}

/// A priority by its name.
fn priority(name: &str) -> Result<Priority, String> {
    const NAMES: [(&str, Priority); 3] =
        [("low", Priority::Low), ("normal", Priority::Normal), ("high", Priority::High)];
    if let Some((_, priority)) = NAMES.into_iter().find(|(known, _)| *known == name) {
        return Ok(priority);
    }
    let near = nearest(name, NAMES.into_iter().map(|(known, _)| known));
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Err(format!("`{name}` is no priority; there are low, normal, high{near}"))
}

fn log_format(path: &str, field: Option<Lined<String>>) -> Result<LogFormat, ConfigError> {
    match field {
        None => Ok(LogFormat::default()),
        Some(Lined { line, value }) => match value.as_str() {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            _ => Err(ConfigError::Field {
                path: path.to_owned(),
                line,
                text: format!("`log.format`: `{value}` is none; write `text` or `json`"),
            }),
        },
    }
}

fn requests(fields: &RequestFields) -> RequestLimits {
    let default = RequestLimits::default();
    let number = |field: Option<super::Number>, default: usize| field.map_or(default, |n| count(n.0));
    let short =
        |field: Option<super::Number>, default: u32| field.map_or(default, |n| u32::try_from(n.0).unwrap_or(u32::MAX));
    let size = |field: Option<super::Size>, default: u64| field.map_or(default, |size| size.0);
    let span = |field: Option<super::Span>, default: Duration| field.map_or(default, |span| span.0);
    RequestLimits {
        connections: number(fields.connections, default.connections),
        handshake: span(fields.handshake, default.handshake),
        head_time: span(fields.head_time, default.head_time),
        head_bytes: fields.head_bytes.map_or(default.head_bytes, |size| count(size.0)),
        body_bytes: size(fields.body_bytes, default.body_bytes),
        bodies_bytes: size(fields.bodies_bytes, default.bodies_bytes),
        in_flight: number(fields.in_flight, default.in_flight),
        in_flight_per_user: number(fields.in_flight_per_user, default.in_flight_per_user),
        per_second: short(fields.per_second, default.per_second),
        burst: short(fields.burst, default.burst),
        watches: number(fields.watches, default.watches),
        watches_per_user: number(fields.watches_per_user, default.watches_per_user),
        time: span(fields.time, default.time),
    }
}

fn count(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// The JSON schema of the file, for editors.
pub fn schema() -> serde_json::Value {
    let settings =
        schemars::generate::SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<File>().to_value()
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
