//! The report of a capture as pages show it, read from what `wirecost pcap --json` writes or from the `report` of `link.json`.
//!
//! The file may be a stranger's: every figure that a page shows is there, and small enough that sums of two are exact.

use serde::{Deserialize, Deserializer, Serialize};
use wirecost_proto::Cause;

/// The largest figure: beyond it, not every whole number is one of the charts'.
const MOST: u64 = 1 << 53;

/// What a page shows of a capture.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CaptureShown {
    /// All connections together.
    pub(crate) total: Phases,
    /// The bytes as a sniffer counts them.
    #[serde(default)]
    frames: Option<Frames>,
    /// By server and protocol.
    pub(crate) groups: Vec<Group>,
    /// What could not be attributed.
    unattributed: Vec<Unattributed>,
}

/// Bytes and packets by phase.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Phases {
    pub(crate) all: Section,
    pub(crate) connect: Section,
    pub(crate) message: Section,
    pub(crate) keep_alive: Section,
    pub(crate) close: Section,
}

/// Bytes and packets of both directions.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Section {
    pub(crate) up: Way,
    pub(crate) down: Way,
}

/// Packets, bytes by layer, bytes of whole IP packets, and bytes by cause.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Way {
    packets: Count,
    ip: Count,
    transport: Count,
    security: Count,
    application: Count,
    pub(crate) payload: Count,
    pub(crate) wire: Count,
    original: Count,
    acknowledgement: Count,
    retransmission: Count,
    probe: Count,
}

/// The flows of one protocol to one server.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Group {
    pub(crate) server: Option<String>,
    transport: String,
    protocol: String,
    pub(crate) flows: Count,
    pub(crate) all: Section,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Frames {
    framing: String,
    header_bytes: Count,
    #[serde(deserialize_with = "mean")]
    up: f64,
    #[serde(deserialize_with = "mean")]
    down: f64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Unattributed {
    what: String,
    why: String,
    packets: Count,
    bytes: Count,
}

/// A number of bytes, packets or flows.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(try_from = "u64", into = "u64")]
pub(crate) struct Count(u64);

/// A figure that no capture has.
#[derive(Debug, thiserror::Error)]
#[error("{0} is more than any capture has")]
pub(crate) struct TooLarge(u64);

impl TryFrom<u64> for Count {
    type Error = TooLarge;

    fn try_from(value: u64) -> Result<Self, TooLarge> {
        match value <= MOST {
            true => Ok(Self(value)),
            false => Err(TooLarge(value)),
        }
    }
}

impl From<Count> for u64 {
    fn from(count: Count) -> Self {
        count.0
    }
}

/// A number of bytes that may have decimals.
fn mean<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(from)?;
    match (0.0..=MOST as f64).contains(&value) {
        true => Ok(value),
        false => Err(serde::de::Error::custom(format_args!(
            "{value} is no number of bytes that a capture has"
        ))),
    }
}

impl CaptureShown {
    /// How many entries its longest list has.
    pub fn longest_list(&self) -> usize {
        self.groups.len().max(self.unattributed.len())
    }

    /// IP bytes of the longest bar.
    pub(crate) fn largest(&self) -> u64 {
        let Phases {
            all: _,
            connect,
            message,
            keep_alive,
            close,
        } = &self.total;
        let sections = [connect, message, keep_alive, close].into_iter();
        let ways = sections.flat_map(|section| [section.up, section.down]);
        // Bars are shares of it: a capture without a packet must not divide by zero.
        ways.map(|way| way.wire.get()).max().unwrap_or(0).max(1)
    }
}

impl Section {
    /// IP bytes of both directions.
    pub(crate) const fn wire(&self) -> u64 {
        self.up.wire.get().saturating_add(self.down.wire.get())
    }
}

impl Way {
    /// Its bytes of a cause.
    pub(crate) const fn of_cause(&self, cause: Cause) -> u64 {
        let count = match cause {
            Cause::Original => self.original,
            Cause::Acknowledgement => self.acknowledgement,
            Cause::Retransmission => self.retransmission,
            Cause::Probe => self.probe,
        };
        count.get()
    }
}

impl Count {
    pub(crate) const fn get(self) -> u64 {
        self.0
    }
}
