//! The exchanges of the studies' bounds, held against the round trips of the simulated stacks.

mod common;

use std::collections::BTreeSet;

use common::{open_folder, said, wirecost};
use wirecost_studies::claims::{Claims, Question};
use wirecost_studies::library::{self, Study};

/// A stack, how it starts, and the size of its message.
type SetUp = (String, String, String);

/// The figures that have named exchanges: their set-ups, whether the connect is part of them, and the exchanges.
fn flights(claims: &Claims) -> BTreeSet<(SetUp, bool, u32, String)> {
    let mut all = BTreeSet::new();
    let points = claims.claims.iter().flat_map(|claim| &claim.points);
    for reading in points.flat_map(|point| &point.readings) {
        let (Question::Value(reference), Some(bound)) = (&reading.question, &reading.bound) else {
            continue;
        };
        let selector = reference.selector.to_table();
        let one = |key: &str, usual: &str| {
            let values = selector.get(key).filter(|values| values.len() == 1);
            values.map_or_else(|| usual.to_owned(), |values| values[0].clone())
        };
        let is_first = match reference.metric.name() {
            "first_message_time" => true,
            "response_time" => false,
            _ => continue,
        };
        if bound.flights.is_empty() || !selector.contains_key("stack") {
            continue;
        }
        let count = bound.flights.iter().map(|flight| flight.count).sum();
        let set_up = (one("stack", ""), one("start", "cold"), one("size", "128B"));
        all.insert((
            set_up,
            is_first,
            count,
            bound.text.split(':').next().unwrap_or_default().to_owned(),
        ));
    }
    all
}

#[test]
fn named_exchanges_are_at_most_the_simulated_round_trips() {
    let studies = library::names()
        .into_iter()
        .map(|name| Study::named(name).expect(name));
    let all: BTreeSet<_> = studies.flat_map(|study| flights(&study.claims)).collect();
    assert!(all.len() > 10, "{all:?}");
    let home = open_folder();
    for (at, ((stack, start, size), is_first, count, text)) in all.iter().enumerate() {
        // A second ClientHello answers the server's cookie.
        let cookie = if text.contains("ClientHello x 2") {
            " --dtls-cookie"
        } else {
            ""
        };
        let out = format!("out{at}");
        let arguments = format!(
            "compare {stack} --engine sim --quiet -n 1 --rtt 1s --start {start} --size {size} --out {out}{cookie}"
        );
        let said = said(wirecost(home.path()).args(arguments.split(' ')));
        assert_eq!(said.code, Some(0), "{arguments}: {}", said.stderr);
        let summary = std::fs::read_to_string(home.path().join(out).join("summary.json")).expect("a summary");
        let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
        let cell = &summary["cells"][0];
        let trips = match is_first {
            true => &cell["first_message_round_trips"],
            false => &cell["message"]["round_trips"],
        };
        let trips = trips.as_f64().unwrap_or_else(|| panic!("{arguments}: {cell}"));
        assert!(
            f64::from(*count) <= trips,
            "{stack} {start} {size}: {text} take {count} round trips, and {trips} are simulated"
        );
    }
}
