//! Streams, and waiting for them and for the clock.
//!
//! Our streams are never waited for, so the calls that may block do what their siblings do. Only pollables are: the calls
//! on them are the ones that a future can be pending in.

use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable, StreamError, StreamResult, subscribe};
use wasmtime_wasi_io::bindings::wasi::io::error;
use wasmtime_wasi_io::bindings::wasi::io::poll::{Host as _, HostPollable};
use wasmtime_wasi_io::bindings::wasi::io::streams::{self, Host as _};

use super::{Guest, define, interface, pay, pay_bytes};
use crate::component::streams::CALL_BYTES;
use crate::component::world::{Table, World};
use crate::wasi::{CALL_FUEL, MAX_SUBSCRIPTIONS};

type Input = Resource<DynInputStream>;
type Output = Resource<DynOutputStream>;

/// What a call on a stream gives the guest; the outer error ends it.
type Answer<T> = wasmtime::Result<(Result<T, streams::StreamError>,)>;

pub(super) fn add(linker: &mut Linker<World>) -> wasmtime::Result<()> {
    // No stream of ours fails, so there is no error to ask about.
    error::add_to_linker::<World, Table>(linker, |world| &mut world.table)?;
    pollables(linker)?;
    let mut streams = interface(linker, "io/streams")?;
    streams.resource("input-stream", ResourceType::host::<DynInputStream>(), |mut guest, stream| {
        pay(&mut guest, CALL_FUEL)?;
        guest.data_mut().table.delete(Input::new_own(stream)).map(drop)?;
        Ok(())
    })?;
    streams.resource("output-stream", ResourceType::host::<DynOutputStream>(), |mut guest, stream| {
        pay(&mut guest, CALL_FUEL)?;
        guest.data_mut().table.delete(Output::new_own(stream)).map(drop)?;
        Ok(())
    })?;

    for name in ["read", "blocking-read"] {
        define(&mut streams, &format!("[method]input-stream.{name}"), read)?;
    }
    for name in ["skip", "blocking-skip"] {
        define(&mut streams, &format!("[method]input-stream.{name}"), skip)?;
    }
    define(&mut streams, "[method]input-stream.subscribe", |guest: &mut Guest<'_>, (stream,): (Input,)| {
        Ok((subscribe(&mut guest.data_mut().table, stream)?,))
    })?;

    define(&mut streams, "[method]output-stream.check-write", |guest: &mut Guest<'_>, (stream,): (Output,)| {
        let result = check_write(guest, &stream).map(|permit| permit as u64);
        answer(guest, result)
    })?;
    for name in ["write", "blocking-write-and-flush"] {
        define(&mut streams, &format!("[method]output-stream.{name}"), write)?;
    }
    for name in ["write-zeroes", "blocking-write-zeroes-and-flush"] {
        define(&mut streams, &format!("[method]output-stream.{name}"), write_zeroes)?;
    }
    for name in ["flush", "blocking-flush"] {
        define(
            &mut streams,
            &format!("[method]output-stream.{name}"),
            |guest: &mut Guest<'_>, (stream,): (Output,)| {
                let result = output(guest, &stream).and_then(|stream| stream.flush());
                answer(guest, result)
            },
        )?;
    }
    for name in ["splice", "blocking-splice"] {
        define(&mut streams, &format!("[method]output-stream.{name}"), splice)?;
    }
    define(&mut streams, "[method]output-stream.subscribe", |guest: &mut Guest<'_>, (stream,): (Output,)| {
        Ok((subscribe(&mut guest.data_mut().table, stream)?,))
    })?;
    Ok(())
}

fn pollables(linker: &mut Linker<World>) -> wasmtime::Result<()> {
    let mut poll = interface(linker, "io/poll")?;
    poll.resource("pollable", ResourceType::host::<DynPollable>(), drop_pollable)?;
    poll.func_wrap_async("[method]pollable.ready", |mut guest: Guest<'_>, (pollable,): (Resource<DynPollable>,)| {
        Box::new(async move {
            pay(&mut guest, CALL_FUEL)?;
            Ok((guest.data_mut().table.ready(pollable).await?,))
        })
    })?;
    poll.func_wrap_async("[method]pollable.block", |mut guest: Guest<'_>, (pollable,): (Resource<DynPollable>,)| {
        Box::new(async move {
            pay(&mut guest, CALL_FUEL)?;
            guest.data_mut().table.block(pollable).await
        })
    })?;
    poll.func_wrap_async("poll", |mut guest: Guest<'_>, (pollables,): (Vec<Resource<DynPollable>>,)| {
        Box::new(async move {
            pay(&mut guest, CALL_FUEL * (pollables.len() as u64 + 1))?;
            if pollables.len() > MAX_SUBSCRIPTIONS as usize {
                let count = pollables.len();
                let text =
                    format!("it waits for {count} things in one call, more than the limit of {MAX_SUBSCRIPTIONS}");
                return Err(wasmtime::Error::msg(text));
            }
            Ok((guest.data_mut().table.poll(pollables).await?,))
        })
    })?;
    Ok(())
}

fn drop_pollable(mut guest: Guest<'_>, pollable: u32) -> wasmtime::Result<()> {
    pay(&mut guest, CALL_FUEL)?;
    HostPollable::drop(&mut guest.data_mut().table, Resource::new_own(pollable))
}

/// What the guest sees of a stream's end or failure.
fn answer<T>(guest: &mut Guest<'_>, result: StreamResult<T>) -> Answer<T> {
    match result {
        Ok(value) => Ok((Ok(value),)),
        Err(error) => Ok((Err(guest.data_mut().table.convert_stream_error(error)?),)),
    }
}

fn input<'a>(guest: &'a mut Guest<'_>, stream: &Input) -> StreamResult<&'a mut DynInputStream> {
    Ok(guest.data_mut().table.get_mut(stream)?)
}

fn output<'a>(guest: &'a mut Guest<'_>, stream: &Output) -> StreamResult<&'a mut DynOutputStream> {
    Ok(guest.data_mut().table.get_mut(stream)?)
}

fn check_write(guest: &mut Guest<'_>, stream: &Output) -> StreamResult<usize> {
    output(guest, stream)?.check_write()
}

fn read(guest: &mut Guest<'_>, (stream, length): (Input, u64)) -> Answer<Vec<u8>> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let result = input(guest, &stream).and_then(|stream| stream.read(length));
    if let Ok(bytes) = &result {
        pay_bytes(guest, bytes.len())?;
    }
    answer(guest, result.map(Vec::from))
}

fn skip(guest: &mut Guest<'_>, (stream, length): (Input, u64)) -> Answer<u64> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let result = input(guest, &stream).and_then(|stream| stream.skip(length));
    if let Ok(skipped) = &result {
        pay_bytes(guest, *skipped)?;
    }
    answer(guest, result.map(|skipped| skipped as u64))
}

fn write(guest: &mut Guest<'_>, (stream, bytes): (Output, Vec<u8>)) -> Answer<()> {
    pay_bytes(guest, bytes.len())?;
    let result = check_write(guest, &stream).and_then(|permit| {
        if bytes.len() > permit {
            return Err(StreamError::trap("it writes more bytes in one call than the stream takes"));
        }
        output(guest, &stream)?.write(bytes.into())
    });
    answer(guest, result)
}

fn write_zeroes(guest: &mut Guest<'_>, (stream, length): (Output, u64)) -> Answer<()> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    pay_bytes(guest, length.min(CALL_BYTES))?;
    // Refuses more than the stream takes.
    let result = output(guest, &stream).and_then(|stream| stream.write_zeroes(length));
    answer(guest, result)
}

fn splice(guest: &mut Guest<'_>, (to, from, length): (Output, Input, u64)) -> Answer<u64> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let result = check_write(guest, &to).and_then(|permit| {
        let bytes = input(guest, &from)?.read(length.min(permit))?;
        pay_bytes(guest, bytes.len()).map_err(StreamError::Trap)?;
        let count = bytes.len() as u64;
        output(guest, &to)?.write(bytes)?;
        Ok(count)
    });
    answer(guest, result)
}
