//! The one place where native code enters the process as data.
//!
//! A compiled module is machine code that wasmtime runs as it is: a forged one can do anything the
//! process can. wasmtime checks that it was made for this version, this architecture and these settings,
//! but not that it is harmless. So compiled code comes in through two doors only, each with a contract:
//!
//! - [`PrecompiledCode`]: bytes that [`precompile`](crate::precompile) made when the program was built
//!   and that are part of the program itself;
//! - [`map`]: a file of the compile cache, which this program wrote into a directory that nobody else
//!   may write, checked by [`CheckedFile`](crate::cache::CheckedFile) through the handle that is mapped.
#![expect(unsafe_code, reason = "loading native code can't be checked by the compiler; contract above")]

use crate::cache::CheckedFile;

/// A compiled module that is part of this program, made by [`precompile`](crate::precompile).
#[derive(Clone, Copy)]
pub struct PrecompiledCode {
    bytes: &'static [u8],
}

impl PrecompiledCode {
    /// Takes the compiled code for good.
    ///
    /// # Safety
    ///
    /// The bytes must be an unchanged result of [`precompile`](crate::precompile). They are run as
    /// machine code; anything else is undefined behaviour. A result of another version or for another
    /// architecture is refused when it is loaded.
    pub const unsafe fn new(bytes: &'static [u8]) -> Self {
        Self { bytes }
    }

    /// The compiled bytes.
    pub fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    pub(crate) fn load(&self, engine: &wasmtime::Engine) -> wasmtime::Result<wasmtime::Module> {
        // SAFETY: by the contract of `new`, the bytes are what the compiler made.
        unsafe { wasmtime::Module::deserialize(engine, self.bytes) }
    }
}

impl std::fmt::Debug for PrecompiledCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PrecompiledCode({} bytes)", self.bytes.len())
    }
}

/// Maps a compiled module that this program wrote earlier.
pub(crate) fn map(engine: &wasmtime::Engine, file: CheckedFile) -> wasmtime::Result<wasmtime::Module> {
    // SAFETY: `CheckedFile` is made only for a regular file with a single link that we own, opened below
    // a directory that only we may write, whose content has the length and checksum that were written
    // with it. Such files are never modified in place, so the mapping stays what was checked.
    unsafe { wasmtime::Module::deserialize_open_file(engine, file.into_file()) }
}

/// Sets the oldest processor that compiled code may meet: x86-64-v2, or any aarch64.
///
/// The target is named even though it is this machine's own: wasmtime then takes no processor feature
/// from this machine, and code that was compiled here runs on every machine of the architecture.
pub(crate) fn baseline(config: &mut wasmtime::Config) -> wasmtime::Result<()> {
    let os = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-gnu" };
    config.target(&format!("{}-{os}", std::env::consts::ARCH))?;
    if cfg!(target_arch = "x86_64") {
        for feature in ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt"] {
            // SAFETY: the flag lets the compiler use instructions; the loader refuses the code on a
            // processor that has not got them.
            unsafe { config.cranelift_flag_enable(feature) };
        }
    }
    Ok(())
}
