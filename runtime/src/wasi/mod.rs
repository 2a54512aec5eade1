//! The world of a function: WASI preview 1, as small as it can be.
//!
//! There is stdin, stdout, stderr, the arguments, an environment that is empty unless granted, an exit,
//! a clock that stands still until the function sleeps, and random numbers that are the same in each
//! run. There are no sockets, and no files but those of granted directories, to be read. Everything else
//! that preview 1 knows is there and answers with an error, so that programs link and libraries can try.
//!
//! Nothing here blocks, nothing here trusts a number from the guest: addresses are checked against its
//! memory ([`memory::Guest`]), bad ones become `EFAULT`; work is paid for in fuel before it is done.

mod abi;
mod absent;
mod calls;
mod context;
mod descriptors;
mod files;
mod memory;
mod paths;
mod poll;

pub(crate) use self::calls::{CLOCK_RESOLUTION, MONOTONIC_START, WALL_START};
pub(crate) use self::context::{Context, Random, Stderr};
pub(crate) use self::poll::MAX_SUBSCRIPTIONS;

use wasmtime::{Caller, Linker};

use self::abi::{Errno, SUCCESS};
use self::memory::Guest;
use crate::sandbox::{State, Stop};

/// The import module of WASI preview 1.
pub(crate) const MODULE: &str = "wasi_snapshot_preview1";

/// All functions of WASI preview 1.
pub(crate) const NAMES: [&str; 46] = [
    "args_get",
    "args_sizes_get",
    "clock_res_get",
    "clock_time_get",
    "environ_get",
    "environ_sizes_get",
    "fd_advise",
    "fd_allocate",
    "fd_close",
    "fd_datasync",
    "fd_fdstat_get",
    "fd_fdstat_set_flags",
    "fd_fdstat_set_rights",
    "fd_filestat_get",
    "fd_filestat_set_size",
    "fd_filestat_set_times",
    "fd_pread",
    "fd_prestat_dir_name",
    "fd_prestat_get",
    "fd_pwrite",
    "fd_read",
    "fd_readdir",
    "fd_renumber",
    "fd_seek",
    "fd_sync",
    "fd_tell",
    "fd_write",
    "path_create_directory",
    "path_filestat_get",
    "path_filestat_set_times",
    "path_link",
    "path_open",
    "path_readlink",
    "path_remove_directory",
    "path_rename",
    "path_symlink",
    "path_unlink_file",
    "poll_oneoff",
    "proc_exit",
    "proc_raise",
    "random_get",
    "sched_yield",
    "sock_accept",
    "sock_recv",
    "sock_send",
    "sock_shutdown",
];

/// Fuel for any call: what entering and leaving the host costs in time, in instructions.
pub(crate) const CALL_FUEL: u64 = 64;

/// Bytes that are moved for one unit of fuel.
pub(crate) const BYTES_PER_FUEL: u64 = 16;

/// How a call ends if not well: with an error that the guest sees, or with the end of the guest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fail {
    Errno(Errno),
    Stop(Stop),
}

impl From<Errno> for Fail {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

impl From<Stop> for Fail {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// The fuel that is left to the guest, while the host works for it.
pub(crate) struct Meter {
    left: u64,
}

impl Meter {
    /// Pays for work that is about to be done.
    fn pay(&mut self, fuel: u64) -> Result<(), Stop> {
        let left = self.left.checked_sub(fuel);
        self.left = left.unwrap_or(0);
        if left.is_some() { Ok(()) } else { Err(Stop::OutOfFuel) }
    }

    fn pay_bytes(&mut self, bytes: u64) -> Result<(), Stop> {
        self.pay(bytes / BYTES_PER_FUEL)
    }
}

/// What a call works with: the guest's memory, and all the rest.
struct Call<'a> {
    memory: Guest<'a>,
    state: &'a mut State,
    meter: Meter,
}

/// Runs one host call: pays for it, gives it the guest's memory, and turns its end into what the guest
/// sees.
fn call(caller: &mut Caller<'_, State>, body: impl FnOnce(&mut Call<'_>) -> Result<(), Fail>) -> wasmtime::Result<i32> {
    let mut meter = Meter { left: caller.get_fuel()? };
    let mut result = meter.pay(CALL_FUEL).map_err(Fail::Stop);
    if result.is_ok() {
        // A start function runs before the memory is known. A guest without one has no valid address.
        let memory = caller.data().memory.or_else(|| caller.get_export("memory")?.into_memory());
        let (bytes, state) = match memory {
            Some(memory) => memory.data_and_store_mut(&mut *caller),
            None => (&mut [][..], caller.data_mut()),
        };
        let mut call = Call { memory: Guest::new(bytes), state, meter };
        result = body(&mut call);
        meter = call.meter;
    }
    caller.set_fuel(meter.left)?;
    match result {
        Ok(()) => Ok(SUCCESS),
        Err(Fail::Errno(errno)) => Ok(errno as i32),
        Err(Fail::Stop(stop)) => Err(stop.into()),
    }
}

/// All of preview 1, as above.
pub(crate) fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    calls::add(&mut linker)?;
    files::add(&mut linker)?;
    paths::add(&mut linker)?;
    poll::add(&mut linker)?;
    absent::add(&mut linker)?;
    Ok(linker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_preview_1_is_there() {
        let engine = wasmtime::Engine::default();
        let linker = linker(&engine).unwrap();
        let context = Context::default();
        let limits = crate::Limits::default();
        let mut store = wasmtime::Store::new(&engine, State::for_tests(context, &limits));
        for name in NAMES {
            assert!(linker.get(&mut store, MODULE, name).is_ok(), "`{name}` is missing");
        }
        assert_eq!(linker.iter(&mut store).count(), NAMES.len());
    }

    #[test]
    fn work_is_paid_before_it_is_done() {
        let mut meter = Meter { left: 100 };
        assert_eq!(meter.pay(60), Ok(()));
        assert_eq!(meter.pay(60), Err(Stop::OutOfFuel));
        assert_eq!(meter.left, 0);
    }
}
