//! Which end of a flow is the client.

use std::net::SocketAddr;

use wirecost_wire::tcp::Flags;

use crate::datagram;
use crate::sender::Sender;
use crate::stream::opening;

/// Ports of servers whose protocol this crate knows.
const SERVER_PORTS: [u16; 14] = [
    9, 80, 443, 1883, 4433, 5671, 5672, 5683, 5684, 8000, 8080, 8443, 8883, 10_009,
];

/// Client and server.
type Ends = (SocketAddr, SocketAddr);

/// Client and server of a connection, from its first packet: the sender of a SYN is the client.
pub(crate) fn of_connection(
    source: SocketAddr,
    destination: SocketAddr,
    flags: Flags,
    content: &[u8],
) -> Ends {
    if !flags.contains(Flags::SYN) {
        return by_content(source, destination, opening::sender(content), &SERVER_PORTS);
    }
    if flags.contains(Flags::ACK) {
        (destination, source)
    } else {
        (source, destination)
    }
}

/// Client and server of datagrams, from the first one.
pub(crate) fn of_datagrams(source: SocketAddr, destination: SocketAddr, content: &[u8]) -> Ends {
    let (sender, ports) = datagram::sender([source.port(), destination.port()], content);
    by_content(source, destination, sender, ports)
}

/// Client and server, if only the ports are known.
pub(crate) fn of_ports(source: SocketAddr, destination: SocketAddr) -> Ends {
    by_port(source, destination)
}

/// Client and server. If one end alone has a port that belongs to the protocol's servers, it is the server: a server of LwM2M
/// sends requests too. Otherwise the content tells, and if it does not, the ports.
fn by_content(source: SocketAddr, destination: SocketAddr, sender: Option<Sender>, ports: &[u16]) -> Ends {
    let has_port = |end: SocketAddr| ports.contains(&end.port());
    if has_port(source) != has_port(destination) {
        return if has_port(source) {
            (destination, source)
        } else {
            (source, destination)
        };
    }
    match sender {
        Some(Sender::Client) => (source, destination),
        Some(Sender::Server) => (destination, source),
        None => by_port(source, destination),
    }
}

/// Client and server by port. The server has a known port, or else the lower port. With equal ports, the first sender
/// is the client.
fn by_port(source: SocketAddr, destination: SocketAddr) -> Ends {
    let rank = |end: SocketAddr| (!SERVER_PORTS.contains(&end.port()), end.port());
    if rank(source) < rank(destination) {
        (destination, source)
    } else {
        (source, destination)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(content: &[u8], source: u16, destination: u16) -> u16 {
        let end = |port| SocketAddr::from(([10, 0, 0, 1], port));
        of_datagrams(end(source), end(destination), content).0.port()
    }

    #[test]
    fn the_content_of_a_datagram_tells_client_and_server() {
        let (get, content, ping) = (b"\x42\x01\0\x01ab", b"\x52\x45\0\x02ab", b"\x40\0\0\x01");
        let table: [(&[u8], u16, u16, u16); 12] = [
            (get, 50_000, 61_616, 50_000),
            (get, 61_616, 50_000, 61_616),
            (content, 61_616, 50_000, 50_000),
            (content, 50_000, 61_616, 61_616),
            (get, 5_683, 5_683, 5_683),
            // One end alone has a port of servers of CoAP.
            (get, 5_683, 50_000, 50_000),
            (content, 50_000, 5_683, 50_000),
            // A port of other servers says nothing about CoAP.
            (get, 8_080, 61_616, 8_080),
            // A ping says nothing: the lower port is the server's.
            (ping, 50_000, 61_616, 61_616),
            // ClientHello and ServerHello of DTLS.
            (
                b"\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\x20\x01\0\0",
                50_000,
                61_616,
                50_000,
            ),
            (
                b"\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\x20\x02\0\0",
                50_000,
                61_616,
                61_616,
            ),
            (b"unknown", 50_000, 61_616, 61_616),
        ];
        for (content, source, destination, expected) in table {
            assert_eq!(
                client(content, source, destination),
                expected,
                "{content:?} {source} {destination}"
            );
        }
    }

    #[test]
    fn the_content_of_a_connection_without_a_syn_tells_client_and_server() {
        let end = |port| SocketAddr::from(([10, 0, 0, 1], port));
        let table: [(&[u8], u16); 7] = [
            (b"GET / HTTP/1.1\r\n", 40_000),
            (b"HTTP/1.1 200 OK\r\n", 50_000),
            (b"\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04", 40_000),
            (b"\x20\x02\0\0", 50_000),
            (b"\x16\x03\x01\0\x20\x01\0\0\x1c", 40_000),
            (b"\x16\x03\x03\0\x20\x02\0\0\x1c", 50_000),
            (b"", 50_000),
        ];
        for (content, client) in table {
            let (found, _) = of_connection(end(40_000), end(50_000), Flags::ACK, content);
            assert_eq!(found.port(), client, "{content:?}");
        }
    }
}
