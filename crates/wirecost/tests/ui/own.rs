//! A reader's own run or capture on the page: what it shows, what it refuses, and what it leaves behind.

use std::fs;
use std::io::Read as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;
use wirecost_proto::shown::grouped;

use crate::Ui;
use crate::browser::text;
use crate::common::browser::Browser;
use crate::common::{WIRECOST, ended, eventually, said, signal, wirecost};

/// A device without battery and tariff: with them, tables are wider than the output of a command.
pub(super) const STATE: &str =
    "v=1&size=64B&every=15min&link=lte-m&device=nrf9160-lte-m&stacks=coap-con%2Boscore,http3";

/// A comparison with its capture, in a folder `meter`.
pub(super) fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let home = FOLDER.get_or_init(|| {
        let home = TempDir::new().expect("a folder");
        let said = said(wirecost(home.path()).args([
            "compare",
            "--engine",
            "sim",
            "-n",
            "1",
            "--size",
            "64B",
            "--interval",
            "15min",
            "--messages-per-connection",
            "4",
            "mqtt-qos1",
            "-q",
            "--out",
            "meter",
        ]));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        home
    });
    home.path()
}

fn capture() -> PathBuf {
    folder().join("meter/capture/sim.pcapng")
}

impl Ui {
    /// The head of a request that sends so many bytes.
    fn head(target: &str, length: usize) -> String {
        format!("POST {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n")
    }

    /// The status and the JSON of what is told of a file.
    pub(super) fn send(&self, name: &str, content: &[u8], state: &str) -> (String, Value) {
        let target = format!("/api/own?client=test&name={name}&bytes={}&{state}", content.len());
        let mut request = Self::head(&target, content.len()).into_bytes();
        request.extend_from_slice(content);
        told(&self.response(&request))
    }
}

fn told(response: &str) -> (String, Value) {
    let (head, content) = response.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).expect("a status").to_owned();
    (status, serde_json::from_str(content).expect("JSON"))
}

/// The words of a part of the page, without its tags.
pub(super) fn words(part: &str) -> String {
    let mut text = String::new();
    let mut is_tag = false;
    for letter in part.chars() {
        match letter {
            '<' => {
                is_tag = true;
                text.push(' ');
            }
            '>' => is_tag = false,
            letter if !is_tag => text.push(letter),
            _ => {}
        }
    }
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#x2f;", "/"),
        ("&amp;", "&"),
    ];
    let text = entities
        .iter()
        .fold(text, |text, (entity, letter)| text.replace(entity, letter));
    in_line(&text)
}

fn in_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The command lines of a part.
fn commands(part: &str) -> Vec<String> {
    let parts = part.split("<pre class=\"command\" tabindex=\"0\">").skip(1);
    parts
        .map(|part| words(part.split("</pre>").next().unwrap_or_default()))
        .collect()
}

/// What a command line prints in a folder.
fn printed(at: &Path, command: &str, more: &str) -> String {
    let line = command.strip_prefix("wirecost ").expect("a command");
    let mut shell = Command::new("sh");
    let shell = shell
        .current_dir(at)
        .args(["-c", &format!("exec {WIRECOST} {line} {more}")]);
    let said = said(shell);
    assert_eq!(said.code, Some(0), "{command}: {}", said.stderr);
    said.stdout
}

/// Checks that a page has each line of a text; what is longer than a line of a terminal is one line there.
fn has_lines(page: &str, text: &str) {
    for block in text.split("\n\n") {
        let whole = in_line(block);
        let lines: Vec<String> = block.lines().map(in_line).collect();
        let is_shown = page.contains(&whole) || lines.iter().all(|line| page.contains(line.as_str()));
        assert!(is_shown, "{block}\nis not in\n{page}");
    }
}

#[test]
fn a_capture_is_shown_with_the_figures_of_the_command_lines() {
    let ui = Ui::start();
    let content = fs::read(capture()).expect("a capture");
    let (status, told) = ui.send("sim.pcapng", &content, STATE);
    assert_eq!(status, "200", "{told}");
    let part = told["part"].as_str().expect("a part");
    let page = words(part);
    let at = capture();
    let at = at.parent().expect("a folder");

    let report: Value =
        serde_json::from_str(&printed(at, "wirecost pcap sim.pcapng", "--json -")).expect("JSON");
    let all = &report["total"]["all"];
    for layer in ["ip", "transport", "security", "application", "payload", "wire"] {
        for way in ["up", "down"] {
            let bytes = grouped(all[way][layer].as_u64().expect("a number"));
            assert!(page.contains(&format!(" {bytes} ")), "{layer} {way}: {bytes}");
        }
    }
    let again = all["up"]["acknowledgement"].as_u64().expect("a number")
        + all["down"]["acknowledgement"].as_u64().expect("a number");
    let again = grouped(again);
    assert!(page.contains(&format!("{again} B acknowledge")), "{page}");

    let commands = commands(part);
    let [cost, what_if] = commands.as_slice() else {
        panic!("{commands:?}")
    };
    assert_eq!(cost, "wirecost cost sim.pcapng --device nrf9160-lte-m");
    assert_eq!(
        what_if,
        "wirecost what-if sim.pcapng coap-con+oscore http3 --device nrf9160-lte-m --link lte-m"
    );
    let cost = printed(at, cost, "");
    let what_if = printed(
        at,
        what_if,
        &format!("-q --out {}", folder().join("what-if").display()),
    );
    for text in [cost, what_if] {
        assert!(!text.contains("columns hidden"), "{text}");
        has_lines(&page, &text);
    }
    // By cause, and by layer of each stack; by layer of the capture are bars in a table.
    assert_eq!(part.matches("<figure>").count(), 2);
}

#[test]
fn a_summary_is_shown_with_the_account_of_its_folder() {
    let ui = Ui::start();
    let content = fs::read(folder().join("meter/summary.json")).expect("a summary");
    let (status, told) = ui.send("summary.json", &content, STATE);
    assert_eq!(status, "200", "{told}");
    let part = told["part"].as_str().expect("a part");
    let page = words(part);
    // The bytes of a message and of a connection by layer, and both by cause.
    assert_eq!(part.matches("<figure>").count(), 3, "{page}");
    assert!(
        page.contains("What does one message of 64B cost over mqtt-qos1 on a link"),
        "{page}"
    );
    // With another keep-alive than it has recorded, the folder's lives are simulated as well: here it is the same one.
    let command = "wirecost cost meter --device nrf9160-lte-m --keep-alive 60s";
    let cost = printed(folder(), command, "");
    let rows = cost.lines().filter(|line| line.starts_with("mqtt-qos1  "));
    let rows: Vec<String> = rows.map(in_line).collect();
    // The figures and the shares of a connection each and of one that is kept.
    assert_eq!(rows.len(), 4, "{cost}");
    for row in rows {
        assert!(page.contains(&row), "{row} is not in {page}");
    }
}

#[test]
fn a_file_that_cannot_be_shown_is_refused_in_a_sentence_with_its_name() {
    let ui = Ui::start();
    let capture = fs::read(capture()).expect("a capture");
    let load = br#"{"schema": 1, "loads": []}"#;
    for (name, content, error) in [
        (
            "notes.txt",
            &b"hello, this is no capture"[..],
            "notes.txt cannot be read: ",
        ),
        ("empty.pcap", b"", "empty.pcap cannot be read: it is empty"),
        (
            "a.json",
            b"{\"cells\": [",
            "a.json cannot be read: EOF while parsing",
        ),
        (
            "a.json",
            b"{\"cells\": [1], \"schema\": 1}",
            "a.json cannot be read: ",
        ),
        (
            "a.json",
            load,
            "a.json is the summary of a load, whose figures are in other files of its folder",
        ),
        ("..%2F..%2Fpasswd", b"x", "passwd cannot be read: "),
    ] {
        let (status, told) = ui.send(name, content, STATE);
        let said = told["error"].as_str().expect("a sentence");
        assert!(
            status == "400" && said.starts_with(error) && !said.contains('\n'),
            "{name}: {said}"
        );
        assert!(
            told["hint"].as_str().is_some_and(|hint| !hint.is_empty()),
            "{told}"
        );
    }
    // What comes before the damage is shown, with the damage.
    let (status, told) = ui.send("cut.pcapng", &capture[..capture.len() - 7], STATE);
    assert_eq!(status, "200");
    let page = words(told["part"].as_str().expect("a part"));
    assert!(
        page.contains("cut.pcapng: after ") && page.contains("What was read before is shown"),
        "{page}"
    );
    assert!(page.contains("give a whole capture"), "{page}");
    // An option of the page that what is shown cannot have.
    let (status, told) = ui.send("sim.pcapng", &capture, "v=1&device=nonsense");
    assert_eq!(status, "200");
    let page = words(told["part"].as_str().expect("a part"));
    assert!(page.contains("nonsense"), "{page}");
    let (status, told) = ui.send("sim.pcapng", &capture, "v=1&device=./x.yaml");
    assert_eq!(
        (status.as_str(), &told["error"]),
        (
            "400",
            &Value::from("--device takes names here, and \"./x.yaml\" is a file")
        )
    );
}

#[test]
fn what_is_too_large_or_of_a_stranger_is_refused_before_it_is_read() {
    let ui = Ui::start();
    let host = "Host: 127.0.0.1";
    let target = format!("/api/own?client=test&name=big.pcap&{STATE}");
    let large = "big.pcap has 2000 MB, and this page reads 100 MB";
    let without = "the request does not say how long its content is";
    for (head, status, words) in [
        (
            format!("POST {target} HTTP/1.1\r\n{host}\r\nContent-Length: 2000000000"),
            "413",
            large,
        ),
        (
            format!("POST {target}&bytes=2000000000 HTTP/1.1\r\n{host}\r\nContent-Length: 0"),
            "413",
            large,
        ),
        (format!("POST {target} HTTP/1.1\r\n{host}"), "411", without),
        (
            format!("POST {target} HTTP/1.1\r\n{host}\r\nTransfer-Encoding: chunked"),
            "411",
            without,
        ),
        (
            format!("POST {target} HTTP/1.1\r\nHost: ui.example\r\nContent-Length: 9"),
            "421",
            "the page is at the address",
        ),
        (
            format!("POST {target} HTTP/1.1\r\n{host}\r\nOrigin: http://ui.example\r\nContent-Length: 9"),
            "403",
            "a page of another site may not ask this server",
        ),
    ] {
        let response = ui.response(format!("{head}\r\n\r\n").as_bytes());
        assert_eq!(response.split(' ').nth(1), Some(status), "{head}");
        assert!(response.contains(words), "{head}: {response}");
    }
    let team = Ui::on("0.0.0.0:0");
    let response = team.response(Ui::head(&target, 9).as_bytes());
    assert!(
        response.starts_with("HTTP/1.1 403 ") && response.contains("token is missing or wrong"),
        "{response}"
    );
}

#[test]
fn files_that_stall_end_and_make_room_for_others() {
    let ui = Ui::start();
    let stalling = |client: &str| {
        let target = format!("/api/own?client={client}&name=slow.pcap&{STATE}");
        ui.ask(format!("{}\u{1}\u{2}", Ui::head(&target, 1_000)).as_bytes())
    };
    let end = |mut stream: TcpStream| {
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("an answer");
        let (status, told) = told(&response);
        (status, told["error"].as_str().unwrap_or_default().to_owned())
    };
    let (first, again, other) = (stalling("a"), stalling("a"), stalling("b"));
    // Questions are answered meanwhile.
    assert!(ui.get("/api/controls").starts_with("HTTP/1.1 200 "));
    // Whichever of the first two came first has the place of its page.
    let mut of_page = [end(first), end(again)];
    of_page.sort();
    let late = "slow.pcap did not come: nothing arrived for some seconds";
    let expected = [("408", late), ("429", "this page reads another file already")];
    let expected = expected.map(|(status, error)| (status.to_owned(), error.to_owned()));
    assert_eq!(of_page, expected);
    assert_eq!(end(other), expected[0]);
    let content = fs::read(capture()).expect("a capture");
    assert_eq!(ui.send("sim.pcapng", &content, STATE).0, "200");
    // Nothing of all that is on the disk.
    let left: Vec<_> = fs::read_dir(ui.home()).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_folder_is_opened_in_the_page_and_in_the_browser() {
    let home = TempDir::new().expect("a folder");
    let told_to = home.path().join("opened");
    let opener = home.path().join("xdg-open");
    fs::write(
        &opener,
        format!("#!/bin/sh\nprintf %s \"$1\" >{}\n", told_to.display()),
    )
    .expect("a script");
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).expect("a program");
    let mut command = wirecost(folder());
    let path = format!(
        "{}:{}",
        home.path().display(),
        std::env::var("PATH").unwrap_or_default()
    );
    command
        .args(["report", "meter", "--open"])
        .env("PATH", path)
        .env("DISPLAY", ":0");
    let ui = Ui::from_command(command.stdout(Stdio::null()));
    eventually("the browser is told", || {
        fs::read_to_string(&told_to).is_ok_and(|text| text == ui.url)
    });
    let (status, told) = ui.json(&format!("/api/own?client=test&{STATE}"));
    drop(ui);
    assert_eq!((status.as_str(), &told["name"]), ("200", &Value::from("meter")));
    let part = told["part"].as_str().expect("a part");
    let commands = commands(part);
    assert_eq!(commands, ["wirecost cost meter --device nrf9160-lte-m"]);
    has_lines(&words(part), &printed(folder(), &commands[0], ""));
    // Without a folder there is nothing to show.
    assert_eq!(
        Ui::start().json(&format!("/api/own?client=test&{STATE}")).1,
        Value::Null
    );
    without_a_screen_the_address_is_said();
}

fn without_a_screen_the_address_is_said() {
    let mut command = wirecost(folder());
    command
        .args(["report", "meter", "--open"])
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY");
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("wirecost report");
    let mut stderr = std::io::BufReader::new(child.stderr.take().expect("stderr"));
    let mut lines = [String::new(), String::new()];
    for line in &mut lines {
        std::io::BufRead::read_line(&mut stderr, line).expect("a line");
    }
    signal(child.id(), "INT");
    assert_eq!(ended(child).code, Some(0));
    let url = lines[0]
        .strip_prefix("the page is at ")
        .expect("an address")
        .trim();
    assert_eq!(lines[1].trim(), format!("open {url} in a browser"));
}

#[test]
#[ignore = "needs chromium"]
fn a_file_is_chosen_or_dropped_and_shown_in_place() {
    let ui = Ui::start();
    let mut browser = Browser::start();
    browser.open(&format!("{}?{STATE}", ui.url), 420);
    eventually("the page has its controls", || {
        browser.value("document.querySelectorAll('#controls input').length > 10") == true
    });
    let root = browser.call("DOM.getDocument", json!({}))["root"]["nodeId"].clone();
    let input = browser.call(
        "DOM.querySelector",
        json!({"nodeId": root, "selector": "#own-file"}),
    );
    let files = json!({"files": [capture()], "nodeId": input["nodeId"]});
    browser.call("DOM.setFileInputFiles", files);
    eventually("the capture is shown", || {
        text(&mut browser, "own-title") == "Your own: sim.pcapng"
    });
    eventually("it has the focus", || {
        browser.value("document.activeElement.id") == "own-title"
    });
    assert_eq!(
        browser.value("document.querySelectorAll('#own-part figure').length"),
        2
    );
    assert_eq!(
        browser.value("document.querySelectorAll('#own-part pre.command').length"),
        2
    );
    let beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(browser.value(beyond), 0);

    let drop = |browser: &mut Browser, content: &str, name: &str| {
        browser.value(&format!(
            "{{ const data = new DataTransfer(); data.items.add(new File([{content}], '{name}')); \
             document.body.dispatchEvent(new DragEvent('drop', {{dataTransfer: data, bubbles: true, cancelable: true}})); }}"
        ));
    };
    drop(&mut browser, "'hello, no capture'", "notes.txt");
    eventually("what is none is said", || {
        text(&mut browser, "own-error").starts_with("notes.txt cannot be read: ")
    });
    drop(&mut browser, "new Uint8Array(100000001)", "big.pcap");
    eventually("what is too large is said", || {
        text(&mut browser, "own-error") == "big.pcap has 101 MB, and this page reads 100 MB"
    });
    let summary = fs::read_to_string(folder().join("meter/summary.json")).expect("a summary");
    drop(&mut browser, &Value::from(summary).to_string(), "summary.json");
    eventually("the summary is shown", || {
        text(&mut browser, "own-title") == "Your own: summary.json"
    });
    // The browser logs the statuses of the refusals itself.
    let logged = browser.console();
    let is_refusal = |line: &String| line.contains("400 (Bad Request)") || line.contains(" 413 ");
    assert!(logged.iter().all(is_refusal), "{logged:?}");
}
