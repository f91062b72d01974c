//! Sets the congestion control of TCP if the machine's default is another one.
//!
//! Outside the initial namespace, the default may only be one of the algorithms that the machine allows to everyone
//! (net.ipv4.tcp_allowed_congestion_control). On a machine that prefers `bbr`, `cubic` is not one of them.

use crate::error::EnvironmentError;
use crate::sys;
use crate::sysctl;
use socket2::{Domain, Protocol, Socket, Type};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use wirecost_files::system;
use wirecost_proto::Congestion;

/// The setting that lists the algorithms allowed to everyone.
pub(crate) const ALLOWED: &str = "net.ipv4.tcp_allowed_congestion_control";

/// The setting that lists the algorithms of the machine.
const AVAILABLE: &str = "net.ipv4.tcp_available_congestion_control";

/// Whether the kernel has an algorithm, be it in a module that is not loaded yet.
///
/// # Errors
/// [`EnvironmentError::NoCongestionControl`] if it has not. One that only root may choose is there.
pub(crate) fn check(asked: Congestion) -> Result<(), EnvironmentError> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP));
    let chosen = socket.and_then(|socket| set_congestion_control(socket.as_fd(), asked.name()));
    match chosen {
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
            Err(EnvironmentError::NoCongestionControl {
                asked,
                available: sysctl::read(AVAILABLE).unwrap_or_default(),
            })
        }
        // Another refusal concerns all of TCP, or this namespace, and is met where sockets are made.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// An algorithm that is allowed to everyone for a moment, so that new namespaces can take it as their default.
/// Concurrent runs take turns: the file stays locked until the setting is restored.
#[derive(Debug)]
pub(crate) struct Allowed {
    file: File,
    before: String,
}

impl Allowed {
    /// Allows `name` if the calling thread is root in the initial namespace; `None` if that is unnecessary or
    /// impossible.
    pub(crate) fn temporarily(name: &str) -> Option<Self> {
        let mut file = system::open(File::options().read(true).write(true), sysctl::path(ALLOWED)).ok()?;
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

    /// Restores the setting, from any namespace: the open file belongs to the initial one.
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

/// Sets the congestion control of one TCP socket. Root of its namespace may choose any algorithm of the machine.
///
/// # Errors
/// ENOENT if the kernel lacks it, EPERM without CAP_NET_ADMIN in the socket's namespace.
pub fn set_congestion_control(socket: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    sys::set_option_bytes(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())
}
