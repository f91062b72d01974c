//! Loads with the features that reports must show: a stall, a storm, a matrix with a knee, one that must not be used.

use std::collections::BTreeMap;

use serde_json::json;
use wirecost_report::load::LoadResults;
use wirecost_results::curves::{Curve, CurveKind};
use wirecost_results::environment::Emulator;
use wirecost_results::figures::{Connects, Deliveries};
use wirecost_results::link_use::{DirectionUse, LinkUse};
use wirecost_results::load::{
    Bottleneck, LinkFigures, Load, LoadSummary, LoopKind, PhaseFigures, ProcessUse,
};
use wirecost_results::profile::fold;
use wirecost_results::seconds::SecondRow;
use wirecost_results::summary::{Achieved, Link, LinkDirection, Outcomes, Times};
use wirecost_results::threshold::Threshold;
use wirecost_results::usage::UsageRow;
use wirecost_results::warning::{Warning, WarningKind};

/// 1,000 messages a second to a server that stands still from second 4 to 6 of the publishing.
pub(crate) fn stalled() -> LoadResults {
    let mut load = load("mqtt-qos1", 10, 1_000.0);
    let mut seconds = connecting(10);
    for second in 0..10 {
        let mut row = second_of(1, second, 1_000);
        if (4..6).contains(&second) {
            let wait = 2_000_000_000 - (second - 4) * 1_000_000_000;
            (row.response_p50_ns, row.response_p99_ns) = (Some(wait - 500_000_000), Some(wait - 10_000_000));
        }
        row.outcomes.refused = u64::from(second == 7) * 40;
        row.outcomes.acknowledged -= row.outcomes.refused;
        seconds.push(row);
    }
    let publish = &mut load.phases[1];
    publish.outcomes.refused = 40;
    publish.outcomes.acknowledged -= 40;
    publish.reasons = BTreeMap::from([("0x97 Quota exceeded".to_owned(), 40)]);
    results(vec![load], seconds)
}

/// A storm: 2,000 devices lose their connections and come back.
pub(crate) fn storm() -> LoadResults {
    let mut load = load("mqtt-qos1+tls1.3", 2_000, 500.0);
    let mut seconds = connecting(2_000);
    seconds.extend((0..10).map(|second| second_of(1, second, 500)));
    load.phases.push(PhaseFigures {
        name: "reconnect".into(),
        valid: true,
        begin_s: 12.5,
        duration_s: 60.0,
        connects: Connects {
            attempted: 4_200,
            established: 2_000,
            resumed: 1_700,
            timed_out: 200,
            failed: 2_000,
            ..Connects::default()
        },
        connect_time_ns: Some(times(2_000, 40_000_000.0)),
        ..PhaseFigures::default()
    });
    for second in 0..60_u64 {
        let attempted = 600 / (1 + second);
        seconds.push(SecondRow {
            phase: 2,
            second,
            connects: Connects {
                attempted,
                established: attempted / 2,
                lost: u64::from(second == 0) * 2_000,
                ..Connects::default()
            },
            ..SecondRow::default()
        });
    }
    results(vec![load], seconds)
}

/// Rates from 1,000 to 64,000 a second over two stacks: both break, one earlier.
pub(crate) fn matrix() -> LoadResults {
    let mut loads = Vec::new();
    for (stack, limit) in [("mqtt-qos1", 30_000.0_f64), ("coap-con", 12_000.0)] {
        for rate in [1_000.0, 2_000.0, 4_000.0, 8_000.0, 16_000.0, 32_000.0, 64_000.0] {
            let mut load = load(stack, 100, rate);
            let publish = &mut load.phases[1];
            publish.carried_rate = Some(rate.min(limit));
            let slower = 1.0 / (1.0 - (rate / limit).min(0.98));
            publish.response_time_ns = Some(times(60_000, 180_000.0 * slower));
            if rate > limit {
                load.bottleneck = Some(Bottleneck {
                    who: "target".into(),
                    why: "its busiest thread used 99 % of a CPU".into(),
                });
            }
            loads.push(load);
        }
    }
    invalidate(&mut loads[6]);
    loads.last_mut().unwrap().not_run = Some("the target <refused> & left".into());
    results(loads, Vec::new())
}

/// The publishing phase must not be used.
pub(crate) fn invalidate(load: &mut Load) {
    load.valid = false;
    load.phases[1].valid = false;
    load.phases[1].warnings.push(Warning {
        kind: WarningKind::ScheduleLag,
        text: "the generator was 4.1 ms late (p99), above 1 ms".into(),
        invalidates: true,
    });
}

/// The same load over two emulated links: of the slower one the rate could give no more.
pub(crate) fn linked() -> LoadResults {
    let over = |rate_bps: Option<u64>, used: DirectionUse| {
        let mut load = load("udp", 20, 500.0);
        let way = |rate_bps| LinkDirection {
            delay_ns: 20_000_000,
            loss: 0.01,
            rate_bps,
            mtu_bytes: 1_500,
            ..LinkDirection::default()
        };
        load.link = Some(Box::new(LinkFigures {
            link: Link {
                nat_udp_timeout_ns: None,
                nat_tcp_timeout_ns: None,
                nat_port: None,
                up: way(rate_bps),
                down: way(None),
                achieved: Some(Achieved {
                    rtt_p50_ns: Some(40_012_000),
                    ..Achieved::default()
                }),
                path: None,
                nbiot_cell: None,
            },
            packet_path: "tun".into(),
            emulator: Some(Emulator {
                packets: 5_400,
                lateness_p99_ns: 83_000,
                ..Emulator::default()
            }),
            dropped_packets: 0,
            relay: None,
        }));
        load.phases[1].link = Some(LinkUse {
            up: used,
            down: DirectionUse::default(),
        });
        load
    };
    let free = over(
        None,
        DirectionUse {
            packets: 5_000,
            bytes: 780_000,
            lost: 51,
            ..DirectionUse::default()
        },
    );
    let mut full = over(
        Some(100_000),
        DirectionUse {
            packets: 5_000,
            bytes: 780_000,
            lost: 8,
            queue_dropped: 4_200,
            utilisation: Some(0.994),
            ..DirectionUse::default()
        },
    );
    full.bottleneck = Some(Bottleneck {
        who: "link".into(),
        why: "up: 5000 packets, its rate in use 99 % of the time, 8 lost, 4200 dropped by its full queue"
            .into(),
    });
    results(vec![free, full], Vec::new())
}

fn load(stack: &str, clients: u64, rate: f64) -> Load {
    Load {
        key: format!("{stack}-{clients}-{rate}"),
        stack: stack.into(),
        start: "cold".into(),
        payload_bytes: Some(128),
        target: "builtin".into(),
        engine: "live".into(),
        clients,
        loop_kind: LoopKind::Open,
        arrivals: Some("constant".into()),
        processes: 1,
        loops: 2,
        valid: true,
        phases: vec![connect(clients), publish(rate)],
        generator: Some(side(0.12, 14_200_000, 3.2)),
        target_use: Some(side(0.31, 8_100_000, 4.4)),
        bottleneck: Some(Bottleneck {
            who: "none".into(),
            why: "the generator used 12 % of a CPU, the target 31 %, all that was offered was acknowledged"
                .into(),
        }),
        profile: Some("profile/000.folded".into()),
        ..Load::default()
    }
}

fn connect(clients: u64) -> PhaseFigures {
    PhaseFigures {
        name: "connect".into(),
        valid: true,
        duration_s: 2.0,
        measured_s: 2.0,
        connects: Connects {
            attempted: clients,
            established: clients,
            ..Connects::default()
        },
        connect_time_ns: Some(times(clients, 600_000.0)),
        ..PhaseFigures::default()
    }
}

fn publish(rate: f64) -> PhaseFigures {
    let offered = (rate * 10.0) as u64;
    PhaseFigures {
        name: "publish".into(),
        valid: true,
        begin_s: 2.0,
        duration_s: 10.4,
        measured_s: 10.0,
        asked_rate: Some(rate),
        offered_rate: Some(rate),
        carried_rate: Some(rate),
        outcomes: Outcomes {
            offered,
            acknowledged: offered,
            ..Outcomes::default()
        },
        sent: offered,
        deliveries: Some(Deliveries {
            arrived: offered,
            ..Deliveries::default()
        }),
        socket_bytes_up: offered * 139,
        socket_bytes_down: offered * 4,
        response_kind: Some("to_ack".into()),
        response_time_ns: Some(times(offered, 210_000.0)),
        service_time_ns: Some(times(offered, 180_000.0)),
        schedule_lag_ns: Some(times(offered, 9_000.0)),
        one_way_delay_ns: Some(times(offered, 120_000.0)),
        ..PhaseFigures::default()
    }
}

/// Times around a median, with the quantiles that so many samples support.
fn times(n: u64, median: f64) -> Times {
    let at = |factor: f64| (median * factor) as u64;
    Times {
        n,
        mean: median * 1.1,
        p50: Some(at(1.0)),
        p90: Some(at(1.6)),
        p95: Some(at(2.0)),
        p99: (n >= 100).then(|| at(3.1)),
        p999: (n >= 10_000).then(|| at(8.0)),
        min: at(0.4),
        max: at(14.0),
        low_n: if n < 1_000 { vec!["p99".into()] } else { Vec::new() },
        ..Times::default()
    }
}

fn side(share: f64, resident_bytes: u64, per_million: f64) -> ProcessUse {
    ProcessUse {
        user_s: share * 4.0,
        system_s: share * 6.0,
        wall_s: 10.0,
        cpu_share: Some(share),
        busiest_thread_share: Some(share * 0.9),
        resident_bytes,
        processes: 1,
        cpu_s_per_million: Some(per_million),
    }
}

fn connecting(clients: u64) -> Vec<SecondRow> {
    let row = |second| SecondRow {
        second,
        connects: Connects {
            attempted: clients / 2,
            established: clients / 2,
            ..Connects::default()
        },
        connect_p50_ns: Some(600_000),
        ..SecondRow::default()
    };
    (0..2).map(row).collect()
}

fn second_of(phase: u64, second: u64, rate: u64) -> SecondRow {
    SecondRow {
        phase,
        second,
        outcomes: Outcomes {
            offered: rate,
            acknowledged: rate,
            ..Outcomes::default()
        },
        sent: rate,
        response_p50_ns: Some(200_000 + second * 1_000),
        response_p99_ns: Some(640_000 + second * 9_000),
        ..SecondRow::default()
    }
}

/// A generator that works evenly and a target whose memory grows, for each of the seconds.
fn usage(seconds: &[SecondRow]) -> Vec<UsageRow> {
    let row = |(row, elapsed): (&SecondRow, u64)| UsageRow {
        phase: row.phase,
        elapsed_ns: elapsed * 1_000_000_000,
        span_ns: 1_000_000_000,
        generator_cpu_ns: 120_000_000,
        generator_busiest_ns: Some(70_000_000),
        generator_resident_bytes: 14_200_000,
        target_cpu_ns: Some(310_000_000),
        target_busiest_ns: None,
        target_resident_bytes: Some(8_100_000 + elapsed * 100_000),
        ..UsageRow::default()
    };
    seconds.iter().zip(1..).map(row).collect()
}

fn results(loads: Vec<Load>, seconds: Vec<SecondRow>) -> LoadResults {
    let usage = usage(&seconds);
    let curves = loads
        .iter()
        .enumerate()
        .flat_map(|(load, of)| curves(load, of))
        .collect();
    LoadResults {
        summary: LoadSummary {
            schema: 1,
            kind: "load".into(),
            version: "0.1.0".into(),
            command: "wirecost load mqtt-qos1 --rate 1000/s --duration 10s".into(),
            name: "load mqtt-qos1".into(),
            seed: 42,
            interrupted: false,
            loads,
            thresholds: vec![
                threshold("response_time", "p(99)<5ms", Some(0.002), true),
                threshold("messages_lost", "count==0", Some(3.0), false),
            ],
            searches: Vec::new(),
            repeats: Vec::new(),
        },
        environment: json!({"kernel": "6.18.2", "cpus": 2, "limits": {"open_files": 20_000}}),
        scenario: "wirecost: 1\nphases:\n- publish\n".into(),
        usage,
        seconds,
        curves,
        profiles: vec![(0, fold(SCRIPT))],
    }
}

fn threshold(metric: &str, expression: &str, actual: Option<f64>, pass: bool) -> Threshold {
    Threshold {
        metric: metric.into(),
        expression: expression.into(),
        actual,
        interval: None,
        pass,
    }
}

fn curves(load: usize, of: &Load) -> Vec<Curve> {
    let curve = |phase: usize, kind: CurveKind, times: &Option<Times>| {
        let times = times.as_ref()?;
        let steps = (0..=60).map(|step| {
            let share = if step == 60 {
                1.0
            } else {
                1.0 - 0.5_f64.powf(f64::from(step) / 4.0)
            };
            let nines = f64::from(step) / 4.0;
            (share, times.min as f64 * (1.0 + nines * nines * 0.4))
        });
        Some(Curve {
            load,
            phase,
            kind,
            steps: steps.collect(),
        })
    };
    of.phases
        .iter()
        .enumerate()
        .flat_map(|(phase, figures)| {
            [
                curve(phase, CurveKind::Response, &figures.response_time_ns),
                curve(phase, CurveKind::Service, &figures.service_time_ns),
                curve(phase, CurveKind::Connect, &figures.connect_time_ns),
            ]
        })
        .flatten()
        .collect()
}

const SCRIPT: &str = "\
wirecost
\tffffffff81230000 tcp_sendmsg
\tffffffff81230001 __x64_sys_sendto
\t55e0 __send
\t55e1 wirecost_live::driver::server::flush
\t55e2 wirecost_live::driver::server::run
\t55e3 main

wirecost
\tffffffff81230000 tcp_sendmsg
\tffffffff81230001 __x64_sys_sendto
\t55e0 __send
\t55e1 wirecost_live::driver::server::flush
\t55e2 wirecost_live::driver::server::run
\t55e3 main

wirecost
\t55e7 wirecost_mqtt::broker::publish
\t55e2 wirecost_live::driver::server::run
\t55e3 main

wirecost
\tffffffff81230005 ep_poll
\t55e9 epoll_wait
\t55e2 wirecost_live::driver::server::run
\t55e3 main
";
