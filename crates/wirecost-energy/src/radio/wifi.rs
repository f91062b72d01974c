//! IEEE 802.11b, g and n in the band of 2.4 GHz, one frame at a time (IEEE 802.11-2020).

use core::time::Duration;

use wirecost_proto::{BitRate, Direction};

use super::Airtime;

wirecost_proto::named! {
    /// The modulation, which determines preamble and symbols.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Modulation {
        /// 802.11b: DSSS and HR/DSSS with the long preamble (clauses 15 and 16).
        B => "802.11b",
        /// 802.11g: OFDM (clauses 17 and 18).
        G => "802.11g",
        /// 802.11n: HT in mixed format, 20 MHz, one stream, long guard interval (clause 19).
        N => "802.11n",
    }
}

/// A Wi-Fi station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wifi {
    /// The modulation of data frames.
    pub modulation: Modulation,
    /// The rate of data frames.
    pub rate: BitRate,
    /// The rate of acknowledgements: a basic rate of the network.
    pub acknowledgement_rate: BitRate,
    /// Bytes around the IP packet: MAC header, encryption, LLC and SNAP, check sequence.
    pub link_bytes: u64,
}

/// Bytes of an acknowledgement (section 9.3.1.4).
const ACKNOWLEDGEMENT_BYTES: u64 = 14;
/// A short interframe space in the band of 2.4 GHz.
const SIFS: Duration = Duration::from_micros(10);
/// Time after an OFDM frame in this band in which nothing is sent (section 18.4.4).
const SIGNAL_EXTENSION: Duration = Duration::from_micros(6);
/// An OFDM symbol with the long guard interval.
const SYMBOL_US: u64 = 4;
/// Bits before and after the data of an OFDM frame: service and tail.
const SERVICE_AND_TAIL_BITS: u64 = 16 + 6;

impl Modulation {
    /// Preamble and header of the physical layer: 144 + 48 us; 16 + 4 us; 8 + 8 + 4 + 8 + 4 + 4 us.
    const fn preamble(self) -> Duration {
        Duration::from_micros(match self {
            Self::B => 192,
            Self::G => 20,
            Self::N => 36,
        })
    }

    /// Listening before a frame: DIFS and the mean of the first contention window.
    fn wait(self) -> Duration {
        let (slot_us, window) = match self {
            Self::B => (20, 31),
            Self::G | Self::N => (9, 15),
        };
        SIFS + Duration::from_micros(2 * slot_us) + Duration::from_nanos(slot_us * window * 500)
    }

    /// The modulation of acknowledgements of frames with this one: HT frames are acknowledged in OFDM.
    const fn of_acknowledgement(self) -> Self {
        match self {
            Self::B => Self::B,
            Self::G | Self::N => Self::G,
        }
    }

    /// The time of some bytes after the preamble.
    fn data(self, rate: BitRate, bytes: u64) -> Duration {
        if self == Self::B {
            // Rounded up to whole microseconds, as the LENGTH field has them.
            return Duration::from_micros((bytes * 8_000_000).div_ceil(rate.bits_per_second()));
        }
        let bits_per_symbol = (rate.bits_per_second() * SYMBOL_US / 1_000_000).max(1);
        let symbols = (SERVICE_AND_TAIL_BITS + bytes * 8).div_ceil(bits_per_symbol);
        Duration::from_micros(symbols * SYMBOL_US)
    }

    /// What the band demands after a frame.
    const fn extension(self) -> Duration {
        match self {
            Self::B => Duration::ZERO,
            Self::G | Self::N => SIGNAL_EXTENSION,
        }
    }
}

impl Wifi {
    /// The airtime of a packet: contention on the way up, the frame, SIFS and the acknowledgement.
    pub(super) fn airtime(&self, direction: Direction, bytes: u64) -> Airtime {
        let answer = self.modulation.of_acknowledgement();
        let acknowledgement = answer.preamble()
            + answer.data(self.acknowledgement_rate, ACKNOWLEDGEMENT_BYTES)
            + answer.extension();
        let contention = match direction {
            Direction::Up => self.modulation.wait(),
            // The access point contends, and the device only listens.
            Direction::Down => Duration::ZERO,
        };
        Airtime {
            wait: contention + SIFS,
            preamble: self.modulation.preamble() + self.modulation.extension(),
            data: self.modulation.data(self.rate, bytes + self.link_bytes),
            link_bytes: self.link_bytes,
            reply: acknowledgement,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn micros(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    fn station(modulation: Modulation, rate: &str, acknowledgement: &str, link_bytes: u64) -> Wifi {
        Wifi {
            modulation,
            rate: rate.parse().expect("a rate"),
            acknowledgement_rate: acknowledgement.parse().expect("a rate"),
            link_bytes,
        }
    }

    #[test]
    fn an_802_11b_frame_is_as_long_as_computed_by_hand() {
        // 24 + 8 + 4 B around 100 B: 136 B at 1 Mbit/s, and 14 B for the acknowledgement.
        let airtime = station(Modulation::B, "1Mbit", "1Mbit", 36).airtime(Direction::Up, 100);
        assert_eq!((airtime.preamble, airtime.data), (micros(192), micros(1_088)));
        assert_eq!(airtime.reply, micros(192 + 112));
        // DIFS 50 us, 15.5 slots of 20 us, SIFS 10 us.
        assert_eq!(airtime.wait, micros(50 + 310 + 10));
    }

    #[test]
    fn an_802_11g_frame_has_whole_symbols() {
        // 216 bits per symbol; 16 + 136 x 8 + 6 = 1,110 bits are 6 symbols. The acknowledgement: 134 bits, 96 per symbol.
        let airtime = station(Modulation::G, "54Mbit", "24Mbit", 36).airtime(Direction::Up, 100);
        assert_eq!((airtime.preamble, airtime.data), (micros(20 + 6), micros(24)));
        assert_eq!(airtime.reply, micros(20 + 8 + 6));
        // DIFS 28 us, 7.5 slots of 9 us, SIFS 10 us.
        assert_eq!(airtime.wait, Duration::from_nanos(105_500));
    }

    #[test]
    fn an_802_11n_frame_has_the_mixed_preamble() {
        // 260 bits per symbol at MCS 7; 26 + 8 + 4 B around 100 B: 16 + 138 x 8 + 6 = 1,126 bits are 5 symbols.
        let airtime = station(Modulation::N, "65Mbit", "24Mbit", 38).airtime(Direction::Down, 100);
        assert_eq!((airtime.preamble, airtime.data), (micros(36 + 6), micros(20)));
        assert_eq!((airtime.wait, airtime.reply), (micros(10), micros(34)));
    }
}
