//! The system calls, each behind a safe function that returns `io::Result`. All `unsafe` of the workspace is here.

pub(crate) mod datagrams;
pub(crate) mod init;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod terminal;
pub(crate) mod time;

use std::ffi::c_int;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The result of a system call as a value or the thread's error number.
pub(crate) fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Takes ownership of the descriptor that a system call has returned.
pub(crate) fn owned(result: c_int) -> io::Result<OwnedFd> {
    let fd = check(result)?;
    // SAFETY: the kernel has returned this descriptor to this call alone: it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Moves the calling thread into new namespaces of the kinds in `flags`.
pub(crate) fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { libc::unshare(flags) }).map(drop)
}

/// Moves the calling thread into the namespace behind `fd`.
pub(crate) fn setns(fd: BorrowedFd<'_>, kind: c_int) -> io::Result<()> {
    // SAFETY: takes no pointers; the descriptor is open for the call.
    check(unsafe { libc::setns(fd.as_raw_fd(), kind) }).map(drop)
}

/// A new socket, closed on exec.
pub(crate) fn socket(domain: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers.
    owned(unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol) })
}

const LINK_ADDRESS_LENGTH: libc::socklen_t = mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t;

/// Binds a packet socket to an interface and a protocol.
pub(crate) fn bind(fd: BorrowedFd<'_>, address: &libc::sockaddr_ll) -> io::Result<()> {
    // SAFETY: the pointer and length describe `address`, which outlives the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const *address).cast(), LINK_ADDRESS_LENGTH) }).map(drop)
}

/// Sends one message to the socket's default peer.
pub(crate) fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer and length describe `bytes`, which outlives the call.
    let sent = unsafe {
        libc::send(
            fd.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Sends one packet from a packet socket; its length in bytes.
pub(crate) fn send_to(fd: BorrowedFd<'_>, bytes: &[u8], address: &libc::sockaddr_ll) -> io::Result<usize> {
    // SAFETY: both pointers come with the length of what they point to, and outlive the call.
    let sent = unsafe {
        libc::sendto(
            fd.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
            (&raw const *address).cast(),
            LINK_ADDRESS_LENGTH,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Receives one message; its length in bytes.
pub(crate) fn receive(fd: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and length describe `into`, which outlives the call.
    let received = unsafe { libc::recv(fd.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), 0) };
    usize::try_from(received).map_err(|_| io::Error::last_os_error())
}

/// A received message and its metadata.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Bytes of the message.
    pub(crate) length: usize,
    /// When the kernel received it, in nanoseconds of CLOCK_REALTIME, for sockets with `SO_TIMESTAMPNS`.
    pub(crate) stamp: Option<u64>,
    /// Index of the interface, for packet sockets.
    pub(crate) interface: u32,
    /// `PACKET_HOST`, `PACKET_OUTGOING`, ..., for packet sockets.
    pub(crate) kind: u8,
}

/// Receives one message of a socket with `SO_TIMESTAMPNS`: its length in bytes, and when the kernel received it, in
/// nanoseconds of CLOCK_REALTIME.
pub(crate) fn receive_stamped(fd: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    receive_frame(fd, into).map(|frame| (frame.length, frame.stamp))
}

/// Receives one message of a packet socket with `SO_TIMESTAMPNS`.
pub(crate) fn receive_frame(fd: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<Frame> {
    let mut part = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let mut control = [0u64; 8]; // aligned for a cmsghdr, with room for the one asked for
    // SAFETY: all-zero is a valid sockaddr_ll, a structure of integers, which is at most a sockaddr_storage.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    // SAFETY: all-zero is a valid msghdr: no address, no parts.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_name = (&raw mut address).cast();
    message.msg_namelen = LINK_ADDRESS_LENGTH;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = mem::size_of_val(&control) as _;
    // SAFETY: every pointer in `message` comes with the length of what it points to, and outlives the call.
    let received = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) };
    let length = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel has filled `control` and set its length; CMSG_FIRSTHDR is null where there is no header,
    // and a header of this kind is followed by a timespec, read unaligned.
    let stamp = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let is_stamp = !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_TIMESTAMPNS;
        is_stamp.then(|| time::nanos(libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned()))
    };
    Ok(Frame {
        length,
        stamp,
        interface: u32::try_from(address.sll_ifindex).unwrap_or(0),
        kind: address.sll_pkttype,
    })
}

/// Sets an option whose value is an integer.
pub(crate) fn set_option(fd: BorrowedFd<'_>, level: c_int, option: c_int, value: c_int) -> io::Result<()> {
    set_option_bytes(fd, level, option, &value.to_ne_bytes())
}

/// Sets an option whose value is a string or a structure.
pub(crate) fn set_option_bytes(
    fd: BorrowedFd<'_>,
    level: c_int,
    option: c_int,
    value: &[u8],
) -> io::Result<()> {
    let length = value.len() as libc::socklen_t;
    // SAFETY: the pointer and length describe `value`, which outlives the call.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, value.as_ptr().cast(), length) }).map(drop)
}

/// Frames that a packet socket has dropped since the last call (packet(7), `PACKET_STATISTICS`).
pub(crate) fn packet_socket_drops(fd: BorrowedFd<'_>) -> io::Result<u32> {
    let mut statistics = [0u32; 2]; // struct tpacket_stats: tp_packets, tp_drops
    let mut length = mem::size_of_val(&statistics) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of `statistics`.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            statistics.as_mut_ptr().cast(),
            &raw mut length,
        )
    })?;
    Ok(statistics[1])
}

fn interface_request(name: &str) -> libc::ifreq {
    let union = libc::__c_anonymous_ifr_ifru {
        ifru_data: std::ptr::null_mut(),
    };
    let mut request = libc::ifreq {
        ifr_name: [0; libc::IFNAMSIZ],
        ifr_ifru: union,
    };
    // The last byte stays 0: the kernel reads a C string.
    for (slot, byte) in request
        .ifr_name
        .iter_mut()
        .take(libc::IFNAMSIZ - 1)
        .zip(name.bytes())
    {
        *slot = byte as libc::c_char;
    }
    request
}

/// The name and MTU in bytes of an interface; `fd` is any socket of its namespace (netdevice(7)).
pub(crate) fn interface_name_and_mtu(fd: BorrowedFd<'_>, index: u32) -> io::Result<(String, c_int)> {
    let mut request = interface_request("");
    request.ifr_ifru.ifru_ifindex = c_int::try_from(index).map_err(io::Error::other)?;
    // SAFETY: SIOCGIFNAME reads and writes one `ifreq`, which outlives the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFNAME as libc::Ioctl, &raw mut request) })?;
    let letters = request.ifr_name.iter().take_while(|letter| **letter != 0);
    let name = letters.map(|letter| char::from(*letter as u8)).collect();
    // SAFETY: SIOCGIFMTU reads and writes one `ifreq`, which outlives the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFMTU as libc::Ioctl, &raw mut request) })?;
    // SAFETY: the kernel has just written this member.
    Ok((name, unsafe { request.ifr_ifru.ifru_mtu }))
}

/// Turns an open /dev/net/tun into the interface `name` (`TUNSETIFF`).
pub(crate) fn attach_tun(fd: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut request = interface_request(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which outlives the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF, &raw mut request) }).map(drop)
}

/// Sets one feature of an interface by the ethtool ioctl; `fd` is any socket of its namespace.
pub(crate) fn set_ethtool(fd: BorrowedFd<'_>, name: &str, command: u32, value: u32) -> io::Result<()> {
    const SIOCETHTOOL: libc::Ioctl = 0x8946; // linux/sockios.h
    let mut data = [command, value]; // struct ethtool_value
    let mut request = interface_request(name);
    request.ifr_ifru.ifru_data = data.as_mut_ptr().cast();
    // SAFETY: the request points to `data`, which is the structure these commands use; both outlive the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), SIOCETHTOOL, &raw mut request) }).map(drop)
}

/// Effective user and group of the process.
pub(crate) fn user_and_group() -> (u32, u32) {
    // SAFETY: takes no pointers and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}
