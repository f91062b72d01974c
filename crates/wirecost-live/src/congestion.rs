//! Which congestion control TCP uses, where the machine's own choice is another.
//!
//! Outside the initial namespace a default may only be one of the algorithms that the machine allows to everyone
//! (net.ipv4.tcp_allowed_congestion_control), and on a machine that prefers `bbr`, `cubic` is not one of them.

use crate::sys;
use crate::sysctl;
use std::io;
use std::os::fd::BorrowedFd;

/// The setting that lists what the machine allows to everyone.
pub(crate) const ALLOWED: &str = "net.ipv4.tcp_allowed_congestion_control";

/// Allows an algorithm to everyone until it is dropped, so that new namespaces can take it as their default.
#[derive(Debug)]
pub(crate) struct Allowed {
    before: String,
}

impl Allowed {
    /// Allows `name` where the calling thread is root in the initial namespace; `None` where that is not needed or
    /// not possible.
    pub(crate) fn temporarily(name: &str) -> Option<Self> {
        let before = sysctl::read(ALLOWED).ok()?;
        if before.split(' ').any(|allowed| allowed == name) {
            return None;
        }
        sysctl::write(ALLOWED, &format!("{before} {name}")).ok()?;
        Some(Self { before })
    }

    /// Takes the permission back. The calling thread must be where it was when it gave it.
    pub(crate) fn restore(self) -> io::Result<()> {
        sysctl::write(ALLOWED, &self.before)
    }
}

/// Gives one TCP socket a congestion control, which root of its namespace may do whatever the machine allows.
///
/// # Errors
/// ENOENT where the kernel does not have it, EPERM without CAP_NET_ADMIN in the socket's namespace.
pub fn set_congestion_control(socket: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    sys::set_option_bytes(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())
}
