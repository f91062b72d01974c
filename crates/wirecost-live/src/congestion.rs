//! Which congestion control TCP uses, where the machine's own choice is another.
//!
//! Outside the initial namespace a default may only be one of the algorithms that the machine allows to everyone
//! (net.ipv4.tcp_allowed_congestion_control), and on a machine that prefers `bbr`, `cubic` is not one of them.

use crate::sys;
use crate::sysctl;
use socket2::{Domain, Protocol, Socket, Type};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

/// The setting that lists what the machine allows to everyone.
pub(crate) const ALLOWED: &str = "net.ipv4.tcp_allowed_congestion_control";

/// An algorithm allowed to everyone for a moment, so that new namespaces can take it as their default. Runs that
/// start together take turns: the file is locked until the permission is taken back.
#[derive(Debug)]
pub(crate) struct Allowed {
    file: File,
    before: String,
}

impl Allowed {
    /// Allows `name` where the calling thread is root in the initial namespace; `None` where that is not needed or
    /// not possible.
    pub(crate) fn temporarily(name: &str) -> Option<Self> {
        let mut file = File::options()
            .read(true)
            .write(true)
            .open(sysctl::path(ALLOWED))
            .ok()?;
        file.lock().ok()?;
        let mut before = String::new();
        file.read_to_string(&mut before).ok()?;
        if before.split_whitespace().any(|allowed| allowed == name) {
            return None;
        }
        file.write_all_at(format!("{} {name}", before.trim()).as_bytes(), 0)
            .ok()?;
        Some(Self { file, before })
    }

    /// Takes the permission back, from whichever namespace: the open file belongs to the initial one.
    pub(crate) fn restore(self) -> io::Result<()> {
        self.file.write_all_at(self.before.as_bytes(), 0)
    }
}

/// Whether sockets of the calling thread's namespace may choose this congestion control.
pub fn is_usable(name: &str) -> bool {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP));
    socket
        .and_then(|socket| set_congestion_control(socket.as_fd(), name))
        .is_ok()
}

/// Gives one TCP socket a congestion control, which root of its namespace may do whatever the machine allows.
///
/// # Errors
/// ENOENT where the kernel does not have it, EPERM without CAP_NET_ADMIN in the socket's namespace.
pub fn set_congestion_control(socket: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    sys::set_option_bytes(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())
}
