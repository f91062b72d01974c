//! `report.html` of reports in NB-IoT cells: what it says, and what its figures hold.

#[path = "common/nbiot.rs"]
mod nbiot;

use wirecost_report::nbiot::page;

/// The page, with slashes and apostrophes as they are displayed.
fn whole(has_changes: bool) -> String {
    let summary = nbiot::summary(has_changes);
    let html = page(&summary, Some(&nbiot::map()), &nbiot::sequence()).expect("a page");
    html.replace("&#x2f;", "/").replace("&#x27;", "'")
}

/// The text of the section with this id.
fn section<'a>(html: &'a str, id: &str) -> &'a str {
    let start = html.find(&format!("<section id=\"{id}\"")).expect("a section");
    let rest = &html[start..];
    &rest[..rest.find("</section>").expect("its end")]
}

#[test]
fn the_first_screen_says_which_load_is_carried() {
    let html = whole(false);
    let head = &html[..html.find("<main>").expect("a body")];
    assert!(
        head.contains(
            "At least 95 % of reports arrive within 20 s up to 2.5/s, the highest load: coap-con 25 B, coap-con 400 B; \
             up to 1/s: tcp 25 B, tcp 400 B."
        ));
    assert!(head.contains("Energy and battery life (*) are modelled"));
}

#[test]
fn each_point_of_a_figure_has_its_interval_in_data_and_table() {
    let html = whole(false);
    let study = section(&html, "answer");
    assert!(study.contains(
        "
tcp 25 B,2.5,75,73,77
"
    ));
    assert!(study.contains(">75.0 (73.0 to 77.0)</td>"));
    // Four curves at two loads in four figures of two widths.
    assert_eq!(study.matches("<circle class=\"mark").count(), 4 * 2 * 4 * 2);
    assert_eq!(study.matches("<line class=\"whisker").count(), 4 * 2 * 4 * 2);
}

#[test]
fn reports_that_never_arrived_keep_a_delay_curve_down() {
    let html = whole(false);
    let delay = section(&html, "delay");
    // 2 x (70 + 5) of 200 reports of TCP at 2.5/s, and 10 of 12 on level 1.
    assert!(delay.contains("tcp 25 B: median 0.40 s, 75 % of 200 reports arrived"));
    assert!(delay.contains("tcp 25 B: median 8.00 s, 83.3 % of 12 reports arrived"));
    // All levels, level 0 and level 1 at two loads; no device is on level 2.
    assert_eq!(delay.matches("class=\"panel p0v").count(), 3 * 2);
}

#[test]
fn a_map_has_a_mark_for_each_outcome_and_level() {
    let html = whole(false);
    let map = section(&html, "map");
    // The changed network has no map.
    assert_eq!(map.matches("class=\"panel p0v").count(), 4 * 2);
    assert!(
        map.contains("<path class=\"device unserved level0\" d=\"M"),
        "{map}"
    );
    assert!(map.contains("<title>served, coverage level 1: 1</title>"));
    assert!(map.contains("the devices of every report of seed 0, 2 of 3 served within 20 s"));
    assert!(map.contains("<title>copy of cell "));
}

#[test]
fn a_transmission_that_was_not_decoded_is_crossed() {
    let html = whole(false);
    let device = section(&html, "device");
    assert!(device.contains("Msg3 11 B ×2 up on NPUSCH format 1 at 119 ms for 8 ms, not decoded"));
    assert_eq!(device.matches("<line class=\"cross\"").count(), 2 * 2);
}

#[test]
fn parts_of_bars_add_up_to_the_report() {
    let html = whole(false);
    let report = section(&html, "report");
    assert!(report.contains("coap-con 25 B: transmit 30 ms, receive 80 ms, monitor 450 ms, wait 1,000 ms"));
    assert!(report.contains("<td>1,560</td>"));
    assert!(report.contains("beside it 4.5 mJ"));
}

#[test]
fn a_changed_network_stands_beside_the_given_one() {
    let without = whole(false);
    assert!(!without.contains("id=\"changes\""), "a section without changes");
    let html = whole(true);
    let changes = section(&html, "changes");
    assert!(changes.contains("coap-con 25 B, edt at 1/s"));
    assert!(changes.contains(">+0.0 (+0.0 to +0.0)</td>") || changes.contains(">+0.0</td>"));
    // The curves of the network as given, and each of four with its change.
    assert_eq!(section(&html, "answer").matches("class=\"panel p0v").count(), 5);
}

#[test]
fn the_current_of_the_recorded_report_and_of_a_day_is_drawn() {
    let html = whole(false);
    let current = section(&html, "current");
    // 545 mW at 3.6 V are 151 mA for the 21.2 ms of uplink: 3.21 mC.
    assert!(current.contains("transmit: 3.21 mC in 0.0212 s"), "{current}");
    assert!(current.contains("coap-con with 25 B at 1/s") && current.contains("This report: "));
    // 2,154 mJ a day at 3.6 V: 6.93 uA.
    assert!(current.contains("In the mean 6.93 uA, 0.166 mAh a day, 19.9 uWh a report."));
    assert!(current.contains("Current of a day*"));
    let mut old = nbiot::summary(false);
    old.setting.supply_volts = None;
    let without = page(&old, None, &nbiot::sequence()).expect("a page");
    assert!(!without.contains("id=\"current\""), "no voltage, no current");
}

#[test]
fn a_page_without_map_and_sequence_has_neither() {
    let html = page(&nbiot::summary(false), None, &[]).expect("a page");
    assert!(!html.contains("id=\"map\"") && !html.contains("id=\"device\""));
    assert!(html.contains("id=\"glossary\""));
}

#[test]
fn a_run_that_was_stopped_at_once_has_a_page() {
    let mut summary = nbiot::summary(false);
    summary.points.clear();
    summary.interrupted = true;
    let html = page(&summary, None, &[]).expect("a page");
    assert!(html.contains("The run was interrupted"));
    assert!(!html.contains("class=\"conclusion\"") && !html.contains("NaN"));
}
