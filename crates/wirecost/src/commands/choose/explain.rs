//! `--explain`: the account of one row. Each packet in the life of its first device, from one connect to the next, with its bytes,
//! its time on the air, its energy, and its share of the life's bytes, energy and bill.

use wirecost_account::replay;
use wirecost_cost::{DeviceEvent, ObservedPacket, Observer, Tariff};
use wirecost_energy::{Meter, Part, Repeated, State, mean_power};
use wirecost_proto::units::counted;
use wirecost_proto::{BothWays, Cause, Direction, Instant, Phase};
use wirecost_report::terminal::listing::{Head, Listing};
use wirecost_report::terminal::paragraph;
use wirecost_results::Cell;

use super::rows::{Recorded, Row};
use super::{Decision, Inputs, sentence};
use crate::commands::cost::bill;
use crate::commands::cost::lives;
use crate::commands::cost::lives::TIMES_OF_CELL;
use crate::commands::cost::table::{number, time};
use crate::exit::Failure;

/// Up to this number of packets each has a line of its own; those of longer lives are counted by their kind.
const MOST_LINES: usize = 40;

/// Packets that are alike.
struct Line {
    phase: Phase,
    cause: Cause,
    direction: Direction,
    /// Seconds from the first packet of the life to the first of these.
    at: f64,
    /// Whether the link lost it: the network counts it, and the device never knows of it.
    is_lost: bool,
    packets: u64,
    bytes: u64,
    /// Bytes that the tariff counts.
    counted: u64,
    /// Seconds that the radio sends or receives.
    air: f64,
    joules: f64,
}

/// The energy that is no packet's own.
#[derive(Default)]
struct Between {
    wakes: u64,
    wake_joules: f64,
}

/// Watches the packets of a life.
struct Watch<'a> {
    meter: Option<Meter<'a>>,
    tariff: Option<&'a Tariff>,
    first: Option<Instant>,
    lines: Vec<Line>,
    between: Between,
}

impl Observer for Watch<'_> {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        let before = self.spent();
        if let Some(meter) = &mut self.meter {
            meter.packet(packet);
        }
        let after = self.spent();
        let [air, wake, other] = [0, 1, 2].map(|index| after[index] - before[index]);
        if wake > 0.0 {
            self.between.wakes += 1;
            self.between.wake_joules += wake;
        }
        self.line(packet, false, [air, other]);
    }

    fn lost(&mut self, packet: &ObservedPacket<'_>) {
        self.line(packet, true, [0.0; 2]);
    }

    fn event(&mut self, at: Instant, event: DeviceEvent) {
        if let Some(meter) = &mut self.meter {
            meter.event(at, event);
        }
    }

    fn end(&mut self, _: Instant) {}
}

impl Watch<'_> {
    /// Adds a packet, with the seconds that it is on the air and its joules.
    fn line(&mut self, packet: &ObservedPacket<'_>, is_lost: bool, [air, joules]: [f64; 2]) {
        let first = *self.first.get_or_insert(packet.at);
        let bytes = packet.wire_bytes();
        let tunnel = self.tariff.and_then(Tariff::tunnel_bytes);
        let tunnel = tunnel.map_or(0, |bytes| BothWays::from(bytes)[packet.direction]);
        self.lines.push(Line {
            phase: packet.phase,
            cause: packet.cause,
            direction: packet.direction,
            at: packet.at.saturating_since(first).as_secs_f64(),
            is_lost,
            packets: 1,
            bytes,
            counted: bytes + tunnel,
            air,
            joules,
        });
    }

    /// What was spent so far: seconds on the air, joules of wake-ups, joules of packets.
    fn spent(&self) -> [f64; 3] {
        let Some(meter) = &self.meter else { return [0.0; 3] };
        let account = meter.account();
        let purposes = account.purposes();
        let air = account.nanos(State::Transmit) + account.nanos(State::Receive);
        let [wake, tail, rest] =
            [Part::Wake, Part::Tail, Part::Rest].map(|part| purposes.of_part(part).joules);
        [
            air as f64 / 1e9,
            wake,
            account.total().joules - wake - tail - rest,
        ]
    }
}

/// The account of a row.
pub struct Explained {
    /// Whose account it is.
    pub heading: String,
    /// Its packets and what is no packet's own, with their sum.
    pub listing: Listing,
    /// What the columns are.
    pub notes: Vec<String>,
}

impl Explained {
    /// The account for a terminal of `width` columns.
    pub fn text(&self, width: usize) -> String {
        let mut text = paragraph(&self.heading, width) + "\n";
        text += &self.listing.draw(width, "a wider terminal");
        text.push('\n');
        for note in &self.notes {
            text += &paragraph(note, width);
        }
        text
    }
}

/// The account of the row with this number.
///
/// # Errors
/// There is no such row, or its packets are not known.
pub(super) fn account<'c>(
    decision: &Decision<'_>,
    row: u32,
    cells: impl IntoIterator<Item = &'c Cell>,
    recorded: &Recorded<'_>,
) -> Result<Explained, Failure> {
    let Decision { inputs, rows, .. } = decision;
    let index = (row as usize).checked_sub(1);
    let Some(found) = index.and_then(|index| rows.get(index)) else {
        return Err(
            Failure::usage(format!("--explain {row}: the ranking has {} rows", rows.len()))
                .with_hint("give the number in the first column of the ranking"),
        );
    };
    let cell = cells.into_iter().find(|cell| cell.key == found.key);
    let seen = cell.and_then(|cell| Some((cell, recorded(cell)?)));
    let Some((cell, seen)) = seen else {
        return Err(Failure::usage(format!(
            "--explain {row}: {} has no packets: {}",
            found.stack,
            found.fails.join("; ")
        )));
    };
    let shapes = replay::shapes(&seen).ok_or_else(|| lives::unknown_names(&cell.stack))?;
    let mut watch = Watch {
        meter: inputs
            .device
            .as_ref()
            // In a modelled cell the energy comes from its times on the air, which are not of single packets.
            .filter(|_| inputs.link.cell.is_none())
            .map(Meter::new),
        tariff: inputs.tariff.as_ref(),
        first: None,
        lines: Vec::new(),
        between: Between::default(),
    };
    if let Some(first) = seen.devices.first() {
        replay::tell_life(first, &shapes, &mut watch);
        // A packet down counts when it arrives, which is not the order in which they were recorded.
        watch.lines.sort_by(|one, other| one.at.total_cmp(&other.at));
    }
    let whole = whole(inputs, cell, &seen)?;
    Ok(Explained {
        heading: heading(inputs, (row, found), cell, seen.devices.len()),
        listing: listing(inputs, &watch, whole),
        notes: notes(inputs, found, cell),
    })
}

/// The joules of a life by what is no packet's own, and of all; `None` without a device.
#[derive(Clone, Copy)]
struct Whole {
    wake: f64,
    /// In a modelled cell, where packets have no energy of their own, that of the connections.
    connections: f64,
    tail: f64,
    /// The share of this life in the attaches of a device that loses its network.
    attach: f64,
    rest: f64,
    all: f64,
}

fn whole(
    inputs: &Inputs<'_>,
    cell: &Cell,
    seen: &wirecost_results::traffic::CellTraffic,
) -> Result<Option<Whole>, Failure> {
    let Some(device) = &inputs.device else {
        return Ok(None);
    };
    let lives = lives::cycles(seen, cell, Some(device))?;
    let first = lives.first();
    let spent = first.and_then(|life| Some((life.account.as_ref()?, life.every)));
    Ok(spent.map(|(account, every)| {
        let power = mean_power(device, &[Repeated { account, every }]);
        let of_part = |part| power.of_part(part).joules * every;
        Whole {
            wake: of_part(Part::Wake),
            connections: of_part(Part::Link),
            tail: of_part(Part::Tail),
            attach: of_part(Part::Attach),
            rest: of_part(Part::Rest),
            all: power.total().joules * every,
        }
    }))
}

fn heading(inputs: &Inputs<'_>, (number, row): (u32, &Row), cell: &Cell, devices: usize) -> String {
    let messages = cell.messages_per_connection;
    let interval = cell.interval_ns.unwrap_or_default();
    let life = std::time::Duration::from_nanos(interval.saturating_mul(messages));
    let of = match devices {
        1 => "its device".to_owned(),
        all => format!("the first of {all} devices"),
    };
    format!(
        "Row {number}, {} ({}): {}. The packets of {of} in {}, with {}:",
        row.stack,
        row.way.name(),
        sentence::figures(inputs, row),
        time(life),
        counted(messages, "message")
    )
}

/// Lines that are alike in one, in the order of their first.
fn merged(lines: &[Line]) -> Vec<Line> {
    let mut kinds: Vec<Line> = Vec::new();
    let is_short = lines.len() <= MOST_LINES;
    for line in lines {
        let kind = |line: &Line| (line.phase, line.cause, line.direction, line.bytes, line.is_lost);
        match kinds
            .iter_mut()
            // A short life is shown packet by packet, which explains more.
            .find(|other| !is_short && kind(other) == kind(line))
        {
            Some(other) => {
                other.packets += 1;
                other.counted += line.counted;
                other.air += line.air;
                other.joules += line.joules;
            }
            None => kinds.push(Line { ..*line }),
        }
    }
    kinds
}

fn listing(inputs: &Inputs<'_>, watch: &Watch<'_>, whole: Option<Whole>) -> Listing {
    let tunnel = inputs.tariff.as_ref().and_then(Tariff::tunnel_bytes);
    let is_by_bytes = tunnel.is_some();
    let mut heads = vec![
        Head::figure("first at"),
        Head::name("phase"),
        Head::name("packet"),
        Head::figure("times").hidden_at(2),
        Head::figure("bytes each"),
        Head::figure("of bytes").hidden_at(0),
    ];
    if whole.is_some() {
        heads.extend(["ms each*", "mJ each*"].map(Head::figure));
        heads.push(Head::figure("of energy*").hidden_at(1));
    }
    if is_by_bytes {
        heads.push(Head::figure("of bill*"));
    }
    let bytes: u64 = watch.lines.iter().map(|line| line.bytes).sum();
    let charged: u64 = watch.lines.iter().map(|line| line.counted).sum();
    // Of a life without energy, or without charged bytes, each part is 0 % and not NaN.
    let percent = |part: f64, all: f64| format!("{:.1} %", part / all.max(f64::MIN_POSITIVE) * 100.0);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in merged(&watch.lines) {
        let cause = match line.cause == Cause::Original {
            true => String::new(),
            false => format!(" {}", line.cause.name()),
        };
        let lost = if line.is_lost { ", lost" } else { "" };
        let times = line.packets as f64;
        let mut row = vec![
            at(line.at),
            line.phase.name().to_owned(),
            format!("{}{cause}{lost}", line.direction.name()),
            line.packets.to_string(),
            line.bytes.to_string(),
            percent(line.bytes as f64 * times, bytes as f64),
        ];
        match whole {
            Some(_) if watch.meter.is_none() => row.extend([String::new(), String::new(), String::new()]),
            Some(whole) => {
                row.push(number(line.air / times * 1e3));
                row.push(number(line.joules / times * 1e3));
                row.push(percent(line.joules, whole.all));
            }
            None => {}
        }
        if is_by_bytes {
            row.push(percent(line.counted as f64, charged as f64));
        }
        rows.push(row);
    }
    if let Some(whole) = whole {
        let wake = &watch.between;
        let mut of_device = |what: &str, times: u64, joules: f64| {
            let mut row = vec![
                String::new(),
                "device".to_owned(),
                what.to_owned(),
                times.to_string(),
            ];
            row.extend([String::new(), String::new(), String::new()]);
            row.push(number(joules / times.max(1) as f64 * 1e3));
            row.push(percent(joules, whole.all));
            row.extend(is_by_bytes.then(String::new));
            rows.push(row);
        };
        if wake.wakes > 0 {
            of_device("wake-up", wake.wakes, wake.wake_joules);
        }
        if watch.meter.is_none() {
            of_device("synchronisation", 1, whole.wake);
            of_device("connections", 1, whole.connections);
        }
        of_device("tails", 1, whole.tail);
        if whole.attach > 0.0 {
            of_device("share of attaches", 1, whole.attach);
        }
        of_device("rest", 1, whole.rest);
    }
    let packets = watch.lines.len() as u64;
    let mut sum = vec![
        String::new(),
        "sum".to_owned(),
        "packets".to_owned(),
        packets.to_string(),
    ];
    sum.extend([bytes.to_string(), "100 %".to_owned()]);
    if let Some(whole) = whole {
        let air: f64 = watch.lines.iter().map(|line| line.air).sum();
        let air = watch
            .meter
            .as_ref()
            .map_or_else(String::new, |_| number(air * 1e3));
        sum.extend([air, number(whole.all * 1e3), "100 %".to_owned()]);
    }
    sum.extend(is_by_bytes.then(|| "100 %".to_owned()));
    rows.push(sum);
    Listing { heads, rows }
}

/// A time within a life.
fn at(seconds: f64) -> String {
    match seconds {
        ..10.0 => format!("{:.0} ms", seconds * 1e3),
        _ => format!("{seconds:.0} s"),
    }
}

fn notes(inputs: &Inputs<'_>, row: &Row, cell: &Cell) -> Vec<String> {
    let mut notes = Vec::new();
    let readings = cell.messages_per_connection * row.way.readings;
    notes.push(format!(
        "the sums are of {}: divide by that for one",
        counted(readings, "reading")
    ));
    if let Some(times) = row.time() {
        let parts = times.parts();
        let parts = parts.iter().map(|(name, part)| format!("{name} {}", time(*part)));
        notes.push(format!(
            "time of a reading ({}): {} = {}",
            times.statistic.name(),
            time(times.total()),
            parts.collect::<Vec<String>>().join(" + ")
        ));
    }
    if inputs.link.cell.is_some() && inputs.device.is_some() {
        notes.push(format!("* {TIMES_OF_CELL}"));
    } else if let Some(device) = &inputs.device {
        notes.push(format!(
            "* ms: time in which the radio of {} sends or receives; mJ: with its waits for the network",
            device.name
        ));
    }
    if let Some(tariff) = &inputs.tariff {
        notes.push(match tariff.tunnel_bytes() {
            Some(_) => format!(
                "* of bill: share of the bytes that {} counts, before it rounds them",
                tariff.name
            ),
            None => format!(
                "* {} charges messages, not packets: none has a share",
                tariff.name
            ),
        });
        let bill = row
            .figures
            .as_ref()
            .and_then(|figures| figures.outcome.bill.as_ref());
        notes.extend(bill.map(|bill| format!("bill of the row: {}", bill::words(tariff, bill))));
    }
    notes
}
