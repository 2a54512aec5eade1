//! Random numbers: the same in every run.

use wasmtime::component::Linker;

use super::{Guest, define, interface, pay};
use crate::component::streams::CALL_BYTES;
use crate::component::world::World;

pub(super) fn add(linker: &mut Linker<World>) -> wasmtime::Result<()> {
    let mut random = interface(linker, "random/random")?;
    define(&mut random, "get-random-bytes", |guest: &mut Guest<'_>, (length,): (u64,)| Ok((bytes(guest, length)?,)))?;
    define(&mut random, "get-random-u64", |guest: &mut Guest<'_>, ()| Ok((number(guest),)))?;

    let mut insecure = interface(linker, "random/insecure")?;
    define(&mut insecure, "get-insecure-random-bytes", |guest: &mut Guest<'_>, (length,): (u64,)| {
        Ok((bytes(guest, length)?,))
    })?;
    define(&mut insecure, "get-insecure-random-u64", |guest: &mut Guest<'_>, ()| Ok((number(guest),)))?;

    let mut seed = interface(linker, "random/insecure-seed")?;
    define(&mut seed, "insecure-seed", |guest: &mut Guest<'_>, ()| Ok(((number(guest), number(guest)),)))?;
    Ok(())
}

/// The interface leaves no way to give fewer bytes than were asked for.
fn bytes(guest: &mut Guest<'_>, length: u64) -> wasmtime::Result<Vec<u8>> {
    let length = usize::try_from(length).ok().filter(|length| *length <= CALL_BYTES).ok_or_else(|| {
        wasmtime::Error::msg(format!("{length} random bytes in one call, more than the limit of {CALL_BYTES}"))
    })?;
    // A byte of these costs about as much as an instruction.
    pay(guest, length as u64)?;
    let mut bytes = vec![0; length];
    guest.data_mut().random.fill(&mut bytes);
    Ok(bytes)
}

fn number(guest: &mut Guest<'_>) -> u64 {
    let mut bytes = [0; 8];
    guest.data_mut().random.fill(&mut bytes);
    u64::from_le_bytes(bytes)
}
