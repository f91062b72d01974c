//! C-DRX in a quiet cell: when packets arrive, and how long the receiver is on.

use wirecost_nbiot::config::CdrxConfig;
use wirecost_nbiot::{AirEvent, Config, Gains, Network, Packet, UeFacts, UeId};
use wirecost_proto::{Direction, Instant};

/// By then the device is idle again.
const END: Instant = Instant::from_millis(60_000);

/// A quiet cell that keeps a silent connection for 20 s.
fn patient() -> Config {
    let mut config = Config::quiet_cell();
    config.rrc.inactivity_ms = 20_000;
    config
}

/// The same with C-DRX: the device listens for 32 ms from each multiple of 2,048 ms on, and for 64 ms after each block.
fn with_cdrx() -> Config {
    let mut config = patient();
    config.cdrx = CdrxConfig {
        cycle_ms: Some(2_048),
        on_duration_pp: 2,
        inactivity_pp: 4,
        start_offset: Some(0),
    };
    config
}

struct Run {
    network: Network,
    ue: UeId,
    /// Token and time in ms of the packets that arrived, and of the release.
    arrived: Vec<(u64, u64)>,
    released: Option<u64>,
}

impl Run {
    /// A device that reports at the start.
    fn new(config: &Config) -> Self {
        let mut network = Network::new(config, 1).expect("a network");
        let ue = network.arrive_with(0, Gains::fixed(&[-100.0]), Instant::START);
        let mut run = Self {
            network,
            ue,
            arrived: Vec::new(),
            released: None,
        };
        run.offer(Direction::Up, 1, 0);
        run
    }

    fn offer(&mut self, direction: Direction, token: u64, at_ms: u64) {
        let at = Instant::from_millis(at_ms);
        self.run(at);
        self.network
            .offer(self.ue, direction, Packet { token, bytes: 58 }, at);
    }

    fn run(&mut self, until: Instant) {
        let (arrived, released) = (&mut self.arrived, &mut self.released);
        let ms = |at: Instant| at.as_nanos() / 1_000_000;
        self.network.advance(until, &mut |event| match event {
            AirEvent::Delivered { token, at, .. } => arrived.push((token, ms(at))),
            AirEvent::Released { at, .. } => *released = Some(ms(at)),
            AirEvent::Lost { .. } | AirEvent::Connected { .. } | AirEvent::Transmission(_) => {}
        });
    }

    fn facts(&mut self) -> UeFacts {
        self.run(END);
        self.network.ue_facts(self.ue, END).expect("the device")
    }

    fn arrival(&self, token: u64) -> u64 {
        let mut of_token = self.arrived.iter().filter(|(arrived, _)| *arrived == token);
        of_token.next().expect("it arrived").1
    }
}

#[test]
fn a_packet_down_waits_for_the_next_on_duration_and_one_up_does_not() {
    for (config, waits) in [(patient(), false), (with_cdrx(), true)] {
        let mut run = Run::new(&config);
        run.offer(Direction::Down, 2, 7_000);
        run.offer(Direction::Up, 3, 12_500);
        run.run(END);
        let first = if waits { 8_192 } else { 7_000 };
        let late = run.arrival(2) - first;
        assert!(late < 50, "{late} ms after {first} ms");
        assert!(run.arrival(3) - 12_500 < 500, "{:?}", run.arrived);
        let facts = run.facts();
        assert_eq!(
            (facts.connections, facts.preambles),
            (1, 2),
            "the second packet up asks for a grant"
        );
    }
}

#[test]
fn a_packet_right_after_a_block_does_not_wait() {
    let mut run = Run::new(&with_cdrx());
    run.run(END);
    let report = run.arrival(1);
    let mut run = Run::new(&with_cdrx());
    run.offer(Direction::Down, 2, report + 40);
    run.run(END);
    assert!(run.arrival(2) < report + 150, "{:?}", run.arrived);
}

#[test]
fn the_receiver_is_off_but_for_on_durations_until_the_release_in_one() {
    let [always, mut now_and_then] = [patient(), with_cdrx()].map(|config| Run::new(&config));
    let mut always = always;
    let (before, after) = (always.facts().states, now_and_then.facts().states);
    let released = now_and_then.released.expect("a release");
    let begun = released / 2_048 * 2_048;
    assert!(
        released - begun < 200,
        "the release is in an on duration: {released} ms"
    );
    assert_eq!((before.transmit, before.receive), (after.transmit, after.receive));
    // Of 20 s half is listening in the search spaces; with C-DRX it is that in 32 of 2,048 ms, and around the blocks.
    let seconds = [before.monitor, after.monitor].map(|time| time.as_secs_f64());
    assert!(seconds[0] > 9.5 && seconds[1] < 0.6, "{seconds:?}");
    assert!(after.idle_connected > before.idle_connected);
}

#[test]
fn a_device_that_is_asked_in_the_middle_of_a_connection_has_slept_so_far() {
    let mut run = Run::new(&with_cdrx());
    let at = Instant::from_millis(10_000);
    run.run(at);
    let states = run.network.ue_facts(run.ue, at).expect("the device").states;
    let all = states.transmit + states.receive + states.monitor + states.idle_connected;
    assert!(all <= at.saturating_since(Instant::START), "{states:?}");
    assert!(states.monitor.as_secs_f64() < 0.4, "{states:?}");
}

#[test]
fn start_offsets_are_drawn_for_each_device_and_leave_other_draws_alone() {
    let loaded = |config: &Config| {
        let mut network = Network::new(config, 3).expect("a network");
        let gains: Vec<f64> = (0..50)
            .map(|device| {
                let ue = network.arrive(device, Instant::START);
                network.gains(ue).expect("a device").serving_db()
            })
            .collect();
        gains
    };
    assert_eq!(loaded(&patient()), loaded(&with_cdrx()));
    let mut drawn = with_cdrx();
    drawn.cdrx.start_offset = None;
    let released = |device| {
        let mut network = Network::new(&drawn, 3).expect("a network");
        let ue = network.arrive_with(device, Gains::fixed(&[-100.0]), Instant::START);
        network.offer(ue, Direction::Up, Packet { token: 1, bytes: 58 }, Instant::START);
        let mut released = None;
        network.advance(END, &mut |event| {
            if let AirEvent::Released { at, .. } = event {
                released = Some(at);
            }
        });
        released
    };
    assert_ne!(released(1), released(2));
}

#[test]
fn what_no_network_sets_is_refused() {
    type Change = fn(&mut CdrxConfig);
    let cases: [(Change, &str); 5] = [
        (
            |cdrx| cdrx.cycle_ms = Some(300),
            "cdrx.cycle_ms must be one of 256, 512, 1024, 1536, 2048, 3072, 4096, 4608, 6144, 7680, 8192, 9216, got 300",
        ),
        (
            |cdrx| cdrx.on_duration_pp = 5,
            "cdrx.on_duration_pp must be one of 1, 2, 3, 4, 8, 16, 32, got 5",
        ),
        (
            |cdrx| cdrx.inactivity_pp = 5,
            "cdrx.inactivity_pp must be one of 0, 1, 2, 3, 4, 8, 16, 32, got 5",
        ),
        (
            |cdrx| cdrx.start_offset = Some(256),
            "cdrx.start_offset must be 0 to 255, got 256",
        ),
        (
            |cdrx| (cdrx.cycle_ms, cdrx.on_duration_pp) = (Some(256), 16),
            "cdrx.cycle_ms must be above the 256 ms of cdrx.on_duration_pp in level 0, got 256",
        ),
    ];
    for (change, expected) in cases {
        let mut config = Config::default();
        change(&mut config.cdrx);
        let message = config.validate().err().map(|error| error.to_string());
        assert_eq!(message.unwrap_or_default(), expected);
    }
}
