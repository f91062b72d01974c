//! The dashboard of `wirecost store`: in a browser, under hostile devices, and what its server refuses.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant as Moment};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::browser::Browser;
use crate::common::mqtt::connected;
use crate::common::{Said, ended, eventually, said, signal, wirecost};
use crate::port::own_port;

/// A topic that would be markup, and breaks a line and moves the direction of a text. The broker takes no control characters in it; the
/// payload has them.
const TOPIC: &str = "s/<img src=x onerror=alert(1)>\u{2028}[2J\u{202e}";
/// A payload that would end a script, an event and a line.
const PAYLOAD: &str =
    "</script><script>document.title='owned'</script>\r\n\r\nevent: end\ndata: {}\n\n\u{2028}\u{9b}1m";

/// The most lines of events that are read: of a minute.
const EVENT_LINES: usize = 3 * 240;

/// A child that is killed with this value.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn quiet(command: &mut Command) -> Child {
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("it starts")
}

/// A broker, a database that keeps nothing, and `wirecost store` with its dashboard between them.
struct Shown {
    home: TempDir,
    broker: SocketAddr,
    dashboard: SocketAddr,
    storing: Option<Child>,
    _servers: [Killed; 2],
    _lines: Receiver<String>,
}

impl Shown {
    fn start() -> Self {
        let home = TempDir::new().expect("a folder");
        let [broker, database] = ["mqtt", "postgres"].map(|protocol| {
            let address = SocketAddr::from(([127, 0, 0, 1], own_port()));
            let mut command = wirecost(home.path());
            command.args(["serve", protocol, "--listen", &address.to_string()]);
            let child = Killed(quiet(&mut command));
            eventually("it listens", || TcpStream::connect(address).is_ok());
            (child, address)
        });
        let mut command = wirecost(home.path());
        let urls = [
            format!("mqtt://{}", broker.1),
            format!("postgres://{}/readings", database.1),
        ];
        command.arg("store").args(urls).args(["--dashboard", "0"]);
        let mut storing = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("wirecost store");
        let stderr = BufReader::new(storing.stderr.take().expect("stderr"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                drop(sender.send(line));
            }
        });
        let heard = |part: &str| loop {
            let line = lines.recv_timeout(Duration::from_secs(30)).expect(part);
            if let Some(rest) = line.strip_prefix(part) {
                return rest.trim_end_matches('/').to_owned();
            }
        };
        let dashboard = heard("the dashboard is at http://").parse().expect("an address");
        heard("broker: subscribed");
        Self {
            home,
            broker: broker.1,
            dashboard,
            storing: Some(storing),
            _servers: [broker.0, database.0],
            _lines: lines,
        }
    }

    fn url(&self) -> String {
        format!("http://{}/", self.dashboard)
    }

    /// Publishes these payloads at QoS 0.
    fn publish(&self, topic: &str, payloads: &[&[u8]]) {
        let mut stream = connected(self.broker, payloads.len());
        for payload in payloads {
            let body = [&(topic.len() as u16).to_be_bytes(), topic.as_bytes(), payload].concat();
            assert!(body.len() < 16_384);
            let header = match body.len() {
                short @ 0..128 => vec![0x30, short as u8],
                long => vec![0x30, 0x80 | (long % 128) as u8, (long / 128) as u8],
            };
            stream.write_all(&[header, body].concat()).expect("a PUBLISH");
        }
        stream.write_all(&[0xe0, 0]).expect("a DISCONNECT");
    }

    /// The connection to the dashboard after a request.
    fn ask(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.dashboard).expect("a connection");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("an open socket");
        stream.write_all(request.as_bytes()).expect("a request");
        stream
    }

    /// The answer to its end, or what came of it in 20 s: events have no end.
    fn answer(&self, request: &str) -> String {
        let (mut stream, began) = (self.ask(request), Moment::now());
        let (mut answer, mut chunk) = (Vec::new(), [0; 16_384]);
        while let Ok(read @ 1..) = stream.read(&mut chunk) {
            answer.extend_from_slice(&chunk[..read]);
            if began.elapsed() > Duration::from_secs(20) {
                break;
            }
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The first event that satisfies a condition, as its lines.
    fn event(&self, is_it: impl Fn(&Value) -> bool) -> String {
        let stream = self.ask(&format!(
            "GET /events HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.dashboard
        ));
        let events = BufReader::new(stream).lines();
        for line in events.take(EVENT_LINES) {
            let line = line.expect("an event in time");
            if let Some(data) = line.strip_prefix("data: ")
                && is_it(&serde_json::from_str(data).expect("JSON"))
            {
                return line;
            }
        }
        panic!("no such event");
    }

    /// Interrupts it.
    fn end(&mut self) -> Said {
        let storing = self.storing.take().expect("it runs");
        signal(storing.id(), "INT");
        ended(storing)
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(storing) = &mut self.storing {
            drop(storing.kill());
            drop(storing.wait());
        }
    }
}

/// Beats at 20 ms: the test does not wait for a heart.
fn heartbeat(home: &TempDir) -> String {
    let beats = (0..40).map(|beat| format!("{:.3},{}\n", f64::from(beat) * 0.02, 60 + beat % 10));
    let trace: String = std::iter::once("time,value\n".to_owned()).chain(beats).collect();
    fs::write(home.path().join("heartbeat.csv"), trace).expect("a file");
    "payload: {size: 40B, trace: heartbeat.csv}".to_owned()
}

#[test]
#[ignore = "needs chromium"]
fn a_heartbeat_arrives_in_a_browser_without_errors_and_foreign_requests() {
    let mut shown = Shown::start();
    let mut browser = Browser::start();
    browser.open(&shown.url(), 1280);
    let payload = heartbeat(&shown.home);
    let scenario = format!(
        "wirecost: 1\nstack: mqtt-qos1\ntarget: mqtt://{}\nclients: 20\nresource: s/%d\n{payload}\n\
         phases: [{{do: publish, rate: 95/s, duration: 1s}}]\n",
        shown.broker
    );
    fs::write(shown.home.path().join("load.yaml"), scenario).expect("a file");
    let load = said(wirecost(shown.home.path()).args(["run", "-q", "load.yaml"]));
    assert!(matches!(load.code, Some(0 | 14)), "{}", load.stderr);
    eventually("all readings are stored, on the page", || {
        browser.value("[received, stored].map(node => node.textContent).join()") == "135,135"
    });
    assert_eq!(
        browser.value("document.getElementById('focus-topic').textContent"),
        "s/1"
    );
    assert_eq!(
        browser.value("document.getElementById('focus-value').textContent"),
        "69"
    );
    let beats = "document.querySelector('#focus .curve.value').points.length";
    assert_eq!(browser.value(beats), 40);
    assert_eq!(
        browser.value("document.getElementById('sensors').textContent"),
        "20 sensors"
    );
    // The other devices' payloads say when they were sent.
    let delay = "rows[1].cells[3].textContent";
    assert_ne!(browser.value(delay), "–");
    browser.open(&shown.url(), 420);
    eventually("a page that comes later has the beats, too", || {
        browser.value("document.readyState") == "complete" && browser.value(beats) == 40
    });
    assert_eq!(browser.value("document.documentElement.scrollWidth"), 420);
    let counts = shown.end();
    assert!(
        counts.stdout.starts_with("received 135  stored 135 "),
        "{counts:?}"
    );
    eventually("the page says that these are the last counts", || {
        let state = browser.value("document.getElementById('page-state').textContent");
        state == "wirecost store has ended: these are its last counts"
    });
    assert_eq!(browser.console(), Vec::<String>::new());
    let requests = browser.requests();
    let own = [shown.url(), shown.url() + "events"];
    assert!(requests.iter().all(|url| own.contains(url)), "{requests:?}");
    assert_eq!(requests.len(), 4, "{requests:?}");
}

#[test]
#[ignore = "needs chromium"]
fn what_hostile_devices_send_is_text_in_a_browser() {
    let shown = Shown::start();
    let mut browser = Browser::start();
    browser.open(&shown.url(), 1280);
    shown.publish(TOPIC, &[PAYLOAD.as_bytes()]);
    eventually("the topic is shown", || {
        browser.value("document.getElementById('focus-topic').textContent")
            == "s/<img src=x onerror=alert(1)>\\u{2028}[2J\\u{202e}"
    });
    let first = "document.getElementById('focus-value').textContent.startsWith(\"</script><script>document.title='owned'\")";
    assert_eq!(browser.value(first), true);
    assert_eq!(browser.value("document.title"), "wirecost store");
    assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);
    assert_eq!(browser.value("document.scripts.length"), 1);
    assert_eq!(browser.console(), Vec::<String>::new());
    // The policy of the page refuses what a mistake of it would let in.
    browser.value("document.body.insertAdjacentHTML('beforeend', '<img src=http://127.0.0.1:9/x>')");
    assert!(browser.console().concat().contains("Content Security Policy"));
}

#[test]
fn what_hostile_devices_send_does_nothing_in_the_events() {
    let shown = Shown::start();
    shown.publish(
        TOPIC,
        &[PAYLOAD.as_bytes(), &[0xff, 0, 0x1b], b"{\"value\": 1e308}"],
    );
    let line = shown.event(|news| news["counts"][1] == 3);
    let acts = |c: char| {
        c.is_control() || matches!(c, '\u{2028}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
    };
    assert!(!line.chars().any(acts), "{line}");
    assert!(line.contains("\\\\u{202e}"), "{line}");
}

#[test]
fn the_server_of_the_page_is_bounded_and_answers_for_nobody_else() {
    let shown = Shown::start();
    let host = shown.dashboard;
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), "200"),
        (
            format!("HEAD / HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", host.port()),
            "200",
        ),
        (format!("GET /x HTTP/1.1\r\nHost: {host}\r\n\r\n"), "404"),
        (format!("POST / HTTP/1.1\r\nHost: {host}\r\n\r\n"), "405"),
        // A name that leads here is another site's.
        (
            format!(
                "GET /events HTTP/1.1\r\nHost: readings.example:{}\r\n\r\n",
                host.port()
            ),
            "421",
        ),
        (
            format!(
                "GET /events HTTP/1.1\r\nHost: [readings.example]:{}\r\n\r\n",
                host.port()
            ),
            "421",
        ),
        ("GET /".repeat(4_000), "421"),
    ] {
        let answer = shown.answer(&request);
        let line = answer.lines().next().unwrap_or_default();
        assert!(
            line.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request:.60}: {line}"
        );
    }
    let page = shown.answer(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    for part in ["default-src 'none'", "frame-ancestors 'none'", "nosniff"] {
        assert!(page.contains(part), "{part}");
    }
    // Connections that stall while a person comes, then as many listeners as there may be.
    let stalling: Vec<TcpStream> = (0..40).map(|_| shown.ask("GET")).collect();
    let page = shown.answer(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert!(page.starts_with("HTTP/1.1 200 "), "{page:.60}");
    drop(stalling);
    let events = format!("GET /events HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let mut listeners = Vec::new();
    eventually("as many listen as may", || {
        let mut stream = shown.ask(&events);
        let mut status = [0; 12];
        if stream.read_exact(&mut status).is_ok() {
            assert_eq!(&status, b"HTTP/1.1 200");
            listeners.push(stream);
        }
        listeners.len() == 16
    });
    eventually("there are enough", || {
        shown.answer(&events).starts_with("HTTP/1.1 503 ")
    });
    drop(listeners);
    eventually("there is room again", || {
        shown.ask(&events).read_exact(&mut [0; 200]).is_ok()
    });
}

#[test]
fn a_port_that_is_taken_is_said_before_anything_runs() {
    let home = TempDir::new().expect("a folder");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let mut command = wirecost(home.path());
    command.args(["store", "mqtt://127.0.0.1:1", "postgres://127.0.0.1:1/readings"]);
    let said = said(command.args(["--dashboard", &address.to_string()]));
    let expected = format!("error: cannot listen on {address} for the dashboard: Address already in use");
    assert!(said.stderr.starts_with(&expected), "{}", said.stderr);
    assert_eq!(
        (said.code, said.stderr.lines().count()),
        (Some(10), 2),
        "{}",
        said.stderr
    );
}

/// It ends at once, because there is no database.
#[test]
fn an_address_that_others_reach_is_said_to_be_open() {
    let home = TempDir::new().expect("a folder");
    for (address, is_open) in [("0.0.0.0:0", true), ("0", false)] {
        let mut command = wirecost(home.path());
        command.args(["store", "mqtt://127.0.0.1:1", "postgres://127.0.0.1:1/readings"]);
        let said = said(command.args(["--dashboard", address]));
        let warning = "warning: the dashboard is open to the network";
        assert_eq!(said.line(warning).is_some(), is_open, "{}", said.stderr);
        assert_eq!(said.code, Some(11), "{}", said.stderr);
    }
}
