//! Keeps the signals of the program away from the threads of the engine.
//!
//! The program's handlers may belong to a runtime that knows its own threads only (Go's does), so none is to run on a
//! thread that it did not make. Signals that tell of a fault of the very thread stay: wasmtime's handler needs them.
//! `SIGXCPU` stays too, as children inherit the mask and are bounded by it.
#![expect(
    unsafe_code,
    reason = "masks of signals have no safe interface here; the contract is that of the system calls"
)]

use std::mem::MaybeUninit;

/// What is never blocked.
const KEPT: [libc::c_int; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGABRT,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGXCPU,
];

/// Runs this with all other signals blocked: threads that it starts inherit that.
pub(crate) fn blocked<T>(then: impl FnOnce() -> T) -> T {
    let _guard = Guard::block();
    then()
}

/// Puts the mask back.
struct Guard(Option<libc::sigset_t>);

impl Guard {
    fn block() -> Guard {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `sigfillset` initialises the set; the others get valid sets and numbers of signals that exist.
        // `pthread_sigmask` concerns this thread alone, and initialises `before` when it answers 0.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            for signal in KEPT {
                libc::sigdelset(set.as_mut_ptr(), signal);
            }
            let failed = libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            Guard((failed == 0).then(|| before.assume_init()))
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: the set is the one that the system gave.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_blocked(signal: libc::c_int) -> bool {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: asks for the mask, which initialises the set.
        unsafe {
            assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), set.as_mut_ptr()), 0);
            libc::sigismember(set.as_ptr(), signal) == 1
        }
    }

    #[test]
    fn threads_inherit_the_mask_and_their_maker_gets_its_own_back() {
        let thread = blocked(|| {
            std::thread::spawn(|| (is_blocked(libc::SIGTERM), is_blocked(libc::SIGPROF), is_blocked(libc::SIGSEGV)))
        });
        assert_eq!(thread.join().unwrap(), (true, true, false));
        assert!(!is_blocked(libc::SIGTERM));
    }
}
