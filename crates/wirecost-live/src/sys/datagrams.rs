//! Several datagrams by one system call.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Datagrams that one call takes or gives.
pub(crate) const TOGETHER: usize = 16;

/// Sends datagrams that lie end to end in `bytes` on a connected socket: the first starts at `start`, each ends where
/// `ends` says. Returns how many the kernel has taken: at least one, or the error of the first.
pub(crate) fn send(fd: BorrowedFd<'_>, bytes: &[u8], start: usize, ends: &[usize]) -> io::Result<usize> {
    if let [end] = ends {
        return super::send(fd, &bytes[start..*end]).map(|_| 1);
    }
    let mut parts = [EMPTY_PART; TOGETHER];
    let mut from = start;
    for (part, end) in parts.iter_mut().zip(ends) {
        let datagram = &bytes[from..*end];
        // The kernel only reads what a part of a message to be sent points to.
        part.iov_base = datagram.as_ptr().cast_mut().cast();
        part.iov_len = datagram.len();
        from = *end;
    }
    let mut messages = messages(&mut parts);
    let count = ends.len().min(TOGETHER) as u32;
    // SAFETY: each of the `count` messages points to one part, and each part to bytes with their length; all outlive the call.
    let sent = unsafe { libc::sendmmsg(fd.as_raw_fd(), messages.as_mut_ptr(), count, libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Receives datagrams into equal places of `room` bytes in `into` without waiting, and notes their lengths. Returns how
/// many there were.
pub(crate) fn receive(
    fd: BorrowedFd<'_>,
    into: &mut [u8],
    room: usize,
    lengths: &mut [usize; TOGETHER],
) -> io::Result<usize> {
    let mut parts = [EMPTY_PART; TOGETHER];
    let places = into.chunks_exact_mut(room);
    let count = places.len().min(TOGETHER) as u32;
    for (part, place) in parts.iter_mut().zip(places) {
        part.iov_base = place.as_mut_ptr().cast();
        part.iov_len = place.len();
    }
    let mut messages = messages(&mut parts);
    // SAFETY: each of the `count` messages points to one part, and each part to a place of its own; all outlive the call.
    let received = unsafe {
        libc::recvmmsg(
            fd.as_raw_fd(),
            messages.as_mut_ptr(),
            count,
            libc::MSG_DONTWAIT,
            std::ptr::null_mut(),
        )
    };
    let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    for (length, message) in lengths.iter_mut().zip(&messages[..received]) {
        *length = message.msg_len as usize;
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
