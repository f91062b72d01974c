//! From devices to the figures of cells.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_link::{Counters, DelayDistribution, DirectionConfig, LinkConfig, QueueLimit};
use wirecost_proto::{Cause, Direction, Instant, Layer};
use wirecost_stats::{Quantile, Sample};

use super::analysis::{DeviceMeasurement, Traffic};
use super::options::Options;
use super::plan::{DeviceLinks, Plan, PlannedCell};
use super::sampler::{End, Mark};
use super::verdict::{self, Evidence};
use crate::results::SampleRow;
use crate::results::summary::{
    Achieved, Bytes, CauseBytes, Cell, Count, Cpu, CpuSide, Link, LinkDirection, Outcomes, Section, Times,
};

/// What cells are computed from, beside their devices.
pub struct Context<'a> {
    /// What was asked for.
    pub options: &'a Options,
    /// Cells and devices.
    pub plan: &'a Plan,
    /// The links, with their counters.
    pub links: &'a DeviceLinks,
    /// The round-trip times of each link's check.
    pub checks: &'a [Vec<Duration>],
    /// Packets that the machine dropped.
    pub dropped_packets: u64,
}

/// The cells of a run, in the order of its plan, and one row per finished device.
pub fn cells(context: &Context<'_>, devices: &[DeviceMeasurement]) -> (Vec<Cell>, Vec<SampleRow>) {
    let mut by_cell: Vec<Vec<&DeviceMeasurement>> = vec![Vec::new(); context.plan.cells.len()];
    for device in devices.iter().filter(|device| device.report.finished) {
        by_cell[device.cell].push(device);
    }
    for devices in &mut by_cell {
        devices.sort_by_key(|device| device.sample);
    }
    let planned = context.plan.cells.iter().zip(&by_cell).enumerate();
    let cells = planned
        .map(|(index, (planned, devices))| cell(context, index, planned, devices))
        .collect();
    let rows = by_cell.iter().enumerate().flat_map(|(index, devices)| {
        let planned = &context.plan.cells[index];
        devices
            .iter()
            .map(move |device| row(index, planned, device, context.options.timeout))
    });
    (cells, rows.collect())
}

fn cell(context: &Context<'_>, index: usize, planned: &PlannedCell, devices: &[&DeviceMeasurement]) -> Cell {
    let options = context.options;
    let link = &options.links[planned.link];
    let counters = [Direction::Up, Direction::Down].map(|direction| counters_of(context, index, direction));
    let achieved = achieved(context, planned.link, link, &counters);
    let outcomes = outcomes(planned, devices, options);
    let evidence = Evidence {
        link,
        counters: &counters,
        achieved: &achieved,
        outcomes: &outcomes,
        devices,
        dropped_packets: context.dropped_packets,
        ipv6: options.ipv6,
    };
    let warnings = if planned.not_run.is_some() {
        Vec::new()
    } else {
        verdict::warnings(&evidence)
    };
    let measured = !devices.is_empty();
    let lossless = verdict::is_lossless(link);
    Cell {
        stack: planned.stack.to_string(),
        start: "cold".into(),
        payload_bytes: planned.payload.len() as u64,
        engine: "live".into(),
        target: options.target.to_string(),
        valid: planned.not_run.is_none() && warnings.iter().all(|warning| !warning.invalidates),
        warnings,
        not_run: planned.not_run.clone(),
        link: Link {
            up: link_direction(link, Direction::Up),
            down: link_direction(link, Direction::Down),
            achieved: measured.then_some(achieved),
        },
        connect: (measured && planned.stack.has_connect()).then(|| connect_section(devices, lossless)),
        message: measured.then(|| message_section(planned, devices, lossless, options.timeout)),
        keep_alive: quiet_section(devices, |device| &device.keep_alive),
        close: quiet_section(devices, |device| &device.close),
        delivery: None,
        cpu: cpu(options, devices),
        outcomes,
    }
}

fn counters_of(context: &Context<'_>, cell: usize, direction: Direction) -> Counters {
    let mut sum = Counters::default();
    for (host, device) in context.plan.devices.iter().enumerate() {
        if device.cell == cell
            && let Some(link) = context.links.of(host as u32)
        {
            sum += *link.counters(direction);
        }
    }
    sum
}

fn achieved(context: &Context<'_>, index: usize, link: &LinkConfig, counters: &[Counters; 2]) -> Achieved {
    let round_trips = context.checks.get(index).map_or(&[][..], Vec::as_slice);
    let nanos: Vec<u64> = round_trips.iter().map(|rtt| rtt.as_nanos() as u64).collect();
    let rtt_samples = nanos.len() as u64;
    let median = Sample::new(nanos).and_then(|sample| sample.quantile(0.5));
    let [up, down] = [Direction::Up, Direction::Down]
        .map(|way| wirecost_link::Achieved::new(link.direction(way), &counters[way as usize]));
    Achieved {
        rtt_p50_ns: median.map(|quantile| quantile.value),
        rtt_samples,
        loss_up: up.loss.observed(),
        loss_down: down.loss.observed(),
        packets: counters.iter().map(Counters::exposed_to_loss).sum(),
        rate_up_bps: up.rate.map(|rate| rate.bits_per_second()),
        rate_down_bps: down.rate.map(|rate| rate.bits_per_second()),
    }
}

fn link_direction(link: &LinkConfig, way: Direction) -> LinkDirection {
    let direction: &DirectionConfig = link.direction(way);
    let limit = direction.rate.map(|_| link.queue_limit(way));
    LinkDirection {
        delay_ns: direction.delay.as_nanos() as u64,
        delay_variation_ns: match direction.delay_variation.map(|variation| variation.distribution) {
            None => 0,
            Some(DelayDistribution::Uniform { plus_minus }) => plus_minus.as_nanos() as u64,
            Some(DelayDistribution::Normal { standard_deviation }) => standard_deviation.as_nanos() as u64,
        },
        loss: direction.loss.rate(),
        reorder: direction
            .reorder
            .map_or(0.0, |reorder| reorder.probability.value()),
        duplicate: direction.duplicate.value(),
        corrupt: direction.corrupt.value(),
        rate_bps: direction.rate.map(|rate| rate.bits_per_second()),
        queue_bytes: limit.and_then(|limit| {
            if let QueueLimit::Bytes(bytes) = limit {
                Some(bytes)
            } else {
                None
            }
        }),
        queue_packets: limit.and_then(|limit| {
            if let QueueLimit::Packets(packets) = limit {
                Some(packets)
            } else {
                None
            }
        }),
        mtu_bytes: u64::from(direction.mtu),
    }
}

fn connect_section(devices: &[&DeviceMeasurement], lossless: bool) -> Section {
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
        times(durations.collect())
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

/// One measured message of a device.
struct Message<'a> {
    mark: &'a Mark,
    arrival: Option<Instant>,
    round_trips: Option<f64>,
    traffic: &'a Traffic,
}

/// The measured messages of a device: all but the warm-up one.
fn messages<'a>(device: &'a DeviceMeasurement) -> impl Iterator<Item = Message<'a>> {
    let marks = device.report.script.notes().messages.iter().enumerate().skip(1);
    marks.map(|(index, mark)| Message {
        mark,
        arrival: device.arrivals.get(index).copied().flatten(),
        round_trips: device.message_round_trips.get(index).copied().flatten(),
        traffic: &device.messages[index],
    })
}

impl Message<'_> {
    /// Whether any of it entered the link. One that shared its packets with another has none of its own.
    fn is_sent(&self) -> bool {
        let has_packets = self.traffic.packets[Direction::Up as usize] > 0;
        let is_answered = matches!(self.mark.end, Some((_, End::Acknowledged)));
        has_packets || is_answered || self.arrival.is_some()
    }

    /// When the response time ends: at the acknowledgement, or at the arrival where nothing answers.
    fn response(&self, answered: bool) -> Option<Instant> {
        match (answered, self.mark.end) {
            (false, _) => self.arrival,
            (true, Some((at, End::Acknowledged))) => Some(at),
            (true, _) => None,
        }
    }
}

fn message_section(
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
        times(durations.collect())
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
        one_way_delay_ns: times(delays),
        round_trips: if lossless { common(&trips) } else { None },
        goodput_bps: goodput,
        header_ratio: (payload > 0.0).then(|| (wire - payload) / payload),
        ..section
    }
}

/// A phase of which only the bytes count; `None` where there were none.
fn quiet_section(
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

fn nanos_between(start: Instant, end: Instant) -> u64 {
    end.as_nanos().saturating_sub(start.as_nanos())
}

fn times(nanos: Vec<u64>) -> Option<Times> {
    let summary = Sample::new(nanos)?.summary();
    let quantiles = [
        ("p50", summary.p50),
        ("p90", summary.p90),
        ("p95", summary.p95),
        ("p99", summary.p99),
    ];
    let value = |quantile: Option<Quantile>| quantile.map(|quantile| quantile.value);
    let interval = |quantile: &Quantile| Some([quantile.low?, quantile.high?]);
    let printed = || {
        quantiles
            .iter()
            .filter_map(|(name, quantile)| Some((*name, quantile.as_ref()?)))
    };
    Some(Times {
        n: summary.mean.n,
        mean: summary.mean.mean,
        ci95: summary
            .mean
            .low
            .zip(summary.mean.high)
            .map(|(low, high)| [low, high]),
        p50: value(summary.p50),
        p90: value(summary.p90),
        p95: value(summary.p95),
        p99: value(summary.p99),
        min: summary.min,
        max: summary.max,
        quantile_ci95: printed()
            .map(|(name, quantile)| (name.to_owned(), interval(quantile)))
            .collect(),
        low_n: printed()
            .filter(|(_, quantile)| quantile.low_n)
            .map(|(name, _)| name.to_owned())
            .collect(),
    })
}

fn cpu(options: &Options, devices: &[&DeviceMeasurement]) -> Cpu {
    if devices.is_empty() {
        return Cpu {
            reason: Some("no device finished".into()),
            ..Cpu::default()
        };
    }
    let n = devices.len() as f64;
    let mean = |of: &dyn Fn(&DeviceMeasurement) -> Duration| {
        devices
            .iter()
            .map(|device| of(device).as_nanos() as f64)
            .sum::<f64>()
            / n
    };
    let client = CpuSide {
        device_ns: mean(&|device| device.report.cpu),
        message_ns: Some(mean(&message_cpu) / options.messages as f64),
    };
    let builtin = options.target.is_builtin();
    let server = builtin.then(|| CpuSide {
        device_ns: mean(&|device| device.server_cpu),
        message_ns: None,
    });
    let reason =
        (!builtin).then(|| "a foreign server's CPU cannot be told apart while cells overlap".to_owned());
    Cpu {
        client: Some(client),
        server,
        reason,
    }
}

/// CPU time between the first measured message and the end of its last settle.
fn message_cpu(device: &DeviceMeasurement) -> Duration {
    let notes = device.report.script.notes();
    let before = notes.messages.get(1).map(|mark| mark.cpu);
    before.map_or(Duration::ZERO, |before| {
        notes.cpu_after_messages.saturating_sub(before)
    })
}

fn outcomes(planned: &PlannedCell, devices: &[&DeviceMeasurement], options: &Options) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for device in devices {
        outcomes.offered += options.messages;
        let mut messages = messages(device);
        for _ in 0..options.messages {
            match messages
                .next()
                .map(|message| outcome(planned, &message, options.timeout))
            {
                None | Some("failed") => outcomes.failed += 1,
                Some("acknowledged") => outcomes.acknowledged += 1,
                Some("refused") => outcomes.refused += 1,
                Some("late") => outcomes.late += 1,
                Some("delivered") => outcomes.delivered += 1,
                Some("lost") => outcomes.lost += 1,
                Some(_) => outcomes.unknown += 1,
            }
        }
    }
    outcomes
}

fn outcome(planned: &PlannedCell, message: &Message<'_>, timeout: Duration) -> &'static str {
    if !planned.stack.is_answered() {
        return match (message.mark.end, message.arrival) {
            // A block-wise message has answers, whatever the stack asks for.
            (Some((_, End::Refused)), _) => "refused",
            (_, Some(_)) => "delivered",
            // An earlier transfer without an answer holds it back (RFC 7252, section 4.7: NSTART).
            (_, None) if !message.is_sent() => "failed",
            (_, None) => "lost",
        };
    }
    match message.mark.end {
        Some((at, End::Acknowledged)) if at <= message.mark.intended + timeout => "acknowledged",
        Some((_, End::Acknowledged)) => "late",
        Some((_, End::Refused)) => "refused",
        Some((_, End::Failed)) => "failed",
        Some((_, End::Unknown)) | None => "unknown",
    }
}

fn row(index: usize, planned: &PlannedCell, device: &DeviceMeasurement, timeout: Duration) -> SampleRow {
    let notes = device.report.script.notes();
    let answered = planned.stack.is_answered();
    let first = messages(device).next();
    let since = |of: fn(&Mark) -> Instant| {
        let message = first.as_ref()?;
        Some(nanos_between(of(message.mark), message.response(answered)?))
    };
    let started = notes.connect_started.map(|(_, started)| started);
    let empty = Traffic::default();
    let traffic = first.as_ref().map_or(&empty, |message| message.traffic);
    SampleRow {
        cell: index as u64,
        stack: planned.stack.to_string(),
        payload_bytes: planned.payload.len() as u64,
        sample: u64::from(device.sample),
        started_ns: started.map_or(0, Instant::as_nanos),
        outcome: first
            .as_ref()
            .map_or("failed", |message| outcome(planned, message, timeout))
            .to_owned(),
        connect_ns: notes
            .connect_started
            .zip(notes.ready)
            .filter(|_| planned.stack.has_connect())
            .map(|((intended, _), ready)| nanos_between(intended, ready)),
        response_time_ns: since(|mark| mark.intended),
        service_time_ns: since(|mark| mark.actual),
        one_way_delay_ns: first
            .as_ref()
            .and_then(|message| Some(nanos_between(message.mark.actual, message.arrival?))),
        connect_up_bytes: device.connect.wire(Direction::Up),
        connect_down_bytes: device.connect.wire(Direction::Down),
        message_up_bytes: traffic.wire(Direction::Up),
        message_down_bytes: traffic.wire(Direction::Down),
        message_up_packets: traffic.packets[Direction::Up as usize],
        message_down_packets: traffic.packets[Direction::Down as usize],
        close_up_bytes: device.close.wire(Direction::Up),
        close_down_bytes: device.close.wire(Direction::Down),
        client_cpu_ns: Some(device.report.cpu.as_nanos() as u64),
    }
}
