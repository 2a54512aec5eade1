//! The calls on files and directories that are open.

use wasmtime::{Caller, Linker};

use super::abi::{
    DIRENT_BYTES, Errno, FDSTAT_BYTES, FILESTAT_BYTES, FILETYPE_DIRECTORY, FILETYPE_FILE, FILETYPE_LINK,
    RIGHT_FD_ADVISE, RIGHT_FD_FILESTAT_GET, RIGHT_FD_READ, RIGHT_FD_READDIR, RIGHT_FD_SEEK, RIGHT_FD_SET_FLAGS,
    RIGHT_FD_TELL, RIGHT_FD_WRITE, RIGHT_PATH_FILESTAT_GET, RIGHT_PATH_OPEN, RIGHT_PATH_READLINK, RIGHT_POLL,
    SEEK_CURRENT, SEEK_END, SEEK_SET,
};
use super::calls::WALL_START;
use super::descriptors::{Open, Place};
use super::{Call, Fail, MODULE, call};
use crate::grant::{Node, NodeId, Tree};
use crate::sandbox::State;

/// Fuel for an entry of a listing, beside the bytes of its name.
const ENTRY_FUEL: u64 = 8;

const FILE_RIGHTS: u64 = RIGHT_FD_READ
    | RIGHT_FD_SEEK
    | RIGHT_FD_SET_FLAGS
    | RIGHT_FD_TELL
    | RIGHT_FD_ADVISE
    | RIGHT_FD_FILESTAT_GET
    | RIGHT_POLL;

const DIRECTORY_RIGHTS: u64 = RIGHT_PATH_OPEN
    | RIGHT_FD_READDIR
    | RIGHT_PATH_READLINK
    | RIGHT_PATH_FILESTAT_GET
    | RIGHT_FD_FILESTAT_GET
    | RIGHT_FD_SET_FLAGS
    | RIGHT_POLL;

/// What may be asked for of something in a directory. With the right to write, which is always refused:
/// C libraries ask for what stands here alone, and would take a file that they wanted to write for open.
const INHERITED_RIGHTS: u64 = DIRECTORY_RIGHTS | FILE_RIGHTS | RIGHT_FD_WRITE;

type Guest<'a> = Caller<'a, State>;
type Answer = wasmtime::Result<i32>;

pub(crate) fn add(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker
        .func_wrap(
            MODULE,
            "fd_pread",
            |mut guest: Guest<'_>, fd: u32, array: u32, count: u32, offset: u64, out: u32| -> Answer {
                call(&mut guest, |call| {
                    let open = call.state.wasi.descriptors.granted(fd, Errno::SPipe)?;
                    read_at(call, open.place, offset, array, count, out)?;
                    Ok(())
                })
            },
        )?
        .func_wrap(MODULE, "fd_seek", |mut guest: Guest<'_>, fd: u32, offset: i64, whence: u32, out: u32| -> Answer {
            call(&mut guest, |call| fd_seek(call, fd, offset, whence, out))
        })?
        .func_wrap(MODULE, "fd_tell", |mut guest: Guest<'_>, fd: u32, out: u32| -> Answer {
            call(&mut guest, |call| fd_seek(call, fd, 0, SEEK_CURRENT, out))
        })?
        .func_wrap(
            MODULE,
            "fd_advise",
            |mut guest: Guest<'_>, fd: u32, _offset: u64, _length: u64, _advice: u32| -> Answer {
                // All of it is in memory.
                call(&mut guest, |call| {
                    let open = call.state.wasi.descriptors.granted(fd, Errno::SPipe)?;
                    call.state.wasi.descriptors.content(open.place)?;
                    Ok(())
                })
            },
        )?
        .func_wrap(MODULE, "fd_renumber", |mut guest: Guest<'_>, from: u32, to: u32| -> Answer {
            call(&mut guest, |call| Ok(call.state.wasi.descriptors.renumber(from, to)?))
        })?
        .func_wrap(
            MODULE,
            "fd_readdir",
            |mut guest: Guest<'_>, fd: u32, buffer: u32, length: u32, cookie: u64, out: u32| -> Answer {
                call(&mut guest, |call| fd_readdir(call, fd, buffer, length, cookie, out))
            },
        )?;
    Ok(())
}

/// `fd_read` of a file.
pub(crate) fn read(call: &mut Call<'_>, fd: u32, open: Open, array: u32, count: u32, out: u32) -> Result<(), Fail> {
    let total = read_at(call, open.place, open.position, array, count, out)?;
    call.state.wasi.descriptors.set_position(fd, open.position + u64::from(total));
    Ok(())
}

/// Reads what there is from `position` on and fits; answers how many bytes.
fn read_at(call: &mut Call<'_>, place: Place, position: u64, array: u32, count: u32, out: u32) -> Result<u32, Fail> {
    let bytes = call.state.wasi.descriptors.content(place)?;
    let mut left = usize::try_from(position).ok().and_then(|start| bytes.get(start..)).unwrap_or(&[]);
    let wanted = call.memory.ranges_total(array, count)?;
    call.memory.put_u32(out, 0)?;
    call.meter.pay(count.into())?;
    call.meter.pay_bytes(left.len().min(wanted as usize) as u64)?;
    let mut total = 0;
    for index in 0..count {
        // Looked up again: what was read may lie over the array. It is checked again, too.
        let (address, length) = call.memory.range(array, index)?;
        let into = call.memory.write(address, length)?;
        let read = left.len().min(into.len());
        into[..read].copy_from_slice(&left[..read]);
        left = &left[read..];
        total += read as u32;
        if left.is_empty() {
            break;
        }
    }
    call.memory.put_u32(out, total)?;
    Ok(total)
}

/// Beyond the end there is nothing to read, but a position.
fn fd_seek(call: &mut Call<'_>, fd: u32, offset: i64, whence: u32, out: u32) -> Result<(), Fail> {
    let open = call.state.wasi.descriptors.granted(fd, Errno::SPipe)?;
    let size = call.state.wasi.descriptors.content(open.place)?.len() as u64;
    let from = match whence {
        SEEK_SET => 0,
        SEEK_CURRENT => open.position,
        SEEK_END => size,
        _ => return Err(Errno::Inval.into()),
    };
    // As far as programs' own numbers go, which are signed.
    let to = from.checked_add_signed(offset).filter(|to| i64::try_from(*to).is_ok()).ok_or(Errno::Inval)?;
    call.memory.put_u64(out, to)?;
    call.state.wasi.descriptors.set_position(fd, to);
    Ok(())
}

/// `fd_fdstat_get` of a file or a directory.
pub(crate) fn fdstat(call: &mut Call<'_>, open: Open, out: u32) -> Result<(), Fail> {
    let tree = call.state.wasi.descriptors.tree(open.place);
    let (rights, inherited) = match tree.node(open.place.node) {
        Node::Directory(_) => (DIRECTORY_RIGHTS, INHERITED_RIGHTS),
        Node::File(_) | Node::Link(_) => (FILE_RIGHTS, 0),
    };
    let mut stat = [0; FDSTAT_BYTES];
    stat[0] = filetype(tree, open.place.node);
    stat[8..16].copy_from_slice(&rights.to_le_bytes());
    stat[16..24].copy_from_slice(&inherited.to_le_bytes());
    Ok(call.memory.put(out, stat)?)
}

/// What there is to know of something: the same for the same content. All times are the one at which
/// functions start.
pub(crate) fn filestat(call: &mut Call<'_>, place: Place, out: u32) -> Result<(), Fail> {
    let tree = call.state.wasi.descriptors.tree(place);
    let size = match tree.node(place.node) {
        Node::Directory(_) => 0,
        Node::File(bytes) => bytes.len() as u64,
        Node::Link(target) => target.len() as u64,
    };
    let mut stat = [0; FILESTAT_BYTES];
    stat[..8].copy_from_slice(&(u64::from(place.grant) + 1).to_le_bytes());
    stat[8..16].copy_from_slice(&place.node.inode().to_le_bytes());
    stat[16] = filetype(tree, place.node);
    stat[24] = 1;
    stat[32..40].copy_from_slice(&size.to_le_bytes());
    for time in stat[40..].chunks_exact_mut(8) {
        time.copy_from_slice(&WALL_START.to_le_bytes());
    }
    Ok(call.memory.put(out, stat)?)
}

fn filetype(tree: &Tree, node: NodeId) -> u8 {
    match tree.node(node) {
        Node::Directory(_) => FILETYPE_DIRECTORY,
        Node::File(_) => FILETYPE_FILE,
        Node::Link(_) => FILETYPE_LINK,
    }
}

/// Entries from number `cookie` on, as many as fit; the last one may be cut, which tells programs that
/// there are more. The numbers: 0 is `.`, 1 is `..`, then the names in order.
fn fd_readdir(call: &mut Call<'_>, fd: u32, buffer: u32, length: u32, cookie: u64, out: u32) -> Result<(), Fail> {
    let Place { grant, node } = call.state.wasi.descriptors.granted(fd, Errno::NotDir)?.place;
    let tree = call.state.wasi.descriptors.tree(Place { grant, node });
    let Node::Directory(entries) = tree.node(node) else { return Err(Errno::NotDir.into()) };
    call.memory.read(buffer, length)?;
    call.memory.put_u32(out, 0)?;
    let mut used = 0;
    let mut next = cookie;
    while used < length {
        let (name, id): (&str, NodeId) = match next {
            0 => (".", node),
            1 => ("..", tree.parent(node)),
            _ => match usize::try_from(next - 2).ok().and_then(|index| entries.get(index)) {
                Some((name, id)) => (name, *id),
                None => break,
            },
        };
        next += 1;
        call.meter.pay(ENTRY_FUEL)?;
        call.meter.pay_bytes(name.len() as u64)?;
        let mut entry = [0; DIRENT_BYTES];
        entry[..8].copy_from_slice(&next.to_le_bytes());
        entry[8..16].copy_from_slice(&id.inode().to_le_bytes());
        entry[16..20].copy_from_slice(&(name.len() as u32).to_le_bytes());
        entry[20] = filetype(tree, id);
        for part in [&entry[..], name.as_bytes()] {
            let part = &part[..part.len().min((length - used) as usize)];
            call.memory.write(buffer + used, part.len() as u32)?.copy_from_slice(part);
            used += part.len() as u32;
        }
    }
    Ok(call.memory.put_u32(out, used)?)
}
