//! Several datagrams by one system call.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use socket2::{SockAddr, SockAddrStorage};

/// The most datagrams of one call.
pub(crate) const TOGETHER: usize = 16;

/// Sends datagrams that are stored end to end in `bytes`: the first starts at `start`, each ends at its entry in
/// `ends`, and each goes to its entry in `to`, which is empty on a connected socket. Returns how many the kernel
/// accepted: at least one, or the error of the first.
pub(crate) fn send(
    fd: BorrowedFd<'_>,
    bytes: &[u8],
    start: usize,
    ends: &[usize],
    to: &[SocketAddr],
) -> io::Result<usize> {
    // One datagram on a connected socket, the usual case of a device: send(2) is cheaper than sendmmsg(2).
    if let ([end], []) = (ends, to) {
        return super::send(fd, &bytes[start..*end]).map(|_| 1);
    }
    let mut parts = [EMPTY_PART; TOGETHER];
    let mut from = start;
    for (part, end) in parts.iter_mut().zip(ends) {
        let datagram = &bytes[from..*end];
        // The kernel only reads the bytes of an outgoing message.
        part.iov_base = datagram.as_ptr().cast_mut().cast();
        part.iov_len = datagram.len();
        from = *end;
    }
    let mut messages = messages(&mut parts);
    let mut names = [const { None }; TOGETHER];
    for ((message, name), peer) in messages.iter_mut().zip(&mut names).zip(to) {
        let name = name.insert(SockAddr::from(*peer));
        // The kernel only reads the address of an outgoing message.
        message.msg_hdr.msg_name = name.as_ptr().cast_mut().cast();
        message.msg_hdr.msg_namelen = name.len();
    }
    let count = ends.len().min(TOGETHER) as u32;
    // The C libraries do not agree on the type of flags.
    let flags = libc::MSG_NOSIGNAL as _;
    // SAFETY: each of the `count` messages points to one part, each part to bytes with their length, and each name to an
    // address with its length; all outlive the call.
    let sent = unsafe { libc::sendmmsg(fd.as_raw_fd(), messages.as_mut_ptr(), count, flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// A received datagram: its length, and its sender if requested.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrival {
    pub(crate) len: usize,
    pub(crate) from: Option<SocketAddr>,
}

/// Receives datagrams without waiting into equal slots of `room` bytes in `into`, and notes their lengths, and their
/// senders if `peers`. Returns how many there were.
pub(crate) fn receive(
    fd: BorrowedFd<'_>,
    into: &mut [u8],
    room: usize,
    peers: bool,
    arrivals: &mut [Arrival; TOGETHER],
) -> io::Result<usize> {
    let mut parts = [EMPTY_PART; TOGETHER];
    let places = into.chunks_exact_mut(room);
    let count = places.len().min(TOGETHER) as u32;
    for (part, place) in parts.iter_mut().zip(places) {
        part.iov_base = place.as_mut_ptr().cast();
        part.iov_len = place.len();
    }
    let mut messages = messages(&mut parts);
    let mut names = [const { None }; TOGETHER];
    if peers {
        for (message, name) in messages.iter_mut().zip(&mut names) {
            let name: &mut SockAddrStorage = name.insert(SockAddrStorage::zeroed());
            message.msg_hdr.msg_name = (&raw mut *name).cast();
            message.msg_hdr.msg_namelen = name.size_of();
        }
    }
    // SAFETY: each of the `count` messages points to one part, each part to a place of its own, and each name to room for any
    // address; all outlive the call.
    let received = unsafe {
        libc::recvmmsg(
            fd.as_raw_fd(),
            messages.as_mut_ptr(),
            count,
            libc::MSG_DONTWAIT as _, // of another type in musl
            std::ptr::null_mut(),
        )
    };
    let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    let filled = messages.iter().zip(&mut names).take(received);
    for (arrival, (message, name)) in arrivals.iter_mut().zip(filled) {
        // SAFETY: the kernel has written an address of this length into the name, or the name is all-zero, which is none.
        let address = name
            .take()
            .map(|name| unsafe { SockAddr::new(name, message.msg_hdr.msg_namelen) });
        *arrival = Arrival {
            len: message.msg_len as usize,
            from: address.and_then(|address| address.as_socket()),
        };
    }
    Ok(received)
}

const EMPTY_PART: libc::iovec = libc::iovec {
    iov_base: std::ptr::null_mut(),
    iov_len: 0,
};

/// A message for each part.
fn messages(parts: &mut [libc::iovec; TOGETHER]) -> [libc::mmsghdr; TOGETHER] {
    // SAFETY: all-zero is a valid mmsghdr: no address, no parts.
    let mut messages: [libc::mmsghdr; TOGETHER] = unsafe { mem::zeroed() };
    for (message, part) in messages.iter_mut().zip(parts) {
        message.msg_hdr.msg_iov = part;
        message.msg_hdr.msg_iovlen = 1;
    }
    messages
}
