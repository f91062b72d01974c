//! From packets and notes to the measurements of each device.
//!
//! 1. Every device has a ledger, which receives the spans that the endpoints reported for their bytes.
//! 2. The recorded packets go through their device's ledger in the order of entry into the link. Each packet counts in
//!    its phase, and in the message during which it entered.
//! 3. Deliveries give the arrivals of messages, and their sequence gives the flights.

mod account;
mod agreement;
mod arrivals;
mod counted;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use wirecost_cost::{PacketVerdict, Traffic};
use wirecost_live::recorder::{Recorded, deliveries};
use wirecost_proto::driver::{DeviceReport, FlowReport};
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::record::{Record, RecordedPacket};
use wirecost_proto::{BothWays, Buffer, Direction, Instant, Span};
use wirecost_scenario::plan::{Plan, PlannedCell};

use super::sampler::Sampler;
use account::{Account, ServerFlows};
pub use counted::{Counted, Shares};

/// One packet of a device: which way it went, and when.
#[derive(Clone, Debug)]
pub struct SeenPacket {
    /// Which way.
    pub direction: Direction,
    /// When it entered the link.
    pub entered: Instant,
    /// When it, or its first intact copy, left the link.
    pub delivered: Option<Instant>,
}

/// The measurements of one device.
#[derive(Debug)]
pub struct DeviceMeasurement {
    /// Index of its cell.
    pub cell: usize,
    /// Index of its sample.
    pub sample: u32,
    /// Its notes.
    pub report: DeviceReport<Sampler>,
    /// The connect phase's traffic of the first measured connection.
    pub connect: BothWays<Traffic>,
    /// That of each later connection, which the device made because the one before it had ended.
    pub reconnects: Vec<BothWays<Traffic>>,
    /// The warm-up message and then the measured ones.
    pub messages: Vec<BothWays<Traffic>>,
    /// The traffic of keep-alive.
    pub keep_alive: BothWays<Traffic>,
    /// The traffic of the close.
    pub close: BothWays<Traffic>,
    /// When the link delivered the last payload byte of each message.
    pub arrivals: Vec<Option<Instant>>,
    /// The traffic of the connection that got the ticket for the measured one.
    pub ticket: BothWays<Traffic>,
    /// Round trips of the connect, if the capture contains its end.
    pub connect_round_trips: Option<f64>,
    /// Round trips from the start of the connect until the answer to the first message, or its arrival if nothing
    /// answers. The settle in between does not count.
    pub first_message_round_trips: Option<f64>,
    /// The time of these round trips.
    pub first_message_time: Option<Duration>,
    /// Round trips of each message.
    pub message_round_trips: Vec<Option<f64>>,
    /// Bytes that no endpoint described.
    pub unattributed_bytes: u64,
    /// CPU time of the built-in server for this device's flows.
    pub server_cpu: Duration,
    /// How often client and server described the same bytes differently.
    pub disagreements: u64,
}

impl DeviceMeasurement {
    /// The state before the first packet of a device.
    fn before(cell: usize, sample: u32, report: DeviceReport<Sampler>) -> Self {
        let notes = report.script.notes();
        let (messages, reconnects) = (notes.messages.len(), notes.reconnects.len());
        Self {
            cell,
            sample,
            report,
            connect: BothWays::default(),
            reconnects: vec![BothWays::default(); reconnects],
            messages: vec![BothWays::default(); messages],
            keep_alive: BothWays::default(),
            close: BothWays::default(),
            arrivals: Vec::new(),
            ticket: BothWays::default(),
            connect_round_trips: None,
            first_message_round_trips: None,
            first_message_time: None,
            message_round_trips: Vec::new(),
            unattributed_bytes: 0,
            server_cpu: Duration::ZERO,
            disagreements: 0,
        }
    }
}

/// A packet of a device of the plan.
#[derive(Clone, Debug)]
pub struct Attributed<'a> {
    /// Index of the device's cell.
    pub cell: usize,
    /// The ledger's verdict.
    pub verdict: &'a PacketVerdict,
    /// The figures of its cell that it counts in.
    pub counted: Shares,
    /// The spans of its bytes, IP header first.
    pub spans: &'a [Span],
}

/// Takes every packet with the ledger's verdict.
pub trait PacketSink {
    /// One packet, in the order of entry. `device` is `None` for packets of no device in the plan.
    ///
    /// # Errors
    /// The sink's file refuses.
    fn packet(
        &mut self,
        packet: &RecordedPacket,
        delivered: Option<Instant>,
        device: Option<&Attributed<'_>>,
    ) -> io::Result<()>;
}

/// Both sinks, one after the other.
impl<A: PacketSink, B: PacketSink> PacketSink for (A, B) {
    fn packet(
        &mut self,
        packet: &RecordedPacket,
        delivered: Option<Instant>,
        device: Option<&Attributed<'_>>,
    ) -> io::Result<()> {
        self.0.packet(packet, delivered, device)?;
        self.1.packet(packet, delivered, device)
    }
}

/// The measurements of all devices, and of the packets as a whole.
#[derive(Debug)]
pub struct Analysis {
    /// One per device that started, in the given order.
    pub devices: Vec<DeviceMeasurement>,
    /// Packets of no device.
    pub unattributed_packets: u64,
    /// How late the forwarder delivered, in nanoseconds, sorted.
    pub lateness_ns: Vec<u64>,
}

/// A device to analyse: its place in the plan, and its report.
#[derive(Debug)]
pub struct AnalysedDevice<'a> {
    /// Index of its cell.
    pub index: usize,
    /// Its cell.
    pub cell: &'a PlannedCell,
    /// Index of its sample.
    pub sample: u32,
    /// Its report.
    pub report: DeviceReport<Sampler>,
}

impl<'a> AnalysedDevice<'a> {
    /// A device's place in `plan`, by its number on the link.
    pub fn of_plan(plan: &'a Plan, report: DeviceReport<Sampler>) -> Self {
        let planned = plan.devices[report.host as usize];
        Self {
            index: planned.cell,
            cell: &plan.cells[planned.cell],
            sample: planned.sample,
            report,
        }
    }
}

/// Analyses the devices' reports and recorded packets.
///
/// # Errors
/// The recording cannot be read back, or the sink refuses.
pub fn analyse<'a>(
    devices: impl IntoIterator<Item = AnalysedDevice<'a>>,
    flows: &[(u16, FlowReport)],
    recorded: &mut impl Recorded,
    sink: &mut dyn PacketSink,
) -> io::Result<Analysis> {
    let (delivered, mut lateness_ns) = deliveries(recorded)?;
    // Percentiles are read from it.
    lateness_ns.sort_unstable();
    let server_flows = ServerFlows::new(flows);
    let accounts = devices
        .into_iter()
        .map(|device| (device.report.host, Account::new(device, &server_flows)));
    let mut accounts = Accounts::new(accounts.collect());
    let mut unattributed_packets = 0;
    let mut spans = Buffer::new();
    let mut index = 0;
    let mut last_entered = Instant::from_nanos(0);
    for record in recorded.entries()? {
        let record = record?;
        let Record::Packet(packet) = record.as_ref() else {
            continue;
        };
        last_entered = packet.entered;
        let delivered = delivered.get(index).copied().flatten();
        index += 1;
        let Some(account) = packet.host.and_then(|host| accounts.account_of(host)) else {
            // Packets of the check of the links have a host without an account. They are expected and do not count.
            unattributed_packets += u64::from(packet.host.is_none());
            sink.packet(packet, delivered, None)?;
            continue;
        };
        spans.clear();
        let verdict = account.packet(packet, delivered, &mut spans);
        let attributed = Attributed {
            cell: account.cell,
            verdict: &verdict,
            counted: account.shares(&verdict, packet.entered, spans.spans()),
            spans: spans.spans(),
        };
        sink.packet(packet, delivered, Some(&attributed))?;
    }
    if recorded.is_cut_short() {
        // What was recorded before the disk was full is still right.
        accounts.distrust_after(last_entered);
    }
    Ok(Analysis {
        devices: accounts.finish(),
        unattributed_packets,
        lateness_ns,
    })
}

/// The devices' accounts, by their numbers on the link.
struct Accounts {
    accounts: Vec<Account>,
    by_host: BTreeMap<HostIndex, usize>,
}

impl Accounts {
    fn new(accounts: Vec<(HostIndex, Account)>) -> Self {
        let hosts = accounts.iter().enumerate();
        Self {
            by_host: hosts.map(|(index, (host, _))| (*host, index)).collect(),
            accounts: accounts.into_iter().map(|(_, account)| account).collect(),
        }
    }

    fn account_of(&mut self, host: HostIndex) -> Option<&mut Account> {
        self.accounts.get_mut(*self.by_host.get(&host)?)
    }

    fn distrust_after(&mut self, last_entered: Instant) {
        for account in &mut self.accounts {
            account.distrust_after(last_entered);
        }
    }

    fn finish(self) -> Vec<DeviceMeasurement> {
        self.accounts.into_iter().map(Account::finish).collect()
    }
}

#[cfg(test)]
mod tests;
