//! What holds for the next render of a namespace, by the configuration as it was read the last time.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use arc_swap::ArcSwap;
use portico_runtime::{
    CallOptions, ChangeOptions, DecidedLimit, DecidedLimits, Engine, FunctionDir, FunctionError, FunctionModule,
    FunctionPattern, FunctionSource, Isolation, LimitLayers, LimitName, LimitSettings, LimitValue, RenderOptions,
    Renderer, Sources, WorkerConfig, WorkerLimits,
};
use portico_scheduler::queue::Cost;
use sha2::{Digest as _, Sha256};

use super::server::{Namespace, ServerConfig};
use crate::ops::Program;
use crate::record::{Effective, RenderSettings, refusal};

impl ServerConfig {
    /// Everybody's word on the limits of renders in a namespace.
    pub fn layers(&self, namespace: &str) -> LimitLayers {
        let own = self.namespaces.get(namespace);
        let of = |part: fn(&Namespace) -> &Option<LimitSettings>| own.and_then(|own| part(own).clone());
        let own_profiles = own.map(|own| own.profiles.as_slice()).unwrap_or_default();
        LimitLayers {
            configuration: self.limits.iter().cloned().chain(of(|own| &own.limits)).collect(),
            profiles: self.profiles.iter().chain(own_profiles).cloned().collect(),
            request: LimitSettings::default(),
            tenant: true,
            maximum: self.maximum.iter().cloned().chain(of(|own| &own.maximum)).collect(),
        }
    }

    /// A namespace whose renders may use more memory than they are ever given; empty for those of which nothing is said.
    pub(super) fn starved(&self) -> Option<(String, u64, u64)> {
        let names = std::iter::once("").chain(self.namespaces.keys().map(String::as_str));
        names.into_iter().find_map(|name| {
            let quota = self.namespaces.get(name).and_then(|own| own.quota).unwrap_or(self.quota);
            let needed = memory_of(&self.layers(name).decide());
            let given = quota.memory.min(self.queue.memory);
            (needed > given).then(|| (name.to_owned(), needed, given))
        })
    }

    /// The directories in which functions of a namespace are looked for, in this order.
    fn directories(&self, namespace: &str) -> impl Iterator<Item = &PathBuf> {
        let own = self.namespaces.get(namespace).map(|own| own.modules.as_slice()).unwrap_or_default();
        own.iter().chain(&self.modules.directories)
    }
}

/// Says what holds for the next render. The configuration can be another one from one render to the next; the engine, and
/// with it whatever has been compiled, stays.
pub struct Renders {
    engine: Engine,
    program: Program,
    current: ArcSwap<Current>,
}

struct Current {
    config: ServerConfig,
    /// For namespaces of which nothing is said.
    all: Decided,
    namespaces: HashMap<String, Decided>,
    /// Of what was decided, and of the program.
    digest: [u8; 32],
}

impl Current {
    fn decided(&self, namespace: &str) -> &Decided {
        self.namespaces.get(namespace).unwrap_or(&self.all)
    }
}

struct Decided {
    renderer: Renderer,
    options: RenderOptions,
    layers: LimitLayers,
    /// Memory that a render may use at most.
    memory: u64,
}

impl Decided {
    /// What becomes of a request.
    fn request(&self, request: &LimitSettings) -> DecidedLimits {
        LimitLayers { request: request.clone(), ..self.layers.clone() }.decide()
    }
}

impl std::fmt::Debug for Renders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renders").field("config", &self.current.load().config).finish_non_exhaustive()
    }
}

impl Renders {
    /// On this engine, with the program's functions and those that the configuration names.
    pub fn new(engine: Engine, program: Program, config: ServerConfig) -> Self {
        let current = ArcSwap::from_pointee(decide(&engine, &program, config, None));
        Self { engine, program, current }
    }

    /// Another configuration, for the next render on.
    pub fn set(&self, config: ServerConfig) {
        let before = self.current.load_full();
        self.current.store(Arc::new(decide(&self.engine, &self.program, config, Some(&before))));
    }

    /// The limits that the renders of a namespace have, each with who set it.
    pub fn limits(&self, namespace: &str) -> DecidedLimits {
        self.current.load().config.layers(namespace).decide()
    }
}

fn decide(engine: &Engine, program: &Program, config: ServerConfig, before: Option<&Current>) -> Current {
    // Where nothing about functions changes, a renderer stays, and with it the processes that render in isolation.
    let same =
        before.filter(|before| before.config.modules == config.modules && before.config.isolation == config.isolation);
    let decided = |namespace: &str, kept: Option<&Renderer>| {
        let layers = config.layers(namespace);
        let limits = layers.decide();
        let memory = memory_of(&limits);
        let renderer = kept.cloned().unwrap_or_else(|| renderer(engine, program, &config, namespace));
        let call = CallOptions {
            profiles: limits.step_profiles(),
            limits: limits.limits,
            image_prefix: config.modules.prefix.clone(),
            ..CallOptions::default()
        };
        let changes = ChangeOptions { hidden: config.hidden.clone(), ..ChangeOptions::default() };
        let options = RenderOptions { call, changes: Some(changes), ..RenderOptions::default() };
        Decided { renderer, options, layers, memory }
    };
    let all = decided("", same.map(|before| &before.all.renderer));
    let namespaces = config.namespaces.iter().map(|(name, own)| {
        // Of its own only where it has functions of its own: renders of all others share one set of processes.
        let kept =
            match same.and_then(|before| Some((before.config.namespaces.get(name)?, before.namespaces.get(name)?))) {
                Some((of_before, decided)) if of_before.modules == own.modules => Some(&decided.renderer),
                _ => own.modules.is_empty().then_some(&all.renderer),
            };
        (name.clone(), decided(name, kept))
    });
    let namespaces = namespaces.collect();
    let digest = digest(program, &config);
    Current { config, all, namespaces, digest }
}

fn renderer(engine: &Engine, program: &Program, config: &ServerConfig, namespace: &str) -> Renderer {
    let directories = config.directories(namespace).map(|directory| Arc::new(FunctionDir::new(directory)) as _);
    let mut sources: Vec<Arc<dyn FunctionSource>> = directories.collect();
    sources.push(Arc::clone(&program.functions));
    let mut sources = Sources::new(sources);
    if let Some(patterns) = &config.modules.allowed {
        sources = Sources::new(vec![Arc::new(Allowed { patterns: patterns.clone(), sources })]);
    }
    let renderer = Renderer::new(engine.clone(), sources);
    match config.isolation {
        Isolation::None => renderer,
        Isolation::Process => {
            renderer.isolated(WorkerConfig { program: program.path.clone(), limits: WorkerLimits::default() })
        }
    }
}

/// Memory that a render may use at most: that of a step, and what the steps before it may have left. Which functions a
/// package names is not known here: a profile that lets one have more counts for all.
fn memory_of(decided: &DecidedLimits) -> u64 {
    let profiles = decided.profiles.iter().flat_map(|(_, rows)| rows);
    let of_profiles = profiles.filter_map(|row| match (row.name, row.value) {
        (LimitName::Memory, LimitValue::Bytes(bytes) | LimitValue::Count(bytes)) => Some(bytes),
        _ => None,
    });
    let most = of_profiles.fold(decided.limits.memory, u64::max);
    most.saturating_add(decided.limits.retained_memory)
}

/// Sources of which only some images are given.
struct Allowed {
    patterns: Vec<String>,
    sources: Sources,
}

impl Allowed {
    fn allows(&self, image: &str) -> bool {
        let matches =
            |pattern: &String| FunctionPattern { name: None, image: Some(pattern.clone()) }.matches(image, "");
        self.patterns.iter().any(matches)
    }
}

impl FunctionSource for Allowed {
    fn resolve(&self, image: &str) -> Result<Option<FunctionModule>, FunctionError> {
        if self.allows(image) { self.sources.resolve(image) } else { Ok(None) }
    }

    fn tags(&self, image: &str) -> Vec<String> {
        // Patterns may name tags: what is chosen is looked at when it is resolved.
        self.sources.tags(image)
    }

    fn names(&self) -> Vec<String> {
        self.sources.names()
    }

    fn absence(&self, image: &str) -> Option<String> {
        if self.allows(image) {
            return self.sources.absence(image);
        }
        Some(format!("this server uses images of `{}` alone (`modules.allowed`)", self.patterns.join("`, `")))
    }

    fn notice(&self, image: &str) -> Option<String> {
        self.sources.notice(image)
    }
}

impl RenderSettings for Renders {
    fn for_namespace(&self, namespace: &str) -> Effective {
        let current = self.current.load();
        let decided = current.decided(namespace);
        // In isolation, no process renders for two tenants.
        let renderer = decided.renderer.for_tenant(namespace);
        let limits = decided.options.call.limits.package.clone();
        Effective { renderer, options: decided.options.clone(), limits, warnings: Vec::new() }
    }

    fn for_request(&self, namespace: &str, request: &LimitSettings) -> Effective {
        if request.is_empty() {
            return self.for_namespace(namespace);
        }
        let current = self.current.load();
        let decided = current.decided(namespace);
        let limits = decided.request(request);
        let asked_and_held = |row: &DecidedLimit| Some(refusal(row.name, row.capped.as_ref()?.0, row.value));
        let warnings = limits.refused().filter_map(asked_and_held).collect();
        let mut options = decided.options.clone();
        options.call.profiles = limits.step_profiles();
        options.call.limits = limits.limits;
        let limits = options.call.limits.package.clone();
        Effective { renderer: decided.renderer.for_tenant(namespace), options, limits, warnings }
    }

    /// No fuel: a quota of it is paid at the end, and may be smaller than what one render may use.
    fn cost(&self, namespace: &str, request: &LimitSettings) -> Option<Cost> {
        let current = self.current.load();
        let decided = current.decided(namespace);
        let memory = if request.is_empty() { decided.memory } else { memory_of(&decided.request(request)) };
        Some(Cost { memory, fuel: 0 })
    }

    fn configuration(&self) -> u64 {
        let current = self.current.load();
        let mut all = Sha256::new_with_prefix(current.digest);
        let namespaces = current.config.namespaces.values().flat_map(|own| &own.modules);
        for directory in current.config.modules.directories.iter().chain(namespaces) {
            add_directory(&mut all, directory);
        }
        let first: [u8; 8] = all.finalize()[..8].try_into().unwrap_or_default();
        // Zero would say that nobody knows.
        u64::from_le_bytes(first).max(1)
    }
}

/// What decides how a render ends, besides the modules in directories: the file of the program, whose functions are part of
/// it, and what was configured.
fn digest(program: &Program, config: &ServerConfig) -> [u8; 32] {
    let mut all = Sha256::new();
    add_file(&mut all, &program.path);
    let mut of_limits = |layers: &LimitLayers| {
        let limits = layers.decide();
        all.update(format!("{:?}{:?}\0", limits.limits, limits.profiles));
        // What a request may have beyond that.
        for (name, maximum) in layers.maximum.iter().flat_map(LimitSettings::iter) {
            all.update(format!("{name}={:?}\0", maximum.value));
        }
    };
    of_limits(&config.layers(""));
    for name in config.namespaces.keys() {
        of_limits(&config.layers(name));
    }
    let modules: BTreeMap<&String, &Vec<PathBuf>> =
        config.namespaces.iter().map(|(name, own)| (name, &own.modules)).collect();
    all.update(format!("{:?}{:?}{:?}", config.modules, modules, config.isolation));
    all.finalize().into()
}

/// The names, sizes and times of a directory's modules.
fn add_directory(all: &mut Sha256, directory: &Path) {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort_unstable();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "wasm")) {
        add_file(all, file);
    }
}

fn add_file(all: &mut Sha256, file: &Path) {
    let Ok(metadata) = std::fs::metadata(file) else { return };
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    all.update(format!("{}\0{}\0{}\0", file.display(), metadata.len(), modified.as_nanos()));
}

#[cfg(test)]
#[path = "renders_tests.rs"]
mod tests;
