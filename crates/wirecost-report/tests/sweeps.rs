//! Runs of many cells: maps, and a report that can still be read.

mod common;

use wirecost_report::export::csv;
use wirecost_report::html::report;
use wirecost_report::terminal::{TableOptions, table};
use wirecost_results::Results;
use wirecost_results::resolved::Tree;

const STACKS: [&str; 4] = ["udp", "mqtt-qos1", "mqtt-qos2", "coap-con"];

fn small() -> Results {
    common::sweep(&STACKS, &[16, 128, 1_000], &[25, 100], &[0.0, 0.05, 0.2])
}

/// The part of the report between two of its sections.
fn section(html: &str, from: &str, to: &str) -> String {
    let place = |id: &str| html.find(&format!("id=\"{id}\"")).unwrap();
    html[place(from)..place(to)].to_owned()
}

#[test]
fn a_run_of_one_point_has_no_maps() {
    for results in [common::eight_stacks(), common::both_engines()] {
        assert!(!report(&results).unwrap().contains("id=\"maps\""));
    }
}

#[test]
fn maps_lie_over_size_by_what_else_varies() {
    let maps = section(&report(&small()).unwrap(), "maps", "verdict");
    assert!(maps.contains("<h3>Over loss and size</h3>") && maps.contains("<h3>Over RTT and size</h3>"));
    assert!(!maps.contains("rate and size"));
    // Seven metrics at each RTT, and at each loss.
    assert_eq!(maps.matches("<table class=\"heat\">").count(), 7 * 2 + 7 * 3);
    // Three losses by three sizes, two RTTs by three sizes.
    assert_eq!(maps.matches("<td").count(), 7 * 2 * 9 + 7 * 3 * 6);
    assert_eq!(maps.matches("<details class=\"data\">").count(), 7 * 5);
}

#[test]
fn a_place_prints_the_figure_of_the_winner() {
    let maps = section(&report(&small()).unwrap(), "maps", "verdict");
    assert!(
        maps.contains("<b>A</b> 156<i>udp</i><small>+31 %</small>"),
        "{maps}"
    );
}

#[test]
fn a_sweep_begins_with_its_map() {
    let html = report(&small()).unwrap();
    assert!(html.find("class=\"heat\"").unwrap() < html.find("<svg").unwrap());
    // One quantity is a map of one row.
    let sizes = common::sweep(&STACKS, &[16, 128, 1_000], &[25], &[0.0]);
    let maps = section(&report(&sizes).unwrap(), "maps", "verdict");
    assert!(maps.contains("<h3>Over RTT and size</h3>"), "{maps}");
}

#[test]
fn plain_and_secured_stacks_have_maps_apart() {
    let stacks = ["udp", "coap-con", "coap-con+dtls1.3"];
    let results = common::sweep(&stacks, &[16, 128], &[25, 100], &[0.0]);
    let maps = section(&report(&results).unwrap(), "maps", "verdict");
    assert!(maps.contains("<span>plain</span>") && maps.contains("<span>encrypted</span>"));
    assert!(
        maps.contains("of acknowledged ones, encrypted</caption>"),
        "{maps}"
    );
}

#[test]
fn a_sweep_has_one_set_of_cards() {
    let html = report(&small()).unwrap();
    assert_eq!(html.matches("<article class=\"card\">").count(), 4);
    assert!(html.contains("<small>conditions</small>"));
}

#[test]
fn a_place_tells_the_winner_its_margin_and_the_next() {
    let maps = section(&report(&small()).unwrap(), "maps", "verdict");
    // 128 B without loss: 156 B by UDP, 204 B by CoAP.
    assert!(
        maps.contains("A udp 156 B; next D coap-con 204 B (+31 %)"),
        "{maps}"
    );
    assert!(
        maps.contains("0%,128 B,udp,156,156,156,coap-con,204,204,204,differs"),
        "{maps}"
    );
    assert!(
        maps.contains("D coap-con 204 B; next B mqtt-qos1 299 B (+47 %)"),
        "of acknowledged ones"
    );
}

#[test]
fn intervals_that_overlap_are_no_difference() {
    let maps = section(&report(&small()).unwrap(), "maps", "verdict");
    let median = maps
        .split("Least response time, p50 (ms), of acknowledged ones, RTT 25 ms</caption>")
        .nth(1)
        .unwrap();
    let median = &median[..median.find("</details>").unwrap()];
    assert!(
        median.contains("<td class=\"even\" tabindex=\"0\"><b>B=D</b> 25.00<i>equal</i>"),
        "{median}"
    );
    assert!(
        median.contains("<td class=\"even\" tabindex=\"0\"><b>D~B</b>") || median.contains("<b>B~D</b>"),
        "{median}"
    );
    // The 99th percentile of 150 samples has no interval.
    assert!(maps.contains("too few samples for an interval"));
}

fn far_apart() -> Results {
    let seconds = [10, 60, 300, 900, 3_600];
    common::intervals(&["mqtt-qos1", "coap-con"], &seconds, &[1, 60])
}

#[test]
fn the_interval_has_an_axis_where_it_varies() {
    assert!(!report(&small()).unwrap().contains("id=\"interval\""));
    let axis = section(&report(&far_apart()).unwrap(), "interval", "ladder");
    // Bytes and time in two widths; CoAP has no connection to keep, and one line.
    assert_eq!(axis.matches("<svg").count(), 4);
    for label in ["mqtt-qos1 ×1:", "mqtt-qos1 ×60:", "coap-con:"] {
        assert_eq!(axis.matches(&format!("<title>{label}")).count(), 4, "{label}");
    }
}

#[test]
fn keep_alive_makes_kept_connections_dearer_than_new_ones() {
    let axis = section(&report(&far_apart()).unwrap(), "interval", "ladder");
    // 299 B a message and 562 B a connection; 60 messages carry one connection, and 59 pauses with a ping a minute.
    assert!(axis.contains("mqtt-qos1 ×1,10000000000,861.0000"), "{axis}");
    assert!(axis.contains("mqtt-qos1 ×60,10000000000,308.3667"), "{axis}");
    assert!(axis.contains("mqtt-qos1 ×60,900000000000,2511.0333"), "{axis}");
    let found = axis
        .split("<li>")
        .skip(1)
        .find(|item| item.contains("mqtt-qos1 ×1 costs less than mqtt-qos1 ×60"))
        .unwrap();
    assert!(
        found.starts_with("from an interval of about 4.4 min on") && found.contains("(861 B each)"),
        "{found}"
    );
}

#[test]
fn panels_are_chosen_without_a_script() {
    let html = report(&small()).unwrap();
    assert!(html.contains(".pick:has(.l0v6:not(:checked)) .p0v6{display:none}"));
    assert!(html.contains("<figure class=\"panel p0v6 p1v1\">"));
    assert_eq!(html.matches("name=\"map0-0\" class=\"l0v0\" checked>").count(), 1);
}

#[test]
fn hostile_names_stay_text_in_maps() {
    let mut results = small();
    for cell in results
        .summary
        .cells
        .iter_mut()
        .filter(|cell| cell.stack == "udp")
    {
        cell.stack = "\"><script>alert(1)</script>".into();
    }
    assert_eq!(report(&results).unwrap().matches("<script").count(), 1);
}

#[test]
fn a_thousand_cells_stay_readable() {
    let mut results = common::sweep(
        &common::STACKS,
        &[1, 16, 128, 1_000, 10_000],
        &[5, 25, 50, 100, 200],
        &[0.0, 0.01, 0.05, 0.1, 0.2],
    );
    let html = report(&results).unwrap();
    assert!(html.len() < 3_000_000, "{} B", html.len());
    assert!(html.contains("drawn for 2 of the 125 combinations"));
    assert_eq!(html.matches("<div class=\"ladder\">").count(), 24);
    let text = table(
        &results.summary,
        &TableOptions {
            width: 120,
            color: false,
        },
    );
    assert!(text.lines().count() < 200, "{text}");
    assert!(
        text.starts_with("simulated: fewest IP bytes: udp in 71 of 125 cases, too few samples to tell in 54")
            && text.contains("\n1,000 cells in 125 groups, simulated: the best of each"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    assert_eq!(
        csv(&results.summary)
            .lines()
            .filter(|line| line.contains(",message,"))
            .count(),
        1_000
    );
    let more = results.summary.cells.clone();
    results
        .summary
        .cells
        .extend(more.into_iter().map(|cell| wirecost_results::Cell {
            messages_per_connection: 2,
            ..cell
        }));
    let html = report(&results).unwrap();
    assert!(html.contains("125 more combinations; summary.csv holds all."));
    assert!(html.contains("1000 more rows; summary.csv holds all."));
}

#[test]
fn a_fleet_without_rows_has_its_curve_from_the_quantiles() {
    let mut results = common::eight_stacks();
    results.samples.clear();
    let html = report(&results).unwrap();
    let latency = section(&html, "latency", "table");
    let times = results.summary.cells[7]
        .message
        .as_ref()
        .unwrap()
        .response_time_ns
        .as_ref()
        .unwrap();
    let p99 = times.p99.unwrap() as f64 / 1e6;
    assert!(
        latency.contains(&format!("coap-con,99.0000,{p99:.6}")),
        "{latency}"
    );
    assert!(
        latency.contains("<title>coap-con: 25.06 to 25.26 ms, median 25.10 ms, 150 samples</title>"),
        "{latency}"
    );
}

#[test]
fn devices_that_share_a_link_are_told() {
    let mut results = common::eight_stacks();
    results.summary.scenario.set("shared_link", Tree::Bool(true));
    let words = "150 devices sharing one link per cell";
    assert!(report(&results).unwrap().contains(words));
    assert!(table(&results.summary, &TableOptions::default()).contains(words));
}
