//! The calls that work: input and output, arguments, clock, random numbers, exit.

use wasmtime::{Caller, Linker};

use super::abi::{
    CLOCK_REALTIME, CLOCK_THREAD_CPU, Errno, FDSTAT_BYTES, FILESTAT_BYTES, FILETYPE_UNKNOWN, RIGHT_FD_READ,
    RIGHT_FD_WRITE, RIGHT_POLL,
};
use super::context::{Stream, Strings};
use super::descriptors::Descriptor;
use super::{Call, Fail, MODULE, call, files};
use crate::sandbox::{State, Stop};

/// Fuel for each range that a call names: it is checked twice.
const RANGE_FUEL: u64 = 16;

/// Bytes copied between two looks at the deadline: about 0.1 ms.
const COPY_CHUNK: u32 = 1 << 20;

/// Random bytes made between two looks at the deadline.
const RANDOM_CHUNK: u32 = 1 << 20;

/// The wall clock when a function starts: 2000-01-01T00:00:00Z, in nanoseconds.
pub(crate) const WALL_START: u64 = 946_684_800_000_000_000;

/// The monotonic clock when a function starts. Not 0, which the Go runtime takes for a broken clock.
pub(crate) const MONOTONIC_START: u64 = 1_000_000_000;

/// What `clock_res_get` says, in nanoseconds.
pub(crate) const CLOCK_RESOLUTION: u64 = 1_000;

type Guest<'a> = Caller<'a, State>;
type Answer = wasmtime::Result<i32>;

pub(crate) fn add(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker
        .func_wrap(MODULE, "fd_read", |mut guest: Guest<'_>, fd: u32, array: u32, count: u32, out: u32| -> Answer {
            call(&mut guest, |call| fd_read(call, fd, array, count, out))
        })?
        .func_wrap(MODULE, "fd_write", |mut guest: Guest<'_>, fd: u32, array: u32, count: u32, out: u32| -> Answer {
            call(&mut guest, |call| fd_write(call, fd, array, count, out))
        })?
        .func_wrap(MODULE, "fd_close", |mut guest: Guest<'_>, fd: u32| -> Answer {
            call(&mut guest, |call| Ok(call.state.wasi.descriptors.close(fd)?))
        })?
        .func_wrap(MODULE, "fd_fdstat_get", |mut guest: Guest<'_>, fd: u32, out: u32| -> Answer {
            call(&mut guest, |call| fd_fdstat_get(call, fd, out))
        })?
        .func_wrap(MODULE, "fd_fdstat_set_flags", |mut guest: Guest<'_>, fd: u32, _flags: u32| -> Answer {
            // Appending and non-blocking are what streams are anyway, and nothing to a file that is read.
            call(&mut guest, |call| open(call, fd))
        })?
        .func_wrap(MODULE, "fd_filestat_get", |mut guest: Guest<'_>, fd: u32, out: u32| -> Answer {
            call(&mut guest, |call| fd_filestat_get(call, fd, out))
        })?
        .func_wrap(MODULE, "fd_sync", |mut guest: Guest<'_>, fd: u32| -> Answer {
            call(&mut guest, |call| open(call, fd))
        })?
        .func_wrap(MODULE, "fd_datasync", |mut guest: Guest<'_>, fd: u32| -> Answer {
            call(&mut guest, |call| open(call, fd))
        })?
        .func_wrap(MODULE, "args_sizes_get", |mut guest: Guest<'_>, count: u32, size: u32| -> Answer {
            call(&mut guest, |call| sizes(call, |state| &state.wasi.args, count, size))
        })?
        .func_wrap(MODULE, "args_get", |mut guest: Guest<'_>, pointers: u32, bytes: u32| -> Answer {
            call(&mut guest, |call| strings(call, |state| &state.wasi.args, pointers, bytes))
        })?
        .func_wrap(MODULE, "environ_sizes_get", |mut guest: Guest<'_>, count: u32, size: u32| -> Answer {
            call(&mut guest, |call| sizes(call, |state| &state.wasi.env, count, size))
        })?
        .func_wrap(MODULE, "environ_get", |mut guest: Guest<'_>, pointers: u32, bytes: u32| -> Answer {
            call(&mut guest, |call| strings(call, |state| &state.wasi.env, pointers, bytes))
        })?
        .func_wrap(MODULE, "clock_res_get", |mut guest: Guest<'_>, clock: u32, out: u32| -> Answer {
            call(&mut guest, |call| {
                now(call.state, clock)?;
                Ok(call.memory.put_u64(out, CLOCK_RESOLUTION)?)
            })
        })?
        .func_wrap(MODULE, "clock_time_get", |mut guest: Guest<'_>, clock: u32, _precision: u64, out: u32| -> Answer {
            call(&mut guest, |call| {
                let now = now(call.state, clock)?;
                Ok(call.memory.put_u64(out, now)?)
            })
        })?
        .func_wrap(MODULE, "random_get", |mut guest: Guest<'_>, address: u32, length: u32| -> Answer {
            call(&mut guest, |call| random_get(call, address, length))
        })?
        .func_wrap(MODULE, "sched_yield", |mut guest: Guest<'_>| -> Answer { call(&mut guest, |_| Ok(())) })?
        .func_wrap(MODULE, "proc_exit", |_: Guest<'_>, code: i32| -> wasmtime::Result<()> {
            Err(Stop::Exit(code).into())
        })?;
    Ok(())
}

fn open(call: &mut Call<'_>, fd: u32) -> Result<(), Fail> {
    call.state.wasi.descriptors.get(fd)?;
    Ok(())
}

fn fd_read(call: &mut Call<'_>, fd: u32, array: u32, count: u32, out: u32) -> Result<(), Fail> {
    match call.state.wasi.descriptors.get(fd)? {
        Descriptor::Stream(Stream::Stdin) => {}
        Descriptor::Stream(_) => return Err(Errno::BadF.into()),
        Descriptor::Granted(open) => return files::read(call, fd, open, array, count, out),
    }
    let wanted = call.memory.ranges_total(array, count)?;
    // Before anything is consumed, so that a bad address loses no input.
    call.memory.put_u32(out, 0)?;
    let expected = call.state.wasi.stdin_left().min(wanted as usize);
    call.meter.pay(RANGE_FUEL * u64::from(count))?;
    call.meter.pay_bytes(expected as u64)?;
    let mut total = 0;
    let mut pace = Pace::default();
    'ranges: for index in 0..count {
        // Looked up again: what was read may lie over the array. It is checked again, too.
        let (address, length) = call.memory.range(array, index)?;
        call.memory.read(address, length)?;
        for (offset, piece) in pieces(length) {
            let read = call.state.wasi.read_stdin(call.memory.write(address + offset, piece)?);
            total += read;
            if read < piece as usize {
                break 'ranges;
            }
            pace.moved(piece, call.state)?;
        }
    }
    Ok(call.memory.put_u32(out, u32::try_from(total).map_err(|_| Errno::Overflow)?)?)
}

fn fd_write(call: &mut Call<'_>, fd: u32, array: u32, count: u32, out: u32) -> Result<(), Fail> {
    let stream = match call.state.wasi.descriptors.get(fd)? {
        Descriptor::Stream(Stream::Stdin) => return Err(Errno::BadF.into()),
        Descriptor::Stream(stream) => stream,
        Descriptor::Granted(_) => return Err(Errno::NotCapable.into()),
    };
    let total = call.memory.ranges_total(array, count)?;
    call.memory.put_u32(out, 0)?;
    call.meter.pay(RANGE_FUEL * u64::from(count))?;
    call.meter.pay_bytes(total.into())?;
    if stream == Stream::Stdout {
        call.state.wasi.reserve_stdout(total as usize)?;
    }
    let mut pace = Pace::default();
    for index in 0..count {
        let (address, length) = call.memory.range(array, index)?;
        call.memory.read(address, length)?;
        if stream == Stream::Stderr {
            call.state.wasi.write_stderr(call.memory.read(address, length)?);
            continue;
        }
        for (offset, piece) in pieces(length) {
            call.state.wasi.write_stdout(call.memory.read(address + offset, piece)?);
            pace.moved(piece, call.state)?;
        }
    }
    Ok(call.memory.put_u32(out, total)?)
}

/// A length in pieces of [`COPY_CHUNK`], each with its offset.
fn pieces(length: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..length).step_by(COPY_CHUNK as usize).map(move |offset| (offset, (length - offset).min(COPY_CHUNK)))
}

/// Sees to it that long copies look at the deadline and the cancel as running code does.
#[derive(Default)]
struct Pace {
    unseen: u32,
}

impl Pace {
    fn moved(&mut self, bytes: u32, state: &State) -> Result<(), Stop> {
        self.unseen += bytes;
        if self.unseen < COPY_CHUNK {
            return Ok(());
        }
        self.unseen = 0;
        state.check()
    }
}

fn fd_fdstat_get(call: &mut Call<'_>, fd: u32, out: u32) -> Result<(), Fail> {
    let rights = match call.state.wasi.descriptors.get(fd)? {
        Descriptor::Stream(Stream::Stdin) => RIGHT_FD_READ,
        Descriptor::Stream(Stream::Stdout | Stream::Stderr) => RIGHT_FD_WRITE,
        Descriptor::Granted(open) => return files::fdstat(call, open, out),
    };
    let mut stat = [0; FDSTAT_BYTES];
    stat[0] = FILETYPE_UNKNOWN;
    stat[8..16].copy_from_slice(&(rights | RIGHT_POLL).to_le_bytes());
    Ok(call.memory.put(out, stat)?)
}

fn fd_filestat_get(call: &mut Call<'_>, fd: u32, out: u32) -> Result<(), Fail> {
    if let Descriptor::Granted(open) = call.state.wasi.descriptors.get(fd)? {
        return files::filestat(call, open.place, out);
    }
    // No size: programs would believe it of a stream. One link; all times at the beginning.
    let mut stat = [0; FILESTAT_BYTES];
    stat[16] = FILETYPE_UNKNOWN;
    stat[24] = 1;
    Ok(call.memory.put(out, stat)?)
}

fn sizes(call: &mut Call<'_>, of: fn(&State) -> &Strings, count: u32, size: u32) -> Result<(), Fail> {
    let strings = of(call.state);
    call.memory.put_u32(count, strings.starts.len() as u32)?;
    Ok(call.memory.put_u32(size, strings.bytes.len() as u32)?)
}

fn strings(call: &mut Call<'_>, of: fn(&State) -> &Strings, pointers: u32, bytes: u32) -> Result<(), Fail> {
    let strings = of(call.state);
    call.meter.pay_bytes(strings.bytes.len() as u64)?;
    let size = u32::try_from(strings.bytes.len()).map_err(|_| Errno::Overflow)?;
    call.memory.write(bytes, size)?.copy_from_slice(&strings.bytes);
    for (start, index) in strings.starts.iter().zip(0_u32..) {
        let pointer = index.checked_mul(4).and_then(|offset| pointers.checked_add(offset));
        let string = bytes.checked_add(*start).ok_or(Errno::Fault)?;
        call.memory.put_u32(pointer.ok_or(Errno::Fault)?, string)?;
    }
    Ok(())
}

/// What a clock shows: time that passes by sleeping alone.
pub(crate) fn now(state: &State, clock: u32) -> Result<u64, Errno> {
    let start = match clock {
        CLOCK_REALTIME => WALL_START,
        _ if clock <= CLOCK_THREAD_CPU => MONOTONIC_START,
        _ => return Err(Errno::Inval),
    };
    let slept = u64::try_from(state.clock.slept_in_step().as_nanos()).unwrap_or(u64::MAX);
    Ok(start.saturating_add(slept))
}

fn random_get(call: &mut Call<'_>, address: u32, length: u32) -> Result<(), Fail> {
    call.memory.read(address, length)?;
    let mut done = 0;
    while done < length {
        let chunk = (length - done).min(RANDOM_CHUNK);
        // A byte of these costs about as much as an instruction.
        call.meter.pay(chunk.into())?;
        call.state.wasi.random.fill(call.memory.write(address + done, chunk)?);
        done += chunk;
        if done < length {
            call.state.check()?;
        }
    }
    Ok(())
}
