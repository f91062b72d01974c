//! Sections: the figures of one phase over the devices of a cell.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::{Cause, Direction, Instant, Layer};
use wirecost_results::summary::{Bytes, CauseBytes, Count, Section, Times};
use wirecost_scenario::plan::PlannedCell;

use super::analysis::{DeviceMeasurement, Traffic};
use super::outcome::{Message, messages};
use super::sampler::Mark;

/// The figures of connects; `enough` as in [`Times::of_devices`].
pub(super) fn connect_section(devices: &[&DeviceMeasurement], enough: u64) -> Section {
    let connected: Vec<&DeviceMeasurement> = devices
        .iter()
        .copied()
        .filter(|device| device.report.script.notes().ready.is_some())
        .collect();
    let since = |of: fn((Instant, Instant)) -> Instant| {
        let durations = connected.iter().filter_map(|device| {
            let notes = device.report.script.notes();
            Some(vec![nanos_between(of(notes.connect_started?), notes.ready?)])
        });
        Times::of_devices(&durations.collect::<Vec<_>>(), enough)
    };
    let trips = connected
        .iter()
        .map(|device| device.connect_round_trips)
        .collect::<Vec<_>>();
    let traffic: Vec<&Traffic> = connected.iter().map(|device| &device.connect).collect();
    Section {
        response_kind: "to_reply".into(),
        response_time_ns: since(|(intended, _)| intended),
        service_time_ns: since(|(_, actual)| actual),
        round_trips: if enough == 0 { common(&trips) } else { None },
        ..bytes_section(&traffic)
    }
}

/// Round trips from the start of the connect until the first message was answered or had arrived.
pub(super) fn first_message_round_trips(devices: &[&DeviceMeasurement]) -> Option<f64> {
    let trips: Vec<Option<f64>> = devices
        .iter()
        .map(|device| device.first_message_round_trips)
        .collect();
    common(&trips)
}

/// The figures of measured messages; `enough` as in [`Times::of_devices`], whatever the stack does about losses.
pub(super) fn message_section(
    planned: &PlannedCell,
    devices: &[&DeviceMeasurement],
    enough: u64,
    timeout: Duration,
) -> Section {
    let answered = planned.stack.is_answered();
    let in_time = |message: &&Message<'_>| {
        message
            .response(answered)
            .is_some_and(|at| at <= message.mark.intended + timeout)
    };
    let devices: Vec<Vec<Message<'_>>> = devices.iter().map(|device| sent(device)).collect();
    let messages: Vec<&Message<'_>> = devices.iter().flatten().collect();
    let times = |of: &dyn Fn(&Message<'_>) -> Option<u64>| {
        let of_device = |messages: &Vec<Message<'_>>| messages.iter().filter_map(of).collect();
        let nanos: Vec<Vec<u64>> = devices.iter().map(of_device).collect();
        Times::of_devices(&nanos, if sends_again(planned) { enough } else { 0 })
    };
    let since = |of: fn(&Mark) -> Instant| {
        times(&|message| {
            let message = Some(message).filter(in_time)?;
            Some(nanos_between(of(message.mark), message.response(answered)?))
        })
    };
    let delay = |message: &Message<'_>| Some(nanos_between(message.mark.actual, message.arrival?));
    let trips: Vec<Option<f64>> = messages
        .iter()
        .copied()
        .filter(in_time)
        .map(|message| message.round_trips)
        .collect();
    let traffic: Vec<&Traffic> = messages.iter().map(|message| message.traffic).collect();
    let section = bytes_section(&traffic);
    let payload = (planned.payload.len() * messages.len()) as f64;
    let wire = (section.up.wire.sum + section.down.wire.sum) as f64;
    Section {
        response_kind: planned.stack.response_kind().into(),
        response_time_ns: since(|mark| mark.intended),
        service_time_ns: since(|mark| mark.actual),
        one_way_delay_ns: times(&delay),
        round_trips: if enough == 0 { common(&trips) } else { None },
        goodput_bps: goodput(planned, messages.iter().filter_map(|message| delay(message))),
        header_ratio: (payload > 0.0).then(|| (wire - payload) / payload),
        ..section
    }
}

/// The measured messages that a device has sent: what was never sent costs nothing, and is no sample of what a message costs.
fn sent<'a>(device: &'a DeviceMeasurement) -> Vec<Message<'a>> {
    messages(device).filter(Message::is_sent).collect()
}

/// Whether a message that is lost is sent again.
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

/// A phase of which only the bytes count; `None` where there were none.
pub(super) fn quiet_section(
    devices: &[&DeviceMeasurement],
    of: impl Fn(&DeviceMeasurement) -> &Traffic,
) -> Option<Section> {
    let traffic: Vec<&Traffic> = devices.iter().map(|device| of(device)).collect();
    let section = bytes_section(&traffic);
    let packets = section.up.packets.sum + section.down.packets.sum;
    (packets > 0).then_some(Section {
        response_kind: "to_reply".into(),
        ..section
    })
}

fn bytes_section(traffic: &[&Traffic]) -> Section {
    let by_cause = Cause::ALL.iter().map(|cause| {
        let mean = |way: Direction| {
            let sum: u64 = traffic
                .iter()
                .map(|traffic| traffic.causes[way as usize][*cause as usize])
                .sum();
            sum as f64 / traffic.len().max(1) as f64
        };
        let bytes = CauseBytes {
            up: mean(Direction::Up),
            down: mean(Direction::Down),
        };
        (cause.name().to_owned(), bytes)
    });
    Section {
        samples: traffic.len() as u64,
        up: bytes(traffic, Direction::Up),
        down: bytes(traffic, Direction::Down),
        by_cause: by_cause.collect::<BTreeMap<_, _>>(),
        ..Section::default()
    }
}

fn bytes(traffic: &[&Traffic], way: Direction) -> Bytes {
    let layer = |layer: Layer| count(traffic.iter().map(|traffic| traffic.layer(way, layer)));
    Bytes {
        packets: count(traffic.iter().map(|traffic| traffic.packets[way as usize])),
        ip: layer(Layer::Ip),
        transport: layer(Layer::Transport),
        security: layer(Layer::Security),
        application: layer(Layer::Application),
        payload: layer(Layer::Payload),
        wire: count(traffic.iter().map(|traffic| traffic.wire(way))),
    }
}

fn count(values: impl Iterator<Item = u64> + Clone) -> Count {
    let (n, sum) = (values.clone().count(), values.clone().sum::<u64>());
    Count {
        mean: sum as f64 / n.max(1) as f64,
        sum,
        min: values.clone().min().unwrap_or(0),
        max: values.max().unwrap_or(0),
    }
}

/// What all samples agree on, or their median; `None` where a sample has none or there is no sample.
fn common(values: &[Option<f64>]) -> Option<f64> {
    let mut values: Vec<f64> = values.iter().copied().collect::<Option<Vec<f64>>>()?;
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

pub(super) fn nanos_between(start: Instant, end: Instant) -> u64 {
    end.as_nanos().saturating_sub(start.as_nanos())
}
