//! The figures of the page are those of the command line that it shows.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use wirecost_proto::Rng;

use crate::Ui;
use crate::common::{WIRECOST, said, wirecost};

/// The variable with another number of states than this one.
const COUNT: &str = "WIRECOST_UI_STATES";
const FEW: u64 = 10;

/// One of some values, or none.
const VALUES: [(&str, &[&str]); 16] = [
    ("size", &["1B", "64B", "200B", "2kB"]),
    ("every", &["15min", "1h", "6h", "1d"]),
    ("start", &["cold", "cold", ""]),
    ("keep-alive", &["18min", "18min", ""]),
    ("link", &["lte-m", "nb-iot", "wifi", "satellite-geo", ""]),
    ("loss", &["", "", "1%"]),
    ("nat-timeout", &["", "udp=60s,tcp=20min"]),
    ("device", &["", "nrf9160-lte-m", "nrf9160-nb-iot", "esp32s3-wifi"]),
    ("battery", &["", "2400mAh@3.6V", "8500mAh@3.6V"]),
    ("tariff", &["", "1nce", "per-mb", "soracom"]),
    ("devices", &["", "10000"]),
    ("per", &["", "year"]),
    ("delivery", &["", "at-most-once", "exactly-once"]),
    ("monthly-bytes", &["", "5MB"]),
    ("security", &["today", "today", "2030"]),
    (
        "stacks",
        &[
            "coap-con+oscore,mqtt-qos1+tls1.3",
            "http3,coap-con+dtls1.2-cid",
            "mqtt-qos2+tls1.3",
            "coap-non+oscore,mqtt-qos0",
        ],
    ),
];

/// A state with values that depend on its number alone.
fn state(number: u64) -> String {
    let mut rng = Rng::new(40).host(number);
    let mut state = "v=1&count=1".to_owned();
    let mut has_device = false;
    for (key, values) in VALUES {
        let value = values[rng.next_below(values.len() as u64) as usize];
        has_device |= key == "device" && !value.is_empty();
        if !value.is_empty() && (key != "battery" || has_device) {
            state += &format!("&{key}={value}");
        }
    }
    state
}

/// What a command line of the page prints with `more` behind it, in a folder.
pub(crate) fn printed(home: &TempDir, command: &str, more: &str) -> String {
    let words = command.strip_prefix("wirecost ").expect("a command");
    let mut shell = Command::new("sh");
    shell
        .current_dir(home.path())
        .args(["-c", &format!("exec {WIRECOST} {words} {more}")]);
    let said = said(&mut shell);
    assert!(matches!(said.code, Some(0 | 13)), "{command}: {}", said.stderr);
    said.stdout
}

/// The content of a file that the page makes.
pub(crate) fn file<'a>(answer: &'a Value, name: &str) -> &'a str {
    let files = answer["known"]["files"].as_array().expect("files");
    let found = files.iter().find(|file| file["name"] == name);
    found
        .and_then(|file| file["content"].as_str())
        .unwrap_or_else(|| panic!("no {name}"))
}

/// A page in Markdown without its command.
pub(crate) fn of_figures(text: &str) -> Option<&str> {
    text.rsplit_once("Repeat it with").map(|(figures, _)| figures)
}

#[test]
fn the_figures_of_a_state_are_those_of_its_command_line() {
    let count = std::env::var(COUNT).map_or(FEW, |count| count.parse().expect("a number"));
    let ui = Ui::start();
    for number in 0..count {
        let state = state(number);
        // A state that the page refuses is refused by the command line: another test compares sentences.
        let (status, _) = ui.json(&format!("/api/choose?client=test&{state}"));
        if status == "400" {
            continue;
        }
        let answer = ui.answer(&state, "files=1&");
        assert_eq!(answer["failed"], serde_json::json!([]), "{state}");
        let command = answer["command"].as_str().expect("a command");
        let home = TempDir::new().expect("a folder");
        let json: Value =
            serde_json::from_str(&printed(&home, command, "-q --json - --out run")).expect("JSON");
        let shown: Value = serde_json::from_str(file(&answer, "choice.json")).expect("JSON");
        assert_eq!(shown, json, "{command}");
        let page = std::fs::read_to_string(home.path().join("run/choice.md")).expect("choice.md");
        assert_eq!(
            of_figures(file(&answer, "choice.md")),
            of_figures(&page),
            "{command}"
        );
        let again = ui.answer(answer["link"].as_str().expect("a link"), "");
        assert_eq!(again["command"], answer["command"]);
    }
}

#[test]
fn the_account_of_a_row_is_that_of_the_terminal() {
    let ui = Ui::start();
    let state = "v=1&size=64B&every=15min&link=lte-m&device=nrf9160-lte-m&tariff=1nce&count=2&stacks=coap-con+oscore,mqtt-qos1";
    let answer = ui.answer(state, "row=1&");
    let account = &answer["known"]["account"];
    let home = TempDir::new().expect("a folder");
    let command = answer["command"].as_str().expect("a command");
    let text = printed(&home, command, "-q --explain 1 --out run");
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let text = words(&text);
    let heading = account["heading"].as_str().expect("a heading");
    assert!(text.starts_with(heading), "{text}");
    for row in account["rows"].as_array().expect("rows") {
        let row: Vec<&str> = row
            .as_array()
            .expect("texts")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert!(text.contains(&words(&row.join(" "))), "{row:?} in {text}");
    }
    let (status, refused) = ui.json(&format!("/api/choose?client=test&row=99&{state}"));
    let expected = format!(
        "--explain 99: the ranking has {} rows",
        answer["known"]["rows"].as_array().map_or(0, Vec::len)
    );
    assert_eq!(
        (status.as_str(), refused["error"].as_str()),
        ("400", Some(expected.as_str()))
    );
}

#[test]
fn what_is_simulated_for_a_question_is_not_simulated_again_for_another_price() {
    let ui = Ui::start();
    let state = "v=1&size=64B&every=1h&count=2&stacks=udp,coap-con";
    ui.answer(state, "");
    // Another one who asks with another tariff and more devices has all of it in the first answer.
    let (_, priced) = ui.json(&format!(
        "/api/choose?client=other&done=0&tariff=1nce&devices=100&{state}"
    ));
    assert_eq!(priced["done"], priced["of"]);
    assert!(
        priced["known"]["heads"]
            .as_array()
            .is_some_and(|heads| heads.iter().any(|head| head == "USD/month*"))
    );
}

/// The last question of somebody is answered, whatever was asked before.
#[test]
fn another_question_takes_the_place_of_the_first() {
    let ui = Ui::start();
    for size in 1..20 {
        drop(
            ui.ask(
                format!(
                    "GET /api/choose?client=a&v=1&every=30s&size={size}kB HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
                )
                .as_bytes(),
            ),
        );
    }
    let answer = ui.answer("v=1&every=1h&count=2&size=10B&stacks=udp", "");
    assert_eq!(answer["known"]["rows"].as_array().map(Vec::len), Some(1));
}

/// What the page begins with is what the README says.
#[test]
fn a_page_without_a_state_has_an_answer() {
    let ui = Ui::start();
    let (_, begin) = ui.json("/api/controls");
    let first = begin["first"].as_str().expect("a state");
    let (status, answer) = ui.json(&format!("/api/choose?client=test&{first}"));
    assert_eq!((status.as_str(), answer["link"].as_str()), ("200", Some(first)));
    let help = said(wirecost(std::path::Path::new("/")).args(["ui", "--help"]));
    assert_eq!(help.code, Some(0));
}
