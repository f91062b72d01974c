//! The first process of a PID namespace (pid_namespaces(7)), and programs started in that namespace.

use super::process::{kill, pipe, reset_signals, unblock_signals, wait};
use super::{check, owned};
use std::ffi::{CStr, CString, c_int, c_long};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// A first process: it only waits for this process to end, and everything in its namespace ends with it. Dropping it
/// kills it. It has not ended before every process in its namespace has been waited for.
#[derive(Debug)]
pub(crate) struct Init {
    pub(crate) pid: libc::pid_t,
    pub(crate) pidfd: OwnedFd,
    /// Closed when this process ends, for whatever reason. The first process sees the end of file.
    _lifeline: OwnedFd,
}

impl Drop for Init {
    fn drop(&mut self) {
        if kill(self.pid, libc::SIGKILL).is_ok() {
            // There is no caller to report to.
            let _ = wait(self.pid, true);
        }
    }
}

/// Starts the first process of a new PID namespace. It keeps the current user, so that a program that changes its user
/// cannot prevent its end: a change of user clears the parent-death signal (prctl(2)), which also belongs to a thread.
pub(crate) fn start() -> io::Result<Init> {
    const NONE: c_long = 0;
    let (life, lifeline) = pipe()?;
    let mut pidfd: c_int = -1;
    let flags = c_long::from(libc::CLONE_NEWPID | libc::CLONE_PIDFD | libc::SIGCHLD);
    // SAFETY: without CLONE_VM this is a fork: stack 0 keeps the caller's, and the pidfd goes into `pidfd`.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, NONE, &raw mut pidfd, NONE, NONE) };
    if pid == 0 {
        // SAFETY: this is the child, which only makes system calls.
        unsafe { live_until_the_end_of(life.as_raw_fd(), lifeline.as_raw_fd()) }
    }
    Ok(Init {
        pid: check(pid as c_int)?,
        pidfd: owned(pidfd)?,
        _lifeline: lifeline,
    })
}

/// # Safety
/// Only in a child just cloned. Allocates nothing and takes no lock: other threads may have held both.
unsafe fn live_until_the_end_of(life: RawFd, lifeline: RawFd) -> ! {
    let mut byte = 0u8;
    // SAFETY: system calls on descriptors and strings that the parent prepared.
    unsafe {
        // The terminal belongs to the program.
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"wirecost-init".as_ptr());
        reset_signals();
        // The exit codes of adopted orphans do not matter (wait(2)).
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        libc::dup2(life, 0);
        libc::close(lifeline);
        close_from(1, 0);
        while libc::read(0, (&raw mut byte).cast(), 1) < 0 && *libc::__errno_location() == libc::EINTR {}
        libc::_exit(0)
    }
}

/// Closes every descriptor from `first` on, as `how` says (`close_range(2)`).
///
/// # Safety
/// Only in a child just cloned, whose descriptors no other process uses.
unsafe fn close_from(first: c_int, how: u32) {
    let (first, last, how) = (c_long::from(first), c_long::from(u32::MAX), c_long::from(how));
    // SAFETY: takes no pointers.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, how) };
}

/// What a program inherits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slate {
    /// Its own session, default signal actions, and only the standard descriptors.
    Clean,
    /// The terminal, the ignored signals and the descriptors of this process.
    Ours,
}

/// What the process of a server does before it is the server: it sees its folder, shares no memory, and becomes another user. All texts are made before
/// the fork.
#[derive(Debug)]
pub(crate) struct Become {
    /// A folder, and where the process sees it.
    folder: Option<[CString; 2]>,
    /// What the process sees in the place of /etc/passwd.
    accounts: Option<CString>,
    /// The working folder.
    home: CString,
    /// Its user and group, without groups beside them.
    number: Option<u32>,
    /// The lines of `uid_map` and `gid_map` of its own user namespace.
    maps: Option<[String; 2]>,
}

impl Become {
    /// # Errors
    /// A path has a zero byte.
    pub(crate) fn new(
        folder: Option<[&Path; 2]>,
        accounts: Option<&Path>,
        home: &Path,
        number: Option<u32>,
        maps: Option<[String; 2]>,
    ) -> io::Result<Self> {
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from);
        let folder = folder.map(|[from, to]| Ok::<_, io::Error>([text(from)?, text(to)?]));
        Ok(Self {
            folder: folder.transpose()?,
            accounts: accounts.map(text).transpose()?,
            home: text(home)?,
            number,
            maps,
        })
    }

    /// # Safety
    /// Only in a child just cloned. `is_apart` says that mounts of this process appear nowhere else.
    unsafe fn carry_out(&self, is_apart: bool) -> io::Result<()> {
        const OWNERS_ONLY: libc::mode_t = 0o077;
        const ON: libc::c_ulong = 1;
        const NONE: libc::c_ulong = 0;
        // SAFETY: the strings end with zero and outlive the calls; a list of no groups may be null.
        unsafe {
            if let Some([from, to]) = &self.folder {
                if !is_apart {
                    return Err(io::Error::from_raw_os_error(libc::EPERM));
                }
                bind(from, to)?;
            }
            if let (Some(accounts), true) = (&self.accounts, is_apart) {
                // Only programs that look up their own name miss it.
                let _ = bind(accounts, c"/etc/passwd");
            }
            // Shared memory (sysvipc(7)) goes with the last process.
            check(libc::unshare(libc::CLONE_NEWIPC))?;
            // As long as this process may still search the folders above.
            check(libc::chdir(self.home.as_ptr()))?;
            libc::umask(OWNERS_ONLY);
            if let Some(number) = self.number {
                // Groups first, then the group, then the user: after `setresuid` the process may change neither (setuid(2)).
                check(libc::setgroups(0, std::ptr::null()))?;
                check(libc::setresgid(number, number, number))?;
                check(libc::setresuid(number, number, number))?;
            }
            if let Some([users, groups]) = &self.maps {
                check(libc::unshare(libc::CLONE_NEWUSER))?;
                // An ordinary user may write `gid_map` only after that (user_namespaces(7)).
                write_to(c"/proc/self/setgroups", "deny")?;
                write_to(c"/proc/self/uid_map", users)?;
                write_to(c"/proc/self/gid_map", groups)?;
            }
            // No program with other rights than its caller's gives them to the server.
            check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, ON, NONE, NONE, NONE)).map(drop)
        }
    }
}

/// # Safety
/// Only in a child just cloned, whose mounts appear nowhere else.
unsafe fn bind(from: &CStr, to: &CStr) -> io::Result<()> {
    let (from, to, nothing) = (from.as_ptr(), to.as_ptr(), std::ptr::null());
    // SAFETY: the strings end with zero, and null is allowed where it stands (mount(2)).
    check(unsafe { libc::mount(from, to, nothing, libc::MS_BIND, nothing.cast()) }).map(drop)
}

/// # Safety
/// Only in a child just cloned.
unsafe fn write_to(path: &CStr, text: &str) -> io::Result<()> {
    // SAFETY: the path ends with zero; pointer and length describe `text`.
    unsafe {
        let file = check(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC))?;
        let written = libc::write(file, text.as_ptr().cast(), text.len());
        let failure = io::Error::last_os_error();
        libc::close(file);
        match usize::try_from(written) == Ok(text.len()) {
            true => Ok(()),
            false => Err(failure),
        }
    }
}

/// Makes `command`, which is about to start in its own PID namespace, see that namespace's processes in /proc, if the
/// machine allows it, and be what `becoming` says.
pub(crate) fn prepare(command: &mut Command, slate: Slate, becoming: Option<Become>) {
    let before_exec = move || {
        // SAFETY: this is the child before exec, which makes system calls only.
        unsafe {
            match slate {
                Slate::Clean => {
                    libc::setsid();
                    reset_signals();
                    // The server must not hold sockets and pipes of this process open.
                    close_from(3, libc::CLOSE_RANGE_CLOEXEC);
                }
                Slate::Ours => unblock_signals(),
            }
            let is_apart = mount_proc();
            becoming
                .as_ref()
                .map_or(Ok(()), |becoming| becoming.carry_out(is_apart))
        }
    };
    // SAFETY: the closure allocates nothing and takes no lock.
    unsafe { command.pre_exec(before_exec) };
}

/// Returns whether later mounts of this process appear nowhere else.
///
/// # Safety
/// Only in a child just cloned.
unsafe fn mount_proc() -> bool {
    const NOTHING: *const libc::c_char = std::ptr::null();
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: the strings end with zero, and null is allowed where it stands (mount(2)).
    unsafe {
        // Later mounts outside appear here, but mounts made here do not appear outside.
        let is_apart = libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                NOTHING,
                c"/".as_ptr(),
                NOTHING,
                libc::MS_REC | libc::MS_SLAVE,
                std::ptr::null(),
            ) == 0;
        if is_apart {
            let proc = c"proc".as_ptr();
            libc::mount(proc, c"/proc".as_ptr(), proc, flags, std::ptr::null());
        }
        is_apart
    }
}

/// Makes later children of the calling thread start in the PID namespace of the process behind `pidfd`.
pub(crate) fn start_children_in(pidfd: BorrowedFd<'_>) -> io::Result<()> {
    super::setns(pidfd, libc::CLONE_NEWPID)
}

/// A descriptor that becomes readable when the child `pid`, which has not been waited for, ends (`pidfd_open(2)`).
pub(crate) fn pidfd_of(pid: libc::pid_t) -> io::Result<OwnedFd> {
    const NO_FLAGS: c_long = 0;
    // SAFETY: takes no pointers; the kernel returns a descriptor closed on exec.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_open, c_long::from(pid), NO_FLAGS) } as c_int)
}
