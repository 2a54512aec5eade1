//! The one place where native code enters the process as data.
//!
//! A compiled module is machine code that wasmtime runs as it is: a forged one can do anything the
//! process can. wasmtime checks that it was made for this version, this architecture and these settings,
//! but not that it is harmless. So compiled code comes in through few doors, each with a contract:
//!
//! - [`PrecompiledCode`]: bytes that [`precompile`](crate::precompile) made when the program was built
//!   and that are part of the program itself; where they allow it they are run where they lie, without a copy;
//! - [`map`]: a file of the compile cache, which this program wrote into a directory that nobody else
//!   may write, checked by [`CheckedFile`](crate::cache::CheckedFile) through the handle that is mapped;
//! - [`ChildCode`]: the answer of a compiling child process, a program that whoever made the engine named for that;
//! - [`ReceivedCode`]: what a worker got from its parent, which compiled it.
#![expect(unsafe_code, reason = "loading native code can't be checked by the compiler; contract above")]

use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cache::CheckedFile;
use crate::check::Kind;
use crate::module::{Compiled, Digest};

/// A compiled module that is part of this program, made by [`precompile`](crate::precompile).
#[derive(Clone, Copy)]
pub struct PrecompiledCode {
    bytes: &'static [u8],
    /// It may run where it lies.
    in_place: bool,
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
        Self { bytes, in_place: false }
    }

    /// Takes the compiled code for good, to be run where it lies: loading it costs nothing for its size, and only the
    /// pages that are used take memory. Where that is not possible (another alignment than that of a page, a system
    /// that does not let a program's data become code, another architecture than x86-64), it is copied.
    ///
    /// # Safety
    ///
    /// As for [`new`](Self::new). Moreover the bytes must be a constant in the program's read-only data, as
    /// `include_bytes!` makes it in a `static`: their pages, and those that they share with what lies around them, are
    /// never written.
    pub const unsafe fn in_program(bytes: &'static [u8]) -> Self {
        Self { bytes, in_place: true }
    }

    /// The compiled bytes.
    pub fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    /// Tells this code from that of another build, without reading all of it: its length, and a checksum of both ends.
    pub(crate) fn mark(&self) -> u64 {
        const END: usize = 32 << 10;
        let mut ends = crc32fast::Hasher::new();
        ends.update(&self.bytes[..self.bytes.len().min(END)]);
        ends.update(&self.bytes[self.bytes.len().saturating_sub(END)..]);
        u64::from(ends.finalize()) << 32 | (self.bytes.len() as u64 & 0xffff_ffff)
    }

    pub(crate) fn load(&self, engine: &wasmtime::Engine) -> wasmtime::Result<wasmtime::Module> {
        let start = self.bytes.as_ptr().addr();
        if self.in_place && IN_PLACE && start.is_multiple_of(page_size()) && claim(start) {
            // SAFETY: by the contract of `in_program`, the bytes are what the compiler made, stay for ever and are
            // never written.
            match unsafe { wasmtime::Module::deserialize_raw(engine, NonNull::from(self.bytes)) } {
                Ok(module) => return Ok(module),
                Err(error) => tracing::debug!("embedded code can't run where it lies: {error:#}"),
            }
        }
        // SAFETY: by the contract of `new`, the bytes are what the compiler made.
        unsafe { wasmtime::Module::deserialize(engine, self.bytes) }
    }
}

/// Takes code in the program's data for good; false when somebody has taken it.
///
/// wasmtime finds the module of a crash by the address of the code, in one table for the process: it panics when a
/// second engine brings code that is there already. So the first engine runs it where it lies, and every other one, and
/// the first should it ever load it anew, gets a copy. Never given back: nobody can tell when the last instance is gone.
fn claim(start: usize) -> bool {
    static TAKEN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner).insert(start)
}

impl std::fmt::Debug for PrecompiledCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PrecompiledCode({} bytes)", self.bytes.len())
    }
}

/// Compiled code that a child process made.
pub(crate) struct ChildCode(Vec<u8>);

impl ChildCode {
    /// Takes the code out of an answer that is whole and comes from a compiler of this version with these settings, in a
    /// process that this one started from the path it was given for that. Called by the reader of such answers alone.
    ///
    /// The child is trusted as the compiler in this process would be: what it compiles may be hostile, and a fault of the
    /// compiler that lets a module take over the child would let it take over this process in the same way.
    pub(crate) fn answered(code: Vec<u8>) -> Self {
        Self(code)
    }

    /// The compiled bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn load(&self, engine: &wasmtime::Engine, kind: Kind) -> wasmtime::Result<Compiled> {
        // SAFETY: by the contract of `answered`, the bytes are what the compiler made.
        unsafe { deserialize(engine, kind, &self.0) }
    }
}

/// Copies compiled code into place.
///
/// # Safety
///
/// The bytes must be what the compiler made, unchanged.
unsafe fn deserialize(engine: &wasmtime::Engine, kind: Kind, code: &[u8]) -> wasmtime::Result<Compiled> {
    match kind {
        // SAFETY: by the contract of this function.
        Kind::Core => unsafe { wasmtime::Module::deserialize(engine, code) }.map(Compiled::Core),
        // SAFETY: as above.
        Kind::Component => {
            unsafe { wasmtime::component::Component::deserialize(engine, code) }.map(Compiled::Component)
        }
    }
}

/// Compiled code that a worker got from its parent: whoever holds the other end of its standard input.
#[derive(Clone)]
pub struct ReceivedCode {
    digest: Digest,
    /// Of a component: the instances of modules that a run makes.
    core_instances: Option<u32>,
    /// `None` for a module that is loaded already.
    bytes: Option<Arc<[u8]>>,
}

impl ReceivedCode {
    /// Takes the code out of the parent's message. Called by the worker alone: its parent started it to run this.
    pub(crate) fn from_parent(digest: Digest, core_instances: Option<u32>, bytes: Option<Arc<[u8]>>) -> Self {
        Self { digest, core_instances, bytes }
    }

    pub(crate) fn core_instances(&self) -> Option<u32> {
        self.core_instances
    }

    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    pub(crate) fn load(&self, engine: &wasmtime::Engine) -> wasmtime::Result<Compiled> {
        let Some(bytes) = &self.bytes else { return Err(wasmtime::Error::msg("it is not loaded any more")) };
        let kind = if self.core_instances.is_some() { Kind::Component } else { Kind::Core };
        // SAFETY: by the contract of `from_parent`, the bytes are what the compiler of the parent made.
        unsafe { deserialize(engine, kind, bytes) }
    }
}

impl std::fmt::Debug for ReceivedCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReceivedCode({})", self.digest)
    }
}

/// Maps a compiled module that this program wrote earlier. A component is copied: there is no way to hand its open file
/// over.
pub(crate) fn map(engine: &wasmtime::Engine, file: CheckedFile, kind: Kind) -> wasmtime::Result<Compiled> {
    let mut file = file.into_file();
    match kind {
        // SAFETY: `CheckedFile` is made only for a regular file with a single link that we own, opened below
        // a directory that only we may write, whose content has the length and checksum that were written
        // with it. Such files are never modified in place, so the mapping stays what was checked.
        Kind::Core => unsafe { wasmtime::Module::deserialize_open_file(engine, file) }.map(Compiled::Core),
        Kind::Component => {
            let mut code = Vec::new();
            std::io::Read::read_to_end(&mut file, &mut code)?;
            // SAFETY: as above; the same open file was read.
            unsafe { wasmtime::component::Component::deserialize(engine, code) }.map(Compiled::Component)
        }
    }
}

/// Whether code can run in the pages of the program's own data: they are made executable by [`Pages`], which does not
/// know how other processors than x86-64 learn of new code.
const IN_PLACE: bool = cfg!(all(target_arch = "x86_64", target_os = "linux"));

/// The system's, from where wasmtime has it too: the C library. rustix reads it from what the kernel gave the process,
/// which is not what a process under valgrind may look at.
fn page_size() -> usize {
    // SAFETY: asks for a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // It is known on every system; 4 KiB is the smallest that there is.
    usize::try_from(size).unwrap_or(4096)
}

/// Lets an engine run code in memory that it does not own; see [`PrecompiledCode::in_program`].
pub(crate) fn allow_in_place(config: &mut wasmtime::Config) {
    if IN_PLACE {
        config.with_custom_code_memory(Some(std::sync::Arc::new(Pages)));
    }
}

/// Makes pages executable, those of wasmtime's own mappings and those of the program's data.
struct Pages;

impl wasmtime::CustomCodeMemory for Pages {
    fn required_alignment(&self) -> usize {
        page_size()
    }

    fn publish_executable(&self, start: *const u8, length: usize) -> wasmtime::Result<()> {
        use rustix::mm::MprotectFlags;
        let length = length.next_multiple_of(page_size());
        // SAFETY: the range is the text of a compiled module: of a mapping that wasmtime made for it, or of constant
        // data of this program, which by the contract of `in_program` shares its pages with nothing that is written.
        // Both are readable before and after.
        unsafe { rustix::mm::mprotect(start.cast_mut().cast(), length, MprotectFlags::READ | MprotectFlags::EXEC) }
            .map_err(|error| wasmtime::Error::msg(format!("can't make memory executable: {error}")))
    }

    /// Nothing: wasmtime unmaps its own mappings right after this, and the program's data may be in use by another
    /// engine.
    fn unpublish_executable(&self, _: *const u8, _: usize) -> wasmtime::Result<()> {
        Ok(())
    }
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
