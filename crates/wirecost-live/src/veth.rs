//! A veth pair between a side and the forwarder's namespace, for machines that close /dev/net/tun.

use crate::error::{Doing, EnvironmentError};
use crate::ethtool::disable_offloads;
use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::netlink::link::VethEnd;
use crate::packet_socket::{Interface, PacketSocket};
use std::os::fd::AsFd;

/// The names and Ethernet addresses of a pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VethPair<'a> {
    /// The forwarder's end.
    pub near: VethEnd<'a>,
    /// The side's end.
    pub far: VethEnd<'a>,
    /// MTU of both ends, in bytes.
    pub mtu: u32,
    /// Whether both ends keep their segmentation offload.
    pub offload: bool,
    /// Transmit queue of both ends, in packets.
    pub queue_packets: u32,
}

impl VethPair<'_> {
    /// Makes the pair between the calling thread's namespace (the forwarder's) and `side`, with offloads off at both
    /// ends unless they are kept, and opens the forwarder's socket. The far end stays down. Afterwards the thread is in its original
    /// namespace.
    ///
    /// # Errors
    /// Any refusal of the kernel, with the failed step.
    pub(crate) fn create(
        &self,
        home: &Namespace,
        side: &Namespace,
    ) -> Result<PacketSocket, EnvironmentError> {
        let name = self.near.name;
        let netlink = Netlink::open().doing("socket", || "speak to the kernel by netlink".into())?;
        netlink
            .create_veth(self.near, self.far, side.as_fd())
            .doing("RTM_NEWLINK", || format!("create the veth pair {name}"))?;
        self.turn_offloads_off(name)?;
        let index = netlink
            .link_index(name)
            .doing("RTM_GETLINK", || format!("find {name}"))?;
        netlink
            .set_link_up(index, self.mtu, self.queue_packets)
            .doing("RTM_NEWLINK", || {
                format!("bring {name} up with an MTU of {} B", self.mtu)
            })?;
        side.enter()?;
        // Its error is looked at only after this thread is back in its own namespace, or the caller would go on in the wrong one.
        let far = self.prepare_far();
        home.enter()?;
        let addresses = [self.near.address, self.far.address];
        let cut_to = self.offload.then_some(self.mtu as usize);
        PacketSocket::open(Interface { netlink, index }, far?, addresses, cut_to)
            .doing("socket", || format!("open a packet socket on {name}"))
    }

    fn turn_offloads_off(&self, name: &str) -> Result<(), EnvironmentError> {
        if self.offload {
            return Ok(());
        }
        disable_offloads(name).doing("SIOCETHTOOL", || format!("turn the offloads of {name} off"))
    }

    fn prepare_far(&self) -> Result<Interface, EnvironmentError> {
        let name = self.far.name;
        self.turn_offloads_off(name)?;
        let netlink = Netlink::open().doing("socket", || "speak to the kernel by netlink".into())?;
        let index = netlink
            .link_index(name)
            .doing("RTM_GETLINK", || format!("find {name}"))?;
        Ok(Interface { netlink, index })
    }
}
