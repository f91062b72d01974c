//! Changes of a network: preconfigured resources, paging, and what a report then takes.

use std::time::Duration;

use wirecost_nbiot::config::{Flow, IdleMode, ReleaseAssistance};
use wirecost_nbiot::{AirEvent, Config, Gains, Network, Packet, UeFacts, UeId};
use wirecost_proto::{Direction, Instant};

/// How long the network runs.
const END: Instant = Instant::from_millis(600_000);

/// A device in a quiet cell, and what happened to it.
struct Run {
    network: Network,
    ue: UeId,
    /// Packets that arrived: direction, token, time in ms.
    delivered: Vec<(Direction, u64, u64)>,
}

impl Run {
    fn new(config: &Config) -> Self {
        let mut network = Network::new(config, 1).unwrap();
        let ue = network.arrive_with(0, Gains::fixed(&[-100.0]), Instant::START);
        Self {
            network,
            ue,
            delivered: Vec::new(),
        }
    }

    fn offer(&mut self, direction: Direction, token: u64, bytes: u32, at_ms: u64) {
        let at = Instant::from_millis(at_ms);
        self.network
            .offer(self.ue, direction, Packet { token, bytes }, at);
    }

    /// Lets time go on; `answer_bytes` are offered 8 ms after each uplink packet.
    fn run(&mut self, until: Instant, answer_bytes: Option<u32>) {
        while let Some(next) = self.network.next_event().filter(|next| *next <= until) {
            let mut events = Vec::new();
            self.network.advance(next, &mut |event| events.push(event));
            for event in events {
                let AirEvent::Delivered {
                    direction, token, at, ..
                } = event
                else {
                    continue;
                };
                let ms = at.as_nanos() / 1_000_000;
                self.delivered.push((direction, token, ms));
                if let (Direction::Up, Some(bytes)) = (direction, answer_bytes) {
                    let answer = Packet {
                        token: token + 100,
                        bytes,
                    };
                    let at = at + Duration::from_millis(8);
                    self.network.offer(self.ue, Direction::Down, answer, at);
                }
            }
        }
    }

    fn facts(&self) -> UeFacts {
        self.network.ue_facts(self.ue, END).unwrap()
    }

    fn dcis(&self) -> u64 {
        self.network.cell_facts(0, END).dci_used.iter().sum()
    }

    fn tokens(&self) -> Vec<u64> {
        self.delivered.iter().map(|(_, token, _)| *token).collect()
    }
}

/// One report of 58 B.
fn report(config: &Config) -> Run {
    let mut run = Run::new(config);
    run.offer(Direction::Up, 1, 58, 0);
    run.run(END, None);
    assert_eq!(run.tokens(), [1]);
    run
}

fn preconfigured() -> Config {
    let mut config = Config::quiet_cell();
    config.rrc.flow = Flow::Preconfigured;
    config
}

#[test]
fn a_report_takes_six_dcis_two_early_one_preconfigured() {
    let mut config = Config::quiet_cell();
    assert_eq!(report(&config).dcis(), 6);
    config.mac.ul_grant_after_dl = false;
    assert_eq!(report(&config).dcis(), 6);
    config.rrc.flow = Flow::ControlPlane;
    assert_eq!(report(&config).dcis(), 6);
    config.rrc.flow = Flow::EarlyData;
    assert_eq!(report(&config).dcis(), 2);
    let run = report(&preconfigured());
    assert_eq!(run.dcis(), 1);
    let facts = run.facts();
    assert_eq!((facts.preambles, facts.connections), (0, 0));
    assert_eq!(
        facts.airtime.npdsch,
        Duration::ZERO,
        "the acknowledgement is a DCI"
    );
}

#[test]
fn control_plane_data_with_assistance_takes_four_or_five() {
    let mut config = Config::quiet_cell();
    config.rrc.flow = Flow::ControlPlane;
    config.rrc.release_assistance = ReleaseAssistance::NoFurtherData;
    assert_eq!(report(&config).dcis(), 5);
    config.rrc.status_after_release = false;
    assert_eq!(report(&config).dcis(), 4);
}

#[test]
fn an_answer_comes_in_the_response_window() {
    let mut run = Run::new(&preconfigured());
    run.offer(Direction::Up, 1, 58, 0);
    run.run(END, Some(40));
    assert_eq!(run.tokens(), [1, 101]);
    let facts = run.facts();
    assert_eq!((run.dcis(), facts.preambles, facts.connections), (1, 0, 0));
    assert!(facts.airtime.npdsch > Duration::ZERO);
}

#[test]
fn what_does_not_fit_its_resource_goes_by_random_access() {
    let mut run = Run::new(&preconfigured());
    run.offer(Direction::Up, 1, 400, 0);
    run.run(END, None);
    assert_eq!((run.tokens(), run.facts().preambles), (vec![1], 1));
    // A moved device has no valid timing advance.
    let mut config = preconfigured();
    config.pur.timing_advance_valid = 0.0;
    assert_eq!(report(&config).facts().preambles, 1);
}

#[test]
fn a_resource_comes_back_after_its_period() {
    let mut run = Run::new(&preconfigured());
    for (token, at) in [(1, 0), (2, 20_000), (3, 200_000)] {
        run.run(Instant::from_millis(at), None);
        run.offer(Direction::Up, token, 58, at);
    }
    run.run(END, None);
    // The second report is made before the second resource.
    assert_eq!((run.tokens(), run.facts().preambles), (vec![1, 2, 3], 1));
}

#[test]
fn without_an_answer_a_device_makes_a_random_access() {
    let mut config = preconfigured();
    config.rrc.edt_downlink_wait_ms = 10_000;
    config.pur.response_window_pp = 1;
    let run = report(&config);
    let facts = run.facts();
    assert_eq!((facts.preambles, facts.connections), (1, 1));
}

#[test]
fn skipped_resources_take_uplink_time() {
    let npusch = |resources| {
        let mut config = preconfigured();
        config.pur.resources_per_report = resources;
        let run = report(&config);
        run.network.cell_facts(0, END).npusch
    };
    let one = npusch(1);
    assert!(one > Duration::ZERO);
    assert_eq!(npusch(4), 4 * one);
}

/// A downlink packet 30 s after a report, which has been released for long; returns after how many ms it arrives, and the
/// DCIs that it takes.
fn late_answer(config: &Config) -> (Option<u64>, u64) {
    let mut run = Run::new(config);
    run.offer(Direction::Up, 1, 58, 0);
    run.run(Instant::from_millis(30_000), None);
    let before = run.dcis();
    run.offer(Direction::Down, 2, 60, 30_000);
    run.run(END, None);
    let arrived = run.delivered.iter().find(|(_, token, _)| *token == 2);
    (arrived.map(|(.., at)| at - 30_000), run.dcis() - before)
}

#[test]
fn an_idle_device_waits_for_its_paging_occasion() {
    let with = |mode| {
        let mut config = Config::quiet_cell();
        config.idle.mode = mode;
        late_answer(&config)
    };
    let (drx, dcis) = with(IdleMode::Drx);
    assert!(drx.unwrap() < 2_560 + 1_000, "{drx:?}");
    // The page, Msg2, Msg4, Msg5, the packet, its status report, the release and its status report.
    assert_eq!(dcis, 8);
    let (edrx, _) = with(IdleMode::Edrx);
    assert!((2_560..81_920 + 1_000).contains(&edrx.unwrap()), "{edrx:?}");
    // The active time of the device (10 s) is over: the cell cannot page it.
    assert_eq!(with(IdleMode::Psm), (None, 0));
}

#[test]
fn a_sleeping_device_gets_its_packet_once_it_sends() {
    let mut config = Config::quiet_cell();
    config.idle.mode = IdleMode::Psm;
    let mut run = Run::new(&config);
    run.offer(Direction::Up, 1, 58, 0);
    run.run(Instant::from_millis(30_000), None);
    run.offer(Direction::Down, 2, 60, 30_000);
    run.run(Instant::from_millis(100_000), None);
    assert_eq!(run.tokens(), [1]);
    run.offer(Direction::Up, 3, 58, 100_000);
    run.run(END, None);
    let mut tokens = run.tokens();
    tokens.sort_unstable();
    assert_eq!(tokens, [1, 2, 3]);
    // Within the active time it is paged.
    config.idle.active_ms = 60_000;
    let (wait, _) = late_answer(&config);
    assert!(wait.unwrap() < 2_560 + 1_000, "{wait:?}");
}

#[test]
fn a_page_that_is_missed_is_sent_again() {
    let mut config = Config::quiet_cell();
    config.idle.mode = IdleMode::Drx;
    let mut network = Network::new(&config, 1).unwrap();
    // Out of reach: no page is decoded.
    let ue = network.arrive_with(0, Gains::fixed(&[-190.0]), Instant::START);
    let packet = Packet { token: 1, bytes: 60 };
    network.offer(ue, Direction::Down, packet, Instant::START);
    while let Some(next) = network
        .next_event()
        .filter(|next| *next <= Instant::from_millis(60_000))
    {
        network.advance(next, &mut |_| {});
    }
    let dcis: u64 = network.cell_facts(0, END).dci_used.iter().sum();
    assert!((10..=23).contains(&dcis), "{dcis} pages in 23 cycles");
}
