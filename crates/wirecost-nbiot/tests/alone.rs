//! A report of a device that is alone in a quiet cell, answered or not: the closed form beside the network.

use std::time::Duration;

use wirecost_nbiot::config::{CdrxConfig, ReleaseAssistance};
use wirecost_nbiot::network::AirEvent;
use wirecost_nbiot::network::alone::{Alone, DownlinkAnswer};
use wirecost_nbiot::subframe::Subframe;
use wirecost_nbiot::{Config, Gains, Network, Packet, StateTimes, UeFacts};
use wirecost_proto::Direction;

/// A report has ended by then.
const LONGEST: Duration = Duration::from_secs(200);

/// Watts of TR 45.820: sending, receiving and monitoring, waiting.
const WATTS: [f64; 4] = [0.545, 0.090, 0.090, 0.003];

fn joules(states: &StateTimes) -> f64 {
    let times = [
        states.transmit,
        states.receive,
        states.monitor,
        states.idle_connected,
    ];
    times
        .iter()
        .zip(WATTS)
        .map(|(time, watts)| time.as_secs_f64() * watts)
        .sum()
}

/// What a report that begins at `from` takes in a network without other devices, with the answer to it.
fn in_network(
    network: &mut Network,
    loss_db: f64,
    bytes: u32,
    answer: Option<DownlinkAnswer>,
    from: Subframe,
) -> UeFacts {
    let at = from.instant();
    let ue = network.arrive_with(from.index(), Gains::fixed(&[-loss_db]), at);
    network.offer(ue, Direction::Up, Packet { token: 1, bytes }, at);
    let mut due = None;
    loop {
        if let (Some((bytes, when)), next) = (due, network.next_event())
            && next.is_none_or(|next| when <= next)
        {
            due = None;
            network.offer(ue, Direction::Down, Packet { token: 2, bytes }, when);
        }
        let Some(next) = network.next_event() else {
            break;
        };
        network.advance(next, &mut |event| {
            if let AirEvent::Delivered {
                direction: Direction::Up,
                at,
                ..
            } = event
            {
                due = answer.map(|answer| (answer.bytes, at + answer.after));
            }
        });
    }
    network.remove(ue, at + LONGEST).expect("the device")
}

/// Energy of reports in the network and in closed form, in mJ, over begins and sizes. Each answer is as large as its report.
fn both(config: &Config, loss_db: f64, answered_after: Option<Duration>) -> (f64, f64) {
    let mut network = Network::new(config, 1).expect("a network");
    let mut alone = Alone::new(config).expect("a network").expect("the flow resume");
    let mut sums = (0.0, 0.0);
    // Of what is answered there are more cases, and a report and its answer take longer.
    let reports = if answered_after.is_some() { 8 } else { 24 };
    for nth in 0..reports {
        let bytes = [30, 58, 200, 1_000][nth as usize % 4];
        let from = Subframe::new(nth * (LONGEST.as_millis() as u64 + 517));
        let answer = answered_after.map(|after| DownlinkAnswer { bytes, after });
        let facts = in_network(&mut network, loss_db, bytes, answer, from);
        assert_eq!(
            (
                facts.preambles,
                facts.harq_retransmissions,
                facts.rlc_retransmissions
            ),
            (1, 0, 0),
            "nothing fails at {loss_db} dB, answered after {answered_after:?}"
        );
        sums.0 += joules(&facts.states) * 1e3;
        let closed = match answer {
            Some(answer) => alone
                .exchange(loss_db, bytes, answer, from)
                .expect("an answer within the connection"),
            None => alone.report(loss_db, bytes, from),
        };
        sums.1 += joules(&closed.states) * 1e3;
    }
    sums
}

/// A network with C-DRX of this cycle.
fn drx(config: &Config, cycle_ms: u32, inactivity_pp: u16, start_offset: u16) -> Config {
    let mut config = config.clone();
    config.cdrx = CdrxConfig {
        cycle_ms: Some(cycle_ms),
        inactivity_pp,
        start_offset: Some(start_offset),
        ..CdrxConfig::default()
    };
    config
}

#[test]
fn cell_and_closed_form_are_within_1_percent_in_a_quiet_cell() {
    let quiet = Config::quiet_cell();
    let mut assisted = quiet.clone();
    assisted.rrc.release_assistance = ReleaseAssistance::NoFurtherData;
    let mut patient = quiet.clone();
    patient.rrc.inactivity_ms = 10_000;
    for (name, config) in [
        ("quiet", quiet),
        ("release assistance", assisted),
        ("C-DRX of 256 ms, no inactivity time", drx(&patient, 256, 0, 3)),
        ("C-DRX of 2,048 ms", drx(&patient, 2_048, 8, 0)),
        // Its cycle restarts with the system frame number.
        ("C-DRX of 9,216 ms", drx(&patient, 9_216, 2, 200)),
        ("inactivity 10 s", patient),
    ] {
        for loss_db in [100.0, 120.0, 140.0, 150.0, 155.0] {
            let (cell, closed) = both(&config, loss_db, None);
            let off = closed / cell - 1.0;
            assert!(
                off.abs() < 0.01,
                "{name}, {loss_db} dB: {cell} mJ in the cell, {closed} mJ in closed form"
            );
        }
    }
}

#[test]
fn an_answered_report_is_within_1_percent_in_a_quiet_cell() {
    let quiet = Config::quiet_cell();
    let mut assisted = quiet.clone();
    assisted.rrc.release_assistance = ReleaseAssistance::OneDownlink;
    let mut patient = quiet.clone();
    patient.rrc.inactivity_ms = 10_000;
    for (name, config, longest_ms) in [
        ("quiet", quiet, 900),
        ("release after the answer", assisted, 900),
        ("C-DRX of 2,048 ms", drx(&patient, 2_048, 8, 0), 3_000),
        ("inactivity 10 s", patient, 3_000),
    ] {
        for loss_db in [100.0, 155.0] {
            for after_ms in [0, 500, longest_ms] {
                let (cell, closed) = both(&config, loss_db, Some(Duration::from_millis(after_ms)));
                let off = closed / cell - 1.0;
                assert!(
                    off.abs() < 0.01,
                    "{name}, {loss_db} dB, answered after {after_ms} ms: {cell} mJ in the cell, {closed} mJ in closed form"
                );
            }
        }
    }
}

#[test]
fn an_answer_that_the_connection_does_not_wait_for_has_no_closed_form() {
    let mut config = Config::quiet_cell();
    let exchange = |config: &Config, after| {
        let mut alone = Alone::new(config).expect("a network").expect("the flow resume");
        let answer = DownlinkAnswer { bytes: 40, after };
        alone.exchange(120.0, 100, answer, Subframe::new(0))
    };
    let inactivity = Duration::from_millis(config.rrc.inactivity_ms.into());
    assert_eq!(exchange(&config, inactivity), None);
    assert!(exchange(&config, inactivity - Duration::from_millis(1)).is_some());
    config.rrc.release_assistance = ReleaseAssistance::NoFurtherData;
    assert_eq!(
        exchange(&config, Duration::ZERO),
        None,
        "released with the report"
    );
}

#[test]
fn a_report_takes_more_with_every_coverage_level_and_with_its_bytes() {
    let config = Config::default();
    let mut alone = Alone::new(&config).expect("a network").expect("the flow resume");
    let mut of = |loss_db, bytes| joules(&alone.mean_report(loss_db, bytes).states);
    let levels = [120.0, 155.0, 164.0].map(|loss_db| of(loss_db, 100));
    assert!(levels.is_sorted(), "{levels:?}");
    let sizes = [20, 100, 400, 1_500].map(|bytes| of(130.0, bytes));
    assert!(sizes.is_sorted(), "{sizes:?}");
}
