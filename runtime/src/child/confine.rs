//! What a child process gives up for good before it looks at anything that a stranger wrote: files, sockets, other programs.

/// What the system holds a child process to. Best effort: what this kernel has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Confinement {
    /// Only the system calls that computing, memory, threads and the pipes need are allowed (seccomp); no other programs,
    /// files, sockets or processes.
    pub system_calls: bool,
    /// No file can be opened, and no network port be used (Landlock).
    pub files: FileConfinement,
    /// Memory, processor time and open files are bounded (`setrlimit`).
    pub resources: bool,
}

/// How far Landlock goes on this kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FileConfinement {
    /// Not at all.
    #[default]
    None,
    /// An older kernel: some kinds of access are not covered.
    Partial,
    /// All kinds of access.
    Full,
}

impl std::fmt::Display for Confinement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = [
            (self.system_calls, "system calls (seccomp)"),
            (self.files == FileConfinement::Full, "files and network (Landlock)"),
            (self.files == FileConfinement::Partial, "files, in part (Landlock)"),
            (self.resources, "memory, time and open files (limits)"),
        ];
        let inside: Vec<&str> = words.iter().filter(|(is, _)| *is).map(|(_, words)| *words).collect();
        if inside.is_empty() { f.write_str("nothing") } else { f.write_str(&inside.join(", ")) }
    }
}

/// Gives up what this kernel lets a process give up. Called first in `main`, while there is one thread.
pub(crate) fn confine() -> Confinement {
    // Looked up in a file the first time, and remembered.
    rustix::param::page_size();
    let (files, system_calls) = system::confine();
    Confinement { system_calls, files, resources: false }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn confine() -> (super::FileConfinement, bool) {
        (super::FileConfinement::None, false)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeMap;

    use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetError, RulesetStatus, Scope};
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
        TargetArch,
    };

    use super::FileConfinement;

    pub(super) fn confine() -> (FileConfinement, bool) {
        // No other process of this user, a child for another tenant for example, may look into this one.
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
        let files = match files() {
            Ok(RulesetStatus::FullyEnforced) => FileConfinement::Full,
            Ok(RulesetStatus::PartiallyEnforced) => FileConfinement::Partial,
            Ok(RulesetStatus::NotEnforced) | Err(_) => FileConfinement::None,
        };
        (files, calls().is_ok())
    }

    /// Denies every access that the kernel knows: there is no rule that allows one.
    fn files() -> Result<RulesetStatus, RulesetError> {
        let abi = ABI::V6;
        let ruleset = Ruleset::default().handle_access(AccessFs::from_all(abi))?;
        let ruleset = ruleset.handle_access(AccessNet::from_all(abi))?.scope(Scope::from_all(abi))?;
        Ok(ruleset.create()?.restrict_self()?.ruleset)
    }

    /// Lets two filters stand before every system call. What is refused fails with an error, so that libraries that ask for
    /// more than they need go on without.
    fn calls() -> Result<(), Box<dyn std::error::Error>> {
        let arch: TargetArch = std::env::consts::ARCH.try_into()?;
        // The flags of `clone3` lie in memory, where no filter sees them. "No such call" makes libraries use `clone`.
        let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        let absent = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
        let clone3 = SeccompFilter::new(clone3, SeccompAction::Allow, absent, arch)?;
        let denied = SeccompAction::Errno(libc::EPERM.cast_unsigned());
        let allowed = SeccompFilter::new(allowed()?, denied, SeccompAction::Allow, arch)?;
        // Both stay in force; the second one lets nothing in between any more.
        for filter in [clone3, allowed] {
            let program: BpfProgram = filter.try_into()?;
            seccompiler::apply_filter(&program)?;
        }
        Ok(())
    }

    /// The calls that are left, some with conditions on their arguments.
    fn allowed() -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        for call in [
            // the pipes, and memory that looks like a file
            libc::SYS_read,
            libc::SYS_write,
            libc::SYS_readv,
            libc::SYS_writev,
            libc::SYS_pread64,
            libc::SYS_pwrite64,
            libc::SYS_lseek,
            libc::SYS_close,
            libc::SYS_ppoll,
            libc::SYS_memfd_create,
            libc::SYS_ftruncate,
            // memory
            libc::SYS_brk,
            libc::SYS_mmap,
            libc::SYS_munmap,
            libc::SYS_mremap,
            libc::SYS_mprotect,
            libc::SYS_madvise,
            libc::SYS_membarrier,
            // threads
            libc::SYS_clone3,
            libc::SYS_futex,
            libc::SYS_set_robust_list,
            libc::SYS_rseq,
            libc::SYS_sched_yield,
            libc::SYS_sched_getaffinity,
            libc::SYS_gettid,
            libc::SYS_getpid,
            libc::SYS_exit,
            libc::SYS_exit_group,
            libc::SYS_restart_syscall,
            // signals, by which traps of functions come in
            libc::SYS_rt_sigaction,
            libc::SYS_rt_sigprocmask,
            libc::SYS_rt_sigreturn,
            libc::SYS_sigaltstack,
            // clocks and random numbers
            libc::SYS_clock_gettime,
            libc::SYS_clock_getres,
            libc::SYS_clock_nanosleep,
            libc::SYS_nanosleep,
            libc::SYS_getrandom,
            // what asynchronous runtimes wait with
            libc::SYS_epoll_create1,
            libc::SYS_epoll_ctl,
            libc::SYS_epoll_pwait,
            libc::SYS_eventfd2,
        ] {
            rules.insert(call, Vec::new());
        }
        #[cfg(target_arch = "x86_64")]
        for call in [libc::SYS_poll, libc::SYS_epoll_wait, libc::SYS_gettimeofday, libc::SYS_time] {
            rules.insert(call, Vec::new());
        }
        let number = |value: i64| value.cast_unsigned();
        let condition = |argument: u8, length: SeccompCmpArgLen, operator: SeccompCmpOp, value: u64| {
            let condition = SeccompCondition::new(argument, length, operator, value)?;
            SeccompRule::new(vec![condition])
        };
        // The kernel reads 32 bits of an `int`, whatever else stands in its register.
        let int = |argument: u8, value: i32| {
            condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, number(value.into()) & 0xffff_ffff)
        };
        let long = |argument: u8, operator: SeccompCmpOp, value: u64| {
            condition(argument, SeccompCmpArgLen::Qword, operator, value)
        };
        // Threads, no processes.
        let thread = number(libc::CLONE_THREAD.into());
        rules.insert(libc::SYS_clone, vec![long(0, SeccompCmpOp::MaskedEq(thread), thread)?]);
        // Flags, copies and seals of descriptors; not who gets signals about them.
        let flags = [
            libc::F_GETFD,
            libc::F_SETFD,
            libc::F_GETFL,
            libc::F_SETFL,
            libc::F_DUPFD_CLOEXEC,
            libc::F_ADD_SEALS,
            libc::F_GET_SEALS,
        ];
        let flags: Result<Vec<SeccompRule>, _> = flags.iter().map(|command| int(1, *command)).collect();
        rules.insert(libc::SYS_fcntl, flags?);
        // Signals to itself.
        let own = rustix::process::getpid().as_raw_nonzero().get();
        for call in [libc::SYS_kill, libc::SYS_tgkill] {
            rules.insert(call, vec![int(0, own)?]);
        }
        // Reading its own limits, not setting anyone's.
        rules.insert(libc::SYS_prlimit64, vec![long(2, SeccompCmpOp::Eq, 0)?]);
        // The names of threads and mappings.
        let named = [libc::PR_SET_NAME, libc::PR_SET_VMA];
        let named: Result<Vec<SeccompRule>, _> = named.iter().map(|option| int(0, *option)).collect();
        rules.insert(libc::SYS_prctl, named?);
        Ok(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter and a ruleset hold for the thread that takes them on, and those that it starts: the other tests go on.
    #[cfg(target_os = "linux")]
    fn confined<T: Send>(attempt: impl FnOnce(Confinement) -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(|| attempt(confine())).join().unwrap())
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn files_sockets_and_programs_are_out_of_reach() {
        use std::io::ErrorKind::PermissionDenied;
        use std::net::{TcpListener, TcpStream, UdpSocket};
        use std::os::unix::net::{UnixListener, UnixStream};

        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().join("there");
        std::fs::write(&there, "secret").unwrap();
        let attempts = confined(|confinement| {
            assert!(confinement.system_calls, "{confinement}");
            let denied = |what: &str, result: std::io::Result<()>| {
                let kind = result.map_err(|error| error.kind());
                (what.to_owned(), kind)
            };
            [
                denied("read a file", std::fs::read(&there).map(drop)),
                denied("make a file", std::fs::write(dir.path().join("new"), "x")),
                denied("remove a file", std::fs::remove_file(&there)),
                denied("make a link", std::os::unix::fs::symlink("a", dir.path().join("b"))),
                denied("list a directory", std::fs::read_dir(dir.path()).map(drop)),
                denied("read a device", std::fs::read("/dev/null").map(drop)),
                denied("read a process", std::fs::read("/proc/self/maps").map(drop)),
                denied("listen", TcpListener::bind("127.0.0.1:0").map(drop)),
                denied("connect", TcpStream::connect("127.0.0.1:9").map(drop)),
                denied("send", UdpSocket::bind("127.0.0.1:0").map(drop)),
                denied("make a pair of sockets", UnixStream::pair().map(drop)),
                denied("listen on a file", UnixListener::bind(dir.path().join("socket")).map(drop)),
                denied("start a program", std::process::Command::new("/bin/true").status().map(drop)),
                denied(
                    "signal another process",
                    rustix::process::kill_process(rustix::process::getppid().unwrap(), rustix::process::Signal::CONT)
                        .map_err(Into::into),
                ),
                denied(
                    "raise its limits",
                    rustix::process::setrlimit(
                        rustix::process::Resource::Core,
                        rustix::process::Rlimit { current: Some(0), maximum: None },
                    )
                    .map_err(Into::into),
                ),
            ]
        });
        for (what, result) in attempts {
            assert_eq!(result, Err(PermissionDenied), "{what}");
        }
        // The others still can.
        assert_eq!(std::fs::read(&there).unwrap(), b"secret");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn computing_memory_and_threads_are_left() {
        let sum = confined(|_| {
            let numbers = std::thread::spawn(|| (0..1_000_000_u64).collect::<Vec<_>>()).join().unwrap();
            numbers.iter().sum::<u64>() + u64::from(std::time::Instant::now().elapsed().as_secs() > 1_000_000)
        });
        assert_eq!(sum, 499_999_500_000);
    }

    #[test]
    fn what_is_in_force_is_said() {
        assert_eq!(Confinement::default().to_string(), "nothing");
        let all = Confinement { system_calls: true, files: FileConfinement::Full, resources: true };
        let words = "system calls (seccomp), files and network (Landlock), memory, time and open files (limits)";
        assert_eq!(all.to_string(), words);
    }
}
