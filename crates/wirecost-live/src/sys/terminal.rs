//! The controlling terminal: whose it is, and what is typed on it unseen.

use super::check;
use super::process::set_mask;
use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The controlling terminal, if there is one.
pub(crate) fn open() -> Option<File> {
    // Opening it anew makes no terminal a controlling one: it is that already (tty(4)).
    File::options().read(true).write(true).open("/dev/tty").ok()
}

/// Whether our process group is the one in the foreground.
pub(crate) fn is_ours(terminal: BorrowedFd<'_>) -> bool {
    // SAFETY: takes no pointers.
    unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) == libc::getpgrp() }
}

/// Puts our process group into the foreground, from the background too.
pub(crate) fn take(terminal: BorrowedFd<'_>) -> io::Result<()> {
    const STOPS_BACKGROUND: [c_int; 1] = [libc::SIGTTOU];
    set_mask(libc::SIG_BLOCK, &STOPS_BACKGROUND)?;
    // SAFETY: takes no pointers.
    let taken = check(unsafe { libc::tcsetpgrp(terminal.as_raw_fd(), libc::getpgrp()) });
    set_mask(libc::SIG_UNBLOCK, &STOPS_BACKGROUND)?;
    taken.map(drop)
}

/// Turns the terminal's echo of what is typed off or on; newlines are shown all the same. Returns whether it was on.
pub(crate) fn set_echo(terminal: BorrowedFd<'_>, on: bool) -> io::Result<bool> {
    // SAFETY: all-zero is a valid termios, which the kernel then fills, and reads back.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        check(libc::tcgetattr(terminal.as_raw_fd(), &raw mut settings))?;
        let was_on = settings.c_lflag & libc::ECHO != 0;
        match on {
            true => settings.c_lflag |= libc::ECHO,
            false => settings.c_lflag = settings.c_lflag & !libc::ECHO | libc::ECHONL,
        }
        check(libc::tcsetattr(terminal.as_raw_fd(), libc::TCSAFLUSH, &raw const settings))?;
        Ok(was_on)
    }
}
