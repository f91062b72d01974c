//! The sources of devices' sockets: addresses, and ports that the kernel chooses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use socket2::Socket;

use crate::sys;
use wirecost_proto::hosts::any_port;

/// The source addresses of a load's devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    addresses: Vec<IpAddr>,
    shared_sockets: usize,
}

/// The most devices of one source address on loopback. Linux assigns every second port first: when the 14,116 ports of
/// the default range are taken, each further connect searches all of them, which took 3.3 ms in a measurement.
pub(crate) const DEVICES_PER_ADDRESS: u32 = 10_000;

/// The first additional source address on loopback.
const FIRST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

impl Sources {
    /// The addresses that the kernel chooses.
    pub fn any() -> Self {
        Self::default()
    }

    /// These addresses, assigned to devices in turn; without addresses, the kernel chooses.
    pub fn new(addresses: Vec<IpAddr>) -> Self {
        Self {
            addresses,
            shared_sockets: 0,
        }
    }

    /// As many addresses of 127.0.0.0/8, from 127.0.0.2, as `devices` need that connect to the same target from this
    /// machine, in any process. If one address is enough or the target is not in that network, the kernel chooses.
    pub fn for_target(remote: SocketAddr, devices: u32) -> Self {
        let is_there = matches!(remote.ip(), IpAddr::V4(address) if address.is_loopback());
        if !is_there || devices <= DEVICES_PER_ADDRESS {
            return Self::any();
        }
        let numbers = 0..devices.div_ceil(DEVICES_PER_ADDRESS);
        let addresses = numbers.map(|number| IpAddr::V4(Ipv4Addr::from_bits(FIRST.to_bits() + number)));
        Self::new(addresses.collect())
    }

    /// Lets all devices of a loop and target share `sockets` UDP sockets. [`Director::route`] tells the devices apart.
    ///
    /// [`Director::route`]: wirecost_proto::Director::route
    #[must_use]
    pub fn with_shared_sockets(self, sockets: usize) -> Self {
        Self {
            shared_sockets: sockets,
            ..self
        }
    }

    /// How many UDP sockets the devices of a loop share; 0 if each has its own.
    pub(crate) const fn shared_sockets(&self) -> usize {
        self.shared_sockets
    }

    /// The addresses; empty if the kernel chooses.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// The source addresses towards `remote`, including the one that the kernel chooses; empty without a route.
    pub fn towards(&self, remote: SocketAddr) -> Vec<IpAddr> {
        if !self.addresses.is_empty() {
            return self.addresses.clone();
        }
        chosen(remote).into_iter().collect()
    }

    /// The origin of a device's sockets.
    pub(super) fn origin(&self, device: usize) -> Origin {
        match self.addresses.len() {
            0 => Origin::Kernel,
            count => Origin::Address(self.addresses[device % count]),
        }
    }
}

/// The address that the kernel chooses towards `remote`. Connecting a UDP socket sends nothing.
fn chosen(remote: SocketAddr) -> Option<IpAddr> {
    let socket = UdpSocket::bind(any_port(remote)).ok()?;
    socket.connect(remote).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// The source of a device's socket.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// An address of the emulated link, with TCP cubic and buffers for any burst.
    Link(SocketAddr),
    /// An address of the machine. The kernel chooses the port when it knows the peer.
    Address(IpAddr),
    /// Address and port that the kernel chooses when it knows the peer.
    Kernel,
}

impl Origin {
    /// Binds a socket before it connects.
    pub(super) fn bind(self, socket: &Socket) -> io::Result<()> {
        match self {
            Self::Kernel => Ok(()),
            Self::Link(address) => {
                if address.is_ipv6() {
                    socket.set_freebind_v6(true)?;
                }
                socket.bind(&address.into())
            }
            Self::Address(address) => {
                // A port chosen now would be taken for every target. A port chosen at the connect is taken for that
                // target alone (ip(7)).
                let (level, option) = (libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT);
                sys::set_option(socket.as_fd(), level, option, 1)?;
                socket.bind(&SocketAddr::new(address, 0).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_devices_on_loopback_have_several_addresses() {
        let remote = SocketAddr::from((Ipv4Addr::LOCALHOST, 1883));
        assert_eq!(Sources::for_target(remote, DEVICES_PER_ADDRESS), Sources::any());
        let crowd = Sources::for_target(remote, 100_000);
        let last = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 11));
        assert_eq!(
            (crowd.addresses().len(), crowd.addresses().last()),
            (10, Some(&last))
        );
        let elsewhere = SocketAddr::from(([192, 0, 2, 1], 1883));
        assert_eq!(Sources::for_target(elsewhere, 100_000), Sources::any());
    }

    #[test]
    fn the_address_chosen_by_the_kernel_is_returned() {
        let remote = SocketAddr::from((Ipv4Addr::LOCALHOST, 1883));
        assert_eq!(Sources::any().towards(remote), [remote.ip()]);
        let asked = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9));
        assert_eq!(Sources::new(vec![asked]).towards(remote), [asked]);
    }

    #[test]
    fn devices_take_addresses_in_turn() {
        let addresses = [2, 3].map(|last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)));
        let sources = Sources::new(addresses.to_vec());
        let of = |device| match sources.origin(device) {
            Origin::Address(address) => Some(address),
            _ => None,
        };
        assert_eq!(
            [of(0), of(1), of(2)],
            [addresses[0], addresses[1], addresses[0]].map(Some)
        );
    }
}
