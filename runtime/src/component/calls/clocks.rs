//! The clocks: frozen until the function sleeps.

use wasmtime::component::Linker;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::subscribe;

use super::{Guest, define, interface};
use crate::component::world::World;
use crate::wasi::CLOCK_RESOLUTION;

const NANOSECONDS: u64 = 1_000_000_000;

pub(super) fn add(linker: &mut Linker<World>) -> wasmtime::Result<()> {
    let mut wall = interface(linker, "clocks/wall-clock")?;
    define(&mut wall, "now", |guest: &mut Guest<'_>, ()| Ok((datetime(guest.data().time.wall()),)))?;
    define(&mut wall, "resolution", |_: &mut Guest<'_>, ()| Ok((datetime(CLOCK_RESOLUTION),)))?;

    let mut monotonic = interface(linker, "clocks/monotonic-clock")?;
    define(&mut monotonic, "now", |guest: &mut Guest<'_>, ()| Ok((guest.data().time.monotonic(),)))?;
    define(&mut monotonic, "resolution", |_: &mut Guest<'_>, ()| Ok((CLOCK_RESOLUTION,)))?;
    define(&mut monotonic, "subscribe-instant", |guest: &mut Guest<'_>, (instant,): (u64,)| {
        let alarm = guest.data().time.at(instant);
        let alarm = guest.data_mut().table.push(alarm)?;
        Ok((subscribe(&mut guest.data_mut().table, alarm)?,))
    })?;
    define(&mut monotonic, "subscribe-duration", |guest: &mut Guest<'_>, (duration,): (u64,)| {
        let alarm = guest.data().time.after(duration);
        let alarm = guest.data_mut().table.push(alarm)?;
        Ok((subscribe(&mut guest.data_mut().table, alarm)?,))
    })?;
    Ok(())
}

fn datetime(nanoseconds: u64) -> Datetime {
    Datetime { seconds: nanoseconds / NANOSECONDS, nanoseconds: (nanoseconds % NANOSECONDS) as u32 }
}
