//! Where devices' sockets come from: addresses, and ports that the kernel chooses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use socket2::Socket;

use crate::sys;

/// Where the sockets of a load's devices come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    addresses: Vec<IpAddr>,
    shared_sockets: usize,
}

/// Devices that have one source address, where loopback has others to give. Linux gives every second port first: when
/// those of the default range, 14,116, are taken, each further connect looks at all of them before it finds one, which
/// took 3.3 ms where this was measured.
pub(crate) const DEVICES_PER_ADDRESS: u32 = 10_000;

/// The first source address on loopback that is not the usual one.
const FIRST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

impl Sources {
    /// Whatever address the kernel chooses.
    pub fn any() -> Self {
        Self::default()
    }

    /// These addresses, device by device in turn; of none, whatever the kernel chooses.
    pub fn of(addresses: Vec<IpAddr>) -> Self {
        Self {
            addresses,
            shared_sockets: 0,
        }
    }

    /// As many addresses of 127.0.0.0/8, from 127.0.0.2, as `devices` need that connect to the same target from this
    /// machine, whichever process they are in; whatever the kernel chooses where one address is enough or the target is
    /// not in that network.
    pub fn for_target(remote: SocketAddr, devices: u32) -> Self {
        let is_there = matches!(remote.ip(), IpAddr::V4(address) if address.is_loopback());
        if !is_there || devices <= DEVICES_PER_ADDRESS {
            return Self::any();
        }
        let numbers = 0..devices.div_ceil(DEVICES_PER_ADDRESS);
        let addresses = numbers.map(|number| IpAddr::V4(Ipv4Addr::from_bits(FIRST.to_bits() + number)));
        Self::of(addresses.collect())
    }

    /// The same, with so many UDP sockets per loop and target for all its devices; [`Director::route`] tells them apart.
    ///
    /// [`Director::route`]: wirecost_proto::Director::route
    #[must_use]
    pub fn with_shared_sockets(self, sockets: usize) -> Self {
        Self {
            shared_sockets: sockets,
            ..self
        }
    }

    /// How many UDP sockets the devices of a loop share; 0 where each has its own.
    pub(crate) const fn shared_sockets(&self) -> usize {
        self.shared_sockets
    }

    /// The addresses; none where the kernel chooses.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// The addresses of sockets towards `remote`, also the one that the kernel chooses; none where it has no way there.
    pub fn towards(&self, remote: SocketAddr) -> Vec<IpAddr> {
        if !self.addresses.is_empty() {
            return self.addresses.clone();
        }
        chosen(remote).into_iter().collect()
    }

    /// Where the sockets of a device come from.
    pub(super) fn origin(&self, device: usize) -> Origin {
        match self.addresses.len() {
            0 => Origin::Kernel,
            count => Origin::Address(self.addresses[device % count]),
        }
    }
}

/// The address that the kernel chooses towards `remote`: connecting a UDP socket sends nothing.
fn chosen(remote: SocketAddr) -> Option<IpAddr> {
    let any = match remote {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(remote).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Where a device's socket comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// An address of the emulated link, where TCP uses cubic and buffers hold any burst.
    Link(SocketAddr),
    /// An address of the machine; the kernel chooses the port when it knows the peer.
    Address(IpAddr),
    /// What the kernel chooses when it knows the peer.
    Kernel,
}

impl Origin {
    /// Binds a socket that is not connected yet.
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
                // A port that is chosen here would be taken for every target; one that is chosen when the target is
                // known is taken for that one (ip(7)).
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
    fn a_crowd_on_loopback_has_several_addresses_and_few_devices_have_the_kernels() {
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
    fn the_kernels_choice_is_told() {
        let remote = SocketAddr::from((Ipv4Addr::LOCALHOST, 1883));
        assert_eq!(Sources::any().towards(remote), [remote.ip()]);
        let asked = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9));
        assert_eq!(Sources::of(vec![asked]).towards(remote), [asked]);
    }

    #[test]
    fn devices_take_addresses_in_turn() {
        let addresses = [2, 3].map(|last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)));
        let sources = Sources::of(addresses.to_vec());
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
