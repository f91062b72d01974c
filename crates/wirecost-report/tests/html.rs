//! The HTML report: whole, offline, escaped, and in agreement with its numbers.

mod common;

use wirecost_report::html::report;
use wirecost_results::Results;
use wirecost_results::resolved::Tree;

const SECTIONS: [&str; 12] = [
    "answer",
    "verdict",
    "connect",
    "break-even",
    "ladder",
    "latency",
    "table",
    "outcomes",
    "validity",
    "provenance",
    "repeat",
    "glossary",
];
const VOID: [&str; 4] = ["meta", "link", "!doctype", "input"];

fn runs() -> [Results; 5] {
    let sweep = common::sweep(&["udp", "coap-con"], &[16, 128], &[25, 100], &[0.0, 0.2]);
    [
        common::eight_stacks(),
        common::troubled(),
        common::matrix(),
        common::both_engines(),
        sweep,
    ]
}

#[test]
fn every_element_is_closed_in_order() {
    for results in runs() {
        let html = report(&results).unwrap();
        let mut open = Vec::new();
        for tag in tags(&html) {
            let name = tag.split([' ', '>', '\n']).next().unwrap().to_owned();
            match name.strip_prefix('/') {
                Some(closed) => assert_eq!(open.pop().as_deref(), Some(closed), "near {tag}"),
                None if VOID.contains(&name.as_str()) => {}
                None => open.push(name),
            }
        }
        assert_eq!(open, Vec::<String>::new());
    }
}

/// What is between `<` and `>`, style and script left out.
fn tags(html: &str) -> Vec<String> {
    let mut html = html.to_owned();
    for raw in ["style", "script"] {
        let (start, end) = (
            html.find(&format!("<{raw}>")).unwrap(),
            html.find(&format!("</{raw}>")).unwrap(),
        );
        html.replace_range(start + raw.len() + 2..end, "");
    }
    html.split('<')
        .skip(1)
        .map(|part| part.split('>').next().unwrap().to_owned())
        .collect()
}

#[test]
fn every_section_stands_in_order() {
    for results in runs() {
        let html = report(&results).unwrap();
        let places: Vec<usize> = SECTIONS
            .iter()
            .map(|id| html.find(&format!("id=\"{id}\"")).unwrap())
            .collect();
        assert!(places.is_sorted(), "{places:?}");
    }
}

#[test]
fn nothing_is_asked_of_the_network() {
    for results in runs() {
        let html = report(&results).unwrap();
        for outside in [
            "http://",
            "https://",
            "//cdn",
            "url(",
            "@import",
            "src=",
            "fetch(",
            "XMLHttpRequest",
        ] {
            assert!(!html.contains(outside), "{outside}");
        }
        let links = html.matches("href=").count();
        assert_eq!(
            links,
            html.matches("href=\"data:,\"").count() + html.matches("href=\"#").count(),
            "only the empty icon and sections are linked"
        );
    }
}

#[test]
fn hostile_names_stay_text() {
    let mut results = common::eight_stacks();
    let hostile = "\"><script>alert(1)</script><b x='";
    results.summary.cells[0].stack = hostile.into();
    results.summary.cells[1].target = hostile.into();
    results.summary.cells[2].not_run = Some(hostile.into());
    results.summary.command = hostile.into();
    results.summary.scenario.set("resource", Tree::text(hostile));
    results.ladders[0].stack = hostile.into();
    results.ladders[0].link = hostile.into();
    results.ladders[1].packets[0].label = hostile.into();
    results.environment.kernel = hostile.into();
    let html = report(&results).unwrap();
    assert_eq!(html.matches("<script").count(), 1, "only the report's own");
    assert!(!html.contains("<b x"));
}

#[test]
fn bars_sum_to_the_bytes_of_the_table() {
    let results = common::eight_stacks();
    let html = report(&results).unwrap();
    for cell in &results.summary.cells {
        let message = cell.message.as_ref().unwrap();
        for (direction, bytes) in [("up", &message.up), ("down", &message.down)] {
            let sum = drawn(&html, &cell.stack, direction);
            assert_eq!(
                sum,
                bytes.wire.sum / message.samples,
                "{} {direction}",
                cell.stack
            );
        }
    }
}

/// The bytes of the segments in the first figure, by their tooltips.
fn drawn(html: &str, stack: &str, direction: &str) -> u64 {
    let first = &html[..html.find("</svg>").unwrap()];
    let end = format!(" B {direction}");
    let titles = first
        .split("<title>")
        .skip(1)
        .map(|part| part.split("</title>").next().unwrap());
    let ours = titles.filter_map(|title| title.strip_prefix(&format!("{stack}: "))?.strip_suffix(&end));
    ours.map(|text| text.split(' ').next_back().unwrap().parse::<u64>().unwrap())
        .sum()
}

#[test]
fn a_lost_packet_ends_with_a_cross() {
    let crosses = |results: &Results| report(results).unwrap().matches("class=\"cross\"").count();
    assert_eq!(crosses(&common::eight_stacks()), 0);
    assert_eq!(crosses(&common::troubled()), 2, "one packet, two strokes");
}

#[test]
fn only_a_segment_without_data_is_drawn_as_a_pure_ack() {
    let mut results = common::eight_stacks();
    let dashed = |results: &Results| report(results).unwrap().matches(" ack\"><title>").count();
    let before = dashed(&results);
    // TCP may send data without PSH, and a PUBACK is an acknowledgement too.
    let puback = results.ladders[3]
        .packets
        .iter_mut()
        .find(|packet| packet.label == "PUBACK")
        .unwrap();
    puback.label = "ACK".into();
    puback.cause = "acknowledgement".into();
    assert_eq!(dashed(&results), before);
    results.ladders[3].packets.last_mut().unwrap().cause = "original".into();
    assert_eq!(dashed(&results), before, "the cause does not make a pure ACK");
}

#[test]
fn a_cell_that_was_not_run_is_in_no_figure() {
    let mut results = common::eight_stacks();
    common::not_run(&mut results.summary.cells[0], "no permission");
    results.ladders.remove(0);
    let html = report(&results).unwrap();
    assert!(!html.contains("<title>tcp: "), "neither bar nor curve");
}

/// The card with this title.
fn card(results: &Results, title: &str) -> String {
    let cards = verdict(results);
    let from = cards.find(title).unwrap();
    let card = &cards[from..];
    card[..card.find("</article>").unwrap()].to_owned()
}

fn set_intervals(results: &mut Results, half: f64) {
    for cell in &mut results.summary.cells {
        let message = cell.message.as_mut().unwrap();
        let times = message.response_time_ns.as_mut().unwrap();
        times.ci95 = Some([times.mean - half, times.mean + half]);
    }
}

#[test]
fn all_without_a_difference_of_note_from_the_fastest_are_named() {
    let mut results = common::eight_stacks();
    set_intervals(&mut results, 1e3);
    let card = card(&results, "Fastest response");
    assert!(card.contains("mqtt-qos1, mqtt5-qos1"), "{card}");
}

#[test]
fn intervals_that_could_hide_a_difference_have_no_winner() {
    let mut results = common::eight_stacks();
    set_intervals(&mut results, 20e6);
    let card = card(&results, "Fastest response");
    assert!(card.contains("none: too few samples to tell"), "{card}");
    assert!(
        card.contains("not told apart: ") && card.contains("mqtt-qos1 25"),
        "{card}"
    );
}

#[test]
fn bytes_that_differ_between_messages_are_told_apart_by_their_interval() {
    let mut results = common::eight_stacks();
    let of_udp = |results: &mut Results, interval| {
        let message = results.summary.cells[1].message.as_mut().unwrap();
        message.up.wire.max += 2_000;
        message.wire_ci95 = interval;
    };
    let cheapest = |results: &Results| card(results, "Cheapest message");
    assert!(cheapest(&results).contains("udp"));
    // UDP's messages take 2,000 B more now and then, which the mean of this run happens not to show.
    of_udp(&mut results, None);
    assert!(
        cheapest(&results).contains("none: too few samples to tell"),
        "{}",
        cheapest(&results)
    );
    of_udp(&mut results, Some([155.0, 157.0]));
    assert!(cheapest(&results).contains(">udp<"), "{}", cheapest(&results));
}

/// The part of the report with the cards.
fn verdict(results: &Results) -> String {
    let html = report(results).unwrap();
    html[html.find("id=\"verdict\"").unwrap()..html.find("id=\"connect\"").unwrap()].to_owned()
}

#[test]
fn an_invalid_cell_wins_nothing() {
    let mut results = common::eight_stacks();
    results.summary.cells[1].valid = false;
    assert!(!verdict(&results).contains("udp"), "{}", verdict(&results));
    assert!(report(&results).unwrap().contains("udp ✗"));
}

#[test]
fn a_run_without_any_figures_still_reports() {
    let mut results = common::eight_stacks();
    results
        .summary
        .cells
        .iter_mut()
        .for_each(|cell| common::not_run(cell, "no permission"));
    results.ladders.clear();
    results.samples.clear();
    let html = report(&results).unwrap();
    assert!(html.contains("no valid cell") && html.contains("not run: no permission"));
}

#[test]
fn cells_without_round_trips_are_not_called_invalid() {
    let mut results = common::eight_stacks();
    for cell in &mut results.summary.cells {
        cell.first_message_round_trips = None;
    }
    let html = report(&results).unwrap();
    assert!(html.contains("not counted: packets are lost or resent, or devices share a link"));
    assert!(!html.contains("no valid cell"));
}

#[test]
fn same_results_same_report() {
    assert_eq!(
        report(&common::matrix()).unwrap(),
        report(&common::matrix()).unwrap()
    );
}

#[test]
fn a_mean_without_an_interval_never_wins() {
    let mut results = common::eight_stacks();
    for cell in &mut results.summary.cells {
        let message = cell.message.as_mut().unwrap();
        let times = message.response_time_ns.as_mut().unwrap();
        let is_unsure = cell.stack == "coap-con";
        times.ci95 = (!is_unsure).then_some([times.mean - 0.5, times.mean + 0.5]);
        times.mean -= if is_unsure { 1e6 } else { 0.0 };
    }
    let cards = verdict(&results);
    assert!(
        cards.contains("none: too few samples to tell") && cards.contains("not told apart: coap-con"),
        "{cards}"
    );
    for cell in &mut results.summary.cells {
        let message = cell.message.as_mut().unwrap();
        message.response_time_ns.as_mut().unwrap().ci95 = None;
    }
    let cards = card(&results, "Fastest response");
    assert!(!cards.contains("<p class=\"winner\">mqtt"), "{cards}");
}

#[test]
fn the_first_screen_answers_the_question() {
    let html = report(&common::troubled()).unwrap();
    let first = &html[..html.find("id=\"verdict\"").unwrap()];
    for part in [
        "<p class=\"asked\">What does one message",
        "<p class=\"conclusion\">",
        "<dt>RTT</dt>",
        "<dt>loss</dt>",
        "<svg",
    ] {
        assert!(first.contains(part), "{part}");
    }
}

#[test]
fn the_conclusion_is_that_of_the_table() {
    let results = common::eight_stacks();
    let options = wirecost_report::terminal::TableOptions::default();
    let table = wirecost_report::terminal::table(&results.summary, &options);
    let joined = table.replace("\n  ", " ");
    let html = report(&results).unwrap();
    let shown = html.split("<p class=\"conclusion\">").nth(1).unwrap();
    let shown = shown.split("</p>").next().unwrap();
    assert!(joined.contains(shown), "{shown}\n{joined}");
}

#[test]
fn every_entry_of_the_contents_has_its_section() {
    for results in runs() {
        let html = report(&results).unwrap();
        let anchors = html.split("href=\"#").skip(1);
        let anchors: Vec<&str> = anchors.filter_map(|part| part.split('"').next()).collect();
        assert!(anchors.len() > 10);
        for anchor in anchors {
            assert_eq!(html.matches(&format!(" id=\"{anchor}\"")).count(), 1, "{anchor}");
        }
    }
}

#[test]
fn equal_remarks_of_many_cells_are_listed_once() {
    let mut results = common::sweep(&["udp", "coap-con"], &[16, 128], &[25, 100], &[0.0]);
    let warning = wirecost_results::warning::Warning {
        text: "only 9 samples: below 30".into(),
        ..common::troubled()
            .summary
            .cells
            .iter()
            .flat_map(|cell| &cell.warnings)
            .next()
            .unwrap()
            .clone()
    };
    for cell in &mut results.summary.cells {
        cell.warnings = vec![warning.clone()];
    }
    let html = report(&results).unwrap();
    assert_eq!(html.matches("only 9 samples: below 30").count(), 1);
    assert!(html.contains("<b>valid</b> 8 cells"));
}

#[test]
fn messages_that_arrived_have_no_row_among_outcomes() {
    let html = report(&common::eight_stacks()).unwrap();
    assert!(!html.contains("How the offered messages ended"));
    assert!(html.contains("all arrived, or were acknowledged where the stack acknowledges"));
    assert!(
        report(&common::troubled())
            .unwrap()
            .contains("How the offered messages ended")
    );
}

/// The page of a program's run has its conclusion first, and every section after it.
#[test]
fn the_page_of_a_link_run_has_all_its_sections() {
    let template = include_str!("../templates/link.html");
    let parts = [
        "class=\"conclusion\"",
        "<dt>link</dt>",
        "<dt>packets</dt>",
        "class=\"contents\"",
        "id=\"bytes\"",
        "id=\"servers\"",
        "id=\"run\"",
        "<dt>server</dt>",
    ];
    let places: Vec<usize> = parts
        .iter()
        .map(|part| template.find(part).expect(part))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
}
