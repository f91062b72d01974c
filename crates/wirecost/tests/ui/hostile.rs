//! What strangers send: files that name other files or are made to take memory and time, and questions that nobody waits for.

use std::fs;
use std::io::Read as _;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Ui;
use crate::common::eventually;
use crate::own::{STATE, folder, words};

/// Kilobytes that docs/ui.md says a file takes at most.
const MOST_KB: u64 = 230_000;

/// The summary of a comparison.
fn summary() -> Value {
    let text = fs::read(folder().join("meter/summary.json")).expect("a summary");
    serde_json::from_slice(&text).expect("JSON")
}

impl Ui {
    /// The words of the page about a file that is shown.
    fn shown(&self, content: &Value) -> String {
        let (status, told) = self.send("summary.json", content.to_string().as_bytes(), STATE);
        assert_eq!(status, "200", "{told}");
        words(told["part"].as_str().expect("a part"))
    }

    /// The sentence with which a file is refused.
    fn refusal(&self, content: &str) -> String {
        let (status, told) = self.send("a.json", content.as_bytes(), STATE);
        assert_eq!(status, "400", "{told}");
        told["error"].as_str().expect("a sentence").to_owned()
    }
}

#[test]
fn a_summary_that_names_files_of_the_server_opens_none() {
    let ui = Ui::start();
    let home = TempDir::new().expect("a folder");
    let secret = home.path().join("secret.yaml");
    fs::write(&secret, "password: hunter2\n").expect("a file");
    let absolute = secret.display().to_string();
    let above = format!("../../../../../../..{absolute}");
    for named in [&absolute, &above, "../secret.pem", "/nonexistent.pem", "./x.yaml"] {
        let mut summary = summary();
        summary["scenario"]["chain"] = Value::from(named);
        let page = ui.shown(&summary);
        let expected = format!("chain: cannot use {named}: no files can be read here");
        assert!(page.contains(&expected), "{named}: {page}");
        assert!(
            !page.contains("password") && !page.contains("No such file"),
            "{page}"
        );
    }
    // A link of a file, and a payload of one, are none of a summary either.
    for (key, value, expected) in [
        ("links", json!([absolute]), "no files can be read here"),
        ("payload", json!({"file": absolute}), "payload"),
    ] {
        let mut summary = summary();
        summary["scenario"][key] = value;
        let page = ui.shown(&summary);
        assert!(
            page.contains("its scenario cannot be read")
                && page.contains(expected)
                && !page.contains("hunter2"),
            "{key}: {page}"
        );
    }
}

#[test]
fn the_lives_of_a_summary_have_no_more_payload_than_a_page_simulates() {
    let ui = Ui::start();
    let mut summary = summary();
    summary["scenario"]["size"] = json!(["100kB"]);
    summary["scenario"]["schedules"] = json!([{"interval": "5min", "messages_per_connection": 4}]);
    summary["scenario"]["links"] = json!([{"rtt": "50ms", "loss": "1%"}]);
    let page = ui.shown(&summary);
    let expected = " MB of payload in a way, and this page simulates 32 MB";
    assert!(page.contains(expected), "{page}");
}

#[test]
fn a_link_json_that_is_none_is_refused_in_a_sentence() {
    let ui = Ui::start();
    assert_eq!(
        ui.refusal(r#"{"report": {"total": {}}}"#),
        "a.json cannot be read: missing field `all` at line 1 column 23"
    );
    let layers = ["ip", "transport", "security", "application", "payload"];
    let causes = ["original", "acknowledgement", "retransmission", "probe"];
    let way = |wire: u64| {
        let mut way = json!({"packets": 1, "wire": wire});
        for name in layers.into_iter().chain(causes) {
            way[name] = json!(wire);
        }
        way
    };
    let link = |up: u64, down: u64| {
        let section = json!({"up": way(up), "down": way(down)});
        let group =
            json!({"server": null, "transport": "tcp", "protocol": "<b>x", "flows": up, "all": section});
        let total = json!({"all": section, "connect": section, "message": section, "keep_alive": section, "close": section});
        json!({"report": {"total": total, "groups": vec![group; 3], "unattributed": []}})
    };
    let error = ui.refusal(&link(u64::MAX, 1).to_string());
    assert!(
        error.starts_with(
            "a.json cannot be read: 18446744073709551615 is more than any capture has at line 1"
        ),
        "{error}"
    );
    // The largest that is taken has its sums.
    let page = ui.shown(&link(1 << 53, 1 << 53));
    assert!(page.contains("18,014,398,509,481,984 IP bytes in "), "{page}");
    assert!(
        page.contains("Of these 18,014,398,509,481,984 B are sent for the first time"),
        "{page}"
    );
}

#[test]
fn a_file_of_json_takes_no_more_memory_than_a_capture() {
    let ui = Ui::start();
    for content in [
        format!(r#"{{"a":[{}{{}}]}}"#, r#"{"":0},"#.repeat(2_200_000)),
        format!(
            r#"{{"cells":[],"schema":1,"scenario":[{}{{}}]}}"#,
            r#"{"":0},"#.repeat(2_200_000)
        ),
    ] {
        let error = ui.refusal(&content);
        let is_said = error == "a.json cannot be read: it is no summary of a run"
            || error.starts_with("a.json has 4,400,002 values in its scenario, and this page reads ");
        assert!(is_said, "{error}");
    }
    let taken = ui.figure("VmHWM");
    assert!(taken < MOST_KB, "{taken} kB");
}

#[test]
fn questions_that_nobody_waits_for_leave_no_work_and_too_many_are_refused() {
    let ui = Ui::start();
    let question = |size: usize| {
        format!("GET /api/choose?client=flood&v=1&every=1h&size={size}B HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    };
    // Whoever closes at once waits for nothing.
    for size in 1..=400 {
        drop(ui.ask(question(size).as_bytes()));
    }
    let threads = ui.figure("Threads");
    assert!(threads < 160, "{threads} threads");
    // Those that stay wait for a thread, up to a number of them.
    let waiting: Vec<_> = (1_000..1_060)
        .map(|size| ui.ask(question(size).as_bytes()))
        .collect();
    let is_refused = |mut stream: &std::net::TcpStream| {
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("an answer");
        response.starts_with("HTTP/1.1 503 ") && response.contains("32 other questions wait to be answered")
    };
    assert!(waiting.iter().rev().any(is_refused));
    drop(waiting);
    eventually("nobody waits", || ui.figure("Threads") < 16);
    let (status, _) = ui.json("/api/choose?client=other&v=1&every=1h&size=77B");
    assert_eq!(status, "200");
}
