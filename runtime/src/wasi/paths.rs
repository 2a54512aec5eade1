//! The calls with a path: opening, looking, and finding out which directories there are.

use wasmtime::{Caller, Linker};

use super::abi::{
    Errno, FDFLAGS, LOOKUP_FOLLOW, OPEN_CREATE, OPEN_DIRECTORY, OPEN_EXCLUSIVE, OPEN_TRUNCATE, PRESTAT_BYTES,
    RIGHT_FD_WRITE,
};
use super::descriptors::{Descriptor, Place};
use super::{Call, Fail, MODULE, call, files};
use crate::grant::{Last, Node, WalkError};
use crate::sandbox::State;

type Guest<'a> = Caller<'a, State>;
type Answer = wasmtime::Result<i32>;

pub(crate) fn add(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker
        .func_wrap(MODULE, "fd_prestat_get", |mut guest: Guest<'_>, fd: u32, out: u32| -> Answer {
            call(&mut guest, |call| {
                let length = granted_as(call, fd)?.len() as u32;
                // Tag 0: a directory.
                let mut stat = [0; PRESTAT_BYTES];
                stat[4..].copy_from_slice(&length.to_le_bytes());
                Ok(call.memory.put(out, stat)?)
            })
        })?
        .func_wrap(
            MODULE,
            "fd_prestat_dir_name",
            |mut guest: Guest<'_>, fd: u32, buffer: u32, length: u32| -> Answer {
                call(&mut guest, |call| fd_prestat_dir_name(call, fd, buffer, length))
            },
        )?
        .func_wrap(
            MODULE,
            "path_open",
            |mut guest: Guest<'_>,
             fd: u32,
             lookup: u32,
             path: u32,
             length: u32,
             flags: u32,
             rights: u64,
             _inherited: u64,
             fdflags: u32,
             out: u32|
             -> Answer {
                call(&mut guest, |call| {
                    let wanted = Wanted { flags, rights, fdflags };
                    path_open(call, fd, lookup, (path, length), &wanted, out)
                })
            },
        )?
        .func_wrap(
            MODULE,
            "path_filestat_get",
            |mut guest: Guest<'_>, fd: u32, lookup: u32, path: u32, length: u32, out: u32| -> Answer {
                call(&mut guest, |call| {
                    let place = find(call, fd, last(lookup)?, (path, length))?;
                    files::filestat(call, place, out)
                })
            },
        )?
        .func_wrap(
            MODULE,
            "path_readlink",
            |mut guest: Guest<'_>, fd: u32, path: u32, length: u32, buffer: u32, room: u32, out: u32| -> Answer {
                call(&mut guest, |call| path_readlink(call, fd, (path, length), buffer, room, out))
            },
        )?;
    Ok(())
}

impl From<WalkError> for Fail {
    fn from(error: WalkError) -> Self {
        let errno = match error {
            WalkError::NotFound => Errno::NoEnt,
            WalkError::NotADirectory => Errno::NotDir,
            WalkError::Outside => Errno::NotCapable,
            WalkError::Loop => Errno::Loop,
            WalkError::TooLong => Errno::NameTooLong,
            WalkError::NotUtf8 => Errno::IlSeq,
            WalkError::Zero => Errno::Inval,
        };
        errno.into()
    }
}

/// The path at which a directory was granted. `EBADF` for everything else: it ends a program's search.
fn granted_as<'a>(call: &'a Call<'_>, fd: u32) -> Result<&'a str, Errno> {
    match call.state.wasi.descriptors.get(fd)? {
        Descriptor::Granted(open) if open.beforehand => {
            Ok(call.state.wasi.descriptors.directory(open.place.grant).target())
        }
        _ => Err(Errno::BadF),
    }
}

fn fd_prestat_dir_name(call: &mut Call<'_>, fd: u32, buffer: u32, length: u32) -> Result<(), Fail> {
    let name = granted_as(call, fd)?.to_owned();
    if (length as usize) < name.len() {
        return Err(Errno::NameTooLong.into());
    }
    call.meter.pay_bytes(name.len() as u64)?;
    call.memory.write(buffer, name.len() as u32)?.copy_from_slice(name.as_bytes());
    Ok(())
}

fn last(lookup: u32) -> Result<Last, Errno> {
    match lookup {
        0 => Ok(Last::Keep),
        LOOKUP_FOLLOW => Ok(Last::Follow),
        _ => Err(Errno::Inval),
    }
}

/// What a path names, seen from an open directory.
fn find(call: &mut Call<'_>, fd: u32, last: Last, (path, length): (u32, u32)) -> Result<Place, Fail> {
    let descriptors = &call.state.wasi.descriptors;
    let from = descriptors.granted(fd, Errno::NotDir)?.place;
    let tree = descriptors.tree(from);
    if !matches!(tree.node(from.node), Node::Directory(_)) {
        return Err(Errno::NotDir.into());
    }
    let path = call.memory.read(path, length)?;
    // A path of gigabytes is refused by its length.
    call.meter.pay_bytes(path.len().min(1 << 16) as u64)?;
    let meter = &mut call.meter;
    let node = tree.walk(from.node, path, last, |fuel| Ok::<(), Fail>(meter.pay(fuel)?))?;
    Ok(Place { grant: from.grant, node })
}

/// How something is to be opened, as the guest wrote it.
struct Wanted {
    flags: u32,
    rights: u64,
    fdflags: u32,
}

fn path_open(
    call: &mut Call<'_>,
    fd: u32,
    lookup: u32,
    path: (u32, u32),
    wanted: &Wanted,
    out: u32,
) -> Result<(), Fail> {
    const WRITING: u32 = OPEN_CREATE | OPEN_EXCLUSIVE | OPEN_TRUNCATE;
    let Wanted { flags, rights, fdflags } = *wanted;
    call.state.wasi.descriptors.granted(fd, Errno::NotDir)?;
    if flags & !(WRITING | OPEN_DIRECTORY) != 0 || fdflags & !FDFLAGS != 0 {
        return Err(Errno::Inval.into());
    }
    if flags & WRITING != 0 || rights & RIGHT_FD_WRITE != 0 {
        return Err(Errno::RoFs.into());
    }
    let place = find(call, fd, last(lookup)?, path)?;
    match call.state.wasi.descriptors.tree(place).node(place.node) {
        Node::Link(_) => return Err(Errno::Loop.into()),
        Node::File(_) if flags & OPEN_DIRECTORY != 0 => return Err(Errno::NotDir.into()),
        Node::File(_) | Node::Directory(_) => {}
    }
    // Before it is open, so that a bad address leaves nothing open.
    call.memory.put_u32(out, 0)?;
    let opened = call.state.wasi.descriptors.add(place)?;
    Ok(call.memory.put_u32(out, opened)?)
}

fn path_readlink(call: &mut Call<'_>, fd: u32, path: (u32, u32), buffer: u32, room: u32, out: u32) -> Result<(), Fail> {
    let place = find(call, fd, Last::Keep, path)?;
    let Node::Link(target) = call.state.wasi.descriptors.tree(place).node(place.node) else {
        return Err(Errno::Inval.into());
    };
    call.meter.pay_bytes(target.len() as u64)?;
    let length = (room as usize).min(target.len()) as u32;
    call.memory.write(buffer, length)?.copy_from_slice(&target.as_bytes()[..length as usize]);
    Ok(call.memory.put_u32(out, length)?)
}
