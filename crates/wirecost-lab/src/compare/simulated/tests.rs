//! Cells in virtual time.

use std::time::Duration;

use wirecost_link::nat::NatPort;
use wirecost_scenario::options::compare::{Reconnect, Schedule};
use wirecost_scenario::options::content::Contents;
use wirecost_security::Start;

use super::*;
use crate::compare::fixture::options;

/// The cells of `stacks` on `jobs` threads, in the order of their results.
fn simulated(stacks: &[&str], change: impl FnOnce(&mut Options), jobs: usize) -> Vec<CellResult> {
    let mut options = options(stacks);
    options.samples = 3;
    change(&mut options);
    let plan = Plan::new(&options);
    let cells: Vec<usize> = (0..plan.cells.len()).collect();
    let mut results = Vec::new();
    simulate(
        &options,
        &plan,
        &cells,
        jobs,
        &mut |result| results.push(result),
        &|| false,
    )
    .expect("a simulation");
    results
}

#[test]
fn a_long_cell_ends_when_the_user_interrupts() {
    let mut options = options(&["tcp"]);
    options.samples = 20_000;
    let plan = Plan::new(&options);
    let (mut taken, asked) = (0, std::cell::Cell::new(false));
    // Not at the first call: by the second one, the cell is running.
    let stop = || asked.replace(true);
    simulate(&options, &plan, &[0], 1, &mut |_| taken += 1, &stop).expect("a simulation");
    assert_eq!(taken, 0, "what was half done is not handed over");
}

#[test]
fn cells_on_this_thread_are_those_of_other_threads_until_they_are_stopped() {
    let mut options = options(&["udp", "tcp"]);
    options.samples = 2;
    let plan = Plan::new(&options);
    let expected = simulated(&["udp", "tcp"], |options| options.samples = 2, 2);
    let (prepared, stopped) = (Prepared::default(), AtomicBool::new(false));
    let here = |cells: &[usize]| {
        let mut results = Vec::new();
        let mut take = |result| results.push(result);
        simulate_here(&options, &plan, &prepared, cells, &mut take, &stopped).expect("a simulation");
        results
    };
    assert_eq!(json(&here(&[0, 1])), json(&expected));
    // The second time with what was prepared for the first.
    assert_eq!(json(&here(&[1])), json(&expected[1..]));
    stopped.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(here(&[0, 1]).is_empty());
}

fn json(results: &[CellResult]) -> Vec<String> {
    let cells = results.iter().map(|result| serde_json::to_string(&result.cell));
    cells.collect::<Result<_, _>>().expect("JSON")
}

/// The first packet whose bytes differ: its stack, its index and its first different byte.
fn first_difference(one: &[CellResult], two: &[CellResult]) -> Option<(String, usize, Option<usize>)> {
    one.iter().zip(two).find_map(|(one, two)| {
        let mut pairs = one.packets.iter().zip(&two.packets).enumerate();
        pairs.find_map(|(place, (a, b))| {
            let (a, b) = (&a.packet.bytes, &b.packet.bytes);
            let at = a.iter().zip(b).position(|(a, b)| a != b);
            (a != b).then(|| (one.cell.stack.clone(), place, at))
        })
    })
}

const STACKS: [&str; 17] = [
    "tcp",
    "tcp+tls1.3",
    "mqtt-qos0",
    "mqtt-qos1+tls1.2",
    "mqtt5-qos2",
    "amqp-unsettled",
    "http1+cose",
    "http1+tls1.3",
    "udp",
    "udp+cose",
    "coap-non",
    "coap-con",
    "coap-con+oscore",
    "coap-con+dtls1.3",
    "coap-con+dtls1.2-psk",
    "coap-con+dtls1.2-cid",
    "http3",
];

#[test]
fn every_stack_is_measured() {
    for result in simulated(&STACKS, |_| {}, 2) {
        let cell = &result.cell;
        let told = (&cell.stack, &cell.warnings, &cell.outcomes);
        assert_eq!((cell.engine.as_str(), cell.valid), ("sim", true), "{told:?}");
        assert!(cell.all_arrived(), "{told:?}");
        assert_eq!(
            cell.warnings.len(),
            1,
            "only that there are few samples: {told:?}"
        );
        let message = cell.message.as_ref().expect("a message");
        assert_eq!(message.up.payload.mean, 128.0, "{told:?}");
        assert_eq!(cell.cpu.reason.as_deref(), Some(NO_CPU_TIME));
        assert_eq!(result.rows.len(), 3);
        assert!(
            result.ladder.is_some_and(|ladder| !ladder.packets.is_empty()),
            "{}",
            cell.stack
        );
    }
}

#[test]
fn times_are_those_of_the_link() {
    let results = simulated(&["udp", "coap-con"], |_| {}, 1);
    let median = |index: usize| {
        let message = results[index].cell.message.as_ref().expect("a message");
        message.response_time_ns.as_ref().and_then(|times| times.p50)
    };
    assert_eq!(median(0), Some(12_500_000), "one way of 25 ms");
    assert_eq!(median(1), Some(25_000_000));
}

#[test]
fn cells_do_not_depend_on_threads() {
    let lossy = |options: &mut Options| {
        options.links[0].up.loss = wirecost_link::Loss::Bernoulli("10%".parse().expect("a probability"));
    };
    let one = simulated(&STACKS, lossy, 1);
    let two = simulated(&STACKS, lossy, 2);
    assert_eq!(json(&one), json(&two));
    assert_eq!(first_difference(&one, &two), None);
}

#[test]
fn a_cell_does_not_depend_on_the_others_of_its_run() {
    // Delayed acknowledgments and time-outs follow the ticks of each device's machine.
    let lossy = |options: &mut Options| {
        options.links[0].up.loss = wirecost_link::Loss::Bernoulli("10%".parse().expect("a probability"));
    };
    for stack in ["coap-con", "tcp", "mqtt-qos1"] {
        let alone = simulated(&[stack], lossy, 1);
        let beside = simulated(&["udp", stack], lossy, 1);
        assert_eq!(json(&alone), json(&beside[1..]));
    }
}

#[test]
fn no_cell_begins_after_an_interruption() {
    let options = options(&["udp", "coap-con"]);
    let plan = Plan::new(&options);
    let mut results = 0;
    simulate(&options, &plan, &[0, 1, 0, 1], 1, &mut |_| results += 1, &|| true).expect("nothing");
    assert!(results < 4);
}

#[test]
fn a_cell_that_cannot_run_gives_the_reason() {
    let results = simulated(
        &["udp"],
        |options| options.contents = Contents::Sizes(vec!["70kB".parse().expect("a size")]),
        1,
    );
    assert!(results[0].cell.not_run.is_some() && results[0].rows.is_empty());
    assert!(results[0].cell.message.is_none());
}

#[test]
fn a_handshake_takes_its_round_trips() {
    let results = simulated(&["coap-con+dtls1.3", "http3"], |_| {}, 1);
    let connect = |index: usize| {
        let connect = results[index].cell.connect.as_ref().expect("a connect");
        let times = connect.response_time_ns.as_ref().expect("times");
        (connect.round_trips, Duration::from_nanos(times.max))
    };
    assert_eq!(connect(0), (Some(1.0), Duration::from_millis(25)));
    assert_eq!(connect(1), (Some(1.0), Duration::from_millis(25)));
}

/// Six messages every `seconds`, on connections that servers end after 75 s (HTTP/1.1) and 60 s (HTTP/3) of silence.
fn six_messages_every(seconds: u64) -> impl FnOnce(&mut Options) {
    move |options| {
        options.schedules = vec![Schedule {
            messages: 6,
            warm_up: true,
            interval: Some(Duration::from_secs(seconds)),
            keep_alive: None,
        }];
        options.starts = vec![Start::Cold, Start::Resumed, Start::ZeroRtt];
    }
}

/// The IP bytes of a section, both directions together.
fn wire_sum(section: &Option<wirecost_results::Section>) -> u64 {
    section
        .as_ref()
        .map_or(0, |section| section.up.wire.sum + section.down.wire.sum)
}

#[test]
fn a_connection_that_the_server_ends_is_made_again() {
    for result in simulated(
        &["http1", "http1+tls1.3", "http1+tls1.2", "http3"],
        six_messages_every(305),
        2,
    ) {
        let cell = &result.cell;
        let told = (&cell.stack, &cell.start, &cell.warnings, &cell.outcomes);
        if cell.not_run.is_some() {
            continue;
        }
        assert!(cell.valid && cell.outcomes.add_up(), "{told:?}");
        assert_eq!(cell.outcomes.acknowledged, 18, "{told:?}");
        let connect = cell.connect.as_ref().expect("connects");
        assert_eq!(connect.samples, 18, "{told:?}");
        assert_eq!(cell.close.as_ref().expect("closes").samples, 3, "{told:?}");
    }
}

#[test]
fn a_kept_connection_is_not_made_again() {
    let cells = simulated(&["http1", "http3"], six_messages_every(50), 2);
    for cell in cells
        .iter()
        .map(|result| &result.cell)
        .filter(|cell| cell.not_run.is_none())
    {
        let connect = cell.connect.as_ref().expect("connects");
        assert_eq!(
            (connect.samples, cell.outcomes.acknowledged),
            (3, 18),
            "{}",
            cell.stack
        );
    }
}

#[test]
fn each_connect_costs_the_same_whatever_its_number() {
    let cells = simulated(&["http1"], six_messages_every(305), 1);
    let connect = cells[0].cell.connect.as_ref().expect("connects");
    // SYN and ACK with options; the request leaves with the ACK on none of them.
    assert_eq!((connect.up.wire.min, connect.up.wire.max), (112, 112));
    assert_eq!(connect.round_trips, Some(1.0));
    let never = |options: &mut Options| {
        six_messages_every(305)(options);
        options.reconnect = Reconnect::Never;
    };
    let kept = simulated(&["http1"], never, 1);
    let kept = &kept[0].cell;
    assert_eq!((kept.outcomes.acknowledged, kept.outcomes.failed), (3, 15));
    assert_eq!(wire_sum(&kept.connect) * 6, wire_sum(&cells[0].cell.connect));
}

/// The only cell of `stack` with a message every 150 s behind a NAT that forgets TCP connections after 100 s.
fn behind_nat(stack: &str, keep_alive: u16) -> wirecost_results::Cell {
    let change = |options: &mut Options| {
        six_messages_every(150)(options);
        options.starts = vec![Start::Cold];
        options.keep_alive = keep_alive;
        options.links[0].nat.tcp = Some(Duration::from_secs(100));
        options.links[0].nat.udp = Some(Duration::from_secs(30));
    };
    simulated(&[stack], change, 1).remove(0).cell
}

#[test]
fn a_connection_that_the_nat_forgot_is_reset_and_made_again() {
    for stack in ["mqtt-qos1", "mqtt-qos1+tls1.3", "mqtt5-qos2"] {
        let cell = behind_nat(stack, 0);
        let told = (stack, &cell.outcomes, &cell.warnings);
        assert!(cell.valid && cell.outcomes.add_up(), "{told:?}");
        // Every second message meets the RST. The one after it is on a new connection.
        assert_eq!(
            (cell.outcomes.acknowledged, cell.outcomes.unknown),
            (9, 9),
            "{told:?}"
        );
        assert_eq!(cell.connect.expect("connects").samples, 9, "{stack}");
    }
}

#[test]
fn keep_alives_below_the_nat_time_out_keep_the_connection() {
    for (stack, keep_alive) in [("mqtt-qos1", 60), ("amqp-unsettled", 0), ("coap-con", 0)] {
        let cell = behind_nat(stack, keep_alive);
        assert_eq!(cell.outcomes.acknowledged, 18, "{stack}: {:?}", cell.warnings);
        assert_eq!(cell.connect.map_or(3, |connect| connect.samples), 3, "{stack}");
    }
}

/// The devices' packets of a stack's cell with a message every 150 s: when, and of which shape.
fn life(stack: &str, messages: u64, settle: Duration) -> (String, wirecost_results::traffic::CellTraffic) {
    let change = |options: &mut Options| {
        options.schedules = vec![Schedule {
            messages,
            warm_up: false,
            interval: Some(Duration::from_secs(150)),
            keep_alive: None,
        }];
        options.starts = vec![Start::Cold];
        options.settle = settle;
    };
    let result = simulated(&[stack], change, 1).remove(0);
    assert!(result.cell.valid, "{stack}: {:?}", result.cell.warnings);
    let sections = [&result.cell.connect, &result.cell.message, &result.cell.close];
    (format!("{sections:?}"), result.traffic.expect("traffic"))
}

#[test]
fn a_life_is_the_same_whatever_time_a_measurement_settles() {
    for stack in STACKS {
        for messages in [1, 3] {
            let [quick, usual, slow] =
                [200, 1_000, 3_000].map(|millis| life(stack, messages, Duration::from_millis(millis)));
            assert_eq!(quick, usual, "{stack}, {messages}");
            assert_eq!(usual, slow, "{stack}, {messages}");
        }
    }
}

#[test]
fn a_publication_that_is_due_when_the_keep_alive_ends_replaces_the_pingreq() {
    let keep_alives = |seconds: u16| {
        let change = |options: &mut Options| {
            options.schedules = vec![Schedule {
                messages: 3,
                warm_up: false,
                interval: Some(Duration::from_secs(300)),
                keep_alive: None,
            }];
            options.starts = vec![Start::Cold];
            options.keep_alive = seconds;
        };
        wire_sum(&simulated(&["mqtt-qos1"], change, 1)[0].cell.keep_alive)
    };
    // Four in an interval of five minutes.
    assert_eq!(keep_alives(60), keep_alives(61));
    assert_eq!(keep_alives(300), 0);
}

/// The only cell of `stack` with a message every 150 s behind a NAT that forgets a UDP port after 30 s.
fn with_later_port(stack: &str, port: NatPort) -> wirecost_results::Cell {
    let change = |options: &mut Options| {
        six_messages_every(150)(options);
        options.starts = vec![Start::Cold];
        options.links[0].nat.udp = Some(Duration::from_secs(30));
        options.links[0].nat.port = port;
    };
    simulated(&[stack], change, 1).remove(0).cell
}

#[test]
fn what_a_server_knows_by_its_port_is_made_anew_behind_another_port() {
    let stacks = [
        ("coap-con", 3, 3),
        ("coap-con+oscore", 3, 3),
        ("coap-con+dtls1.2-cid", 3, 3),
        ("coap-con+dtls1.2-psk", 3, 18),
        ("coap-con+dtls1.3", 3, 18),
        ("mqttsn-qos1", 3, 18),
        ("mqttsn-qos1+dtls1.2-cid", 3, 3),
    ];
    for (stack, same, new) in stacks {
        for (port, connects) in [(NatPort::Same, same), (NatPort::New, new)] {
            let cell = with_later_port(stack, port);
            let told = (stack, port, &cell.outcomes, &cell.warnings);
            assert!(cell.valid && cell.outcomes.add_up(), "{told:?}");
            assert_eq!(cell.outcomes.acknowledged, 18, "{told:?}");
            let made = cell.connect.as_ref().map_or(3, |connect| connect.samples);
            assert_eq!(made, connects, "{told:?}");
        }
    }
}

#[test]
fn a_connection_id_costs_its_bytes_and_saves_the_handshakes() {
    let all_in = |stack, port| {
        let cell = with_later_port(stack, port);
        cell.all_in().expect("bytes of a message").each()
    };
    let [psk, cid] = ["coap-con+dtls1.2-psk", "coap-con+dtls1.2-cid"];
    assert!(all_in(psk, NatPort::Same) < all_in(cid, NatPort::Same));
    assert_eq!(all_in(cid, NatPort::Same), all_in(cid, NatPort::New));
    assert!(all_in(psk, NatPort::New) > 2.0 * all_in(cid, NatPort::New));
}

#[test]
fn a_request_that_meets_the_servers_close_loses_no_reading() {
    // The reference servers close after 75 s (HTTP/1.1) and 60 s (QUIC) without a packet.
    for (stack, seconds) in [("http1+tls1.3", 75), ("http1", 75), ("http3", 60)] {
        let change = |options: &mut Options| {
            six_messages_every(seconds)(options);
            options.starts = vec![Start::Cold];
        };
        let cell = simulated(&[stack], change, 1).remove(0).cell;
        let told = (stack, &cell.outcomes, &cell.warnings);
        assert!(cell.valid && cell.outcomes.add_up(), "{told:?}");
        let arrived = cell.outcomes.acknowledged + cell.outcomes.late;
        assert_eq!((arrived, cell.outcomes.offered), (18, 18), "{told:?}");
        // QUIC's time-out counts from the last packet, which acknowledges the response, so that the request comes in time.
        let is_met = cell.connect.is_some_and(|connect| connect.samples > 3);
        assert_eq!(is_met, stack != "http3", "{stack}");
    }
}

/// RFC 9000 section 9: a connection of QUIC follows its client, and the path is validated with datagrams of 1,200 B.
#[test]
fn quic_migrates_to_another_port_and_pays_for_the_validation_of_the_path() {
    let cell = |port| {
        let change = |options: &mut Options| {
            six_messages_every(45)(options);
            options.starts = vec![Start::Cold];
            options.links[0].nat.udp = Some(Duration::from_secs(30));
            options.links[0].nat.port = port;
        };
        simulated(&["http3"], change, 1).remove(0).cell
    };
    let [same, new] = NatPort::ALL.map(cell);
    for cell in [&same, &new] {
        let told = (&cell.outcomes, &cell.warnings);
        assert!(cell.valid, "{told:?}");
        assert_eq!(cell.outcomes.acknowledged, 18, "{told:?}");
        assert_eq!(cell.connect.as_ref().map(|connect| connect.samples), Some(3));
    }
    let [same, new] = [same, new].map(|cell| cell.all_in().expect("bytes of a message").each());
    assert!(new - same > 1_200.0, "{new} and {same}");
}
