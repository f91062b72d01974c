//! The controlling terminal: its foreground group, and hidden input.

use super::check;
use super::process::set_mask;
use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use wirecost_files::system;

/// The controlling terminal, if there is one.
pub(crate) fn open() -> Option<File> {
    // Opening it again makes no terminal a controlling one: it already is (tty(4)).
    system::open(File::options().read(true).write(true), "/dev/tty").ok()
}

/// Whether this process group is in the foreground.
pub(crate) fn is_ours(terminal: BorrowedFd<'_>) -> bool {
    // SAFETY: takes no pointers.
    unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) == libc::getpgrp() }
}

/// Puts this process group into the foreground, even from the background.
pub(crate) fn take(terminal: BorrowedFd<'_>) -> io::Result<()> {
    const STOPS_BACKGROUND: [c_int; 1] = [libc::SIGTTOU];
    set_mask(libc::SIG_BLOCK, &STOPS_BACKGROUND)?;
    // SAFETY: takes no pointers.
    let taken = check(unsafe { libc::tcsetpgrp(terminal.as_raw_fd(), libc::getpgrp()) });
    set_mask(libc::SIG_UNBLOCK, &STOPS_BACKGROUND)?;
    taken.map(drop)
}

/// Turns echo and signal keys off, and ends a line with `end`, too. Returns the previous settings.
pub(crate) fn hide(terminal: BorrowedFd<'_>, end: u8) -> io::Result<libc::termios> {
    // SAFETY: all-zero is a valid termios, which the kernel then fills.
    let mut settings = unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        check(libc::tcgetattr(terminal.as_raw_fd(), &raw mut settings))?;
        settings
    };
    let before = settings;
    settings.c_lflag &= !(libc::ECHO | libc::ISIG);
    settings.c_cc[libc::VEOL] = end;
    restore(terminal, &settings)?;
    Ok(before)
}

/// Restores the terminal's settings. Discards unread input.
pub(crate) fn restore(terminal: BorrowedFd<'_>, settings: &libc::termios) -> io::Result<()> {
    // SAFETY: the kernel reads one termios.
    check(unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSAFLUSH, &raw const *settings) }).map(drop)
}
