//! What is looked at in a module before the compiler sees it.
//!
//! Compiling is where a small module can cost the most: 48 KB with thousands of variables and loops in
//! one function take seconds and hundreds of megabytes. The ceilings here are far above what real
//! programs have and far below what hurts. They also turn the mistakes that authors make (wrong target,
//! a library instead of a program) into words about that, instead of the compiler's.
//!
//! The file itself says what it is: after the magic word come a version and a layer, and layer 1 is a component. What a
//! component has ([`component`]) are modules, each under the same ceilings as a module that stands alone.

pub(crate) mod component;

use wasmparser::{ExternalKind, FunctionBody, Import, Operator, Parser, Payload, TypeRef};

use crate::error::ModuleError;
use crate::wasi;

/// What to tell an author whose module has nothing to run.
pub(crate) const NO_START_ADVICE: &str =
    "build it as a program (with a `main`) for WASI, for example with the Rust target `wasm32-wasip1`";

const REACTOR_ADVICE: &str =
    "it exports `_initialize`, so it was built as a library (reactor): build it as a program with a `main`";

const FUNCTIONS: u64 = 100_000;
const TYPES: u64 = 100_000;
const IMPORTS: u64 = 64;
/// A module within a component imports each function of its libraries and of WASI by itself.
const NESTED_IMPORTS: u64 = 10_000;
const EXPORTS: u64 = 10_000;
const GLOBALS: u64 = 10_000;
const TABLES: u64 = 1;
const TABLE_ELEMENTS: u64 = 100_000;
/// Of each kind. Programs that Go makes have a data segment for every few hundred bytes that are not zero.
const SEGMENTS: u64 = 100_000;
const BRANCH_TARGETS: u64 = 100_000;
/// Locals times loops of one function. The compiler's work grows with the product; the largest of real
/// programs are in the tens of thousands.
const LOCALS_BY_LOOPS: u64 = 2_000_000;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A core module: a program for WASI preview 1.
    Core,
    /// A component: a program for WASI 0.2.
    Component,
}

impl Kind {
    /// What the first bytes say: the magic word, a version, and the layer.
    pub(crate) fn of(wasm: &[u8]) -> Self {
        match wasm {
            [0, b'a', b's', b'm', _, _, 1, 0, ..] => Self::Component,
            _ => Self::Core,
        }
    }
}

/// Checks everything that can be known before compiling, except that the code is valid, which compiling
/// finds out.
pub(crate) fn structure(wasm: &[u8]) -> Result<(), ModuleError> {
    magic(wasm)?;
    if Kind::of(wasm) == Kind::Component {
        return component::structure(wasm);
    }
    let mut counts = Counts::default();
    for payload in Parser::new(0).parse_all(wasm) {
        counts.look(payload.map_err(invalid)?)?;
    }
    counts.finish()
}

/// Tells what the bytes are if not a module.
fn magic(wasm: &[u8]) -> Result<(), ModuleError> {
    let found = match wasm {
        [0, b'a', b's', b'm', ..] => return Ok(()),
        [] => "the file is empty",
        [0x7f, b'E', b'L', b'F', ..] => "it is native code (an ELF file); give the `.wasm` file that the compiler made",
        [b'#', b'!', ..] => "it is a script",
        [0x1f, 0x8b, ..] => "it is a gzip archive",
        [b'P', b'K', 3, 4, ..] => "it is a zip archive",
        _ if wasm.trim_ascii_start().starts_with(b"(module") => {
            "it is WebAssembly text; translate it to the binary form first"
        }
        _ => "it does not start with the bytes `\\0asm`",
    };
    Err(ModuleError::NotWasm { found })
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` takes")]
fn invalid(error: wasmparser::BinaryReaderError) -> ModuleError {
    ModuleError::Invalid(error.to_string())
}

/// A name from the module, of any length and with any characters, as messages show it.
fn shown(name: &str) -> String {
    const LONGEST: usize = 80;
    let mut shown: String = name.chars().take(LONGEST).collect::<String>().escape_debug().collect();
    if name.chars().nth(LONGEST).is_some() {
        shown.push_str("...");
    }
    shown
}

fn ceiling(what: &'static str, found: u64, limit: u64) -> Result<(), ModuleError> {
    if found > limit { Err(ModuleError::Ceiling { what, found, limit }) } else { Ok(()) }
}

/// What was seen of one module.
#[derive(Default)]
struct Counts {
    /// It is part of a component, which gives it what it imports.
    nested: bool,
    functions: u64,
    imports: u64,
    unknown: Vec<(String, String)>,
    calls_wasi: bool,
    starts: bool,
    initialises: bool,
    exports_memory: bool,
}

impl Counts {
    fn look(&mut self, payload: Payload<'_>) -> Result<(), ModuleError> {
        match payload {
            Payload::TypeSection(reader) => ceiling("types", reader.count().into(), TYPES)?,
            Payload::ImportSection(reader) => {
                for import in reader.into_imports() {
                    self.imports += 1;
                    ceiling("imports", self.imports, if self.nested { NESTED_IMPORTS } else { IMPORTS })?;
                    self.import(&import.map_err(invalid)?)?;
                }
            }
            Payload::FunctionSection(reader) => {
                self.functions += u64::from(reader.count());
                ceiling("functions", self.functions, FUNCTIONS)?;
            }
            Payload::TableSection(reader) => {
                ceiling("tables", reader.count().into(), TABLES)?;
                for table in reader {
                    ceiling("table elements", table.map_err(invalid)?.ty.initial, TABLE_ELEMENTS)?;
                }
            }
            Payload::MemorySection(reader) => {
                if reader.count() > 1 {
                    return Err(unsupported("several memories", "build it without multi-memory"));
                }
                for memory in reader {
                    memory_type(&memory.map_err(invalid)?)?;
                }
            }
            Payload::GlobalSection(reader) => ceiling("globals", reader.count().into(), GLOBALS)?,
            Payload::ExportSection(reader) => {
                ceiling("exports", reader.count().into(), EXPORTS)?;
                for export in reader {
                    let export = export.map_err(invalid)?;
                    match (export.name, export.kind) {
                        ("_start", ExternalKind::Func) => self.starts = true,
                        ("_initialize", ExternalKind::Func) => self.initialises = true,
                        ("memory", ExternalKind::Memory) => self.exports_memory = true,
                        _ => {}
                    }
                }
            }
            Payload::ElementSection(reader) => ceiling("element segments", reader.count().into(), SEGMENTS)?,
            Payload::DataSection(reader) => ceiling("data segments", reader.count().into(), SEGMENTS)?,
            Payload::CodeSectionEntry(body) => function(&body)?,
            _ => {}
        }
        Ok(())
    }

    fn import(&mut self, import: &Import<'_>) -> Result<(), ModuleError> {
        if let TypeRef::Memory(memory) = &import.ty {
            memory_type(memory)?;
        }
        if self.nested {
            return Ok(());
        }
        let function = matches!(import.ty, TypeRef::Func(_));
        if function && import.module == wasi::MODULE && wasi::NAMES.contains(&import.name) {
            self.calls_wasi = true;
        } else if self.unknown.len() < 4 {
            self.unknown.push((import.module.to_owned(), import.name.to_owned()));
        }
        Ok(())
    }

    fn finish(self) -> Result<(), ModuleError> {
        if let Some((module, _)) = self.unknown.first() {
            let advice = import_advice(module);
            let mut names: Vec<String> = self
                .unknown
                .iter()
                .take(3)
                .map(|(module, name)| format!("`{}`.`{}`", shown(module), shown(name)))
                .collect();
            if self.unknown.len() > 3 {
                names.push("more".into());
            }
            return Err(ModuleError::MissingImport { imports: names.join(", "), advice });
        }
        if !self.starts {
            let advice = if self.initialises { REACTOR_ADVICE } else { NO_START_ADVICE };
            return Err(ModuleError::NoStart { advice });
        }
        if self.calls_wasi && !self.exports_memory {
            return Err(ModuleError::NoMemory);
        }
        Ok(())
    }
}

/// What an unknown import tells about how the module was built.
fn import_advice(module: &str) -> &'static str {
    match module {
        "go" | "gojs" => "it was built for JavaScript hosts (`GOOS=js`): build it with `GOOS=wasip1 GOARCH=wasm`",
        "wasi_unstable" => {
            "it was built for an early draft of WASI: build it anew with a current toolchain for WASI preview 1"
        }
        "wasi" => "threads are not supported: build it without them, for example for `wasm32-wasip1`",
        "env" | "a" => "it may have been built for a browser or with unresolved symbols: build it for WASI preview 1",
        _ if module.starts_with("__wbindgen") || module == "wbg" => {
            "it was built for browsers with wasm-bindgen: build it for `wasm32-wasip1`"
        }
        _ if module.starts_with("wasi:") => {
            "it was built for WASI preview 2, but is the inner part of a component only: let the toolchain make the \
             component, for example with the Rust target `wasm32-wasip2`, or build it for `wasm32-wasip1`"
        }
        _ if module.starts_with("wasi_snapshot_preview1") => "it is not part of WASI preview 1",
        _ => "build it as a program for WASI preview 1, which gets only stdin, stdout, stderr and its arguments",
    }
}

fn unsupported(feature: &'static str, advice: &'static str) -> ModuleError {
    ModuleError::Unsupported { feature, advice }
}

fn memory_type(memory: &wasmparser::MemoryType) -> Result<(), ModuleError> {
    if memory.memory64 {
        return Err(unsupported("64-bit memory", "build it for 32-bit WebAssembly, for example `wasm32-wasip1`"));
    }
    if memory.shared {
        return Err(unsupported("shared memory", "build it without threads, for example for `wasm32-wasip1`"));
    }
    Ok(())
}

/// The ceilings of one function's code.
fn function(body: &FunctionBody<'_>) -> Result<(), ModuleError> {
    let mut locals: u64 = 1;
    for group in body.get_locals_reader().map_err(invalid)? {
        locals = locals.saturating_add(group.map_err(invalid)?.0.into());
    }
    let mut loops: u64 = 0;
    let mut operators = body.get_operators_reader().map_err(invalid)?;
    while !operators.eof() {
        match operators.read().map_err(invalid)? {
            Operator::Loop { .. } => loops += 1,
            Operator::BrTable { targets } => {
                ceiling("targets in one branch table", targets.len().into(), BRANCH_TARGETS)?;
            }
            _ => {}
        }
    }
    ceiling("variables times loops in one function", locals.saturating_mul(loops), LOCALS_BY_LOOPS)
}
