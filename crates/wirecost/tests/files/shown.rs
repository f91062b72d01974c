//! Texts of files reach the terminal without what controls it.

use std::ffi::OsString;
use std::fs;

use crate::bounded::bounded;
use crate::common::{open_folder, said, wirecost};

const EVIL: &str = "\x1b]0;owned\x07\u{9b}2J\u{202e}";

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

/// Every text of a value gets what controls a terminal.
fn spoil(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => text.push_str(EVIL),
        serde_json::Value::Array(values) => values.iter_mut().for_each(spoil),
        serde_json::Value::Object(table) => table.values_mut().for_each(spoil),
        _ => {}
    }
}

#[test]
fn results_of_a_stranger_are_shown_with_escapes() {
    let home = open_folder();
    let path = home.path();
    for (kind, line) in [
        (
            "compare",
            "compare --engine sim -n 3 mqtt-qos1,udp --loss 5% -q -o run",
        ),
        ("load", "load tcp --engine sim -c 2 -n 4 -q -o load"),
    ] {
        let said = said(wirecost(path).args(line.split(' ')));
        assert_eq!(said.code, Some(0), "{kind}: {}", said.stderr);
    }
    let mut shown = 0;
    for folder in ["run", "load"] {
        let summary = path.join(folder).join("summary.json");
        let text = fs::read_to_string(&summary).expect("a summary");
        let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        // Names of kinds are checked; labels, sentences and names of machines are anybody's.
        for key in ["command", "version", "name", "started_at"] {
            if let Some(text) = value.get_mut(key) {
                spoil(text);
            }
        }
        for list in ["cells", "loads"] {
            for cell in value[list].as_array_mut().into_iter().flatten() {
                for key in ["stack", "target", "label", "not_run", "warnings", "readings"] {
                    if let Some(text) = cell.get_mut(key) {
                        spoil(text);
                    }
                }
            }
        }
        fs::write(&summary, value.to_string()).expect("written");
        for line in [
            "report {}",
            "diff {} {}",
            "merge {} -o merged-{}",
            "cost {} --device nrf9160-lte-m",
            "claims claims.yaml one={}",
        ] {
            fs::write(
                path.join("claims.yaml"),
                "study: s\nsource: s\nruns:\n  one: {scenario: a.yaml}\nclaims: []\n",
            )
            .expect("a file");
            let said = bounded(path, &words(&line.replace("{}", folder)));
            shown +=
                usize::from(said.stdout.contains("\\x1b]0;owned") || said.stderr.contains("\\x1b]0;owned"));
        }
        for name in ["summary.md", "summary.csv", "report.html"] {
            let text = fs::read_to_string(path.join(folder).join(name)).unwrap_or_default();
            assert!(!text.contains(['\x1b', '\x07', '\u{9b}']), "{folder}/{name}");
        }
    }
    assert!(shown >= 2, "the texts were shown {shown} times");
}

#[test]
fn texts_of_files_are_repeated_with_escapes() {
    let home = open_folder();
    let path = home.path();
    for (name, text, line, shows) in [
        (
            "join",
            "{\"coordinator\":\"\\u001b]0;x\\u0007:1\",\"certificate_sha256\":\"00\",\"secret\":\"00\"}",
            "agent --join join",
            "--join: join: not a join file",
        ),
        (
            "scenario.yaml",
            "\"\\e]0;x\\a\": 1\n",
            "run scenario.yaml",
            "U+001B",
        ),
        (
            "raw.yaml",
            "stacks: [udp\x1b]0;x\x07]\n",
            "run raw.yaml",
            "raw.yaml",
        ),
        (
            "cells.yaml",
            "nbiot:\n  stacks: [\"coap-con\\e[2J\"]\n",
            "run cells.yaml",
            "U+001B",
        ),
        (
            "cases.yaml",
            "every: \"1h\\e[2J\"\n",
            "choose --file cases.yaml",
            "U+001B",
        ),
        (
            "claims.yaml",
            "study: \"\\a\"\n",
            "claims claims.yaml one=run",
            "U+0007",
        ),
        (
            "trace.csv",
            "\x1b]0;x\x07(\x1b)\n",
            "cost cap --device nrf9160-lte-m --meter trace.csv",
            "cap",
        ),
    ] {
        fs::write(path.join(name), text).expect("a file");
        let said = bounded(path, &words(line));
        assert_eq!(said.code, Some(2), "{name}: {said:?}");
        assert!(said.stderr.contains(shows), "{name}: {}", said.stderr);
    }
    let made = said(wirecost(path).args("compare --engine sim -n 1 udp -q -o run".split(' ')));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let name = path.join("\x1b[2J\x1b[31mcap");
    fs::copy(path.join("run/capture/sim.pcapng"), &name).expect("a capture");
    let capture: OsString = name.into();
    let table = bounded(path, &["pcap".into(), capture]);
    assert!(table.stdout.contains("\\x1b[2J"), "{}", table.stdout);
    let named = bounded(path, &words("pcap \x1b[2J"));
    assert!(named.stderr.contains("\\x1b[2J"), "{}", named.stderr);
}
