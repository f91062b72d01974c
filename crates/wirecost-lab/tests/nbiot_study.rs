//! What the published study says of its devices: removal, the first time-out of TCP, and the same devices at every load.

use std::time::Duration;

use wirecost_lab::nbiot::{Grid, Options};
use wirecost_proto::ByteSize;
use wirecost_results::nbiot::{NbiotSummary, Point};

/// One cell of the operator's network.
fn options(stacks: &[&str]) -> Options {
    let stacks = stacks.iter().map(|stack| stack.parse().expect("a stack"));
    let mut options = Options {
        stacks: stacks.collect(),
        sizes: vec![ByteSize::from_bytes(400)],
        loads: vec![1.0],
        seeds: 1,
        duration: Duration::from_secs(60),
        warm_up: Some(Duration::from_secs(6)),
        ..Options::default()
    };
    options.network.scenario.n_sites = 1;
    options.network.scenario.sectors_per_site = 1;
    options
}

fn summary(options: &Options) -> NbiotSummary {
    let grid = Grid::new(options).expect("a grid");
    let all: Vec<usize> = (0..grid.len()).collect();
    let mut runs = Vec::new();
    grid.play(&all, 1, &mut |run| runs.push(run), &|| false)
        .expect("runs that end");
    grid.summary(&runs)
}

fn point(options: &Options) -> Point {
    summary(options).points.swap_remove(0)
}

#[test]
fn a_report_over_tcp_takes_one_connection_where_devices_are_removed() {
    let mut options = options(&["tcp"]);
    // Without traffic for 40 ms a connection is released: between the segments of one report.
    options.network.rrc.inactivity_ms = 40;
    let released = point(&options);
    assert!(
        released.device.connections > 1.05,
        "{}",
        released.device.connections
    );
    for removal_ms in [0, 100] {
        options.network.rrc.removal_ms = Some(removal_ms);
        let removed = point(&options);
        assert_eq!(removed.device.connections, 1.0, "{removal_ms} ms");
        assert_eq!(removed.served.mean, 1.0);
    }
}

#[test]
fn the_first_time_out_of_tcp_acts_by_its_syn() {
    let mut options = options(&["tcp"]);
    options.sizes = vec![ByteSize::from_bytes(25)];
    options.loads = vec![2.5];
    // One DCI per 64 ms: a handshake takes about 2 s at this load.
    options.network.levels.ce0.npdcch_g = 8.0;
    let bytes_with = |timeout_ms: u32| {
        let mut options = options.clone();
        options.network.tcp.initial_timeout_ms = timeout_ms;
        point(&options)
    };
    let [early, late] = [1_000, 3_000].map(bytes_with);
    assert!(
        early.bytes_up > 1.1 * late.bytes_up,
        "{} and {} B",
        early.bytes_up,
        late.bytes_up
    );
    assert_ne!(early.served, late.served);
}

#[test]
fn where_nothing_is_lost_every_stack_and_load_reaches_the_same_depth() {
    let mut options = options(&["coap-non", "coap-con", "tcp"]);
    options.sizes = vec![ByteSize::from_bytes(25)];
    // 100 devices of every load are the same ones.
    options.loads = vec![1.0, 2.0];
    options.duration = Duration::from_secs(150);
    options.seeds = 2;
    // No device is out of reach.
    options.network.radio.indoor_loss_db = 0.0;
    let points = summary(&options).points;
    let depths = points.iter().map(|point| {
        assert_eq!(point.served.mean, 1.0, "{} at {}/s", point.stack, point.load);
        let runs = point.runs.iter();
        runs.map(|run| (run.lowest_served_path_gain_db, run.deep_served))
            .collect::<Vec<_>>()
    });
    let depths: Vec<Vec<(Option<f64>, Option<f64>)>> = depths.collect();
    assert!(
        depths[0]
            .iter()
            .all(|(gain, deep)| gain.is_some() && *deep == Some(1.0)),
        "{depths:?}"
    );
    assert_ne!(depths[0][0], depths[0][1], "seeds have devices of their own");
    assert!(depths.iter().all(|other| *other == depths[0]), "{depths:?}");
}
