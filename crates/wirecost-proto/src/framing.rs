//! Bytes as a sniffer counts them: each packet with the header of its link layer.
//!
//! A frame has neither the check sequence nor the padding of short Ethernet frames: a capture on the sending host has neither.

crate::named! {
    /// The link layer that a capture would have been made on.
    ///
    /// Named as in files and flags.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Framing {
        /// IP packets alone.
        #[default]
        None => "none",
        /// Ethernet II.
        Ethernet => "ethernet",
        /// Wi-Fi with WPA2.
        Wifi => "wifi",
    }
}

/// Ethernet II (IEEE 802.3-2022, 3.1.1): two addresses and the EtherType.
const ETHERNET: u64 = 6 + 6 + 2;
/// IEEE 802.11-2020: a QoS data frame's header of frame control, duration, three addresses, sequence control and QoS control (9.3.2.1);
/// the header and the check of CCMP with a key of 128 bits (12.5.3.2); LLC and SNAP around the EtherType (RFC 1042).
const WIFI: u64 = (2 + 2 + 3 * 6 + 2 + 2) + (8 + 8) + 8;

impl Framing {
    /// The bytes of a packet's frame beside the packet; `None` where there are no frames.
    pub const fn header_bytes(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Ethernet => Some(ETHERNET),
            Self::Wifi => Some(WIFI),
        }
    }

    /// The bytes of the frames of these packets, whose IP bytes are `wire`; `None` where there are no frames. Sums and means alike.
    pub fn frame_bytes(self, packets: f64, wire: f64) -> Option<f64> {
        let header = self.header_bytes()?;
        Some(wire + packets * header as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_its_packet_and_the_header_of_its_link_layer() {
        // Six packets of 591 B, as a sniffer on Ethernet shows them.
        assert_eq!(Framing::Ethernet.frame_bytes(6.0, 591.0), Some(675.0));
        assert_eq!(Framing::Wifi.frame_bytes(6.0, 591.0), Some(891.0));
        assert_eq!(Framing::None.frame_bytes(6.0, 591.0), None);
    }

    #[test]
    fn every_framing_has_the_name_that_it_is_read_by() {
        for (framing, name) in Framing::ALL.into_iter().zip(Framing::NAMES) {
            assert_eq!((framing.name(), name.parse()), (name, Ok(framing)));
        }
        assert!("Ethernet".parse::<Framing>().is_err());
    }
}
