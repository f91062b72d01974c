//! A report of a device that is alone in a quiet cell: the closed form beside the network.

use std::time::Duration;

use wirecost_nbiot::config::{CdrxConfig, ReleaseAssistance};
use wirecost_nbiot::network::alone::Alone;
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

/// What a report that begins at `from` takes in a network without other devices.
fn in_network(network: &mut Network, loss_db: f64, bytes: u32, from: Subframe) -> UeFacts {
    let at = from.instant();
    let ue = network.arrive_with(from.index(), Gains::fixed(&[-loss_db]), at);
    network.offer(ue, Direction::Up, Packet { token: 1, bytes }, at);
    while let Some(next) = network.next_event() {
        network.advance(next, &mut |_| {});
    }
    network.remove(ue, at + LONGEST).expect("the device")
}

/// Energy of reports in the network and in closed form, in mJ, over begins and sizes.
fn both(config: &Config, loss_db: f64) -> (f64, f64) {
    let mut network = Network::new(config, 1).expect("a network");
    let mut alone = Alone::new(config).expect("a network").expect("the flow resume");
    let mut sums = (0.0, 0.0);
    for nth in 0..24 {
        let bytes = [30, 58, 200, 1_000][nth as usize % 4];
        let from = Subframe::new(nth * (LONGEST.as_millis() as u64 + 517));
        let facts = in_network(&mut network, loss_db, bytes, from);
        assert_eq!(
            (
                facts.preambles,
                facts.harq_retransmissions,
                facts.rlc_retransmissions
            ),
            (1, 0, 0),
            "nothing fails at {loss_db} dB"
        );
        sums.0 += joules(&facts.states) * 1e3;
        sums.1 += joules(&alone.report(loss_db, bytes, from).states) * 1e3;
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
            let (cell, closed) = both(&config, loss_db);
            let off = closed / cell - 1.0;
            assert!(
                off.abs() < 0.01,
                "{name}, {loss_db} dB: {cell} mJ in the cell, {closed} mJ in closed form"
            );
        }
    }
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
