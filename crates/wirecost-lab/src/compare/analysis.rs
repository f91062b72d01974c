//! From packets and notes to what each device measured.
//!
//! 1. Every device gets a ledger that is told what the makers of the bytes said of them.
//! 2. The recorded packets go through their device's ledger in the order in which they entered the link; each is
//!    counted in its phase, and in its message by the time at which it entered.
//! 3. What was delivered when gives arrivals; what followed what gives flights.

mod account;
mod agreement;
mod arrivals;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use wirecost_cost::{PacketVerdict, Traffic};
use wirecost_live::recorder::{Recorded, deliveries};
use wirecost_proto::driver::{DeviceReport, FlowReport};
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::record::{Record, RecordedPacket};
use wirecost_proto::{Buffer, Direction, Instant, Span};
use wirecost_scenario::plan::{Plan, PlannedCell};

use super::sampler::Sampler;
use account::{Account, ServerFlows};

/// Packets and bytes of one device in one phase, or of one message; indexed by `Direction as usize`.
pub type BothWays = [Traffic; 2];

/// One packet of a device, as the ledger saw it.
#[derive(Clone, Debug)]
pub struct SeenPacket {
    /// Which way.
    pub direction: Direction,
    /// When it entered the link.
    pub entered: Instant,
    /// When it, or its first intact copy, left.
    pub delivered: Option<Instant>,
    /// What the ledger found.
    pub verdict: PacketVerdict,
}

/// What one device measured.
#[derive(Debug)]
pub struct DeviceMeasurement {
    /// Index of its cell.
    pub cell: usize,
    /// Index of its sample.
    pub sample: u32,
    /// What it noted.
    pub report: DeviceReport<Sampler>,
    /// Everything in the phase connect.
    pub connect: BothWays,
    /// The warm-up message and then the measured ones.
    pub messages: Vec<BothWays>,
    /// Keep-alive.
    pub keep_alive: BothWays,
    /// Close.
    pub close: BothWays,
    /// When the link delivered the last payload byte of each message.
    pub arrivals: Vec<Option<Instant>>,
    /// Everything of the connection that gave the ticket for the measured one.
    pub ticket: BothWays,
    /// Round trips of the connect, where the capture shows its end.
    pub connect_round_trips: Option<f64>,
    /// Round trips from the start of the connect until the first message was answered, or had arrived where nothing
    /// answers; what lies between the two is not counted.
    pub first_message_round_trips: Option<f64>,
    /// Round trips of each message.
    pub message_round_trips: Vec<Option<f64>>,
    /// Bytes that no endpoint described.
    pub unattributed_bytes: u64,
    /// CPU time of the built-in server for this device's flows.
    pub server_cpu: Duration,
    /// What client and server said differently of the same bytes.
    pub disagreements: u64,
}

impl DeviceMeasurement {
    /// Before the first packet of a device is read.
    fn before(cell: usize, sample: u32, report: DeviceReport<Sampler>) -> Self {
        let messages = report.script.notes().messages.len();
        Self {
            cell,
            sample,
            report,
            connect: BothWays::default(),
            messages: vec![BothWays::default(); messages],
            keep_alive: BothWays::default(),
            close: BothWays::default(),
            arrivals: Vec::new(),
            ticket: BothWays::default(),
            connect_round_trips: None,
            first_message_round_trips: None,
            message_round_trips: Vec::new(),
            unattributed_bytes: 0,
            server_cpu: Duration::ZERO,
            disagreements: 0,
        }
    }
}

/// Takes every packet with what the ledger made of it.
pub trait PacketSink {
    /// One packet, in the order of entry. `device` is none for packets of no device of the plan.
    ///
    /// # Errors
    /// The sink's file refuses.
    fn packet(
        &mut self,
        packet: &RecordedPacket,
        delivered: Option<Instant>,
        device: Option<(usize, &PacketVerdict, &[Span])>,
    ) -> io::Result<()>;
}

/// The devices' measurements, and what became of the packets as a whole.
#[derive(Debug)]
pub struct Analysis {
    /// One per device that had started, in the order given.
    pub devices: Vec<DeviceMeasurement>,
    /// Packets of no device.
    pub unattributed_packets: u64,
    /// How late the forwarder delivered, in nanoseconds, sorted.
    pub lateness_ns: Vec<u64>,
}

/// A device that is to be analysed: where it is in the plan, and what it has left.
#[derive(Debug)]
pub struct AnalysedDevice<'a> {
    /// Index of its cell.
    pub index: usize,
    /// Its cell.
    pub cell: &'a PlannedCell,
    /// Index of its sample.
    pub sample: u32,
    /// What it has left.
    pub report: DeviceReport<Sampler>,
}

impl<'a> AnalysedDevice<'a> {
    /// Where a device of `plan` stands by its number on the link.
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

/// Analyses what devices and their recorded packets have left.
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
        let Some(account) = packet.host.and_then(|host| accounts.of(host)) else {
            unattributed_packets += u64::from(packet.host.is_none());
            sink.packet(packet, delivered, None)?;
            continue;
        };
        spans.clear();
        let verdict = account.packet(packet, delivered, &mut spans);
        sink.packet(packet, delivered, Some((account.cell, &verdict, spans.spans())))?;
    }
    if recorded.is_cut_short() {
        accounts.distrust_after(last_entered);
    }
    Ok(Analysis {
        devices: accounts.finish(),
        unattributed_packets,
        lateness_ns,
    })
}

/// The devices' books, found by their numbers on the link.
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

    fn of(&mut self, host: HostIndex) -> Option<&mut Account> {
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
