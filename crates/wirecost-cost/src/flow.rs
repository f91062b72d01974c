//! Which flow of a device a packet belongs to.

use core::fmt;

use wirecost_proto::Direction;

/// The ports of a flow. With the transport they identify the flow among those of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ports {
    /// The device's port.
    pub client: u16,
    /// The server's port.
    pub server: u16,
}

impl Ports {
    /// The flow of a packet that travels in `direction` from port `source` to port `destination`.
    pub const fn of_packet(direction: Direction, source: u16, destination: u16) -> Self {
        match direction {
            Direction::Up => Self {
                client: source,
                server: destination,
            },
            Direction::Down => Self {
                client: destination,
                server: source,
            },
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ports {} (client) and {} (server)", self.client, self.server)
    }
}
