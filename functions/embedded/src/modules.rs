//! The modules that the build embedded.
//!
//! Compiled code enters here, as bytes that `cargo xtask functions` made with the compiler of this very workspace
//! ([`portico_runtime::precompile`]) and that the build script put into this program.
#![expect(unsafe_code, reason = "embedded native code can't be checked by the compiler; contract above")]

use std::sync::{Arc, OnceLock};

use portico_runtime::{ModuleCode, PrecompiledCode};

/// A module of the catalog.
pub(crate) struct Embedded {
    /// The package that it was built from.
    pub(crate) name: &'static str,
    /// Size of the WebAssembly module that the code was compiled from.
    pub(crate) wasm_bytes: usize,
    /// Digest of that module: `sha256:…`.
    pub(crate) digest: &'static str,
    /// The bytes were compiled ahead of time; else they are the WebAssembly module.
    compiled: bool,
    bytes: &'static [u8],
}

/// Begins with a page, so that compiled code can run where it lies. 64 KiB are the largest pages of the supported
/// systems.
#[repr(C, align(65536))]
struct Paged<T>(T);

include!(concat!(env!("OUT_DIR"), "/table.rs"));

impl Embedded {
    /// Size of what was embedded.
    pub(crate) fn embedded_bytes(&self) -> usize {
        self.bytes.len()
    }

    fn load(&self) -> ModuleCode {
        if self.compiled {
            // SAFETY: the build embeds a `.cwasm` file only as `cargo xtask functions` wrote it, unchanged, and that is
            // a result of `precompile`. It is a constant of a `static` without interior mutability: read-only data.
            ModuleCode::Precompiled(unsafe { PrecompiledCode::in_program(self.bytes) })
        } else {
            ModuleCode::Wasm(Arc::from(self.bytes))
        }
    }
}

/// The code of a module, the same for all who ask: the engine caches by it.
pub(crate) fn code(number: usize) -> ModuleCode {
    static LOADED: OnceLock<Vec<OnceLock<ModuleCode>>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| MODULES.iter().map(|_| OnceLock::new()).collect());
    loaded[number].get_or_init(|| MODULES[number].load()).clone()
}

/// All functions with their modules, by name.
pub(crate) fn functions() -> impl Iterator<Item = (&'static str, usize, &'static Embedded)> {
    FUNCTIONS.iter().map(|(name, number)| (*name, *number, &MODULES[*number]))
}
