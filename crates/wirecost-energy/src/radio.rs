//! How long a packet occupies the radio or the wire.

pub mod nbiot;
pub mod wifi;

use core::time::Duration;

use wirecost_proto::{BitRate, Direction};

pub use nbiot::NbIot;
pub use wifi::{Modulation, Wifi};

/// How a device sends and receives packets.
#[derive(Clone, Debug, PartialEq)]
pub enum Radio {
    /// IEEE 802.11 in the band of 2.4 GHz.
    Wifi(Wifi),
    /// IEEE 802.3, full duplex.
    Ethernet(Ethernet),
    /// A cellular link with a rate in each direction.
    Cellular(Cellular),
    /// NB-IoT by resource units and repetitions.
    NbIot(NbIot),
}

/// IEEE 802.3, full duplex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet {
    /// The rate of the wire.
    pub rate: BitRate,
}

/// A cellular link that is described by its rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cellular {
    /// The rate from the device.
    pub up: BitRate,
    /// The rate to the device.
    pub down: BitRate,
    /// Bytes of the headers below IP, for each packet.
    pub link_bytes: u64,
    /// How long the device listens for a grant before it sends a packet.
    pub grant: Duration,
}

/// How long one packet occupies the radio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Airtime {
    /// Listening before the first bit: for the medium, for a grant.
    pub wait: Duration,
    /// Preamble and other parts without bytes, sent or received like the bytes.
    pub preamble: Duration,
    /// The bytes of the frame.
    pub data: Duration,
    /// Bytes of the frame that are not of the IP packet; `data` is shared by bytes.
    pub link_bytes: u64,
    /// The acknowledgement of the link, in the other direction.
    pub reply: Duration,
}

impl Airtime {
    /// All of it.
    pub fn total(&self) -> Duration {
        self.wait + self.preamble + self.data + self.reply
    }
}

impl Radio {
    /// The airtime of an IP packet of `bytes` bytes.
    pub fn airtime(&self, direction: Direction, bytes: u64) -> Airtime {
        match self {
            Self::Wifi(wifi) => wifi.airtime(direction, bytes),
            Self::Ethernet(ethernet) => ethernet.airtime(bytes),
            Self::Cellular(cellular) => cellular.airtime(direction, bytes),
            Self::NbIot(nbiot) => nbiot.airtime(direction, bytes),
        }
    }
}

impl Ethernet {
    /// Preamble and start of frame (IEEE 802.3 section 3.1.1).
    const PREAMBLE_BYTES: u64 = 8;
    /// Addresses, type and check sequence.
    const HEADER_BYTES: u64 = 18;
    /// The shortest frame, padded (section 4A.2.3.2.4).
    const MIN_FRAME_BYTES: u64 = 64;
    /// The gap between frames.
    const GAP_BYTES: u64 = 12;

    fn airtime(&self, bytes: u64) -> Airtime {
        let frame = (bytes + Self::HEADER_BYTES).max(Self::MIN_FRAME_BYTES);
        Airtime {
            wait: Duration::ZERO,
            preamble: self.rate.time_for(Self::PREAMBLE_BYTES + Self::GAP_BYTES),
            data: self.rate.time_for(frame),
            link_bytes: frame - bytes,
            reply: Duration::ZERO,
        }
    }
}

impl Cellular {
    fn airtime(&self, direction: Direction, bytes: u64) -> Airtime {
        let (rate, wait) = match direction {
            Direction::Up => (self.up, self.grant),
            Direction::Down => (self.down, Duration::ZERO),
        };
        Airtime {
            wait,
            preamble: Duration::ZERO,
            data: rate.time_for(bytes + self.link_bytes),
            link_bytes: self.link_bytes,
            reply: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ethernet_frame_has_its_preamble_its_padding_and_its_gap() {
        let wire = Radio::Ethernet(Ethernet {
            rate: "100Mbit".parse().expect("a rate"),
        });
        // 40 B are padded to a frame of 64 B: (8 + 64 + 12) x 8 / 100 Mbit/s.
        let short = wire.airtime(Direction::Up, 40);
        assert_eq!(short.total(), Duration::from_nanos(6_720));
        assert_eq!(short.link_bytes, 24);
        // A whole packet of 1,500 B: (8 + 1,518 + 12) x 8 / 100 Mbit/s.
        let long = wire.airtime(Direction::Down, 1_500);
        assert_eq!(long.total(), Duration::from_nanos(123_040));
    }

    #[test]
    fn a_cellular_packet_waits_for_its_grant_on_the_way_up() {
        let radio = Radio::Cellular(Cellular {
            up: "100kbit".parse().expect("a rate"),
            down: "200kbit".parse().expect("a rate"),
            link_bytes: 5,
            grant: Duration::from_millis(10),
        });
        let up = radio.airtime(Direction::Up, 120);
        assert_eq!(
            (up.wait, up.data),
            (Duration::from_millis(10), Duration::from_millis(10))
        );
        let down = radio.airtime(Direction::Down, 120);
        assert_eq!((down.wait, down.data), (Duration::ZERO, Duration::from_millis(5)));
    }
}
