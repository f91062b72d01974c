//! Changes of the endpoints in one NB-IoT cell, beside the same stack without the change.

use std::time::Duration;

use wirecost_lab::nbiot::{Grid, Options};
use wirecost_nbiot::config::Flow;
use wirecost_proto::ByteSize;
use wirecost_results::nbiot::{NbiotSummary, Point};
use wirecost_scenario::options::what_if::WhatIf;
use wirecost_stats::Judgement;

/// One cell with few reports.
fn options(stacks: &[&str], what_ifs: &[WhatIf]) -> Options {
    let stacks = stacks.iter().map(|stack| stack.parse().expect("a stack"));
    let mut options = Options {
        stacks: stacks.collect(),
        sizes: vec![ByteSize::from_bytes(25)],
        loads: vec![0.5],
        seeds: 3,
        duration: Duration::from_secs(30),
        warm_up: Some(Duration::from_secs(3)),
        what_ifs: what_ifs.to_vec(),
        // No keep-alive is due between two reports.
        interval: Duration::from_secs(1_800),
        ..Options::default()
    };
    options.network.scenario.n_sites = 1;
    options.network.scenario.sectors_per_site = 1;
    // One DCI per 32 ms, the period of the budget of DCIs that the differences are held against.
    options.network.levels.ce0.npdcch_g = 4.0;
    options
}

fn summary(options: &Options) -> NbiotSummary {
    let grid = Grid::new(options).expect("a grid");
    let all: Vec<usize> = (0..grid.len()).collect();
    let mut runs = Vec::new();
    grid.play(&all, 2, &mut |run| runs.push(run), &|| false)
        .expect("runs that end");
    grid.summary(&runs)
}

fn point<'a>(summary: &'a NbiotSummary, stack: &str) -> &'a Point {
    let found = summary.points.iter().find(|point| point.stack == stack);
    found.unwrap_or_else(|| panic!("no {stack}"))
}

/// The difference of DCIs from the base.
fn dcis(summary: &NbiotSummary, stack: &str) -> f64 {
    let difference = point(summary, stack).difference.as_ref();
    difference.expect("a difference").dci.mean
}

/// 12 to 9 and 12 to 10 by the budget of messages. The acknowledgment and the data share a block here, so that Fast Open saves 1 DCI where
/// connections are set up and 2 where they are resumed.
#[test]
fn a_kept_connection_and_fast_open_save_dcis() {
    for (flow, saved) in [(Flow::Setup, -1.0), (Flow::Resume, -2.0)] {
        let mut options = options(&["tcp"], &[WhatIf::PersistentTcp, WhatIf::FastOpen]);
        options.network.rrc.flow = flow;
        let summary = summary(&options);
        let kept = dcis(&summary, "tcp (persistent-tcp)");
        assert!((kept + 3.0).abs() < 0.3, "{flow:?}: {kept}");
        let fast = dcis(&summary, "tcp (fast-open)");
        assert!((fast - saved).abs() < 0.4, "{flow:?}: {fast}");
        // A report over a kept connection is a segment and its acknowledgment.
        let kept = point(&summary, "tcp (persistent-tcp)");
        assert_eq!((kept.bytes_up, kept.bytes_down), (40.0 + 25.0, 40.0));
        // A SYN of 44 B with a cookie of 12 B and the report, and the ACK of the SYN-ACK.
        let fast = point(&summary, "tcp (fast-open)");
        assert_eq!(
            (fast.bytes_up, fast.bytes_down),
            (44.0 + 12.0 + 25.0 + 40.0, 44.0)
        );
    }
}

#[test]
fn a_change_has_its_difference_beside_its_base() {
    let summary = summary(&options(&["tcp", "udp"], &[WhatIf::PersistentTcp]));
    let stacks: Vec<&str> = summary.points.iter().map(|point| point.stack.as_str()).collect();
    assert_eq!(stacks, ["tcp", "tcp (persistent-tcp)", "udp"]);
    let difference = summary.points[1].difference.as_ref().expect("a difference");
    assert_eq!(difference.base, "tcp");
    let changed = summary.points[1].dci_per_report().expect("DCIs");
    assert_eq!(
        difference.dci.judged_beside(changed),
        Judgement::Less,
        "{difference:?}"
    );
    assert_eq!(
        difference.bytes_up.mean,
        summary.points[1].bytes_up - summary.points[0].bytes_up
    );
    // Every report arrives with and without the change.
    assert_eq!(
        difference.served.judged_beside(summary.points[1].served.mean),
        Judgement::Equal,
        "{difference:?}"
    );
    assert_eq!(summary.points[0].difference, None);
    let not_run = &summary.not_run[0];
    assert_eq!(not_run.stack, "udp (persistent-tcp)");
    assert!(not_run.reason.contains("no connection to keep"), "{not_run:?}");
}

#[test]
fn keep_alives_come_as_arrivals_and_cost_energy() {
    let mut options = options(&["tcp", "mqtt-qos1"], &[WhatIf::PersistentTcp]);
    let without = summary(&options);
    options.interval = Duration::from_secs(7_200);
    let with = summary(&options);
    // PINGREQ and PINGRESP have 2 B; a probe of TCP has none. The delayed acknowledgment of PINGRESP goes up.
    for (stack, bytes) in [("tcp", [40.0, 40.0]), ("mqtt-qos1", [82.0, 42.0])] {
        let stack = format!("{stack} (persistent-tcp)");
        let (none, some) = (point(&without, &stack), point(&with, &stack));
        let kept = none.kept.expect("a kept connection");
        assert_eq!((kept.per_report, kept.sent, kept.energy_mj), (0.0, 0, None));
        let kept = some.kept.expect("a kept connection");
        assert_eq!((kept.per_report, kept.devices), (3.0, 0.5 * 7_200.0));
        // 1.5 keep-alives per second in 90 s.
        assert!((90..190).contains(&kept.sent), "{kept:?}");
        assert_eq!(kept.answered, kept.sent);
        for run in &some.runs {
            let keep_alives = run.keep_alives.expect("keep-alives");
            // Some are sent again.
            let more = [0, 1].map(|way| keep_alives.bytes[way] - bytes[way]);
            assert!(
                more.iter().all(|more| (0.0..20.0).contains(more)),
                "{stack}: {more:?}"
            );
        }
        let each = kept.energy_mj.expect("an energy");
        assert!(
            each > 20.0 && some.energy_mj > none.energy_mj + 2.5 * each,
            "{kept:?}"
        );
        assert!(some.runs[0].dci_per_report > none.runs[0].dci_per_report + 15.0);
    }
}

#[test]
fn a_cold_handshake_costs_a_dci_for_each_transport_block() {
    let mut options = options(&["mqtt-qos1+tls1.3"], &[WhatIf::NoSecurity, WhatIf::Resumed]);
    (options.sizes, options.loads) = (vec![ByteSize::from_bytes(100)], vec![0.2]);
    options.duration = Duration::from_secs(60);
    let summary = summary(&options);
    let plain = point(&summary, "mqtt-qos1+tls1.3 (no-security)");
    let difference = plain.difference.as_ref().expect("a difference");
    // A block has at most 680 bits down and 1,000 up.
    let down = (-difference.bytes_down.mean / 85.0).floor();
    let up = (-difference.bytes_up.mean / 125.0).floor();
    assert!(down >= 10.0, "{difference:?}");
    let dcis = -difference.dci.mean;
    assert!(
        dcis >= down + up && dcis < 2.0 * (down + up) + 6.0,
        "{dcis} for {down} and {up}"
    );
    let resumed = point(&summary, "mqtt-qos1+tls1.3 (resumed)");
    let difference = resumed.difference.as_ref().expect("a difference");
    assert!(
        difference.bytes_down.mean < -300.0 && difference.dci.mean < -2.0,
        "{difference:?}"
    );
}

#[test]
fn a_server_that_closes_idle_connections_keeps_none() {
    let options = Options {
        sizes: vec![ByteSize::from_bytes(300)],
        ..options(&["http1"], &[WhatIf::PersistentTcp])
    };
    let grid = Grid::new(&options).expect("a grid");
    let not_run = &grid.not_run()[0];
    assert_eq!(not_run.reason, "the server closed the connection");
}
