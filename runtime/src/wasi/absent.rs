//! The calls that a function gets no use of: there, so that it links, and answering with an error. Among
//! them all that would change a file.

use wasmtime::{Caller, FuncType, Linker, Val, ValType};

use super::abi::Errno;
use super::descriptors::Descriptor;
use super::{MODULE, call};
use crate::sandbox::State;

const I: ValType = ValType::I32;
const L: ValType = ValType::I64;

/// Name, parameters, and what an open descriptor answers: a stream, and something of a granted directory.
/// All but `proc_raise` have a descriptor as their first parameter; one that is not open answers `EBADF`
/// everywhere.
const CALLS: [(&str, &[ValType], Errno, Errno); 17] = [
    ("fd_allocate", &[I, L, L], Errno::SPipe, Errno::NotCapable),
    ("fd_fdstat_set_rights", &[I, L, L], Errno::NoSys, Errno::NoSys),
    ("fd_filestat_set_size", &[I, L], Errno::Inval, Errno::NotCapable),
    ("fd_filestat_set_times", &[I, L, L, I], Errno::NoSys, Errno::RoFs),
    ("fd_pwrite", &[I, I, I, L, I], Errno::SPipe, Errno::NotCapable),
    ("path_create_directory", &[I, I, I], Errno::NotDir, Errno::RoFs),
    ("path_filestat_set_times", &[I, I, I, I, L, L, I], Errno::NotDir, Errno::RoFs),
    ("path_link", &[I, I, I, I, I, I, I], Errno::NotDir, Errno::RoFs),
    ("path_remove_directory", &[I, I, I], Errno::NotDir, Errno::RoFs),
    ("path_rename", &[I, I, I, I, I, I], Errno::NotDir, Errno::RoFs),
    ("path_symlink", &[I, I, I, I, I], Errno::NotDir, Errno::RoFs),
    ("path_unlink_file", &[I, I, I], Errno::NotDir, Errno::RoFs),
    ("proc_raise", &[I], Errno::NoSys, Errno::NoSys),
    ("sock_accept", &[I, I, I], Errno::NotSock, Errno::NotSock),
    ("sock_recv", &[I, I, I, I, I, I], Errno::NotSock, Errno::NotSock),
    ("sock_send", &[I, I, I, I, I], Errno::NotSock, Errno::NotSock),
    ("sock_shutdown", &[I, I], Errno::NotSock, Errno::NotSock),
];

pub(crate) fn add(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    for (name, parameters, of_streams, of_granted) in &CALLS {
        let ty = FuncType::new(linker.engine(), parameters.iter().cloned(), [I]);
        // `path_symlink` alone has its descriptor in the third place.
        let fd = match *name {
            "proc_raise" => None,
            "path_symlink" => Some(2),
            _ => Some(0),
        };
        let (of_streams, of_granted) = (*of_streams, *of_granted);
        linker.func_new(MODULE, name, ty, move |mut guest: Caller<'_, State>, parameters, results| {
            let fd = fd.and_then(|index: usize| parameters.get(index)).and_then(Val::i32);
            let errno = call(&mut guest, |call| {
                let Some(fd) = fd else { return Err(of_streams.into()) };
                match call.state.wasi.descriptors.get(fd.cast_unsigned())? {
                    Descriptor::Stream(_) => Err(of_streams.into()),
                    Descriptor::Granted(_) => Err(of_granted.into()),
                }
            })?;
            results[0] = Val::I32(errno);
            Ok(())
        })?;
    }
    Ok(())
}
