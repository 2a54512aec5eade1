//! Function modules: where code comes from, and code that is ready to run.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};

use sha2::{Digest as _, Sha256};
use wasmtime::{ExternType, InstancePre, ModuleExport};

use crate::cancel::CancelToken;
use crate::check::{self, Kind};
use crate::compile::{self, Piece};
use crate::component::Command;
use crate::engine::{Compiler, Engine};
use crate::error::ModuleError;
use crate::module_cache::{Key, Loading};
use crate::native::{self, PrecompiledCode, ReceivedCode};
use crate::sandbox::State;

/// Stack of a thread that compiles: as much as a main thread has.
const COMPILE_STACK: usize = 8 << 20;

/// The SHA-256 of a wasm module.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Hashes the bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(crate) fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

impl std::fmt::Display for Digest {
    /// 64 lower-case hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// A function: code, and the name it is called by.
#[derive(Debug, Clone)]
pub struct FunctionModule {
    /// What the program sees as `argv[0]`. Several functions may share one module and tell themselves
    /// apart by it.
    pub name: String,
    /// The code.
    pub code: ModuleCode,
}

/// Where a function's code is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ModuleCode {
    /// A wasm module or component in memory.
    Wasm(Arc<[u8]>),
    /// A wasm module or component in a file, read anew at each load.
    File(PathBuf),
    /// A module that was compiled when this program was built.
    Precompiled(PrecompiledCode),
    /// A module that the parent of this process compiled; made by workers alone.
    #[doc(hidden)]
    Received(ReceivedCode),
}

/// A module that is compiled, checked and linked: ready to run any number of times, on any thread.
/// Clones are the same module.
///
/// It is a core module for WASI preview 1 or a component for WASI 0.2 (a command); the file itself says which.
#[derive(Clone)]
pub struct Module {
    pub(crate) inner: Arc<ModuleInner>,
    /// The wasm's, where it is known: not of code that is part of the program.
    digest: Option<Digest>,
}

pub(crate) enum ModuleInner {
    Core(Program),
    Component(Command),
}

/// A core module that is linked.
pub(crate) struct Program {
    pub(crate) pre: InstancePre<State>,
    /// `_start`, looked up once.
    pub(crate) start: ModuleExport,
    /// The memory that WASI calls refer to. A program that makes no such calls need not have one.
    pub(crate) memory: Option<ModuleExport>,
}

impl Module {
    /// The digest of the wasm, where it is known: not of code that is part of the program.
    pub(crate) fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// The compiled code. For a component also how many instances of modules a run makes.
    pub(crate) fn serialize(&self) -> wasmtime::Result<(Vec<u8>, Option<u32>)> {
        match &*self.inner {
            ModuleInner::Core(program) => Ok((program.pre.module().serialize()?, None)),
            ModuleInner::Component(command) => {
                Ok((command.pre.instance_pre().component().serialize()?, Some(command.core_instances)))
            }
        }
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &*self.inner {
            ModuleInner::Core(program) => {
                f.debug_struct("Module").field("name", &program.pre.module().name()).finish_non_exhaustive()
            }
            ModuleInner::Component(_) => f.write_str("Module(component)"),
        }
    }
}

impl Module {
    /// Whether it is a component, a program for WASI 0.2; else it is a core module, a program for WASI preview 1.
    pub fn is_component(&self) -> bool {
        matches!(*self.inner, ModuleInner::Component(_))
    }
}

/// A module's bytes, shared with the thread that compiles it.
pub(crate) type WasmBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

impl Engine {
    /// Makes a function's code ready to run: once for each content, however many ask at the same time.
    ///
    /// Embedded code is only copied. A wasm module is hashed, and then taken from memory, mapped from
    /// the compile cache, or checked, compiled and put there.
    pub fn load(&self, function: &FunctionModule) -> Result<Module, ModuleError> {
        self.load_within(function, self.inner.module_bytes)
    }

    /// As [`load`](Self::load), for a render that accepts wasm modules of so many bytes at most, and none that is
    /// larger than the engine accepts.
    pub fn load_within(&self, function: &FunctionModule, module_bytes: u64) -> Result<Module, ModuleError> {
        self.load_unless_cancelled(function, module_bytes, &CancelToken::new())
    }

    /// [`load_within`](Self::load_within) for someone who may be cancelled meanwhile: the wait for a compiler then ends at
    /// once with [`ModuleError::Cancelled`]. Others who wait for the same module still get it; when nobody does, its child
    /// process is killed.
    pub fn load_unless_cancelled(
        &self,
        function: &FunctionModule,
        module_bytes: u64,
        cancel: &CancelToken,
    ) -> Result<Module, ModuleError> {
        let limit = module_bytes.min(self.inner.module_bytes);
        let modules = &self.inner.modules;
        match &function.code {
            ModuleCode::Precompiled(code) => {
                let bytes = code.bytes();
                modules.get_or_load(Key::Embedded(bytes.as_ptr().addr(), bytes.len()), cancel, |loading| {
                    let module =
                        code.load(&self.inner.wasmtime).map_err(|error| ModuleError::Embedded(format!("{error:#}")));
                    loading.finish(module.and_then(|module| self.link(&module, None)));
                })
            }
            ModuleCode::Received(code) => modules.get_or_load(Key::Wasm(code.digest()), cancel, |loading| {
                loading.finish(self.link_received(code));
            }),
            ModuleCode::Wasm(bytes) => {
                check_size(bytes.len() as u64, limit)?;
                let digest = modules.digest_of(bytes);
                modules.get_or_load(Key::Wasm(digest), cancel, |loading| {
                    self.build(Arc::new(Arc::clone(bytes)), digest, loading);
                })
            }
            ModuleCode::File(path) => {
                let bytes = read(path, limit)?;
                let digest = Digest::of(&bytes);
                modules.get_or_load(Key::Wasm(digest), cancel, |loading| self.build(Arc::new(bytes), digest, loading))
            }
        }
    }

    /// From wasm to a linked module: out of the compile cache, or in a thread that compiles it.
    fn build(&self, wasm: WasmBytes, digest: Digest, loading: Loading) {
        let bytes: &[u8] = (*wasm).as_ref();
        let kind = Kind::of(bytes);
        if kind == Kind::Component
            && let Err(error) = Command::fits(&self.inner, bytes)
        {
            return loading.finish(Err(error));
        }
        if let Some(module) = self.cached(digest, kind) {
            self.inner.mapped.fetch_add(1, Ordering::Relaxed);
            return loading.finish(self.link_with(module, bytes, digest));
        }
        let (sender, pieces) = std::sync::mpsc::channel();
        if let Compiler::Child(_) = self.inner.compiler {
            let sender = sender.clone();
            // When nobody listens any more, the compiling has just ended.
            loading.stop_with(move || drop(sender.send(Piece::GivenUp)));
        }
        let engine = self.clone();
        let work = move || {
            let compiled = engine.compile(&wasm, digest, kind, (sender, &pieces));
            loading.finish(compiled.and_then(|module| engine.link_with(module, (*wasm).as_ref(), digest)));
        };
        // A thread, so that whoever is cancelled can leave. When there is none, whoever waits gets told by the `loading`
        // that is dropped.
        let thread = std::thread::Builder::new().name("portico-compile".into()).stack_size(COMPILE_STACK);
        if let Err(error) = thread.spawn(work) {
            tracing::debug!("no thread to compile module {digest}: {error}");
        }
    }

    /// The compiled form that an earlier process left.
    fn cached(&self, digest: Digest, kind: Kind) -> Option<Compiled> {
        let file = self.inner.disk.as_ref()?.get(digest, kind)?;
        match native::map(&self.inner.wasmtime, file, kind) {
            Ok(module) => Some(module),
            // Made by another build under the same name, at worst: compiled anew.
            Err(error) => {
                tracing::debug!("compiled module {digest} is of no use: {error:#}");
                None
            }
        }
    }

    fn compile(
        &self,
        wasm: &WasmBytes,
        digest: Digest,
        kind: Kind,
        pieces: (Sender<Piece>, &Receiver<Piece>),
    ) -> Result<Compiled, ModuleError> {
        let inner = &self.inner;
        let bytes: &[u8] = (**wasm).as_ref();
        check::structure(bytes)?;
        if inner.compiler == Compiler::Forbidden {
            return Err(ModuleError::CompilingForbidden);
        }
        inner.compilations.fetch_add(1, Ordering::Relaxed);
        tracing::debug!("compiling module {digest}, {} bytes", bytes.len());
        let Compiler::Child(program) = &inner.compiler else {
            let module = Compiled::from_wasm(&inner.wasmtime, bytes, kind)
                .map_err(|error| compile_error(&inner.wasmtime, bytes, &error))?;
            if let Some(cache) = &inner.disk {
                match module.serialize() {
                    Ok(code) => cache.put(digest, kind, &code),
                    Err(error) => tracing::debug!("can't keep module {digest}: {error:#}"),
                }
            }
            return Ok(module);
        };
        let compatibility = crate::cache::compatibility(&inner.wasmtime);
        let code = compile::in_child(program, &inner.compile_limits, inner.module_bytes, compatibility, wasm, pieces)?;
        if let Some(cache) = &inner.disk {
            cache.put(digest, kind, code.bytes());
            // Mapped, so that its pages can be given back and are shared between processes.
            if let Some(module) = self.cached(digest, kind) {
                return Ok(module);
            }
        }
        code.load(&inner.wasmtime, kind).map_err(|error| ModuleError::Compile(format!("{error:#}")))
    }

    fn link_with(&self, module: Compiled, wasm: &[u8], digest: Digest) -> Result<Module, ModuleError> {
        match module {
            Compiled::Core(module) => self.link(&module, Some(digest)),
            Compiled::Component(component) => {
                let command = Command::link(&self.inner, &component, Command::fits(&self.inner, wasm)?)?;
                Ok(Module { inner: Arc::new(ModuleInner::Component(command)), digest: Some(digest) })
            }
        }
    }

    /// Code that the parent of this process compiled.
    fn link_received(&self, code: &ReceivedCode) -> Result<Module, ModuleError> {
        let digest = Some(code.digest());
        let embedded = |error: wasmtime::Error| ModuleError::Embedded(format!("{error:#}"));
        match code.load(&self.inner.wasmtime).map_err(embedded)? {
            Compiled::Core(module) => self.link(&module, digest),
            Compiled::Component(component) => {
                let command = Command::link(&self.inner, &component, code.core_instances().unwrap_or_default())?;
                Ok(Module { inner: Arc::new(ModuleInner::Component(command)), digest })
            }
        }
    }

    fn link(&self, module: &wasmtime::Module, digest: Option<Digest>) -> Result<Module, ModuleError> {
        let pre =
            self.inner.linker.instantiate_pre(module).map_err(|error| ModuleError::Interface(format!("{error:#}")))?;
        let runnable = |ty: ExternType| ty.func().is_some_and(|ty| ty.params().len() == 0 && ty.results().len() == 0);
        let start = module
            .get_export_index("_start")
            .filter(|_| module.get_export("_start").is_some_and(runnable))
            .ok_or(ModuleError::NoStart { advice: check::NO_START_ADVICE })?;
        let memory = module.get_export_index("memory");
        Ok(Module { inner: Arc::new(ModuleInner::Core(Program { pre, start, memory })), digest })
    }
}

/// Compiled code, not linked yet.
pub(crate) enum Compiled {
    Core(wasmtime::Module),
    Component(wasmtime::component::Component),
}

impl Compiled {
    fn from_wasm(engine: &wasmtime::Engine, wasm: &[u8], kind: Kind) -> wasmtime::Result<Self> {
        match kind {
            Kind::Core => wasmtime::Module::from_binary(engine, wasm).map(Self::Core),
            Kind::Component => wasmtime::component::Component::from_binary(engine, wasm).map(Self::Component),
        }
    }

    fn serialize(&self) -> wasmtime::Result<Vec<u8>> {
        match self {
            Self::Core(module) => module.serialize(),
            Self::Component(component) => component.serialize(),
        }
    }
}

fn check_size(size: u64, limit: u64) -> Result<(), ModuleError> {
    if size > limit { Err(ModuleError::TooLarge { limit }) } else { Ok(()) }
}

fn read(path: &Path, limit: u64) -> Result<Vec<u8>, ModuleError> {
    let read = || -> std::io::Result<Option<Vec<u8>>> {
        // Looked at before it is opened: opening a pipe or a device could block or do something.
        if !std::fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        let file = std::fs::File::open(path)?;
        // No more at once than a module may have by default: a file can claim any size.
        let size = file.metadata()?.len().min(limit).min(crate::Limits::default().module_bytes);
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    };
    let bytes = read()
        .map_err(|source| ModuleError::Read { path: path.into(), source: Arc::new(source) })?
        .ok_or_else(|| ModuleError::NotAFile { path: path.into() })?;
    check_size(bytes.len() as u64, limit)?;
    Ok(bytes)
}

/// Compiles a module for the oldest processor that the architecture's programs support, to be embedded
/// in a program as [`PrecompiledCode`]. The module goes through the same checks as at run time. It must be a core module.
pub fn precompile(wasm: &[u8]) -> Result<Vec<u8>, ModuleError> {
    check::structure(wasm)?;
    if Kind::of(wasm) == Kind::Component {
        return Err(ModuleError::EmbeddedComponent);
    }
    let mut config = crate::engine::base_config();
    let engine = native::baseline(&mut config)
        .and_then(|()| wasmtime::Engine::new(&config))
        .map_err(|error| ModuleError::Compile(format!("{error:#}")))?;
    engine.precompile_module(wasm).map_err(|error| compile_error(&engine, wasm, &error))
}

/// Whether the module is to blame, or the compiler: it says so in one error.
pub(crate) fn compile_error(engine: &wasmtime::Engine, wasm: &[u8], error: &wasmtime::Error) -> ModuleError {
    if let Some(invalid) = error.downcast_ref::<wasmparser::BinaryReaderError>() {
        return ModuleError::Invalid(invalid.to_string());
    }
    match wasmtime::Module::validate(engine, wasm) {
        Err(invalid) if Kind::of(wasm) == Kind::Core => ModuleError::Invalid(format!("{invalid:#}")),
        _ => ModuleError::Compile(format!("{error:#}")),
    }
}
