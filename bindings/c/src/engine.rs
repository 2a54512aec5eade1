//! An engine: a renderer, and the threads on which it renders.

use std::path::PathBuf;
use std::sync::Arc;

use portico_catalog::Catalog;
use portico_krm::kptfile::Experiments;
use portico_runtime::image::ImagePrefix;
use portico_runtime::package::PackageFiles;
use portico_runtime::{
    Allocation, CallError, CallOptions, Cause, Compiler, EngineConfig, FunctionCall, FunctionDir, FunctionFiles,
    FunctionSource, LimitLayers, LimitName, LimitSettings, LimitSource, LimitUnit, LimitValue, Limits, RenderOptions,
    Renderer, Sources, StatusMode, WorkerConfig, WorkerLimits, WriteStyle,
};

use crate::error::Error;
use crate::queue::{Job, Queue, Work};
use crate::render::Render;
use crate::report::{Report, Warnings};

/// What a pooled instance keeps of its memory; as the runtime's own default.
const KEEP_RESIDENT: usize = 4 << 20;

/// Where a package lies that nobody gave a place.
const ROOT: &str = "/package";

/// A path and a content each.
pub(crate) type Files = Vec<(String, Arc<[u8]>)>;

/// How to make an engine.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// The program that compiles, where one may.
    pub(crate) compiler: Option<PathBuf>,
    /// The program that renders in isolation, where it shall.
    pub(crate) isolation: Option<PathBuf>,
    pub(crate) cache_dir: Option<PathBuf>,
    pub(crate) workers: usize,
    pub(crate) queue: usize,
    /// None: instances are allocated on demand.
    pub(crate) pool_slots: Option<u32>,
    pub(crate) functions: FunctionFiles,
    pub(crate) function_dirs: Vec<PathBuf>,
    pub(crate) limits: LimitSettings,
}

/// How to render.
#[derive(Debug, Default)]
pub(crate) struct RenderSettings {
    pub(crate) style: WriteStyle,
    pub(crate) status: StatusMode,
    pub(crate) root: Option<String>,
    pub(crate) tenant: String,
    pub(crate) image_prefix: ImagePrefix,
    pub(crate) limits: LimitSettings,
    pub(crate) conditions: bool,
}

/// An engine: `portico_engine_t`.
pub struct Engine {
    renderer: Renderer,
    limits: LimitSettings,
    queue: Queue,
}

impl Engine {
    pub(crate) fn new(settings: Settings) -> Result<Engine, Error> {
        let allocation = match settings.pool_slots {
            None => Allocation::OnDemand,
            Some(slots) => Allocation::Pooling { slots, keep_resident: KEEP_RESIDENT },
        };
        let limits = decide(&settings.limits, LimitSettings::default());
        let config = EngineConfig {
            allocation,
            cache_dir: settings.cache_dir,
            compiler: settings.compiler.map_or(Compiler::Forbidden, Compiler::Child),
            module_bytes: limits.module_bytes,
            ..EngineConfig::default()
        };
        // The clock of the engine is a thread.
        let engine = crate::signals::blocked(|| portico_runtime::Engine::new(config))?;
        let mut sources: Vec<Arc<dyn FunctionSource>> = vec![Arc::new(settings.functions)];
        for directory in settings.function_dirs {
            sources.push(Arc::new(FunctionDir::new(directory)));
        }
        sources.push(Arc::new(Catalog));
        let mut renderer = Renderer::new(engine, Sources::new(sources));
        if let Some(program) = settings.isolation {
            renderer = renderer.isolated(WorkerConfig { program, limits: WorkerLimits::default() });
        }
        let queue = Queue::new(settings.workers, settings.queue);
        Ok(Engine { renderer, limits: settings.limits, queue })
    }

    /// Starts a render.
    pub(crate) fn render(&self, files: Files, mut settings: RenderSettings) -> Result<Arc<Render>, Error> {
        let renderer = self.renderer.for_tenant(&settings.tenant);
        let root = settings.root.take().unwrap_or_else(|| ROOT.to_owned());
        let options = RenderOptions {
            call: self.calls(&mut settings),
            style: settings.style,
            status: settings.status,
            experiments: Experiments { conditions: settings.conditions },
            ..RenderOptions::default()
        };
        self.start(Box::new(move |render: &Render| {
            let files = PackageFiles::from_map(&root, files, &options.call.limits.package)?;
            let mut warnings = Warnings::default();
            let outcome = renderer.render(&files, &options, render.token(), &mut warnings)?;
            Ok(Report::new(outcome, warnings))
        }))
    }

    /// Starts one function on one `ResourceList`.
    pub(crate) fn evaluate(
        &self,
        image: String,
        resource_list: Vec<u8>,
        mut settings: RenderSettings,
    ) -> Result<Arc<Render>, Error> {
        let renderer = self.renderer.for_tenant(&settings.tenant);
        let options = self.calls(&mut settings);
        let call = FunctionCall { image, tag: String::new(), resource_list };
        self.start(Box::new(move |render: &Render| match renderer.call(call, &options, render.token()) {
            Ok(reply) => Ok(Report::of_reply(reply)),
            Err(CallError::NotFound { image, text }) => Ok(Report::unresolved(image, Cause::NotFound, text)),
            Err(CallError::Unusable { image, text, cause }) => Ok(Report::unresolved(image, cause, text)),
            Err(error) => Err(error.into()),
        }))
    }

    fn calls(&self, settings: &mut RenderSettings) -> CallOptions {
        CallOptions {
            limits: decide(&self.limits, std::mem::take(&mut settings.limits)),
            image_prefix: std::mem::take(&mut settings.image_prefix),
            ..CallOptions::default()
        }
    }

    fn start(&self, work: Work) -> Result<Arc<Render>, Error> {
        let render = Arc::new(Render::default());
        self.queue.submit(Job { render: Arc::clone(&render), work })?;
        Ok(render)
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("queue", &self.queue).finish_non_exhaustive()
    }
}

/// The limits of a render: what the engine says goes before the defaults, what the render says before the engine.
fn decide(engine: &LimitSettings, render: LimitSettings) -> Limits {
    LimitLayers { configuration: vec![engine.clone()], request: render, ..LimitLayers::default() }.decide().limits
}

/// Sets a limit by its name; times in nanoseconds, the largest value for none.
pub(crate) fn set_limit(settings: &mut LimitSettings, argument: &str, name: &str, value: u64) -> Result<(), Error> {
    let Some(limit) = LimitName::of(name) else {
        let known = LimitName::ALL.map(LimitName::as_str).join("`, `");
        return Err(Error::argument(argument, format!("is `{name}`, which is no limit; there are `{known}`")));
    };
    let value = match limit.unit() {
        LimitUnit::Count | LimitUnit::Time => LimitValue::Count(value),
        LimitUnit::Bytes => LimitValue::Bytes(value),
    };
    settings.set(limit, value, LimitSource::Request(argument.to_owned()));
    Ok(())
}
