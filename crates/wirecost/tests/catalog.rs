//! `wirecost links`, `devices` and `tariffs`: what is listed is what the options take, and what is written is read back.

mod common;

use std::path::Path;

use serde_json::Value;

use common::{open_folder, said, wirecost};

/// The commands, and a command line that takes such a file.
const KINDS: [(&str, &str); 3] = [
    ("links", "compare coap-con -n 1 --engine sim --json - --link"),
    ("devices", "cost run --json - --device"),
    ("tariffs", "cost run --json - --tariff"),
];

fn printed(home: &Path, line: &str) -> String {
    let said = said(wirecost(home).args(line.split_whitespace()));
    assert_eq!(said.code, Some(0), "{line}: {}", said.stderr);
    said.stdout
}

fn json(home: &Path, line: &str) -> Value {
    serde_json::from_str(&printed(home, line)).expect("JSON")
}

#[test]
fn each_file_is_listed_and_each_figure_has_its_source() {
    let home = open_folder();
    for (command, _) in KINDS {
        let table = printed(home.path(), command);
        let list = json(home.path(), &format!("{command} --json -"));
        let list = list.as_array().expect("a list");
        assert!(list.len() >= 5, "{command}");
        for entry in list {
            let name = entry["name"].as_str().expect("a name");
            let is_listed = table
                .lines()
                .any(|line| line.split_whitespace().next() == Some(name));
            assert!(is_listed, "{name}: {table}");
            // What does not fit into the line goes on below it.
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let about = entry["about"].as_str().expect("a text");
            assert!(words(&table).contains(&words(about)), "{name}: {table}");
            let one = json(home.path(), &format!("{command} {name} --json -"));
            assert_eq!(one, *entry, "{name}");
            let figures = entry["values"].as_array().expect("figures");
            assert!(
                figures.iter().any(|figure| figure["source"].is_string()),
                "{name}"
            );
        }
    }
}

#[test]
fn what_is_written_to_start_from_is_read_as_the_same() {
    let home = open_folder();
    printed(
        home.path(),
        "compare coap-con -n 1 --engine sim --quiet --out run",
    );
    for (command, option) in KINDS {
        let list = json(home.path(), &format!("{command} --json -"));
        let names = list
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|entry| entry["name"].as_str());
        for name in names {
            let capitals = name.to_uppercase();
            let text = printed(home.path(), &format!("{command} {capitals}"));
            assert_eq!(
                printed(home.path(), &format!("{command} {name} --out mine.yaml")),
                ""
            );
            let written = std::fs::read_to_string(home.path().join("mine.yaml")).expect("a file");
            assert_eq!(written, text, "{name}");
            // The modelled cell has no figures of a link.
            if name != "nbiot" {
                printed(home.path(), &format!("{option} ./mine.yaml"));
            }
            let again = said(wirecost(home.path()).args([command, name, "--out", "mine.yaml"]));
            assert_eq!(again.code, Some(2), "{}", again.stderr);
            std::fs::remove_file(home.path().join("mine.yaml")).expect("removed");
        }
    }
}

#[test]
fn the_case_of_a_name_changes_no_figure() {
    let home = open_folder();
    let cells = |link: &str| {
        let line = format!("compare coap-con -n 2 --engine sim --json - --link {link}");
        json(home.path(), &line)["cells"].clone()
    };
    assert_eq!(cells("LTEM"), cells("lte-m"));
    let priced = |names: &str| json(home.path(), &format!("cost run {names} --json -"));
    printed(
        home.path(),
        "compare coap-con -n 1 --engine sim --quiet --out run",
    );
    assert_eq!(
        priced("--device NRF9160-LTE-M --tariff SoraCom"),
        priced("--device nrf9160-lte-m --tariff soracom")
    );
}
