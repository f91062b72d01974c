//! Sections: the figures of one phase over the devices of a cell.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_proto::{Cause, Direction, Instant, Layer};

use super::analysis::{DeviceMeasurement, Traffic};
use super::outcome::{Message, messages};
use super::plan::PlannedCell;
use super::sampler::Mark;
use crate::results::summary::{Bytes, CauseBytes, Count, Section, Times};

pub(super) fn connect_section(devices: &[&DeviceMeasurement], lossless: bool) -> Section {
    let connected: Vec<&DeviceMeasurement> = devices
        .iter()
        .copied()
        .filter(|device| device.report.script.notes().ready.is_some())
        .collect();
    let since = |of: fn((Instant, Instant)) -> Instant| {
        let durations = connected.iter().filter_map(|device| {
            let notes = device.report.script.notes();
            Some(nanos_between(of(notes.connect_started?), notes.ready?))
        });
        Times::of_values(durations.collect())
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
        round_trips: if lossless { common(&trips) } else { None },
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

pub(super) fn message_section(
    planned: &PlannedCell,
    devices: &[&DeviceMeasurement],
    lossless: bool,
    timeout: Duration,
) -> Section {
    let answered = planned.stack.is_answered();
    // What was never sent costs nothing, and is no sample of what a message costs.
    let sent = devices
        .iter()
        .copied()
        .flat_map(messages)
        .filter(Message::is_sent);
    let messages: Vec<Message<'_>> = sent.collect();
    let in_time = |message: &&Message<'_>| {
        message
            .response(answered)
            .is_some_and(|at| at <= message.mark.intended + timeout)
    };
    let answered_in_time: Vec<&Message<'_>> = messages.iter().filter(in_time).collect();
    let since = |of: fn(&Mark) -> Instant| {
        let durations = answered_in_time
            .iter()
            .filter_map(|message| Some(nanos_between(of(message.mark), message.response(answered)?)));
        Times::of_values(durations.collect())
    };
    let delays: Vec<u64> = messages
        .iter()
        .filter_map(|message| Some(nanos_between(message.mark.actual, message.arrival?)))
        .collect();
    let bits = planned.payload.len() as f64 * 8.0;
    let rates = delays.iter().map(|nanos| bits * 1e9 / *nanos as f64);
    let goodput = (!delays.is_empty()).then(|| rates.sum::<f64>() / delays.len() as f64);
    let trips: Vec<Option<f64>> = answered_in_time
        .iter()
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
        one_way_delay_ns: Times::of_values(delays),
        round_trips: if lossless { common(&trips) } else { None },
        goodput_bps: goodput,
        header_ratio: (payload > 0.0).then(|| (wire - payload) / payload),
        ..section
    }
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
