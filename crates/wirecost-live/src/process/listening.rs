//! The listening sockets of the calling thread's network namespace.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use wirecost_files::system;
use wirecost_proto::bare::Transport;

const STATE_LISTEN: &str = "0A"; // TCP_LISTEN, include/net/tcp_states.h
const STATE_UNCONNECTED: &str = "07"; // TCP_CLOSE: a UDP socket without a peer

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// TCP, or UDP.
    pub transport: Transport,
    /// Its local address.
    pub address: SocketAddr,
}

impl Listener {
    /// Whether packets to `server` reach this socket, at `port` if given.
    pub fn serves(&self, server: IpAddr, port: Option<u16>) -> bool {
        let ip = self.address.ip();
        // An IPv6 socket bound to no address accepts IPv4, too, unless it has opted out (ipv6(7), IPV6_V6ONLY).
        let takes = ip == server || (ip.is_unspecified() && (ip.is_ipv6() || server.is_ipv4()));
        takes && port.is_none_or(|port| port == self.address.port())
    }
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = match self.transport {
            Transport::Stream => "tcp",
            Transport::Datagram => "udp",
        };
        write!(f, "{transport} {}", self.address)
    }
}

/// Every socket that listens in the calling thread's network namespace. A kernel without IPv6 has only IPv4 sockets.
pub fn listeners() -> Vec<Listener> {
    // `/proc/net` belongs to the whole process. A thread may be in another namespace.
    let table = |name: &str| system::text(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
    let tables = [
        ("tcp", Transport::Stream),
        ("tcp6", Transport::Stream),
        ("udp", Transport::Datagram),
        ("udp6", Transport::Datagram),
    ];
    tables
        .iter()
        .flat_map(|(name, transport)| in_table(&table(name), *transport))
        .collect()
}

fn in_table(text: &str, transport: Transport) -> Vec<Listener> {
    let state = match transport {
        Transport::Stream => STATE_LISTEN,
        Transport::Datagram => STATE_UNCONNECTED,
    };
    let listener = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, _remote) = (fields.next()?, fields.next()?);
        let address = (fields.next()? == state).then(|| address(local))??;
        Some(Listener { transport, address })
    };
    text.lines().skip(1).filter_map(listener).collect()
}

/// `0101007F:1F90`: the address in memory order, in words of 32 bits, then the port (proc(5)).
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |index: usize| {
        let digits = ip.get(index * 8..index * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let octets: [u8; 16] = words.concat().try_into().ok()?;
            let ip = Ipv6Addr::from(octets);
            // A socket of both families shows an IPv4 address in this form.
            ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};

    #[test]
    fn finds_local_listeners() {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let expected = [
            (Transport::Stream, tcp.local_addr()),
            (Transport::Datagram, udp.local_addr()),
        ];
        let found = listeners();
        for (transport, address) in expected {
            let address = address.expect("an address");
            assert!(
                found.contains(&Listener { transport, address }),
                "{address} in {found:?}"
            );
        }
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn reads_addresses_of_both_families() {
        let cases = [
            ("0100007F:075B", "127.0.0.1:1883"),
            ("000078FD000000000000000001000000:1633", "[fd78::1]:5683"),
            ("0000000000000000FFFF00000100007F:0050", "127.0.0.1:80"),
        ];
        for (text, expected) in cases {
            assert_eq!(address(text), expected.parse().ok(), "{text}");
        }
        for broken in ["", ":", "01:02", "0100007F:", "0100007F", "01\u{e9}0007F:075B"] {
            assert_eq!(address(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_socket_of_the_loopback_interface_serves_no_device() {
        let listener = |address: &str| Listener {
            transport: Transport::Stream,
            address: address.parse().expect("an address"),
        };
        let server: IpAddr = "10.78.0.1".parse().expect("an address");
        assert!(!listener("127.0.0.1:1883").serves(server, None));
        assert!(listener("0.0.0.0:1883").serves(server, Some(1883)));
        assert!(listener("[::]:1883").serves(server, None));
        assert!(!listener("0.0.0.0:1883").serves("fd78::1".parse().expect("an address"), None));
        assert!(!listener("10.78.0.1:1883").serves(server, Some(8883)));
    }
}
