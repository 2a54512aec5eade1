//! The calls that a function gets no use of: there, so that it links, and answering with an error.

use wasmtime::{Caller, FuncType, Linker, Val, ValType};

use super::abi::Errno;
use super::{MODULE, call};
use crate::sandbox::State;

const I: ValType = ValType::I32;
const L: ValType = ValType::I64;

/// Name, parameters, and what an open descriptor answers. All but `proc_raise` have a descriptor as
/// their first parameter; one that is not open answers `EBADF` everywhere.
const CALLS: [(&str, &[ValType], Errno); 28] = [
    ("fd_advise", &[I, L, L, I], Errno::SPipe),
    ("fd_allocate", &[I, L, L], Errno::SPipe),
    ("fd_fdstat_set_rights", &[I, L, L], Errno::NoSys),
    ("fd_filestat_set_size", &[I, L], Errno::Inval),
    ("fd_filestat_set_times", &[I, L, L, I], Errno::NoSys),
    ("fd_pread", &[I, I, I, L, I], Errno::SPipe),
    // No directory was opened beforehand; this answer ends a program's search for one.
    ("fd_prestat_dir_name", &[I, I, I], Errno::BadF),
    ("fd_prestat_get", &[I, I], Errno::BadF),
    ("fd_pwrite", &[I, I, I, L, I], Errno::SPipe),
    ("fd_readdir", &[I, I, I, L, I], Errno::NotDir),
    ("fd_renumber", &[I, I], Errno::NoSys),
    ("fd_seek", &[I, L, I, I], Errno::SPipe),
    ("fd_tell", &[I, I], Errno::SPipe),
    ("path_create_directory", &[I, I, I], Errno::NotDir),
    ("path_filestat_get", &[I, I, I, I, I], Errno::NotDir),
    ("path_filestat_set_times", &[I, I, I, I, L, L, I], Errno::NotDir),
    ("path_link", &[I, I, I, I, I, I, I], Errno::NotDir),
    ("path_open", &[I, I, I, I, I, L, L, I, I], Errno::NotDir),
    ("path_readlink", &[I, I, I, I, I, I], Errno::NotDir),
    ("path_remove_directory", &[I, I, I], Errno::NotDir),
    ("path_rename", &[I, I, I, I, I, I], Errno::NotDir),
    ("path_symlink", &[I, I, I, I, I], Errno::NotDir),
    ("path_unlink_file", &[I, I, I], Errno::NotDir),
    ("proc_raise", &[I], Errno::NoSys),
    ("sock_accept", &[I, I, I], Errno::NotSock),
    ("sock_recv", &[I, I, I, I, I, I], Errno::NotSock),
    ("sock_send", &[I, I, I, I, I], Errno::NotSock),
    ("sock_shutdown", &[I, I], Errno::NotSock),
];

pub(crate) fn add(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    for (name, parameters, answer) in &CALLS {
        let ty = FuncType::new(linker.engine(), parameters.iter().cloned(), [I]);
        // `path_symlink` alone has its descriptor in the third place.
        let fd = match *name {
            "proc_raise" => None,
            "path_symlink" => Some(2),
            _ => Some(0),
        };
        let answer = *answer;
        linker.func_new(MODULE, name, ty, move |mut guest: Caller<'_, State>, parameters, results| {
            let fd = fd.and_then(|index: usize| parameters.get(index)).and_then(Val::i32);
            let errno = call(&mut guest, |call| {
                if let Some(fd) = fd {
                    call.state.wasi.stream(fd.cast_unsigned())?;
                }
                Err(answer.into())
            })?;
            results[0] = Val::I32(errno);
            Ok(())
        })?;
    }
    Ok(())
}
