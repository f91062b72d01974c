//! `ladder.json`: every packet of one device's connect and first message, on one time axis.

use serde::{Deserialize, Serialize};

use crate::nbiot::sequence::AirTransmission;

/// The packets of one device of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// Index of the cell in `summary.json`; absent in the files of cells, and in folders of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<u64>,
    /// Name of the stack.
    pub stack: String,
    /// How its connection starts.
    pub start: String,
    /// Payload of its message in bytes.
    pub payload_bytes: u64,
    /// The link as text, e.g. `rtt 25ms`.
    pub link: String,
    /// Packets in the order they entered the link.
    pub packets: Vec<LadderPacket>,
    /// In a modelled NB-IoT cell, what was on the air from the first packet until the next message. Times count from the first
    /// packet, settle times included. Absent on an emulated link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub air: Vec<AirTransmission>,
}

/// One packet. Times count from the first packet of the ladder, settle times cut out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LadderPacket {
    /// `up` or `down`.
    pub direction: String,
    /// When it entered the link.
    pub sent_ns: u64,
    /// When its first intact copy left the link; null for a lost packet.
    pub delivered_ns: Option<u64>,
    /// `connect` or `message`.
    pub phase: String,
    /// `original`, `acknowledgement`, `retransmission` or `probe`.
    pub cause: String,
    /// `delivered`, `lost`, ...
    pub fate: String,
    /// Its content: TCP flags, the messages that begin in it, fragment, ...
    pub label: String,
    /// Its flight, counted from 1 along the critical path; 0 in folders of older versions.
    #[serde(default)]
    pub flight: u32,
    /// IP header bytes.
    pub ip: u64,
    /// TCP or UDP header bytes.
    pub transport: u64,
    /// Security bytes.
    pub security: u64,
    /// Application protocol bytes.
    pub application: u64,
    /// Payload bytes.
    pub payload: u64,
}
