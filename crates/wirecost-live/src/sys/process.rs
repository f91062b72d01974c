//! Processes: waiting, signals, parent-death signals; and functions that run in a forked child.

use super::{check, owned};
use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::Duration;

/// A pipe, closed on exec: read end, write end.
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [-1; 2];
    // SAFETY: the kernel writes two descriptors into `ends`.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    Ok((owned(ends[0])?, owned(ends[1])?))
}

/// # Safety
/// Only in a child just cloned.
pub(super) unsafe fn reset_signals() {
    const LAST_SIGNAL: c_int = 64;
    // SAFETY: the default action needs no handler.
    unsafe {
        for signal in 1..=LAST_SIGNAL {
            libc::signal(signal, libc::SIG_DFL);
        }
        unblock_signals();
    }
}

/// # Safety
/// Only in a child just cloned.
pub(super) unsafe fn unblock_signals() {
    // SAFETY: an all-zero set is the empty one.
    unsafe {
        let none: libc::sigset_t = std::mem::zeroed();
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// The wait status of the child `pid` if it has ended. With `block`, waits for its end.
pub(crate) fn wait(pid: libc::pid_t, block: bool) -> io::Result<Option<c_int>> {
    let mut status = 0;
    let options = if block { 0 } else { libc::WNOHANG };
    loop {
        // SAFETY: the kernel writes one integer.
        match check(unsafe { libc::waitpid(pid, &raw mut status, options) }) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(status)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Sends a signal to a child that has not been waited for.
pub(crate) fn kill(pid: libc::pid_t, signal: c_int) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// Whether `fd` becomes readable within `milliseconds`.
pub(crate) fn is_readable(fd: BorrowedFd<'_>, milliseconds: c_int) -> io::Result<bool> {
    let mut descriptor = libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: the pointer and count describe one pollfd.
    match check(unsafe { libc::poll(&raw mut descriptor, 1, milliseconds) }) {
        Ok(count) => Ok(count > 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

/// CPU time of a process in nanoseconds: all its threads, including those that have ended.
pub(crate) fn cpu_nanos(pid: libc::pid_t) -> io::Result<u64> {
    let mut clock = 0;
    // SAFETY: libc writes one clock id.
    let result = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    if result != 0 {
        return Err(io::Error::from_raw_os_error(result));
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec.
    check(unsafe { libc::clock_gettime(clock, &raw mut time) })?;
    Ok(super::time::nanos(time))
}

/// CPU time of this process in user mode and in the kernel: all its threads, including those that have ended.
pub(crate) fn own_cpu_times() -> io::Result<[Duration; 2]> {
    cpu_times(libc::RUSAGE_SELF)
}

/// The same of the children that this process has waited for, with those that they waited for.
pub(crate) fn cpu_times_of_children() -> io::Result<[Duration; 2]> {
    cpu_times(libc::RUSAGE_CHILDREN)
}

fn cpu_times(who: c_int) -> io::Result<[Duration; 2]> {
    // SAFETY: all-zero is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one rusage.
    check(unsafe { libc::getrusage(who, &raw mut usage) })?;
    let duration =
        |time: libc::timeval| Duration::new(time.tv_sec as u64, (time.tv_usec as u32).saturating_mul(1_000));
    Ok([duration(usage.ru_utime), duration(usage.ru_stime)])
}

/// The bytes that `work` returns when it runs in a forked child, which may change its own namespaces. Call it before
/// any thread starts: the child inherits locks, but not the threads that hold them.
pub(crate) fn in_child(work: impl FnOnce() -> Vec<u8>) -> io::Result<Vec<u8>> {
    let (answer, mut question) = pipe().map(|(read, write)| (read, File::from(write)))?;
    // SAFETY: the child runs `work` and leaves by `_exit`, so nothing of the parent is run or flushed twice.
    let pid = check(unsafe { libc::fork() })?;
    if pid == 0 {
        let bytes = catch_unwind(AssertUnwindSafe(work)).unwrap_or_default();
        let written = question.write_all(&bytes).is_ok();
        // SAFETY: ends the child.
        unsafe { libc::_exit(c_int::from(!written)) }
    }
    drop(question);
    let mut bytes = Vec::new();
    File::from(answer).read_to_end(&mut bytes)?;
    wait(pid, true)?;
    Ok(bytes)
}

/// Puts the calling thread, but not its later threads, under SCHED_FIFO.
pub(crate) fn set_real_time(priority: c_int) -> io::Result<()> {
    const THIS_THREAD: libc::pid_t = 0;
    // SAFETY: all-zero is a valid sched_param, and the kernel reads one.
    check(unsafe {
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = priority;
        let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
        libc::sched_setscheduler(THIS_THREAD, policy, &raw const parameters)
    })
    .map(drop)
}

/// Restricts the calling thread and its later threads to the first CPU that it may use.
pub(crate) fn run_on_first_cpu() -> io::Result<()> {
    const THIS_THREAD: libc::pid_t = 0;
    const SET_BYTES: usize = size_of::<libc::cpu_set_t>();
    // SAFETY: all-zero is a valid, empty set; the kernel writes one set; the macro stays within it.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        check(libc::sched_getaffinity(THIS_THREAD, SET_BYTES, &raw mut allowed))?;
        let first = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &allowed));
        run_on_cpu(first.unwrap_or(0))
    }
}

/// Restricts the calling thread and its later threads to this CPU.
pub(crate) fn run_on_cpu(cpu: usize) -> io::Result<()> {
    const THIS_THREAD: libc::pid_t = 0;
    const SET_BYTES: usize = size_of::<libc::cpu_set_t>();
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: all-zero is a valid, empty set; the kernel reads one; the macro stays within it.
    unsafe {
        let mut only: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut only);
        check(libc::sched_setaffinity(THIS_THREAD, SET_BYTES, &raw const only)).map(drop)
    }
}

/// Sets the niceness of the calling thread alone: Linux keeps one per thread (setpriority(2)).
pub(crate) fn set_niceness(niceness: c_int) -> io::Result<()> {
    const THIS_THREAD: libc::id_t = 0;
    // SAFETY: takes no pointers.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, THIS_THREAD, niceness) }).map(drop)
}

/// Soft and hard limit of open files.
pub(crate) fn open_file_limit() -> io::Result<(u64, u64)> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel writes one rlimit.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    Ok((limit.rlim_cur, limit.rlim_max))
}

/// Sets the soft limit of open files.
pub(crate) fn set_open_file_limit(soft: u64, hard: u64) -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: soft,
        rlim_max: hard,
    };
    // SAFETY: the kernel reads one rlimit.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }).map(drop)
}

/// Name, release and machine of the running kernel.
pub(crate) fn kernel() -> io::Result<[String; 3]> {
    // SAFETY: all-zero is a valid utsname, which the kernel then fills with C strings.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one utsname.
    check(unsafe { libc::uname(&raw mut names) })?;
    Ok([text(&names.sysname), text(&names.release), text(&names.machine)])
}

fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field.iter().map(|byte| *byte as u8).collect();
    CStr::from_bytes_until_nul(&bytes)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Calls `handler` for each of `signals`. The handler may only make system calls and access atomics.
pub(crate) fn on_signals(signals: &[c_int], handler: extern "C" fn(c_int)) -> io::Result<()> {
    for signal in signals {
        // SAFETY: all-zero is a valid sigaction: no flags, empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the kernel reads one sigaction; the handler lives as long as the program.
        check(unsafe { libc::sigaction(*signal, &raw const action, std::ptr::null_mut()) })?;
    }
    Ok(())
}

/// Makes this process the parent of its descendants' orphans.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    const ON: libc::c_ulong = 1;
    // SAFETY: takes no pointers.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, ON) }).map(drop)
}

/// Makes the kernel kill this process when nobody holds the other end of the pipe `fd` any more, which is for reading and has
/// this inode. Returns false, and does nothing, if `fd` is no such pipe.
pub(crate) fn end_with_pipe(fd: RawFd, inode: u64) -> io::Result<bool> {
    // SAFETY: all zeros are a value of the structure, and the kernel fills it.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call.
    let is_open = unsafe { libc::fstat(fd, &raw mut status) } == 0;
    // The variable may be inherited by a process in which this number is another file.
    if !is_open || status.st_mode & libc::S_IFMT != libc::S_IFIFO || status.st_ino != inode {
        return Ok(false);
    }
    // SAFETY: the commands take integers.
    unsafe {
        // Processes that this one starts have parents of their own.
        check(libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC))?;
        check(libc::fcntl(fd, libc::F_SETOWN, libc::getpid()))?;
        check(libc::fcntl(fd, F_SETSIG, libc::SIGKILL))?;
        let flags = check(libc::fcntl(fd, libc::F_GETFL))?;
        check(libc::fcntl(fd, libc::F_SETFL, flags | libc::O_ASYNC))?;
    }
    // The other end may have been closed before.
    let mut ready = libc::pollfd {
        fd,
        events: 0,
        revents: 0,
    };
    // SAFETY: one structure, which outlives the call.
    check(unsafe { libc::poll(&raw mut ready, 1, 0) })?;
    if ready.revents & libc::POLLHUP != 0 {
        return Err(io::Error::other("the process that started it has ended"));
    }
    Ok(true)
}

/// Sets the signal that tells of a descriptor with `O_ASYNC` (fcntl(2)).
const F_SETSIG: c_int = 10;

/// Makes the kernel kill the child of `command` when the thread that starts it ends, and unblocks the signals that this
/// thread has blocked.
pub(crate) fn tie_to_thread(command: &mut Command) {
    let before_exec = || {
        // SAFETY: this is the child before exec, which makes system calls only.
        unsafe {
            unblock_signals();
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)).map(drop)
        }
    };
    // SAFETY: the closure allocates nothing and takes no lock.
    unsafe { command.pre_exec(before_exec) };
}

/// A descriptor for reading signals, which are blocked in the calling thread and its later threads.
pub(crate) fn signals(of: &[c_int]) -> io::Result<OwnedFd> {
    let set = set_mask(libc::SIG_BLOCK, of)?;
    // SAFETY: the kernel reads the set.
    owned(unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })
}

/// Unblocks signals in the calling thread.
pub(crate) fn let_through(signals: &[c_int]) -> io::Result<()> {
    set_mask(libc::SIG_UNBLOCK, signals).map(drop)
}

/// Changes the calling thread's mask by a set of signals, and returns the set.
pub(super) fn set_mask(how: c_int, signals: &[c_int]) -> io::Result<libc::sigset_t> {
    // SAFETY: all-zero is the empty set; the calls write and read this one.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        check(libc::sigprocmask(how, &raw const set, std::ptr::null_mut()))?;
        Ok(set)
    }
}

/// The next waiting signal at a descriptor of [`signals`]: its number, and whether the kernel sent it.
pub(crate) fn next_signal(fd: BorrowedFd<'_>) -> io::Result<Option<(c_int, bool)>> {
    // SAFETY: all-zero is a valid signalfd_siginfo.
    let mut signal: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
    let bytes = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the pointer and length describe `signal`.
    let read = unsafe { libc::read(fd.as_raw_fd(), (&raw mut signal).cast(), bytes) };
    match read {
        0.. => Ok(Some((
            signal.ssi_signo as c_int,
            signal.ssi_code == libc::SI_KERNEL,
        ))),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            error => Err(error),
        },
    }
}

/// A descriptor that is readable from the first write on.
pub(crate) fn event() -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers.
    owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })
}

/// Makes an event descriptor readable. Safe to call from a signal handler.
pub(crate) fn raise_event(fd: RawFd) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: the pointer and length describe `one`.
    unsafe { libc::write(fd, one.as_ptr().cast(), one.len()) };
}

/// Ends the process at once, without destructors. Safe to call from a signal handler.
pub(crate) fn exit_now(code: c_int) -> ! {
    // SAFETY: never returns.
    unsafe { libc::_exit(code) }
}
