//! The results of a probe, for a reader and for a program.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Serializer;
use serde::ser::SerializeMap;
pub use wirecost_cost::Traffic;
use wirecost_proto::{BothWays, Layer};

use super::account::Account;
use super::event::Fact;
use super::failure::Failure;
use super::notes::{Mark, Notes, Step};
use super::options::Options;

/// The time and the cost of one step.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct StepReport {
    /// The step.
    pub step: Step,
    /// Its time.
    #[serde(rename = "time_ns", serialize_with = "crate::failure::nanos")]
    pub time: Duration,
    /// Round trips on its critical path, where packets were captured.
    pub round_trips: Option<f64>,
    /// Device to server.
    #[serde(serialize_with = "write_traffic")]
    pub up: Traffic,
    /// Server to device.
    #[serde(serialize_with = "write_traffic")]
    pub down: Traffic,
}

/// The results of a probe.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Report {
    /// Version of this format.
    pub schema: u32,
    /// The URL, without user and password.
    pub url: String,
    /// The server's address.
    pub address: Option<SocketAddr>,
    /// The interface that sent and received the packets, where they were captured.
    pub interface: Option<String>,
    /// Whether packets were captured, so that headers are counted.
    pub captured: bool,
    /// Whether the server's certificate was not checked.
    pub insecure: bool,
    /// The time-out of each step.
    #[serde(rename = "timeout_ns", serialize_with = "crate::failure::nanos")]
    pub timeout: Duration,
    /// The steps, in order.
    pub steps: Vec<StepReport>,
    /// The sum of the measured connection: every step except the ticket.
    pub total: StepTotal,
    /// What the server said.
    pub facts: Vec<Fact>,
    /// Reasons to check the figures before you use them.
    pub warnings: Vec<String>,
    /// Why the probe failed, if it did.
    pub failure: Option<Failure>,
}

/// The sum of a connection's steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct StepTotal {
    /// Time.
    #[serde(rename = "time_ns", serialize_with = "crate::failure::nanos")]
    pub time: Duration,
    /// Device to server.
    #[serde(serialize_with = "write_traffic")]
    pub up: Traffic,
    /// Server to device.
    #[serde(serialize_with = "write_traffic")]
    pub down: Traffic,
}

/// Packets, and bytes by layer.
fn write_traffic<S: Serializer>(traffic: &Traffic, to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(None)?;
    map.serialize_entry("packets", &traffic.packets())?;
    for layer in Layer::ALL {
        map.serialize_entry(layer.name(), &traffic.bytes(layer))?;
    }
    map.end()
}

/// The version of the report's format.
pub const SCHEMA: u32 = 1;

impl Report {
    /// The report of a probe that has not begun.
    pub(super) fn new(options: &Options) -> Self {
        let insecure = options.url.scheme.is_secure()
            && options.psk.is_none()
            && options.trusted == super::options::Trust::Anyone;
        Self {
            schema: SCHEMA,
            url: options.url.to_string(),
            address: None,
            interface: None,
            captured: false,
            insecure,
            timeout: options.timeout,
            steps: Vec::new(),
            total: StepTotal::default(),
            facts: Vec::new(),
            warnings: Vec::new(),
            failure: None,
        }
    }

    /// Adds a step to the report and to the total.
    pub(super) fn push(&mut self, step: StepReport) {
        if step.step != Step::Ticket {
            self.total.time += step.time;
            self.total.up += &step.up;
            self.total.down += &step.down;
        }
        self.steps.push(step);
    }
}

/// The steps that began, with their times and costs.
pub(super) fn steps(notes: &Notes, account: &Account) -> Vec<StepReport> {
    let ended = notes.ended.unwrap_or_default();
    let marks = &notes.marks;
    let next = |index: usize| marks.get(index + 1);
    let report = |(index, mark): (usize, &Mark)| {
        let cost = &account.steps[mark.step as usize];
        let end = next(index).map_or(ended, |next| next.at);
        // A flow of datagrams has no close: after the last datagram the client only waits.
        let end = match (mark.step, cost.last_packet) {
            (Step::Close, Some(last)) => last.max(mark.at).min(end),
            _ => end,
        };
        let BothWays { up, down } = cost.ways;
        StepReport {
            step: mark.step,
            time: end.saturating_since(mark.at),
            round_trips: cost.round_trips,
            up,
            down,
        }
    };
    // With early data the message leaves with the first flight, and the handshake has no flight of its own.
    let has_own = |index: usize, mark: &Mark| {
        mark.step != Step::Security || next(index).is_none_or(|next| next.position != mark.position)
    };
    let steps = marks
        .iter()
        .enumerate()
        .filter(|(index, mark)| has_own(*index, mark))
        .map(report);
    // A close that sends nothing is not a step.
    let is_empty = |step: &StepReport| step.up.wire_bytes() + step.down.wire_bytes() == 0;
    steps
        .filter(|step| step.step != Step::Close || !is_empty(step))
        .collect()
}
