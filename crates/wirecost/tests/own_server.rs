//! Servers that run already: `compare --target URL` on the real path and behind a relay, and `load URL` with a link.

mod common;

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use wirecost_results::resolved::Tree;

use serde_json::Value;
use wirecost_results::summary::{Cell, Section};

use common::{Run, as_nobody, eventually, need_program, need_root, open_folder, said, wirecost};

/// Options of all comparisons here.
const COMMON: &str = "-n 5 -s 48B --settle 300ms";
/// The devices of a cell.
const DEVICES: u32 = 5;

/// A server that the test has started, with its folder. It ends with this value.
struct Server {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that has ended already cannot be killed and need not be.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Server {
    /// Starts a program in a folder of its own; `arguments` makes its configuration there.
    fn start(program: &str, arguments: impl FnOnce(&Path, u16) -> Vec<String>) -> Self {
        let folder = open_folder();
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = free.local_addr().expect("its address");
        drop(free);
        let child = Command::new(program)
            .args(arguments(folder.path(), address.port()))
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self {
            child: child.expect("a server"),
            address,
            _folder: folder,
        }
    }

    fn mosquitto() -> Self {
        need_program("mosquitto", "mosquitto");
        let server = Self::start("mosquitto", |folder, port| {
            let file = folder.join("mosquitto.conf");
            let text = format!("listener {port} 127.0.0.1\nallow_anonymous true\n");
            std::fs::write(&file, text).expect("a configuration");
            vec!["-c".into(), file.display().to_string()]
        });
        server.accepting()
    }

    fn caddy() -> Self {
        need_program("caddy", "caddy");
        let server = Self::start("caddy", |folder, port| {
            let file = folder.join("Caddyfile");
            let text = format!(
                "{{\n\tadmin off\n\tauto_https off\n}}\nhttp://:{port} {{\n\tbind 127.0.0.1\n\trespond 204\n}}\n"
            );
            std::fs::write(&file, text).expect("a configuration");
            let file = file.display().to_string();
            ["run", "--config", &file, "--adapter", "caddyfile"]
                .map(String::from)
                .to_vec()
        });
        server.accepting()
    }

    fn libcoap() -> Self {
        need_program("coap-server-notls", "libcoap3-bin");
        let server = Self::start("coap-server-notls", |_, port| {
            let mut arguments = String::from("-A 127.0.0.1 -d 100 -p ");
            write!(arguments, "{port}").expect("a string takes everything");
            arguments.split(' ').map(String::from).collect()
        });
        let asking = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        asking
            .set_read_timeout(Some(Duration::from_millis(100)))
            .expect("set");
        // RFC 7252, section 4.3: an empty confirmable message is answered by a reset.
        eventually("a CoAP server that answers", || {
            let sent = asking.send_to(&[0x40, 0, 0x77, 0x63], server.address);
            sent.is_ok() && asking.recv(&mut [0; 16]).is_ok()
        });
        server
    }

    fn accepting(self) -> Self {
        eventually("a server that accepts", || {
            TcpStream::connect(self.address).is_ok()
        });
        self
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", self.address)
    }
}

/// A comparison of one stack with a target: the bytes up and down of connect, message and close.
fn bytes(target: &str, stack: &str) -> [f64; 6] {
    let run = Run::undisturbed(|| Run::compare(&format!("--target {target} {stack} {COMMON}")));
    bytes_of(&run.summary.cells[0])
}

fn bytes_of(cell: &Cell) -> [f64; 6] {
    let both = |section: Option<&Section>| {
        section.map_or([0.0; 2], |section| [section.up.wire.mean, section.down.wire.mean])
    };
    let sections = [&cell.connect, &cell.message, &cell.close].map(|section| both(section.as_ref()));
    let [[a, b], [c, d], [e, f]] = sections;
    [a, b, c, d, e, f]
}

/// TCP acknowledgements by themselves: on loopback an answer comes back so soon that the kernel sometimes acknowledges
/// with the next segment, or in the next step. IPv4 and TCP headers with time stamps.
const PURE_ACKNOWLEDGEMENT: f64 = 52.0;

/// Whether bytes per device differ by whole acknowledgements of some devices.
fn differ_by_acknowledgements(one: &[f64; 6], other: &[f64; 6]) -> bool {
    one.iter().zip(other).all(|(one, other)| {
        let of_all = (one - other) * f64::from(DEVICES) / PURE_ACKNOWLEDGEMENT;
        (of_all - of_all.round()).abs() < 1e-6 && of_all.abs() <= f64::from(2 * DEVICES)
    })
}

/// The bytes on the real path and behind a relay are those of the started server of the same kind.
fn alike(server: &Server, scheme: &str, started: &str, stack: &str, more_per_message: f64) {
    let url = server.url(scheme);
    let mut expected = bytes(started, stack);
    expected[2] += more_per_message;
    let real = bytes(&url, stack);
    assert!(
        differ_by_acknowledgements(&real, &expected),
        "{stack} on the real path: {real:?} {expected:?}"
    );
    let relayed = bytes(&format!("{url} --rtt 40ms"), stack);
    assert!(
        differ_by_acknowledgements(&relayed, &expected),
        "{stack} behind a relay: {relayed:?} {expected:?}"
    );
}

#[test]
#[ignore = "needs root and mosquitto"]
fn an_mqtt_broker_costs_the_same_bytes_on_every_path() {
    let server = Server::mosquitto();
    alike(&server, "mqtt", "mosquitto", "mqtt-qos1", 0.0);
    // Where an answer comes back at once, TCP acknowledges some packets together with the next message.
    let relayed = bytes(&format!("{} --rtt 40ms", server.url("mqtt")), "mqtt5-qos2");
    let started = bytes("mosquitto", "mqtt5-qos2");
    assert!(
        differ_by_acknowledgements(&relayed, &started),
        "{relayed:?} {started:?}"
    );
}

#[test]
#[ignore = "needs root and libcoap3-bin"]
fn a_coap_server_costs_the_same_bytes_on_every_path() {
    alike(&Server::libcoap(), "coap", "libcoap", "coap-con", 0.0);
}

/// A server that wirecost starts is named `server` in requests, and another one as its URL names it.
#[test]
#[ignore = "needs root and caddy"]
fn a_web_server_costs_the_same_bytes_on_every_path() {
    let server = Server::caddy();
    let longer = server.address.to_string().len() as f64 - "server".len() as f64;
    alike(&server, "http", "caddy", "http1", longer);
}

#[test]
#[ignore = "needs root and mosquitto"]
fn results_say_which_path_was_measured() {
    let server = Server::mosquitto();
    let url = server.url("mqtt");
    let real = Run::compare(&format!("--target {url} {COMMON}"));
    let cell = &real.summary.cells[0];
    assert_eq!(
        (cell.stack.as_str(), cell.link.path.as_deref()),
        ("mqtt-qos1", Some("real"))
    );
    assert_eq!(
        (&cell.link.achieved, cell.first_message_round_trips),
        (&None, None)
    );
    assert_eq!(real.summary.scenario.get("path"), Some(&Tree::text("real")));
    assert_eq!(cell.target, format!("{url}/"));
    assert!(cell.outcomes.acknowledged == 5 && cell.agreement.is_none());
    let relayed = Run::compare(&format!("--target {url} --rtt 10ms {COMMON}"));
    let cell = &relayed.summary.cells[0];
    assert_eq!(cell.link.path.as_deref(), Some("relay"));
    let report = std::fs::read_to_string(relayed.file("report.html")).expect("a report");
    assert!(report.contains("to a relay to the target"));
}

#[test]
#[ignore = "needs root and mosquitto"]
fn a_relay_needs_no_privileges() {
    let server = Server::mosquitto();
    let run = Run::compare_as_nobody(&format!("--target {} --rtt 40ms {COMMON}", server.url("mqtt")));
    assert_eq!(run.summary.cells[0].outcomes.acknowledged, 5);
}

/// A run of wirecost, as somebody else if `prepare` says so: its exit code and what it said.
fn ended(arguments: &str, prepare: impl FnOnce(Command, &Path) -> Command) -> (Option<i32>, String) {
    need_root();
    let home = open_folder();
    let mut command = wirecost(home.path());
    command.args(arguments.split(' ')).args(["--out", "run"]);
    let said = said(&mut prepare(command, home.path()));
    (said.code, said.stderr)
}

#[test]
#[ignore = "needs root and mosquitto"]
fn the_real_path_needs_the_right_to_see_packets() {
    let server = Server::mosquitto();
    let (code, text) = ended(
        &format!("compare --target {} {COMMON}", server.url("mqtt")),
        as_nobody,
    );
    assert_eq!(code, Some(10), "{text}");
    assert!(text.contains("CAP_NET_RAW"), "{text}");
}

#[test]
#[ignore = "needs root"]
fn a_closed_port_is_an_unreachable_target_on_every_path() {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let url = format!("mqtt://{}", free.local_addr().expect("its address"));
    drop(free);
    for arguments in [
        format!("compare --target {url} {COMMON}"),
        format!("compare --target {url} --rtt 40ms {COMMON}"),
        format!("load {url} -c 1 -n 5 -r 10/s --rtt 40ms"),
    ] {
        let (code, text) = ended(&arguments, |command, _| command);
        assert_eq!(code, Some(11), "{arguments}: {text}");
        assert!(text.contains("connection refused"), "{arguments}: {text}");
    }
}

/// A load of 50 messages to the server, and its phase of messages.
fn load(server: &Server, more: &str, prepare: impl FnOnce(Command, &Path) -> Command) -> (Value, Value) {
    need_root();
    let home = open_folder();
    let mut command = wirecost(home.path());
    command.args(["load", &server.url("mqtt")]);
    command.args("-c 3 -n 50 -r 50/s --quiet --json - --out run".split(' '));
    command.args(more.split_whitespace());
    let said = said(&mut prepare(command, home.path()));
    assert!(matches!(said.code, Some(0 | 14)), "{}", said.stderr);
    let summary: Value = serde_json::from_str(&said.stdout).expect("a summary");
    let load = summary["loads"][0].clone();
    let phases = load["phases"].as_array().expect("phases");
    let publish = phases.iter().find(|phase| phase["name"] == "publish");
    let publish = publish.expect("a phase of messages").clone();
    assert_eq!(publish["outcomes"]["acknowledged"], 50);
    (load, publish)
}

/// 50 messages of 128 B and their acknowledgements, each with an IP and a TCP header.
fn has_all_bytes(ways: &Value) -> bool {
    let bytes = |way: &str| ways[way]["bytes"].as_u64().expect("a count");
    bytes("up") > 50 * (128 + 52) && bytes("down") >= 50 * (4 + 40)
}

#[test]
#[ignore = "needs root and mosquitto"]
fn a_load_counts_the_wire_where_it_may_see_packets() {
    let server = Server::mosquitto();
    let (of_root, publish) = load(&server, "", |command, _| command);
    assert!(of_root["wire_not_counted"].is_null() && publish["link"].is_null());
    assert!(has_all_bytes(&publish["wire"]), "{publish}");
    let (of_nobody, publish) = load(&server, "", as_nobody);
    let why = of_nobody["wire_not_counted"].as_str().expect("a reason");
    assert!(why.contains("CAP_NET_RAW") && publish["wire"].is_null(), "{why}");
}

#[test]
#[ignore = "needs root and mosquitto"]
fn a_load_of_a_url_counts_what_crosses_its_link() {
    let server = Server::mosquitto();
    let (load, publish) = load(&server, "--rtt 40ms", |command, _| command);
    assert_eq!(load["link"]["relay"], server.address.to_string());
    assert!(has_all_bytes(&publish["link"]), "{publish}");
}
