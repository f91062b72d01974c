//! Reports in one NB-IoT cell.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_lab::nbiot::{DeviceError, FinishedRun, Grid, NbiotError, Options};
use wirecost_nbiot::Config;
use wirecost_proto::ByteSize;
use wirecost_results::nbiot::{NbiotSummary, Point};
use wirecost_scenario::options::what_if::WhatIf;

/// One cell with few reports.
fn options(stacks: &[&str]) -> Options {
    let stacks = stacks.iter().map(|stack| stack.parse().expect("a stack"));
    let mut options = Options {
        stacks: stacks.collect(),
        sizes: vec![ByteSize::from_bytes(25)],
        loads: vec![1.0],
        seeds: 2,
        duration: Duration::from_secs(20),
        warm_up: Some(Duration::from_secs(2)),
        ..Options::default()
    };
    options.network.scenario.n_sites = 1;
    options.network.scenario.sectors_per_site = 1;
    options
}

fn runs(grid: &Grid, jobs: usize) -> Vec<FinishedRun> {
    let all: Vec<usize> = (0..grid.len()).collect();
    let mut runs = Vec::new();
    grid.play(&all, jobs, &mut |run| runs.push(run), &|| false)
        .expect("runs that end");
    runs
}

fn summary(options: &Options) -> NbiotSummary {
    let grid = Grid::new(options).expect("a grid");
    let runs = runs(&grid, 1);
    grid.summary(&runs)
}

#[test]
fn threads_do_not_change_the_figures() {
    let grid = Grid::new(&options(&["coap-con", "tcp"])).expect("a grid");
    assert_eq!(runs(&grid, 1), runs(&grid, 2));
}

#[test]
fn every_stack_faces_the_same_reports() {
    let points = summary(&options(&["coap-non", "coap-con", "tcp", "mqtt-qos0"])).points;
    let reports: Vec<Vec<u64>> = points
        .iter()
        .map(|point| point.runs.iter().map(|run| run.reports).collect())
        .collect();
    assert!(reports[0][0] > 5 && reports[0][0] != reports[0][1], "{reports:?}");
    assert!(reports.iter().all(|other| *other == reports[0]), "{reports:?}");
}

#[test]
fn a_report_includes_the_application_s_header() {
    let points = summary(&options(&["udp", "coap-non", "coap-con"])).points;
    let bytes: Vec<(f64, f64)> = points
        .iter()
        .map(|point| (point.bytes_up, point.bytes_down))
        .collect();
    // IPv4 and UDP headers have 28 B.
    assert_eq!(bytes[..2], [(53.0, 0.0), (53.0, 0.0)]);
    assert!(bytes[2].0 == 53.0 && bytes[2].1 > 28.0, "{bytes:?}");
    assert!(points.iter().all(|point| point.served.mean == 1.0));
}

#[test]
fn a_report_smaller_than_its_header_is_refused() {
    let options = Options {
        sizes: vec![ByteSize::from_bytes(3)],
        ..options(&["coap-non"])
    };
    let refusal = Grid::new(&options).err();
    let Some(NbiotError::Device(DeviceError::TooSmall {
        stack,
        size: 3,
        least,
    })) = refusal
    else {
        panic!("{refusal:?}");
    };
    assert_eq!(stack.to_string(), "coap-non");
    // It takes what it names as its smallest, and not a byte less.
    for (size, fits) in [(least - 1, false), (least, true)] {
        assert_eq!(
            Grid::new(&Options {
                sizes: vec![ByteSize::from_bytes(size as u64)],
                ..options.clone()
            })
            .is_ok(),
            fits,
            "{size} B"
        );
    }
}

#[test]
fn early_data_takes_fewer_dcis_than_a_connection() {
    let options = Options {
        what_ifs: vec![WhatIf::EarlyData, WhatIf::Setup],
        ..options(&["coap-non"])
    };
    let points = summary(&options).points;
    let names: Vec<&str> = points.iter().map(|point| point.stack.as_str()).collect();
    assert_eq!(names, ["coap-non", "coap-non (edt)", "coap-non (setup)"]);
    let dcis: Vec<f64> = points.iter().map(|point| point.runs[0].dci_per_report).collect();
    assert!(dcis[1] < dcis[0] && dcis[0] < dcis[2], "{dcis:?}");
}

#[test]
fn a_summary_that_lacks_runs_says_so() {
    let options = options(&["udp"]);
    let grid = Grid::new(&options).expect("a grid");
    let runs = runs(&grid, 1);
    assert!(grid.summary(&runs[..1]).interrupted);
    assert!(!grid.summary(&runs).interrupted);
}

/// The points of `stacks` with changes of the network, by the name of their curve.
fn changed(stacks: &[&str], what_ifs: &[WhatIf], change: impl Fn(&mut Options)) -> BTreeMap<String, Point> {
    let mut options = Options {
        what_ifs: what_ifs.to_vec(),
        seeds: 1,
        duration: Duration::from_secs(10),
        ..options(stacks)
    };
    change(&mut options);
    let points = summary(&options).points;
    points
        .into_iter()
        .map(|point| (point.stack.clone(), point))
        .collect()
}

#[test]
fn compressed_headers_are_not_on_the_air() {
    let points = changed(&["udp", "coap-non"], &[WhatIf::HeaderCompression], |_| {});
    let bytes = |name: &str| (points[name].bytes_up, points[name].air_bytes_up);
    assert_eq!(bytes("udp"), (53.0, 53.0));
    // The number of the rule, the identification of the IPv4 header, and 25 B.
    assert_eq!(bytes("udp (schc)"), (53.0, 28.0));
    // With 1 B of PDCP, 2 B of RLC and 2 B of MAC: 58 B become 33 B.
    let config = Config::default();
    let headers = config.pdcp.drb_header_bytes + config.rlc.header_bytes + config.mac.subheader_bytes;
    assert_eq!((53 + headers, 28 + headers), (58, 33));
    // Code, options and payload marker of CoAP are known as well.
    let (ip, air) = bytes("coap-non (schc)");
    assert!(ip == 53.0 && air < 20.0, "{ip} and {air}");
    let airtime = |name: &str| points[name].device.npusch_ms;
    assert!(airtime("udp (schc)") < airtime("udp"));
}

#[test]
fn with_ipv6_compression_leaves_one_byte_of_headers() {
    let points = changed(&["udp"], &[WhatIf::HeaderCompression], |options| {
        options.ipv6 = true
    });
    let bytes = |name: &str| (points[name].bytes_up, points[name].air_bytes_up);
    assert_eq!(bytes("udp (schc)"), (73.0, 26.0));
}

#[test]
fn non_ip_delivery_carries_the_payload_of_udp_alone() {
    let points = changed(&["udp", "coap-con"], &[WhatIf::NonIp], |_| {});
    let point = &points["udp (non-ip)"];
    assert_eq!((point.bytes_up, point.air_bytes_up), (53.0, 25.0));
    let point = &points["coap-con (non-ip)"];
    assert_eq!((point.bytes_up, point.air_bytes_up), (53.0, 25.0));
    assert_eq!(point.bytes_down - point.air_bytes_down, 28.0);
    assert_eq!(point.served.mean, 1.0);
}

#[test]
fn tcp_is_not_run_without_ip_and_with_compression() {
    let options = Options {
        what_ifs: vec![WhatIf::NonIp, WhatIf::HeaderCompression],
        seeds: 1,
        duration: Duration::from_secs(2),
        ..options(&["tcp", "udp"])
    };
    let summary = summary(&options);
    let names: Vec<&str> = summary.points.iter().map(|point| point.stack.as_str()).collect();
    assert_eq!(names, ["tcp", "udp", "udp (non-ip)", "udp (schc)"]);
    let not_run: Vec<&str> = summary.not_run.iter().map(|curve| curve.stack.as_str()).collect();
    assert_eq!(not_run, ["tcp (non-ip)", "tcp (schc)"]);
    assert!(summary.not_run[1].reason.contains("TCP"), "{:?}", summary.not_run);
}

#[test]
fn preconfigured_resources_take_uplink_instead_of_dcis() {
    let points = changed(&["coap-non"], &[WhatIf::EarlyData, WhatIf::Preconfigured], |_| {});
    let names = ["coap-non", "coap-non (edt)", "coap-non (pur)"];
    let dcis = names.map(|name| points[name].runs[0].dci_per_report);
    assert!(dcis[0] > dcis[1] && dcis[1] > dcis[2], "{dcis:?}");
    let preambles = names.map(|name| points[name].device.preambles);
    assert!(preambles[1] >= 1.0 && preambles[2] == 0.0, "{preambles:?}");
    // Each report has a skipped resource beside the used one.
    let uplink = names.map(|name| points[name].uplink_use.mean);
    assert!(uplink[2] > 1.5 * uplink[1], "{uplink:?}");
}

#[test]
fn what_follows_a_report_shortens_the_life_of_the_battery() {
    let modes = [WhatIf::PowerSaving, WhatIf::ExtendedCycle];
    let points = changed(&["coap-non"], &modes, |_| {});
    let names = ["coap-non", "coap-non (psm)", "coap-non (edrx)"];
    // The active time belongs to its report.
    let reports = names.map(|name| points[name].energy_mj);
    assert!(
        reports[1] > reports[0] + 30.0 && reports[2] == reports[0],
        "{reports:?}"
    );
    let years = names.map(|name| points[name].battery_years);
    assert!(years[0] > years[1] && years[1] > years[2], "{years:?}");
}

/// With 20 s of inactivity the connection costs most of the energy, whatever it carries (Michelinakis et al.).
#[test]
fn release_assistance_saves_more_than_a_leaner_protocol() {
    let points = changed(
        &["coap-non", "coap-con"],
        &[WhatIf::ReleaseAssistance],
        |options| options.network.rrc.inactivity_ms = 20_000,
    );
    let energy = |name: &str| points[name].energy_mj;
    let by_protocol = energy("coap-con") / energy("coap-non");
    let by_assistance = energy("coap-non") / energy("coap-non (rai)");
    assert!(by_protocol < 1.1, "{by_protocol}");
    assert!(by_assistance > 5.0, "{by_assistance}");
}

#[test]
fn the_map_holds_the_devices_of_the_first_replication() {
    let options = options(&["udp"]);
    let grid = Grid::new(&options).expect("a grid");
    let runs = runs(&grid, 1);
    let map = grid.map(&runs);
    assert_eq!((map.sites.len(), map.copies.len(), map.cells.len()), (1, 0, 1));
    assert_eq!(map.runs.len(), 1);
    let sample = &map.runs[0].sample;
    let reports = grid.summary(&runs).points[0].runs[0].reports;
    assert_eq!((sample.first, sample.devices.len() as u64), (2_000, reports));
    assert!(sample.devices.iter().all(|device| device.delay_ms.is_some()));
    let radius = options.network.scenario.isd_m / 3.0_f64.sqrt();
    let within = |x: i32, y: i32| f64::from(x).hypot(f64::from(y)) <= radius + 1.0;
    assert!(sample.devices.iter().all(|device| within(device.x_m, device.y_m)));
}

#[test]
fn the_map_of_a_large_run_has_the_same_first_devices_at_every_load() {
    let options = Options {
        loads: vec![20.0, 40.0],
        seeds: 1,
        duration: Duration::from_secs(120),
        warm_up: Some(Duration::from_secs(1)),
        ..options(&["udp"])
    };
    let grid = Grid::new(&options).expect("a grid");
    let runs = runs(&grid, 1);
    let map = grid.map(&runs);
    let places = map.runs.iter().map(|run| {
        let mut places: Vec<(i32, i32)> = run
            .sample
            .devices
            .iter()
            .map(|place| (place.x_m, place.y_m))
            .collect();
        places.sort_unstable();
        places
    });
    let places: Vec<Vec<(i32, i32)>> = places.collect();
    // 20/s for 120 s are about 2,400 reports.
    assert_eq!(places[0].len(), 2_000);
    assert_eq!(places[0], places[1]);
}

#[test]
fn levels_and_states_add_up_to_the_reports_and_the_energy() {
    let point = &summary(&options(&["coap-con"])).points[0];
    let measured: u64 = point.delay_by_level.iter().map(|level| level.measured).sum();
    assert_eq!(measured, point.reports);
    assert!((point.energy_by_state_mj.total() - point.energy_mj).abs() < 1e-9);
    let level = &point.delay_by_level[0];
    assert!(level.quantiles.is_sorted_by(|a, b| a.delay_s <= b.delay_s));
    let median = level.quantiles.iter().find(|quantile| quantile.share == 0.5);
    assert_eq!(median.map(|median| median.delay_s), level.p50_s);
    assert!(point.runs.iter().all(|run| run.places.is_none()));
}

/// 545 mW while it transmits, 90 mW while it receives, monitors and synchronises for 0.1 s, 3 mW while it waits (TR 45.820).
#[test]
fn energy_of_a_report_is_power_times_time() {
    // Rooms that attenuate by 20 dB and by 40 dB: coverage level 0, and the levels behind it.
    for (indoor_loss_db, level) in [(20.0, 0), (40.0, 1)] {
        let mut options = Options {
            sizes: vec![ByteSize::from_bytes(25), ByteSize::from_bytes(100)],
            seeds: 1,
            ..options(&["coap-non", "tcp"])
        };
        options.network.radio.indoor_loss_db = indoor_loss_db;
        let points = summary(&options).points;
        assert_eq!(points.len(), 4);
        for point in &points {
            assert!(
                point.delay_by_level[level].measured > 0,
                "no device in level {level}"
            );
            let device = &point.device;
            let received_ms = device.receive_ms + device.monitor_ms + 100.0;
            let closed_mj = (545.0 * device.transmit_ms + 90.0 * received_ms + 3.0 * device.wait_ms) / 1e3;
            let off = point.energy_mj / closed_mj - 1.0;
            assert!(off.abs() < 0.01, "{} {} B: {off}", point.stack, point.size_bytes);
            // 0.015 mW between reports every 2 h, 5 Wh, a year of 365 days.
            let mean_mw = closed_mj / 7_200.0 + 0.015;
            let off = point.battery_years * mean_mw * 8_760.0 / 5_000.0 - 1.0;
            assert!(off.abs() < 0.01, "{} {} B: {off}", point.stack, point.size_bytes);
        }
    }
}
