//! A TUN device: IP packets without an Ethernet header. It disappears when its descriptor is closed.

use crate::netlink::Netlink;
use crate::netlink::link::LinkDrops;
use crate::sys;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use wirecost_files::system;

const DEVICE: &str = "/dev/net/tun";

/// The packets of a TUN device, and the counters of its interface.
#[derive(Debug)]
pub struct Tun {
    file: File,
    netlink: Netlink,
    index: u32,
}

impl Tun {
    /// Makes the interface `name` in the calling thread's network namespace, not persistent, not blocking.
    ///
    /// # Errors
    /// EACCES if /dev/net/tun is closed to the user, ENOENT if it is missing, EPERM without CAP_NET_ADMIN.
    pub fn create(name: &str) -> io::Result<Self> {
        let file = open_device()?;
        sys::attach_tun(file.as_fd(), name)?;
        let netlink = Netlink::open()?;
        let index = netlink.link_index(name)?;
        Ok(Self { file, netlink, index })
    }

    /// The next packet from the namespace: its length in `into`, or `None` if none is waiting.
    ///
    /// # Errors
    /// EIO if the interface is down.
    pub fn receive(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(into) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends an IP packet to the namespace.
    ///
    /// # Errors
    /// EIO if the interface is down, EINVAL for bytes that are not an IP packet.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        (&self.file).write(packet).map(drop)
    }

    /// What the interface has dropped since its creation.
    ///
    /// # Errors
    /// None while the interface exists.
    pub fn drops(&self) -> io::Result<LinkDrops> {
        self.netlink.link_drops(self.index)
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

fn open_device() -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
    system::open(&options, DEVICE)
}

/// Why /dev/net/tun cannot be used, as one line; `None` if it can be opened.
pub(crate) fn unusable() -> Option<String> {
    let error = open_device().err()?;
    if !Path::new(DEVICE).exists() {
        return Some(format!("{DEVICE} does not exist"));
    }
    Some(format!(
        "{DEVICE} is closed to this user ({})",
        crate::error::Errno::from(&error)
    ))
}
