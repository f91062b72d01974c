//! Addresses of the hosts on the emulated link: one server, and a host per device.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The number of a device on the link, from 0.
pub type HostIndex = u32;

/// The server's IPv4 address.
pub const SERVER_V4: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
/// The server's IPv6 address.
pub const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, 1);
/// The devices' IPv4 network, a /16.
pub const DEVICES_V4: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 0);
/// The devices' IPv6 network, a /64.
pub const DEVICES_V6: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 0);
/// The number of devices that the networks hold: a /16 without its first two addresses and its last one.
pub const MAX_DEVICES: u32 = 65_533;

/// The offset of device 0 in its network: the interface has address 1.
const FIRST_DEVICE: u32 = 2;

/// The server's address.
pub const fn server_address(ipv6: bool) -> IpAddr {
    if ipv6 {
        IpAddr::V6(SERVER_V6)
    } else {
        IpAddr::V4(SERVER_V4)
    }
}

/// Any address of a machine.
pub const fn any_address(ipv6: bool) -> IpAddr {
    if ipv6 {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    } else {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    }
}

/// Any address and any port of a machine, to reach `remote` from.
pub const fn any_port(remote: SocketAddr) -> SocketAddr {
    SocketAddr::new(any_address(remote.is_ipv6()), 0)
}

/// The address of the server at a site, from 0; that of site 0 is [`server_address`].
pub fn site_address(site: u8, ipv6: bool) -> IpAddr {
    address_at_site(site, 1, ipv6)
}

/// The address from which the server's side of a site checks a link to another site.
pub fn site_check_address(site: u8, ipv6: bool) -> IpAddr {
    address_at_site(site, 2, ipv6)
}

fn address_at_site(site: u8, number: u8, ipv6: bool) -> IpAddr {
    if ipv6 {
        IpAddr::V6(Ipv6Addr::new(0xfd78, 0, 0, site.into(), 0, 0, 0, number.into()))
    } else {
        IpAddr::V4(Ipv4Addr::new(10, 78, site, number))
    }
}

/// The site of an address of servers, and whether it is that of checks; `None` for any other host.
pub fn site_of(address: IpAddr) -> Option<(u8, bool)> {
    let (network, site, number) = match address {
        IpAddr::V4(v4) => {
            let [one, two, site, number] = v4.octets();
            ([one, two] == [10, 78], site, number)
        }
        IpAddr::V6(v6) => {
            let [first, .., number] = v6.segments();
            let [_, _, _, site, ..] = v6.segments();
            let bytes = (u8::try_from(site).ok()?, u8::try_from(number).ok()?);
            (first == 0xfd78, bytes.0, bytes.1)
        }
    };
    (network && matches!(number, 1 | 2)).then_some((site, number == 2))
}

/// The address of a device; `None` from [`MAX_DEVICES`] on.
pub fn device_address(host: HostIndex, ipv6: bool) -> Option<IpAddr> {
    let offset = (host < MAX_DEVICES).then_some(host + FIRST_DEVICE)?;
    Some(if ipv6 {
        IpAddr::V6(Ipv6Addr::from_bits(DEVICES_V6.to_bits() + u128::from(offset)))
    } else {
        IpAddr::V4(Ipv4Addr::from_bits(DEVICES_V4.to_bits() + offset))
    })
}

/// The number of devices that have their own address in virtual time.
pub const MAX_SIMULATED_DEVICES: u32 = MAX_DEVICES + (1 << 24);
/// The IPv4 network of the simulated devices above [`MAX_DEVICES`], a /8.
const SIMULATED_V4: Ipv4Addr = Ipv4Addr::new(11, 0, 0, 0);

/// The address of a device in virtual time, where no kernel limits the number of devices: that of [`device_address`] if
/// there is one. `None` from [`MAX_SIMULATED_DEVICES`] on.
pub fn simulated_address(host: HostIndex, ipv6: bool) -> Option<IpAddr> {
    if host >= MAX_SIMULATED_DEVICES {
        return None;
    }
    let beyond = match host.checked_sub(MAX_DEVICES) {
        None => return device_address(host, ipv6),
        Some(beyond) => beyond,
    };
    Some(if ipv6 {
        IpAddr::V6(Ipv6Addr::from_bits(
            DEVICES_V6.to_bits() + u128::from(host) + u128::from(FIRST_DEVICE),
        ))
    } else {
        IpAddr::V4(Ipv4Addr::from_bits(SIMULATED_V4.to_bits() + beyond))
    })
}

/// The device that has an address; `None` for any other host.
pub fn device_of(address: IpAddr) -> Option<HostIndex> {
    let offset = match address {
        IpAddr::V4(v4) => v4.to_bits().checked_sub(DEVICES_V4.to_bits())?,
        IpAddr::V6(v6) => u32::try_from(v6.to_bits().checked_sub(DEVICES_V6.to_bits())?).ok()?,
    };
    let host = offset.checked_sub(FIRST_DEVICE)?;
    (host < MAX_DEVICES).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_devices_are_a_bijection() {
        for host in [0, 1, 253, 254, 255, 65_532] {
            for ipv6 in [false, true] {
                let address = device_address(host, ipv6).expect("within the network");
                assert_eq!(device_of(address), Some(host), "{address}");
            }
        }
        assert_eq!(device_address(MAX_DEVICES, false), None);
    }

    #[test]
    fn simulated_devices_have_addresses_of_their_own() {
        for ipv6 in [false, true] {
            assert_eq!(simulated_address(7, ipv6), device_address(7, ipv6));
            let hosts = [
                0,
                MAX_DEVICES - 1,
                MAX_DEVICES,
                MAX_DEVICES + 1,
                MAX_SIMULATED_DEVICES - 1,
            ];
            let addresses = hosts.map(|host| simulated_address(host, ipv6).expect("an address"));
            assert!(
                addresses.is_sorted() && addresses.windows(2).all(|two| two[0] != two[1]),
                "{addresses:?}"
            );
            assert_eq!(simulated_address(MAX_SIMULATED_DEVICES, ipv6), None);
        }
    }

    #[test]
    fn the_server_and_other_hosts_are_not_devices() {
        for address in [
            "10.78.0.1",
            "10.77.0.1",
            "192.0.2.1",
            "fd78::1",
            "fd77::1",
            "ff02::2",
        ] {
            assert_eq!(device_of(address.parse().expect("an address")), None, "{address}");
        }
    }
}
