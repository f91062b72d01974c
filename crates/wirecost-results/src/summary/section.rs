//! The figures of one phase over all samples: times, bytes, causes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The figures of one phase over all samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Section {
    /// Devices that reached the end of this phase.
    pub samples: u64,
    /// What ends the response time: `to_ack`, `to_reply` or `to_arrival`; empty where the phase has none.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::ResponseKind"))]
    pub response_kind: String,
    /// From the intended start to the end of the phase, in nanoseconds.
    pub response_time_ns: Option<Times>,
    /// From the actual start to the end of the phase, in nanoseconds.
    pub service_time_ns: Option<Times>,
    /// From the actual send to the link's delivery of the last byte at the server, in nanoseconds.
    pub one_way_delay_ns: Option<Times>,
    /// Flights on the critical path / 2; null under loss and where devices differ.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub round_trips: Option<f64>,
    /// Payload bits / time to arrival, in bit/s: mean over samples.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub goodput_bps: Option<f64>,
    /// (wire bytes both ways - payload) / payload, without unit; null without payload.
    pub header_ratio: Option<f64>,
    /// 95 % interval of the mean wire bytes of a sample, both directions; equal ends where every sample has the same; absent where
    /// there are too few samples for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_ci95: Option<[f64; 2]>,
    /// From the device to the server.
    pub up: Bytes,
    /// From the server to the device.
    pub down: Bytes,
    /// Wire bytes by cause: mean per sample and direction.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "BTreeMap<crate::words::Cause, CauseBytes>")
    )]
    pub by_cause: BTreeMap<String, CauseBytes>,
}

/// Quantities of time over samples, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Times {
    /// Samples.
    pub n: u64,
    /// Arithmetic mean, in nanoseconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub mean: f64,
    /// 95 % interval of the mean in nanoseconds, low and high, not symmetric; null where there are too few samples for their
    /// skewness (`low_n` names `mean`) or where they depend on each other, as in fleets and loads.
    pub ci95: Option<[f64; 2]>,
    /// Median, in nanoseconds; null where there are too few samples.
    pub p50: Option<u64>,
    /// 90th percentile, in nanoseconds; null where there are too few samples.
    pub p90: Option<u64>,
    /// 95th percentile, in nanoseconds; null where there are too few samples.
    pub p95: Option<u64>,
    /// 99th percentile, in nanoseconds; null where there are too few samples.
    pub p99: Option<u64>,
    /// 99.9th percentile, in nanoseconds, from 10,000 samples on; absent below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999: Option<u64>,
    /// Smallest, in nanoseconds.
    pub min: u64,
    /// Largest, in nanoseconds.
    pub max: u64,
    /// Order-statistic 95 % interval of each printed quantile in nanoseconds, low and high; null where the sample has none.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "BTreeMap<crate::words::Quantile, Option<[u64; 2]>>")
    )]
    pub quantile_ci95: BTreeMap<String, Option<[u64; 2]>>,
    /// Quantiles printed from fewer than ten samples beyond them, and `mean` where there are too few for an interval.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::FigureOfFewSamples>"))]
    pub low_n: Vec<String>,
}

/// Packets and bytes of one direction, per sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bytes {
    /// IP packets.
    pub packets: Count,
    /// IP headers, in bytes.
    pub ip: Count,
    /// TCP and UDP headers, in bytes.
    pub transport: Count,
    /// TLS, DTLS, OSCORE, protected objects, in bytes.
    pub security: Count,
    /// The application protocol's own bytes.
    pub application: Count,
    /// The payload that the user gave, in bytes.
    pub payload: Count,
    /// Their sum: the bytes of the IP packets.
    pub wire: Count,
}

/// A count over samples, in the unit of its field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Count {
    /// Arithmetic mean per sample.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub mean: f64,
    /// Sum over samples.
    pub sum: u64,
    /// Smallest of a sample.
    pub min: u64,
    /// Largest of a sample.
    pub max: u64,
}

/// Wire bytes of one cause per sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseBytes {
    /// From the device to the server: mean bytes per sample.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub up: f64,
    /// From the server to the device: mean bytes per sample.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub down: f64,
}

impl Bytes {
    /// The same with each mean multiplied by `factor`.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        let mut scaled = self.clone();
        let Self {
            packets,
            ip,
            transport,
            security,
            application,
            payload,
            wire,
        } = &mut scaled;
        for count in [packets, ip, transport, security, application, payload, wire] {
            count.mean *= factor;
        }
        scaled
    }
}

impl CauseBytes {
    pub(super) fn scaled(self, factor: f64) -> Self {
        Self {
            up: self.up * factor,
            down: self.down * factor,
        }
    }
}
