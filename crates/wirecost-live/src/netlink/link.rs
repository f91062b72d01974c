//! Interfaces: `RTM_NEWLINK` and `RTM_GETLINK` (rtnetlink(7)).

use super::Netlink;
use super::message::{Attributes, Request};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The loopback interface has index 1 in every namespace.
pub(crate) const LOOPBACK: u32 = 1;

const FIXED_LENGTH: usize = 16;
const VETH_INFO_PEER: u16 = 1; // linux/veth.h

/// `struct ifinfomsg`: family and type 0, then index, flags and the mask of flags to change.
fn fixed(index: u32, flags: i32, change: i32) -> [u8; FIXED_LENGTH] {
    let mut fixed = [0; FIXED_LENGTH];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    fixed[8..12].copy_from_slice(&flags.to_ne_bytes());
    fixed[12..16].copy_from_slice(&change.to_ne_bytes());
    fixed
}

/// One end of a veth pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VethEnd<'a> {
    /// The interface's name.
    pub name: &'a str,
    /// Its Ethernet address.
    pub address: [u8; 6],
}

impl VethEnd<'_> {
    fn describe(&self, request: Request) -> Request {
        request
            .text(libc::IFLA_IFNAME, self.name)
            .attribute(libc::IFLA_ADDRESS, &self.address)
    }
}

/// Packets that an interface has dropped, by its own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkDrops {
    /// Dropped on the way into the namespace, including errors.
    pub received: u64,
    /// Dropped on the way out of it, including errors.
    pub transmitted: u64,
}

impl LinkDrops {
    /// Reads `struct rtnl_link_stats64`: packets, bytes, errors and dropped, each received, then transmitted.
    fn read(statistics: &[u8]) -> Option<Self> {
        let counter = |index: usize| {
            let bytes = statistics.get(index * 8..)?.first_chunk()?;
            Some(u64::from_ne_bytes(*bytes))
        };
        Some(Self {
            received: counter(4)? + counter(6)?,
            transmitted: counter(5)? + counter(7)?,
        })
    }
}

impl Netlink {
    /// The index of the interface `name`.
    ///
    /// # Errors
    /// ENODEV if there is none.
    pub fn link_index(&self, name: &str) -> io::Result<u32> {
        let request = Request::new(libc::RTM_GETLINK, 0, &fixed(0, 0, 0)).text(libc::IFLA_IFNAME, name);
        let reply = self.ask(request)?;
        let index = reply.get(4..).and_then(|rest| rest.first_chunk());
        index
            .map(|bytes| u32::from_ne_bytes(*bytes))
            .ok_or_else(truncated)
    }

    /// What the interface with this index has dropped since its creation.
    ///
    /// # Errors
    /// ENODEV if there is none.
    pub(crate) fn link_drops(&self, index: u32) -> io::Result<LinkDrops> {
        self.link_attribute(index, libc::IFLA_STATS64, LinkDrops::read)
    }

    /// The name of the interface's queueing discipline.
    ///
    /// # Errors
    /// ENODEV if there is no such interface.
    pub fn link_queueing(&self, index: u32) -> io::Result<String> {
        self.link_attribute(index, libc::IFLA_QDISC, |name| {
            Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_string())
        })
    }

    fn link_attribute<T>(&self, index: u32, kind: u16, read: impl Fn(&[u8]) -> Option<T>) -> io::Result<T> {
        let reply = self.ask(Request::new(libc::RTM_GETLINK, 0, &fixed(index, 0, 0)))?;
        let attributes = Attributes::new(reply.get(FIXED_LENGTH..).unwrap_or_default());
        attributes.find(kind).and_then(read).ok_or_else(truncated)
    }

    /// Sets the MTU in bytes and the transmit queue in packets, then brings the interface up, without ARP and
    /// multicast: only the packets of a cell may cross the link.
    ///
    /// # Errors
    /// EPERM without CAP_NET_ADMIN; EINVAL for an MTU that the interface cannot have.
    pub(crate) fn set_link_up(&self, index: u32, mtu: u32, queue_packets: u32) -> io::Result<()> {
        let flags = libc::IFF_UP | libc::IFF_NOARP;
        let header = fixed(index, flags, flags | libc::IFF_MULTICAST);
        let request = Request::new(libc::RTM_NEWLINK, 0, &header)
            .number(libc::IFLA_MTU, mtu)
            .number(libc::IFLA_TXQLEN, queue_packets);
        self.ask(request).map(drop)
    }

    /// Brings the loopback interface up.
    ///
    /// # Errors
    /// EPERM without CAP_NET_ADMIN.
    pub(crate) fn set_loopback_up(&self) -> io::Result<()> {
        let header = fixed(LOOPBACK, libc::IFF_UP, libc::IFF_UP);
        self.ask(Request::new(libc::RTM_NEWLINK, 0, &header)).map(drop)
    }

    /// Creates a veth pair: `near` in this socket's namespace, `far` in the one behind `namespace`.
    ///
    /// # Errors
    /// EPERM without CAP_NET_ADMIN in both; EOPNOTSUPP if the kernel has no veth.
    pub(crate) fn create_veth(
        &self,
        near: VethEnd<'_>,
        far: VethEnd<'_>,
        namespace: BorrowedFd<'_>,
    ) -> io::Result<()> {
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let request = near.describe(Request::new(libc::RTM_NEWLINK, flags, &fixed(0, 0, 0)));
        let peer = |request: Request| {
            far.describe(request.raw(&fixed(0, 0, 0)))
                // The far end is born in its namespace: moved later, it would lose its settings.
                .number(libc::IFLA_NET_NS_FD, namespace.as_raw_fd() as u32)
        };
        let information = |request: Request| {
            request
                .text(libc::IFLA_INFO_KIND, "veth")
                .nested(libc::IFLA_INFO_DATA, |request| {
                    request.nested(VETH_INFO_PEER, peer)
                })
        };
        self.ask(request.nested(libc::IFLA_LINKINFO, information))
            .map(drop)
    }
}

fn truncated() -> io::Error {
    io::Error::from_raw_os_error(libc::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_loopback_interface_and_its_counters() {
        let netlink = Netlink::open().unwrap();
        assert_eq!(netlink.link_index("lo").unwrap(), LOOPBACK);
        let before = loopback_drops_by_sysfs();
        let drops = netlink.link_drops(LOOPBACK).unwrap();
        let after = loopback_drops_by_sysfs();
        // Other programs of the machine may drop packets on its loopback interface at any time.
        assert!(
            (before.received..=after.received).contains(&drops.received),
            "{drops:?}"
        );
        assert!(
            (before.transmitted..=after.transmitted).contains(&drops.transmitted),
            "{drops:?}"
        );
    }

    fn loopback_drops_by_sysfs() -> LinkDrops {
        let counter = |name: &str| -> u64 {
            let text = std::fs::read_to_string(format!("/sys/class/net/lo/statistics/{name}")).unwrap();
            text.trim().parse().unwrap()
        };
        LinkDrops {
            received: counter("rx_dropped") + counter("rx_errors"),
            transmitted: counter("tx_dropped") + counter("tx_errors"),
        }
    }

    #[test]
    fn a_missing_interface_is_enodev() {
        let error = Netlink::open().unwrap().link_index("nosuch0").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn drops_include_errors() {
        let statistics: Vec<u8> = (0u64..24).flat_map(u64::to_ne_bytes).collect();
        assert_eq!(
            LinkDrops::read(&statistics),
            Some(LinkDrops {
                received: 4 + 6,
                transmitted: 5 + 7
            })
        );
        assert_eq!(LinkDrops::read(&statistics[..60]), None);
    }
}
