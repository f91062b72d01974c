//! Results of runs that never took place: the packets of each stack are written down, everything else is computed
//! from them.
#![allow(dead_code, unused_imports)]

mod engines;
mod intervals;
mod machine;
mod packets;
mod sweep;

use serde_json::{Value, json};
use wirecost_proto::Rng;
use wirecost_results::resolved::Asked;
use wirecost_results::summary::{
    Achieved, Bytes, CauseBytes, Count, Cpu, CpuSide, Link, LinkDirection, Outcomes, Times,
};
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_results::{Cell, Ladder, Results, SampleRow, Section, Summary};

pub(crate) use engines::{DIFFERENCE, both_engines, simulated};
pub(crate) use intervals::intervals;
pub(crate) use machine::environment;
pub(crate) use packets::{Packet, packets};
pub(crate) use sweep::sweep;

pub(crate) const STACKS: [&str; 8] = [
    "tcp",
    "udp",
    "mqtt-qos0",
    "mqtt-qos1",
    "mqtt-qos2",
    "mqtt5-qos1",
    "coap-non",
    "coap-con",
];
const SAMPLES: u64 = 150;

/// Eight stacks, 128 B, RTT 25 ms: everything went well.
pub(crate) fn eight_stacks() -> Results {
    results(STACKS.iter().map(|stack| (*stack, 128, 25)).collect())
}

/// What can go wrong: a cell not run, one invalid, one lossy, one in simulation, one on a real server.
pub(crate) fn troubled() -> Results {
    let mut results = results(STACKS.iter().map(|stack| (*stack, 128, 25)).collect());
    let cells = &mut results.summary.cells;
    not_run(
        &mut cells[0],
        "/dev/net/tun: permission denied; run as root, or leave out --engine live to simulate",
    );
    invalidate(&mut cells[2]);
    lossy(&mut cells[3]);
    cells[4].engine = "sim".into();
    cells[5].target = "mosquitto".into();
    cells[5].start = "resumed".into();
    results.samples.retain(|row| row.cell != 0);
    packets::lose_publish(&mut results.ladders[3]);
    results.ladders.remove(0);
    results
}

/// Two sizes on two links.
pub(crate) fn matrix() -> Results {
    let of_link = |(size, rtt)| ["udp", "mqtt-qos1", "coap-con"].map(|stack| (stack, size, rtt));
    results(
        [(16, 25), (16, 100), (1_000, 25), (1_000, 100)]
            .into_iter()
            .flat_map(of_link)
            .collect(),
    )
}

/// A run of the given cells: stack, payload in bytes, RTT in ms.
pub(crate) fn results(plan: Vec<(&str, u64, u64)>) -> Results {
    let measured: Vec<Measured> = plan
        .iter()
        .enumerate()
        .map(|(index, (stack, payload, rtt))| measure(index as u64, stack, *payload, *rtt))
        .collect();
    Results {
        summary: summary(measured.iter().map(|m| m.cell.clone()).collect()),
        environment: environment(),
        ladders: measured.iter().map(|m| m.ladder.clone()).collect(),
        samples: measured.into_iter().flat_map(|m| m.samples).collect(),
    }
}

fn summary(cells: Vec<Cell>) -> Summary {
    Summary {
        schema: 1,
        version: "0.1.0".into(),
        command: "wirecost compare --size 128B --rtt 25ms -n 150 --seed 1".into(),
        scenario: scenario(&cells),
        seed: 1,
        interrupted: false,
        cells,
        thresholds: Vec::new(),
    }
}

fn scenario(cells: &[Cell]) -> Asked {
    let distinct = |of: fn(&Cell) -> String| {
        let mut all: Vec<String> = Vec::new();
        cells.iter().map(of).for_each(|text| {
            if !all.contains(&text) {
                all.push(text)
            }
        });
        all
    };
    let link = |delay: String| {
        let direction = direction(&delay);
        json!({"up": direction, "down": direction})
    };
    let links: Vec<Value> = distinct(|cell| format!("{}us", cell.link.up.delay_ns / 1_000))
        .into_iter()
        .map(link)
        .collect();
    let scenario = json!({
        "engine": "live",
        "target": "builtin",
        "stacks": distinct(|cell| cell.stack.clone()),
        "start": ["cold"],
        "size": distinct(|cell| format!("{}B", cell.payload_bytes)),
        "links": links,
        "samples": SAMPLES,
        "settle": "1s",
        "timeout": "30s",
        "ipv6": false,
        "seed": 1,
        "resource": "test",
        "keep_alive": "60s",
        "reconnect": "never",
        "messages_per_connection": 1,
        "warm_up": true,
        "client_certificates": false,
        "dtls_cookie": false,
    });
    serde_json::from_value(scenario).unwrap()
}

fn direction(delay: &str) -> Value {
    json!({
        "delay": delay,
        "delay_variation": "0ms",
        "loss": "0%",
        "reorder": "0%",
        "duplicate": "0%",
        "corrupt": "0%",
        "rate": "unlimited",
        "queue": "auto",
        "mtu": "1500B",
    })
}

struct Measured {
    cell: Cell,
    ladder: Ladder,
    samples: Vec<SampleRow>,
}

fn measure(index: u64, stack: &str, payload: u64, rtt_ms: u64) -> Measured {
    let packets = packets(stack, payload);
    let half = rtt_ms * 500_000;
    let mut random = Rng::new(7).cell(index);
    let samples: Vec<SampleRow> = (0..SAMPLES)
        .map(|sample| sample_row(index, sample, stack, payload, &packets, half, &mut random))
        .collect();
    Measured {
        cell: cell(stack, payload, half, &packets, &samples),
        ladder: packets::ladder(stack, payload, rtt_ms, &packets),
        samples,
    }
}

fn sample_row(
    cell: u64,
    sample: u64,
    stack: &str,
    payload: u64,
    packets: &[Packet],
    half: u64,
    random: &mut Rng,
) -> SampleRow {
    // Lateness with a thin tail, as a forwarder has it.
    let lateness = |random: &mut Rng| {
        let uniform = random.next_f64().max(1e-9);
        60_000 + (-uniform.ln() * 45_000.0) as u64
    };
    let response = packets::message_halves(stack) * half + lateness(random);
    let connect = packets::connect_halves(stack).map(|halves| halves * half + lateness(random));
    let (message_up, message_down) = (
        packets::count(packets, "message", true),
        packets::count(packets, "message", false),
    );
    SampleRow {
        start: "cold".into(),
        cell,
        stack: stack.into(),
        payload_bytes: payload,
        sample,
        started_ns: sample * 1_000_000,
        outcome: if packets::is_answered(stack) {
            "acknowledged"
        } else {
            "delivered"
        }
        .into(),
        connect_ns: connect,
        response_time_ns: Some(response),
        service_time_ns: Some(response - 2_000),
        one_way_delay_ns: Some(half + 60_000),
        connect_up_bytes: packets::wire(packets, "connect", true),
        connect_down_bytes: packets::wire(packets, "connect", false),
        message_up_bytes: packets::wire(packets, "message", true),
        message_down_bytes: packets::wire(packets, "message", false),
        message_up_packets: message_up,
        message_down_packets: message_down,
        close_up_bytes: packets::wire(packets, "close", true),
        close_down_bytes: packets::wire(packets, "close", false),
        client_cpu_ns: Some(180_000),
    }
}

fn cell(stack: &str, payload: u64, half: u64, packets: &[Packet], samples: &[SampleRow]) -> Cell {
    let has_connect = packets::connect_halves(stack).is_some();
    let n = samples.len() as u64;
    let answered = packets::is_answered(stack);
    let message = message_section(stack, payload, packets, samples);
    let halves = packets::connect_halves(stack).unwrap_or(0) + packets::message_halves(stack);
    Cell {
        stack: stack.into(),
        start: "cold".into(),
        payload_bytes: payload,
        engine: "live".into(),
        target: "builtin".into(),
        messages_per_connection: 1,
        valid: true,
        link: link(half),
        connect: has_connect.then(|| connect_section(stack, packets, samples)),
        first_message_round_trips: Some(halves as f64 / 2.0),
        message: Some(message),
        close: has_connect.then(|| section("close", packets, n)),
        cpu: Cpu {
            client: Some(CpuSide {
                device_ns: 180_000.0,
                connect_ns: has_connect.then_some(64_200.0),
                message_ns: Some(21_500.0),
            }),
            server: None,
            reason: Some("cells overlapped, so the server's threads cannot be told apart".into()),
        },
        outcomes: Outcomes {
            offered: n,
            acknowledged: if answered { n } else { 0 },
            delivered: if answered { 0 } else { n },
            ..Outcomes::default()
        },
        ..Cell::default()
    }
}

fn connect_section(stack: &str, packets: &[Packet], samples: &[SampleRow]) -> Section {
    Section {
        response_kind: "to_reply".into(),
        response_time_ns: times(samples.iter().filter_map(|row| row.connect_ns)),
        round_trips: packets::connect_halves(stack).map(|halves| halves as f64 / 2.0),
        ..section("connect", packets, samples.len() as u64)
    }
}

fn message_section(stack: &str, payload: u64, packets: &[Packet], samples: &[SampleRow]) -> Section {
    let bytes = section("message", packets, samples.len() as u64);
    let wire = bytes.up.wire.mean + bytes.down.wire.mean;
    let delays = times(samples.iter().filter_map(|row| row.one_way_delay_ns));
    Section {
        response_kind: if packets::is_answered(stack) {
            "to_ack"
        } else {
            "to_arrival"
        }
        .into(),
        response_time_ns: times(samples.iter().filter_map(|row| row.response_time_ns)),
        service_time_ns: times(samples.iter().filter_map(|row| row.service_time_ns)),
        goodput_bps: delays.as_ref().map(|delay| payload as f64 * 8e9 / delay.mean),
        one_way_delay_ns: delays,
        round_trips: Some(packets::message_halves(stack) as f64 / 2.0),
        header_ratio: Some((wire - payload as f64) / payload as f64),
        ..bytes
    }
}

fn section(phase: &str, packets: &[Packet], samples: u64) -> Section {
    let of_cause = |cause: &str| {
        let sum = |up| {
            packets
                .iter()
                .filter(|p| p.is(phase, up) && p.cause == cause)
                .map(|p| p.wire() as f64)
                .sum()
        };
        (
            cause.to_owned(),
            CauseBytes {
                up: sum(true),
                down: sum(false),
            },
        )
    };
    let [up, down] = [true, false].map(|up| bytes(phase, packets, up, samples));
    Section {
        samples,
        response_kind: "to_reply".into(),
        wire_ci95: Some([up.wire.mean + down.wire.mean; 2]),
        up,
        down,
        by_cause: ["original", "acknowledgement"]
            .map(of_cause)
            .into_iter()
            .collect(),
        ..Section::default()
    }
}

fn bytes(phase: &str, packets: &[Packet], up: bool, samples: u64) -> Bytes {
    let sum = |of: fn(&Packet) -> u64| {
        let each: u64 = packets.iter().filter(|p| p.is(phase, up)).map(of).sum();
        Count {
            mean: each as f64,
            sum: each * samples,
            min: each,
            max: each,
        }
    };
    Bytes {
        packets: sum(|_| 1),
        ip: sum(|_| 20),
        transport: sum(|p| p.transport),
        security: Count::default(),
        application: sum(|p| p.application),
        payload: sum(|p| p.payload),
        wire: sum(Packet::wire),
    }
}

fn times(values: impl Iterator<Item = u64>) -> Option<Times> {
    let mut sorted: Vec<u64> = values.collect();
    sorted.sort_unstable();
    let n = sorted.len();
    let mean = sorted.iter().sum::<u64>() as f64 / n as f64;
    let variance = sorted.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    let half = 1.976 * (variance / n as f64).sqrt();
    let at = |share: f64| sorted[((n as f64 * share).ceil() as usize).clamp(1, n) - 1];
    let around = |share: f64| Some([at(share - 0.06), at((share + 0.06).min(1.0))]);
    Some(Times {
        n: n as u64,
        mean,
        ci95: Some([mean - half, mean + half]),
        p50: Some(at(0.5)),
        p90: Some(at(0.9)),
        p95: Some(at(0.95)),
        p99: Some(at(0.99)),
        p999: None,
        min: sorted[0],
        max: sorted[n - 1],
        quantile_ci95: [
            ("p50", around(0.5)),
            ("p90", around(0.9)),
            ("p95", around(0.95)),
            ("p99", None),
        ]
        .map(|(name, interval)| (name.to_owned(), interval))
        .into(),
        low_n: vec!["p95".into(), "p99".into()],
    })
}

fn link(half: u64) -> Link {
    let direction = LinkDirection {
        delay_ns: half,
        queue_packets: Some(64),
        mtu_bytes: 1_500,
        ..LinkDirection::default()
    };
    Link {
        nat_udp_timeout_ns: None,
        nat_tcp_timeout_ns: None,
        nat_port: None,
        up: direction.clone(),
        down: direction,
        achieved: Some(Achieved {
            rtt_p50_ns: Some(2 * half + 61_000),
            rtt_samples: 50,
            loss_up: Some(0.0),
            loss_down: Some(0.0),
            packets: 2_400,
            ..Achieved::default()
        }),
        path: None,
        nbiot_cell: None,
    }
}

/// The cell as it is when it could not be run.
pub(crate) fn not_run(cell: &mut Cell, reason: &str) {
    *cell = Cell {
        not_run: Some(reason.into()),
        valid: false,
        connect: None,
        first_message_round_trips: None,
        message: None,
        close: None,
        cpu: Cpu {
            reason: Some("not run".into()),
            ..Cpu::default()
        },
        outcomes: Outcomes::default(),
        link: Link {
            achieved: None,
            ..cell.link.clone()
        },
        ..cell.clone()
    };
}

fn invalidate(cell: &mut Cell) {
    cell.valid = false;
    cell.warnings.push(Warning {
        kind: WarningKind::LinkRttOff,
        text: "the link's RTT was 27.1 ms, 8 % above the 25 ms asked for".into(),
        invalidates: true,
    });
}

fn lossy(cell: &mut Cell) {
    cell.outcomes = Outcomes {
        offered: 150,
        acknowledged: 147,
        late: 2,
        unknown: 1,
        ..Outcomes::default()
    };
    cell.warnings.push(Warning {
        kind: WarningKind::Timeouts,
        text: "2 % of the messages were not acknowledged in time".into(),
        invalidates: false,
    });
    cell.first_message_round_trips = None;
    for section in [&mut cell.connect, &mut cell.message].into_iter().flatten() {
        section.round_trips = None;
        section.up.wire.mean += 9.36;
        section.up.application.mean += 9.36;
        section
            .by_cause
            .insert("retransmission".into(), CauseBytes { up: 9.36, down: 0.0 });
    }
    if let Some(message) = &mut cell.message {
        message.samples = 147;
    }
}
