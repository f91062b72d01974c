//! Sections: the figures of one phase over the devices of a cell.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_cost::Traffic;
use wirecost_proto::bare::Transport;
use wirecost_proto::{BothWays, Cause, Direction, Instant, Layer};
use wirecost_results::bytes::mean_interval;
use wirecost_results::summary::{Bytes, CauseBytes, Count, Section, Times};
use wirecost_scenario::plan::PlannedCell;

use super::analysis::DeviceMeasurement;
use super::outcome::{Message, messages};
use super::sampler::Mark;

/// The section of a phase of which only the sum over `samples` is known, as of a capture: its bytes and its share of headers.
pub fn of_sum(samples: u64, ways: &BothWays<Traffic>) -> Section {
    let count = |way: Direction, of: &dyn Fn(&Traffic) -> u64| {
        let sum = of(&ways[way]);
        Count {
            mean: sum as f64 / samples.max(1) as f64,
            sum,
            ..Count::default()
        }
    };
    let payload_bytes = ways.iter().map(|way| way.bytes(Layer::Payload)).sum();
    let figures = Figures {
        response_kind: "",
        payload_bytes,
        ..Figures::NONE
    };
    figures.section(SectionBytes::new(samples, count))
}

/// The figures of connects, of which a device that reconnects has several. `enough` has the meaning of [`Times::of_devices`].
pub(super) fn connect_section(devices: &[&DeviceMeasurement], enough: u64) -> Section {
    let connected: Vec<&DeviceMeasurement> = devices
        .iter()
        .copied()
        // A connect that failed has other bytes than one that worked: it is an outcome, not a sample.
        .filter(|device| device.report.script.notes().ready.is_some())
        .collect();
    let since = |of| Times::of_devices(&connects(devices, of), enough);
    let trips = connected
        .iter()
        .map(|device| device.connect_round_trips)
        .collect::<Vec<_>>();
    let traffic: Vec<Vec<&BothWays<Traffic>>> = connected
        .iter()
        .map(|device| {
            std::iter::once(&device.connect)
                .chain(&device.reconnects)
                .collect()
        })
        .collect();
    let figures = Figures {
        response_time: since(|(intended, _)| intended),
        response_kind: "to_reply",
        service_time: since(|(_, actual)| actual),
        one_way_delay: None,
        // With losses the number depends on which packet was lost, and is no property of the stack.
        round_trips: if enough == 0 { common(&trips) } else { None },
        goodput_bps: None,
        payload_bytes: 0,
    };
    figures.section(each(&traffic, enough))
}

/// The times from `of` (the intended and the actual start of a connect) until the client may send, device by device, in
/// nanoseconds. These are the connect times that a cell counts, if `of` is the intended start.
pub(super) fn connects(
    devices: &[&DeviceMeasurement],
    of: fn((Instant, Instant)) -> Instant,
) -> Vec<Vec<u64>> {
    let of_device = |device: &&DeviceMeasurement| {
        let notes = device.report.script.notes();
        let first = nanos_between(of(notes.connect_started?), notes.ready?);
        let again = notes.reconnects.iter().filter_map(|again| {
            let started = of((again.intended, again.started));
            Some(nanos_between(started, again.ready?))
        });
        Some(std::iter::once(first).chain(again).collect())
    };
    devices.iter().filter_map(of_device).collect()
}

/// Round trips from the start of the connect until the answer to the first message, or its arrival.
pub(super) fn first_message_round_trips(devices: &[&DeviceMeasurement]) -> Option<f64> {
    let trips: Vec<Option<f64>> = devices
        .iter()
        .map(|device| device.first_message_round_trips)
        .collect();
    common(&trips)
}

/// The time from the start of the connect until the answer to the first message, or its arrival. `enough` has the meaning
/// of [`Times::of_devices`].
pub(super) fn first_message_time(devices: &[&DeviceMeasurement], enough: u64) -> Option<Times> {
    let times = devices
        .iter()
        .map(|device| Vec::from_iter(device.first_message_time.map(|time| time.as_nanos() as u64)));
    Times::of_devices(&times.collect::<Vec<_>>(), enough)
}

/// The figures of measured messages. `enough` has the meaning of [`Times::of_devices`], however the stack handles
/// losses.
pub(super) fn message_section(
    planned: &PlannedCell,
    devices: &[&DeviceMeasurement],
    enough: u64,
    timeout: Duration,
) -> Section {
    // A stack that never retransmits has no long waits after losses: its mean needs no minimum of losses.
    let enough_of_messages = if sends_again(planned) { enough } else { 0 };
    let times = |nanos: Vec<Vec<u64>>| Times::of_devices(&nanos, enough_of_messages);
    let since = |of| times(durations(planned, devices, timeout, of));
    let delays = delays(devices);
    let goodput_bps = goodput(planned, delays.iter().flatten().copied());
    let devices: Vec<Vec<Message<'_>>> = devices.iter().map(|device| sent(device)).collect();
    let messages: Vec<&Message<'_>> = devices.iter().flatten().collect();
    let trips: Vec<Option<f64>> = messages
        .iter()
        .copied()
        .filter(|message| is_in_time(planned, message, timeout))
        .map(|message| message.round_trips)
        .collect();
    let traffic: Vec<Vec<&BothWays<Traffic>>> = devices.iter().map(|messages| traffic_of(messages)).collect();
    let figures = Figures {
        response_kind: planned.stack.response_kind(),
        response_time: since(|mark| mark.intended),
        service_time: since(|mark| mark.actual),
        one_way_delay: times(delays),
        // As for connects: only without losses all messages take the same number.
        round_trips: if enough == 0 { common(&trips) } else { None },
        goodput_bps,
        payload_bytes: (planned.payload.len() * messages.len()) as u64,
    };
    figures.section(each(&traffic, enough_of_messages))
}

fn traffic_of<'a>(messages: &[Message<'a>]) -> Vec<&'a BothWays<Traffic>> {
    messages.iter().map(|message| message.traffic).collect()
}

/// The times from `of` to the answers that came in time, device by device, in nanoseconds. These are the response times that a
/// cell counts, if `of` is the intended send.
pub(super) fn durations(
    planned: &PlannedCell,
    devices: &[&DeviceMeasurement],
    timeout: Duration,
    of: fn(&Mark) -> Instant,
) -> Vec<Vec<u64>> {
    let answered = planned.stack.is_answered();
    let duration = |message: Message<'_>| {
        let message = Some(message).filter(|message| is_in_time(planned, message, timeout))?;
        Some(nanos_between(of(message.mark), message.response(answered)?))
    };
    devices
        .iter()
        .map(|device| sent(device).into_iter().filter_map(duration).collect())
        .collect()
}

/// The one-way delays that a cell counts, device by device, in nanoseconds.
pub(super) fn delays(devices: &[&DeviceMeasurement]) -> Vec<Vec<u64>> {
    let delay = |message: Message<'_>| Some(nanos_between(message.mark.actual, message.arrival?));
    devices
        .iter()
        .map(|device| sent(device).into_iter().filter_map(delay).collect())
        .collect()
}

/// Whether the answer to a message, or its arrival, came before its time-out.
fn is_in_time(planned: &PlannedCell, message: &Message<'_>, timeout: Duration) -> bool {
    message
        .response(planned.stack.is_answered())
        .is_some_and(|at| at <= message.mark.intended + timeout)
}

/// The measured messages that a device has sent. Unsent messages cost nothing, and are not samples of a message's cost.
fn sent<'a>(device: &'a DeviceMeasurement) -> Vec<Message<'a>> {
    messages(device).filter(Message::is_sent).collect()
}

/// Whether a lost message is sent again.
fn sends_again(planned: &PlannedCell) -> bool {
    let stack = planned.stack;
    stack.transport() == Transport::Stream || stack.awaits_answer(planned.payload.len())
}

/// Payload bits / delay in nanoseconds, in bit/s: the mean over messages.
fn goodput(planned: &PlannedCell, delays: impl Iterator<Item = u64>) -> Option<f64> {
    let bits = planned.payload.len() as f64 * 8.0;
    let rates: Vec<f64> = delays.map(|nanos| bits * 1e9 / nanos as f64).collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

/// A section with bytes only; `None` without bytes. `enough` has the meaning of [`mean_interval`].
pub(super) fn quiet_section(
    devices: &[&DeviceMeasurement],
    enough: u64,
    of: impl Fn(&DeviceMeasurement) -> &BothWays<Traffic>,
) -> Option<Section> {
    let traffic: Vec<Vec<&BothWays<Traffic>>> = devices.iter().map(|device| vec![of(device)]).collect();
    untimed(each(&traffic, enough))
}

/// A section with bytes only, of samples on a link where each may lose packets; `None` without bytes.
pub(crate) fn of_traffic(samples: &[&BothWays<Traffic>]) -> Option<Section> {
    let each_alone: Vec<Vec<&BothWays<Traffic>>> = samples.iter().map(|sample| vec![*sample]).collect();
    untimed(each(&each_alone, 0))
}

/// A section with bytes only; `None` without bytes.
pub(super) fn untimed(bytes: SectionBytes) -> Option<Section> {
    let has_packets = bytes.up.packets.sum + bytes.down.packets.sum > 0;
    has_packets.then(|| Figures::NONE.section(bytes))
}

/// The bytes of a section. The figures of each direction are per sample.
pub(super) struct SectionBytes {
    samples: u64,
    wire_ci95: Option<[f64; 2]>,
    up: Bytes,
    down: Bytes,
    by_cause: BTreeMap<String, CauseBytes>,
}

impl SectionBytes {
    /// The bytes of `samples` samples, which are not known one by one. `count` sums a figure of the traffic of a direction.
    pub(super) fn new(samples: u64, count: impl Fn(Direction, &dyn Fn(&Traffic) -> u64) -> Count) -> Self {
        let bytes = |way| {
            let layer = |layer| count(way, &|traffic| traffic.bytes(layer));
            Bytes {
                packets: count(way, &Traffic::packets),
                ip: layer(Layer::Ip),
                transport: layer(Layer::Transport),
                security: layer(Layer::Security),
                application: layer(Layer::Application),
                payload: layer(Layer::Payload),
                wire: count(way, &Traffic::wire_bytes),
            }
        };
        let by_cause = Cause::ALL.into_iter().map(|cause| {
            let mean = |way| count(way, &|traffic| traffic.bytes_by_cause(cause)).mean;
            let bytes = CauseBytes {
                up: mean(Direction::Up),
                down: mean(Direction::Down),
            };
            (cause.name().to_owned(), bytes)
        });
        Self {
            samples,
            wire_ci95: None,
            up: bytes(Direction::Up),
            down: bytes(Direction::Down),
            by_cause: by_cause.collect(),
        }
    }
}

/// The figures of a section apart from bytes. Each engine sets every one of them, so a new figure is missing until
/// every engine has it or states that it has none.
pub(super) struct Figures {
    pub(super) response_kind: &'static str,
    pub(super) response_time: Option<Times>,
    pub(super) service_time: Option<Times>,
    pub(super) one_way_delay: Option<Times>,
    pub(super) round_trips: Option<f64>,
    pub(super) goodput_bps: Option<f64>,
    /// Of all samples; 0 without payload.
    pub(super) payload_bytes: u64,
}

impl Figures {
    /// A phase that is not timed.
    const NONE: Self = Self {
        response_kind: "to_reply",
        response_time: None,
        service_time: None,
        one_way_delay: None,
        round_trips: None,
        goodput_bps: None,
        payload_bytes: 0,
    };

    /// The section of these figures and bytes.
    pub(super) fn section(self, bytes: SectionBytes) -> Section {
        let payload = self.payload_bytes as f64;
        let wire = (bytes.up.wire.sum + bytes.down.wire.sum) as f64;
        Section {
            samples: bytes.samples,
            response_kind: self.response_kind.into(),
            response_time_ns: self.response_time,
            service_time_ns: self.service_time,
            one_way_delay_ns: self.one_way_delay,
            round_trips: self.round_trips,
            goodput_bps: self.goodput_bps,
            // An empty message has no ratio: everything is header.
            header_ratio: (payload > 0.0).then(|| (wire - payload) / payload),
            wire_ci95: bytes.wire_ci95,
            up: bytes.up,
            down: bytes.down,
            by_cause: bytes.by_cause,
        }
    }
}

/// The bytes of the samples of each device. `enough` has the meaning of [`mean_interval`].
fn each(devices: &[Vec<&BothWays<Traffic>>], enough: u64) -> SectionBytes {
    let samples: Vec<&BothWays<Traffic>> = devices.concat();
    let wire = |traffic: &&BothWays<Traffic>| traffic.iter().map(Traffic::wire_bytes).sum();
    let of_device = |samples: &Vec<&BothWays<Traffic>>| samples.iter().map(wire).collect();
    let bytes = SectionBytes::new(samples.len() as u64, |way, of| {
        let values = samples.iter().map(|traffic| of(&traffic[way]));
        let sum = values.clone().sum::<u64>();
        Count {
            // Without samples it is zero and not NaN, which JSON cannot say.
            mean: sum as f64 / samples.len().max(1) as f64,
            sum,
            min: values.clone().min().unwrap_or(0),
            max: values.max().unwrap_or(0),
        }
    });
    SectionBytes {
        wire_ci95: mean_interval(&devices.iter().map(of_device).collect::<Vec<_>>(), enough),
        ..bytes
    }
}

/// The common value of all samples, or their median; `None` if a sample has no value or there is no sample.
fn common(values: &[Option<f64>]) -> Option<f64> {
    let mut values: Vec<f64> = values.iter().copied().collect::<Option<Vec<f64>>>()?;
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

pub(super) fn nanos_between(start: Instant, end: Instant) -> u64 {
    end.as_nanos().saturating_sub(start.as_nanos())
}
