//! Components: programs for WASI 0.2.
//!
//! They see the same small world as programs for preview 1 ([`wasi`](crate::wasi)): stdin, stdout, stderr, arguments, an
//! environment that is empty unless granted, an exit, a clock that stands still until the function sleeps, random numbers
//! that are the same in each run. There are no files and no sockets: asking for them is answered with an error.
//!
//! wasmtime-wasi brings the types, the command's entry, the table of resources with its streams, and how things are waited
//! for. The calls are defined here ([`calls`]), so that each is paid for in fuel before its work is done, as in the other
//! world. wasmtime-wasi's own clocks, random numbers, files and sockets are not linked at all: what a function does not get
//! is not there to be reached.
//!
//! A component runs in a Store of its own, as a future on the calling thread. It is pending only when the function waits
//! for its clock ([`clock`]), and then time jumps; a function that is not to go on has its future dropped.

mod calls;
mod clock;
mod streams;
mod world;

pub(crate) use self::clock::Time;
pub(crate) use self::world::World;

use wasmtime::component::Component;
use wasmtime_wasi::p2::bindings::CommandPre;

use crate::check;
use crate::engine::EngineInner;
use crate::error::ModuleError;

/// A component that is linked.
pub(crate) struct Command {
    pub(crate) pre: CommandPre<World>,
    /// Instances of modules that a run makes: slots that it takes of a pool.
    pub(crate) core_instances: u32,
}

impl Command {
    /// Whether the engine has slots enough for a run, and how many that takes.
    pub(crate) fn fits(engine: &EngineInner, wasm: &[u8]) -> Result<u32, ModuleError> {
        let needed = check::component::core_instances(wasm)?;
        match engine.slots.as_ref().map(|slots| slots.total()) {
            Some(total) if needed > total => {
                Err(ModuleError::Ceiling { what: "instances of modules", found: needed.into(), limit: total.into() })
            }
            _ => Ok(needed),
        }
    }

    /// Gives a compiled component its world. `core_instances` is what [`fits`](Self::fits) said of its wasm.
    pub(crate) fn link(engine: &EngineInner, component: &Component, core_instances: u32) -> Result<Self, ModuleError> {
        let interface = |error: wasmtime::Error| ModuleError::Interface(format!("{error:#}"));
        let linker = if let Some(linker) = engine.components.get() {
            linker
        } else {
            let linker = calls::linker(&engine.wasmtime).map_err(interface)?;
            engine.components.get_or_init(|| linker)
        };
        let pre = linker.instantiate_pre(component).and_then(CommandPre::new).map_err(interface)?;
        Ok(Self { pre, core_instances })
    }
}
