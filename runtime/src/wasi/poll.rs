//! Waiting, in a world where time passes only by waiting.

use std::time::Duration;

use wasmtime::{Caller, Linker};

use super::abi::Errno;
use super::calls::now;
use super::context::Stream;
use super::descriptors::Descriptor;
use super::{CALL_FUEL, Call, Fail, MODULE, call};
use crate::sandbox::State;

const SUBSCRIPTION_BYTES: u32 = 48;
const EVENT_BYTES: u32 = 32;

/// Things that one call can wait for. Programs without sockets wait for a handful.
pub(crate) const MAX_SUBSCRIPTIONS: u32 = 1024;

const TAG_CLOCK: u8 = 0;
const TAG_READ: u8 = 1;
const TAG_WRITE: u8 = 2;

/// The timeout is a time on the clock, not a span from now.
const ABSOLUTE: u16 = 1;

pub(crate) fn add(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "poll_oneoff",
        |mut guest: Caller<'_, State>,
         subscriptions: u32,
         events: u32,
         count: u32,
         out: u32|
         -> wasmtime::Result<i32> {
            call(&mut guest, |call| poll_oneoff(call, subscriptions, events, count, out))
        },
    )?;
    Ok(())
}

/// What one subscription comes to.
enum Wait {
    /// Ready now, with this many bytes to read or write.
    Ready { tag: u8, bytes: u64 },
    /// It can never be ready.
    Failed { tag: u8, errno: Errno },
    /// Ready when so many nanoseconds have passed.
    Until(u64),
}

/// Streams and files are always ready. If nothing but clocks is waited for, time jumps to the earliest of them;
/// the jump counts against the deadlines as if it had been waited for.
fn poll_oneoff(call: &mut Call<'_>, subscriptions: u32, events: u32, count: u32, out: u32) -> Result<(), Fail> {
    if count == 0 || count > MAX_SUBSCRIPTIONS {
        return Err(Errno::Inval.into());
    }
    call.meter.pay(CALL_FUEL * u64::from(count))?;
    // All of it must be there before time moves.
    call.memory.read(subscriptions, count * SUBSCRIPTION_BYTES)?;
    call.memory.read(events, count * EVENT_BYTES)?;
    call.memory.put_u32(out, 0)?;

    let mut waits = Vec::with_capacity(count as usize);
    for index in 0..count {
        let bytes = call.memory.array(subscriptions + index * SUBSCRIPTION_BYTES)?;
        waits.push((userdata(&bytes), wait(call.state, &bytes)?));
    }
    let earliest = waits.iter().map(|(_, wait)| if let Wait::Until(time) = wait { *time } else { 0 }).min();
    let jump = earliest.unwrap_or(0);
    if jump > 0 {
        call.state.clock.sleep(Duration::from_nanos(jump))?;
    }

    let mut happened = 0;
    for (userdata, wait) in waits {
        let (tag, errno, bytes) = match wait {
            Wait::Ready { tag, bytes } => (tag, 0, bytes),
            Wait::Failed { tag, errno } => (tag, errno as u16, 0),
            Wait::Until(time) if time <= jump => (TAG_CLOCK, 0, 0),
            Wait::Until(_) => continue,
        };
        let mut event = [0; EVENT_BYTES as usize];
        event[..8].copy_from_slice(&userdata);
        event[8..10].copy_from_slice(&errno.to_le_bytes());
        event[10] = tag;
        event[16..24].copy_from_slice(&bytes.to_le_bytes());
        call.memory.put(events + happened * EVENT_BYTES, event)?;
        happened += 1;
    }
    Ok(call.memory.put_u32(out, happened)?)
}

type Subscription = [u8; SUBSCRIPTION_BYTES as usize];

fn userdata(subscription: &Subscription) -> [u8; 8] {
    field(subscription, 0)
}

/// The bytes of a field; all offsets are constants within the layout.
fn field<const N: usize>(subscription: &Subscription, offset: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&subscription[offset..offset + N]);
    bytes
}

fn wait(state: &State, subscription: &Subscription) -> Result<Wait, Errno> {
    let tag = subscription[8];
    match tag {
        TAG_CLOCK => {
            let clock = u32::from_le_bytes(field(subscription, 16));
            let timeout = u64::from_le_bytes(field(subscription, 24));
            let flags = u16::from_le_bytes(field(subscription, 40));
            match now(state, clock) {
                Ok(now) if flags & ABSOLUTE != 0 => Ok(Wait::Until(timeout.saturating_sub(now))),
                Ok(_) => Ok(Wait::Until(timeout)),
                Err(errno) => Ok(Wait::Failed { tag, errno }),
            }
        }
        TAG_READ | TAG_WRITE => {
            let fd = u32::from_le_bytes(field(subscription, 16));
            Ok(match (tag, state.wasi.descriptors.get(fd)) {
                (TAG_READ, Ok(Descriptor::Stream(Stream::Stdin))) => {
                    Wait::Ready { tag, bytes: state.wasi.stdin_left() as u64 }
                }
                (TAG_READ, Ok(Descriptor::Granted(open))) => {
                    Wait::Ready { tag, bytes: state.wasi.descriptors.left(open) }
                }
                (TAG_WRITE, Ok(Descriptor::Stream(Stream::Stdout | Stream::Stderr))) => {
                    Wait::Ready { tag, bytes: 64 << 10 }
                }
                _ => Wait::Failed { tag, errno: Errno::BadF },
            })
        }
        _ => Err(Errno::Inval),
    }
}
