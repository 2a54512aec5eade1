//! The interfaces of WASI 0.2 that a component gets.

mod cli;
mod clocks;
mod denied;
mod io;
mod random;

use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentNamedList, Lift, Linker, LinkerInstance, Lower};

use super::world::World;
use crate::sandbox::Stop;
use crate::wasi::{BYTES_PER_FUEL, CALL_FUEL};

/// The release of WASI 0.2 that this is. Components that were built for any other release fit as well.
const VERSION: &str = "0.2.12";

/// What a call works with.
type Guest<'a> = StoreContextMut<'a, World>;

/// All interfaces.
pub(super) fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<World>> {
    let mut linker = Linker::new(engine);
    cli::add(&mut linker)?;
    clocks::add(&mut linker)?;
    denied::add(&mut linker)?;
    io::add(&mut linker)?;
    random::add(&mut linker)?;
    Ok(linker)
}

/// An interface that is ours, by its name in WASI.
fn interface<'a>(linker: &'a mut Linker<World>, name: &str) -> wasmtime::Result<LinkerInstance<'a, World>> {
    linker.instance(&format!("wasi:{name}@{VERSION}"))
}

/// Defines a call, which is paid for before anything is done.
fn define<Params, Return>(
    interface: &mut LinkerInstance<'_, World>,
    name: &str,
    body: fn(&mut Guest<'_>, Params) -> wasmtime::Result<Return>,
) -> wasmtime::Result<()>
where
    Params: ComponentNamedList + Lift + 'static,
    Return: ComponentNamedList + Lower + 'static,
{
    interface.func_wrap(name, move |mut guest: Guest<'_>, parameters: Params| {
        pay(&mut guest, CALL_FUEL)?;
        body(&mut guest, parameters)
    })
}

/// Pays for work.
fn pay(guest: &mut Guest<'_>, fuel: u64) -> wasmtime::Result<()> {
    let left = guest.get_fuel()?;
    guest.set_fuel(left.saturating_sub(fuel))?;
    if left < fuel { Err(Stop::OutOfFuel.into()) } else { Ok(()) }
}

/// Pays for bytes that are moved.
fn pay_bytes(guest: &mut Guest<'_>, bytes: usize) -> wasmtime::Result<()> {
    pay(guest, bytes as u64 / BYTES_PER_FUEL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::component::INTERFACES;

    #[test]
    fn all_interfaces_that_a_component_may_import_are_there() {
        let engine = wasmtime::Engine::new(&crate::engine::base_config()).unwrap();
        let linker = linker(&engine).unwrap();
        for interface in INTERFACES {
            for version in ["0.2.0", "0.2.3", VERSION] {
                let text = format!(r#"(component (import "{interface}@{version}" (instance)))"#);
                let component = wasmtime::component::Component::new(&engine, wat::parse_str(text).unwrap()).unwrap();
                assert!(linker.instantiate_pre(&component).is_ok(), "`{interface}` is missing");
            }
        }
    }
}
