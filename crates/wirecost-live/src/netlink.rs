//! The part of rtnetlink (rtnetlink(7)) that makes interfaces, addresses and routes without the `ip` program.
//!
//! - [`message`]: requests, attributes and replies as bytes
//! - [`link`]: interfaces: create, set up, look up, count drops
//! - [`queue`]: whether packets wait before an interface
//! - [`address`], [`route`]: the addresses and routes of a namespace

pub mod address;
pub mod link;
pub mod message;
pub mod queue;
pub mod route;

use crate::sys;
use message::{Replies, Request};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// A netlink socket. It belongs to the namespace in which it was opened, wherever its thread moves later.
#[derive(Debug)]
pub struct Netlink {
    fd: OwnedFd,
    sequence: Cell<u32>,
}

impl Netlink {
    const REPLY_CAPACITY: usize = 32 * 1_024;

    /// A socket to the calling thread's network namespace.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn open() -> io::Result<Self> {
        let fd = sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
        Ok(Self {
            fd,
            sequence: Cell::new(0),
        })
    }

    /// Sends `request` and waits for its answer: the payload of the reply, or nothing for an acknowledgement.
    ///
    /// # Errors
    /// The kernel's refusal, as its error number.
    pub(crate) fn ask(&self, request: Request) -> io::Result<Vec<u8>> {
        let sequence = self.sequence.get().wrapping_add(1);
        self.sequence.set(sequence);
        let bytes = request.finish(sequence);
        sys::send(self.fd.as_fd(), &bytes)?; // without an address: to the kernel (netlink(7))
        let mut buffer = vec![0; Self::REPLY_CAPACITY];
        let mut payload = Vec::new();
        loop {
            let length = sys::receive(self.fd.as_fd(), &mut buffer)?;
            for reply in Replies::new(buffer.get(..length).unwrap_or_default()) {
                // A late answer to an earlier request that failed halfway.
                if reply.sequence != sequence {
                    continue;
                }
                match reply.error() {
                    // NLMSG_ERROR with error 0 is the acknowledgement (netlink(7)).
                    Some(0) => return Ok(payload),
                    Some(errno) => return Err(io::Error::from_raw_os_error(errno)),
                    None => payload = reply.payload.to_vec(),
                }
            }
        }
    }
}
