//! Physical bounds on published figures.
//!
//! - a time is at least `flights x RTT + bytes x 8 / rate`
//! - an energy is at least `power x airtime`, or `power x bits / rate`, or the `energy` of a given part
//! - transport headers take at least `segments x (1480 B - MSS)`: 20 B of TCP and its options, in packets of 1500 B
//! - a rate is at most `messages in flight / time`, or `rate of the link / bytes of a message`
//! - the bytes of a message are at least its payload

use crate::amount::{Amount, Dimension, Published};

/// Bytes of an IP packet on Ethernet without its IPv4 header.
const PACKET_BYTES_ABOVE_IP: f64 = 1_480.0;

/// A bound on a published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The least, or most, possible figure.
    pub amount: Amount,
    /// Whether the bound is the most possible figure.
    pub is_upper: bool,
    /// How it comes about: `SYN, ClientHello, CONNECT, PUBLISH: 4 x 100 ms`.
    pub text: String,
    /// Its exchanges, of a bound on a time.
    pub flights: Vec<Flight>,
    /// Whether it follows from other numbers of the publication: what is beyond it contradicts these, and no law of nature.
    pub is_of_numbers: bool,
}

impl Bound {
    /// One round trip for each of these exchanges, and the time that the bytes need at the rate of the link.
    pub fn time(flights: &[Flight], rtt: Amount, serialisation: Option<Amount>) -> Self {
        let count: u32 = flights.iter().map(|flight| flight.count).sum();
        let names: Vec<String> = flights.iter().map(Flight::to_text).collect();
        let trips = rtt * f64::from(count);
        // On a link without a rate bytes take no time.
        let more = serialisation.filter(|time| time.value > 0.0);
        let text = format!("{}: {count} x {rtt}", names.join(", "));
        Self {
            amount: Amount::seconds(trips.value + more.map_or(0.0, |time| time.value)),
            is_upper: false,
            flights: flights.to_vec(),
            is_of_numbers: false,
            text: more.map_or_else(|| text.clone(), |time| format!("{text} + {time} on the link")),
        }
    }

    /// An energy of this power over this time.
    pub fn energy(power: Amount, time: Amount) -> Self {
        Self {
            amount: power * time,
            is_upper: false,
            flights: Vec::new(),
            is_of_numbers: false,
            text: format!("{power} for {time}"),
        }
    }

    /// The TCP headers of this number of segments.
    pub fn headers(segments: f64, mss_bytes: f64) -> Self {
        let each = PACKET_BYTES_ABOVE_IP - mss_bytes;
        Self {
            amount: Amount::new(segments * each * 8.0, Dimension::DATA),
            is_upper: false,
            flights: Vec::new(),
            is_of_numbers: false,
            text: format!("{segments} segments x {each} B of header"),
        }
    }

    /// The rate of a closed loop.
    pub fn rate(inflight: f64, time: Amount) -> Self {
        Self {
            amount: Amount::new(inflight / time.value, Dimension::RATE),
            is_upper: true,
            flights: Vec::new(),
            is_of_numbers: false,
            text: format!("{inflight} in flight / {time}"),
        }
    }

    /// The messages of this size that a link carries at this rate.
    pub fn throughput(rate: Amount, bytes: Amount) -> Self {
        Self {
            amount: rate / bytes,
            is_upper: true,
            flights: Vec::new(),
            is_of_numbers: false,
            text: format!("{rate} / {bytes}"),
        }
    }

    /// The payload itself.
    pub fn payload(bytes: Amount) -> Self {
        Self {
            amount: bytes,
            is_upper: false,
            flights: Vec::new(),
            is_of_numbers: false,
            text: format!("{bytes} of payload"),
        }
    }

    /// Whether a published number cannot be, at the generous end of its last digit.
    pub fn excludes(&self, published: &Published) -> bool {
        let half = published.half_digit;
        match self.is_upper {
            true => published.amount.value - half > self.amount.value,
            false => published.amount.value + half < self.amount.value,
        }
    }
}

/// Exchanges that each take a round trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The message that begins the exchange: `ClientHello`.
    pub name: String,
    /// How many such exchanges follow one another.
    pub count: u32,
}

impl Flight {
    /// Reads `ClientHello`, or `block x 10`.
    pub fn read(text: &str) -> Self {
        let counted = text
            .rsplit_once(" x ")
            .and_then(|(name, count)| Some((name.trim(), count.trim().parse().ok()?)));
        let (name, count) = counted.unwrap_or((text.trim(), 1));
        Self {
            name: name.to_owned(),
            count,
        }
    }

    fn to_text(&self) -> String {
        match self.count {
            1 => self.name.clone(),
            count => format!("{} x {count}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(text: &str) -> Published {
        Published::read(text).expect(text)
    }

    #[test]
    fn a_time_is_bound_by_its_round_trips() {
        let flights = ["SYN", "ClientHello", "CONNECT", "PUBLISH"].map(Flight::read);
        let bound = Bound::time(&flights, Amount::seconds(0.1), None);
        assert_eq!(bound.amount.to_string(), "400 ms");
        assert_eq!(bound.text, "SYN, ClientHello, CONNECT, PUBLISH: 4 x 100 ms");
        assert!(bound.excludes(&published("101.2ms")) && !bound.excludes(&published("412.6ms")));
        let blocks = Bound::time(&[Flight::read("block x 10")], Amount::seconds(0.005), None);
        assert!(blocks.excludes(&published("14.2ms")));
        assert_eq!(blocks.text, "block x 10: 10 x 5 ms");
    }

    #[test]
    fn the_last_digit_is_taken_at_its_generous_end() {
        let bound = Bound::time(&[Flight::read("GET")], Amount::seconds(0.1), None);
        assert!(!bound.excludes(&published("100ms")) && bound.excludes(&published("99.96ms")));
        assert!(!bound.excludes(&published("0.1s")) && bound.excludes(&published("99.9ms")));
    }

    #[test]
    fn energy_headers_rates_and_payloads_have_bounds() {
        let airtime = Bound::energy(Amount::new(0.495, Dimension::POWER), Amount::seconds(170e-6));
        assert!(airtime.excludes(&published("1.8uJ")) && !airtime.excludes(&published("85uJ")));
        let headers = Bound::headers(691.0, 1_448.0);
        assert_eq!(headers.amount.to_string(), "22,112 B");
        let rate = Bound::rate(1.0, Amount::seconds(0.108));
        assert!(rate.excludes(&published("10/s")) && !rate.excludes(&published("9/s")));
        let payload = Bound::payload(published("128B").amount);
        assert!(payload.excludes(&published("100B")));
    }
}
