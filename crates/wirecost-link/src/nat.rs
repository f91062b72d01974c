//! The address translator (NAT) at the network's end of a link: which mappings of ports it has, and when it forgets one.
//!
//! A mapping belongs to a transport and to a device's address and port, whatever the server (endpoint-independent mapping,
//! RFC 4787 REQ-1). It is gone when no packet has used it for the time-out of its transport (RFC 4787 REQ-5, RFC 5382
//! REQ-5); packets of both directions use it (RFC 4787 REQ-6). The device's next packet makes a new one. The address is
//! not translated: it stays the device's own.
//!
//! A first mapping keeps the port. A later one of TCP has another port, so that the server does not know the connection
//! and answers with RST. A later one of UDP has the port that [`NatPort`] says.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::{Direction, Instant};

/// The longest time-out.
pub const MAX_NAT_TIMEOUT: Duration = Duration::from_secs(24 * 3_600);

/// The ports of later mappings of TCP: above those that Linux gives to sockets.
const FIRST_LATER_PORT: u16 = 61_000;

wirecost_proto::named! {
    /// The port that a NAT gives to a UDP port whose mapping it has forgotten.
    ///
    /// Named as in files and on the command line.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum NatPort {
        /// The same as before, as a NAT with port preservation does if nobody took the port in the meantime (RFC 4787 section
        /// 4.2.1): the server sees the same peer.
        #[default]
        Same => "same-port",
        /// Another one: the server sees a stranger. RFC 4787 section 4.2.1 leaves it open which of both a NAT does.
        New => "new-port",
    }
}

/// How long a NAT keeps a mapping that no packet uses; `None`: for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NatTimeouts {
    /// Of a UDP port.
    pub udp: Option<Duration>,
    /// Of a TCP connection.
    pub tcp: Option<Duration>,
    /// The port of a later mapping of UDP.
    pub port: NatPort,
}

impl NatTimeouts {
    /// A NAT that never forgets a mapping.
    pub const NEVER: Self = Self {
        udp: None,
        tcp: None,
        port: NatPort::Same,
    };

    /// Whether the NAT never forgets a mapping.
    pub const fn is_none(&self) -> bool {
        self.udp.is_none() && self.tcp.is_none()
    }

    /// After which silence a device's UDP port is another one to the server; `None`: never.
    pub fn new_udp_port(&self) -> Option<Duration> {
        self.udp.filter(|_| self.port == NatPort::New)
    }

    const fn get(&self, transport: Transport) -> Option<Duration> {
        match transport {
            Transport::Stream => self.tcp,
            Transport::Datagram => self.udp,
        }
    }
}

/// A transport, an address and a port: `false` for a stream.
type Key = (bool, IpAddr, u16);

#[derive(Clone, Copy, Debug)]
struct Mapping {
    /// The device's own port.
    own: u16,
    last_used: Instant,
}

/// The mappings of a link's NAT.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nat {
    timeouts: NatTimeouts,
    /// The ports that the server sees, and their mappings, forgotten ones included.
    mappings: BTreeMap<Key, Mapping>,
    /// The port that the server sees of each port of a device.
    seen: BTreeMap<Key, u16>,
    later_ports: u16,
}

impl Nat {
    pub(crate) fn new(timeouts: NatTimeouts) -> Self {
        Self {
            timeouts,
            ..Self::default()
        }
    }

    /// The port of a packet on the other side of the NAT: up, `port` is the device's own one, down, the one that the server
    /// sees. `None`: it has no mapping.
    pub(crate) fn translate(
        &mut self,
        direction: Direction,
        (transport, address): (Transport, IpAddr),
        port: u16,
        now: Instant,
    ) -> Option<u16> {
        let Some(timeout) = self.timeouts.get(transport) else {
            return Some(port);
        };
        let key = (transport == Transport::Datagram, address, port);
        match direction {
            Direction::Up => Some(self.leave(key, timeout, now)),
            Direction::Down => {
                let mapping = self.mappings.get_mut(&key)?;
                let is_known = now.saturating_since(mapping.last_used) < timeout;
                if is_known {
                    mapping.last_used = now;
                }
                is_known.then_some(mapping.own)
            }
        }
    }

    /// The port that the server sees of a device's packet.
    fn leave(&mut self, own: Key, timeout: Duration, now: Instant) -> u16 {
        let (is_datagram, address, port) = own;
        let seen = self.seen.get(&own).copied();
        let external = seen.unwrap_or(port);
        let mapping = self.mappings.get(&(is_datagram, address, external));
        let is_known = mapping.is_none_or(|mapping| now.saturating_since(mapping.last_used) < timeout);
        let keeps_port = is_datagram && self.timeouts.port == NatPort::Same;
        let external = if is_known || keeps_port {
            external
        } else {
            self.later_port()
        };
        self.seen.insert(own, external);
        let mapping = Mapping {
            own: port,
            last_used: now,
        };
        self.mappings.insert((is_datagram, address, external), mapping);
        external
    }

    /// The device's own port behind a port that the server has seen.
    pub(crate) fn own_port(&self, (transport, address): (Transport, IpAddr), seen: u16) -> u16 {
        let key = (transport == Transport::Datagram, address, seen);
        self.mappings.get(&key).map_or(seen, |mapping| mapping.own)
    }

    fn later_port(&mut self) -> u16 {
        let port = FIRST_LATER_PORT + self.later_ports;
        self.later_ports = (self.later_ports + 1) % (u16::MAX - FIRST_LATER_PORT);
        port
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const DEVICE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

    fn nat() -> Nat {
        Nat::new(NatTimeouts {
            udp: Some(Duration::from_secs(60)),
            tcp: Some(Duration::from_secs(600)),
            port: NatPort::Same,
        })
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_millis(seconds * 1_000)
    }

    const TCP: (Transport, IpAddr) = (Transport::Stream, DEVICE);
    const UDP: (Transport, IpAddr) = (Transport::Datagram, DEVICE);

    #[test]
    fn packets_below_the_time_out_keep_the_mapping() {
        let mut nat = nat();
        for turn in 0..100 {
            let (up, down) = (at(turn * 118), at(turn * 118 + 59));
            assert_eq!(nat.translate(Direction::Up, UDP, 40_000, up), Some(40_000));
            assert_eq!(nat.translate(Direction::Down, UDP, 40_000, down), Some(40_000));
        }
    }

    #[test]
    fn a_silence_of_the_time_out_loses_the_mapping() {
        for (end, last, gone) in [(UDP, 59, 60), (TCP, 599, 600)] {
            for (after, is_known) in [(last, true), (gone, false)] {
                let mut nat = nat();
                nat.translate(Direction::Up, end, 40_000, at(0));
                let down = nat.translate(Direction::Down, end, 40_000, at(after));
                assert_eq!(down.is_some(), is_known, "{end:?} after {after} s");
            }
        }
    }

    #[test]
    fn a_server_reaches_no_port_that_never_sent() {
        assert_eq!(nat().translate(Direction::Down, UDP, 40_000, at(0)), None);
    }

    #[test]
    fn a_later_mapping_of_tcp_has_another_port() {
        let mut nat = nat();
        nat.translate(Direction::Up, TCP, 40_000, at(0));
        let seen = nat
            .translate(Direction::Up, TCP, 40_000, at(600))
            .expect("a mapping");
        assert_eq!(seen, FIRST_LATER_PORT);
        assert_eq!(nat.translate(Direction::Up, TCP, 40_000, at(601)), Some(seen));
        assert_eq!(nat.translate(Direction::Down, TCP, seen, at(602)), Some(40_000));
        assert_eq!(
            nat.translate(Direction::Down, TCP, 40_000, at(602)),
            None,
            "the old one"
        );
    }

    #[test]
    fn a_later_mapping_of_udp_lets_the_server_answer_again() {
        let mut nat = nat();
        nat.translate(Direction::Up, UDP, 40_000, at(0));
        assert_eq!(nat.translate(Direction::Down, UDP, 40_000, at(60)), None);
        assert_eq!(nat.translate(Direction::Up, UDP, 40_000, at(61)), Some(40_000));
        assert_eq!(nat.translate(Direction::Down, UDP, 40_000, at(62)), Some(40_000));
    }

    #[test]
    fn a_later_mapping_of_udp_has_another_port_where_the_nat_preserves_none() {
        let mut nat = Nat::new(NatTimeouts {
            udp: Some(Duration::from_secs(60)),
            tcp: None,
            port: NatPort::New,
        });
        nat.translate(Direction::Up, UDP, 40_000, at(0));
        let seen = nat
            .translate(Direction::Up, UDP, 40_000, at(60))
            .expect("a mapping");
        assert_eq!(seen, FIRST_LATER_PORT);
        assert_eq!(
            nat.translate(Direction::Down, UDP, 40_000, at(61)),
            None,
            "the old one"
        );
        assert_eq!(nat.translate(Direction::Down, UDP, seen, at(61)), Some(40_000));
        assert_eq!(nat.own_port(UDP, seen), 40_000);
        assert_eq!(nat.own_port(UDP, 40_000), 40_000);
        assert_eq!(nat.own_port(UDP, 5_000), 5_000, "a port without a mapping");
    }

    #[test]
    fn without_a_time_out_nothing_is_forgotten() {
        let mut nat = Nat::new(NatTimeouts::default());
        assert_eq!(nat.translate(Direction::Down, TCP, 1, at(1_000_000)), Some(1));
    }
}
